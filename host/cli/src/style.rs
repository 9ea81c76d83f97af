//! How things look: numbers, tables, colors.

use std::ops::Range;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use brute_host::shown::is_odd;
use comfy_table::{CellAlignment, Table, presets};

/// Something that went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something to look at.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Something that failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something that frames the rest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// A heading.
pub(crate) const HEAD: Style = Style::new().bold();

/// `text` in `style`.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A number with its thousands apart: `128,000`.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share of a whole in percent: `41 %`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.0} %", part as f64 * 100.0 / whole as f64),
    }
}

/// A duration in the unit that fits: `840 µs`, `12 ms`, `3.1 s`.
pub(crate) fn duration(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..1_000 => format!("{micros} µs"),
        micros @ 1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// Billionths of a dollar: `$0.0042`, `$1.25`.
pub(crate) fn dollars(billionths: u64) -> String {
    let dollars = billionths as f64 / 1e9;
    match billionths {
        0 => "$0".to_owned(),
        1..=99_999 => "< $0.0001".to_owned(),
        100_000..=999_999_999 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

/// Bytes in the unit that fits, of 1024 of the smaller one as in `brute.toml`: `840 B`, `12.0 KB`, `3.1 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    let mut scaled = bytes as f64;
    let mut name = "B";
    for unit in units {
        // What would be rounded up to the next unit is in it.
        if scaled < 1023.95 {
            break;
        }
        scaled /= 1024.0;
        name = unit;
    }
    if name == "B" { format!("{bytes} B") } else { format!("{scaled:.1} {name}") }
}

/// A count and its noun: `1 message`, `3 messages`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// The first words of a text, on one line of at most `most` columns.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        // A character that is not printed as itself would garble a terminal.
        words.extend(word.chars().filter(|character| !is_odd(*character)));
        if width(&words) > most {
            let cut = console::truncate_str(&words, most.saturating_sub(1), "");
            return format!("{}…", cut.trim_end());
        }
    }
    words
}

/// The columns of a terminal where none says how many it has.
const COLUMNS: u16 = 80;

/// Fewer columns than this hold no table; lines then run over, as the terminal likes.
const LEAST_COLUMNS: u16 = 40;

/// How many columns there are for text: as `COLUMNS` says, else the terminal, else 80.
pub(crate) fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    // A report goes to either; whoever reads it has both in one window.
    let seen = || console::Term::stdout().size_checked().or(console::Term::stderr().size_checked());
    let columns = said.or_else(|| seen().map(|(_, columns)| columns)).unwrap_or(COLUMNS);
    usize::from(columns.max(LEAST_COLUMNS))
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// `text` in lines that the terminal holds, the first one after `indent` columns that are taken, the others
/// indented as far. A word that is longer than a line stays whole.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    wrapped_to(text, indent, columns())
}

/// The same in lines of so many columns.
pub(crate) fn wrapped_to(text: &str, indent: usize, columns: usize) -> String {
    let most = columns.saturating_sub(indent);
    let (mut lines, mut taken) = (String::new(), 0);
    for word in text.split(' ') {
        let word_width = width(word);
        if taken > 0 && taken + 1 + word_width > most {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            taken = 0;
        } else if taken > 0 {
            lines.push(' ');
            taken += 1;
        }
        lines.push_str(word);
        taken += word_width;
    }
    lines
}

