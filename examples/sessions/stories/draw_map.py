"""A short one with pictures: the map is mirrored."""
from recorder import Session, read, shell, view
from stories.common import STEP


def tell():
    s = Session("draw-map")
    s.bench.shell("python3 tools/draw_map.py data/mill.world shot.png")
    s.user("This is what tools/draw_map.py gives me. The pond should be on the right of the yard (red), it is on the left. Please fix it; the size of the picture must not change.", image=s.bench.image("shot.png"))
    s.bench.shell("rm shot.png")
    s.step("I reproduce it first.", shell("python3 tools/draw_map.py data/mill.world map.png"), read("lantern/mapdraw.py"),
           think="The red square is the start. `place` walks from it with STEP. If east were (-1, 0), everything would be mirrored.")
    s.step(None, view("map.png"), shell("python3 -m unittest tests.test_map"), redacted=True, think="Compare the picture with the list of positions: pond at -1, lane at +1. The test test_east_is_to_the_right says the same.")
    s.step("`STEP` has east and west the wrong way round.", STEP)
    s.step(None, shell("python3 tools/draw_map.py data/mill.world map.png"), shell("python3 -m unittest tests.test_map"), think="After the edit: draw again, look at it, and run the map tests.")
    s.step("The new picture, and whether the old one is still about.", view("map.png"), shell("ls shot.png"))
    s.user("That is right now. Three rooms lie on top of others (`3 overlaps`); can that be avoided? Only tell me, do not change it yet.")
    return s
