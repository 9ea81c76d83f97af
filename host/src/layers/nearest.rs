//! Which of the known names was meant.

/// The least likeness of a name that is worth suggesting. Below it, suggestions are noise.
const LIKE: f64 = 0.8;

/// One letter in so many may be wrong in a name that was slipped; more, and it was made up.
const SLIPPED: usize = 4;

/// The most names that a message lists.
const LISTED: usize = 9;

/// The known name that is most like `wanted`; none if none is near.
///
/// That is the one the fewest slips away: letters wrong, missing, too many, or swapped with the next.
/// Among equals, and where a name is not slipped but made up, the one that begins most alike.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = kebab(wanted);
    let likeness = |name: &str| match name == wanted {
        true => 1.0,
        false => strsim::jaro_winkler(name, &wanted),
    };
    names
        .into_iter()
        .map(|name| {
            let known = kebab(name);
            let slips = strsim::osa_distance(&known, &wanted);
            (slips, likeness(&known), known.chars().count().max(wanted.chars().count()), name)
        })
        // Short names are like each other by chance: at most half of the letters may differ.
        .filter(|(slips, likeness, length, _)| {
            slips * 2 <= *length && (slips * SLIPPED <= *length || *likeness >= LIKE)
        })
        .min_by(|a, b| {
            let made_up = |slips: usize, length: usize| match slips * SLIPPED <= length {
                true => slips,
                false => usize::MAX,
            };
            made_up(a.0, a.2).cmp(&made_up(b.0, b.2)).then_with(|| b.1.total_cmp(&a.1))
        })
        .map(|(.., name)| name)
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
        const KEYS: &[&str] = &["keep-steps", "min-tokens", "keep", "except", "max-tokens"];
        const TRIGGER: &[&str] = &["compact-at", "compact-to"];
        const TOOLS: &[&str] = &["shell", "read", "read_file", "spell"];
        for (names, wanted, expected) in [
            (KEYS, "keep_steps", Some("keep-steps")),
            (KEYS, "keep_turn", Some("keep-steps")),
            (KEYS, "KEEP-STEPS", Some("keep-steps")),
            (KEYS, "keep-stpes", Some("keep-steps")),
            (KEYS, "kep", Some("keep")),
            (KEYS, "min-token", Some("min-tokens")),
            (KEYS, "nax-tokens", Some("max-tokens")),
            (KEYS, "exept", Some("except")),
            (KEYS, "banana", None),
            (KEYS, "", None),
            (TRIGGER, "compct-at", Some("compact-at")),
            (TRIGGER, "compct-to", Some("compact-to")),
            (TRIGGER, "ompact-at", Some("compact-at")),
            (TRIGGER, "compact-ta", Some("compact-at")),
            (TRIGGER, "compact-ot", Some("compact-to")),
            (TRIGGER, "compact_t", Some("compact-at")),
            (TRIGGER, "start-at", None),
            (TOOLS, "shel", Some("shell")),
            (TOOLS, "readfile", Some("read_file")),
            (TOOLS, "Read", Some("read")),
        ] {
            assert_eq!(nearest(wanted, names.iter().copied()), expected, "{wanted}");
        }
    }

    /// Whatever is slipped in one place of a name is understood, unless it became another name.
    #[test]
    fn one_slip_is_always_understood() {
        let layers = crate::layers::Layers::built_in();
        for kind in layers.iter() {
            let names: Vec<&str> = kind.fields().iter().map(|field| field.name.as_str()).collect();
            for name in names.iter().filter(|name| name.len() >= SLIPPED) {
                for at in 0..name.len() {
                    let slipped = format!("{}{}", &name[..at], &name[at + 1..]);
                    assert_eq!(nearest(&slipped, names.iter().copied()), Some(*name), "{slipped}");
                }
            }
        }
    }

    #[test]
    fn a_long_list_is_cut_short() {
        let names: Vec<_> = (0..11).map(|i| format!("key{i}")).collect();
        let advice =
            Candidates::new("keys", names.iter().map(String::as_str)).advice("something else");
        assert_eq!(
            advice,
            "known keys: `key0`, `key1`, `key2`, `key3`, `key4`, `key5`, `key6`, `key7`, `key8` and 2 more"
        );
    }
}
