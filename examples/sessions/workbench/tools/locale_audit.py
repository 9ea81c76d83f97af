"""Compares the locales with English: keys that miss, keys that nobody needs, values that differ, plural forms."""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern.i18n import FOLDER, read_catalog
from lantern.layout import table, width

FORMS = {"en": ["one", "other"], "ja": ["other"], "ru": ["one", "few", "many"],
         "ar": ["zero", "one", "two", "few", "many", "other"]}
VALUE = re.compile(r"\{(\w+)\}")


def base(key):
    return key.partition("[")[0]


def audit(lang, english, texts):
    """All findings as `(lang, kind, key, detail)`."""
    for key in english:
        forms = [form for form in FORMS[lang] if base(key) + "[%s]" % form in texts]
        if "[" not in key and key not in texts:
            yield lang, "missing", key, english[key][:40]
        elif "[" in key and base(key) not in texts and not forms:
            yield lang, "missing", base(key), english[key][:40]
    for key, text in texts.items():
        source = english.get(key, english.get(base(key) + "[other]"))
        if source is None:
            yield lang, "unused", key, text[:40]
            continue
        if set(VALUE.findall(source)) != set(VALUE.findall(text)):
            yield lang, "values", key, "%s instead of %s" % (sorted(VALUE.findall(text)), sorted(VALUE.findall(source)))
        if text != text.strip():
            yield lang, "blanks", key, repr(text)
    for key in sorted({base(key) for key in texts if "[" in key}):
        for form in FORMS[lang]:
            if key + "[%s]" % form not in texts:
                yield lang, "plural", key, "no form `%s`" % form


def main():
    options = argparse.ArgumentParser()
    options.add_argument("langs", nargs="*", default=["ja", "ru", "ar"])
    options.add_argument("--show", help="print one key in every language")
    args = options.parse_args()
    english = read_catalog(os.path.join(FOLDER, "en.txt"))
    rows = []
    for lang in args.langs:
        texts = read_catalog(os.path.join(FOLDER, lang + ".txt"))
        if args.show:
            for key in sorted(texts):
                if base(key) == args.show:
                    print("%s  %-28s %3d  %s" % (lang, key, width(texts[key]), texts[key]))
            continue
        rows.extend(sorted(set(audit(lang, english, texts))))
        print("%s: %d of %d keys" % (lang, len(texts), len(english)))
    if rows:
        print(table(rows, ["lang", "kind", "key", "detail"]))
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
