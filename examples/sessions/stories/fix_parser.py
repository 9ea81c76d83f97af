"""The parser: apostrophes, long prepositions, pronouns, doors, and things that are put into themselves. OpenAI Chat."""
from recorder import Session, edit, read, search, shell, todo, write
from stories.common import ADVANCE, ALIAS, APOSTROPHE, LONGEST, PERCENTILE, PRONOUN_OLD

UNLOCK = '''        if verb == "unlock" and len(words) > 1 and words[0] in grammar.DIRECTIONS and words[1] == "with":
            return [Command(verb, [self.noun(words[2:], scope)], "with", direction=grammar.DIRECTIONS[words[0]])]
'''

REPLAY = '''"""Replays every script in every language and says where a reply is an error."""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lantern import Engine, load_world


def main(langs):
    bad = 0
    for path in sorted(glob.glob("data/scripts/*.txt")):
        for lang in langs:
            engine = Engine(load_world("data/mill.world"), lang)
            with open(path, encoding="utf-8") as file:
                lines = [line.rstrip("\\n") for line in file if line.strip() and not line.startswith("#")]
            for number, line in enumerate(lines, 1):
                try:
                    engine.run(line)
                except Exception as error:
                    bad += 1
                    print("%s:%d (%s) %r: %s %s" % (path, number, lang, line, type(error).__name__, error))
            for entry in engine.journal.errors():
                print("%s (%s) turn %d %r: %s" % (path, lang, entry["turn"], entry["line"], entry["error"]))
            print("%s (%s): %d lines, %d points of %d" % (path, lang, len(lines), engine.score.points, engine.score.total))
    return bad


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:] or ["en", "ja", "ru", "ar"]) else 0)
'''


def fuzz(seed, turns, lang="en"):
    return shell("python3 tools/fuzz.py --seed %d --turns %d --lang %s" % (seed, turns, lang))


LOST = shell("python3 - <<'END'\nimport sys\nsys.path.insert(0, 'tools')\nfrom fuzz import Dice, line\nfrom lantern import Engine, load_world\nfor seed in range(1, 41):\n    engine = Engine(load_world('data/mill.world'))\n    dice = Dice(seed)\n    for _ in range(400):\n        engine.run(line(engine, dice))\n    lost = []\n    for item in engine.world.items.values():\n        seen, place = set(), item.place\n        while place in engine.world.items and place not in seen:\n            seen.add(place)\n            place = engine.world.items[place].place\n        if place in seen:\n            lost.append(item.id)\n    print('seed %2d: turn %d, points %d, rooms %d, lost %s' % (seed, engine.turn, engine.score.points, len(engine.visited), lost))\nEND")


