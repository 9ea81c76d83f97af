"""Checks a world file: ways back, rooms that nobody can reach, texts that are missing, items without a use."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern import LanternError, load_world
from lantern.grammar import OPPOSITE
from lantern.i18n import load_catalog
from lantern.layout import table
from lantern.mapdraw import overlaps, place
from lantern.pathfind import distances


def findings(world):
    """All findings as `(level, where, what)`."""
    catalog = load_catalog("en")
    reached = distances(world, world.start)
    for room in world.rooms.values():
        if room.id not in reached:
            yield "error", "room " + room.id, "cannot be reached from `%s`" % world.start
        for direction, there in sorted(room.exits.items()):
            back = world.rooms[there].exits.get(OPPOSITE[direction])
            if back != room.id:
                yield "warning", "room " + room.id, "%s leads to `%s`, and %s of that leads to `%s`" % (
                    direction, there, OPPOSITE[direction], back)
        for part in ("name", "text"):
            if "room.%s.%s" % (room.id, part) not in catalog.texts:
                yield "error", "room " + room.id, "no text `room.%s.%s`" % (room.id, part)
    for item in world.items.values():
        if "item.%s.text" % item.id not in catalog.texts:
            yield "error", "item " + item.id, "no text `item.%s.text`" % item.id
        if item.text and item.text not in catalog.texts:
            yield "error", "item " + item.id, "no text `%s`" % item.text
        if item.weight > 12:
            yield "warning", "item " + item.id, "weight %d is more than a player can carry" % item.weight
    for one, other, spot in overlaps(place(world)):
        yield "warning", "map", "`%s` is drawn on top of `%s` at %r" % (other, one, spot)


def main(paths):
    worst = 0
    for path in paths:
        try:
            world = load_world(path)
        except LanternError as error:
            print("%s: %s" % (path, error))
            worst = 2
            continue
        rows = sorted(findings(world))
        print("%s: %d rooms, %d items, %d findings" % (path, len(world.rooms), len(world.items), len(rows)))
        if rows:
            print(table(rows, ["level", "where", "what"]))
            worst = max(worst, 1 if any(row[0] == "error" for row in rows) else 0)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["data/mill.world"]))
