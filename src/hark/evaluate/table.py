"""An evaluation as a table of plain text, for the terminal."""

from collections.abc import Iterator

from hark.evaluate.evaluation import Evaluation
from hark.evaluate.measures import TITLES, Measure, decimals
from hark.evaluate.scores import Score
from hark.pages.formats import aligned

BRIEF: tuple[Measure, ...] = ("bleu", "chrf2")


def full_table(result: Evaluation) -> Iterator[str]:
    """All figures, as lines of text."""
    for each in result.sets:
        yield f"{each.held_out.name}: {len(each.held_out):,} sentences"
        rows = [["system", *(TITLES[measure] for measure in result.signatures)]]
        rows += [
            [system.name, *(cell(system.scores[measure], decimals(measure)) for measure in result.signatures)]
            for system in each.systems
        ]
        yield from aligned(rows)
        yield ""
        groups = each.systems[0].by_length
        rows = [["BLEU by source tokens", *(group.name for group in groups)]]
        rows += [["sentences", *(f"{group.sentences:,}" for group in groups)]] if groups else []
        rows += [[system.name, *(f"{group.bleu:.1f}" for group in system.by_length)] for system in each.systems]
        yield from aligned(rows)
        yield ""
        for system in each.systems:
            if speed := system.output.speed:
                yield (
                    f"{system.name}: {speed.sentences_per_second:,.1f} sentences/s, "
                    f"{speed.tokens_per_second:,.0f} tokens/s, loaded in {speed.load_seconds:.2f} s, {speed.engine}"
                    + (f"; {system.output.doubtful:,} doubtful" if system.output.doubtful else "")
                )
        if any(system.output.speed for system in each.systems):
            yield ""
    for measure, signature in result.signatures.items():
        yield f"{TITLES[measure]}: {signature}"
    yield from footnote(result)


def brief_table(result: Evaluation) -> Iterator[str]:
    """The main scores and speed, as lines of text."""
    for each in result.sets:
        yield f"{each.held_out.name}: {len(each.held_out):,} sentences"
        rows = [["system", *(TITLES[measure] for measure in BRIEF), "sentences/s"]]
        for system in each.systems:
            speed = system.output.speed
            cells = [cell(system.scores[measure], decimals(measure)) for measure in BRIEF]
            rows.append([system.name, *cells, f"{speed.sentences_per_second:,.0f}" if speed else ""])
        yield from aligned(rows)
    yield from (f"{TITLES[measure]}: {result.signatures[measure]}" for measure in BRIEF)
    yield from footnote(result)


def footnote(result: Evaluation) -> Iterator[str]:
    if result.resamples:
        note = f"±: half of the 95% confidence interval, {result.resamples:,} bootstrap resamples"
        yield note + ("; p: paired test against the first system" if len(result.sets[0].systems) > 1 else "")


def cell(score: Score, places: int) -> str:
    text = f"{score.value:.{places}f}"
    if score.confidence is not None:
        text += f" ±{score.confidence:.{places}f}"
    return text if score.p is None else f"{text} p={score.p:.3f}"
