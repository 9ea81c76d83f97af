//! Which of the known names was meant.

/// The least likeness of a name that is worth suggesting. Below it, suggestions are noise.
const LIKE: f64 = 0.8;

/// The most names that a message lists.
const LISTED: usize = 8;

/// The known name that is most like `wanted`; none if none is near.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = kebab(wanted);
    let likeness = |name: &&str| {
        if kebab(name) == wanted { 1.0 } else { strsim::jaro_winkler(&kebab(name), &wanted) }
    };
    names
        .into_iter()
        .map(|name| (likeness(&name), name))
        .filter(|(likeness, name)| {
            // Short names are like each other by chance: at most half of the letters may differ.
            let edits = strsim::damerau_levenshtein(&kebab(name), &wanted);
            *likeness >= LIKE && edits * 2 <= name.len().max(wanted.len())
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// How a name would be written in `brute.toml`.
pub(crate) fn kebab(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

/// The names that would have been right.
pub struct Candidates<'a> {
    kind: &'a str,
    names: Vec<&'a str>,
}

impl<'a> Candidates<'a> {
    /// Names of a kind, in plural: `keys`, `layers`.
    pub fn new(kind: &'a str, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { kind, names: names.into_iter().collect() }
    }

    /// The nearest name, or at most eight that there are.
    pub fn advice(&self, wanted: &str) -> String {
        if let Some(name) = nearest(wanted, self.names.iter().copied()) {
            return format!("did you mean `{name}`?");
        }
        if self.names.is_empty() {
            return format!("there are no {} here", self.kind);
        }
        let listed: Vec<_> =
            self.names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
        let more = match self.names.len() - listed.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("known {}: {}{more}", self.kind, listed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let names = ["keep-steps", "min-tokens", "keep", "except", "max-tokens"];
        for (wanted, expected) in [
            ("keep_steps", Some("keep-steps")),
            ("keep_turn", Some("keep-steps")),
            ("KEEP-STEPS", Some("keep-steps")),
            ("keep-stpes", Some("keep-steps")),
            ("kep", Some("keep")),
            ("min-token", Some("min-tokens")),
            ("exept", Some("except")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
    }

    #[test]
    fn a_long_list_is_cut_short() {
        let names: Vec<_> = (0..11).map(|i| format!("key{i}")).collect();
        let advice =
            Candidates::new("keys", names.iter().map(String::as_str)).advice("something else");
        assert_eq!(
            advice,
            "known keys: `key0`, `key1`, `key2`, `key3`, `key4`, `key5`, `key6`, `key7` and 3 more"
        );
    }
}
