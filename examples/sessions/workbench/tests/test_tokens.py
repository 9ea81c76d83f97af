import unittest

from lantern.errors import LexError
from lantern.tokens import NUMBER, QUOTED, STOP, WORD, Token, tokenize


class Tokens(unittest.TestCase):
    def test_words(self):
        self.assertEqual(tokenize("Take  the LAMP"), [Token(WORD, "take", 0), Token(WORD, "the", 6), Token(WORD, "lamp", 10)])

    def test_positions(self):
        self.assertEqual([token.pos for token in tokenize("put key, lamp in box.")], [0, 4, 7, 9, 14, 17, 20])

    def test_quotes(self):
        self.assertEqual(tokenize('write "a \\"b\\" c"')[1], Token(QUOTED, 'a "b" c', 6))
        self.assertEqual(tokenize("say 'It Rains'")[1], Token(QUOTED, "It Rains", 4))

    def test_numbers_and_stops(self):
        self.assertEqual([token.kind for token in tokenize("wait 3. look")], [WORD, NUMBER, STOP, WORD])

    def test_open_quote(self):
        with self.assertRaises(LexError) as caught:
            tokenize('write "abc')
        self.assertEqual(caught.exception.pos, 6)
        self.assertIn("column 7", str(caught.exception))

    def test_apostrophe_inside_a_word(self):
        self.assertEqual([token.text for token in tokenize("take the miller's key")], ["take", "the", "miller's", "key"])

    def test_line_too_long(self):
        with self.assertRaises(LexError):
            tokenize("x" * 401)


if __name__ == "__main__":
    unittest.main()
