"""What the model card says about measurements: scores, speed and everyday input, as tables in Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from hark.facts import EverydayFacts, LanguagePair, MeasuredScore, ScoreFacts, SetScores, SpeedFacts

TITLES = {"bleu": "BLEU", "chrf2": "chrF2", "ter": "TER", "comet": "COMET"}
MAX_LISTED = 4
"""Language pairs that are listed one by one; twice as many if not every language is translated into every other."""


def score_lines(scores: ScoreFacts) -> Iterator[str]:
    measures = [each for each in TITLES if any(each in of_set.scores for of_set in scores.sets)]
    if len({each.pair for each in scores.sets if each.pair}) > MAX_LISTED:
        yield from direction_lines(scores.sets, measures)
    else:
        yield from score_table(scores, measures)
    if scores.resamples:
        yield ""
        yield f"±: half of the 95% confidence interval, {scores.resamples:,} bootstrap resamples."
    yield ""
    yield from signature_lines({each: scores.signatures[each] for each in measures if each in scores.signatures})


def direction_lines(sets: Sequence[SetScores], measures: Sequence[str]) -> Iterator[str]:
    """The scores of many directions: a matrix for each set and metric, then a table of the sets that have fewer."""
    by_name: dict[str, dict[LanguagePair, SetScores]] = {}
    for each in sets:
        if each.pair:
            by_name.setdefault(each.name, {})[each.pair] = each
    most = max(map(len, by_name.values()))
    wide = {name: of_set for name, of_set in by_name.items() if len(of_set) > most / 2}
    blocks = [matrix(name, of_set, measure) for name, of_set in wide.items() for measure in measures]
    few = {name: of_set for name, of_set in by_name.items() if name not in wide}
    blocks += [sets_by_direction(few, measure) for measure in measures if few]
    for number, block in enumerate(filter(None, blocks)):
        yield from ["", *block] if number else block


def matrix(name: str, of_set: Mapping[LanguagePair, SetScores], measure: str) -> list[str]:
    """A set's scores, with a row for each source; empty if it lacks the metric."""
    codes = sorted({code for pair in of_set for code in pair})
    cells = {pair: show(each.scores, measure) for pair, each in of_set.items()}
    if not any(cells.values()):
        return []
    rows = [[one, *(cells.get((one, other), "") for other in codes)] for one in codes]
    title = f"{name}, {TITLES[measure]}, {sizes(of_set)} sentences in each direction (rows: source, columns: target):"
    return [title, "", *table(["", *codes], rows)]


def sets_by_direction(by_name: Mapping[str, Mapping[LanguagePair, SetScores]], measure: str) -> list[str]:
    """A row for each set, and a column for each direction."""
    pairs = list(dict.fromkeys(pair for of_set in by_name.values() for pair in of_set))
    rows = [
        [name, sizes(of_set), *(show(of_set[pair].scores, measure) if pair in of_set else "" for pair in pairs)]
        for name, of_set in by_name.items()
    ]
    if not any("".join(row[2:]) for row in rows):
        return []
    heads = [TITLES[measure], "sentences", *(f"{source}-{target}" for source, target in pairs)]
    return list(table(heads, rows))


def sizes(of_set: Mapping[LanguagePair, SetScores]) -> str:
    """The number of sentences in each direction."""
    found = sorted({each.sentences for each in of_set.values()})
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


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
    runs = "one run" if speed.repeats == 1 else f"best of {speed.repeats} runs"
    yield (f"{speed.engine}, {speed.cores} cores, text to text, {runs}, at most {speed.sentences:,} sentences per set.")


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
