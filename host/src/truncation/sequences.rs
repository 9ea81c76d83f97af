//! Takes terminal control sequences out of a text.

use std::borrow::Cow;

use memchr::memchr;

/// Begins every sequence.
pub(super) const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// The longest sequence that is known as one, in bytes: enough for a hyperlink, a clipboard or a tile
/// of an image, and what a sequence without an end can hold back at most.
const LONGEST: usize = 64 * 1024;

/// A text as it comes in pieces, without its control sequences.
///
/// The forms are those of ECMA-48 (sections 5.3 to 5.6) and ECMA-35 in seven bits, and two that
/// terminals have added: the bell as the end of a system command, and `ESC k` for a title.
///
/// * `ESC [`, parameters, and any final byte from `@` to `~`: colors, cursor moves, modes, keys;
/// * `ESC ]` to the bell or `ESC \`: titles, hyperlinks, the clipboard;
/// * `ESC P`, `ESC X`, `ESC ^`, `ESC _`, `ESC k` to `ESC \`: images and other strings for the terminal;
/// * `ESC`, one or more from the blank to `/`, and one from `0` to `~`: character sets;
/// * `ESC` and one from `0` to `~`.
///
/// What begins like one of them and does not end like it on the same line (and within 64 KiB) loses
/// its beginning alone, so that nothing that somebody may want to read goes with it. So the result
/// has every line of the text, and no escape character: nothing in it can become a sequence. The
/// eight-bit forms (U+0080 to U+009F) stay: in UTF-8 few terminals heed them.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    state: State,
    /// What goes with the sequence if it ends as it should, and goes on if it does not.
    held: Vec<u8>,
    found: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind an escape character.
    Escape,
    /// Behind `ESC` and a byte from the blank to `/`.
    Designation,
    /// Behind `ESC [`.
    Control,
    /// Behind what begins a string.
    String { bell_ends: bool },
    /// Behind an escape character in a string.
    StringEscape,
}

impl Sequences {
    /// Appends to `out` what of the next piece goes on. A piece may end anywhere.
    pub(super) fn strip(&mut self, mut piece: &[u8], out: &mut Vec<u8>) {
        while let Some(&byte) = piece.first() {
            match self.state {
                State::Text => {
                    let text = memchr(ESC, piece).unwrap_or(piece.len());
                    out.extend_from_slice(&piece[..text]);
                    if text == piece.len() {
                        return;
                    }
                    self.found = true;
                    self.state = State::Escape;
                    piece = &piece[text + 1..];
                    continue;
                }
                State::String { bell_ends } => {
                    let ends = |byte: &u8| match *byte {
                        ESC | b'\n' | CAN | SUB => true,
                        BEL => bell_ends,
                        _ => false,
                    };
                    let room = piece.len().min(LONGEST - self.held.len());
                    let content = piece[..room].iter().position(ends).unwrap_or(room);
                    self.held.extend_from_slice(&piece[..content]);
                    piece = &piece[content..];
                    match piece.first() {
                        Some(&ESC) => self.state = State::StringEscape,
                        Some(&BEL) if bell_ends => self.end(),
                        // Its end is yet to come.
                        None => return,
                        // Too long, or ended as it should not.
                        _ => {
                            self.release(out);
                            continue;
                        }
                    }
                }
                State::StringEscape if byte == b'\\' => self.end(),
                State::StringEscape => {
                    self.release(out);
                    self.state = State::Escape;
                    continue;
                }
                State::Escape => match byte {
                    b'[' => self.state = State::Control,
                    b']' => self.state = State::String { bell_ends: true },
                    b'P' | b'X' | b'^' | b'_' | b'k' => {
                        self.state = State::String { bell_ends: false };
                    }
                    b' '..=b'/' => {
                        self.held.push(byte);
                        self.state = State::Designation;
                    }
                    b'0'..=b'~' => self.end(),
                    _ => {
                        self.release(out);
                        continue;
                    }
                },
                State::Control | State::Designation => {
                    let (more, last) = match self.state {
                        State::Control => (b' '..=b'?', b'@'..=b'~'),
                        _ => (b' '..=b'/', b'0'..=b'~'),
                    };
                    if more.contains(&byte) && self.held.len() < LONGEST {
                        self.held.push(byte);
                    } else if last.contains(&byte) {
                        self.end();
                    } else {
                        self.release(out);
                        continue;
                    }
                }
            }
            piece = &piece[1..];
        }
    }

    /// Appends what was held back: the text is over, and a sequence was not.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(out);
    }

    /// Whether something was taken out.
    pub(super) fn found(&self) -> bool {
        self.found
    }

    /// The sequence is whole, and goes.
    fn end(&mut self) {
        self.held.clear();
        self.state = State::Text;
    }

    /// It was none. What was held back has no escape character in it.
    fn release(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.state = State::Text;
    }
}

/// The text without its control sequences; `None` if it has none.
pub(super) fn without(text: &[u8]) -> Option<Vec<u8>> {
    memchr(ESC, text)?;
    let mut sequences = Sequences::default();
    let mut out = Vec::with_capacity(text.len());
    sequences.strip(text, &mut out);
    sequences.finish(&mut out);
    Some(out)
}

