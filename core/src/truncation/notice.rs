//! The notice that stands where something was cut, and how it is known again.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Spill;
use crate::check_code::CheckCode;

const OPEN: &str = "[brute:truncated: ";
const CHECK: &str = "; check ";
const SAVED: &str = "full text: ";
const KEPT: &str = "full text kept for the operator, where you cannot read it, as ";
const NOT_SAVED: &str = "full text not saved: ";
const SAVED_HINT: &str = "; read it in pieces or search it";
const OTHER_HINT: &str = "; ask for less at a time";

/// A notice is looked for within so many bytes: the longest path that Linux takes, and the figures.
const LONGEST: usize = 4096 + 512;
/// So many look-alikes in the right form and place are checked before a text is given up as foreign.
const MOST_CANDIDATES: usize = 8;
/// A reason is cut to so many characters.
const LONGEST_REASON: usize = 160;

/// What was cut from a text, and where all of it is.
///
/// Written out it reads, on one line, which is its own:
///
/// ```text
/// [brute:truncated: lines 1-600 of 5000 are shown (1048576 bytes in all); 3 of them cut at 2000
/// characters; full text: /home/ada/.local/share/brute/tool-output/0f3a….txt; read it in pieces or
/// search it; check 5c1e0a77@38112]
/// ```
///
/// The check code covers the notice's words, the text before it and the text behind it, and its place
/// among them. So a notice that was quoted, copied onto another text or changed is no notice, and
/// neither are words that look like one. The code is no secret, so whoever can write a whole tool
/// result can forge one; see [`truncate`](super::truncate) for what that gains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Lines of the full text.
    pub total_lines: u64,
    /// Bytes of the full text.
    pub total_bytes: u64,
    /// Which lines are shown: none, one range, or the two ends.
    pub shown: Vec<LineRange>,
    /// How many of the shown lines were longer than `cut_at` and are shown in part for that.
    pub cut_lines: u64,
    /// The `max_line_chars` of the cut.
    pub cut_at: u64,
    /// A line that is shown in part because all of it does not fit in `max_bytes`.
    pub partial: Vec<u64>,
    /// How many of the shown lines hold NUL or invalid UTF-8 bytes, which are shown as other signs.
    pub replaced_lines: u64,
    /// Where all of it is.
    pub full: FullText,
}

/// Where the full text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FullText {
    /// At this place, as the reader of the notice would name it: a path.
    Saved(String),
    /// Where the reader of the notice cannot read it: what it is called there, without the path.
    Kept(String),
    /// Nowhere, for this reason.
    NotSaved(String),
}

/// A range of lines, both ends included; 1 is the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line shown.
    pub first: u64,
    /// The last line shown.
    pub last: u64,
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// A notice, and where in the text it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// What it says.
    pub notice: Notice,
    /// The bytes that it takes.
    pub at: Range<usize>,
}

/// How much a notice says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// With a word on how to go on.
    Advice,
    /// The facts.
    Facts,
}

impl Notice {
    /// Whether the notice, in a text whose check code it fits, is one to go by: the full text that it
    /// names is held by `spill`, or it says that none was saved. The last needs no more than its code,
    /// or a text that could not be saved would be cut again and again.
    pub fn is_believed(&self, spill: &dyn Spill) -> bool {
        match &self.full {
            FullText::Saved(place) | FullText::Kept(place) => spill.holds(place),
            FullText::NotSaved(_) => true,
        }
    }

    /// The notice that `text` carries, if its check code fits the whole text.
    pub fn verify(text: &str) -> Option<Self> {
        Self::locate(text).map(|located| located.notice)
    }

