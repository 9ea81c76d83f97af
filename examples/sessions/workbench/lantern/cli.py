"""`python3 -m lantern.cli WORLD [--lang L] [--script FILE] [--trace] [--load FILE] [--save FILE] [--journal FILE]`."""
import argparse
import sys

from . import storage
from .engine import Engine
from .errors import LanternError
from .journal import Journal
from .layout import wrap
from .world import load_world


def main(argv=None):
    options = argparse.ArgumentParser(prog="lantern")
    options.add_argument("world")
    options.add_argument("--lang", default="en")
    options.add_argument("--script")
    options.add_argument("--trace", action="store_true", help="show turn, room and timers after every line")
    options.add_argument("--load")
    options.add_argument("--save")
    options.add_argument("--journal")
    options.add_argument("--columns", type=int, default=88)
    args = options.parse_args(argv)
    try:
        return play(args)
    except LanternError as error:
        print("lantern: %s" % error, file=sys.stderr)
        return 2


def play(args):
    engine = Engine(load_world(args.world), args.lang, Journal(args.journal))
    if args.load:
        storage.load_game(engine, args.load)
    show(engine.start(), args.columns)
    source = open(args.script, encoding="utf-8") if args.script else sys.stdin
    for line in source:
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        print("> " + line)
        show(engine.run(line), args.columns)
        if args.trace:
            trace(engine)
    if args.save:
        storage.save_game(engine, args.save)
    return 0


def show(lines, columns):
    for text in lines:
        for paragraph in text.split("\n"):
            print("\n".join(wrap(paragraph, columns)))


def trace(engine):
    timers = " ".join("%s@%d" % (timer.name, timer.due) for timer in engine.scheduler.timers)
    carried = ",".join(item.id for item in engine.world.contents("@player"))
    print("  [turn=%d clock=%d room=%s points=%d carried=%s timers=%s]" % (
        engine.turn, engine.scheduler.turn, engine.room.id, engine.score.points, carried or "-", timers or "-"))


if __name__ == "__main__":
    sys.exit(main())
