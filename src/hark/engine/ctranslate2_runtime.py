"""CTranslate2's translators, loaded from a bundle's weights, and the calls to them. Does not import torch."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import ctranslate2  # type: ignore[import-untyped]
import numpy as np

from hark.config import ModelConfig
from hark.engine.batching import BATCH_TOKENS, QueuedRequest
from hark.engine.conversion import StoredType, convert, saturates, write_converted
from hark.engine.interface import AlignmentHeads, Hypothesis, TokenPair, length_penalty
from hark.errors import UserError
from hark.shortlist import Shortlist
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights

ComputeType = Literal["int8", "int16", "float32", "bfloat16"]

POLL_SECONDS, LONGEST_POLL = 0.0005, 0.004
"""Intervals for polling CTranslate2. Waiting inside CTranslate2 would block Ctrl-C."""
REMOVED = -1e9
"""CTranslate2 gives an EOS that it has removed a log-probability below this."""


@dataclass(frozen=True, eq=False)
class Call:
    """A pending call to CTranslate2 for a batch of sentences."""

    batch: Sequence[QueuedRequest]
    exponent: float
    results: list[Any]
    first: list[Any]
    """Results with the attention of the first step, if it is wrong in `results`."""
    alignment: AlignmentHeads
    end: str
    """The name of EOS."""

    @property
    def awaited(self) -> list[Any]:
        return self.results + self.first

    def read(self) -> list[list[Hypothesis]]:
        """Return the hypotheses for each sentence, best first."""
        return [rank(self._read_one(i)) for i in range(len(self.batch))]

    def _read_one(self, i: int) -> Iterator[Hypothesis]:
        sentence, found = self.batch[i], self.results[i].result()
        attentions = found.attention or [None] * len(found.hypotheses)
        for names, score, attention in zip(found.hypotheses, found.scores, attentions, strict=True):
            log_prob = score * len(names) ** self.exponent
            if log_prob < REMOVED:
                continue
            complete = names[-1] == self.end
            tokens = tuple(map(int, names[:-1] if complete else names))
            attention_TS = None
            if attention is not None:
                if self.first:
                    attention[0] = self.first[i].result().attention[0][0]
                steps_TS = np.array(attention, np.float32).reshape(len(attention), sentence.length)
                attention_TS = self.alignment.of_tokens(steps_TS, len(tokens))
            hypothesis = Hypothesis(tokens, 0.0, 0.0, complete, attention_TS)
            yield with_log_prob(hypothesis, sentence.start + log_prob, sentence)


def with_log_prob(hypothesis: Hypothesis, log_prob: float, sentence: QueuedRequest) -> Hypothesis:
    counted = length_of(hypothesis) - sentence.uncounted
    score = log_prob / length_penalty(counted, sentence.request.search.alpha)
    return replace(hypothesis, log_prob=log_prob, score=score)


def length_of(hypothesis: Hypothesis) -> int:
    """The length in tokens, EOS included."""
    return len(hypothesis.tokens) + hypothesis.complete


def longest(found: Iterable[Hypothesis]) -> int:
    return max(map(length_of, found))


def rank(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda each: -each.score)


def is_settled(found: Sequence[Hypothesis], sentence: QueuedRequest) -> bool:
    """Whether the n best are certain, although CTranslate2 may have dropped hypotheses.

    Dropped hypotheses had lower log-probabilities than all that were kept, and none was longer than the longest that
    was kept: the longest ended in the last step, and some of those are kept, since too few had ended before.
    """
    if len(found) < sentence.options.max_ended:
        return True
    counted = longest(found) - sentence.uncounted
    most = min(each.log_prob for each in found) / length_penalty(counted, sentence.request.search.alpha)
    return found[min(sentence.request.search.nbest, len(found)) - 1].score >= most


BY_LOG_PROB = 1e-3
"""An exponent of CTranslate2's length penalty that ranks by log-probability. Zero would change when searches end."""
BY_LENGTH = 3.0
"""An exponent that ranks long hypotheses first."""


