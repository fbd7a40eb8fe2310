"""Corrupting text that a model is to restore: spans behind sentinels (T5), or text infilling (BART).

How many tokens are hidden, and in how many spans, depends on the length of a text alone, so that batches can have fixed
shapes. All texts of a batch are corrupted together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig, Corrupted
from hark.data.stream import Tokens
from hark.errors import UserError
from hark.text.vocabulary import SPACE, Vocabulary

Sizes = NDArray[np.int64]
Flags = NDArray[np.bool_]
CLOSING = " \"'”’»)]"
"""May stand between the sign that ends a sentence and the next sentence."""


class CorruptedTexts(NamedTuple):
    """What the encoder reads and what the decoder writes, each text with EOS, end to end, and their sizes."""

    source: Tokens
    source_sizes: Sizes
    target: Tokens
    target_sizes: Sizes


@dataclass(frozen=True, eq=False)
class SentenceSigns:
    """Which ids end and begin sentences, which is as much as a list of tokens shows of them."""

    ends_V: Flags
    """Full stops and the like, also with quotation marks behind them."""
    breaks_V: Flags
    """Line ends."""
    begins_V: Flags
    """Ids that begin a word."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "SentenceSigns":
        ids = range(vocabulary.vocab_size)
        texts = ["" if vocabulary.is_special(token) else vocabulary.decode_one([token]) for token in ids]
        return cls(
            np.array([text.rstrip(CLOSING).endswith((".", "!", "?", "…", "。")) for text in texts]),
            np.array(["\n" in text for text in texts]),
            np.array([vocabulary.pieces([token])[0].startswith(SPACE) for token in ids]),
        )

    def first_of_sentences(self, text: Tokens, starts: Sizes) -> Sizes:
        """Return where sentences begin in texts end to end, which begin at `starts`."""
        begins = np.zeros(len(text), bool)
        before, after = text[:-1], text[1:]
        begins[1:] = self.ends_V[before] & self.begins_V[after] | self.breaks_V[before] & ~self.breaks_V[after]
        begins[starts] = True
        return np.flatnonzero(begins)


