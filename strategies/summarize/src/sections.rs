//! The sections of a summary.

use crate::record::NOT_STATED;

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

/// Whether `summary` was begun under the headings, and ends before it says anything but an objective.
pub(crate) fn ends_early(summary: &str) -> bool {
    missing_sections(summary) == SECTIONS[1..]
}

/// Whether there is nothing in `summary` but headings.
pub(crate) fn says_nothing(summary: &str) -> bool {
    let mut lines = summary.lines().filter(|line| !is_any_heading(line));
    !lines.any(|line| line.chars().any(char::is_alphanumeric))
}

/// `summary` with all sections, each in its place: one that was begun under the headings, not prose. What its author
/// left out is said to be, so that nobody takes it for nothing.
pub(crate) fn completed(summary: &str) -> String {
    let mut blocks: Vec<(Option<usize>, String)> = Vec::new();
    for line in summary.lines() {
        if blocks.is_empty() || is_any_heading(line) {
            let known = SECTIONS.iter().position(|section| is_heading(line, section));
            blocks.push((known, String::new()));
        }
        if let Some((_, text)) = blocks.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (index, section) in SECTIONS.iter().enumerate() {
        match blocks.iter().position(|(known, _)| *known == Some(index)) {
            // What is below a smaller heading is its own.
            Some(at) => {
                let goes_on = blocks.get(at + 1).is_some_and(|(known, _)| known.is_none());
                if !goes_on && blocks[at].1.trim_end().lines().count() < 2 {
                    blocks[at].1 = format!("{}\n{NOT_STATED}\n\n", blocks[at].1.trim_end());
                }
            }
            None => {
                let later = blocks.iter().position(|(known, _)| *known > Some(index));
                let at = later.unwrap_or(blocks.len());
                if let Some((_, before)) = at.checked_sub(1).and_then(|at| blocks.get_mut(at)) {
                    *before = format!("{}\n\n", before.trim_end());
                }
                blocks.insert(at, (Some(index), format!("## {section}\n{NOT_STATED}\n\n")));
            }
        }
    }
    let whole: String = blocks.into_iter().map(|(_, text)| text).collect();
    whole.trim_end().to_owned()
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
    fn what_was_left_out_is_said_to_be_in_its_place() {
        let gone = |name: &str| format!("## {name}\n(not stated)");
        let whole = "## Objective\nx\n## Decisions\nNone\n## Work done\ny\n## Identifiers\n\nz\n## Outstanding\nq";
        assert_eq!(completed(whole), whole);
        for (summary, expected) in [
            (
                "## Work done\ny",
                [
                    &gone("Objective"),
                    &gone("Decisions"),
                    "## Work done\ny",
                    &gone("Identifiers"),
                    &gone("Outstanding"),
                ],
            ),
            (
                "Here:\n**Objective:** \nx\n### Why\nw\n## Outstanding",
                [
                    "Here:\n**Objective:** \nx\n### Why\nw",
                    &gone("Decisions"),
                    &gone("Work done"),
                    &gone("Identifiers"),
                    &gone("Outstanding"),
                ],
            ),
            (
                "## Objective\nx\n## Decisions\n\n## Work done\n### Files\na\n## Identifiers\nz",
                [
                    "## Objective\nx",
                    &gone("Decisions"),
                    "## Work done\n### Files\na",
                    "## Identifiers\nz",
                    &gone("Outstanding"),
                ],
            ),
        ] {
            let lines = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
            };
            let all = completed(summary);
            assert_eq!(lines(&all), lines(&expected.join("\n")), "{summary}");
            assert!(missing_sections(&all).is_empty());
            assert_eq!(completed(&all), all, "once is enough");
        }
    }

    #[test]
    fn a_summary_that_ends_behind_its_objective_is_known() {
        for (summary, early) in [
            ("## Objective\nx", true),
            ("**Objective**\nx\n## Decis", true),
            ("## Objective\nx\n## Outstanding\nNone", false),
            ("## Work done\nx", false),
            ("The objective was met.", false),
            ("", false),
        ] {
            assert_eq!(ends_early(summary), early, "{summary}");
        }
    }

    #[test]
    fn the_instructions_ask_for_exactly_these() {
        let asked = include_str!("instructions.md").lines();
        let asked: Vec<_> = asked.filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(asked, SECTIONS);
    }
}
