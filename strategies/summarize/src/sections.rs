//! The sections of a summary.

/// The headings under which every summary is to be written, in their order.
pub const SECTIONS: [&str; 5] =
    ["Objective", "Decisions", "Work done", "Identifiers", "Outstanding"];

/// Those of [`SECTIONS`] that `summary` has no heading for.
pub fn missing_sections(summary: &str) -> Vec<&'static str> {
    let has = |section: &str| {
        summary.lines().any(|line| {
            let heading = line.trim().trim_matches(['#', '*', ':', ' ']);
            heading.eq_ignore_ascii_case(section)
        })
    };
    SECTIONS.into_iter().filter(|section| !has(section)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_however_they_are_dressed() {
        assert_eq!(missing_sections("nothing"), SECTIONS);
        let dressed = "## Objective\nx\n**Decisions:**\nWork done:\n# identifiers #\n\tOutstanding";
        assert!(missing_sections(dressed).is_empty());
    }

    #[test]
    fn the_instructions_ask_for_exactly_these() {
        let asked = include_str!("instructions.md").lines();
        let asked: Vec<_> = asked.filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(asked, SECTIONS);
    }
}
