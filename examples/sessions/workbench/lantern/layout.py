"""Lays out text in columns on a terminal, with wide characters counted as two."""
import unicodedata


def width(text):
    """The columns that a text takes."""
    return sum(char_width(char) for char in text)


def char_width(char):
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F", "A") else 1


def pad(text, columns, right=False):
    """`text` with blanks to fill `columns`; a text that is wider stays as it is."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def wrap(text, columns):
    """The lines of a paragraph, none wider than `columns` unless a word is."""
    lines = []
    line = ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= columns:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def table(rows, heads):
    """A plain table; numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max([width(head)] + [width(row[index]) for row in cells]) for index, head in enumerate(heads)]
    numeric = [all(isinstance(row[index], (int, float)) for row in rows) for index in range(len(heads))]
    out = ["  ".join(pad(head, size, right) for head, size, right in zip(heads, widths, numeric)).rstrip()]
    out.append("  ".join("-" * size for size in widths))
    for row in cells:
        out.append("  ".join(pad(cell, size, right) for cell, size, right in zip(row, widths, numeric)).rstrip())
    return "\n".join(out)
