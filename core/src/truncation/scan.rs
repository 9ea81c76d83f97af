//! The one pass over the text: counts everything, holds what may be shown.

use std::collections::VecDeque;

use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

use super::line::{CharCount, Line, Shape, has_nul, split_cr};
use super::{Excerpt, Keep, Limits, Verdict};

/// Looks at a text that comes in pieces, and holds no more of it than the limits let through.
///
/// Memory is bounded by the limits, whatever the length of the text or of its lines: about
/// `max_bytes` for each end that is kept, and four bytes for each character of `max_line_chars`.
///
/// ```
/// use brute_core::truncation::{FullText, Limits, Scan, Verdict};
///
/// let mut scan = Scan::new(Limits { max_lines: 3, ..Limits::default() });
/// for piece in ["one\ntw", "o\nthree\nfo", "ur\nfive\n"] {
///     scan.push(piece.as_bytes());
/// }
/// let Verdict::Over(excerpt) = scan.finish() else { unreachable!() };
/// let cut = excerpt.compose(FullText::Saved("/tmp/full.txt".into()));
/// assert_eq!(cut.notice.total_lines, 5);
/// assert!(cut.text.starts_with("one\ntwo\n[brute:truncated: lines 1-2 of 5 are shown"));
/// ```
#[derive(Debug)]
pub struct Scan {
    limits: Limits,
    shape: Shape,
    bytes: u64,
    /// Lines that have ended.
    lines: u64,
    head: Option<Head>,
    tail: Option<Tail>,
    open: Open,
}

impl Scan {
    /// Begins with an empty text.
    pub fn new(limits: Limits) -> Self {
        let shape = Shape::new(&limits);
        let bound = || Bound { lines: limits.max_lines, bytes: limits.max_bytes };
        Self {
            head: (limits.keep != Keep::Tail).then(|| Head::new(bound())),
            tail: (limits.keep != Keep::Head).then(|| Tail::new(bound())),
            open: Open::default(),
            bytes: 0,
            lines: 0,
            shape,
            limits,
        }
    }

    /// Takes in the next piece. Pieces may end anywhere, inside a character too. The larger they
    /// are, the less each byte costs: 64 KiB or more is good.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if !self.wants_more() {
            self.lines += count_newlines(piece);
            self.open.track(piece, false, self.shape);
            return;
        }
        let mut rest = piece;
        let mut closed = None;
        if !self.open.is_empty() {
            let Some(end) = memchr(b'\n', rest) else {
                self.open.track(rest, true, self.shape);
                return;
            };
            self.open.track(&rest[..end], true, self.shape);
            self.lines += 1;
            closed = Some(self.open.close(self.lines, true, self.shape));
            rest = &rest[end + 1..];
        }
        let whole = memrchr(b'\n', rest).map_or(0, |end| end + 1);
        let (whole, open) = rest.split_at(whole);
        self.take_lines(closed, whole);
        let track = self.wants_more();
        self.open.track(open, track, self.shape);
    }

    /// Ends the text.
    pub fn finish(mut self) -> Verdict<String> {
        let is_ended = self.open.is_empty();
        if !self.open.is_empty() {
            self.lines += 1;
            if self.wants_more() {
                let line = self.open.close(self.lines, false, self.shape);
                self.take_lines(Some(line), b"");
            }
        }
        let excerpt = Excerpt {
            total_lines: self.lines,
            total_bytes: self.bytes,
            cut_at: self.limits.max_line_chars as u64,
            is_ended,
            limits: self.limits,
            head: self.head.map(|head| head.lines).unwrap_or_default(),
            tail: self.tail.map(|tail| tail.finish(self.shape)).unwrap_or_default(),
        };
        match excerpt.whole() {
            Some(text) => Verdict::Fits(text),
            None => Verdict::Over(excerpt),
        }
    }

    /// Whether lines still to come may be shown; else they are only counted.
    fn wants_more(&self) -> bool {
        self.tail.is_some() || self.head.as_ref().is_some_and(|head| !head.is_full())
    }

    /// Takes in a line that began in an earlier piece, and the lines that all end within `bytes`.
    fn take_lines(&mut self, closed: Option<Line>, bytes: &[u8]) {
        if let Some(head) = &mut self.head {
            if let Some(line) = closed.as_ref().filter(|_| !head.is_full()) {
                head.push(line.clone());
            }
            let (mut from, mut number) = (0, self.lines);
            for end in memchr_iter(b'\n', bytes) {
                if head.is_full() {
                    break;
                }
                number += 1;
                let (line, eol) = split_cr(&bytes[from..end]);
                head.push(Line::of(number, line, eol, self.shape));
                from = end + 1;
            }
        }
        self.lines += count_newlines(bytes);
        if let Some(tail) = &mut self.tail {
            tail.take(closed, bytes, self.lines, self.shape);
        }
    }
}

