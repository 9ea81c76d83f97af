"""Save files move from version 1 (text) to version 2 (JSON lines), with the public API as it was."""
from recorder import Session, edit, read, search, shell, todo, view, write

V1 = '''"""Reads save files of version 1: text, one `key=value` a line. They are not written any more.

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

MAGIC = "lantern-save 1"
NEEDED = ("world", "turn", "room", "score", "done")


def parse_v1(text, path):
    """The state in a version 1 save, in the form that `storage.check` takes."""
    state = {"items": {}, "notes": [], "timers": [], "flags": {}}
    lines = text.split("\\n")[1:]
    for number, line in enumerate(lines, 2):
        key, equals, value = line.partition("=")
        if not equals:
            if state["notes"] and number > 2:
                state["notes"][-1] += "\\n" + line  # version 1 wrote line breaks in notes as they were
                continue
            raise SaveError("%s:%d: no `=` in `%s`" % (path, number, line))
        try:
            _entry(state, key, value)
        except ValueError as error:
            raise SaveError("%s:%d: %s" % (path, number, error))
    missing = [key for key in NEEDED if key not in state]
    if missing:
        raise SaveError("`%s` ends early: no %s" % (path, ", ".join("`%s`" % key for key in missing)))
    return state


def _entry(state, key, value):
    kind, _, name = key.partition(".")
    if kind in ("turn", "score"):
        state[kind] = int(value)
    elif kind in ("world", "room"):
        state[kind] = value
    elif kind == "done":
        state["done"] = [goal for goal in value.split(",") if goal]
    elif kind == "item":
        state["items"][name] = value
    elif kind == "flag":
        state["flags"][name] = sorted(value.split(","))
    elif kind == "note":
        state["notes"].append(value)
    elif kind == "timer":
        due, every, text = value.split(",")
        state["timers"].append([name, int(due), int(every), text])
    else:
        raise ValueError("unknown key `%s`" % key)
'''

V2 = '''"""Save files, version 2: one JSON object a line.

The first line is the head: the version, the world, how many lines follow, and the SHA-256 of them. Each line after it
is a record with a `kind`: state, item, note, timer. Version 1 is still read, see `storage_v1.py`.
"""
import hashlib
import json
import os
import tempfile

from .errors import SaveError
from .events import Timer
from .storage_v1 import MAGIC, parse_v1

VERSION = 2


def save_game(engine, path):
    """Writes the state of a game to `path`."""
    try:
        body = "".join(_line(record) for record in _records(engine)).encode("utf-8")
    except UnicodeEncodeError as error:
        raise SaveError("a note cannot be written: %s" % error)
    head = {"lantern-save": VERSION, "world": engine.world.title, "records": body.count(b"\\n"),
            "sha256": hashlib.sha256(body).hexdigest()}
    _replace(path, _line(head).encode("utf-8") + body)


def load_game(engine, path):
    """Puts a saved state into `engine`, which must play the same world. An error leaves the engine as it was."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SaveError("could not read `%s`: %s" % (path, error))
    state = parse_v1(text, path) if text.split("\\n")[0] == MAGIC else parse_v2(text, path)
    check(engine.world, state, path)
    _apply(engine, state)


def _line(record):
    return json.dumps(record, ensure_ascii=False, sort_keys=True) + "\\n"


def _records(engine):
    yield {"kind": "state", "turn": engine.turn, "room": engine.room.id, "score": engine.score.points,
           "done": engine.score.done}
    for item in engine.world.items.values():
        yield {"kind": "item", "id": item.id, "place": item.place, "flags": sorted(item.flags)}
    for note in engine.notes:
        yield {"kind": "note", "text": note}
    for timer in engine.scheduler.timers:
        yield {"kind": "timer", "name": timer.name, "due": timer.due, "every": timer.every, "key": timer.key}


def _replace(path, data):
    """Writes a file as a whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(prefix="lantern-save")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(name, path)
    except OSError as error:
        raise SaveError("could not write `%s`: %s" % (path, error))


def parse_v2(text, path):
    """The state in a version 2 save, in the form that `check` takes."""
    first, _, body = text.partition("\\n")
    try:
        head = json.loads(first)
        version = head["lantern-save"]
    except (ValueError, KeyError, TypeError):
        raise SaveError("`%s` is not a save file" % path)
    if version != VERSION:
        raise SaveError("`%s` has version %r, this is %d" % (path, version, VERSION))
    if hashlib.sha256(body.encode("utf-8")).hexdigest() != head.get("sha256"):
        raise SaveError("`%s` is damaged: %d of %r records, and the checksum differs" % (path, body.count("\\n"), head.get("records")))
    state = {"world": head["world"], "items": {}, "flags": {}, "notes": [], "timers": []}
    for line in body.splitlines():
        record = json.loads(line)
        kind = record.pop("kind")
        if kind == "state":
            state.update(record)
        elif kind == "item":
            state["items"][record["id"]] = record["place"]
            state["flags"][record["id"]] = record["flags"]
        elif kind == "note":
            state["notes"].append(record["text"])
        elif kind == "timer":
            state["timers"].append([record["name"], record["due"], record["every"], record["key"]])
        else:
            raise SaveError("`%s`: unknown kind `%s`" % (path, kind))
    return state


def check(world, state, path):
    """Raises `SaveError` if a state does not fit the world."""
    if state["world"] != world.title:
        raise SaveError("the save is of `%s`, the game is `%s`" % (state["world"], world.title))
    if state["room"] not in world.rooms:
        raise SaveError("`%s`: no room `%s`" % (path, state["room"]))
    for item, place in state["items"].items():
        if item not in world.items:
            raise SaveError("`%s`: no item `%s`" % (path, item))
        if place != "@player" and place not in world.rooms and place not in world.items:
            raise SaveError("`%s`: item `%s` in `%s`" % (path, item, place))


def _apply(engine, state):
    engine.turn = state["turn"]
    engine.room = engine.world.rooms[state["room"]]
    for item, place in state["items"].items():
        engine.world.items[item].place = place
        engine.world.items[item].flags = set(state["flags"].get(item, ()))
    engine.notes = list(state["notes"])
    engine.score.points = state["score"]
    engine.score.done = list(state["done"])
    engine.scheduler.turn = state["turn"]
    engine.scheduler.timers = [Timer(name, due, key, every) for name, due, every, key in state["timers"]]
'''

