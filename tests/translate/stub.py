"""Stub engines without a model, with known answers."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from hark.config import BatchConfig, Config, DataConfig, ModelConfig
from hark.engine.interface import Answer, Engine, Hypothesis, Request
from hark.facts import Facts, LanguageTags, VocabularyFacts
from hark.text.tokenizer import Tokenizer, train_tokenizer
from hark.text.vocabulary import Coder, TagScheme
from hark.translate.translator import Translator

TEXT = """
the cat sees a small red house and runs to an old tree we you they have been here before click open file save deleted
were was by for more of with from on in it is not but or because which one two committee states member
Die Katze ist auf dem Dach und sieht das Haus das alt war aber nicht rot
"""
WORDS = TEXT.split()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?-'\"()/%$@#&<>={}_+[]*`~^|\\äöüÄÖÜß€°"


@cache
def tokenizer() -> Tokenizer:
    """A small vocabulary that knows the characters of European text, and neither emoji nor other scripts."""
    chance = random.Random(1)
    lines = [" ".join(chance.choices(WORDS, k=8)) + "." for _ in range(400)]
    lines += [line.upper() for line in lines[:50]] + [" ".join(LETTERS)] * 60
    return Tokenizer(train_tokenizer(lines, 700, ["en", "de"]))


@cache
def formal_tokenizer() -> Tokenizer:
    """The same with the symbols of formal and informal address."""
    from tools.grow_model import add_symbols

    return Tokenizer(add_symbols(tokenizer().model, ["formal", "informal", "bt"]))


Reply = Callable[[str, Request], str | Sequence[str] | Hypothesis]
"""From the text of a request to the engine's answer: one text, several with the best first, or a hypothesis."""


class Stub(Engine):
    """Answers with a function of the text, several requests at a time and out of order."""

    name = "stub"
    vocabulary = tokenizer()

    def __init__(self, answer: Reply = lambda text, _: text, batch_size: int = 5, seed: int = 1) -> None:
        config = ModelConfig(vocab_size=tokenizer().vocab_size)
        super().__init__(config, tokenizer().special, config.max_positions)
        self.answer, self.batch_size, self.chance = answer, batch_size, random.Random(seed)
        self.requests: list[Request] = []
        self.asked: list[str] = []
        self.held: list[tuple[int, Request]] = []
        self.most = 0
        self.closed = False

    @property
    def room(self) -> int:
        return self.batch_size - len(self.intake) - len(self.held)

    def prepare(self, number: int, request: Request) -> tuple[int, Request]:
        self.check(request)
        return number, request

    def step(self) -> list[tuple[int, Answer]]:
        rejected, cancelled = self.intake.changes()
        self.held = [each for each in self.held if each[0] not in cancelled]
        while len(self.held) < self.batch_size and len(self.intake):
            first = self.intake.first()
            if first is not None and self.intake.take(first[0]):
                self.held.append(first)
        self.most = max(self.most, len(self.held))
        some = [self.held.pop(self.chance.randrange(len(self.held)))] if self.held else []
        return [*rejected, *(self.reply(*each) for each in some)]

    def reply(self, number: int, request: Request) -> tuple[int, tuple[Hypothesis, ...]]:
        text = self.vocabulary.decode([request.source])[0]
        self.requests.append(request)
        self.asked.append(text)
        answer = self.answer(text, request)
        texts = [answer] if isinstance(answer, str | Hypothesis) else list(answer)
        return number, tuple(
            each if isinstance(each, Hypothesis) else hypothesis(each, request, rank) for rank, each in enumerate(texts)
        )

    def score(self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Iterator[tuple[float, ...]]:
        for source, target in pairs:
            yield (-float(len(source)), -float(len(target)))

    def close(self) -> None:
        self.closed = True


def hypothesis(text: str, request: Request, rank: int = 0, complete: bool = True, score: float = -1.0) -> Hypothesis:
    """A hypothesis with this text; each token attends to the source token at its own position."""
    tokens = tuple(tokenizer().encode([text])[0])
    attention = None
    if request.attention:
        attention = np.zeros((len(tokens), len(request.source)), np.float32)
        for t in range(len(tokens)):
            attention[t, min(t, len(request.source) - 1)] = 1.0
    return Hypothesis(tokens, score - rank, score - rank, complete, attention)


def translator(
    answer: Reply = lambda text, _: text, max_length: int = 60, batch_size: int = 5
) -> tuple[Translator, Stub]:
    engine = Stub(answer, batch_size)
    # Into the same language, so that copied text is unchanged, including numbers.
    config = Config(data=DataConfig(source="en", target="en"), batches=BatchConfig(max_length=max_length))
    return Translator(engine, tokenizer(), tokenizer(), config), engine


def many_to_many(tags: LanguageTags) -> Coder:
    """A model from English to German and back, with tags."""
    facts = Facts(pairs=(("en", "de"), ("de", "en")), vocabulary=VocabularyFacts(language_tags=tags))
    vocabulary = Tokenizer(tokenizer().model, scheme=TagScheme.of(facts))
    return Coder(vocabulary, vocabulary)
