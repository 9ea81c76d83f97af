"""The loop: a line in, lines out, a turn goes by."""
from .actions import ACTIONS, look
from .errors import LexError, ParseError
from .events import Scheduler
from .i18n import load_catalog
from .journal import Journal
from .parser import Parser
from .scoring import Score


class Engine:
    """One game that is being played."""

    def __init__(self, world, lang="en", journal=None):
        self.world = world
        self.room = world.rooms[world.start]
        self.catalog = load_catalog(lang)
        self.parser = Parser()
        self.scheduler = Scheduler()
        self.score = Score(world.goals)
        self.journal = journal or Journal()
        self.notes = []
        self.turn = 0
        self.visited = {world.start}
        for name, turns, key, every in world.timers:
            self.scheduler.start(name, turns, key, every)
        self.scheduler.on("oil", self.oil_is_out)

    def t(self, key, **values):
        return self.catalog.t(key, **values)

    def name(self, item):
        key = "item.%s.name" % item.id
        return self.catalog.texts.get(key, item.name)

    def has_light(self):
        return any("lit" in item.flags for item in self.world.visible(self.room.id))

    def scope(self):
        """What the parser may talk about: items in sight and their names in English and in the player's language."""
        if self.room.dark and not self.has_light():
            items = self.world.contents("@player")
        else:
            items = self.world.visible(self.room.id)
        return {item.id: [name.lower() for name in item.names() + [self.name(item)]] for item in items}

    def oil_is_out(self, timer):
        for item in self.world.items.values():
            if "lit" in item.flags:
                item.flags.discard("lit")
                self.scheduler.start("smoke", 1, "timer.smoke")

    def pass_turn(self):
        """Time goes by: timers, goals. Returns lines."""
        self.turn += 1
        lines = [self.t(timer.key) for timer in self.scheduler.advance()]
        for item, place, points in self.score.check(self.world):
            lines.append(self.t("goal.done", n=points))
        return lines

    def start(self):
        return look(self, None)

    def run(self, line):
        """Plays one line and returns what the player reads."""
        lines = []
        error = None
        try:
            for command in self.parser.parse(line, self.scope()):
                lines.extend(ACTIONS[command.verb](self, command))
                lines.extend(self.pass_turn())
        except LexError as problem:
            error = str(problem)
            lines.append(self.t("parse.quote"))
        except ParseError as problem:
            error = str(problem)
            lines.append(self.t(problem.key, **problem.values))
        self.journal.add(self.turn, line, lines, error)
        return lines
