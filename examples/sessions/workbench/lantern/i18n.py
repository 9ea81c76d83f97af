"""Catalogs of texts, one file a language: `key = text`, with `{name}` for values.

A text with plurals has one key a form: `score.points[one]`, `score.points[few]`, `score.points[many]`, `score.points[other]`.
"""
import os

from .errors import LocaleError

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "locale")
FALLBACK = "en"


class Catalog:
    """The texts of one language, with English behind it."""

    def __init__(self, lang, texts, fallback=None):
        self.lang = lang
        self.texts = texts
        self.fallback = fallback
        self.missing = []

    def get(self, key):
        if key in self.texts:
            return self.texts[key]
        self.missing.append(key)
        if self.fallback:
            return self.fallback.get(key)
        return key

    def t(self, key, **values):
        """The text of `key` with its values put in; `n` chooses the plural form."""
        if "n" in values:
            form = plural(self.lang, values["n"])
            if key + "[%s]" % form in self.texts:
                key = key + "[%s]" % form
            elif key + "[other]" in self.texts:
                key = key + "[other]"
        return self.get(key).format(**values)


def plural(lang, n):
    """The plural form of a number, by the CLDR rules for the languages that ship."""
    if lang == "ja":
        return "other"
    if lang == "ru":
        if n % 10 == 1:
            return "one"
        if 2 <= n % 10 <= 4:
            return "few"
        return "many"
    if lang == "ar":
        if n == 0:
            return "zero"
        if n == 1:
            return "one"
        if n == 2:
            return "two"
        if 3 <= n % 100 <= 10:
            return "few"
        if 11 <= n % 100 <= 99:
            return "many"
        return "other"
    return "one" if n == 1 else "other"


def load_catalog(lang, folder=FOLDER):
    """Reads a language, and English behind it."""
    texts = read_catalog(os.path.join(folder, lang + ".txt"))
    if lang == FALLBACK:
        return Catalog(lang, texts)
    return Catalog(lang, texts, load_catalog(FALLBACK, folder))


def read_catalog(path):
    """The texts of one file."""
    texts = {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise LocaleError("could not read `%s`: %s" % (path, error))
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, equals, text = line.partition(" = ")
        if not equals:
            raise LocaleError("%s:%d: no ` = `" % (path, number))
        if key in texts:
            raise LocaleError("%s:%d: `%s` twice" % (path, number, key))
        texts[key] = text.replace("\\n", "\n")
    return texts
