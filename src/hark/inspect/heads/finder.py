"""The head finder: what every head does on a corpus, how well it aligns words, and how much it matters."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Literal

import numpy as np

from hark.facts import AlignmentStep as Step
from hark.inspect.attention import KINDS, Attention, Head, every_head, observe_many
from hark.inspect.heads.alignment import (
    ROUNDS,
    STEPS,
    Alignment,
    Combination,
    Gold,
    Linked,
    link_words,
    measure_alignment,
)
from hark.inspect.heads.corpus import Example, HeadCorpus, HeadExample, TextCorpus, WordMatcher
from hark.inspect.heads.importance import HeadEffect, Point, measure_effects, points_of, prune
from hark.inspect.heads.induction import Repetition, measure_repetition
from hark.inspect.heads.roles import HeadMeasure, HeadTally, NamedRole, Purpose, marks_of, name
from hark.inspect.variants import ModelT
from hark.model import Model, OneStack, Transformer
from hark.pages.formats import plural
from hark.text.vocabulary import Vocabulary

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""Takes the name of a task and its number of parts; returns a context manager of a function to call for each part."""
WordPair = tuple[Sequence[str], Sequence[str]]
"""The words of the source and of the target."""


def quietly(_: str, __: int) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class FoundHead:
    """The results for one head."""

    head: Head
    measures: dict[HeadMeasure, float]
    named: NamedRole
    errors: dict[Step, float]
    """Alignment error rates of a cross-attention head, if there are gold alignments."""
    effect: HeadEffect | None

    def to_tree(self) -> dict[str, Any]:
        return {
            "kind": self.head.kind,
            "layer": self.head.layer + 1,
            "head": self.head.number + 1,
            "role": self.named.role,
            "share": round(self.named.share, 4),
            "measures": {measure: round(value, 4) for measure, value in self.measures.items()},
            "alignment_error_rate": {step: round(error, 4) for step, error in self.errors.items()} or None,
            "effect": {"nll": round(self.effect.nll, 5), "interval": round(self.effect.interval, 5)}
            if self.effect
            else None,
        }


@dataclass(frozen=True)
class Importance:
    """The importance of a model's heads."""

    sentences: int
    nll: float
    """The loss of the whole model, in nats per token, or as `TextFigures.unit` says."""
    curve: tuple[Point, ...]

    def to_tree(self) -> dict[str, Any]:
        curve = [{"removed": each.removed, "nll": round(each.nll, 5), "bleu": each.score} for each in self.curve]
        return {"sentences": self.sentences, "nll": round(self.nll, 5), "curve": curve or None}


Unit = Literal["bits per byte", "nats per masked token", "nats per token"]


@dataclass(frozen=True)
class TextFigures:
    """What else is known of a model without languages."""

    tokens: int
    """Of the corpus."""
    unit: Unit
    """Of the loss."""
    repetition: Repetition | None
    """Of a decoder."""
    purpose: Purpose = "text"
    examples: Literal["part", "pair"] = "part"
    """What it reads: parts of a text, or pairs of texts."""

    def to_tree(self) -> dict[str, Any]:
        found = self.repetition
        repeated = found and {
            "tokens": found.length, "nll_first": round(found.first, 4), "nll_again": round(found.second, 4)
        }  # fmt: skip
        return {"tokens": self.tokens, "unit": self.unit, "repeated": repeated}


@dataclass(frozen=True)
class HeadReport:
    """The results for all heads of a model."""

    model: str
    corpus: str
    sentences: int
    left_out: int
    heads: tuple[FoundHead, ...]
    alignment: Alignment | None
    importance: Importance | None
    text: TextFigures | None = None
    """Of a model without languages."""

    @property
    def purpose(self) -> Purpose:
        return self.text.purpose if self.text else "translation"

    @property
    def examples(self) -> str:
        """What it reads, each."""
        return self.text.examples if self.text else "sentence pair"

    @property
    def unit(self) -> str:
        """The unit of losses and effects."""
        return self.text.unit if self.text else "nats per token"

    @property
    def read(self) -> str:
        """What of the corpus was read."""
        tokens = f" with {self.text.tokens:,} tokens" if self.text else ""
        return f"{plural(self.sentences, self.examples)} of {self.corpus}{tokens}"

    def to_tree(self) -> dict[str, Any]:
        """Convert to JSON values. Layers and heads count from 1 here."""
        return {
            "model": self.model,
            "corpus": self.corpus,
            "sentences": self.sentences,
            "left_out": self.left_out,
            "heads": [each.to_tree() for each in self.heads],
            "alignment": alignment_tree(self.alignment) if self.alignment else None,
            "importance": self.importance.to_tree() if self.importance else None,
            **({"text": self.text.to_tree()} if self.text else {}),
        }


def alignment_tree(alignment: Alignment) -> dict[str, Any]:
    def combination(of: Combination) -> dict[str, Any]:
        return {
            "step": of.step,
            "heads": [[head.layer + 1, head.number + 1] for head in of.heads],
            "alignment_error_rate": round(of.error, 4),
            "held_out": round(of.held_out_error, 4),
        }

    return {
        "pairs": alignment.pairs,
        "layers": {step: [round(float(each), 4) for each in alignment.layer_errors_L[step]] for step in STEPS},
        "best": combination(alignment.best),
        "best_in_one_layer": combination(alignment.best_in_one_layer),
    }


