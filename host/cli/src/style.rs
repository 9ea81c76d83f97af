//! How things look: numbers, tables, colors.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};

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

/// A count and its noun: `1 message`, `3 messages`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// The first words of a text, on one line, at most `most` characters.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        // A character that is not printed as itself would garble a terminal.
        words.extend(word.chars().filter(|character| !character.is_control()));
        if words.chars().count() > most {
            let cut: String = words.chars().take(most.saturating_sub(1)).collect();
            return format!("{}…", cut.trim_end());
        }
    }
    words
}

/// A table without lines; the columns in `numeric` are aligned to the right.
pub(crate) fn table(header: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_header(header.to_vec());
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
        assert_eq!(share(1, 3), "33 %");
        assert_eq!(counted(1, "turn"), "1 turn");
    }

    #[test]
    fn excerpts_stay_on_one_line_and_short() {
        assert_eq!(excerpt("a\n  b\tc", 10), "a b c");
        assert_eq!(excerpt("one two three", 8), "one two…");
        assert_eq!(excerpt("\u{1b}[31mred", 10), "[31mred");
    }
}
