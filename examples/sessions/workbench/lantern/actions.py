"""What the verbs do. Each action takes the engine and a command and returns lines for the player."""

CAPACITY = 12


def look(engine, command):
    room = engine.room
    if room.dark and not engine.has_light():
        return [engine.t("look.dark")]
    lines = [engine.t("room.%s.name" % room.id), engine.t("room.%s.text" % room.id)]
    things = engine.world.contents(room.id)
    if things:
        lines.append(engine.t("look.things", things=", ".join(engine.name(item) for item in things)))
    lines.append(engine.t("look.exits", exits=", ".join(engine.t("dir." + exit_) for exit_ in sorted(room.exits))))
    return lines


def go(engine, command):
    room = engine.room
    target = room.exits.get(command.direction)
    if target is None:
        return [engine.t("go.none", direction=engine.t("dir." + command.direction))]
    if command.direction in room.locked:
        return [engine.t("go.locked")]
    engine.room = engine.world.rooms[target]
    engine.visited.add(target)
    return look(engine, command)


def take(engine, command):
    item = engine.world.items[command.objects[0]]
    if item.place == "@player":
        return [engine.t("take.already", item=engine.name(item))]
    if "fixed" in item.flags:
        return [engine.t("take.fixed", item=engine.name(item))]
    if engine.world.load_of_player() + item.weight > CAPACITY:
        return [engine.t("take.heavy", item=engine.name(item))]
    item.place = "@player"
    return [engine.t("take.done", item=engine.name(item))]


def drop(engine, command):
    item = engine.world.items[command.objects[0]]
    if item.place != "@player":
        return [engine.t("drop.not", item=engine.name(item))]
    item.place = engine.room.id
    return [engine.t("drop.done", item=engine.name(item))]


def examine(engine, command):
    item = engine.world.items[command.objects[0]]
    lines = [engine.t("item.%s.text" % item.id)]
    if "open" in item.flags:
        inner = engine.world.contents(item.id)
        if inner:
            lines.append(engine.t("examine.inside", things=", ".join(engine.name(thing) for thing in inner)))
    return lines


def open_(engine, command):
    item = engine.world.items[command.objects[0]]
    if "container" not in item.flags:
        return [engine.t("open.not", item=engine.name(item))]
    if "locked" in item.flags:
        return [engine.t("open.locked", item=engine.name(item))]
    item.flags.add("open")
    return [engine.t("open.done", item=engine.name(item))] + examine(engine, command)[1:]


def close(engine, command):
    item = engine.world.items[command.objects[0]]
    if "open" not in item.flags:
        return [engine.t("close.not", item=engine.name(item))]
    item.flags.discard("open")
    return [engine.t("close.done", item=engine.name(item))]


def read(engine, command):
    item = engine.world.items[command.objects[0]]
    if item.text is None:
        return [engine.t("read.not", item=engine.name(item))]
    return [engine.t(item.text)]


def light(engine, command):
    item = engine.world.items[command.objects[0]]
    if "light" not in item.flags:
        return [engine.t("light.not", item=engine.name(item))]
    item.flags.add("lit")
    engine.scheduler.start("oil", 40, "timer.oil")
    return [engine.t("light.done", item=engine.name(item))]


def douse(engine, command):
    item = engine.world.items[command.objects[0]]
    if "lit" not in item.flags:
        return [engine.t("douse.not", item=engine.name(item))]
    item.flags.discard("lit")
    engine.scheduler.cancel("oil")
    return [engine.t("douse.done", item=engine.name(item))]


def put(engine, command):
    item, target = (engine.world.items[name] for name in command.objects)
    if command.preposition == "before":
        item.place = engine.room.id
        return [engine.t("put.before", item=engine.name(item), target=engine.name(target))]
    if command.preposition == "on" and "surface" not in target.flags:
        return [engine.t("put.not", target=engine.name(target))]
    if command.preposition == "in" and "open" not in target.flags:
        return [engine.t("put.closed", target=engine.name(target))]
    item.place = target.id
    return [engine.t("put.done", item=engine.name(item), target=engine.name(target))]


def give(engine, command):
    item, target = (engine.world.items[name] for name in command.objects)
    if "person" not in target.flags:
        return [engine.t("give.not", target=engine.name(target))]
    item.place = target.id
    return [engine.t("give.done", item=engine.name(item), target=engine.name(target))]


def unlock(engine, command):
    item, key = (engine.world.items[name] for name in command.objects)
    if key.place != "@player":
        return [engine.t("unlock.no-key")]
    for direction, wanted in list(engine.room.locked.items()):
        if wanted == key.id:
            del engine.room.locked[direction]
            return [engine.t("unlock.done", direction=engine.t("dir." + direction))]
    if "locked" in item.flags and key.id == item.id + "_key":
        item.flags.discard("locked")
        return [engine.t("unlock.item", item=engine.name(item))]
    return [engine.t("unlock.wrong")]


def write(engine, command):
    engine.notes.append(command.text)
    return [engine.t("write.done", n=len(engine.notes))]


def say(engine, command):
    return [engine.t("say.done", text=command.text)]


def notes(engine, command):
    if not engine.notes:
        return [engine.t("notes.none")]
    return ["%d. %s" % (number, note) for number, note in enumerate(engine.notes, 1)]


def wait(engine, command):
    lines = []
    for _ in range((command.count or 1) - 1):
        lines.extend(engine.pass_turn())
    return [engine.t("wait.done", n=command.count or 1)] + lines


def inventory(engine, command):
    things = engine.world.contents("@player")
    if not things:
        return [engine.t("inventory.none")]
    return [engine.t("inventory.some", things=", ".join(engine.name(item) for item in things))]


def score(engine, command):
    return [engine.t("score.points", n=engine.score.points, total=engine.score.total),
            engine.t("score.rank", rank=engine.t(engine.score.rank()), percent=engine.score.percent())]


def wind(engine, command):
    item = engine.world.items[command.objects[0]]
    if "clockwork" not in item.flags:
        return [engine.t("wind.not", item=engine.name(item))]
    engine.scheduler.cancel("chime")
    engine.scheduler.start("chime", 5, "timer.chime", every=True)
    return [engine.t("wind.done", item=engine.name(item))]


ACTIONS = {
    "look": look, "go": go, "take": take, "drop": drop, "examine": examine, "open": open_, "close": close,
    "read": read, "light": light, "douse": douse, "put": put, "give": give, "unlock": unlock, "write": write,
    "say": say, "notes": notes, "wait": wait, "inventory": inventory, "score": score, "wind": wind,
}
