"""Points and ranks."""

RANKS = [(0, "rank.visitor"), (15, "rank.hand"), (40, "rank.miller"), (75, "rank.keeper")]


class Score:
    """Points so far, and the goals that were reached."""

    def __init__(self, goals):
        self.goals = list(goals)
        self.points = 0
        self.done = []

    @property
    def total(self):
        return sum(points for _, _, points in self.goals)

    def check(self, world):
        """Counts goals that are newly reached; returns them."""
        reached = []
        for item, place, points in self.goals:
            name = "%s@%s" % (item, place)
            if name not in self.done and world.items[item].place == place:
                self.done.append(name)
                self.points += points
                reached.append((item, place, points))
        return reached

    def percent(self):
        return self.points * 100 // self.total

    def rank(self):
        """The catalog key of the rank for the points so far."""
        best = RANKS[0][1]
        for least, key in RANKS:
            if self.points > least:
                best = key
        return best