TESTS_V2 = '''import json
import os
import tempfile
import unittest

from lantern import Engine, LanternError, load_game, load_world, save_game

V1_SAVE = os.path.join(os.path.dirname(__file__), "saves", "v1.save")


class SavesV2(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "game.save")

    def tearDown(self):
        self.folder.cleanup()

    def played(self, *lines):
        engine = Engine(load_world("data/mill.world"))
        for line in lines:
            engine.run(line)
        return engine

    def test_every_line_is_json(self):
        save_game(self.played("take lamp", 'write "水車 = ключ"'), self.path)
        with open(self.path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        self.assertEqual(records[0]["lantern-save"], 2)
        self.assertEqual(records[0]["records"], len(records) - 1)

    def test_one_changed_byte_is_noticed(self):
        save_game(self.played("take lamp"), self.path)
        data = open(self.path, "rb").read()
        for at in range(0, len(data), 97):
            with open(self.path, "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            with self.subTest(at=at), self.assertRaises(LanternError):
                load_game(self.played(), self.path)

    def test_cut_anywhere_is_noticed(self):
        save_game(self.played("take lamp"), self.path)
        data = open(self.path, "rb").read()
        for end in range(0, len(data) - 1, 131):
            with open(self.path, "wb") as file:
                file.write(data[:end])
            with self.subTest(end=end), self.assertRaises(LanternError):
                load_game(self.played(), self.path)

    def test_nothing_is_left_behind(self):
        save_game(self.played("take lamp"), self.path)
        self.assertEqual(os.listdir(self.folder.name), ["game.save"])

    def test_version_1_loads(self):
        engine = self.played()
        load_game(engine, V1_SAVE)
        self.assertEqual((engine.turn, engine.room.id), (7, "kitchen"))
        self.assertEqual(engine.world.items["lamp"].place, "@player")
        self.assertEqual(engine.notes, ["ask about the tithe"])

    def test_version_3_is_refused(self):
        with open(self.path, "w") as file:
            file.write('{"lantern-save": 3}\\n')
        with self.assertRaises(LanternError) as caught:
            load_game(self.played(), self.path)
        self.assertIn("version 3", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
'''

MODULES = ["__init__", "errors", "events", "engine", "actions", "world", "scoring", "journal", "cli", "parser", "tokens", "grammar",
           "i18n", "layout", "report", "pathfind", "mapdraw"]