/// The text without control sequences, and without any other control character but newline and tab:
/// what a person at a terminal or a model can be given, whoever wrote it.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_odd = |char: char| char.is_control() && char != '\n' && char != '\t';
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let stripped = without(text.as_bytes());
    // What is taken out is made of whole characters.
    let text = stripped.map_or(Cow::Borrowed(text), |bytes| {
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    });
    Cow::Owned(text.chars().filter(|char| !is_odd(*char)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stripped(text: &str) -> String {
        let out = without(text.as_bytes()).unwrap_or_else(|| text.into());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sequences_go_and_text_stays() {
        for (text, rest) in [
            ("plain\r\n", "plain\r\n"),
            // Any final byte ends a control sequence.
            ("\x1b[31mred\x1b[0m \x1b[3~kept \x1b[?25l\x1b[38;5;12mx\x1b[m", "red kept x"),
            ("\x1b[5`a\x1b[2@b\x1b[1 qc\x1b[>4;2{d", "abcd"),
            ("\x1b[38:2::1:2:3mx", "x"),
            // Strings.
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://e.x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0;2;0\x07;0\x1b\\a\x1b_Gf=1;QUJD\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"),
            ("\x1bktitle\x1b\\text", "text"),
            ("\x1b]0;über 世界\x07text", "text"),
            // Character sets and short ones.
            ("\x1b(Bplain\x1b)0\x1b$(D", "plain"),
            ("a\x1b7b\x1b8c\x1b=d\x1bMe\x1bc", "abcde"),
            // Eight bits.
            ("\u{9b}31mc1", "\u{9b}31mc1"),
            // No sequences: the beginning alone goes.
            ("50\x1b\n", "50\n"),
            ("a\x1b", "a"),
            ("a\x1b[31", "a31"),
            ("a\x1b[31\nb", "a31\nb"),
            ("a\x1b[3\u{e9}b", "a3\u{e9}b"),
            ("a\x1b(\nb", "a(\nb"),
            ("\x1b]0;no end\nnext\x07 line", "0;no end\nnext\x07 line"),
            ("\x1b]0;no end\x1b[31mred", "0;no endred"),
            ("\x1b]0;no end\x1b", "0;no end"),
            ("\x1b]0;called off\x18rest", "0;called off\x18rest"),
            ("\x1bPno bell\x07here", "no bell\x07here"),
            // Nothing grows together to a new one.
            ("\x1b\x1b[m[31mx", "[31mx"),
            ("\x1b\x1b[31mx", "x"),
        ] {
            assert_eq!(stripped(text), rest, "{text:?}");
        }
        assert_eq!(without(b"no sequence"), None);
    }

    #[test]
    fn a_plain_text_has_lines_and_tabs_and_no_other_control() {
        for (text, rest) in [
            ("a\tb\nc é 世", "a\tb\nc é 世"),
            ("\x1b[1m## Decisions\x1b[0m\r\n- none\r\n", "## Decisions\n- none\n"),
            ("a\0b\x08c\x07d\x7fe\u{85}f\u{9b}g", "abcdefg"),
            ("a\x1b]0;title\x07b\x1b[31", "ab31"),
            ("\x1b\0[31m", "[31m"),
        ] {
            assert_eq!(plain(text), rest, "{text:?}");
        }
        assert!(matches!(plain("nothing to do\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_does_not_end_is_not_held_for_long() {
        for start in ["\x1b]52;c;", "\x1bPq", "\x1b[", "\x1b("] {
            let fill = if start == "\x1b(" { b'/' } else { b'0' };
            let mut sequences = Sequences::default();
            let mut out = Vec::new();
            sequences.strip(start.as_bytes(), &mut out);
            for _ in 0..1000 {
                sequences.strip(&[fill; 5000], &mut out);
                assert!(sequences.held.len() <= LONGEST);
            }
            sequences.finish(&mut out);
            assert_eq!(out.iter().filter(|byte| **byte == fill).count(), 5_000_000, "{start:?}");
        }
        // Up to there it goes as a whole.
        let clip = |bytes: usize| format!("a\x1b]{}\x07b", "x".repeat(bytes));
        assert_eq!(stripped(&clip(LONGEST)), "ab");
        assert_eq!(stripped(&clip(LONGEST + 1)).len(), LONGEST + 4);
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            prop::sample::select(vec![
                "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x18", "[", "]", "(", "B",
                "31", ";", "m", "~", " ", "\n", "\r\n", "\u{9b}", "é", "世", "\0",
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,8}",
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn however_it_comes_it_is_the_same(text in text(), sizes in prop::collection::vec(1usize..9, 1..20)) {
            let whole = stripped(&text);
            let (mut sequences, mut out, mut rest) = (Sequences::default(), Vec::new(), text.as_bytes());
            for size in sizes.iter().cycle() {
                let (piece, more) = rest.split_at(rest.len().min(*size));
                sequences.strip(piece, &mut out);
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
            sequences.finish(&mut out);
            prop_assert_eq!(&String::from_utf8(out).unwrap(), &whole);
            prop_assert_eq!(sequences.found(), text.contains('\x1b'));
            // No escape character is left, and every line is.
            prop_assert!(!whole.contains('\x1b'));
            prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
            let odd = |char: char| char.is_control() && char != '\n' && char != '\t';
            prop_assert!(!plain(&text).contains(odd));
            let mut all = text.chars();
            prop_assert!(whole.chars().all(|wanted| all.any(|char| char == wanted)));
        }
    }
}