class Runtime:
    """A loaded translator with one worker per thread. Calls return at once, with results to poll.

    compute_type, threads, alignment, shortlist, frugal and all_bits are those of `CTranslate2Engine`.
    """

    def __init__(
        self,
        weights: Weights,
        config: ModelConfig,
        special: SpecialIds,
        compute_type: ComputeType,
        threads: int,
        alignment: AlignmentHeads,
        shortlist: Shortlist | None,
        frugal: bool = False,
        all_bits: bool = False,
    ) -> None:
        supported = ctranslate2.get_supported_compute_types("cpu")
        if compute_type not in supported:
            raise UserError(f"this CPU does not support {compute_type}; use one of {', '.join(sorted(supported))}")
        self.config, self._special = config, special
        self._compute_type, self._all_bits = compute_type, all_bits
        self._weights, self._alignment, self._shortlist = weights, alignment, shortlist
        self._names = [str(i) for i in range(max(config.vocab_size, config.source_vocab_size or 0))]
        self._translator = self._load_from_disk(threads) if frugal else self._load(threads, files=self._convert())

    def close(self) -> None:
        """Free the memory."""
        self._translator.unload_model()

    def submit(
        self,
        batch: Sequence[QueuedRequest],
        limit: int,
        exponent: float = BY_LOG_PROB,
        translator: Any = None,
        **settings: Any,
    ) -> Call:
        """Translate a batch, each sentence up to `limit` tokens, ranked by `exponent`.

        `settings` overrides arguments of `translate_batch`; `translator` is the loaded one by default.
        """
        options, translator = batch[0].options, translator or self._translator
        sources = [self._name(each.request.source) for each in batch]
        prefixes = [self._name(each.request.prefix) for each in batch] if options.prefix else None
        common = {
            "beam_size": options.beam,
            "patience": options.max_ended / options.beam,
            "num_hypotheses": options.max_ended,
            "length_penalty": exponent,
            "suppress_sequences": [[name] for name in self._name((*self._special.forbidden, *options.banned))],
            "return_end_token": True,
            "max_input_length": 0,  # no truncation
            "max_decoding_length": limit,
            "min_decoding_length": min(options.min_length, limit),
            "return_scores": True,
            "return_attention": options.attention,
            "use_vmap": options.shortlist and self._shortlist is not None,
            "asynchronous": True,
        }
        results = translator.translate_batch(sources, prefixes, **common | settings)
        first = []
        if options.attention and options.beam > 1:
            first = translator.translate_batch(
                sources,
                beam_size=1,
                max_input_length=0,
                max_decoding_length=1,
                return_end_token=True,
                return_attention=True,
                asynchronous=True,
            )
        return Call(batch, exponent, results, first, self._alignment, self._names[self._special.end])

    def submit_pairs(self, pairs: Sequence[TokenPair]) -> list[Any]:
        """Compute the log-probabilities of the targets."""
        results: list[Any] = self._translator.score_batch(
            [self._name(source) for source, _ in pairs],
            [self._name(target) for _, target in pairs],
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            max_input_length=0,
            asynchronous=True,
        )
        return results

    def load_single_worker(self) -> Any:
        """Load another translator, with one worker and a random generator of its own."""
        return self._load(1, files=self._files)

    @property
    def _stored(self) -> StoredType:
        if self._compute_type != "int8":
            return "float32"
        return "int7" if saturates() and not self._all_bits else "int8"

    def _convert(self) -> dict[str, bytes]:
        files = convert(self._weights, self.config, self._special, self._stored, self._alignment)
        return files | {"vmap.txt": self._shortlist.vocabulary_map()} if self._shortlist else files

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return self._convert()

    def _load_from_disk(self, workers: int) -> Any:
        # CTranslate2 keeps the files that it is given in memory, beside the weights that it read from them.
        with TemporaryDirectory(prefix="hark-") as folder:
            write_converted(Path(folder), self._weights, self.config, self._special, self._stored, self._alignment)
            return self._load(workers, folder)

    def _load(self, workers: int, folder: str = "hark", files: dict[str, bytes] | None = None) -> Any:
        return ctranslate2.Translator(
            folder,
            compute_type=self._compute_type,
            inter_threads=workers,
            intra_threads=1,
            max_queued_batches=-1,  # a full queue would block Ctrl-C
            files=files,
        )

    def _name(self, tokens: Sequence[int]) -> list[str]:
        names = self._names
        return [names[token] for token in tokens]


def wait(result: Any) -> None:
    """Wait for a result, and let Ctrl-C through."""
    while not result.done():
        time.sleep(POLL_SECONDS)
