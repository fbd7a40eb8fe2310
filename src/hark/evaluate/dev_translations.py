"""BLEU and sample translations on the dev sets during training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from hark.config import DecodeConfig
from hark.data.dataset import Dataset
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.evaluate.measures import Tokenisation, choose_tokenisation, make_measures
from hark.model import Model, Transformer
from hark.train.job import DevScores

PLACES = 1 << 16
"""Tokens in flight; kept small, since training needs the memory."""


@dataclass(frozen=True)
class DevSet:
    """The sentences of a dev set to translate."""

    name: str
    requests: Sequence[Request]
    sources: Sequence[str]
    references: Sequence[str]
    tokenisation: Tokenisation


class DevTranslations:
    """Scores a model during training on the first sentences of each dev set.

    Translates with a copy of the weights in a separate model, so that training is not affected: no gradients, no
    recorded graph, no random numbers. Uses no CUDA graphs or custom kernels, which would take longer to compile than so
    few sentences to translate.
    """

    def __init__(self, dataset: Dataset, search: DecodeConfig, sentences: int, samples: int) -> None:
        """`sentences` for BLEU, translated with `search`. If 0, there is no BLEU, and samples are decoded greedily."""
        self.sentences, self.samples = sentences, samples
        self.tokenizer, source = dataset.tokenizer("target"), dataset.tokenizer("source")
        self.sets = []
        for shard in dataset.shards("dev"):
            store, count = dataset.store(shard), min(shard.pairs, max(sentences, samples))
            settings = search if sentences else replace(search, beam=1, nbest=1)
            # A dataset has what precedes each source. Without EOS, an empty line has no tokens, but engines need one.
            end = [] if source.source_end is None else [source.source_end]
            ids = [[*store[i][0].tolist(), *end] or [source.special.unknown] for i in range(count)]
            requests = [Request(each, settings, dataset.prefix(shard)) for each in ids]
            texts = [dataset.text(shard, side)[:count] for side in ("source", "target")]
            target = shard.languages[1] if shard.languages else dataset.manifest.target
            self.sets.append(DevSet(shard.name, requests, texts[0], texts[1], choose_tokenisation(target)))
        self.twin: Transformer | None = None

    @torch.no_grad()
    def __call__(self, model: Model) -> DevScores:
        engine = TorchEngine(
            self.copy(model),
            self.tokenizer.special,
            model.output_weight.device,
            places=PLACES,
            graphs=False,
            kernels=False,
        )
        scores, samples = {}, []
        for each in self.sets:
            answers = dict(engine.run(each.requests))
            texts = self.tokenizer.decode([answers[i][0].tokens for i in range(len(each.requests))])
            if self.sentences:
                bleu = make_measures(each.tokenisation)["bleu"].corpus_score(texts, [each.references])
                scores[each.name] = {"BLEU": float(bleu.score)}
            samples += list(zip(each.sources, each.references, texts, strict=True))[: self.samples]
        engine.close()
        return DevScores(scores, samples)

    def copy(self, model: Model) -> Transformer:
        """Copy the current weights to a plain model, whatever kernels and sharding training uses."""
        device = model.output_weight.device
        if self.twin is None:
            with torch.random.fork_rng(devices=[]):  # initialisation must not change training's random state
                self.twin = Transformer(model.config)
            self.twin.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32)
        for copied, weight in zip(self.twin.parameters(), model.parameters(), strict=True):
            copied.copy_(weight)
        return self.twin
