import unittest

from lantern.errors import WorldError
from lantern.world import load_world, parse_world

SMALL = """start a
room a "first"
  exit north b
room b "second"
  exit south a
  dark
item box "box" in a
  flag container open
item pea "pea" in box
  weight 2
"""


class Worlds(unittest.TestCase):
    def test_small(self):
        world = parse_world(SMALL)
        self.assertEqual(world.rooms["a"].exits, {"north": "b"})
        self.assertTrue(world.rooms["b"].dark)
        self.assertEqual([item.id for item in world.visible("a")], ["box", "pea"])
        self.assertEqual(world.weight_of(world.items["box"]), 3)

    def test_the_game_loads(self):
        world = load_world("data/mill.world")
        self.assertEqual((len(world.rooms), len(world.items)), (26, 24))

    def test_error_names_the_line(self):
        text = "# a comment\n\nstart a\nroom a \"first\"\n# another\n  exit north\n"
        with self.assertRaises(WorldError) as caught:
            parse_world(text, "w")
        self.assertEqual(caught.exception.line, 6)

    def test_wrong_worlds(self):
        for text in ("start x", SMALL + "room a \"again\"", SMALL + "item box \"b\" in a", SMALL + "item y \"y\" in nowhere",
                     SMALL + "room c \"c\"\n  exit left a", "  exit north a", SMALL + "room d \"open"):
            with self.subTest(text=text[-30:]), self.assertRaises(WorldError):
                parse_world(text)


if __name__ == "__main__":
    unittest.main()
