import unittest

from lantern.events import Scheduler


class Timers(unittest.TestCase):
    def setUp(self):
        self.scheduler = Scheduler()

    def run_turns(self, turns):
        return [[timer.name for timer in self.scheduler.advance()] for _ in range(turns)]

    def test_once(self):
        self.scheduler.start("rain", 2, "r")
        self.assertEqual(self.run_turns(4), [[], ["rain"], [], []])

    def test_every(self):
        self.scheduler.start("bell", 2, "b", every=True)
        self.assertEqual(self.run_turns(5), [[], ["bell"], [], ["bell"], []])

    def test_two_due_at_once(self):
        self.scheduler.start("one", 1, "1")
        self.scheduler.start("two", 1, "2")
        self.scheduler.start("three", 1, "3")
        self.assertEqual(self.run_turns(2), [["one", "two", "three"], []])

    def test_cancel(self):
        self.scheduler.start("rain", 2, "r")
        self.assertEqual(self.scheduler.cancel("rain"), 1)
        self.assertEqual(self.run_turns(3), [[], [], []])

    def test_handler_starts_another(self):
        self.scheduler.start("oil", 1, "o")
        self.scheduler.on("oil", lambda timer: self.scheduler.start("smoke", 1, "s"))
        self.assertEqual(self.run_turns(3), [["oil"], ["smoke"], []])

    def test_handler_cancels_itself(self):
        self.scheduler.start("bell", 1, "b", every=True)
        self.scheduler.on("bell", lambda timer: self.scheduler.cancel("bell"))
        self.assertEqual(self.run_turns(3), [["bell"], [], []])

    def test_at_least_one_turn(self):
        with self.assertRaises(ValueError):
            self.scheduler.start("now", 0, "n")


if __name__ == "__main__":
    unittest.main()
