"""The words that the parser knows, and how they group."""

DIRECTIONS = {
    "n": "north", "north": "north", "s": "south", "south": "south",
    "e": "east", "east": "east", "w": "west", "west": "west",
    "u": "up", "up": "up", "d": "down", "down": "down",
}

OPPOSITE = {
    "north": "south", "south": "north", "east": "west", "west": "east", "up": "down", "down": "up",
}

# verb: (canonical verb, number of objects: 0, 1 or 2)
VERBS = {
    "look": ("look", 0), "l": ("look", 0),
    "go": ("go", 1), "walk": ("go", 1), "run": ("go", 1),
    "take": ("take", 1), "get": ("take", 1), "grab": ("take", 1),
    "drop": ("drop", 1),
    "examine": ("examine", 1), "x": ("examine", 1), "inspect": ("examine", 1),
    "open": ("open", 1), "close": ("close", 1), "shut": ("close", 1),
    "read": ("read", 1), "light": ("light", 1), "douse": ("douse", 1),
    "put": ("put", 2), "place": ("put", 2), "insert": ("put", 2),
    "give": ("give", 2), "unlock": ("unlock", 2),
    "write": ("write", 1), "say": ("say", 1),
    "wait": ("wait", 0), "z": ("wait", 0),
    "inventory": ("inventory", 0), "i": ("inventory", 0),
    "score": ("score", 0), "notes": ("notes", 0), "wind": ("wind", 1),
}

PREPOSITIONS = [
    ("in",), ("into",), ("inside",), ("on",), ("onto",), ("to",), ("with",), ("under",), ("behind",),
    ("in", "front", "of"), ("on", "top", "of"), ("out", "of"),
]

ARTICLES = {"the", "a", "an", "some", "my"}

PRONOUNS = {"it", "them"}

ALL = {"all", "everything"}


def match_preposition(words, index):
    """The preposition that starts at `words[index]`, as a tuple of words, or `None`."""
    for preposition in PREPOSITIONS:
        if tuple(words[index:index + len(preposition)]) == preposition:
            return preposition
    return None


def canonical(preposition):
    """The single word that the actions know a preposition by."""
    return {
        ("into",): "in", ("inside",): "in", ("onto",): "on", ("on", "top", "of"): "on",
        ("in", "front", "of"): "before", ("out", "of"): "from",
    }.get(preposition, preposition[0])
