"""Plays a world at random, always the same for the same seed, and prints the trace and a report."""
import argparse
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern import Engine, load_world
from lantern.cli import trace
from lantern.report import summary

DIRECTIONS = ["north", "south", "east", "west", "up", "down"]
ONE = ["take", "drop", "examine", "open", "close", "read", "light", "wind"]
NOTES = ["the bell rings", "x = 12", "two\nlines", "miller's key", "水車が回る", "ключ = медный", "مفتاح", "🔑 found"]


class Dice:
    """A linear congruential generator: the same numbers on every Python."""

    def __init__(self, seed):
        self.state = seed & 0xFFFFFFFF

    def roll(self, sides):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 16) % sides

    def pick(self, values):
        return values[self.roll(len(values))]


def line(engine, dice):
    """The next line to type."""
    kind = dice.roll(20)
    names = [names[0] for names in engine.scope().values()] or ["lamp"]
    if kind < 7:
        exits = sorted(engine.room.exits)
        return "go " + (dice.pick(exits) if exits and dice.roll(8) else dice.pick(DIRECTIONS))
    if kind < 13:
        return "%s the %s" % (dice.pick(ONE), dice.pick(names))
    if kind < 15:
        return "put %s %s the %s" % (dice.pick(names), dice.pick(["in", "on", "in front of"]), dice.pick(names))
    if kind == 15:
        return "unlock %s with %s" % (dice.pick(names), dice.pick(names))
    if kind == 16:
        return 'write "%s"' % dice.pick(NOTES)
    if kind == 17:
        return "give %s to %s" % (dice.pick(names), dice.pick(names))
    if kind == 18:
        return "wait %d" % (1 + dice.roll(4))
    return dice.pick(["look", "inventory", "score", "notes", "dance", "take it"])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--world", default="data/mill.world")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--turns", type=int, default=200)
    options.add_argument("--lang", default="en")
    options.add_argument("--quiet", action="store_true")
    args = options.parse_args()
    engine = Engine(load_world(args.world), args.lang)
    dice = Dice(args.seed)
    crashes = 0
    for number in range(1, args.turns + 1):
        text = line(engine, dice)
        try:
            replies = engine.run(text)
        except Exception:
            crashes += 1
            replies = traceback.format_exc().rstrip().split("\n")
        if not args.quiet:
            print("%04d > %s" % (number, text.replace("\n", "\\n")))
            for reply in replies:
                print("       " + reply)
            trace(engine)
    print(summary(engine.journal.entries))
    print("rooms seen      %d of %d" % (len(engine.visited), len(engine.world.rooms)))
    print("missing texts   %s" % (", ".join(sorted(set(engine.catalog.missing))) or "none"))
    print("crashes         %d" % crashes)
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
