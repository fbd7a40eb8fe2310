"""What the model card says about measurements: scores, speed and everyday input, as tables in Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from hark.facts import EverydayFacts, MeasuredScore, ScoreFacts, SetScores, SpeedFacts

TITLES = {"bleu": "BLEU", "chrf2": "chrF2", "ter": "TER", "comet": "COMET"}
MAX_LISTED = 4
"""Language pairs that are listed one by one; twice as many if not every language is translated into every other."""


def score_lines(scores: ScoreFacts) -> Iterator[str]:
    measures = [each for each in TITLES if any(each in of_set.scores for of_set in scores.sets)]
    if len({each.pair for each in scores.sets if each.pair}) > MAX_LISTED:
        yield from matrix_lines(scores.sets, measures)
    else:
        yield from score_table(scores, measures)
    if scores.resamples:
        yield ""
        yield f"±: half of the 95% confidence interval, {scores.resamples:,} bootstrap resamples."
    yield ""
    yield from signature_lines({each: scores.signatures[each] for each in measures if each in scores.signatures})


def matrix_lines(sets: Sequence[SetScores], measures: Sequence[str]) -> Iterator[str]:
    """The scores of many directions: a table for each set and metric, with a row for each source."""
    between = False
    for name in dict.fromkeys(each.name for each in sets):
        by_pair = {each.pair: each for each in sets if each.name == name and each.pair}
        codes = sorted({code for pair in by_pair for code in pair})
        sizes = sorted({each.sentences for each in by_pair.values()})
        size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        for measure in measures:
            cells = {pair: show(each.scores, measure) for pair, each in by_pair.items()}
            if not any(cells.values()):
                continue
            yield from [""] if between else []
            between = True
            yield f"{name}, {TITLES[measure]}, {size} sentences in each direction (rows: source, columns: target):"
            yield ""
            yield from table(["", *codes], [[one, *(cells.get((one, other), "") for other in codes)] for one in codes])


def score_table(scores: ScoreFacts, measures: Sequence[str]) -> Iterator[str]:
    has_teacher = any("bleu" in of_set.teacher for of_set in scores.sets) and "bleu" in measures
    heads = ["test set", "sentences", *(TITLES[each] for each in measures)]
    heads += ["teacher's BLEU", "BLEU loss"] if has_teacher else []
    rows = []
    for each in scores.sets:
        row = [name_of_set(each), f"{each.sentences:,}", *(show(each.scores, measure) for measure in measures)]
        rows.append(row + ([show(each.teacher, "bleu"), loss(each)] if has_teacher else []))
    yield from table(heads, rows)


def name_of_set(of_set: SetScores) -> str:
    return f"{of_set.name} ({' to '.join(of_set.pair)})" if of_set.pair else of_set.name


def show(scores: Mapping[str, MeasuredScore], measure: str) -> str:
    score = scores.get(measure)
    if score is None:
        return ""
    places = 4 if measure == "comet" else 1
    interval = f" ±{score.confidence:.{places}f}" if score.confidence is not None else ""
    return f"{score.score:.{places}f}{interval}"


def loss(of_set: SetScores) -> str:
    if "bleu" not in of_set.teacher or "bleu" not in of_set.scores:
        return ""
    return f"{of_set.teacher['bleu'].score - of_set.scores['bleu'].score:.1f}"


def signature_lines(signatures: Mapping[str, str]) -> Iterator[str]:
    yield from (f"- {TITLES.get(name, name)}: `{signature}`" for name, signature in signatures.items())


def speed_lines(speed: SpeedFacts) -> Iterator[str]:
    has_teacher = any(each.teacher for each in speed.sets)
    heads = ["sentences per second", "this model", *(["teacher", "speed-up"] if has_teacher else [])]
    rows = []
    for each in speed.sets:
        row = [each.name, f"{each.sentences_per_second:.0f}"]
        if each.teacher:
            row += [f"{each.teacher:.0f}", f"{each.sentences_per_second / each.teacher:.1f}"]
        rows.append(row + [""] * (len(heads) - len(row)))
    yield from table(heads, rows)
    yield ""
    yield (
        f"{speed.engine}, {speed.cores} cores, text to text, best of {speed.repeats} runs, at most "
        f"{speed.sentences:,} sentences per set."
    )


def everyday_lines(everyday: EverydayFacts) -> Iterator[str]:
    yield "Informal input, each line with a check of its translation (`benchmarks/everyday.toml`):"
    yield ""
    rows = [[kind.replace("_", " "), f"{each.hold} of {each.of}"] for kind, each in everyday.lines.items()]
    hold, of = (sum(getattr(each, key) for each in everyday.lines.values()) for key in ("hold", "of"))
    yield from table(["kind", "passed"], [*rows, ["**all**", f"**{hold} of {of}**"]])
    if everyday.spellings:
        yield ""
        yield f"The sentences of {everyday.test_set} spelled differently; in brackets, the original spelling:"
        yield ""
        measures = list(everyday.signatures)
        rows = [
            [each.name, f"{each.sentences:,}"]
            + [f"{each.scores[name]:.1f} ({each.plain[name]:.1f})" for name in measures]
            for each in everyday.spellings
        ]
        yield from table(["source", "sentences", *(TITLES.get(name, name) for name in measures)], rows)
        yield ""
        yield from signature_lines(everyday.signatures)
    if everyday.names:
        yield ""
        yield (
            f"With names of people replaced by others, {everyday.names.hold} of {everyday.names.of} translations keep "
            "the name."
        )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"
