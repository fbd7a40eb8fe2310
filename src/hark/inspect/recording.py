"""Records one translation: the texts, all attention weights with their vectors, and every step of the search.

The translation is that of `hark translate`: the same text processing and the same search, which `beam.SearchRecorder`
watches. Weights and vectors are recorded afterwards, in one forced pass over the translation. What a model without
languages makes of a text is recorded in the same way (`text_to_text`).

Shape suffixes in addition to the package's legend: L layers.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.bundle import Bundle, name_of
from hark.engine.interface import AlignmentHeads, Hypothesis
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.inspect.attention import Attention, AttentionKind, observe
from hark.inspect.beam import PLACES, RecordedSearch, SearchRecorder
from hark.inspect.beginning import first_sentence
from hark.inspect.expectation import Expected
from hark.inspect.words import Spelling
from hark.model import Layout, Model, Transformer
from hark.model.patterns import Pattern, match_heads
from hark.text.vocabulary import SpecialIds, Vocabulary
from hark.translate.load import Loaded
from hark.translate.piece import Options
from hark.translate.translator import Translator


@dataclass(frozen=True, eq=False)
class Vectors:
    """Queries, keys and values of all heads of one kind, as attention gets them: after rotation by rotary positions.
    Keys and values that several heads share are repeated."""

    q_LTHK: NDArray[np.float32]
    k_LSHK: NDArray[np.float32]
    v_LSHK: NDArray[np.float32]
    bias_HTS: NDArray[np.float32] | None = None
    """What the positions add to the scores in every layer (ALiBi, relative positions)."""


@dataclass(frozen=True, eq=False)
class Recording:
    """The recording of one translation, or of one text that a text-to-text model makes of another."""

    model: str
    """The bundle's name."""
    languages: tuple[str, str] | None
    """None: the model has none."""
    sentence: str
    """What is translated; of a text-to-text model, the whole text that it reads."""
    translation: str
    """The output of `hark translate`; of a text-to-text model, the text shown."""
    shown: str
    """The text of the hypothesis shown. The same except for capitals, unless a note says otherwise."""
    source: Spelling
    """The encoder's input, EOS included."""
    written: Spelling
    """The decoder's output, EOS included unless it was truncated. Row t of the decoder's attention belongs to
    `written.tokens[t]`, which was predicted after reading the start token and all tokens before it."""
    source_ids: tuple[int, ...]
    written_ids: tuple[int, ...]
    special: SpecialIds
    hypothesis: Hypothesis
    attention: Attention
    vectors: dict[AttentionKind, Vectors]
    search: RecordedSearch | None
    """None: the output was given."""
    alignment: AlignmentHeads
    """The heads that align words best."""
    notes: tuple[str, ...] = ()
    """Notes for the reader, if the page shows only a part of the text, or not the final translation."""
    expected: tuple[Expected | None, ...] = ()
    """What the model expects in the place of each token of an output that was given; None if it has no choice."""

    @property
    def read_ids(self) -> tuple[int, ...]:
        """The decoder's input: the output shifted right (paper, 3.1)."""
        return (self.special.start, *self.written_ids[:-1])


class EncoderDecoder(Protocol):
    """A model of an encoder and a decoder, and what came with it."""

    @property
    def bundle(self) -> Bundle: ...

    @property
    def source_vocabulary(self) -> Vocabulary: ...

    @property
    def target_vocabulary(self) -> Vocabulary: ...

    @property
    def model(self) -> Transformer:
        """On the CPU, in float32."""
        ...


def watched(loaded: EncoderDecoder) -> tuple[SearchRecorder, TorchEngine]:
    """An engine, and what records its searches."""
    special = loaded.target_vocabulary.special
    recorder = SearchRecorder(AlignmentHeads.default(loaded.model.config).layer, special.end)
    return recorder, TorchEngine(loaded.model, special, "cpu", "float32", places=PLACES, watch=recorder)


