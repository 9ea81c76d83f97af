//! What a tool prints in the sessions that benches make.

use serde_json::Value;

/// Forty numbered lines of code, none like those of another step.
pub(crate) fn listing(step: usize) -> Value {
    let lines: Vec<String> = (0..40)
        .map(|line| {
            let at = line * 7 + step;
            format!("{at}\t    let value_{line} = parse(\"field {at}\")?; // {step}")
        })
        .collect();
    Value::from(lines.join("\n"))
}
