"""The model card: Markdown for people, rendered from facts and settings, and never parsed. Scores are tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hark.config import ModelConfig
from hark.facts import (
    AlignmentFacts,
    Facts,
    LanguagePair,
    MakingFacts,
    MeasuredScore,
    OriginFacts,
    ParentModel,
    ParityProof,
    ScoreFacts,
    SetScores,
    TextFacts,
)

TITLES = {"bleu": "BLEU", "chrf2": "chrF2", "ter": "TER", "comet": "COMET"}
MAX_LABELS = 12
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
    heads = ["test set", "sentences", *(TITLES[each] for each in measures)]
    rows = [
        [name_of_set(each), f"{each.sentences:,}", *(show(each.scores, measure) for measure in measures)]
        for each in scores.sets
    ]
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


def signature_lines(signatures: Mapping[str, str]) -> Iterator[str]:
    yield from (f"- {TITLES.get(name, name)}: `{signature}`" for name, signature in signatures.items())


def dev_lines(facts: Facts) -> Iterator[str]:
    """What training measured of the weights that were kept; a row for each dev set."""
    dev = facts.making.dev
    if not dev:
        return
    at = f" at step {facts.making.step:,}" if facts.making.step is not None else ""
    yield f"Measured during training{at}. Dev sets are not trained on, but may have chosen the step."
    yield ""
    titles = {"nll": f"nll (nats per {'label' if facts.labels else 'token'})", "accuracy": "accuracy (%)"}
    measures = list(dict.fromkeys(name for scores in dev.values() for name in scores))
    rows = [[name, *(show_measured(scores.get(each)) for each in measures)] for name, scores in dev.items()]
    yield from table(["dev set", *(titles.get(each, each) for each in measures)], rows)


def show_measured(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"


LANGUAGES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
}
"""Names of the languages of hark's own models; a card shows others by their codes."""


def render(facts: Facts, model: ModelConfig) -> str:
    """Render the card."""
    lines = [f"# {facts.title or default_title(facts)}", ""]
    lines += [facts.summary or default_summary(facts, model), ""]
    lines += entries(facts)
    sections: list[tuple[str, Iterable[str]]] = [
        ("How it was made", making_lines(facts.making, model)),
        ("Origin", origin_lines(facts.origin, facts.parity)),
        ("Training text and attribution", text_lines(facts.text, facts.scores)),
        ("Scores", score_lines(facts.scores) if facts.scores else ()),
        ("Scores on the dev sets", dev_lines(facts)),
        ("Limits", [facts.limits] if facts.limits else ()),
        ("Licence", [facts.licence_terms] if facts.licence_terms else ()),
    ]
    for title, section in sections:
        if content := list(section):
            lines += ["", f"## {title}", "", *content]
    return "\n".join(lines).rstrip() + "\n"


def default_title(facts: Facts) -> str:
    pairs = facts.pairs
    if not pairs:
        return f"Text in {', '.join(LANGUAGES.get(code, code) for code in facts.languages)}"
    if len(pairs) == 1:
        return " to ".join(LANGUAGES.get(code, code) for code in pairs[0])
    return describe_pairs(pairs)


def default_summary(facts: Facts, model: ModelConfig) -> str:
    layers = describe_layers(model)
    count = f", {facts.making.parameters:,} weights" if facts.making.parameters else ""
    return f"A Transformer made with hark: {layers}, d_model {model.d_model}{count}."


def describe_pairs(pairs: Sequence[LanguagePair]) -> str:
    """List all pairs or, of many, only the languages and the number of directions."""
    codes = sorted({code for pair in pairs for code in pair})
    directions, possible = len(set(pairs)), len(codes) * (len(codes) - 1)
    if len(pairs) > MAX_LISTED and directions == possible:
        return f"{join(codes)}, in all {directions} directions"
    if len(pairs) > 2 * MAX_LISTED:
        return f"{join(codes)}, in {directions} of {possible} directions"
    return ", ".join(" to ".join(pair) for pair in pairs)


def describe_layers(model: ModelConfig) -> str:
    match model.shape:
        case "encoder-decoder":
            return f"{model.n_encoder_layers} + {model.n_decoder_layers} layers"
        case "decoder":
            return f"{model.n_decoder_layers} decoder layers"
        case "encoder":
            return f"{model.n_encoder_layers} encoder layers"


def describe_shape(model: ModelConfig) -> str:
    return (
        f"{describe_layers(model)}, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.n_heads} heads, vocabulary {model.vocab_size:,}"
    )


def describe_alignment(alignment: AlignmentFacts) -> str:
    """List heads as `hark heads` does: layer and head, counted from 1."""
    names = ", ".join(f"{alignment.layer + 1}:{head + 1}" for head in alignment.heads)
    measured = ""
    if alignment.error_rate is not None:
        measured = f"; alignment error rate {alignment.error_rate:.3f}"
    if alignment.pairs is not None:
        measured += f" on {alignment.pairs:,} pairs of {alignment.corpus}"
    return f"{names}, at the step that {alignment.step} a word{measured}"


