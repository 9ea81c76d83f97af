import unittest

from lantern import grammar


class Prepositions(unittest.TestCase):
    def test_single(self):
        self.assertEqual(grammar.match_preposition(["key", "into", "box"], 1), ("into",))

    def test_longest_wins(self):
        self.assertEqual(grammar.match_preposition("key in front of box".split(), 1), ("in", "front", "of"))
        self.assertEqual(grammar.match_preposition("key on top of box".split(), 1), ("on", "top", "of"))

    def test_canonical(self):
        self.assertEqual(grammar.canonical(("inside",)), "in")
        self.assertEqual(grammar.canonical(("out", "of")), "from")
        self.assertEqual(grammar.canonical(("under",)), "under")


class Directions(unittest.TestCase):
    def test_every_direction_has_an_opposite(self):
        for direction in set(grammar.DIRECTIONS.values()):
            self.assertEqual(grammar.OPPOSITE[grammar.OPPOSITE[direction]], direction)


if __name__ == "__main__":
    unittest.main()
