"""Rooms and items, and the file format that describes them.

    room yard "mill yard"
      exit north hall
      dark
    item lamp "brass lamp" in yard
      alias lantern
      weight 3
      flag light
    timer bell 6 "timer.bell" every
    goal ledger archive 15
"""
import shlex

from .errors import WorldError
from .grammar import OPPOSITE


class Room:
    """A place: its exits lead to room ids."""

    def __init__(self, room_id, name):
        self.id = room_id
        self.name = name
        self.exits = {}
        self.locked = {}
        self.dark = False


class Item:
    """A thing: `place` is a room id, `"@player"`, or another item's id."""

    def __init__(self, item_id, name, place):
        self.id = item_id
        self.name = name
        self.place = place
        self.aliases = []
        self.weight = 1
        self.flags = set()
        self.text = None

    def names(self):
        return [self.name] + self.aliases


class World:
    """All rooms, items, timers and goals of a game."""

    def __init__(self):
        self.rooms = {}
        self.items = {}
        self.timers = []
        self.goals = []
        self.start = None
        self.title = "untitled"

    def contents(self, place):
        """The items that are directly in a place, by id."""
        return [item for item in self.items.values() if item.place == place]

    def visible(self, room_id):
        """What the player can see: in the room, carried, and in open containers of either."""
        seen = []
        queue = self.contents(room_id) + self.contents("@player")
        while queue:
            item = queue.pop(0)
            seen.append(item)
            if "open" in item.flags or "surface" in item.flags:
                queue.extend(self.contents(item.id))
        return seen

    def load_of_player(self):
        """The weight that the player carries, containers with what is in them."""
        return sum(self.weight_of(item) for item in self.contents("@player"))

    def weight_of(self, item):
        return item.weight + sum(self.weight_of(inner) for inner in self.contents(item.id))


def load_world(path):
    """Reads a world file. Raises `WorldError` with path and line."""
    with open(path, encoding="utf-8") as file:
        return parse_world(file.read(), str(path))


def parse_world(text, path="<text>"):
    """Reads a world from text."""
    world = World()
    current = None
    lines = [line for line in text.split("\n") if line.strip() and not line.strip().startswith("#")]
    for number, line in enumerate(lines, 1):
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise WorldError(path, number, "quotes: %s" % error)
        indented = line[0] in " \t"
        if indented:
            if current is None:
                raise WorldError(path, number, "`%s` belongs to nothing" % words[0])
            _property(world, current, words, path, number)
        else:
            current = _entry(world, words, path, number)
    _check(world, path)
    return world


def _entry(world, words, path, number):
    kind = words[0]
    if kind == "title" and len(words) == 2:
        world.title = words[1]
        return None
    if kind == "start" and len(words) == 2:
        world.start = words[1]
        return None
    if kind == "room" and len(words) == 3:
        if words[1] in world.rooms:
            raise WorldError(path, number, "room `%s` twice" % words[1])
        world.rooms[words[1]] = Room(words[1], words[2])
        return world.rooms[words[1]]
    if kind == "item" and len(words) == 5 and words[3] == "in":
        if words[1] in world.items:
            raise WorldError(path, number, "item `%s` twice" % words[1])
        world.items[words[1]] = Item(words[1], words[2], words[4])
        return world.items[words[1]]
    if kind == "timer" and len(words) in (4, 5):
        world.timers.append((words[1], int(words[2]), words[3], len(words) == 5))
        return None
    if kind == "goal" and len(words) == 4:
        world.goals.append((words[1], words[2], int(words[3])))
        return None
    raise WorldError(path, number, "cannot read `%s`" % " ".join(words))


def _property(world, current, words, path, number):
    key = words[0]
    if isinstance(current, Room):
        if key == "exit" and len(words) >= 3:
            current.exits[words[1]] = words[2]
            if len(words) == 5 and words[3] == "key":
                current.locked[words[1]] = words[4]
            return
        if key == "dark":
            current.dark = True
            return
    elif isinstance(current, Item):
        if key == "alias":
            current.aliases.extend(words[1:])
            return
        if key == "weight":
            current.weight = int(words[1])
            return
        if key == "flag":
            current.flags.update(words[1:])
            return
        if key == "text":
            current.text = words[1]
            return
    raise WorldError(path, number, "unknown property `%s`" % key)


def _check(world, path):
    if world.start not in world.rooms:
        raise WorldError(path, 0, "start `%s` is no room" % world.start)
    for room in world.rooms.values():
        for direction, target in room.exits.items():
            if direction not in OPPOSITE:
                raise WorldError(path, 0, "room `%s`: direction `%s`" % (room.id, direction))
            if target not in world.rooms:
                raise WorldError(path, 0, "room `%s`: exit to `%s`" % (room.id, target))
    for item in world.items.values():
        if item.place not in world.rooms and item.place not in world.items:
            raise WorldError(path, 0, "item `%s` in `%s`" % (item.id, item.place))
