"""Splits a line that the player typed into words, numbers and quoted texts."""
from .errors import LexError

WORD = "word"
NUMBER = "number"
QUOTED = "quoted"
STOP = "stop"

QUOTES = "\"'"
STOPS = ".;!?"
MAX_LINE = 400


class Token:
    """One piece of a line: its kind, its text in lower case (quoted text as typed), and where it began."""

    __slots__ = ("kind", "text", "pos")

    def __init__(self, kind, text, pos):
        self.kind = kind
        self.text = text
        self.pos = pos

    def __eq__(self, other):
        return (self.kind, self.text) == (other.kind, other.text)

    def __repr__(self):
        return "Token(%s, %r, %d)" % (self.kind, self.text, self.pos)


def tokenize(line):
    """All tokens of `line`.

    >>> tokenize('take lamp')
    [Token(word, 'take', 0), Token(word, 'lamp', 5)]
    """
    if len(line) > MAX_LINE:
        raise LexError("line too long", MAX_LINE)
    tokens = []
    pos = 0
    while pos < len(line):
        char = line[pos]
        if char == " " or char == "\t":
            pos += 1
        elif char in QUOTES:
            token, pos = _quoted(line, pos)
            tokens.append(token)
        elif char in STOPS:
            tokens.append(Token(STOP, char, pos))
            pos += 1
        elif char.isdigit():
            token, pos = _run(line, pos, NUMBER, str.isdigit)
            tokens.append(token)
        else:
            token, pos = _run(line, pos, WORD, _is_word)
            tokens.append(token)
    return tokens


def _is_word(char):
    return not char.isspace() and char not in STOPS and char not in QUOTES and char != ","


def _run(line, pos, kind, belongs):
    start = pos
    while pos < len(line) and belongs(line[pos]):
        pos += 1
    if pos == start:
        pos += 1  # a character that belongs nowhere stands for itself
    return Token(kind, line[start:pos].lower(), start), pos


def _quoted(line, pos):
    quote = line[pos]
    start = pos
    pos += 1
    text = []
    while pos < len(line):
        char = line[pos]
        if char == "\\" and pos + 1 < len(line):
            text.append(line[pos + 1])
            pos += 2
        elif char == quote:
            return Token(QUOTED, "".join(text), start), pos + 1
        else:
            text.append(char)
            pos += 1
    raise LexError("quote is not closed", start)
