import unittest

from lantern.errors import ParseError
from lantern.parser import Command, Parser

SCOPE = {
    "lamp": ["brass lamp", "lantern"],
    "office_key": ["miller's key", "key"],
    "desk_key": ["small key"],
    "box": ["bread box"],
    "bread": ["loaf of bread"],
}


class Parsing(unittest.TestCase):
    def setUp(self):
        self.parser = Parser()

    def one(self, line):
        commands = self.parser.parse(line, SCOPE)
        self.assertEqual(len(commands), 1, commands)
        return commands[0]

    def test_directions(self):
        for line in ("n", "north", "go n", "walk north"):
            self.assertEqual(self.one(line), Command("go", direction="north"))

    def test_one_object(self):
        self.assertEqual(self.one("get the brass lamp"), Command("take", ["lamp"]))

    def test_part_of_a_name(self):
        self.assertEqual(self.one("take lamp"), Command("take", ["lamp"]))

    def test_two_objects(self):
        self.assertEqual(self.one("put lamp in box"), Command("put", ["lamp", "box"], "in"))

    def test_in_front_of(self):
        self.assertEqual(self.one("put lamp in front of box"), Command("put", ["lamp", "box"], "before"))

    def test_name_with_preposition_word(self):
        self.assertEqual(self.one("put loaf of bread in bread box"), Command("put", ["bread", "box"], "in"))

    def test_apostrophe(self):
        self.assertEqual(self.one("take the miller's key"), Command("take", ["office_key"]))

    def test_ambiguous(self):
        with self.assertRaises(ParseError) as caught:
            self.parser.parse("take bread", {"a": ["white bread"], "b": ["black bread"]})
        self.assertEqual(caught.exception.key, "parse.which")
        self.assertEqual(caught.exception.values["items"], ["a", "b"])

    def test_pronoun_means_the_last_thing(self):
        self.one("take lamp")
        self.assertEqual(self.one("drop it"), Command("drop", ["lamp"]))

    def test_pronoun_skips_what_was_not_there(self):
        self.one("take lamp")
        with self.assertRaises(ParseError):
            self.parser.parse("take anvil", SCOPE)
        self.assertEqual(self.one("drop it"), Command("drop", ["lamp"]))

    def test_several(self):
        commands = self.parser.parse("take lamp and box, then go north", SCOPE)
        self.assertEqual([command.verb for command in commands], ["take", "take", "go"])

    def test_all(self):
        self.assertEqual(len(self.parser.parse("take all", SCOPE)), 5)

    def test_texts(self):
        self.assertEqual(self.one('write "Ring the Bell. Then run"').text, "Ring the Bell. Then run")
        self.assertEqual(self.one("say hello").text, "hello")

    def test_wait(self):
        self.assertEqual(self.one("wait 12").count, 12)

    def test_errors(self):
        for line, key in (("", "parse.empty"), ("dance", "parse.verb"), ("take", "parse.what"), ("go home", "parse.direction"),
                          ("put lamp", "parse.second"), ("take anvil", "parse.unknown"), ("take it", "parse.pronoun")):
            with self.subTest(line=line), self.assertRaises(ParseError) as caught:
                Parser().parse(line, SCOPE)
            self.assertEqual(caught.exception.key, key)


if __name__ == "__main__":
    unittest.main()