def tell():
    s = Session("fix-parser")
    s.user("Players report three things:\n1. `take the miller's key` answers \"Your quotation marks do not match.\"\n2. `put key in front of miller` answers \"You see no front of miller here.\"\n"
           "3. after `take lamp`, `take anvil`, `drop it` tries to drop an anvil\n\nFind the causes and fix them. Do not touch the public API (`Engine`, `load_world`, `save_game`, `load_game`), do not rename anything in lantern/grammar.py (other games import `VERBS` and `PREPOSITIONS`), and keep Python 3.8.")
    s.step("I read the parser from the tokens up, and the tests that cover it.", read("lantern/tokens.py"), read("lantern/grammar.py"), read("lantern/parser.py"), read("tests/test_parser.py"), read("tests/test_tokens.py"))
    s.step(None, shell("python3 -m unittest -v"), read("lantern/engine.py"), read("lantern/actions.py"))
    s.step("The three reports are covered by `test_apostrophe`, `test_in_front_of`, `test_pronoun_skips_what_was_not_there`. I play them by hand, too, to see the codes.",
           shell("printf 'n\\nn\\ntake the miller%ss key\\ntake key\\nput key in front of miller\\ntake lamp\\ntake anvil\\ndrop it\\n' \"'\" > /home/user/tmp/report.txt; python3 -m lantern.cli data/mill.world --script /home/user/tmp/report.txt --journal /home/user/tmp/report.jsonl --trace; cat /home/user/tmp/report.jsonl"),
           todo("> 1 apostrophe (lantern/tokens.py, `_is_word`)", "- 2 `in front of` (lantern/grammar.py, `match_preposition`)", "- 3 `it` (lantern/parser.py, `noun`)", "- replay all scripts", "- fuzz"))
    s.step("First the apostrophe: `_is_word` ends a word at any quote. A quote only opens a text where a word could begin.", APOSTROPHE)
    s.step(None, shell("python3 -m unittest tests.test_tokens tests.test_parser"), read("lantern/tokens.py", offset=30, limit=60))
    s.step("Next, the longest preposition has to win. `PREPOSITIONS` keeps its order, as you asked; only the search sorts.", LONGEST)
    s.step(None, edit("lantern/parser.py", "        self.last_noun = ' '.join(words)\n", ""), expect_failure=True)
    s.step("Wrong quotes in my `old` text. The pronoun may only be remembered once the noun is resolved.",
           edit("lantern/parser.py", PRONOUN_OLD, "        phrase = \" \".join(words)\n"),
           edit("lantern/parser.py", "items=sorted(matches))\n        return matches[0]", "items=sorted(matches))\n        self.last_noun = phrase\n        return matches[0]"))
    s.step(None, shell("python3 -m unittest tests.test_tokens tests.test_grammar tests.test_parser tests.test_engine"), read("lantern/parser.py", offset=85, limit=65))
    s.say("The three reports are fixed:\n\n1. lantern/tokens.py, `_is_word`: an apostrophe inside a word belongs to the word\n2. lantern/grammar.py, `match_preposition`: the longest preposition wins\n3. lantern/parser.py, `noun`: `last_noun` is set after the noun is resolved\n\n"
          "tests/test_tokens.py, test_grammar.py, test_parser.py pass. In tests/test_engine.py three tests still fail, for other reasons: `test_locked_door`, `test_goal`, `test_container_cannot_hold_itself`. Do you want those, too?")
    s.user("Yes, all three, but discuss `test_goal` with me first. And before that run the fuzzer on some seeds and read the traces, I want to know what else the parser gets wrong. At least seeds 7, 11 and 13, 300 turns each.")
    s.step("Seed 7.", fuzz(7, 300))
    s.step("Seed 7, line 0047: `put chisel in front of the chisel` is accepted, and 0181 moves the painted sign, which is `fixed`. Many `parse.unknown` are the dice's own (\"lamp\" in an empty room). Seed 11.", fuzz(11, 300))
    s.step("Seed 11, line 0036: `put wheelbarrow on the wheelbarrow` is accepted; the wheelbarrow then is in itself and in no room. And the report at the end never appears: `percentile(lengths, 1.0)` in lantern/report.py runs off the end of the list. It is in the way of the very reports you asked for. Seed 13.", fuzz(13, 300), read("lantern/report.py"), read("tests/test_report.py"))
    s.say("What the traces show:\n\n- a container can be put into itself; it is then in no room, and everything in it is lost (seed 11, 0036: `put wheelbarrow on the wheelbarrow`)\n- `put X in front of Y` works for things that the player does not hold\n- `unlock west with key` cannot be said: \"west\" is no noun, so `test_locked_door` fails and the office cannot be reached at all\n"
          "- tools/fuzz.py dies before its summary, `IndexError: list index out of range` in lantern/report.py:10\n\n`test_goal`: in the pantry `take bread` is ambiguous between `bread` (loaf of bread) and `box` (bread box), both contain the word. Either (a) `alias bread` for the loaf in data/mill.world, or (b) the parser prefers a name whose LAST word matches. (b) would take the loaf here, and would also change `take key` in worlds with a \"key ring\".")
    s.user("(a) for the bread, one line in the world file. For unlock: a direction as first object is fine, but keep `Command`'s slots as they are. Container in itself: say `put.not`. Fix percentile as well since it blocks the fuzzer; not the shares, somebody else has that.\n\nОдно замечание: не переименовывай ключи каталога, переводчики уже работают с ними.")
    s.step("Понял: ключи каталога остаются как есть. First the alias and the percentile.", ALIAS, PERCENTILE)
    s.step(None, edit("lantern/parser.py", "        if arity == 2:\n            if split_at is None:", UNLOCK + "        if arity == 2:\n            if split_at is None:"),
           edit("lantern/actions.py", "    item, key = (engine.world.items[name] for name in command.objects)\n    if key.place != \"@player\":\n        return [engine.t(\"unlock.no-key\")]\n    for direction, wanted in list(engine.room.locked.items()):\n        if wanted == key.id:",
                "    key = engine.world.items[command.objects[-1]]\n    item = engine.world.items[command.objects[0]]\n    if key.place != \"@player\":\n        return [engine.t(\"unlock.no-key\")]\n    for direction, wanted in list(engine.room.locked.items()):\n        if wanted == key.id and command.direction in (None, direction):"),
           edit("lantern/actions.py", "    if command.preposition == \"before\":\n", "    if item is target or inside(engine, target, item):\n        return [engine.t(\"put.not\", target=engine.name(target))]\n    if command.preposition == \"before\":\n"),
           edit("lantern/actions.py", "def put(engine, command):", "def inside(engine, inner, outer):\n    \"\"\"Whether one item is in another, at any depth.\"\"\"\n    while inner.place in engine.world.items:\n        inner = engine.world.items[inner.place]\n        if inner is outer:\n            return True\n    return False\n\n\ndef put(engine, command):"))
    s.step(None, shell("python3 -m unittest tests.test_tokens tests.test_grammar tests.test_parser tests.test_engine tests.test_report"), read("lantern/actions.py"), shell("python3 -m lantern.cli data/mill.world --script data/scripts/walk.txt --trace"))
    s.step("The walk gets as far as the archive now. A tool that replays all scripts in all languages, so that this stays so.", write("tools/replay.py", REPLAY), shell("python3 tools/replay.py"))
    s.step("Two catalogs have wrong values (`KeyError`); those are the translators' and I do not touch them. Now the three seeds again, whole.", fuzz(7, 300))
    s.step(None, fuzz(11, 300))
    s.step(None, fuzz(13, 300))
    s.step("The summaries are there, and nothing crashes. I look for containers that got lost: items whose chain of places never ends at a room.",
           LOST,
           shell("cd /home/user/lantern.orig && python3 - <<'END'\nimport sys\nsys.path.insert(0, 'tools')\nfrom fuzz import Dice, line\nfrom lantern import Engine, load_world\nfor seed in range(1, 41):\n    engine = Engine(load_world('data/mill.world'))\n    dice = Dice(seed)\n    for _ in range(400):\n        engine.run(line(engine, dice))\n    lost = [item.id for item in engine.world.items.values() if item.place == item.id]\n    print('seed %2d: turn %d, points %d, lost %s' % (seed, engine.turn, engine.score.points, lost))\nEND"))
    s.step("Containers are safe now, but `cat` and `miller` still get lost: `give grey cat to grey cat`. `give` needs the same check as `put`.",
           edit("lantern/actions.py", "    if \"person\" not in target.flags:\n", "    if \"person\" not in target.flags or item is target or inside(engine, target, item):\n"))
    s.step(None, LOST, shell("python3 -m unittest tests.test_engine"))
    s.say("After the change no seed of 1 to 40 loses an item (400 turns each). tools/replay.py replays all scripts in all languages.")
    s.bench.shell("python3 tools/draw_map.py data/mill.world shot.png")
    s.user("Thanks. A player sent the picture of the map with this: he stands in the yard (red) and says that `wait 6` rings the bell, but the rain never comes when the miller mutters on the same turn. Is that the parser (`wait 6`) or something else?", image=s.bench.image("shot.png"))
    s.bench.shell("rm shot.png")
    s.step("`wait 6` gives `count=6`, I check the timers behind it.", read("lantern/events.py"), read("tests/test_events.py"), shell("python3 -m unittest tests.test_events"),
           shell("printf 'wait 6\\nwait 3\\nwait 6\\nwait 3\\n' > /home/user/tmp/wait.txt; python3 -m lantern.cli data/mill.world --script /home/user/tmp/wait.txt --trace"))
    s.say("Not the parser. `Scheduler.advance` in lantern/events.py removes timers from the list that it walks, so the timer after one that ends is skipped and fires one turn late; `test_two_due_at_once` shows it. The map is mirrored as well (`STEP` in lantern/mapdraw.py), which has nothing to do with it. Shall I fix `advance`?")
    s.user("Yes, `advance` only. A handler may start and cancel timers, both must work (a cancelled timer must not fire in the same turn). Then fuzz again with other seeds, 17, 19 and 23, in ja and ru too. Leave the map.")
    s.step(None, ADVANCE, shell("python3 -m unittest tests.test_events"))
    s.step("`test_handler_cancels_itself` and `test_two_due_at_once` pass now. The fuzz runs.", fuzz(17, 300), shell("python3 -m unittest tests.test_engine tests.test_events tests.test_parser"))
    s.step(None, fuzz(19, 300, "ja"))
    s.step(None, fuzz(23, 300, "ru"))
    s.step("One more in English to compare with seed 17 of the untouched code.", shell("cd /home/user/lantern.orig && python3 tools/fuzz.py --seed 17 --turns 300 > /home/user/tmp/17.orig; cd /home/user/lantern && python3 tools/fuzz.py --seed 17 --turns 300 > /home/user/tmp/17.new; diff -u --label seed17.orig --label seed17.new /home/user/tmp/17.orig /home/user/tmp/17.new"))
    s.step(None, shell("python3 -m unittest -v"), shell("diff -ru /home/user/lantern.orig . "), read("lantern/parser.py"), read("lantern/grammar.py"))
    s.user("Before you finish: (1) list every place where text typed by the player is split with `.split()`, I suspect the Japanese full-width space U+3000; (2) what does `MAX_LINE = 400` do to a line of 400 emoji 🔑? (3) run seed 29 with 300 turns in ar and read it.\n\nNo edits for these, only answers.")
    s.step(None, search("\\.split\\(", "lantern"), shell("python3 - <<'END'\nfrom lantern.tokens import tokenize\nfrom lantern.errors import LanternError\nfor line in ['take\\u3000lamp', '\\U0001f511' * 400, '\\U0001f511' * 401, 'take lamp\\u00a0now', 'e\\u0301te']:\n    try:\n        tokens = tokenize(line)\n        print(len(line), len(line.encode()), len(tokens), repr(tokens[:3])[:120])\n    except LanternError as error:\n        print(len(line), error)\nEND"), fuzz(29, 300, "ar"))
    s.step("U+3000 is a problem: `tokenize` skips only blank and tab, and gives the wide space a token of its own (`_run` with a character that belongs nowhere). I check where else it goes.",
           search("isspace|\"\\\\\\\\t\"| == \" \"", "lantern"), fuzz(31, 280, "ja"))
    return s
