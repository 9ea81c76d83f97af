//! The sections of a summary.

/// The headings under which every summary is to be written, in their order.
pub const SECTIONS: [&str; 5] =
    ["Objective", "Decisions", "Work done", "Identifiers", "Outstanding"];

/// The section that holds what the user laid down, kept without a model.
pub(crate) const SAID: &str = "The user said";

/// The section that holds files, commands, errors and names, kept without a model.
pub(crate) const LEDGER: &str = "Ledger";

/// Those of [`SECTIONS`] that `summary` has no heading for.
pub fn missing_sections(summary: &str) -> Vec<&'static str> {
    let has = |section: &str| summary.lines().any(|line| is_heading(line, section));
    SECTIONS.into_iter().filter(|section| !has(section)).collect()
}

/// What stands in a section, however its heading is dressed. Nothing if it says nothing.
pub(crate) fn section<'a>(summary: &'a str, name: &str) -> Option<&'a str> {
    let (mut at, mut begins) = (0, None);
    let mut ends = summary.len();
    for line in summary.split_inclusive('\n') {
        if begins.is_some() && is_any_heading(line) {
            ends = at;
            break;
        }
        at += line.len();
        if begins.is_none() && is_heading(line, name) {
            begins = Some(at);
        }
    }
    let body = summary[begins?..ends].trim();
    let says = |word: &str| body.trim_matches(['-', '*', '.', ' ']).eq_ignore_ascii_case(word);
    (!body.is_empty() && !says("none")).then_some(body)
}

/// `summary` without the sections that are kept without its author.
pub(crate) fn without_kept(summary: &str) -> String {
    let mut keeps = true;
    let lines = summary.split_inclusive('\n').filter(|line| {
        if is_any_heading(line) {
            keeps = ![SAID, LEDGER].iter().any(|kept| is_heading(line, kept));
        }
        keeps
    });
    lines.collect::<String>().trim().to_owned()
}

/// `summary`, whose objective says nothing, with one.
pub(crate) fn with_objective(summary: &str, objective: &str) -> String {
    let heading = summary.lines().position(|line| is_heading(line, SECTIONS[0]));
    let rest: Vec<&str> = match heading {
        // What stands there says nothing, up to the next heading.
        Some(at) => {
            let behind = summary.lines().skip(at + 1).skip_while(|line| !is_any_heading(line));
            summary.lines().take(at).chain(behind).collect()
        }
        None => summary.lines().collect(),
    };
    format!("## {}\n- {objective}\n\n{}", SECTIONS[0], rest.join("\n").trim_start())
}

fn is_heading(line: &str, section: &str) -> bool {
    line.trim().trim_matches(['#', '*', ':', ' ']).eq_ignore_ascii_case(section)
}

fn is_any_heading(line: &str) -> bool {
    line.starts_with('#') || SECTIONS.iter().any(|section| is_heading(line, section))
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
    fn a_section_is_found_and_left_out() {
        let summary = "## Objective\n\nship it\nsoon\n## The user said\n- never\n\n## Decisions\nNone.\n## \
                       Ledger\na.rs\n";
        assert_eq!(section(summary, "Objective"), Some("ship it\nsoon"));
        assert_eq!(section(summary, SAID), Some("- never"));
        assert_eq!(section(summary, LEDGER), Some("a.rs"));
        for none in ["Decisions", "Outstanding"] {
            assert_eq!(section(summary, none), None);
        }
        let left = "## Objective\n\nship it\nsoon\n## Decisions\nNone.";
        assert_eq!(without_kept(summary), left);
        assert_eq!(without_kept(left), left);
    }

    #[test]
    fn the_instructions_ask_for_exactly_these() {
        let asked = include_str!("instructions.md").lines();
        let asked: Vec<_> = asked.filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(asked, SECTIONS);
    }
}
