"""A parser: a model from sentences to linearised trees, and its decoding."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hark.engine.request import Request, TreeConstraint, TreeSymbols
from hark.errors import UserError
from hark.text.tokenizer import Tokenizer
from hark.text.trees import CLOSE, TREES, Tree, as_source, build_tree, is_opening, is_word
from hark.translate.load import Loaded, search_settings


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
        self.search = search_settings(loaded.config.decode, search)
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