    /// The notice that `text` carries, and its place.
    pub fn locate(text: &str) -> Option<Located> {
        // Most texts carry none, and a word is found much faster than a notice.
        static OPENING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OPEN));
        OPENING.find(text.as_bytes())?;
        let candidates = text.match_indices(OPEN).filter_map(|(start, _)| {
            let figures = start..check_behind(text, start)?;
            let (code, place, length) = read_check(&text[figures.end..])?;
            (place == start).then_some((code, figures.clone(), start..figures.end + length))
        });
        for (code, figures, at) in candidates.take(MOST_CANDIDATES) {
            let (before, after) = (&text[..at.start], &text[at.end..]);
            let is_alone = (before.is_empty() || before.ends_with('\n'))
                && (after.is_empty() || after.starts_with('\n'));
            if is_alone && code_of(before, &text[figures.clone()], after) == code {
                let notice = Self::read(text[figures].strip_prefix(OPEN)?)?;
                return Some(Located { notice, at });
            }
        }
        None
    }

    /// The notice as it stands between `before` and `after`.
    pub(super) fn write(&self, detail: Detail, before: &str, after: &str) -> String {
        let mut out = self.figures(detail);
        let code = code_of(before, &out, after);
        put(&mut out, format_args!("{CHECK}{code:08x}@{}]", before.len()));
        out
    }

    /// The length of the notice behind at most `before` bytes of text.
    pub(super) fn length(&self, detail: Detail, before: usize) -> usize {
        // Eight digits of code, the `@` and the `]`.
        self.figures(detail).len() + CHECK.len() + 8 + 2 + before.to_string().len()
    }

    fn figures(&self, detail: Detail) -> String {
        let mut out = String::from(OPEN);
        match self.shown.as_slice() {
            [] => put(&mut out, format_args!("no line of {} is shown", self.total_lines)),
            [range] => {
                put(&mut out, format_args!("lines {range} of {} are shown", self.total_lines));
            }
            [first, .., last] => put(
                &mut out,
                format_args!("lines {first} and {last} of {} are shown", self.total_lines),
            ),
        }
        put(&mut out, format_args!(" ({} bytes in all)", self.total_bytes));
        if self.cut_lines > 0 {
            put(
                &mut out,
                format_args!("; {} of them cut at {} characters", self.cut_lines, self.cut_at),
            );
        }
        for line in &self.partial {
            put(&mut out, format_args!("; line {line} in part"));
        }
        if self.replaced_lines > 0 {
            put(
                &mut out,
                format_args!(
                    "; {} of them with replaced NUL or invalid bytes",
                    self.replaced_lines
                ),
            );
        }
        let (label, words, hint) = match &self.full {
            FullText::Saved(place) => (SAVED, on_one_line(place, usize::MAX), SAVED_HINT),
            FullText::Kept(name) => (KEPT, on_one_line(name, usize::MAX), OTHER_HINT),
            FullText::NotSaved(reason) => {
                (NOT_SAVED, on_one_line(reason, LONGEST_REASON), OTHER_HINT)
            }
        };
        let hint = if detail == Detail::Advice { hint } else { "" };
        put(&mut out, format_args!("; {label}{words}{hint}"));
        out
    }

    /// Reads what `figures` wrote, behind the opening.
    fn read(text: &str) -> Option<Self> {
        let (range, text) = if let Some(text) = text.strip_prefix("no line of ") {
            ("", text)
        } else {
            text.strip_prefix("lines ")?.split_once(" of ")?
        };
        let shown = range
            .split(" and ")
            .filter(|range| !range.is_empty())
            .map(|range| {
                let (first, last) = range.split_once('-')?;
                Some(LineRange { first: first.parse().ok()?, last: last.parse().ok()? })
            })
            .collect::<Option<Vec<_>>>()?;
        let (total_lines, text) = text.split_once(' ')?;
        let (total_bytes, mut text) = text.split_once(" (")?.1.split_once(" bytes in all); ")?;
        let mut notice = Self {
            total_lines: total_lines.parse().ok()?,
            total_bytes: total_bytes.parse().ok()?,
            shown,
            cut_lines: 0,
            cut_at: 0,
            partial: Vec::new(),
            replaced_lines: 0,
            full: FullText::NotSaved(String::new()),
        };
        loop {
            if let Some(place) = text.strip_prefix(SAVED) {
                let place = place.strip_suffix(SAVED_HINT).unwrap_or(place);
                notice.full = FullText::Saved(place.into());
                return Some(notice);
            }
            if let Some(name) = text.strip_prefix(KEPT) {
                let name = name.strip_suffix(OTHER_HINT).unwrap_or(name);
                notice.full = FullText::Kept(name.into());
                return Some(notice);
            }
            if let Some(reason) = text.strip_prefix(NOT_SAVED) {
                let reason = reason.strip_suffix(OTHER_HINT).unwrap_or(reason);
                notice.full = FullText::NotSaved(reason.into());
                return Some(notice);
            }
            let (clause, rest) = text.split_once("; ")?;
            if let Some(line) = clause.strip_prefix("line ") {
                notice.partial.push(line.strip_suffix(" in part")?.parse().ok()?);
            } else {
                let (count, words) = clause.split_once(" of them ")?;
                let count = count.parse().ok()?;
                match words.strip_prefix("cut at ").and_then(|rest| rest.split_once(' ')) {
                    Some((at, _)) => (notice.cut_lines, notice.cut_at) = (count, at.parse().ok()?),
                    None => notice.replaced_lines = count,
                }
            }
            text = rest;
        }
    }
}

fn put(out: &mut String, words: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(words);
}

