import unittest

from lantern import Engine, load_world


class Playing(unittest.TestCase):
    def setUp(self):
        self.engine = Engine(load_world("data/mill.world"))

    def play(self, *lines):
        replies = []
        for line in lines:
            replies = self.engine.run(line)
        return "\n".join(replies)

    def test_take_and_drop(self):
        self.assertIn("You take the brass lamp.", self.play("take lamp"))
        self.assertIn("You put down the brass lamp.", self.play("drop it"))

    def test_too_heavy(self):
        self.assertIn("too much", self.play("take wheelbarrow"))

    def test_dark(self):
        self.assertIn("It is dark", self.play("n", "n", "d"))

    def test_light_in_the_dark(self):
        self.assertIn("Barrels", self.play("take lamp", "light lamp", "n", "n", "d", "look"))

    def test_locked_door(self):
        self.assertIn("locked", self.play("n", "w"))
        self.play("n", "take key", "s")
        self.assertIn("Counting Office", self.play("unlock west with key", "w"))

    def test_container(self):
        self.assertIn("handful of grain", self.play("n", "u", "u", "examine sack"))
        self.assertIn("closed", self.play("take grain", "close sack", "put grain in sack"))

    def test_goal(self):
        self.assertIn("worth 10 points", self.play("n", "n", "e", "take bread", "w", "give bread to miller"))
        self.assertEqual(self.engine.score.points, 10)

    def test_put_in_front_of(self):
        self.play("take lamp", "n", "n", "put lamp in front of miller")
        self.assertEqual(self.engine.world.items["lamp"].place, "kitchen")

    def test_errors_take_no_turn(self):
        self.play("dance", "take anvil", 'write "x')
        self.assertEqual(self.engine.turn, 0)
        self.assertEqual(len(self.engine.journal.errors()), 3)

    def test_container_cannot_hold_itself(self):
        self.play("n", "u", "u", "put sack in sack")
        self.assertEqual(self.engine.world.items["sack"].place, "bins")

    def test_turn_and_clock_agree(self):
        self.play("wait 5", "look", "take lamp")
        self.assertEqual(self.engine.turn, self.engine.scheduler.turn)


if __name__ == "__main__":
    unittest.main()
