"""Export to ONNX: encoder and decoder graphs, the sentencepiece vocabulary, and a program that translates with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from hark.engine.ctranslate2 import obstacle
from hark.errors import UserError, require
from hark.exchange.exporter import SHARED, SOURCE, TARGET, Exporter, ExportPrecision, with_version
from hark.exchange.hark_side import hark_side
from hark.exchange.onnx_graph import OPSET, decoder_graph, encoder_graph
from hark.exchange.parity import Ids, Side
from hark.weights import Array, Weights, as_floats, read_weights, store

MAX_FILE_BYTES = 2_000_000_000
"""protobuf allows no more."""


@dataclass(frozen=True)
class OnnxExporter(Exporter):
    """Writes encoder.onnx and decoder.onnx. With int8, matrices are stored in 8 bits and restored on loading."""

    kind: ClassVar[str] = "onnx"
    precisions: ClassVar[tuple[ExportPrecision, ...]] = ("float32", "int8")

    @cached_property
    def weights(self) -> Weights:
        stored = read_weights(self.bundle.weights)
        floats = as_floats(stored)
        if self.precision == "float32":
            return floats
        return stored if len(stored) > len(floats) else store(floats, "int8")

    @cached_property
    def is_dequantised(self) -> bool:
        return self.precision == "float32" and len(self.weights) < len(read_weights(self.bundle.weights))

    def refuse(self) -> None:
        config, folder = self.bundle.config.model, self.bundle.folder
        if self.bundle.facts.vocabulary.kind != "sentencepiece":
            raise UserError(
                f"{folder}: numbers its pieces otherwise than sentencepiece, as imported models do, which the program "
                "of the ONNX export does not support; use ctranslate2 or huggingface"
            )
        if reason := obstacle(config):
            raise UserError(f"{folder}: {reason}, which the ONNX export does not support; use huggingface")
        if config.positions == "rotary":
            raise UserError(f"{folder}: has rotary positions, which the ONNX export does not support; use ctranslate2")
        if sum(each.nbytes for each in self.weights.values()) > MAX_FILE_BYTES:
            raise UserError(f"{folder}: exceeds the 2 GB of an ONNX file; use --precision int8, or ctranslate2")
        self.sentencepiece_files()

    def write(self, folder: Path) -> None:
        config, (source, target) = self.bundle.config.model, self.vocabularies
        files = self.sentencepiece_files()
        files["encoder.onnx"] = encoder_graph(self.weights, config).SerializeToString()
        files["decoder.onnx"] = decoder_graph(self.weights, config).SerializeToString()
        files["translate.py"] = Path(__file__).with_name("onnx_example.py").read_bytes()
        languages = self.bundle.facts.pairs[0]
        settings = {
            "source": SHARED if self.is_shared else SOURCE,
            "target": SHARED if self.is_shared else TARGET,
            "start": target.special.start,
            "end": target.special.end,
            "forbidden": list(target.special.forbidden),
            "source_lead": source.as_source([], languages[1], languages[0])[:-1],
            "target_prefix": list(target.prefix(languages[1])),
            "max_positions": config.max_positions,
            "opset": OPSET,
        }
        files["settings.json"] = (json.dumps(settings, indent=1) + "\n").encode()
        for name, content in files.items():
            (folder / name).write_bytes(content)

    @property
    def runtime(self) -> str:
        return with_version("onnxruntime")

    def hark_side(self) -> Side:
        return hark_side(self.bundle, weights=self.weights)

    def open_side(self, folder: Path) -> Side:
        """The example's translator, so that what is proven is what users run."""
        require("onnxruntime", "onnx", "checking an export to onnx (or use --no-check)")
        from hark.exchange.onnx_example import OnnxTranslator

        translator = OnnxTranslator(folder)
        start = translator.settings["start"]

        def translate(texts: Sequence[str], beam: int) -> list[str]:
            return [translator.translate(text, beam, alpha=0.0) for text in texts]

        def logits(source: Ids, target: Ids) -> Array:
            memory, cache = translator.start(list(source))
            tokens, half = [start, *target], len(target) // 2 + 1
            found: list[Array] = []
            for part in (tokens[:half], tokens[half:]):  # in two calls, so that the cache is part of the proof
                if part:
                    (rows,), cache = translator.step([part], memory, cache)
                    found.append(rows)
            return np.concatenate(found)

        return Side(f"{self.runtime}, {self.precision}", translate, translator.encode, logits=logits)

    def usage(self) -> str:
        return f"""```sh
pip install onnxruntime sentencepiece
python translate.py "Text"
```

`translate.py` needs nothing else, and shows how the graphs (opset {OPSET}) are called: `encoder.onnx` takes tokens and
a mask, and returns keys and values of the cross-attention; `decoder.onnx` takes the next tokens of each row, those keys
and values, and the cache, and returns logits and the longer cache. Translate sentence by sentence. Hark normalises text
first: Unicode NFC, single spaces, no invisible characters."""
