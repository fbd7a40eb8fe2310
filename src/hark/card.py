"""The model card: Markdown for people, rendered from facts and settings, and never parsed."""

from collections.abc import Iterable, Iterator, Sequence

from hark.card_measures import MAX_LISTED, everyday_lines, score_lines, speed_lines, table
from hark.config import ModelConfig
from hark.facts import (
    AlignmentFacts,
    Facts,
    LanguagePair,
    MakingFacts,
    OriginFacts,
    ParentModel,
    ParityProof,
    ScoreFacts,
    TextFacts,
)

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
    lines = [f"# {facts.title or default_title(facts.pairs)}", ""]
    lines += [facts.summary or default_summary(facts, model), ""]
    lines += entries(facts)
    sections: list[tuple[str, Iterable[str]]] = [
        ("How it was made", making_lines(facts.making, model)),
        ("Origin", origin_lines(facts.origin, facts.parity)),
        ("Training text and attribution", text_lines(facts.text, facts.scores)),
        ("Scores", score_lines(facts.scores) if facts.scores else ()),
        ("Speed", speed_lines(facts.speed) if facts.speed else ()),
        ("Everyday input", everyday_lines(facts.everyday) if facts.everyday else ()),
        ("Limits", [facts.limits] if facts.limits else ()),
        ("Licence", [facts.licence_terms] if facts.licence_terms else ()),
    ]
    for title, section in sections:
        if content := list(section):
            lines += ["", f"## {title}", "", *content]
    return "\n".join(lines).rstrip() + "\n"


def default_title(pairs: Sequence[LanguagePair]) -> str:
    if len(pairs) == 1:
        return " to ".join(LANGUAGES.get(code, code) for code in pairs[0])
    return describe_pairs(pairs)


def default_summary(facts: Facts, model: ModelConfig) -> str:
    layers = f"{model.n_encoder_layers} + {model.n_decoder_layers} layers"
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


def describe_shape(model: ModelConfig) -> str:
    return (
        f"{model.n_encoder_layers} + {model.n_decoder_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
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
    yield f"- Languages: {describe_pairs(facts.pairs)}"
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
        yield "- Scores: not measured"


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
    same = f"{proof.equal:,} of {proof.sentences:,} translations are identical to those of"
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