@dataclass(frozen=True, eq=False)
class Corruption:
    """How texts are corrupted. With signs of sentences, the source's sentences change places, too."""

    kind: Corrupted
    share: float
    """Of the tokens that are hidden."""
    span: float
    """Mean length of a span."""
    end: int
    marks: Tokens
    """The ids that stand for the spans of a text, in order: sentinels, or the mask again and again."""
    permuted: float = 0.0
    """Share of the sentences that change places."""
    signs: SentenceSigns | None = None
    leads: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The ids that precede every source and every target, for models that were trained with such."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, config: BatchConfig) -> "Corruption":
        assert config.corrupted is not None
        plain = cls(config.corrupted, config.masked, config.span, vocabulary.special.end, np.zeros(0, np.int32))
        leads = vocabulary.source_lead, vocabulary.target_lead
        longest = config.max_length - 1 - max(map(len, leads))
        most = int(plain.counts(np.arange(1, longest + 1))[1].max())
        match config.corrupted:
            case "spans":
                marks = vocabulary.sentinels
                if len(marks) < most:
                    raise UserError(
                        f"{vocabulary.name}: has {len(marks)} sentinels, but {longest} tokens have up to {most} spans; "
                        f"prepare the text with data.sentinels={most}, or lower batches.max_length"
                    )
            case "infilling":
                if vocabulary.mask is None:
                    raise UserError(f"{vocabulary.name}: has no mask; prepare the text with hark prepare")
                marks = (vocabulary.mask,) * most
        signs = SentenceSigns.of(vocabulary) if config.permuted else None
        array = np.array(marks, np.int32)
        return cls(plain.kind, plain.share, plain.span, plain.end, array, config.permuted, signs, leads)

    @property
    def identity(self) -> object:
        return self.kind, self.share, self.span, self.permuted, self.marks.tolist(), self.leads

    def counts(self, sizes: Sizes) -> tuple[Sizes, Sizes]:
        """Return how many tokens of texts of these sizes are hidden, and in how many spans: at least one of each, if
        there is any token, and one is kept between spans."""
        hidden = np.clip(np.round(self.share * sizes).astype(np.int64), 1, np.maximum(1, sizes - 1))
        spans = np.clip(np.round(hidden / self.span).astype(np.int64), 1, np.maximum(1, sizes - hidden))
        hidden = np.minimum(hidden, sizes)
        return hidden, np.minimum(spans, hidden)

    def sizes(self, sizes: Sizes) -> tuple[Sizes, Sizes]:
        """Return the sizes of source and target of texts, with EOS and what precedes them."""
        hidden, spans = self.counts(sizes)
        more_source, more_target = (len(lead) + 1 for lead in self.leads)
        written = hidden + spans if self.kind == "spans" else sizes
        return sizes - hidden + spans + more_source, written + more_target

    def corrupt(self, text: Tokens, sizes: Sizes, generator: np.random.Generator) -> CorruptedTexts:
        """Corrupt texts that stand end to end."""
        hidden, spans = self.counts(sizes)
        # Every text has one gap more than it keeps tokens, and each span is in another gap.
        gaps = sizes - hidden + 1
        has_span = choose(spans, gaps, generator)
        lengths = self.span_lengths(hidden, spans, generator)
        in_gap = np.zeros(len(has_span), np.int64)
        in_gap[has_span] = lengths
        number = np.arange(len(has_span)) - np.repeat(np.arange(len(sizes)), gaps)  # of the kept token after a gap
        starts = (number + np.cumsum(in_gap) - in_gap)[has_span]
        is_hidden = np.zeros(len(text), bool)
        is_hidden[stretches(starts, lengths)] = True
        read = self.permute_sentences(text, sizes, generator)
        # In place of a gap there is the mark, if it has a span, and the token after it, or EOS.
        places = np.arange(len(has_span)) + np.cumsum(has_span)
        source = np.empty(len(has_span) + int(spans.sum()), np.int32)
        ends = np.cumsum(gaps) - 1
        marks = self.marks[np.arange(len(lengths)) - np.repeat(np.cumsum(spans) - spans, spans)]
        source[places[has_span] - 1] = marks
        source[places[ends]] = self.end
        source[np.delete(places, ends)] = read[~is_hidden]
        source_sizes, target_sizes = self.sizes(sizes)
        source_lead, target_lead = self.leads
        target = np.full(int(target_sizes.sum()) - len(target_lead) * len(sizes), self.end, np.int32)
        text_of = np.repeat(np.arange(len(sizes)), spans if self.kind == "spans" else sizes)
        match self.kind:
            case "spans":
                at = np.cumsum(lengths) - lengths + np.arange(len(lengths)) + text_of
                target[at] = marks
                target[stretches(at + 1, lengths)] = text[is_hidden]
            case "infilling":
                target[np.arange(len(text)) + text_of] = text
        source, target = prepend(source_lead, source, source_sizes), prepend(target_lead, target, target_sizes)
        return CorruptedTexts(source, source_sizes, target, target_sizes)

    def span_lengths(self, hidden: Sizes, spans: Sizes, generator: np.random.Generator) -> Sizes:
        """Draw the lengths of all spans, which sum to the hidden tokens of each text."""
        match self.kind:
            case "spans":
                # The hidden tokens are cut at random places, as T5 does it: no span is empty.
                hidden, spans = hidden[hidden > 0], spans[hidden > 0]
                begins = choose(spans - 1, hidden - 1, generator)
                first = np.zeros(int(hidden.sum()), bool)
                starts = np.cumsum(hidden) - hidden
                first[starts] = True
                first[np.delete(np.arange(len(first)), starts)] = begins
                return np.diff(np.append(np.flatnonzero(first), len(first)))
            case "infilling":
                # Each hidden token chooses its span: these are Poisson variables, given their sum. Some are 0.
                drawn = (generator.random(int(hidden.sum())) * np.repeat(spans, hidden)).astype(np.int64)
                return np.bincount(drawn + np.repeat(np.cumsum(spans) - spans, hidden), minlength=int(spans.sum()))

    def permute_sentences(self, text: Tokens, sizes: Sizes, generator: np.random.Generator) -> Tokens:
        """Return texts with some sentences, those of each text, in another order."""
        if self.signs is None or not len(text):
            return text
        ends = np.cumsum(sizes)
        starts = self.signs.first_of_sentences(text, (ends - sizes)[sizes > 0])
        lengths = np.diff(np.append(starts, len(text)))
        of_text = np.searchsorted(ends, starts, side="right")
        sentences = np.bincount(of_text, minlength=len(sizes))
        moved = np.flatnonzero(choose(np.round(self.permuted * sentences).astype(np.int64), sentences, generator))
        order = np.arange(len(starts))
        order[moved] = moved[np.lexsort((generator.random(len(moved)), of_text[moved]))]
        return text[stretches(starts[order], lengths[order])]


def prepend(lead: tuple[int, ...], tokens: Tokens, sizes: Sizes) -> Tokens:
    """Put ids before each text; `sizes` are those with them."""
    if not lead:
        return tokens
    own = sizes - len(lead)
    return np.insert(tokens, np.repeat(np.cumsum(own) - own, len(lead)), np.tile(lead, len(sizes)))


def choose(counts: Sizes, sizes: Sizes, generator: np.random.Generator) -> Flags:
    """Choose `counts` of every group of `sizes`, whose members stand behind one another."""
    of_group = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(of_group + generator.random(len(of_group)))  # random within a group
    rank = np.arange(len(of_group)) - (np.cumsum(sizes) - sizes)[of_group]
    chosen = np.zeros(len(of_group), bool)
    chosen[order[rank < counts[of_group]]] = True
    return chosen


def stretches(starts: Sizes, lengths: Sizes) -> Sizes:
    """Return starts[0], starts[0] + 1, ..., of which there are lengths[0], then those from starts[1] on, and so on."""
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + within