/// Where the check of a notice that opens at `start` begins.
fn check_behind(text: &str, start: usize) -> Option<usize> {
    let mut end = (start + LONGEST).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = text[start..end].split('\n').next()?;
    line.match_indices(CHECK)
        .map(|(at, _)| start + at)
        .find(|at| read_check(&text[*at..]).is_some())
}

/// Code, place and length of the check that `text` begins with.
fn read_check(text: &str) -> Option<(u32, usize, usize)> {
    let rest = text.strip_prefix(CHECK)?;
    let (code, rest) = rest.split_at_checked(8)?;
    let is_code = code.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let rest = rest.strip_prefix('@').filter(|_| is_code)?;
    let digits = rest.bytes().take(20).take_while(u8::is_ascii_digit).count();
    let place = rest[..digits].parse().ok()?;
    rest[digits..].strip_prefix(']')?;
    Some((u32::from_str_radix(code, 16).ok()?, place, CHECK.len() + 8 + 2 + digits))
}

fn code_of(before: &str, figures: &str, after: &str) -> u32 {
    let mut code = CheckCode::new();
    for part in [before, figures, after] {
        code.update(part.as_bytes());
    }
    code.finish()
}

/// The words without anything that would break the line or steer a terminal.
fn on_one_line(words: &str, most: usize) -> String {
    let mut out = String::new();
    for char in words.chars().take(most) {
        if char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Notice {
        Notice {
            total_lines: 5000,
            total_bytes: 1_048_576,
            shown: vec![LineRange { first: 1, last: 600 }, LineRange { first: 4900, last: 5000 }],
            cut_lines: 3,
            cut_at: 2000,
            partial: vec![7],
            replaced_lines: 2,
            full: FullText::Saved("/a b/[x]; y/0f.txt".into()),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let notices = [
            sample(),
            Notice { shown: vec![], cut_lines: 0, cut_at: 0, ..sample() },
            Notice { full: FullText::NotSaved("no storage space".into()), ..sample() },
            Notice { full: FullText::Kept("0f3a".into()), ..sample() },
            Notice { partial: vec![], replaced_lines: 0, ..sample() },
        ];
        for notice in notices {
            for detail in [Detail::Advice, Detail::Facts] {
                for (before, after) in [("", ""), ("a\n", ""), ("", "\nb"), ("a\n", "\nb [brute")] {
                    let written = notice.write(detail, before, after);
                    assert_eq!(written.len(), notice.length(detail, before.len()));
                    let text = format!("{before}{written}{after}");
                    let located = Notice::locate(&text).expect("our own notice");
                    assert_eq!(located.notice, notice);
                    assert_eq!(&text[located.at], written);
                }
            }
        }
    }

    #[test]
    fn the_notice_reads_well() {
        let notice = Notice { partial: vec![], replaced_lines: 0, ..sample() };
        insta::assert_snapshot!(
            notice.write(Detail::Advice, "", ""),
            @"[brute:truncated: lines 1-600 and 4900-5000 of 5000 are shown (1048576 bytes in all); 3 of them cut at 2000 characters; full text: /a b/[x]; y/0f.txt; read it in pieces or search it; check e4371067@0]"
        );
    }

    #[test]
    fn look_alikes_are_not_notices() {
        let text = format!("kept\n{}", sample().write(Detail::Advice, "kept\n", ""));
        assert!(Notice::verify(&text).is_some());
        let foreign = [
            text.replace("kept", "Kept"),
            text.replace("5000", "5001"),
            text.replace("0f.txt", "00.txt"),
            format!("{text} more"),
            format!("{text}\n{text}"),
            format!("x{text}"),
            text.replace("kept\n", ""),
            format!("kept {}", sample().write(Detail::Advice, "kept ", "")),
            format!("{} kept", sample().write(Detail::Advice, "", " kept")),
            "[brute:truncated: lines 1-2 of 3 are shown".into(),
            "[brute:truncated: ; check 00000000@0]".into(),
            "[brute:truncated: ".repeat(3),
        ];
        for text in foreign {
            assert_eq!(Notice::verify(&text), None, "{text}");
        }
    }

    #[test]
    fn a_quoted_notice_does_not_hide_the_real_one() {
        let quoted = format!("kept\n{}\n", sample().write(Detail::Advice, "kept\n", ""));
        let text = format!("{quoted}{}", sample().write(Detail::Facts, &quoted, ""));
        assert_eq!(Notice::locate(&text).map(|located| located.at.start), Some(quoted.len()));
    }

    #[test]
    fn words_cannot_break_the_line() {
        let notice = Notice { full: FullText::NotSaved("a\nb\x1b[31m".into()), ..sample() };
        let written = notice.write(Detail::Facts, "", "");
        assert!(!written.contains(['\n', '\x1b']), "{written}");
        assert!(Notice::verify(&written).is_some());
    }
}
