import os
import tempfile
import unittest

from lantern import Engine, LanternError, load_game, load_world, save_game


class Saves(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "game.save")

    def tearDown(self):
        self.folder.cleanup()

    def engine(self):
        return Engine(load_world("data/mill.world"))

    def back(self, *lines):
        """A game that was played, saved and loaded into a new engine; both."""
        first = self.engine()
        for line in lines:
            first.run(line)
        save_game(first, self.path)
        second = self.engine()
        load_game(second, self.path)
        return first, second

    def test_places_and_turn(self):
        first, second = self.back("take lamp", "n")
        self.assertEqual(second.turn, 2)
        self.assertEqual(second.room.id, "hall")
        self.assertEqual(second.world.items["lamp"].place, "@player")

    def test_flags(self):
        _, second = self.back("take lamp", "light lamp")
        self.assertIn("lit", second.world.items["lamp"].flags)

    def test_plain_note(self):
        _, second = self.back('write "hello"')
        self.assertEqual(second.notes, ["hello"])

    def test_note_with_equals_sign(self):
        _, second = self.back('write "cog = 25 points"')
        self.assertEqual(second.notes, ["cog = 25 points"])

    def test_note_with_line_break(self):
        first = self.engine()
        first.notes.append("two\nlines")
        save_game(first, self.path)
        second = self.engine()
        load_game(second, self.path)
        self.assertEqual(second.notes, ["two\nlines"])

    def test_timers_fire_at_the_same_turn(self):
        first, second = self.back("wait 4")
        self.assertEqual([first.run("wait") for _ in range(8)], [second.run("wait") for _ in range(8)])

    def test_score(self):
        _, second = self.back("n", "n", "e", "take bread", "w", "give bread to miller")
        self.assertEqual((second.score.points, second.score.done), (10, ["bread@miller"]))

    def test_nothing_done(self):
        _, second = self.back("look")
        self.assertEqual(second.score.done, [])

    def test_not_a_save(self):
        with open(self.path, "w") as file:
            file.write("something else")
        with self.assertRaises(LanternError):
            load_game(self.engine(), self.path)

    def test_damaged(self):
        self.back("take lamp")
        with open(self.path) as file:
            text = file.read()
        for damaged in (text.replace("room=yard", "room=nowhere"), text.replace("turn=1", "turn=one"), text[:len(text) // 2]):
            with open(self.path, "w") as file:
                file.write(damaged)
            with self.subTest(damaged=damaged[:60]), self.assertRaises(LanternError):
                load_game(self.engine(), self.path)

    def test_failed_load_changes_nothing(self):
        self.back("take lamp", 'write "old"')
        engine = self.engine()
        engine.run('write "new"')
        with open(self.path, "a") as file:
            file.write("\nnonsense.x=1")
        with self.assertRaises(LanternError):
            load_game(engine, self.path)
        self.assertEqual(engine.notes, ["new"])

    def test_failed_save_keeps_the_old_file(self):
        self.back("take lamp")
        before = open(self.path, "rb").read()
        engine = self.engine()
        engine.notes.append("\ud800")
        with self.assertRaises(LanternError):
            save_game(engine, self.path)
        self.assertEqual(open(self.path, "rb").read(), before)

    def test_same_state_same_bytes(self):
        first = self.engine()
        first.run("take lamp")
        first.run("light lamp")
        save_game(first, self.path)
        text = open(self.path, encoding="utf-8").read()
        self.assertTrue("light,lit" in text or '["light", "lit"]' in text or '["light","lit"]' in text, text[:400])


if __name__ == "__main__":
    unittest.main()
