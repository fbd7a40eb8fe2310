"""Write the card of a model that comes with hark, from what was measured: no figure is typed by hand.

    python tools/make_card.py BUNDLE --evaluation FILE [--everyday FILE] [--teacher BUNDLE] [--report FILE]

--evaluation is what benchmarks/student.py or `hark evaluate BUNDLE [TEACHER] --json` wrote, the model first; --everyday
what benchmarks/everyday.py wrote; --report the report.json of the dataset that it learnt from. The card takes the place
of the bundle's own, and the bundle is sealed again; with -o it is written to a file instead. Entries of the old card
stay (weights, alignment heads and so on), but for those that are said better here.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hark.bundle import Bundle, first_list, write_card
from hark.config import ModelConfig
from hark.decode.models import named_folder
from hark.errors import HarkError, UserError
from hark.evaluate.measures import TITLES, Measure, decimals
from hark.weights import SCALE, read_weights

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
CORPORA = {
    "europarl": (
        "Debates of the European Parliament, 1999 to 2012, aligned from the multilingual proceedings. Source: European "
        "Parliament; the proceedings may be reused with the source named",
        "debates of the European Parliament",
    ),
    "tatoeba": (
        "Short everyday sentences by the contributors of [Tatoeba](https://tatoeba.org), "
        "[CC BY 2.0 FR](https://creativecommons.org/licenses/by/2.0/fr/)",
        "short everyday sentences",
    ),
    "tatoeba-original": ("The same sentences with the translations that people wrote", ""),
}
"""What each training corpus is, with its attribution; and in a few words, unless another's say it already."""
TRAINED_ON = "- Trained on:"
SAID_BELOW = ("- Languages:", TRAINED_ON, "- Licence:", "- Scores:")
MEASURES: tuple[Measure, ...] = ("bleu", "chrf2", "ter")


@dataclass(frozen=True)
class Measured:
    """What was found out about a model."""

    evaluation: dict[str, Any]
    everyday: dict[str, Any] | None = None
    teacher: Bundle | None = None
    report: dict[str, Any] | None = None


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield row(heads)
    yield row(["---"] * len(heads))
    yield from map(row, rows)
    yield ""


def count_weights(bundle: Bundle) -> int:
    return sum(each.size for name, each in read_weights(bundle.weights).items() if not name.endswith(SCALE))


def shape(model: ModelConfig) -> str:
    return (
        f"{model.n_encoder_layers} + {model.n_decoder_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.n_heads} heads, vocabulary {model.vocab_size:,}"
    )


def corpora(bundle: Bundle) -> list[str]:
    """The names of the training corpora, by the card that training wrote: a recipe may name others than the dataset
    has. All must be known, because each must be attributed; that of a model which training started from is not."""
    lines = bundle.card.splitlines()
    said = (line.removeprefix(TRAINED_ON) for line in lines[first_list(lines)] if line.startswith(TRAINED_ON))
    names = [name.strip() for line in said for name in line.split(",")]
    unknown = [name for name in names if name not in CORPORA]
    if unknown or not names:
        raise UserError(
            f"{bundle.folder}: trained on {', '.join(unknown) or 'nothing that its card names'}, whose licence is not "
            f"known here; known: {', '.join(CORPORA)}"
        )
    return sorted(names, key=list(CORPORA).index)  # one may be said in words of another


def kinds_of_text(names: Sequence[str]) -> str:
    return " and ".join(said for name in names if (said := CORPORA[name][1]))


def title_lines(bundle: Bundle, found: Measured) -> Iterator[str]:
    data = bundle.config.data
    names = [LANGUAGES.get(code, code) for code in (data.source, data.target)]
    kinds = kinds_of_text(corpora(bundle))
    bleu = {each["name"]: each["systems"][0]["scores"]["bleu"]["score"] for each in found.evaluation["sets"]}
    scores = ", ".join(f"{score:.1f} ({name})" for name, score in bleu.items())
    yield from (f"# {names[0]} to {names[1]}", "")
    yield f"Small and quick: BLEU {scores}. Learnt from {kinds}."  # which `hark models` shows
    yield ""