/// Rows under a header, without lines, in so many columns of the terminal. What is in `numeric` is aligned to the right.
///
/// A word stays whole. Where there is no room for all, what follows the first columns, those of `names`, one at least, goes into several
/// tables one below the other, each of which has the names.
pub(crate) fn table(
    header: &[impl AsRef<str>],
    rows: &[Vec<String>],
    names: usize,
    numeric: Range<usize>,
    columns: usize,
) -> String {
    // Nobody sees the blank at the end of a line.
    let columns = columns + 1;
    let widest = |column: usize, of: &dyn Fn(&str) -> usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| of(cell));
        PADDING + cells.chain([of(header[column].as_ref())]).max().unwrap_or(0)
    };
    let wholes: Vec<usize> = (0..header.len()).map(|column| widest(column, &width)).collect();
    let word = widest(names - 1, &longest_word);
    let whole: usize = wholes[..names].iter().sum();
    // Long names are broken between words before figures go into another table.
    let taken = if whole <= columns / 2 { whole } else { whole - wholes[names - 1] + word };
    let mut tables: Vec<String> = Vec::new();
    for shown in packed(&wholes[names..], columns.saturating_sub(taken)) {
        let shown: Vec<usize> = (0..names).chain(shown.map(|column| names + column)).collect();
        let others = shown.iter().filter(|at| **at != names - 1).map(|at| wholes[*at]).sum();
        let room = columns.saturating_sub(others).saturating_sub(PADDING);
        let cell = |at: usize, text: &str| match at == names - 1 {
            true => broken(text, room),
            false => text.to_owned(),
        };
        let mut table = Table::new();
        let titles = shown.iter().map(|at| cell(*at, header[*at].as_ref()));
        table.load_style(presets::NOTHING).set_header(titles);
        for row in rows {
            let cells = shown.iter().map(|at| cell(*at, row.get(*at).map_or("", String::as_str)));
            table.add_row(cells);
        }
        for (column, at) in table.column_iter_mut().zip(&shown) {
            if numeric.contains(at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines = table.to_string();
        tables.push(lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    }
    tables.join("\n\n")
}

/// The blanks around a cell.
const PADDING: usize = 2;

/// The blanks at the head of a name, which say that it is part of the one above.
fn indent(name: &str) -> usize {
    name.len() - name.trim_start().len()
}

/// How many columns the longest word of a name takes, with the blanks at its head.
fn longest_word(name: &str) -> usize {
    name.split_whitespace().map(|word| indent(name) + width(word)).max().unwrap_or(0)
}

/// A name in lines of so many columns, all of them behind the blanks at its head.
fn broken(name: &str, columns: usize) -> String {
    let indent = indent(name);
    format!("{}{}", " ".repeat(indent), wrapped_to(name.trim_start(), indent, columns))
}

/// Columns of these widths in runs that `room` holds, as even as can be; each has one at least.
fn packed(widths: &[usize], room: usize) -> Vec<Range<usize>> {
    let of = |most: usize| -> Vec<Range<usize>> {
        let (mut runs, mut begin, mut taken): (Vec<Range<usize>>, _, _) = (Vec::new(), 0, 0);
        for (at, width) in widths.iter().enumerate() {
            if at > begin && (taken + width > room || at - begin == most) {
                runs.push(begin..at);
                (begin, taken) = (at, 0);
            }
            taken += width;
        }
        runs.push(begin..widths.len());
        runs
    };
    let runs = of(widths.len());
    let even = of(widths.len().div_ceil(runs.len()));
    if even.len() == runs.len() { even } else { runs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_read_easily() {
        for (value, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(value), text);
        }
        for (micros, text) in [(840, "840 µs"), (12_300, "12 ms"), (3_140_000, "3.1 s")] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
        for (value, text) in [
            (1_023, "1023 B"),
            (12 << 10, "12.0 KB"),
            (3_250_586, "3.1 MB"),
            ((1 << 20) - 1, "1.0 MB"),
            (u64::MAX, "16777216.0 TB"),
        ] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(share(1, 3), "33 %");
        assert_eq!(counted(1, "turn"), "1 turn");
    }

    const HEADER: [&str; 4] = ["", "no compaction", "careful", "cache-friendly"];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row(["tokens sent", "1,234,567", "234,567", "123,456"]),
            row(["requests over the window", "13", "0", "0"]),
            row(["  said by people", "-", "80.0 %", "7.5 %"]),
        ]
    }

    #[test]
    fn a_table_that_has_room_is_one() {
        insta::assert_snapshot!(table(&HEADER, &rows(), 1, 1..4, 80), @"
                                  no compaction  careful  cache-friendly
        tokens sent                   1,234,567  234,567         123,456
        requests over the window             13        0               0
          said by people                      -   80.0 %           7.5 %
        ");
    }

    #[test]
    fn names_stay_whole_and_figures_go_below() {
        insta::assert_snapshot!(table(&HEADER, &rows(), 1, 1..4, 60), @"
                                  no compaction  careful
        tokens sent                   1,234,567  234,567
        requests over the window             13        0
          said by people                      -   80.0 %

                                  cache-friendly
        tokens sent                      123,456
        requests over the window               0
          said by people                   7.5 %
        ");
    }

    #[test]
    fn where_there_is_little_room_names_are_broken_between_words() {
        insta::assert_snapshot!(table(&HEADER, &rows(), 1, 1..4, 40), @"
                       no compaction  careful
        tokens sent        1,234,567  234,567
        requests over             13        0
        the window
          said by                  -   80.0 %
          people

                           cache-friendly
        tokens sent               123,456
        requests over the               0
        window
          said by people            7.5 %
        ");
    }

    #[test]
    fn a_column_that_fits_nowhere_runs_over() {
        insta::assert_snapshot!(table(&HEADER[..2], &rows(), 1, 1..2, 12), @"
                  no compaction
        tokens        1,234,567
        sent
        requests             13
        over
        the
        window
          said                -
          by
          people
        ");
    }

    #[test]
    fn columns_are_packed_as_evenly_as_they_fit() {
        for (widths, room, expected) in [
            (&[][..], 10, &[(0, 0)][..]),
            (&[5, 5], 10, &[(0, 2)][..]),
            (&[5, 5, 5], 10, &[(0, 2), (2, 3)][..]),
            (&[2, 2, 2, 2, 2, 2], 8, &[(0, 3), (3, 6)][..]),
            // Evenly, these would be three.
            (&[6, 2, 2, 9], 10, &[(0, 3), (3, 4)][..]),
            (&[20, 5], 10, &[(0, 1), (1, 2)][..]),
        ] {
            let runs = packed(widths, room).into_iter().map(|run| (run.start, run.end));
            assert_eq!(runs.collect::<Vec<_>>(), expected, "{widths:?}");
        }
    }

    #[test]
    fn excerpts_stay_on_one_line_and_short() {
        assert_eq!(excerpt("a\n  b\tc", 10), "a b c");
        assert_eq!(excerpt("one two three", 8), "one two…");
        assert_eq!(excerpt("\u{1b}[31mred", 10), "[31mred");
        assert_eq!(excerpt("a\u{202e}b\u{2066}c\u{2028}d", 10), "abc d");
        assert_eq!(excerpt("日本語の文", 7), "日本語…");
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        for (text, indent, columns, expected) in [
            ("one two three", 0, 80, "one two three"),
            ("one two three", 0, 8, "one two\nthree"),
            ("one two three", 2, 9, "one two\n  three"),
            ("extraordinarily long", 0, 4, "extraordinarily\nlong"),
            ("日本 日本", 0, 8, "日本\n日本"),
            ("", 3, 10, ""),
        ] {
            assert_eq!(wrapped_to(text, indent, columns), expected, "{text}");
        }
    }
}