def tell():
    s = Session("port-storage")
    s.user("Please port the save files to a new format, version 2: one JSON object per line, with a checksum, so that a damaged file is noticed.\n\n"
           "Constraints:\n- the public API stays: `save_game(engine, path)` and `load_game(engine, path)`, `LanternError` for everything that goes wrong\n"
           "- Python 3.8 must keep working, standard library only\n- version 1 files must still load (players have them)\n"
           "- a save that fails must leave the old file alone; a load that fails must leave the engine alone\n\n"
           "tests/test_storage.py has failures today, they are part of the job. Other failing tests are not; leave them.",
           metadata={"channel": "terminal", "turn": 1})
    s.step("I will look at the project, the storage code and its tests first.",
           shell("ls -R . && wc -l lantern/*.py tests/*.py tools/*.py"), read("lantern/storage.py"), read("tests/test_storage.py"), read("README.md"),
           think="The user wants a format port with a fixed API. Start with storage.py, its tests, and who calls it. Independent reads can go together.")
    s.step(None, search("save_game|load_game|storage", "."), read("lantern/engine.py"), read("lantern/events.py"), read("lantern/world.py"), read("lantern/errors.py"),
           think="save_game touches engine.world, engine.turn, engine.room, engine.notes, engine.score, engine.scheduler. I need the exact attributes of each, and what the Scheduler keeps (turn as well as timers).")
    s.step("Now the state of the tests before any change.", shell("python3 -m unittest -v"), think="A baseline, so that I can tell my failures from the ones that were there.")
    s.step("27 failures and 15 errors before I touch anything; of these `tests.test_storage` is my part. Let me run it alone.",
           shell("python3 -m unittest tests.test_storage"), read("lantern/scoring.py"), read("lantern/actions.py"))
    s.step("I want real states to compare with, before and after the port.", shell("python3 tools/dump_state.py data/scripts/walk.txt"),
           shell("python3 tools/dump_state.py data/scripts/notes.txt"), shell("python3 -m lantern.cli data/mill.world --script data/scripts/walk.txt --save /home/user/tmp/walk.v1.save --trace"),
           shell("cat /home/user/tmp/walk.v1.save"), think="A v1 file written by the untouched code is the best fixture: I must keep one for test_version_1_loads.")
    s.step(None, shell("python3 -m lantern.cli data/mill.world --script data/scripts/short.txt --load /home/user/tmp/walk.v1.save"),
           shell("python3 tools/fuzz.py --seed 7 --turns 260"), think="walk.v1.save contains a note with `=`; load_game does line.split('=') and should fail. And fuzz.py writes notes of every kind.", redacted=True)
    s.step("Loading `walk.v1.save` dies with a bare `ValueError: too many values to unpack (expected 2)`: `line.split(\"=\")` in `load_game`. The fuzzer itself dies in `lantern/report.py` (`percentile(lengths, 1.0)`), which is not mine.",
           todo("> read storage.py and its callers", "- decide the record layout", "- lantern/storage_v1.py: reader only", "- lantern/storage.py: version 2", "- tests/test_storage_v2.py and tests/saves/v1.save", "- README.md, CHANGES.md"),
           *[read("lantern/%s.py" % name) for name in ("journal", "cli", "report")])
    s.say("Here is my plan, please confirm before I write code:\n\n"
          "1. `lantern/storage_v1.py` keeps the reader of version 1, nothing writes it any more.\n"
          "2. `lantern/storage.py` writes version 2: a head line `{\"lantern-save\": 2, \"world\": …, \"records\": N, \"sha256\": …}` and then one record a line (`state`, `item`, `note`, `timer`).\n"
          "3. `load_game` parses and checks everything before it touches the engine.\n"
          "4. Saves go to a temporary file that is renamed.\n\n"
          "One question: `test_damaged` in tests/test_storage.py damages version 1 text (`room=yard`). With version 2 those replacements do nothing. I would rather not weaken the test. What should become of it?",
          think="test_damaged manipulates v1 text. If save_game writes v2, text.replace('room=yard', ...) is the identity and the load succeeds, so the test fails. Changing tests needs consent.")
    s.user("Plan confirmed. For `test_damaged`: write the version 1 text to a fixture tests/saves/v1.save and let that test damage the fixture, so the three damages stay as they are. New tests for version 2 go to tests/test_storage_v2.py.\n\nAnd one correction: no `timer` for timers that belong to nobody… forget it, keep all timers. Go on.")
    s.step("The fixture comes from the untouched code in /home/user/lantern.orig, so that it is a real version 1 file.",
           shell("mkdir -p tests/saves && cd /home/user/lantern.orig && python3 - <<'END'\nfrom lantern import Engine, load_world, save_game\nengine = Engine(load_world('data/mill.world'))\nfor line in ['take lamp', 'light lamp', 'n', 'n', 'take key', 'write \"ask about the tithe\"', 'look']:\n    engine.run(line)\nsave_game(engine, '/home/user/lantern/tests/saves/v1.save')\nEND\ncat /home/user/lantern/tests/saves/v1.save"),
           write("lantern/storage_v1.py", V1), think="Seven lines, so turn 7 and room kitchen. The reader: partition at the first `=`, so notes with `=` are fine; a line without `=` continues the note before it.")
    s.step(None, write("lantern/storage.py", V2), write("tests/test_storage_v2.py", TESTS_V2))
    s.step(None, shell("python3 -m unittest tests.test_storage tests.test_storage_v2"), shell("python3 -c 'import lantern; print(lantern.__all__)'"), expect_failure=None)
    s.step("Most of it holds. What is left: `test_damaged` (to be moved to the fixture, as agreed), `test_score`. Let me see what the score test does.",
           read("tests/test_storage.py", offset=60, limit=30), shell("python3 - <<'END'\nfrom lantern import Engine, load_world\nengine = Engine(load_world('data/mill.world'))\nfor line in ['n', 'n', 'e', 'take bread', 'take loaf of bread', 'w', 'give bread to miller', 'score']:\n    print('>', line)\n    print('  ', engine.run(line))\nprint(engine.journal.errors())\nEND"),
           think="test_score plays 'take bread'. In the pantry there are two items whose names contain 'bread': `bread` (loaf of bread) and `box` (bread box). So the parser says parse.which. That is not a storage fault.")
    s.say("`test_score` fails before the save: in the pantry, `take bread` is ambiguous (`parse.which`: `box` is a \"bread box\", `bread` is a \"loaf of bread\"). That is the world or the parser, not the storage. You said to leave other faults alone, but this test is in tests/test_storage.py. Shall I add `alias bread` to `item bread` in data/mill.world?")
    s.user("Yes, the alias is right, only that line in data/mill.world. \n\nTwo things I see in your storage.py:\n1. `tempfile.mkstemp` without `dir=`: /tmp is another file system on our machines, `os.rename` will fail with `EXDEV`. Put the temporary file next to the target.\n2. if the write fails the temporary file stays. Clean it up.")
    s.step("Both are right.", edit("lantern/storage.py", "        handle, name = tempfile.mkstemp(prefix=\"lantern-save\")\n        with os.fdopen(handle, \"wb\") as file:\n            file.write(data)\n            file.flush()\n            os.fsync(file.fileno())\n        os.rename(name, path)\n    except OSError as error:\n        raise SaveError(\"could not write `%s`: %s\" % (path, error))",
           "        handle, name = tempfile.mkstemp(prefix=\".lantern-\", dir=os.path.dirname(os.path.abspath(path)))\n        try:\n            with os.fdopen(handle, \"wb\") as file:\n                file.write(data)\n                file.flush()\n                os.fsync(file.fileno())\n            os.replace(name, path)\n        except OSError:\n            os.unlink(name)\n            raise\n    except OSError as error:\n        raise SaveError(\"could not write `%s`: %s\" % (path, error))"),
           edit("data/mill.world", "item bread \"loaf of bread\" in pantry\n", "item bread \"loaf of bread\" in pantry\n  alias bread\n"),
           think="os.replace instead of os.rename: also right on Windows, and available since 3.3. dir= must be the folder of the target; abspath so that a bare file name works.")
    s.step(None, edit("tests/test_storage.py", "        self.back(\"take lamp\")\n        with open(self.path) as file:\n            text = file.read()\n        for damaged",
           "        with open(V1_SAVE, encoding=\"utf-8\") as file:\n            text = file.read()\n        for damaged"), expect_failure=False)
    s.step(None, edit("tests/test_storage.py", "class Saves(unittest.TestCase):", "V1_SAVE = os.path.join(os.path.dirname(__file__), \"saves\", \"v1.save\")\n\n\nclass Saves(unittest.TestCase):"),
           shell("python3 -m unittest tests.test_storage tests.test_storage_v2 -v"), think="The fixture has room=kitchen and turn=7, so the replacements room=yard -> nowhere will do nothing. Let me see what the test says.")
    s.step("As I feared: the fixture has `room=kitchen` and `turn=7`, so two of the three replacements hit nothing. I use the values of the fixture.",
           edit("tests/test_storage.py", "text.replace(\"room=yard\", \"room=nowhere\"), text.replace(\"turn=1\", \"turn=one\")", "text.replace(\"room=kitchen\", \"room=nowhere\"), text.replace(\"turn=7\", \"turn=one\")"),
           shell("python3 -m unittest tests.test_storage tests.test_storage_v2"))
    s.step("Now the last ones: a failed load of a version 2 file with a line appended, and timers.", read("lantern/storage.py"), read("tests/test_storage.py"),
           shell("python3 -m unittest tests.test_storage tests.test_storage_v2 tests.test_events"))
    s.step("Whole suite, and the difference to the start.", shell("python3 -m unittest"), shell("diff -ru /home/user/lantern.orig . | head -400"))
    s.step("Round trips over real games: for many seeds, play, save, load, play on with both engines, compare every reply.",
           write("tools/roundtrip.py", ROUNDTRIP), shell("python3 tools/roundtrip.py --seeds 12 --turns 60"),
           think="The tests cover small games. The property that matters: a loaded game goes on exactly as the one that was saved.")
    s.step("All equal. But a fuzzer proves only what it reaches, and it never gets a door open. So I read what else changes in play: `room.locked`, for one, and no version of the save file knows about it.",
           search("locked", "lantern"), read("lantern/actions.py", offset=120, limit=40), shell("python3 tools/roundtrip.py --seeds 30 --turns 80"))
    s.say("A finding that goes beyond the port: unlocked doors are not saved (nor are `engine.visited` and `parser.last_noun`). `unlock` deletes from `room.locked` in lantern/actions.py, and no version of the save file knows about it. Version 2 could carry it in the `state` record. Shall I?")
    s.user("Yes: save unlocked doors and visited rooms in version 2. Not `last_noun`, a pronoun may be forgotten. Old version 1 files simply have no such keys; then doors stay as the world file says. \n\nBy the way, the map that tools/draw_map.py makes looks mirrored, see the picture. Do NOT fix it now, just tell me if it has to do with your change.", image=None)
    [drawn] = s.step("First the map question, since it is quick.", shell("python3 tools/draw_map.py data/mill.world /home/user/lantern/map.png"))
    s.step(None, view("map.png"), search("STEP|east|west", "lantern/mapdraw.py"), think="The start square is red. The pond should be east of the yard, to the right; in the picture it is on the left. STEP in mapdraw.py has east: (-1, 0).")
    s.step("The map is mirrored because of `STEP = {… \"east\": (-1, 0), \"west\": (1, 0)}` in lantern/mapdraw.py; nothing of the port touches it, and I leave it. On with doors and visited rooms.",
           shell("rm map.png"),
           edit("lantern/storage.py", "           \"done\": engine.score.done}", "           \"done\": engine.score.done, \"visited\": sorted(engine.visited),\n           \"locked\": {room.id: room.locked for room in engine.world.rooms.values() if room.locked}}"),
           edit("lantern/storage.py", "    engine.scheduler.turn = state[\"turn\"]\n", "    if \"locked\" in state:  # version 1 has no doors and no visited rooms\n        for room in engine.world.rooms.values():\n            room.locked = dict(state[\"locked\"].get(room.id, {}))\n        engine.visited = set(state[\"visited\"])\n    engine.scheduler.turn = state[\"turn\"]\n"))
    s.step(None, shell("python3 tools/roundtrip.py --seeds 30 --turns 80"), read("lantern/storage.py"), shell("python3 -m unittest tests.test_storage tests.test_storage_v2"))
    s.step("No differences. I look at whole traces, to be sure that these games are worth something.", shell("python3 tools/roundtrip.py --seeds 4 --turns 200 --trace"),
           think="If the games hardly move, zero differences mean little. I want to see rooms, notes, timers on both sides.")
    s.step("The games move, write notes and run timers, and `saved` and `loaded` show the same state after every line. Only `take it` right after a load could differ, a pronoun may be forgotten; I take it out of tools/roundtrip.py and say so there.",
           edit("tools/roundtrip.py", "        text = line(first, dice)\n", "        text = line(first, dice)\n        if text == \"take it\":  # a pronoun may be forgotten by a save\n            text = \"look\"\n"),
           shell("python3 tools/roundtrip.py --seeds 40 --turns 120"))
    s.user("Before you go on: does it also hold with the other languages, and with long games? The last time somebody changed saves, ja broke after 200 turns. Please check all languages at 220 turns, and read the traces, do not only count.")
    for lang, seed in (("ja", 21), ("ru", 22), ("ar", 23), ("en", 24)):
        s.step({"ja": "Japanese first.", "ru": "Japanese, seed 21: 0 differences, no traceback. Now Russian.", "ar": "Russian plays through, seed 22. Arabic.",
                "en": "Arabic, seed 23: 0 differences. English, a long one."}[lang],
               shell("python3 tools/roundtrip.py --seeds 1 --first %d --turns 220 --trace --lang %s" % (seed, lang)))
    s.step("The same with the code as it was, to find out what broke ja the last time, and whether the catalogs are sound at all.",
           shell("cp tools/roundtrip.py /home/user/lantern.orig/tools/ && cd /home/user/lantern.orig && for lang in ja ru ar; do python3 tools/roundtrip.py --seeds 2 --first 21 --turns 80 --lang $lang; done; rm tools/roundtrip.py"),
           shell("python3 tools/locale_audit.py | grep -E 'values|unused'"), think="The old load_game dies on notes with '=' and with line breaks: that is in every language. But a catalog with a wrong {value} would raise KeyError in t(), so I check that too.")
    s.say("Results, with `python3 tools/roundtrip.py --turns 220`:\n\n- ja (seed 21), ru (seed 22), ar (seed 23), en (seed 24): every reply equal after save and load, no traceback\n"
          "- the untouched code fails on the same seeds: `ValueError: not enough values to unpack (expected 2, got 1)` in `load_game`, from a note with a line break\n"
          "- tools/locale_audit.py finds two values that will raise a `KeyError` in any game, saved or not: `inventory.some` in data/locale/ja.txt has `{thing}` for `{things}`, `give.done` in data/locale/ar.txt has `{targets}` for `{target}`\n\n"
          "So the old \"ja breaks after 200 turns\" may have been either of the two. Shall I correct the catalogs?")
    s.user("日本語の `inventory.some` は `{things}` が正しいです。`ar` の `give.done` も `{target}` に直してください。他の翻訳には触らないでください。\n\nAlso: no f-strings with `=` and no `removeprefix` please, 3.8! I have seen a `str | None` in somebody's branch last week. Check that your files compile for 3.8.")
    s.step("Two one-word edits in the catalogs, and a check of the syntax against the grammar of 3.8.", edit("data/locale/ja.txt", "{thing}", "{things}"), edit("data/locale/ar.txt", "{targets}", "{target}"),
           shell("python3 - <<'END'\nimport ast, pathlib\nfor path in sorted(pathlib.Path('.').rglob('*.py')):\n    ast.parse(path.read_text(encoding='utf-8'), str(path), feature_version=(3, 8))\n    print('3.8 ok ', path)\nEND"),
           search("removeprefix|removesuffix|\\| None|match |:=", "lantern tools tests"), think="feature_version checks syntax only; library calls need a grep: removeprefix (3.9), dict | dict (3.9), math.lcm (3.9), zip(strict=) (3.10).")
    for seed in (31, 32, 33):
        s.step({31: "The long games again, with other seeds, in the languages whose catalogs changed and in Russian.", 32: None, 33: None}[seed],
               shell("python3 tools/roundtrip.py --seeds 1 --first %d --turns 200 --trace --lang %s" % (seed, {31: "ja", 32: "ar", 33: "ru"}[seed])))
    s.step("No crash and no difference in any of them. Now the documents.",
           edit("README.md", "Version 1 is text, one `key=value` a line, see `lantern/storage.py`. A save holds", "Version 2 is one JSON object a line, the first one with a SHA-256 of the others; see `lantern/storage.py`.\nVersion 1 (text, `key=value`) is still read, see `lantern/storage_v1.py`. A save holds"),
           edit("README.md", "item, flags, notes that the player wrote, the score and the timers that still run.", "item, flags, notes that the player wrote, the score, the timers that still run, the doors that are still locked\nand the rooms that were visited."),
           edit("CHANGES.md", "# Changes\n", "# Changes\n\n## Unreleased\n\n* Save files, version 2: JSON lines with a checksum. Version 1 files still load; `save_game` writes version 2 only.\n* A load that fails leaves the engine as it was; a save that fails leaves the old file as it was.\n* Unlocked doors and visited rooms are saved.\n"))
    s.step(None, shell("python3 -m unittest -v"), shell("diff -ru /home/user/lantern.orig . | grep -v '^Only in'"), read("lantern/storage.py"), read("lantern/storage_v1.py"))
    s.user("Stop for a moment. What happens on a full disk, and if the folder is read-only? Show me, with real errors. And I want to see a complete version 2 file of the long walk.")
    s.step("A full disk can be shown with /dev/full, a read-only folder with a path below a file.",
           shell("python3 - <<'END'\nfrom lantern import Engine, LanternError, load_world, save_game\nengine = Engine(load_world('data/mill.world'))\nfor path in ('/home/user/tmp/missing/game.save', '/proc/game.save', 'README.md/game.save'):\n    try:\n        save_game(engine, path)\n        print('saved', path)\n    except LanternError as error:\n        print(type(error).__name__, error)\nEND\nprintf x > /dev/full"),
           shell("python3 -m lantern.cli data/mill.world --script data/scripts/walk.txt --save /home/user/tmp/walk.v2.save > /dev/null; cat /home/user/tmp/walk.v2.save"))
    s.step("And the two versions of the same game side by side: version 1 loaded, saved again as version 2.",
           shell("python3 - <<'END'\nfrom lantern import Engine, load_game, load_world, save_game\nengine = Engine(load_world('data/mill.world'))\nload_game(engine, '/home/user/tmp/walk.v1.save')\nsave_game(engine, '/home/user/tmp/walk.from-v1.save')\nprint(engine.turn, engine.room.id, engine.notes)\nEND\ndiff /home/user/tmp/walk.v2.save /home/user/tmp/walk.from-v1.save"),
           shell("python3 tools/fuzz.py --seed 41 --turns 250"), think="walk.v1.save was written before the alias, so the games differ: in the v2 walk the bread was taken. The diff will show places and the score.")
    return s


