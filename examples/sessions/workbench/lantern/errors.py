"""Everything that goes wrong on purpose."""


class LanternError(Exception):
    """The root of all errors that the engine raises."""

    code = "E000"

    def __str__(self):
        return "[%s] %s" % (self.code, super().__str__())


class LexError(LanternError):
    """A line of input that cannot be split into words."""

    code = "E101"

    def __init__(self, message, pos):
        super().__init__("%s at column %d" % (message, pos + 1))
        self.pos = pos


class ParseError(LanternError):
    """Words that make no command. `key` is the catalog key of what to tell the player."""

    code = "E102"

    def __init__(self, key, **values):
        super().__init__("%s %r" % (key, values))
        self.key = key
        self.values = values


class WorldError(LanternError):
    """A world file that cannot be read."""

    code = "E201"

    def __init__(self, path, line, message):
        super().__init__("%s:%d: %s" % (path, line, message))
        self.path = path
        self.line = line


class SaveError(LanternError):
    """A save file that cannot be written or read."""

    code = "E301"


class LocaleError(LanternError):
    """A catalog that cannot be read."""

    code = "E401"
