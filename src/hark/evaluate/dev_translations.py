"""Translations of dev sets while a model learns: BLEU on some sentences, and a few to read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from hark.config import DecodeConfig
from hark.data.dataset import Dataset
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Request
from hark.evaluate.measures import choose_tokenisation, make_measures
from hark.model import Transformer
from hark.train.job import Judgement

PLACES = 1 << 16
"""Tokens in flight: the training that goes on around this needs the memory."""


@dataclass(frozen=True)
class DevSet:
    name: str
    requests: Sequence[Request]
    sources: Sequence[str]
    references: Sequence[str]


class DevTranslations:
    """Judges a model that is being trained by the first sentences of each dev set.

    It translates with a copy of the weights, in a model of its own, so that nothing of the training is touched: no
    gradient, no recorded graph, no random number. Without CUDA graphs and kernels of its own, which would take longer
    to make than so few sentences to translate.
    """

    def __init__(self, dataset: Dataset, search: DecodeConfig, sentences: int, samples: int) -> None:
        """BLEU of so many sentences, found with the settings of the search; 0: none, and samples are found greedily."""
        self.sentences, self.samples = sentences, samples
        self.measures = make_measures(choose_tokenisation(dataset.manifest.target)) if sentences else {}
        self.tokenizer, as_source = dataset.tokenizer("target"), dataset.tokenizer("source").as_source
        self.sets = []
        for shard in dataset.shards("dev"):
            store, how_many = dataset.store(shard), min(shard.pairs, max(sentences, samples))
            settings = search if sentences else replace(search, beam=1, nbest=1)
            requests = [Request(as_source(store[i][0].tolist()), settings) for i in range(how_many)]
            texts = [dataset.text(shard, side)[:how_many] for side in ("source", "target")]
            self.sets.append(DevSet(shard.name, requests, *texts))
        self.twin: Transformer | None = None

    @torch.no_grad()
    def __call__(self, model: Transformer) -> Judgement:
        engine = TorchEngine(
            self.copy(model),
            self.tokenizer.special,
            model.output_weight.device,
            places=PLACES,
            graphs=False,
            kernels=False,
        )
        judgement = Judgement({}, ())
        for each in self.sets:
            answers = dict(engine.run(each.requests))
            texts = self.tokenizer.decode([answers[i][0].tokens for i in range(len(each.requests))])
            scores = {}
            if self.sentences:
                bleu = self.measures["bleu"].corpus_score(texts, [each.references])
                scores["BLEU" if len(self.sets) == 1 else f"BLEU {each.name}"] = float(bleu.score)
            read = zip(each.sources, each.references, texts, strict=True)
            judgement = Judgement({**judgement.scores, **scores}, (*judgement.samples, *list(read)[: self.samples]))
        engine.close()
        return judgement

    def copy(self, model: Transformer) -> Transformer:
        """The weights as they are, in the plain way of computing, whatever way the training has."""
        device = model.output_weight.device
        if self.twin is None:
            with torch.random.fork_rng(devices=[]):  # initial weights are drawn, and the training may draw others next
                self.twin = Transformer(model.config)
            self.twin.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32)
        for mine, weight in zip(self.twin.parameters(), model.parameters(), strict=True):
            mine.copy_(weight)
        return self.twin
