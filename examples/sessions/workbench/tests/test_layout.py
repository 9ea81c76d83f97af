import unittest

from lantern.layout import pad, table, width, wrap


class Widths(unittest.TestCase):
    def test_scripts(self):
        for text, columns in (("lamp", 4), ("水車", 4), ("ключ", 4), ("مفتاح", 5), ("e\u0301", 1), ("—", 1)):
            with self.subTest(text=text):
                self.assertEqual(width(text), columns)

    def test_pad(self):
        self.assertEqual(pad("水", 4), "水  ")
        self.assertEqual(pad("7", 3, right=True), "  7")

    def test_wrap_counts_columns(self):
        self.assertEqual(wrap("水車 小屋 の 庭", 9), ["水車 小屋", "の 庭"])

    def test_table(self):
        self.assertEqual(table([("a", 1), ("bcd", 22)], ["name", "n"]), "name   n\n----  --\na      1\nbcd   22")


if __name__ == "__main__":
    unittest.main()