def entry_lines(bundle: Bundle) -> Iterator[str]:
    data, old = bundle.config.data, bundle.card.splitlines()
    yield f"- Languages: {data.source} to {data.target}"
    yield f"{TRAINED_ON} {', '.join(corpora(bundle))}"
    yield from (line for line in old[first_list(old)] if not line.startswith(SAID_BELOW))
    yield "- Licence: Apache-2.0, with attribution of the training text (below)"
    yield ""


def origin_lines(bundle: Bundle, found: Measured) -> Iterator[str]:
    config = bundle.config
    yield from ("## How it was made", "")
    yield f"A Transformer of {shape(config.model)}: {count_weights(bundle):,} weights, {config.model.norm}-norm."
    if found.teacher:
        teacher = found.teacher
        yield (
            "It learnt what a larger model says of the training text (sequence-level distillation); that teacher, made "
            f"by hark from the same text, has {shape(teacher.config.model)}: {count_weights(teacher):,} weights."
        )
    shares = [f"{name.replace('_', ' ')} {share:.0%}" for name, share in vars(config.data.augment).items() if share]
    if shares:
        yield f"Shares of the pairs were learnt a second time as people type them: {', '.join(shares)}."
    tokens = config.batches.batch_tokens * config.train.batches_per_step
    yield f"{config.train.steps:,} steps of {tokens:,} tokens."
    yield from ("`tools/make_models.sh` makes it.", "")


def text_lines(bundle: Bundle, found: Measured) -> Iterator[str]:
    yield from ("## Training text, and attribution", "")
    pairs = {each["name"]: f"{each['kept']:,}" for each in (found.report or {}).get("corpora", [])}
    heads = ["corpus", *(["pairs"] if pairs else []), "what it is"]
    names = corpora(bundle)
    rows = [[name, *([pairs.get(name, "")] if pairs else []), CORPORA[name][0]] for name in names]
    yield from table(heads, rows)
    if found.report and is_held_out(found.report, [each["name"] for each in found.evaluation["sets"]]):
        yield "No sentence of the test sets below is in it, on either side, whatever its case and punctuation."
        yield ""


def is_held_out(report: dict[str, Any], sets: Sequence[str]) -> bool:
    """Whether the training text was purged of all these sets; of others that is not known."""
    return report["clean"]["held_out"] and set(sets) <= {each["name"] for each in report["held_out"]}


def score(of_set: dict[str, Any], measure: Measure, system: int = 0) -> str:
    found = of_set["systems"][system]["scores"][measure]
    places = decimals(measure)
    interval = found["confidence"]
    return f"{found['score']:.{places}f}" + (f" ±{interval:.{places}f}" if interval is not None else "")


def loss(of_set: dict[str, Any]) -> str:
    student, teacher = (system["scores"]["bleu"]["score"] for system in of_set["systems"])
    return f"{teacher - student:.1f}"


def score_lines(found: Measured) -> Iterator[str]:
    sets, signatures = found.evaluation["sets"], found.evaluation["signatures"]
    beside = len(sets[0]["systems"]) > 1
    heads = ["test set", "sentences", *(TITLES[each] for each in MEASURES)]
    heads += ["BLEU of the teacher", "BLEU lost"] if beside else []
    rows = [
        [each["name"], f"{each['sentences']:,}", *(score(each, measure) for measure in MEASURES)]
        + ([score(each, "bleu", 1), loss(each)] if beside else [])
        for each in sets
    ]
    yield from ("## Scores", "")
    yield from table(heads, rows)
    if found.evaluation["resamples"]:
        yield f"±: half of the 95% interval, {found.evaluation['resamples']:,} bootstrap resamples."
        yield ""
    yield from (f"- {TITLES[each]}: `{signatures[each]}`" for each in MEASURES)
    yield ""
    if cpu := found.evaluation.get("cpu"):
        yield from ("## Speed", "")
        names = [system["name"] for system in sets[0]["systems"]]
        rates = [[name, *(of_set[system] for system in names)] for name, of_set in cpu["sets"].items()]
        rows = [[name, f"{own:.0f}", f"{other:.0f}", f"{own / other:.1f}"] for name, own, other in rates]
        yield from table(["sentences a second on", "this model", "its teacher", "times as fast"], rows)
        yield (
            f"{cpu['engine']}, {cpu['cores']} cores, text to text, the best of {cpu['repeats']} over at most "
            f"{cpu['sentences']:,} sentences of each set."
        )
        yield ""


