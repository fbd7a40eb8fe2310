"""Export to CTranslate2: a folder that `ctranslate2.Translator` loads, with tokens named by their pieces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import sentencepiece

from hark.config import DecodeConfig
from hark.engine.ctranslate2 import BY_LOG_PROB, ComputeType, convert, obstacle
from hark.engine.interface import AlignmentHeads
from hark.engine.opening import default_precision
from hark.errors import UserError
from hark.exchange.exporter import HALF_BOUND, SHARED, SOURCE, TARGET, Exporter, ExportPrecision
from hark.exchange.hark_side import hark_side
from hark.exchange.parity import BOUND, Ids, Side
from hark.weights import Array

INT16_BOUND = 0.25
"""Largest difference allowed between log-probabilities in int16: ten bits, with one scale for a whole matrix."""


@dataclass(frozen=True)
class CTranslate2Exporter(Exporter):
    """Writes a CTranslate2 model and its sentencepiece vocabulary."""

    kind: ClassVar[str] = "ctranslate2"
    precisions: ClassVar[tuple[ExportPrecision, ...]] = ("int8", "float32", "float16", "int16")

    def refuse(self) -> None:
        if reason := obstacle(self.bundle.config.model):
            raise UserError(f"{self.bundle.folder}: {reason}, which hark does not convert to CTranslate2")
        self.sentencepiece_files()

    def write(self, folder: Path) -> None:
        for name, content in (self.model_files() | self.sentencepiece_files()).items():
            (folder / name).write_bytes(content)

    def model_files(self) -> dict[str, bytes]:
        """The files of the model, by name."""
        config = self.bundle.config.model
        source, target = self.vocabularies
        sizes = config.source_vocab_size or config.vocab_size, config.vocab_size
        names = source.pieces(range(sizes[0])), target.pieces(range(sizes[1]))
        alignment = AlignmentHeads.of_facts(self.bundle.facts.alignment, config)
        return convert(self.weights, config, target.special, self.precision, alignment, names, self.adds_end)

    @property
    def runtime(self) -> str:
        return f"ctranslate2 {ctranslate2.__version__}"

    @property
    def computed(self) -> ComputeType:
        """The type to compare in: not every CPU multiplies in int8, and fewer do in int16 or float16."""
        return "int8" if self.precision == "int8" and default_precision() == "int8" else "float32"

    @property
    def bound(self) -> float:
        if self.precision == "int16":
            return INT16_BOUND
        return BOUND if self.precision == "float32" or self.computed == "int8" else HALF_BOUND

    def hark_side(self) -> Side:
        return hark_side(self.bundle, precision=self.computed)

    def open_side(self, folder: Path) -> Side:
        return ctranslate2_side(self, folder, folder)

    def usage(self) -> str:
        source, target = (SHARED, SHARED) if self.is_shared else (SOURCE, TARGET)
        lead = f"{self.source_lead} + " if self.source_lead else ""
        prefix = f"target_prefix=[{self.target_prefix}], " if self.target_prefix else ""
        return f"""```python
import ctranslate2, sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="{source}")
target = sentencepiece.SentencePieceProcessor(model_file="{target}")
translator = ctranslate2.Translator(".")
tokens = {lead}source.encode("Text", out_type=str)
result = translator.translate_batch([tokens], {prefix}beam_size=4)
print(target.decode(result[0].hypotheses[0]))
```

Translate sentence by sentence. CTranslate2 appends the end of sentence itself. Hark normalises text first: Unicode NFC,
single spaces, no invisible characters."""


def ctranslate2_side(exporter: CTranslate2Exporter, model: Path, vocabulary: Path) -> Side:
    """An exported model in plain CTranslate2 and sentencepiece."""
    names = (SHARED, SHARED) if exporter.is_shared else (SOURCE, TARGET)
    source, target = (sentencepiece.SentencePieceProcessor(model_file=str(vocabulary / name)) for name in names)
    translator: Any = ctranslate2.Translator(
        str(model), compute_type=exporter.computed, inter_threads=1, intra_threads=1
    )
    lead, prefix = exporter.source_lead, exporter.target_prefix
    ours = exporter.vocabularies[0]
    ids = {piece: token for token, piece in reversed(list(enumerate(ours.pieces(range(ours.vocab_size)))))}

    def encode(text: str) -> list[str]:
        return [*lead, *source.encode(text, out_type=str)]

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        found = []
        for text in texts:  # one by one, because each has a limit of its own
            tokens = encode(text)
            longest = len(tokens) + exporter.adds_end + DecodeConfig().max_extra
            (result,) = translator.translate_batch(
                [tokens],
                target_prefix=[prefix] if prefix else None,
                beam_size=beam,
                length_penalty=BY_LOG_PROB,
                max_decoding_length=min(longest, exporter.bundle.config.model.max_positions),
            )
            found.append(target.decode(result.hypotheses[0][len(prefix) :]).strip())
        return found

    def source_tokens(text: str) -> Ids:
        """CTranslate2 looks up the pieces in its vocabulary and appends EOS, if the model expects it."""
        found = [ids.get(piece, ours.special.unknown) for piece in encode(text)]
        return [*found, ours.special.end] if exporter.adds_end else found

    def log_probs(source_ids: Ids, target_ids: Ids) -> Array:
        source_pieces = ours.pieces(source_ids[: len(source_ids) - exporter.adds_end])
        (found,) = translator.score_batch([source_pieces], [exporter.vocabularies[1].pieces(target_ids)])
        return np.array(found.log_probs)

    return Side(f"{exporter.runtime}, {exporter.precision}", translate, source_tokens, log_probs=log_probs)
