"""Writes the map of a world as a PNG."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern import load_world
from lantern.mapdraw import draw, overlaps, place, png


def main(world_path, png_path):
    world = load_world(world_path)
    rows = draw(world)
    data = png(rows)
    with open(png_path, "wb") as file:
        file.write(data)
    print("%s: %d x %d pixels, %d bytes, %d rooms, %d overlaps" % (
        png_path, len(rows[0]), len(rows), len(data), len(place(world)), len(overlaps(place(world)))))
    for room, spot in sorted(place(world).items(), key=lambda pair: pair[1]):
        print("  %-12s %3d %3d" % (room, spot[0], spot[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
