"""The engine interface: requests and answers in token ids, the heads that word alignments are read from, and `Engine`:
submit, step, cancel, and the queue behind them. One implementation is for CPUs and one for GPUs; none is imported here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from threading import Lock
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig, ModelConfig
from hark.errors import HarkError, UserError
from hark.facts import AlignmentFacts, AlignmentStep
from hark.text.vocabulary import SpecialIds

Item = TypeVar("Item")
Rows = TypeVar("Rows", bound=np.generic)
TokenPair = tuple[Sequence[int], Sequence[int]]
"""Source tokens, EOS included, and target tokens without it."""
BULK_EVERY = 8
"""While both kinds wait, a bulk request has its turn after seven urgent ones have passed it."""


class TreeSymbols(NamedTuple):
    """The tokens of linearised trees in a vocabulary."""

    word: tuple[int, ...]
    """Part-of-speech tags, each of which stands for a word."""
    close: int
    opening: tuple[int, ...]
    longest_run: int = 8
    """Maximum number of opening brackets in a row. Penn Treebank and GUM have at most 6."""


class TreeConstraint(NamedTuple):
    """Restricts the output to linearised trees over a number of words."""

    symbols: TreeSymbols
    words: int


@dataclass(frozen=True, slots=True)
class Request:
    """One sentence to translate, or one text to continue."""

    source: Sequence[int]
    """Encoder input: a language tag first, if the model needs one; EOS last. Empty for a model without encoder."""
    search: DecodeConfig = DecodeConfig()
    prefix: Sequence[int] = ()
    """Target tokens that the translation must start with. For a model without encoder, the text to continue."""
    banned: Sequence[int] = ()
    """Target tokens that it must not contain. Padding, unknown and start are never produced."""
    tree: TreeConstraint | None = None
    """If set, the output is a linearised tree."""
    attention: bool = False
    """Whether to return cross-attention with the answer."""
    urgent: bool = False
    """Whether it is interactive; urgent requests are scheduled first."""
    start: int | None = None
    """The decoder's first input; None: the vocabulary's start token. GPT-2 reads a text without one: its first token is
    the first input then, and `prefix` the others."""
    stream: bool = False
    """Whether `Engine.news` reports tokens before the answer, if the search has one hypothesis at a time."""
    alternatives: int | None = None
    """Return the log-probability of each token, and this many of the likeliest tokens in its place; None: neither."""
    scores_prefix: bool = False
    """Whether to return these of the tokens of the prefix, too."""
    longest: int | None = None
    """Maximum length of the output in tokens, EOS included; None: the input's length + `search.max_extra`."""

    @property
    def limit(self) -> int:
        """Maximum length of the translation in tokens, EOS included: the input's length + 50 (paper, 6.1)."""
        if self.longest is not None:
            return self.longest
        return (len(self.source) or len(self.prefix)) + self.search.max_extra


@dataclass(frozen=True, slots=True)
class ScoreRequest(Request):
    """A translation to score, for `Tasks`: the answer is one hypothesis, with the log-probability of each token."""

    translation: Sequence[int] = ()
    """With the prefix, without EOS."""


@dataclass(frozen=True, eq=False, slots=True)
class Hypothesis:
    """One translation."""

    tokens: tuple[int, ...]
    """With the prefix, without start and EOS."""
    log_prob: float
    """Of the tokens after the prefix, EOS included."""
    score: float
    """What hypotheses are ranked by: `log_prob / length_penalty`."""
    complete: bool
    """Whether it ended with EOS; otherwise it was cut off at the length limit."""
    attention_TS: NDArray[np.float32] | None = None
    """Cross-attention of each token (without EOS), the mean over the alignment heads."""
    log_probs: tuple[float, ...] = ()
    """Of each token and EOS; only of a translation that was scored. With `Request.alternatives`, those after the
    prefix, or with `scores_prefix` all."""
    alternatives: tuple["LikelyTokens", ...] = ()
    """The likeliest tokens in place of each of these."""