/// Looks at a text that lies in memory.
pub fn examine<'a>(text: &'a [u8], limits: &Limits) -> Verdict<&'a str> {
    if let Some(text) = fits(text, limits) {
        return Verdict::Fits(text);
    }
    let mut scan = Scan::new(limits.clone());
    scan.push(text);
    match scan.finish() {
        Verdict::Over(excerpt) => Verdict::Over(excerpt),
        // The same conditions, looked at in another order.
        Verdict::Fits(_) => Verdict::Fits(std::str::from_utf8(text).unwrap_or_default()),
    }
}

/// The text, if it needs no change at all.
fn fits<'a>(text: &'a [u8], limits: &Limits) -> Option<&'a str> {
    if text.len() > limits.max_bytes || count_lines(text) > limits.max_lines as u64 {
        return None;
    }
    let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
    let is_short = |line: &str| {
        line.len() <= limits.max_line_chars || line.chars().count() <= limits.max_line_chars
    };
    let all_short = text.len() <= limits.max_line_chars
        || text
            .split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(line) => line.strip_suffix('\r').unwrap_or(line),
                None => line,
            })
            .all(is_short);
    all_short.then_some(text)
}

/// The number of lines: a final end of line does not begin another one.
pub(super) fn count_lines(text: &[u8]) -> u64 {
    count_newlines(text) + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

fn count_newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// How many lines and bytes may be shown at most.
#[derive(Debug, Clone, Copy)]
struct Bound {
    lines: usize,
    bytes: usize,
}

/// The first lines, up to the one that goes past the bound.
#[derive(Debug)]
struct Head {
    bound: Bound,
    lines: Vec<Line>,
    bytes: usize,
}

impl Head {
    fn new(bound: Bound) -> Self {
        Self { bound, lines: Vec::new(), bytes: 0 }
    }

    fn push(&mut self, line: Line) {
        self.bytes += line.size();
        self.lines.push(line);
    }

    fn is_full(&self) -> bool {
        self.lines.len() > self.bound.lines || self.bytes > self.bound.bytes
    }
}

/// The last lines, from the one that goes past the bound.
#[derive(Debug)]
struct Tail {
    bound: Bound,
    lines: VecDeque<Line>,
    bytes: usize,
    /// Lines that alone go past the bound and stand for all before them, not yet looked into: most
    /// pieces of a long text are followed by one that replaces theirs.
    raw: Vec<u8>,
    /// The number of the last line in `raw`.
    raw_last: u64,
}

impl Tail {
    fn new(bound: Bound) -> Self {
        Self { bound, lines: VecDeque::new(), bytes: 0, raw: Vec::new(), raw_last: 0 }
    }

    /// Takes in a line and the lines of `bytes` behind it, the last of which is number `last`.
    fn take(&mut self, closed: Option<Line>, bytes: &[u8], last: u64, shape: Shape) {
        if let Some(raw) = self.enough(bytes, shape) {
            self.raw.clear();
            self.raw.extend_from_slice(raw);
            self.raw_last = last;
            return;
        }
        self.read_raw(shape);
        if let Some(line) = closed {
            self.push(line);
        }
        self.read(bytes, last, shape);
    }

    fn finish(mut self, shape: Shape) -> Vec<Line> {
        self.read_raw(shape);
        self.lines.into()
    }

    /// The end of `bytes`, if it goes past the bound, whatever is before it: lines that are shown
    /// whole take no less room than their bytes, unless NULs in them are summed up.
    fn enough<'a>(&self, bytes: &'a [u8], shape: Shape) -> Option<&'a [u8]> {
        let mut end = bytes.len().checked_sub(1)?;
        let mut lines = 0;
        for newline in memrchr_iter(b'\n', &bytes[..end]) {
            if end - newline > shape.most() {
                return None;
            }
            lines += 1;
            end = newline;
            if lines > self.bound.lines || bytes.len() - (newline + 1) > self.bound.bytes {
                let raw = &bytes[newline + 1..];
                return (!has_nul(raw)).then_some(raw);
            }
        }
        None
    }

    fn read_raw(&mut self, shape: Shape) {
        let raw = std::mem::take(&mut self.raw);
        if !raw.is_empty() {
            self.lines.clear();
            self.bytes = 0;
            self.read(&raw, self.raw_last, shape);
        }
    }

    /// Reads lines that all end within `bytes` from the back, as far as they are wanted.
    fn read(&mut self, bytes: &[u8], last: u64, shape: Shape) {
        let Some(mut end) = bytes.len().checked_sub(1) else { return };
        let mut reversed = Self::new(self.bound);
        let starts = memrchr_iter(b'\n', &bytes[..end]).map(|at| at + 1).chain([0]);
        for (back, start) in (0..).zip(starts) {
            let (line, eol) = split_cr(&bytes[start..end]);
            let line = Line::of(last - back, line, eol, shape);
            reversed.bytes += line.size();
            reversed.lines.push_front(line);
            if reversed.is_full() {
                *self = reversed;
                return;
            }
            end = start.saturating_sub(1);
        }
        for line in reversed.lines {
            self.push(line);
        }
    }

    fn push(&mut self, line: Line) {
        self.bytes += line.size();
        self.lines.push_back(line);
        while let Some(first) = self.lines.front().map(Line::size)
            && (self.lines.len() - 1 > self.bound.lines || self.bytes - first > self.bound.bytes)
        {
            self.bytes -= first;
            self.lines.pop_front();
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() > self.bound.lines || self.bytes > self.bound.bytes
    }
}

