import unittest

from lantern import Engine, load_world
from lantern.i18n import load_catalog, plural


class Plurals(unittest.TestCase):
    def test_english(self):
        self.assertEqual([plural("en", n) for n in (0, 1, 2)], ["other", "one", "other"])

    def test_russian(self):
        for form, numbers in (("one", (1, 21, 101)), ("few", (2, 3, 4, 22, 104)), ("many", (0, 5, 11, 12, 13, 14, 111, 112))):
            for n in numbers:
                with self.subTest(n=n):
                    self.assertEqual(plural("ru", n), form)

    def test_arabic(self):
        self.assertEqual([plural("ar", n) for n in (0, 1, 2, 3, 11, 100, 103)],
                         ["zero", "one", "two", "few", "many", "other", "few"])


class Catalogs(unittest.TestCase):
    def test_fallback(self):
        catalog = load_catalog("ja")
        self.assertEqual(catalog.t("dir.north"), "北")
        self.assertEqual(catalog.t("parse.direction"), "Which way?")
        self.assertIn("parse.direction", catalog.missing)

    def test_fallback_uses_english_plurals(self):
        catalog = load_catalog("ja")
        self.assertEqual(catalog.t("goal.done", n=1), "That was worth 1 point.")

    def test_every_locale_plays(self):
        for lang in ("ja", "ru", "ar"):
            engine = Engine(load_world("data/mill.world"), lang)
            for line in ("look", "take lamp", "inventory", "n", "n", "give lamp to miller", "score", "wait 2"):
                with self.subTest(lang=lang, line=line):
                    self.assertTrue(engine.run(line))

    def test_names_in_the_players_language(self):
        engine = Engine(load_world("data/mill.world"), "ja")
        self.assertIn("真鍮のランプを取った。", engine.run("take 真鍮のランプ"))


if __name__ == "__main__":
    unittest.main()
