"""Edits that more than one story makes."""
from recorder import edit

APOSTROPHE = edit("lantern/tokens.py", "not in STOPS and char not in QUOTES and char != \",\"", "not in STOPS and char != '\"' and char != \",\"")
RANKS = edit("lantern/scoring.py", "if self.points > least:", "if self.points >= least:")
PERCENT = edit("lantern/scoring.py", "return self.points * 100 // self.total", "return self.points * 100 // self.total if self.total else 0")
STEP = edit("lantern/mapdraw.py", "\"east\": (-1, 0), \"west\": (1, 0)", "\"east\": (1, 0), \"west\": (-1, 0)")
THINGS = edit("data/locale/ja.txt", "{thing}", "{things}")
TARGET = edit("data/locale/ar.txt", "{targets}", "{target}")
ALIAS = edit("data/mill.world", "item bread \"loaf of bread\" in pantry\n", "item bread \"loaf of bread\" in pantry\n  alias bread\n")
PERCENTILE = edit("lantern/report.py", "    ordered = sorted(values)\n    return ordered[int(len(ordered) * share)]",
                  "    if not values:\n        return 0\n    ordered = sorted(values)\n    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]")
LONGEST = edit("lantern/grammar.py", "    for preposition in PREPOSITIONS:\n        if", "    for preposition in sorted(PREPOSITIONS, key=len, reverse=True):\n        if")
PRONOUN_OLD = "        self.last_noun = \" \".join(words)\n        phrase = \" \".join(words)\n"
PLURAL_RU = edit("lantern/i18n.py", "        if n % 10 == 1:\n            return \"one\"\n        if 2 <= n % 10 <= 4:\n            return \"few\"",
                 "        if n % 10 == 1 and n % 100 != 11:\n            return \"one\"\n        if 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14:\n            return \"few\"")
ADVANCE = edit("lantern/events.py", "        for timer in self.timers:\n            if timer.due <= self.turn:", "        for timer in list(self.timers):\n            if timer.due <= self.turn and timer in self.timers:")
