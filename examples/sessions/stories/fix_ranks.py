"""A short one: ranks one point late."""
from recorder import Session, edit, read, search, shell
from stories.common import PERCENT, RANKS


def tell():
    s = Session("fix-ranks")
    s.user("A player with exactly 15 points is still a \"visitor\", it should be \"mill hand\". Also `Score([]).percent()` blows up. Please fix both, nothing else.")
    s.step("I look at the scoring code and its tests.", read("lantern/scoring.py"), read("tests/test_scoring.py"))
    s.step(None, shell("python3 -m unittest tests.test_scoring"), search("RANKS|rank\\(|percent\\("))
    s.step("`rank` compares with `>`, so a player who has exactly the points of a rank does not get it; and `percent` divides by a total of 0.", RANKS)
    s.step(None, edit("lantern/scoring.py", "return self.points * 100 / self.total", "return self.points * 100 // self.total if self.total else 0"), expect_failure=True)
    s.step("It is an integer division there. Once more with the text as it is in the file.", PERCENT)
    s.step(None, shell("python3 -m unittest tests.test_scoring"), shell("diff -ru /home/user/lantern.orig/lantern lantern"))
    s.say("Both are fixed in lantern/scoring.py: `rank` uses `>=`, and `percent` gives 0 for a game without goals. `python3 -m unittest tests.test_scoring` passes (3 tests).")
    s.user("Good. Does the rank in the short script change by that? Run data/scripts/short.txt and show me the end. 🏁")
    s.step(None, shell("python3 -m lantern.cli data/mill.world --script data/scripts/short.txt | tail -20"))
    return s
