//! The many spellings of one model's name.

/// Regions of cross-region inference, in front of the vendor in Bedrock's names.
const REGIONS: [&str; 8] = ["us.", "eu.", "apac.", "global.", "au.", "jp.", "ca.", "us-gov."];

/// Vendors in front of the model in Bedrock's names.
const VENDORS: [&str; 8] = [
    "anthropic.",
    "meta.",
    "mistral.",
    "deepseek.",
    "openai.",
    "qwen.",
    "moonshot.",
    "moonshotai.",
];

/// Reduces a name to the spelling of the table: lower case, no path, no region, no vendor, no
/// variant after `:` or `@`, Claude's and Llama's versions written one way.
pub(super) fn normalize(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let mut name = lower.trim_end_matches('/');
    name = name.rsplit('/').next().unwrap_or(name);
    for prefix in REGIONS.iter().chain(&VENDORS) {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    name = name.split([':', '@']).next().unwrap_or(name);

    if name.starts_with("claude") {
        // Routers write `claude-sonnet-4.5`, Anthropic `claude-sonnet-4-5`.
        return name.replace('.', "-");
    }
    let llama = name.strip_prefix("meta-llama-").or_else(|| name.strip_prefix("llama-"));
    if let Some(version) = llama.or_else(|| name.strip_prefix("llama")) {
        // `Meta-Llama-3.1-8B`, `llama3.1`, and Bedrock's `llama3-1-8b-instruct`.
        let mut version = version.to_owned();
        if version.len() > 3
            && version.as_bytes().starts_with(b"3-")
            && is_minor(&version.as_bytes()[2..])
        {
            version.replace_range(1..2, ".");
        }
        return format!("llama-{version}");
    }
    name.to_owned()
}

/// A single digit that a dash follows: a minor version, not a number of parameters (`8b`).
fn is_minor(rest: &[u8]) -> bool {
    matches!(rest, [digit, b'-', ..] if digit.is_ascii_digit())
}
