"""Plays a script and prints the whole state as JSON: rooms, items, flags, notes, score, timers, journal."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern import Engine, load_world


def state(engine):
    return {
        "world": engine.world.title, "turn": engine.turn, "clock": engine.scheduler.turn, "room": engine.room.id,
        "rooms": {room.id: {"exits": room.exits, "locked": room.locked, "dark": room.dark}
                  for room in engine.world.rooms.values()},
        "items": {item.id: {"name": item.name, "place": item.place, "flags": sorted(item.flags), "weight": item.weight}
                  for item in engine.world.items.values()},
        "notes": engine.notes, "points": engine.score.points, "done": engine.score.done,
        "timers": [{"name": timer.name, "due": timer.due, "every": timer.every} for timer in engine.scheduler.timers],
        "journal": engine.journal.entries,
    }


def main(script, world="data/mill.world"):
    engine = Engine(load_world(world))
    with open(script, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                engine.run(line.rstrip("\n"))
    json.dump(state(engine), sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
