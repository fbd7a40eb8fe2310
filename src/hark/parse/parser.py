"""A parser: a model from sentences to linearised trees, and its decoding.

It splits a sentence into words by the conventions of the Penn Treebank: `Don't go!` is `Do n't go !`. Only spaces are
inserted, so that the words spell the sentence. A treebank with other conventions (GUM also splits `well - known`) is
better served with text that is already split.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hark.engine.interface import Request, TreeConstraint, TreeSymbols
from hark.errors import UserError
from hark.text.tokenizer import Tokenizer
from hark.text.trees import CLOSE, TREES, Tree, as_source, build_tree, is_opening, is_word
from hark.translate.load import Loaded

_RULES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(\.{2,}|…|--+|—)", r" \1 "),
        (r"([\"“”«»„`;?!()\[\]{}<>%&$€£#]|'')", r" \1 "),
        (r"([,:])(?!\d)", r" \1 "),  # not in 12,500 and 7:30
        (r"(?<!\d)([,:])(?=\d)", r" \1 "),
        (r"(?<![.\s])(\.)(?=[\"”»')\]}\s]*$)", r" \1 "),  # the full stop of a sentence, not that of an abbreviation
        (r"(?<!\S)(['‘])(?!(?:s|m|d|ll|re|ve)\b)(?=\w)", r" \1 "),
        (r"(?<=\w)(['’])(?!\w)", r" \1 "),
        (r"(?<=\w)(n['’]t)(?!\w)", r" \1 "),
        (r"(?<=\w)(['’](?:s|m|d|ll|re|ve))(?!\w)", r" \1 "),
        (r"\b(can)(not)\b", r"\1 \2"),
    )
]
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+")


def split_words(sentence: str) -> list[str]:
    """Return the words of a sentence. Addresses stay whole."""
    words: list[str] = []
    end = 0
    for address in _ADDRESS.finditer(sentence):
        stop = end + len(sentence[end : address.end()].rstrip(".,;:!?)\"'"))
        words += [*_split(sentence[end : address.start()], ends=False), sentence[address.start() : stop]]
        end = stop
    return words + _split(sentence[end:], ends=True)


def _split(text: str, ends: bool) -> list[str]:
    text = text if ends else text + "\u2060"  # a word joiner: what precedes it is not the end of the sentence
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return [word for each in text.split() if (word := each.replace("\u2060", ""))]


@dataclass(frozen=True)
class ParsedSentence:
    """The tree of a sentence."""

    tree: Tree
    score: float
    """The log-probability of its symbols, divided by the length penalty."""


class Parser:
    """Parses sentences with a trained model. `search` changes settings of the search, such as `beam=1`."""

    def __init__(self, loaded: Loaded, **search: Any) -> None:
        self.loaded = loaded
        self.search = loaded.config.decode.changed(search)
        self.symbols = find_symbols(loaded)

    def parse(self, sentences: Iterable[Sequence[str]]) -> Iterator[ParsedSentence]:
        """Yield the tree of each sentence, given as words, in order. Every tree has exactly these words."""
        given: dict[int, Sequence[str]] = {}
        ready: dict[int, ParsedSentence] = {}
        following = 0
        for place, hypotheses in self.loaded.engine.run(self.requests(sentences, given)):
            words, best = given.pop(place), hypotheses[0]
            symbols = self.loaded.target_vocabulary.decode_one(best.tokens).split()
            ready[place] = ParsedSentence(build_tree(symbols, words), best.score)
            while following in ready:
                yield ready.pop(following)
                following += 1

    def requests(self, sentences: Iterable[Sequence[str]], given: dict[int, Sequence[str]]) -> Iterator[Request]:
        for place, words in enumerate(sentences):
            source = self.loaded.source_vocabulary.source_ids(as_source(words))
            request = Request(source, self.search, tree=TreeConstraint(self.symbols, len(words)))
            try:
                self.loaded.engine.check(request)
            except UserError as error:
                raise UserError(f"sentence {place + 1} ({' '.join(words[:5])} ...): {error}") from None
            given[place] = words
            yield request


def find_symbols(loaded: Loaded) -> TreeSymbols:
    """The symbols of trees in a parser's vocabulary; raise an error if the model is not a parser."""
    vocabulary = loaded.target_vocabulary
    symbols = vocabulary.symbols if isinstance(vocabulary, Tokenizer) else {}
    word, opening = (tuple(id_ for symbol, id_ in symbols.items() if kind(symbol)) for kind in (is_word, is_opening))
    if loaded.facts.pairs[0][1] != TREES or not word or CLOSE not in symbols:
        raise UserError(f"{loaded.bundle.folder}: not a parser; train one with the recipe parse-small")
    return TreeSymbols(word, symbols[CLOSE], opening)
