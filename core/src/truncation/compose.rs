//! Chooses which lines are shown, and puts them and the notice together.

use std::ops::Range;

use super::line::{Line, Shape};
use super::notice::Detail;
use super::{FullText, Keep, Limit, Limits, LineRange, Located, Notice};

/// Stands alone where a notice has no room.
const BARE: &str = "[truncated]";

/// The text, if it is no more than what stands where a notice has no room.
pub(super) fn bare(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    (text.strip_suffix('\n').unwrap_or(text) == BARE).then_some(text)
}

/// What may be shown of a text that is over the limits, and what is known of all of it.
#[derive(Debug, Clone)]
pub struct Excerpt {
    pub(super) limits: Limits,
    pub(super) total_lines: u64,
    pub(super) total_bytes: u64,
    pub(super) cut_at: u64,
    /// Whether the text ends with an end of line, as what is shown of it then does too.
    pub(super) is_ended: bool,
    /// The first lines, as far as `keep` wants them.
    pub(super) head: Vec<Line>,
    /// The last lines, likewise. Both may hold the same ones.
    pub(super) tail: Vec<Line>,
}

/// A text that was cut, with its notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    /// The shown text and the notice, together within the limits.
    pub text: String,
    /// What the notice says.
    pub notice: Notice,
    /// Which limit was met first; where nothing was left out, what else was done to the text.
    pub limit: Limit,
    /// Bytes of the shown text, without marks and notice.
    pub kept_bytes: usize,
    /// Where in `text` the notice stands; a bare `[truncated]` or nothing where it had no room.
    pub notice_at: Range<usize>,
    /// Where in `text` the shown text stands, before and behind the notice.
    body: (Range<usize>, Range<usize>),
}

impl Truncated {
    /// The shown text before the notice and the one behind it.
    pub fn body(&self) -> (&str, &str) {
        (&self.text[self.body.0.clone()], &self.text[self.body.1.clone()])
    }

    /// Where in `text` the two parts of [`Truncated::body`] are.
    pub fn body_ranges(&self) -> (Range<usize>, Range<usize>) {
        self.body.clone()
    }
}

impl Excerpt {
    /// Lines of the full text.
    pub fn total_lines(&self) -> u64 {
        self.total_lines
    }

    /// Bytes of the full text.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The same, for a text that was examined without some of its bytes, such as terminal sequences:
    /// how many it has with them. Its lines have to be those that were examined.
    #[must_use]
    pub fn of_bytes(self, total_bytes: u64) -> Self {
        Self { total_bytes, ..self }
    }

    /// The text, if it needs no change at all.
    pub(super) fn whole(&self) -> Option<String> {
        let fits = self.total_bytes <= self.limits.max_bytes as u64
            && self.total_lines <= self.limits.max_lines as u64;
        let lines = if self.head.is_empty() { &self.tail } else { &self.head };
        let unchanged = |line: &Line| !line.is_cut && !line.is_partial && !line.is_replaced;
        (fits && lines.iter().all(unchanged)).then(|| written(lines))
    }

    /// What `text`, a result of ours under other limits, shows.
    pub(super) fn again(text: &str, located: &Located, limits: &Limits) -> Self {
        let shape = Shape::new(limits);
        let before = &text[..located.at.start];
        let after = &text[located.at.end..];
        let after = after.strip_prefix('\n').unwrap_or(after);
        let mut ranges = located.notice.shown.iter();
        let mut lines = |text: &str| -> Vec<Line> {
            if text.is_empty() {
                return Vec::new();
            }
            let first = ranges.next().map_or(1, |range| range.first);
            (first..)
                .zip(text.split_inclusive('\n'))
                .map(|(number, line)| {
                    let (line, eol) = match line.strip_suffix('\n') {
                        Some(line) => match line.strip_suffix('\r') {
                            Some(line) => (line, "\r\n"),
                            None => (line, "\n"),
                        },
                        None => (line, ""),
                    };
                    let mut line = Line::shown(number, line, eol, shape);
                    line.is_partial |= located.notice.partial.contains(&number);
                    line.is_cut &= !line.is_partial;
                    line.is_replaced &= located.notice.replaced_lines > 0;
                    line
                })
                .collect()
        };
        let (head, tail) = (lines(before), lines(after));
        let (head, tail) = match (head.is_empty(), tail.is_empty()) {
            (true, false) => (tail.clone(), tail),
            (false, true) => (head.clone(), head),
            _ => (head, tail),
        };
        let (now, earlier) = (limits.max_line_chars as u64, located.notice.cut_at);
        Self {
            limits: limits.clone(),
            total_lines: located.notice.total_lines,
            total_bytes: located.notice.total_bytes,
            cut_at: if earlier == 0 { now } else { now.min(earlier) },
            is_ended: text.ends_with('\n'),
            head,
            tail,
        }
    }

