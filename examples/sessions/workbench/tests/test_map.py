import unittest
import zlib

from lantern import load_world
from lantern.mapdraw import draw, overlaps, place, png
from lantern.pathfind import distances, route


class Maps(unittest.TestCase):
    def setUp(self):
        self.world = load_world("data/mill.world")

    def test_east_is_to_the_right(self):
        spots = place(self.world)
        self.assertGreater(spots["pond"][0], spots["yard"][0])
        self.assertLess(spots["lane"][0], spots["yard"][0])

    def test_png(self):
        data = png(draw(self.world))
        self.assertTrue(data.startswith(b"\x89PNG\r\n\x1a\n"))
        at = data.index(b"IDAT")
        length = int.from_bytes(data[at - 4:at], "big")
        rows = draw(self.world)
        self.assertEqual(len(zlib.decompress(data[at + 4:at + 4 + length])), len(rows) * (1 + (len(rows[0]) + 3) // 4))

    def test_overlaps(self):
        self.assertEqual(overlaps({"a": (0, 0), "b": (1, 0), "c": (0, 0)}), [("a", "c", (0, 0))])


class Ways(unittest.TestCase):
    def test_route(self):
        world = load_world("data/mill.world")
        self.assertEqual(route(world, "yard", "cellar"), ["north", "north", "down"])
        self.assertIsNone(route(world, "yard", "archive"))
        self.assertEqual(route(world, "yard", "archive", locked=True), ["north", "west", "north"])

    def test_every_room(self):
        world = load_world("data/mill.world")
        self.assertEqual(set(distances(world, "yard")), set(world.rooms))


if __name__ == "__main__":
    unittest.main()