@dataclass(frozen=True)
class Weigher(Generic[ModelT]):
    """Measures what the heads of a model are worth."""

    model: ModelT
    progress: Progress

    def weigh(
        self, examples: Sequence[Example], with_curve: bool, score: Callable[[ModelT], float] | None = None
    ) -> tuple[dict[Head, HeadEffect], Importance]:
        heads = len(every_head(self.model.config))
        with self.progress("removing each head", heads) as advance:
            nll, effects = measure_effects(self.model, examples, advance)
        curve: list[Point] = []
        if with_curve:
            with self.progress("removing more heads", len(points_of(heads))) as advance:
                curve = prune(self.model, examples, effects, score, advance)
        return effects, Importance(len(examples), nll, tuple(curve))


@dataclass(frozen=True)
class TextFinder(Weigher[OneStack]):
    """Analyses the heads of a model of one stack."""

    vocabulary: Vocabulary

    def look(self, corpus: TextCorpus) -> tuple[dict[Head, dict[HeadMeasure, float]], TextFigures]:
        """Measure all heads in one pass over a text; and of a decoder, over random tokens that come twice."""
        tally, marks_V = HeadTally(), marks_of(self.vocabulary)
        with self.progress("reading", len(corpus.examples)) as advance:
            attentions = observe_many(self.model, ((each.tokens,) for each in corpus.examples))
            for example, attention in zip(corpus.examples, attentions, strict=True):
                tally.add(attention, dict.fromkeys(attention.kinds, marks_V[list(example.tokens)]), opened=True)
                advance()
        means = tally.means()
        if self.model.config.shape == "encoder":
            return means, TextFigures(corpus.tokens, "nats per masked token", None)
        repetition = repeated(means, self.model, self.vocabulary)
        return means, TextFigures(corpus.tokens, "bits per byte", repetition)


def repeated(
    means: dict[Head, dict[HeadMeasure, float]], model: Model, vocabulary: Vocabulary, source: Sequence[int] = ()
) -> Repetition:
    """Have a decoder read random tokens twice, after an encoder's `source` if there is one, and add the measures."""
    repetition = measure_repetition(model, vocabulary, source)
    for head, measures in repetition.measures.items():
        means[head] |= measures
    return repetition


@dataclass(frozen=True)
class Finder(Weigher[Transformer]):
    """Analyses the heads of a model that translates, or makes text from text."""

    source: Vocabulary
    target: Vocabulary

    def look(
        self, corpus: HeadCorpus, gold: Sequence[tuple[WordPair, Gold]] | None
    ) -> tuple[dict[Head, dict[HeadMeasure, float]], Alignment | None]:
        """Measure all heads in one pass over a corpus. `gold` has the words and links of each of its lines."""
        tally, linked = HeadTally(), []
        source_marks_V, target_marks_V = marks_of(self.source), marks_of(self.target)
        matchers = WordMatcher(self.source), WordMatcher(self.target)
        with self.progress("reading", len(corpus.examples)) as advance:
            attentions = observe_many(self.model, (each.inputs for each in corpus.examples))
            for example, attention in zip(corpus.examples, attentions, strict=True):
                marks_S, marks_T = source_marks_V[list(example.source)], target_marks_V[list(example.target)]
                opened = bool(self.source.source_lead)
                tally.add(attention, {"encoder": marks_S, "decoder": marks_T, "cross": marks_S}, opened)
                if gold is not None:
                    linked += match(example, attention, *matchers, *gold[example.line])
                advance()
        if not linked:
            return tally.means(), None
        with self.progress("aligning", ROUNDS) as advance:
            return tally.means(), measure_alignment(linked, advance)

    def repeat(self, means: dict[Head, dict[HeadMeasure, float]]) -> Repetition:
        """Have the decoder write random tokens twice, of an empty text, and add what its heads do then."""
        return repeated(means, self.model, self.target, self.source.as_source([]))


def match(
    example: HeadExample, attention: Attention, source: WordMatcher, target: WordMatcher, words: WordPair, gold: Gold
) -> list[Linked]:
    """Link the words of a pair; empty if its words do not match its tokens."""
    shares = source.shares(example.source, words[0]), target.shares(example.target[1:], words[1])
    if shares[0] is None or shares[1] is None:
        return []
    return [link_words(attention.cross_LHTS, shares[0], shares[1], gold)]


def put_together(
    means: dict[Head, dict[HeadMeasure, float]], alignment: Alignment | None, effects: dict[Head, HeadEffect]
) -> tuple[FoundHead, ...]:
    """Combine all results by head."""
    found = []
    for head, measures in means.items():
        errors: dict[Step, float] = {}
        shares: dict[Step, float] = dict.fromkeys(STEPS, 0.0)
        if alignment is not None and head.kind == "cross":
            place = np.s_[head.layer, head.number]
            errors = {step: float(alignment.errors_LH[step][place]) for step in STEPS}
            shares = {step: float(alignment.shares_LH[step][place]) for step in STEPS}
        named = name(measures, shares["predicts"], shares["reads"])
        found.append(FoundHead(head, measures, named, errors, effects.get(head)))
    return tuple(sorted(found, key=lambda each: (KINDS.index(each.head.kind), each.head)))
