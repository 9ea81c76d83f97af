import unittest

from lantern.report import percentile, shares, summary, verbs


class Reports(unittest.TestCase):
    def test_percentile(self):
        self.assertEqual(percentile([3, 1, 2], 0.5), 2)
        self.assertEqual(percentile([1, 2, 3, 4], 1.0), 4)

    def test_percentile_of_nothing(self):
        self.assertEqual(percentile([], 0.5), 0)

    def test_shares_make_a_hundred(self):
        counts = [("a", 1), ("b", 1), ("c", 1)]
        self.assertEqual(sum(share for _, share in shares(counts)), 100)

    def test_verbs(self):
        entries = [{"line": "Take lamp", "replies": []}, {"line": "take box", "replies": []}, {"line": "n", "replies": []}]
        self.assertEqual(verbs(entries), [("take", 2), ("n", 1)])

    def test_blank_line(self):
        self.assertIn("lines typed", summary([{"line": "", "replies": ["x"]}, {"line": "n", "replies": []}]))


if __name__ == "__main__":
    unittest.main()