LikelyTokens = tuple[tuple[int, float], ...]
"""Tokens and their log-probabilities, the likeliest first."""
MOST_ALTERNATIVES = 20
Hypotheses = tuple[Hypothesis, ...]
Answer = Hypotheses | HarkError
"""The hypotheses for a request, or the error that it failed with."""


def length_penalty(length: int, alpha: float) -> float:
    """`((5 + length) / 6)^alpha` (Wu et al., 2016); the length is in tokens after the prefix, EOS included."""
    return float(((5 + length) / 6) ** alpha)


@dataclass(frozen=True)
class AlignmentHeads:
    """Heads of one decoder layer whose mean cross-attention gives the alignment, and the step to read it at.

    Only one layer, because CTranslate2 returns the attention of a single layer. Layers and heads count from 0.
    """

    layer: int
    heads: tuple[int, ...]
    step: AlignmentStep = "predicts"

    @classmethod
    def default(cls, config: ModelConfig) -> Self:
        """All heads of the penultimate layer, which usually aligns best (Garg et al., 2019)."""
        return cls(max(0, config.n_decoder_layers - 2), tuple(range(config.n_heads)))

    @classmethod
    def of_facts(cls, facts: AlignmentFacts | None, config: ModelConfig) -> Self | None:
        """The heads stored by `hark heads --store`; None if there are none."""
        if facts is None:
            return None
        if facts.layer >= config.n_decoder_layers or max(facts.heads) >= config.n_heads:
            raise UserError(
                f"facts.json: alignment heads of layer {facts.layer + 1} are out of range for a decoder of "
                f"{config.n_decoder_layers} layers with {config.n_heads} heads; run hark heads --store"
            )
        return cls(facts.layer, facts.heads, facts.step)

    def of_tokens(self, steps_TS: NDArray[Rows], tokens: int) -> NDArray[Rows]:
        """Select, from the attention of the decoder's steps, the row of each token of a translation.

        No step reads the last token of a truncated translation; the last step is used instead.
        """
        if self.step == "predicts":
            return steps_TS[:tokens]
        return steps_TS[np.minimum(np.arange(tokens) + 1, len(steps_TS) - 1)]


class EngineError(HarkError):
    """The engine failed. The requests that it was working on are not at fault."""


class TooLongError(UserError):
    """A text has more tokens than the model has positions."""