ROUNDTRIP = '''"""Plays at random, saves half way, loads into a second engine, and compares every reply of both from there on."""
import argparse
import os
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fuzz import Dice, line
from lantern import Engine, load_game, load_world, save_game
from lantern.cli import trace


def typed(engine, text):
    try:
        return engine.run(text)
    except Exception:
        return traceback.format_exc().rstrip().split("\\n")


def run(seed, args):
    """The differences of one game, as text."""
    first = Engine(load_world("data/mill.world"), args.lang)
    dice = Dice(seed)
    for _ in range(args.turns // 2):
        typed(first, line(first, dice))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "game.save")
        save_game(first, path)
        second = Engine(load_world("data/mill.world"), args.lang)
        load_game(second, path)
    differences = []
    for number in range(args.turns // 2):
        text = line(first, dice)
        one, two = typed(first, text), typed(second, text)
        if args.trace:
            print("%3d.%03d > %s" % (seed, number, text.replace("\\n", "\\\\n")))
            for reply in one:
                print("        " + reply)
            trace(first)
            trace(second)
        if one != two:
            differences.append("%3d.%03d > %s\\n    saved:  %r\\n    loaded: %r" % (seed, number, text, one, two))
    return differences


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--turns", type=int, default=100)
    options.add_argument("--lang", default="en")
    options.add_argument("--trace", action="store_true")
    args = options.parse_args()
    worst = 0
    for seed in range(args.first, args.first + args.seeds):
        try:
            differences = run(seed, args)
        except Exception:
            print("seed %d: %s" % (seed, traceback.format_exc().rstrip()))
            worst = 2
            continue
        print("seed %d (%s): %d differences" % (seed, args.lang, len(differences)))
        for difference in differences[:10]:
            print(difference)
        worst = max(worst, 1 if differences else 0)
    return worst


if __name__ == "__main__":
    sys.exit(main())
'''
