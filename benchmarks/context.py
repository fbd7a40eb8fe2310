"""What translating the sentences of a paragraph together is worth, against one by one.

    python -m benchmarks.context MODEL [--data FOLDER] [--source en] [--held-out]

MODEL is a name, a run or a folder; its fact `context` says how much it can translate together. The texts are those of
benchmarks/formality.py, each as one paragraph, with no wish for a form of address.

one form, right: as in benchmarks/formality.py. together: sentences that were part of a request of several; again: of
these, the ones that were translated alone after all, because the translation could not be divided or failed a check.
doubtful: sentences with a warning. /s: sentences per second.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

import hark
from benchmarks.formality import Text, read_arguments, share_forms
from benchmarks.lines import LANGUAGES
from hark.text.address import FORMS
from hark.translate import context
from hark.translate.load import Loaded
from hark.translate.translation import Translation


@dataclass(frozen=True)
class Measured:
    """The translations of all texts, and how many of their sentences were translated how."""

    translations: Sequence[Translation]
    seconds: float
    together: int
    alone: int
    """Of those that were translated together, the ones that were translated again."""


def translate(model: Loaded, sources: Sequence[str], pair: tuple[str, str], together: bool) -> Measured:
    grouped: list[Any] = []
    again: list[Any] = []
    task, alone = context.translate_together, context.PlainSentence.alone

    def count_grouped(sentences: Sequence[Any]) -> Any:
        grouped.extend(sentences)
        return task(sentences)

    def count_again(sentence: Any) -> Any:
        again.append(sentence)
        return alone(sentence)

    with (
        patch.object(context, "translate_together", count_grouped),
        patch.object(context.PlainSentence, "alone", count_again),
    ):
        start = perf_counter()
        options = {"source": pair[0], "target": pair[1], "formality": None, "check": False, "context": together}
        translations = list(model.translate(sources, **options))
        return Measured(translations, perf_counter() - start, len(grouped), len(again))


def describe(measured: Measured, texts: Sequence[Text], target: str) -> str:
    from sacrebleu import corpus_bleu, corpus_chrf

    place = LANGUAGES.index(target)
    hypotheses = [each.text for each in measured.translations]
    references = [[" ".join(row[place] for row in text) for text in texts]]
    scores = corpus_chrf(hypotheses, references).score, corpus_bleu(hypotheses, references).score
    sentences = [sentence for each in measured.translations for sentence in each.sentences]
    translated = [[one.text for one in each.sentences] for each in measured.translations]
    _, one_form, right = share_forms(texts, translated, target)
    doubtful = sum(bool(each.reasons) for each in sentences)
    return (
        f"{scores[0]:>7.2f}{scores[1]:>7.2f}{one_form:>10.1%}{right:>8.1%}"
        f"{measured.together / len(sentences):>10.1%}{measured.alone / max(1, measured.together):>8.1%}"
        f"{doubtful / len(sentences):>10.1%}{len(sentences) / measured.seconds:>8.1f}"
    )


def main() -> None:
    said, texts = read_arguments(__doc__)
    model = hark.load(said.model)
    if not model.facts.context:
        sys.exit(f"{said.model}: translates single sentences; its facts have no context (tools/make_facts.py)")
    place = LANGUAGES.index(said.source)
    sources = [" ".join(row[place] for row in text) for text in texts]
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} lines, from {said.source}, {model.facts.context} tokens")
    print(
        f"{'':<14}{'chrF2':>7}{'BLEU':>7}{'one form':>10}{'right':>8}{'together':>10}{'again':>8}{'doubtful':>10}"
        f"{'/s':>8}",
        flush=True,
    )
    next(iter(model.translate(sources[:1], source=said.source, target=LANGUAGES[place - 1])))  # opens the engine
    for target in (code for code in FORMS if code != said.source):
        for name, together in (("one by one", False), ("together", True)):
            measured = translate(model, sources, (said.source, target), together)
            print(f"{target:<4}{name:<10}{describe(measured, texts, target)}", flush=True)


if __name__ == "__main__":
    main()
