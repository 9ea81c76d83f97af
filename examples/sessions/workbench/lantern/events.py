"""Timers: things that happen after so many turns, once or again and again."""


class Timer:
    """A timer that is due at turn `due`; `every` is the interval of one that repeats, else 0."""

    def __init__(self, name, due, key, every=0):
        self.name = name
        self.due = due
        self.key = key
        self.every = every

    def __repr__(self):
        return "Timer(%r, due=%d, every=%d)" % (self.name, self.due, self.every)


class Scheduler:
    """All timers that run. `advance` is called once a turn."""

    def __init__(self):
        self.turn = 0
        self.timers = []
        self.handlers = {}

    def start(self, name, turns, key, every=False):
        """Starts a timer that is due in `turns` turns."""
        if turns < 1:
            raise ValueError("a timer needs at least one turn, not %d" % turns)
        self.timers.append(Timer(name, self.turn + turns, key, turns if every else 0))

    def cancel(self, name):
        """Stops every timer of that name; says how many there were."""
        before = len(self.timers)
        self.timers = [timer for timer in self.timers if timer.name != name]
        return before - len(self.timers)

    def on(self, name, handler):
        """Calls `handler(timer)` when a timer of that name is due."""
        self.handlers.setdefault(name, []).append(handler)

    def advance(self):
        """One turn goes by. The timers that were due, in the order in which they were started."""
        self.turn += 1
        fired = []
        for timer in self.timers:
            if timer.due <= self.turn:
                fired.append(timer)
                for handler in self.handlers.get(timer.name, []):
                    handler(timer)
                if timer.every:
                    timer.due = self.turn + timer.every
                else:
                    self.timers.remove(timer)
        return fired
