"""Save files, version 1: text, one `key=value` a line.

    lantern-save 1
    world=the mill
    turn=12
    room=yard
    item.lamp=@player
    flag.lamp=lit,open
    note.1=the bell rings every six turns
    score=15
    timer.bell=18,6,timer.bell
"""
from .errors import SaveError
from .events import Timer

MAGIC = "lantern-save 1"


def save_game(engine, path):
    """Writes the state of a game to `path`."""
    lines = [MAGIC, "world=" + engine.world.title, "turn=%d" % engine.turn, "room=" + engine.room.id]
    for item in engine.world.items.values():
        lines.append("item.%s=%s" % (item.id, item.place))
        if item.flags:
            lines.append("flag.%s=%s" % (item.id, ",".join(item.flags)))
    for number, note in enumerate(engine.notes, 1):
        lines.append("note.%d=%s" % (number, note))
    lines.append("score=%d" % engine.score.points)
    lines.append("done=" + ",".join(engine.score.done))
    for timer in engine.scheduler.timers:
        lines.append("timer.%s=%d,%d,%s" % (timer.name, timer.due, timer.every, timer.key))
    with open(path, "w") as file:
        file.write("\n".join(lines))


def load_game(engine, path):
    """Puts a saved state into `engine`, which must play the same world."""
    try:
        with open(path) as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise SaveError("could not read `%s`: %s" % (path, error))
    if lines[0] != MAGIC:
        raise SaveError("`%s` is not a save file" % path)
    engine.notes = []
    engine.scheduler.timers = []
    for line in lines[1:]:
        key, value = line.split("=")
        _apply(engine, key, value)


def _apply(engine, key, value):
    kind, _, name = key.partition(".")
    if kind == "world":
        if value != engine.world.title:
            raise SaveError("the save is of `%s`, the game is `%s`" % (value, engine.world.title))
    elif kind == "turn":
        engine.turn = int(value)
    elif kind == "room":
        engine.room = engine.world.rooms[value]
    elif kind == "item":
        engine.world.items[name].place = value
    elif kind == "flag":
        engine.world.items[name].flags = set(value.split(","))
    elif kind == "note":
        engine.notes.append(value)
    elif kind == "score":
        engine.score.points = int(value)
    elif kind == "done":
        engine.score.done = value.split(",")
    elif kind == "timer":
        due, every, text = value.split(",")
        engine.scheduler.timers.append(Timer(name, int(due), text, int(every)))
    else:
        raise SaveError("unknown key `%s`" % key)