    /// Puts the shown lines and the notice together. `full` says where the full text is.
    pub fn compose(self, full: FullText) -> Truncated {
        let limits = self.limits.clone();
        let Some((detail, room)) = self.room(&full) else { return self.bare(full) };
        let (mut head, mut tail, stopped) = self.choose(room);

        // What meets in the middle is one piece, and the notice stands at its end.
        if let (Some(last), Some(first)) = (head.last(), tail.first())
            && last.number + 1 == first.number
        {
            head.append(&mut tail);
        }
        let lines = || head.iter().chain(&tail);
        let count = |is: fn(&Line) -> bool| lines().filter(|line| is(line)).count() as u64;
        let range = |lines: &[Line]| {
            Some(LineRange { first: lines.first()?.number, last: lines.last()?.number })
        };
        let cut_lines = count(|line| line.is_cut);
        let notice = Notice {
            total_lines: self.total_lines,
            total_bytes: self.total_bytes,
            shown: [range(&head), range(&tail)].into_iter().flatten().collect(),
            cut_lines,
            cut_at: if cut_lines > 0 { self.cut_at } else { 0 },
            partial: lines().filter(|line| line.is_partial).map(|line| line.number).collect(),
            replaced_lines: count(|line| line.is_replaced),
            full,
        };
        let limit = match stopped {
            Some(limit) => limit,
            // Lines that an earlier cut left out stay out, whichever limit it was.
            None if !notice.partial.is_empty() || count(|_| true) < self.total_lines => {
                Limit::Bytes
            }
            None if cut_lines > 0 => Limit::LineChars,
            None => Limit::Replaced,
        };

        let kept_bytes = lines().map(Line::text_size).sum();
        let mut before = written(&head);
        let before_body = before.len();
        if !before.is_empty() && !before.ends_with('\n') {
            before.push('\n');
        }
        let after_body = written(&tail);
        let has_room = before.len() + notice.length(detail, before.len()) < limits.max_bytes;
        let after = match after_body.as_str() {
            "" if self.is_ended && has_room => "\n".to_owned(),
            "" => String::new(),
            lines => format!("\n{lines}"),
        };
        let words = notice.write(detail, &before, &after);
        let notice_at = before.len()..before.len() + words.len();
        let text = before + &words + &after;
        Truncated {
            body: (0..before_body, text.len() - after_body.len()..text.len()),
            text,
            notice,
            limit,
            kept_bytes,
            notice_at,
        }
    }

    /// How much the notice says, and how many bytes it leaves for the text.
    fn room(&self, full: &FullText) -> Option<(Detail, usize)> {
        let lines = || self.head.iter().chain(&self.tail);
        let total = self.total_lines;
        let worst = LineRange { first: total, last: total };
        let count = |any: bool| if any { total } else { 0 };
        let mut notice = Notice {
            total_lines: total,
            total_bytes: self.total_bytes,
            shown: vec![worst; if self.limits.keep == Keep::Ends { 2 } else { 1 }],
            cut_lines: count(lines().any(|line| line.is_cut)),
            cut_at: self.cut_at,
            partial: lines().filter(|line| line.is_partial).take(2).map(|_| total).collect(),
            replaced_lines: count(lines().any(|line| line.is_replaced)),
            full: full.clone(),
        };
        let most = self.limits.max_bytes;
        let length = |notice: &Notice, detail| notice.length(detail, most);
        let detail = if length(&notice, Detail::Advice) <= most / 2 {
            Detail::Advice
        } else {
            Detail::Facts
        };
        // An end of line on either side of the notice.
        let room = |notice: &Notice| most.checked_sub(length(notice, detail) + 2);
        let without_partial = room(&notice);
        if lines().any(|line| without_partial.is_none_or(|room| line.size() > room)) {
            notice.partial = vec![total; 2];
        }
        let room = room(&notice).or_else(|| {
            // No text, but the notice alone may fit yet.
            (length(&notice, detail) <= most).then_some(0)
        })?;
        (self.limits.max_lines > 0).then_some((detail, room))
    }