def record(
    loaded: Loaded, text: str, source: str | None = None, target: str | None = None, **search: object
) -> Recording:
    """Translate the first sentence of a text and record everything. `search` changes settings, such as `beam=1`.

    source, target: languages, for models of several pairs.
    """
    settings = replace(loaded.config.decode.changed(search), sample=False, diverse=False)
    options = loaded.languages.choose(text, Options(settings, split=False, source=source, target=target))
    languages = loaded.languages.of(options)
    sentence, notes = first_sentence(text, languages[0])
    recorder, engine = watched(loaded)
    vocabularies = loaded.source_vocabulary, loaded.target_vocabulary
    translator = Translator(engine, *vocabularies, loaded.config, languages=loaded.languages)
    translation = translator.translate(sentence, options).text
    if not recorder.searches:
        raise UserError(f"{sentence!r}: nothing to translate; give a sentence with words")
    found, hypothesis = find_shown(recorder.searches, translation, translator.coder.decode)
    engine.close()
    shown = translator.coder.decode(hypothesis.tokens)
    if not same(shown, translation):
        notes.append(
            f"hark translate prints “{translation}”, from several attempts or parts; this page shows the first"
        )
    return complete(
        loaded, found.request.source, hypothesis, found, sentence, shown, notes,
        languages=languages, translation=translation,
    )  # fmt: skip


def complete(
    loaded: EncoderDecoder,
    source_ids: Sequence[int],
    hypothesis: Hypothesis,
    search: RecordedSearch | None,
    sentence: str,
    shown: str,
    notes: Sequence[str] = (),
    languages: tuple[str, str] | None = None,
    translation: str | None = None,
    expected: Sequence[Expected | None] = (),
) -> Recording:
    """Record the weights and vectors of a pair of texts in one forced pass, and add them to what is known of it."""
    vocabulary, facts, config = loaded.target_vocabulary, loaded.bundle.facts, loaded.model.config
    special = vocabulary.special
    written_ids = (*hypothesis.tokens, special.end) if hypothesis.complete else hypothesis.tokens
    attention, vectors = capture(loaded.model, source_ids, (special.start, *written_ids[:-1]))
    return Recording(
        model=name_of(loaded.bundle.folder.resolve()),
        languages=languages,
        sentence=sentence,
        translation=shown if translation is None else translation,
        shown=shown,
        source=Spelling.of(source_ids, loaded.source_vocabulary),
        written=Spelling.of(written_ids, vocabulary),
        source_ids=tuple(source_ids),
        written_ids=written_ids,
        special=special,
        hypothesis=hypothesis,
        attention=attention,
        vectors=vectors,
        search=search,
        alignment=AlignmentHeads.of_facts(facts.alignment, config) or AlignmentHeads.default(config),
        notes=tuple(notes),
        expected=tuple(expected),
    )


def find_shown(
    searches: Sequence[RecordedSearch], translation: str, decode: Callable[[tuple[int, ...]], str]
) -> tuple[RecordedSearch, Hypothesis]:
    """Return the search and the hypothesis that became the translation; the first ones if none matches."""
    for search in reversed(searches):
        for hypothesis in search.hypotheses:
            if same(decode(hypothesis.tokens), translation):
                return search, hypothesis
    return searches[0], searches[0].hypotheses[0]


def same(one: str, other: str) -> bool:
    """Whether two texts differ only in case and spaces: a sentence in capitals is translated in lower case."""
    return "".join(one.split()).casefold() == "".join(other.split()).casefold()


@dataclass(frozen=True, eq=False)
class CapturedPattern(Pattern):
    """Wraps a pattern and passes the queries, keys and values of each layer, and their bias, to a sink."""

    pattern: Pattern
    sink: Callable[[tuple[Tensor, Tensor, Tensor, Tensor | None]], object]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.sink((q, *match_heads(q, k, v), self.bias_for(q, k)))
        return self.pattern(q, k, v)

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:
        return self.pattern.bias_for(q, k)


def capture(model: Model, *inputs: Sequence[int]) -> tuple[Attention, dict[AttentionKind, Vectors]]:
    """Return the weights and vectors of every layer and head for one sentence pair or text, by the streams that the
    model reads."""
    captured: dict[str, list[tuple[Tensor, Tensor, Tensor, Tensor | None]]] = defaultdict(list)

    def wrap(layout: Layout) -> Layout:
        return layout.wrap(lambda kind, pattern: CapturedPattern(pattern, captured[kind].append))

    attention = observe(model, *inputs, wrap=wrap)
    return attention, {kind: vectors_of(captured[kind]) for kind in attention.kinds}


def vectors_of(layers: Sequence[tuple[Tensor, Tensor, Tensor, Tensor | None]]) -> Vectors:
    *vectors, biases = zip(*layers, strict=True)
    q_LTHK, k_LSHK, v_LSHK = (torch.cat(each).float().numpy() for each in vectors)
    bias_HTS = None if biases[0] is None else biases[0].detach().float().cpu().numpy()
    return Vectors(q_LTHK, k_LSHK, v_LSHK, bias_HTS)