def everyday_lines(everyday: dict[str, Any]) -> Iterator[str]:
    yield from ("## Everyday input", "")
    yield "Lines as people type them, each with what must hold of a good translation (`benchmarks/everyday.toml`):"
    yield ""
    kinds = everyday["lines"]
    rows = [[kind.replace("_", " "), f"{each['hold']} of {each['of']}"] for kind, each in kinds.items()]
    holds, of = (sum(each[key] for each in kinds.values()) for key in ("hold", "of"))
    yield from table(["kind", "hold"], [*rows, ["**all**", f"**{holds} of {of}**"]])
    if not everyday["spellings"]:
        return
    yield f"The sentences of {everyday['test_set']} in other spellings; in brackets as they are, and scored alike:"
    yield ""
    rows = [
        [each["name"], f"{each['sentences']:,}"]
        + [f"{each['scores'][name]:.1f} ({each['plain'][name]:.1f})" for name in everyday["signatures"]]
        for each in everyday["spellings"]
    ]
    yield from table(["source", "sentences", *(TITLES[name] for name in everyday["signatures"])], rows)
    yield from (f"- {TITLES[name]}: `{signature}`" for name, signature in everyday["signatures"].items())
    yield ""
    names = everyday["names"]
    kept = f"{names['kept']} of {names['of']} translations keep the name"
    yield f"With the names of other people in those that name someone, {kept}."
    yield ""


def limit_lines(bundle: Bundle) -> Iterator[str]:
    kinds = kinds_of_text(corpora(bundle))
    yield from ("## Limits", "")
    yield (
        f"It has read {kinds}, and nothing else. Other text (news, medicine, law, computers, slang, verse) comes out "
        "worse, and words that its text lacks may come out wrong without a warning. It translates sentence by "
        "sentence: what a pronoun stands for in the sentence before is lost. It may repeat prejudices of its text. Do "
        "not rely on it where a mistake does harm."
    )
    yield from ("", "## Licence", "")
    yield (
        "The model is under Apache-2.0, as hark is. Who passes it on names the sources of the training text, as the "
        "table above does."
    )


def make_card(bundle: Bundle, found: Measured) -> str:
    lines = [
        *title_lines(bundle, found),
        *entry_lines(bundle),
        *origin_lines(bundle, found),
        *text_lines(bundle, found),
    ]
    lines += score_lines(found)
    lines += everyday_lines(found.everyday) if found.everyday else []
    return "\n".join([*lines, *limit_lines(bundle)]) + "\n"


def read_json(file: Path | None, kind: str = "") -> Any:
    if file is None:
        return None
    try:
        tree = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    if kind and tree.get("kind") != kind:
        raise UserError(f"{file}: is not a {kind}")
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="a folder or a name")
    parser.add_argument("--evaluation", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--everyday", type=Path, metavar="FILE.json")
    parser.add_argument("--teacher", metavar="BUNDLE", help="that it learnt from")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="of the dataset that it learnt from")
    parser.add_argument("-o", "--output", type=Path, metavar="CARD.md", help="a file, and leave the bundle alone")
    given = parser.parse_args()
    try:
        bundle = Bundle.open(named_folder(given.bundle))
        found = Measured(
            read_json(given.evaluation, "hark evaluation"),
            read_json(given.everyday, "hark everyday"),
            Bundle.open(named_folder(given.teacher)) if given.teacher else None,
            read_json(given.report),
        )
        card = make_card(bundle, found)
        if given.output:
            given.output.write_text(card, encoding="utf-8")
        else:
            write_card(bundle, card)
    except (UserError, HarkError) as error:
        sys.exit(f"make_card: {error}")
    sys.stdout.write(f"{given.output or bundle.folder / 'card.md'}\n")


if __name__ == "__main__":
    main()