    /// The lines that fit in `room`, and what stopped them.
    fn choose(&self, room: usize) -> (Vec<Line>, Vec<Line>, Option<Limit>) {
        // The notice takes one.
        let max_lines = self.limits.max_lines.saturating_sub(1);
        let mut pick = Pick { room, keep: self.limits.keep, bytes: 0, lines: 0 };
        match self.limits.keep {
            Keep::Head => {
                let (head, stopped) = pick.take(self.head.iter(), room, max_lines);
                (head, Vec::new(), stopped)
            }
            Keep::Tail => {
                let (mut tail, stopped) = pick.take(self.tail.iter().rev(), room, max_lines);
                tail.reverse();
                (Vec::new(), tail, stopped)
            }
            Keep::Ends => {
                let (bytes, lines) = match self.total_lines {
                    0 | 1 => (room, max_lines),
                    _ => (room / 2, max_lines.div_ceil(2)),
                };
                let (mut head, at_head) = pick.take(self.head.iter(), bytes, lines);
                let behind = head.last().map_or(0, |line| line.number);
                let rest = self.tail.iter().rev().filter(|line| line.number > behind);
                let (mut tail, at_tail) = pick.take(rest, room, max_lines);
                tail.reverse();
                // What the tail left over goes to a line that is shown in part.
                if let Some(last) = head.last_mut().filter(|line| line.is_partial)
                    && let Some(whole) = self.head.iter().find(|line| line.number == last.number)
                    && let Some(part) = whole.within(room - pick.bytes + last.size(), Keep::Ends)
                {
                    *last = part;
                }
                let met = match (tail.first(), self.tail.last()) {
                    (Some(first), _) => first.number == behind + 1,
                    (None, last) => last.is_none_or(|last| last.number == behind),
                };
                (head, tail, if met { None } else { at_tail.or(at_head) })
            }
        }
    }

    /// The result where the limits leave no room for a notice.
    fn bare(self, full: FullText) -> Truncated {
        let has_room = BARE.len() <= self.limits.max_bytes && self.limits.max_lines > 0;
        let mut text = if has_room { BARE.to_owned() } else { String::new() };
        if has_room && self.is_ended && text.len() < self.limits.max_bytes {
            text.push('\n');
        }
        let notice_at = 0..if has_room { BARE.len() } else { 0 };
        let is_over = self.total_lines > self.limits.max_lines as u64;
        Truncated {
            notice_at,
            body: (0..0, text.len()..text.len()),
            text,
            notice: Notice {
                total_lines: self.total_lines,
                total_bytes: self.total_bytes,
                shown: Vec::new(),
                cut_lines: 0,
                cut_at: 0,
                partial: Vec::new(),
                replaced_lines: 0,
                full,
            },
            limit: if is_over { Limit::Lines } else { Limit::Bytes },
            kept_bytes: 0,
        }
    }
}

fn written(lines: &[Line]) -> String {
    let mut out = String::with_capacity(lines.iter().map(Line::size).sum());
    for line in lines {
        line.write(&mut out);
    }
    out
}

/// Takes lines as long as they fit.
struct Pick {
    /// All the room there is for text. A line that is larger is shown in part.
    room: usize,
    keep: Keep,
    bytes: usize,
    lines: usize,
}

impl Pick {
    /// Takes lines until `most_bytes` or `most_lines` are taken, those of earlier calls included.
    fn take<'a>(
        &mut self,
        lines: impl Iterator<Item = &'a Line>,
        most_bytes: usize,
        most_lines: usize,
    ) -> (Vec<Line>, Option<Limit>) {
        let mut taken = Vec::new();
        for line in lines {
            if self.lines >= most_lines {
                return (taken, Some(Limit::Lines));
            }
            let left = most_bytes.saturating_sub(self.bytes);
            if line.size() > left {
                if line.size() > self.room
                    && let Some(part) = line.within(left, self.keep)
                {
                    self.bytes += part.size();
                    self.lines += 1;
                    taken.push(part);
                }
                return (taken, Some(Limit::Bytes));
            }
            self.bytes += line.size();
            self.lines += 1;
            taken.push(line.clone());
        }
        (taken, None)
    }
}
