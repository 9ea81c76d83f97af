"""From tokens to commands."""
from . import grammar
from .errors import ParseError
from .tokens import NUMBER, QUOTED, STOP, tokenize


class Command:
    """What the player wants: a verb, up to two objects (item ids), a preposition, a text, a direction."""

    __slots__ = ("verb", "objects", "preposition", "text", "direction", "count")

    def __init__(self, verb, objects=(), preposition=None, text=None, direction=None, count=None):
        self.verb = verb
        self.objects = list(objects)
        self.preposition = preposition
        self.text = text
        self.direction = direction
        self.count = count

    def __eq__(self, other):
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self):
        shown = ["%s=%r" % (name, getattr(self, name)) for name in self.__slots__[1:] if getattr(self, name)]
        return "Command(%s)" % ", ".join([repr(self.verb)] + shown)


class Parser:
    """Reads lines against a scope: the items that the player can see, as `{item id: [names]}`."""

    def __init__(self):
        self.last_noun = None

    def parse(self, line, scope):
        """The commands of one line, in order; raises `ParseError` with a key for the player."""
        commands = []
        for sentence in split(tokenize(line)):
            commands.extend(self.sentence(sentence, scope))
        if not commands:
            raise ParseError("parse.empty")
        return commands

    def sentence(self, tokens, scope):
        """The commands of one sentence."""
        words = [token.text for token in tokens]
        if words[0] in grammar.DIRECTIONS and len(words) == 1:
            return [Command("go", direction=grammar.DIRECTIONS[words[0]])]
        if words[0] not in grammar.VERBS:
            raise ParseError("parse.verb", word=words[0])
        verb, arity = grammar.VERBS[words[0]]
        rest = tokens[1:]
        if verb == "go":
            return [self.go(rest)]
        if verb in ("write", "say"):
            return [self.text(verb, rest)]
        if verb == "wait" and rest and rest[0].kind == NUMBER:
            return [Command("wait", count=int(rest[0].text))]
        if arity == 0:
            return [Command(verb)]
        if not rest:
            raise ParseError("parse.what", verb=verb)
        return self.objects(verb, arity, rest, scope)

    def go(self, rest):
        if not rest or rest[0].text not in grammar.DIRECTIONS:
            raise ParseError("parse.direction")
        return Command("go", direction=grammar.DIRECTIONS[rest[0].text])

    def text(self, verb, rest):
        if not rest:
            raise ParseError("parse.what", verb=verb)
        if rest[0].kind == QUOTED:
            return Command(verb, text=rest[0].text)
        return Command(verb, text=" ".join(token.text for token in rest))

    def objects(self, verb, arity, rest, scope):
        words = [token.text for token in rest]
        split_at, preposition = None, None
        for index in range(len(words)):
            preposition = grammar.match_preposition(words, index)
            if preposition:
                split_at = index
                break
        if arity == 2:
            if split_at is None:
                raise ParseError("parse.second", verb=verb)
            second = self.noun(words[split_at + len(preposition):], scope)
            firsts = self.nouns(words[:split_at], scope)
            how = grammar.canonical(preposition)
            return [Command(verb, [first, second], how) for first in firsts]
        return [Command(verb, [item]) for item in self.nouns(words, scope)]

    def nouns(self, words, scope):
        """The items that a noun phrase means: one, or several joined by `and`, or all."""
        if len(words) == 1 and words[0] in grammar.ALL:
            if not scope:
                raise ParseError("parse.nothing")
            return sorted(scope)
        found = []
        phrase = []
        for word in words + ["and"]:
            if word in ("and", ","):
                if phrase:
                    found.append(self.noun(phrase, scope))
                phrase = []
            else:
                phrase.append(word)
        return found

    def noun(self, words, scope):
        """The one item that a phrase means."""
        words = [word for word in words if word not in grammar.ARTICLES]
        if not words:
            raise ParseError("parse.noun")
        if len(words) == 1 and words[0] in grammar.PRONOUNS:
            words = (self.last_noun or "").split()
            if not words:
                raise ParseError("parse.pronoun", word="it")
        self.last_noun = " ".join(words)
        phrase = " ".join(words)
        matches = [item for item, names in scope.items() if phrase in names]
        if not matches:
            matches = [item for item, names in scope.items() if any(phrase in name.split() for name in names)]
        if not matches:
            raise ParseError("parse.unknown", noun=phrase)
        if len(matches) > 1:
            raise ParseError("parse.which", noun=phrase, items=sorted(matches))
        return matches[0]


def split(tokens):
    """The sentences of a line: at stops, and at `then`."""
    sentence = []
    for token in tokens:
        if token.kind == STOP or (token.text == "then" and token.kind != QUOTED):
            if sentence:
                yield sentence
            sentence = []
        else:
            sentence.append(token)
    if sentence:
        yield sentence
