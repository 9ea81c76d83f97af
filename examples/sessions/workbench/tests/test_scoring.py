import unittest

from lantern.scoring import Score


class Scores(unittest.TestCase):
    def test_total_and_percent(self):
        score = Score([("a", "b", 15), ("c", "d", 65)])
        score.points = 15
        self.assertEqual((score.total, score.percent()), (80, 18))

    def test_no_goals(self):
        self.assertEqual(Score([]).percent(), 0)

    def test_ranks(self):
        score = Score([])
        for points, rank in ((0, "rank.visitor"), (14, "rank.visitor"), (15, "rank.hand"), (40, "rank.miller"), (75, "rank.keeper")):
            score.points = points
            with self.subTest(points=points):
                self.assertEqual(score.rank(), rank)


if __name__ == "__main__":
    unittest.main()