/// A line whose end is yet to come.
#[derive(Debug, Default)]
struct Open {
    started: bool,
    /// A carriage return at the end: half of a CRLF, or not.
    cr: bool,
    bytes: usize,
    chars: CharCount,
    /// The first bytes; all of them, if they are not too many.
    start: Vec<u8>,
    /// The last bytes, once `start` is full.
    end: Vec<u8>,
}

impl Open {
    fn is_empty(&self) -> bool {
        !self.started
    }

    /// Takes in more of the line; if nobody will look at it, only notes whether there is one.
    fn track(&mut self, piece: &[u8], wanted: bool, shape: Shape) {
        let Some(last) = piece.last() else { return };
        if !wanted {
            self.started = *last != b'\n';
            return;
        }
        self.started = true;
        if std::mem::take(&mut self.cr) {
            self.push(b"\r", shape);
        }
        let line = piece.strip_suffix(b"\r").unwrap_or(piece);
        self.cr = line.len() < piece.len();
        self.push(line, shape);
    }

    fn push(&mut self, piece: &[u8], shape: Shape) {
        self.bytes += piece.len();
        self.chars.push(piece);
        let room = shape.start_bytes().saturating_sub(self.start.len());
        let (first, rest) = piece.split_at(room.min(piece.len()));
        self.start.extend_from_slice(first);
        if rest.is_empty() || shape.end_bytes() == 0 {
            return;
        }
        let kept = rest.len().min(shape.end_bytes());
        if self.end.len() + kept > 2 * shape.end_bytes() {
            let surplus = self.end.len().saturating_sub(shape.end_bytes());
            self.end.drain(..surplus);
        }
        self.end.extend_from_slice(&rest[rest.len() - kept..]);
    }

    /// Ends the line, by a newline or by the end of the text.
    fn close(&mut self, number: u64, newline: bool, shape: Shape) -> Line {
        let mut open = std::mem::take(self);
        let eol = match (newline, open.cr) {
            (true, true) => "\r\n",
            (true, false) => "\n",
            (false, cr) => {
                if cr {
                    open.push(b"\r", shape);
                }
                ""
            }
        };
        if open.bytes <= open.start.len() {
            return Line::of(number, &open.start, eol, shape);
        }
        let missing = shape.end_bytes().saturating_sub(open.end.len());
        let before = open.start.len().saturating_sub(missing);
        let end = [&open.start[before..], &open.end].concat();
        let end = &end[end.len().saturating_sub(shape.end_bytes())..];
        Line::cut(number, &open.start, end, open.chars.finish(), eol, shape)
    }
}