def entries(facts: Facts) -> Iterator[str]:
    """The list of key facts at the top."""
    making = facts.making
    yield f"- Languages: {describe_pairs(facts.pairs) or ', '.join(facts.languages)}"
    if facts.labels:
        names = facts.labels.names
        more = f" and {len(names) - MAX_LABELS} others" if len(names) > MAX_LABELS else ""
        yield f"- Labels of {'words' if facts.labels.of == 'words' else 'texts'}: {', '.join(names[:MAX_LABELS])}{more}"
    trained = ", ".join(each.name for each in facts.text)
    start = ", ".join(each.name for each in making.parents if each.role == "start")
    if trained or start:
        yield "- Trained on: " + trained + (f"{', ' if trained else ''}starting from {start}" if start else "")
    if making.weights:
        yield f"- Weights: {making.weights}"
    if making.storage:
        yield f"- Stored in: {making.storage}"
    if facts.shortlist:
        size = facts.shortlist
        yield f"- Shortlist: {size.common:,} common tokens, {size.candidates:,} other candidates (int8 on a CPU)"
    if facts.alignment:
        yield f"- Alignment heads: {describe_alignment(facts.alignment)}"
    match facts.vocabulary.language_tags:
        case "none":
            pass
        case "source":
            yield "- Target language: selected by a tag at the start of the source"
        case "target":
            yield "- Target language: selected by a tag at the start of the translation"
    attributed = any(each.attribution for each in facts.text)
    licence = facts.licence or "depends on the training text"
    yield f"- Licence: {licence}" + (", with attribution of the training text (below)" if attributed else "")
    if facts.scores is None:
        yield f"- Scores: {'only on the dev sets (below)' if making.dev else 'not measured'}"


def making_lines(making: MakingFacts, model: ModelConfig) -> Iterator[str]:
    """How the model was made; only if the facts name a teacher or a tool."""
    teachers = [each for each in making.parents if each.role == "teacher"]
    if not (teachers or making.tool):
        return
    count = f": {making.parameters:,} weights" if making.parameters else ""
    yield f"A Transformer of {describe_shape(model)}{count}, {model.norm}-norm."
    yield from map(describe_teacher, teachers)
    averaged = [each.name for each in making.parents if each.role == "averaged"]
    if averaged:
        yield f"Its weights are the average of {join(averaged)}."
    if making.variants:
        shares = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in making.variants.items())
        yield f"Data augmentation, as shares of the training pairs: {shares}."
    if making.steps and making.step_tokens:
        yield f"It was trained for {making.steps:,} steps of {making.step_tokens:,} tokens."
    if making.tool:
        yield making.tool


def describe_teacher(teacher: ParentModel) -> str:
    count = f": {teacher.parameters:,} weights" if teacher.parameters else ""
    shape = f", a model of {teacher.shape}{count}" if teacher.shape else ""
    return (
        "It was trained on translations of the training text by a larger model (sequence-level distillation): "
        f"{teacher.name}{shape}."
    )


def origin_lines(origin: OriginFacts | None, proofs: Sequence[ParityProof]) -> Iterator[str]:
    if origin:
        revision = f", revision {origin.revision}" if origin.revision else ""
        licence = f"; original licence: {origin.licence}" if origin.licence else ""
        yield f"Imported ({origin.kind}) from {origin.source}{revision}{licence}."
    yield from map(describe_proof, proofs)


def describe_proof(proof: ParityProof) -> str:
    """One sentence about a parity check."""
    what = f"{proof.what[:1].upper()}{proof.what[1:]}: " if proof.what else ""
    if proof.skipped:
        return f"{what}{'not' if what else 'Not'} compared with {proof.against} ({proof.reason or '--no-check'})."
    allowed = f" (allowed: {proof.bound:.2g})" if proof.bound is not None else ""
    differ = f"; {proof.quantity or 'logits'} differ by at most"
    difference = f"{differ} {proof.largest_difference:.2g}{allowed}" if proof.largest_difference is not None else ""
    search = f" ({proof.search})" if proof.search else ""
    # A model of one stack translates nothing, so that no search was compared.
    compared = "translations" if proof.search else "texts have tokens that"
    same = f"{proof.equal:,} of {proof.sentences:,} {compared} are identical to those of"
    return f"{what}{same} {proof.against}{search}{difference}."


def text_lines(text: Sequence[TextFacts], scores: ScoreFacts | None) -> Iterator[str]:
    """A table of the corpora, if more than their names is known."""
    described = any(each.what or each.licence or each.attribution for each in text)
    if described:
        counted = any(each.pairs is not None for each in text)
        heads = ["corpus", *(["pairs"] if counted else []), "what it is", "licence and attribution"]
        rows = []
        for each in text:
            pairs = [f"{each.pairs:,}" if each.pairs is not None else ""] if counted else []
            rows.append([each.name, *pairs, each.what, describe_licence(each)])
        yield from table(heads, rows)
    if described and scores and scores.held_out:
        yield ""
        yield (
            "The training text contains no sentence of the test sets below, on either side, not even with other "
            "capitalisation or punctuation."
        )


def describe_licence(text: TextFacts) -> str:
    parts = []
    if text.attribution:
        parts.append(f"Source: {linked(text.attribution, text.url)}")
    if text.licence:
        parts.append(linked(text.licence, text.licence_url))
    return "; ".join(parts)


def linked(text: str, url: str) -> str:
    return f"[{text}]({url})" if url else text


def join(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))