class Engine(ABC):
    """Decodes requests for all clients: the CLI, the server, documents and distillation.

    Any thread may submit, cancel and score; only one thread at a time may step. A request that fails is answered with
    its error, and does not affect other requests.
    """

    name: str
    """A display name: the engine and its precision."""
    widest: int | None = None
    """The maximum beam width; None: no limit."""
    builds_trees: bool = False
    """Whether it can restrict output to trees."""
    scores_meanwhile: bool = False
    """Whether it is faster to score in one thread while another one steps."""

    def __init__(self, config: ModelConfig, special: SpecialIds, positions: int | None) -> None:
        """`positions`: the maximum sequence length of the model; None: no limit."""
        self.config, self.special, self.positions = config, special, positions
        self.reads_source = config.shape == "encoder-decoder"
        self.source_size, self.target_size = config.source_vocab_size or config.vocab_size, config.vocab_size
        prepare = WeakMethod(self.prepare)  # an engine that nobody uses is freed at once, with its memory on a GPU
        self.intake: Intake[Any] = Intake(lambda number, request: cast(Any, prepare())(number, request))

    @abstractmethod
    def prepare(self, number: int, request: Request) -> Any:
        """Convert a request to the item that is queued, in the submitting thread; raise UserError if it is invalid."""

    @property
    @abstractmethod
    def room(self) -> int:
        """Number of further requests it can use now, beyond those queued. More are accepted, but only wait longer."""

    @abstractmethod
    def step(self) -> list[tuple[int, Answer]]:
        """Advance the submitted requests; return the answers that are ready, each with the best hypothesis first.

        Returns within milliseconds if there is nothing to compute.
        """

    def news(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return the tokens, after the prefix and those returned before, that `stream` requests have gained since the
        last call. The answer has them all; an engine that returns none gives correct answers, only later."""
        return []

    @abstractmethod
    def score(self, pairs: Iterable[TokenPair]) -> Iterator[tuple[float, ...]]:
        """Yield the log-probabilities of the target tokens of each pair, EOS included, in order."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory."""

    def use_threads(self, threads: int) -> None:  # noqa: B027
        """Use at most this many CPU threads from now on, to share the cores with other engines."""

    def submit(self, request: Request) -> int:
        """Queue a request; return its number, which identifies the answer."""
        return self.intake.submit(request)

    def cancel(self, number: int) -> None:
        """Drop a request: it is not answered, and its memory is freed at the next step."""
        self.intake.cancel(number)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Hypotheses]]:
        """Submit requests and step until all are answered, for a client that does not share the engine.

        Yields answers as they are ready, each with the index of its request. Errors are raised; closing the iterator
        cancels the remaining requests.
        """
        places: dict[int, int] = {}
        rest = enumerate(requests)
        ended = False
        try:
            while not ended or places:
                room = 0 if ended else max(0, self.room)
                before = len(places)
                places.update((self.submit(request), place) for place, request in islice(rest, room))
                ended = len(places) - before < room or ended
                for number, answer in self.step():
                    place = places.pop(number)
                    if isinstance(answer, HarkError):
                        raise answer
                    yield place, answer
        finally:
            for number in places:
                self.cancel(number)

    def check(self, request: Request) -> int:
        """Validate a request; return the maximum length of its output in tokens, prefix and EOS included."""
        prefix, banned, search, size = request.prefix, request.banned, request.search, self.target_size
        self.check_pair(request.source, prefix)
        width = search.nbest if search.diverse else search.beam
        if self.widest is not None and width > self.widest:
            raise UserError(f"beam {width} exceeds this engine's maximum of {self.widest}; use a smaller beam")
        if request.start is not None and not 0 <= request.start < size:
            raise UserError("start token id out of range of the vocabulary; use the model's own tokenizer")
        if request.attention and not self.reads_source:
            raise UserError("attention: this model has no encoder to attend to")
        if not 0 <= (request.alternatives or 0) <= MOST_ALTERNATIVES:
            raise UserError(f"{request.alternatives} alternatives: choose from 0 to {MOST_ALTERNATIVES}")
        if self.reads_source and self.special.end in prefix:  # a text to continue may consist of several
            raise UserError("prefix contains EOS; remove it")
        if banned and not 0 <= min(banned) <= max(banned) < size:
            raise UserError("banned token id out of range of the vocabulary; use the model's own tokenizer")
        if banned and len({*self.special.forbidden, self.special.end, *banned}) >= size:
            raise UserError("every token is banned; allow some")
        limit = request.limit
        if self.positions is not None and limit > self.positions:
            limit = self.positions
        if request.tree is not None:
            self.check_tree(request, limit)
        return limit if limit > len(prefix) else len(prefix) + 1

    def check_tree(self, request: Request, limit: int) -> None:
        """Check that a tree is possible within the limit, and that no other constraint can make it impossible."""
        tree, search = request.tree, request.search
        assert tree is not None
        if not self.builds_trees:
            raise UserError(f"{self.name} cannot restrict output to trees; use --engine torch")
        if request.prefix or request.banned or search.min_length or search.diverse:
            raise UserError("a tree cannot be combined with a prefix, banned tokens, min_length or diverse")
        ids = (*tree.symbols.word, tree.symbols.close, *tree.symbols.opening)
        if not 0 <= min(ids) <= max(ids) < self.target_size:
            raise UserError("token id out of range of the vocabulary; use the model's own tokenizer")
        if not 0 < tree.words <= limit - (1 if tree.words == 1 else 3):  # EOS, and the brackets around several words
            raise UserError(f"a tree of {tree.words} words does not fit in {limit} tokens; split the sentence")

    def fits(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Whether the model has enough positions for a pair; the source includes EOS, the target does not."""
        return self.positions is None or max(len(source), len(target) + 1) <= self.positions

    def check_pair(self, source: Sequence[int], target: Sequence[int]) -> None:
        if source and not self.reads_source:
            raise UserError("source: this model has no encoder to read it; pass the text as prefix")
        if not source and self.reads_source:
            raise UserError("source has no tokens; it must contain at least EOS")
        if not self.fits(source, target):
            longest = max(len(source), len(target) + 1)
            what, remedy = ("text", "split") if self.reads_source else ("prompt", "shorten")
            problem = f"{what} has {longest} tokens, but the model has {self.positions} positions"
            raise TooLongError(f"{problem}; {remedy} it")
        if (source and (min(source) < 0 or max(source) >= self.source_size)) or (
            target and (min(target) < 0 or max(target) >= self.target_size)
        ):
            raise UserError("token id out of range of the vocabulary; use the model's own tokenizer")


class Intake(Generic[Item]):
    """A thread-safe queue of requests: urgent ones first, without starving bulk ones. They are stored as the items that
    `prepare` makes of them; `changes` reports those that it rejects.

    The turn advances only when a request is taken. A request that does not fit yet keeps its turn, except that an
    urgent request overtakes a bulk one, unless it is bulk's reserved turn.
    """

    def __init__(self, prepare: Callable[[int, Request], Item]) -> None:
        self._prepare = prepare
        self._numbers = count()
        self._lock = Lock()
        self._urgent: dict[int, Item] = {}
        self._bulk: dict[int, Item] = {}
        self._rejected: list[tuple[int, HarkError]] = []
        self._cancelled: set[int] = set()
        self._passed = 0
        """Turns of urgent requests, while bulk ones waited, since the last one of these."""

    def __len__(self) -> int:
        return len(self._urgent) + len(self._bulk)

    def submit(self, request: Request) -> int:
        number = next(self._numbers)
        try:
            item = self._prepare(number, request)
        except UserError as error:
            with self._lock:
                self._rejected.append((number, error))
        else:
            with self._lock:
                (self._urgent if request.urgent else self._bulk)[number] = item
        return number

    def cancel(self, number: int) -> None:
        with self._lock:
            if self._urgent.pop(number, None) is None and self._bulk.pop(number, None) is None:
                self._cancelled.add(number)

    def changes(self) -> tuple[list[tuple[int, HarkError]], set[int]]:
        """Return the requests rejected, and those cancelled after leaving the queue, since the last call."""
        if not (self._rejected or self._cancelled):
            return [], set()
        with self._lock:
            rejected = [each for each in self._rejected if each[0] not in self._cancelled]
            cancelled, self._rejected, self._cancelled = self._cancelled, [], set()
        return rejected, cancelled

    def first(self) -> Item | None:
        """Return the next request without removing it."""
        with self._lock:
            for item in self._next_queue().values():
                return item
            return None

    def take(self, number: int, *others: int) -> bool:
        """Remove a request, and `others` with it, in one turn; return whether it was still queued."""
        with self._lock:
            self._passed = 0 if number in self._bulk or not self._bulk else self._passed + 1
            item = self._bulk.pop(number, None) or self._urgent.pop(number, None)
            for other in others:
                self._bulk.pop(other, None) or self._urgent.pop(other, None)
        return item is not None

    def peek(self, most: int) -> list[Item]:
        """Return up to `most` queued requests, without removing them, those of the kind whose turn it is first."""
        with self._lock:
            first = self._next_queue()
            other = self._bulk if first is self._urgent else self._urgent
            return list(islice(chain(first.values(), other.values()), most))

    def _next_queue(self) -> dict[int, Item]:
        if self._urgent and self._bulk:
            return self._bulk if self._passed >= BULK_EVERY - 1 else self._urgent
        return self._urgent or self._bulk
