//! How things look: numbers, tables, colors.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use brute_host::shown::is_odd;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

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

/// A table without lines, as wide as the terminal at most; the columns in `numeric` are aligned to the right
/// and stay whole.
pub(crate) fn table(header: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_header(header.to_vec());
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(columns()).unwrap_or(COLUMNS));
    for &column in numeric {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// The lines of a table, without the blanks at their ends.
pub(crate) fn lines(table: &Table) -> String {
    let lines = table.to_string();
    let trimmed: Vec<&str> = lines.lines().map(str::trim_end).collect();
    trimmed.join("\n")
}

/// How many columns a table takes.
pub(crate) fn table_width(table: &Table) -> usize {
    lines(table).lines().map(width).max().unwrap_or(0)
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
