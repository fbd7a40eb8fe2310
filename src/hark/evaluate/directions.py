"""Evaluation in several directions: the choice of test sets, and matrices of scores by source and target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from hark.errors import UserError
from hark.evaluate.evaluation import Evaluation
from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.measures import TITLES, Measure, decimals
from hark.evaluate.systems import ModelSystem
from hark.facts import LanguagePair
from hark.models import fits
from hark.pages.cells import heat_map
from hark.pages.formats import aligned


@dataclass(frozen=True)
class Matrix:
    """The scores of one system on the sets of one corpus, by direction."""

    system: str
    corpus: str
    measure: Measure
    values: dict[LanguagePair, float]
    zero_shot: frozenset[LanguagePair]
    """The directions that the system was not trained on."""

    @property
    def mean(self) -> float:
        return sum(self.values.values()) / len(self.values)

    @property
    def title(self) -> str:
        mean = f"mean {self.mean:.{decimals(self.measure)}f} of {len(self.values)} directions"
        return f"{self.system}, {self.corpus}: {TITLES[self.measure]}, {mean}"

    def show(self, pair: LanguagePair) -> str:
        if pair not in self.values:
            return "-" if pair[0] == pair[1] else ""
        return f"{self.values[pair]:.{decimals(self.measure)}f}{'*' if pair in self.zero_shot else ''}"


def choose_sets(
    sets: Sequence[HeldOutSet], models: Sequence[ModelSystem], source: str | None, target: str | None
) -> list[HeldOutSet]:
    """Keep the sets of the requested languages that every model translates."""
    chosen = [
        each
        for each in sets
        if each.languages
        and fits(source, target, each.languages)
        and all(model.translates(each.languages) for model in models)
    ]
    if not chosen:
        codes = sorted({code for each in sets for code in each.languages or ()})
        asked = " ".join(part for part in (source and f"from {source}", target and f"to {target}") if part)
        raise UserError(f"no test set {asked or 'that all models translate'}; the languages are {', '.join(codes)}")
    return chosen


def set_direction(
    sets: list[HeldOutSet],
    models: Sequence[ModelSystem],
    pair: LanguagePair | None,
    source: str | None,
    target: str | None,
) -> list[HeldOutSet]:
    """Give sets without languages those of their dataset, or those requested, if a model of several pairs needs them.

    Raise an error if other languages are requested than those of the dataset or of a model of one pair.
    """
    single = [model for model in models if not model.several]
    known = pair or (single[0].pair if single else None)
    if known is not None and not fits(source, target, known):
        raise UserError(f"-s and -t: the test sets are {' to '.join(known)}; leave them out")
    if len(single) == len(models):
        return sets
    if known is None and source and target:
        known = source, target
    if known is None:
        raise UserError("a model of several pairs needs the languages of the test sets; name them with -s and -t")
    return [replace(each, languages=known) for each in sets]


def matrices(result: Evaluation) -> Iterator[Matrix]:
    """Every matrix of an evaluation: by corpus, then system, then metric."""
    for corpus in dict.fromkeys(each.held_out.corpus for each in result.sets):
        of_corpus = [each for each in result.sets if each.held_out.corpus == corpus and each.held_out.languages]
        for at, system in enumerate(of_corpus[0].systems):
            for measure in result.signatures:
                values = {each.held_out.languages: each.systems[at].scores[measure].value for each in of_corpus}
                unseen = {each.held_out.languages for each in of_corpus if each.systems[at].zero_shot}
                yield Matrix(
                    system.name,
                    corpus,
                    measure,
                    {pair: value for pair, value in values.items() if pair},
                    frozenset(pair for pair in unseen if pair),
                )


def matrix_table(result: Evaluation) -> Iterator[str]:
    """The matrices as lines of text: a row for each source, a column for each target."""
    several = list(matrices(result))
    for matrix in several:
        codes = sorted({code for pair in matrix.values for code in pair})
        yield matrix.title
        yield from aligned([["", *codes], *([one, *(matrix.show((one, other)) for other in codes)] for one in codes)])
        yield ""
    for at, system in enumerate(result.sets[0].systems):
        speeds = [speed for each in result.sets if (speed := each.systems[at].output.speed)]
        if speeds:
            rate = sum(each.sentences for each in speeds) / sum(each.seconds for each in speeds)
            yield f"{system.name}: {rate:,.1f} sentences/s, {speeds[0].engine}"
    yield "rows: source, columns: target" + ("; *: not trained on" if any(each.zero_shot for each in several) else "")
    yield from (f"{TITLES[measure]}: {signature}" for measure, signature in result.signatures.items())


def matrix_section(result: Evaluation) -> str:
    """The matrices as heat maps."""
    parts = []
    for matrix in matrices(result):
        values, shown = matrix.values, matrix

        def describe(pair: LanguagePair, shown: Matrix = shown) -> str:
            unseen = ", not trained on" if pair in shown.zero_shot else ""
            return f"{pair[0]} to {pair[1]}: {TITLES[shown.measure]} {shown.show(pair)}{unseen}"

        table = heat_map(values, shown.show, describe)
        parts.append(f"<figure><figcaption><b>{escape(matrix.title)}</b></figcaption>{table}</figure>\n")
    unseen = " *: the system was not trained on this direction." if any(m.zero_shot for m in matrices(result)) else ""
    return (
        '<section><h2>Scores by direction</h2>\n<p class="note">From the language of the row to that of the column; '
        f"a stronger colour is better within a table.{unseen}</p>\n"
        f'<div class="charts">{"".join(parts)}</div></section>\n'
    )
