"""Translates sentences with onnxruntime and sentencepiece alone: python translate.py "Good morning!" """

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import sentencepiece


class OnnxTranslator:
    def __init__(self, folder: Path) -> None:
        self.settings: Any = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        files = str(folder / "encoder.onnx"), str(folder / "decoder.onnx")
        self.encoder, self.decoder = map(onnxruntime.InferenceSession, files)
        self.source: Any = sentencepiece.SentencePieceProcessor(model_file=str(folder / self.settings["source"]))
        self.target: Any = sentencepiece.SentencePieceProcessor(model_file=str(folder / self.settings["target"]))

    def encode(self, text: str) -> list[int]:
        return [*self.settings["source_lead"], *self.source.encode(text), self.settings["end"]]

    def start(self, source: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run the encoder; return what the decoder's cross-attention reads, and an empty cache."""
        inputs = {"tokens": np.array([source]), "mask": np.ones((1, len(source)), np.int64)}
        names, past = ([each.name for each in self.encoder.get_outputs()], self.decoder.get_inputs())
        cache = {p.name: np.zeros((1, p.shape[1], 0, p.shape[3]), np.float32) for p in past if "past" in p.name}
        return dict(zip(names, self.encoder.run(names, inputs), strict=True), mask=inputs["mask"]), cache

    def step(self, tokens: list[list[int]], memory: dict[str, Any], cache: dict[str, Any]) -> tuple[Any, Any]:
        """Run the decoder on the next tokens of each row; return their logits, and the longer cache."""
        logits, *cached = self.decoder.run(None, {"tokens": np.array(tokens), **memory, **cache})
        return logits, dict(zip(cache, cached, strict=True))

    def translate(self, text: str, beam: int = 4, alpha: float = 0.6) -> str:
        """Beam search with the length penalty of Wu et al. (2016); a beam of 1 is greedy."""
        source, end, rows, ended = self.encode(text), self.settings["end"], [self.settings["target_prefix"]], []
        (memory, cache), total_R = self.start(source), np.zeros(1)
        tokens, limit = [[self.settings["start"], *rows[0]]], min(len(source) + 50, self.settings["max_positions"])
        for length in range(1, limit + 1):
            logits, cache = self.step(tokens, memory, cache)
            last_RV = logits[:, -1].astype(np.float64)
            total_RV = total_R[:, None] + last_RV - np.logaddexp.reduce(last_RV, axis=1, keepdims=True)
            total_RV[:, self.settings["forbidden"]] = -np.inf
            best = np.argpartition(-total_RV, 2 * beam, axis=None)[: 2 * beam].tolist()
            found = sorted((-total_RV.flat[i], *divmod(i, total_RV.shape[1])) for i in best)  # -sum, row, token
            ended += [(-total / ((5 + length) / 6) ** alpha, rows[row]) for total, row, t in found[:beam] if t == end]
            live = [each for each in found if each[2] != end][:beam]
            rows, tokens = [[*rows[row], token] for _, row, token in live], [[token] for _, _, token in live]
            total_R = np.array([-total for total, _, _ in live])
            cache = {name: array[[row for _, row, _ in live]] for name, array in cache.items()}
            if len(ended) >= beam or (ended and max(ended)[0] >= total_R[0] / ((5 + limit) / 6) ** alpha):
                break  # enough, or no live hypothesis can become the best
        return str(self.target.decode((max(ended)[1] if ended else rows[0])[len(self.settings["target_prefix"]) :]))


if __name__ == "__main__":
    print("\n".join(map(OnnxTranslator(Path(__file__).parent).translate, sys.argv[1:])))
