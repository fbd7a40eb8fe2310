"""BLEU of a model on a few sentences, for curves: raw search output, without retries or repairs."""

from collections.abc import Sequence

from hark.config import DecodeConfig
from hark.engine.request import Request
from hark.engine.torch import TorchEngine
from hark.evaluate.measures import choose_tokenisation, make_measures
from hark.inspect.heads.corpus import HeadExample
from hark.inspect.heads.importance import Scorer
from hark.model import Transformer
from hark.text.vocabulary import Vocabulary


def bleu(examples: Sequence[HeadExample], tokenizer: Vocabulary, search: DecodeConfig, language: str) -> Scorer:
    """Return a function that computes the BLEU of a model's translations with sacreBLEU."""
    metric = make_measures(choose_tokenisation(language))["bleu"]
    references = [each.target_text for each in examples]

    def score(model: Transformer) -> float:
        engine = TorchEngine(model, tokenizer.special, model.output_weight.device)
        answers = dict(engine.run(Request(each.source, search) for each in examples))
        texts = tokenizer.decode([answers[number][0].tokens for number in range(len(examples))])
        engine.close()
        return float(metric.corpus_score(texts, [references]).score)

    return score
