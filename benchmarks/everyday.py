"""Quality on everyday input: words, greetings, no capitals, no full stop, names, dates.

    python -m benchmarks.everyday MODEL [--json FILE] [--source FILE --reference FILE]

Three measurements. The lines of everyday.toml, each with conditions on a good translation: the share that passes, and
the failures. A test set (default: the 1,000 sentences of Tatoeba that come with hark) in other spellings, as in
`[data.augment]`, compared with the original: translations of both are spelt like the references (in capitals, without
full stops) before scoring, so that differences are due to the model. And its sentences with a person's name replaced
(`people` in everyday.toml): how many names are kept. Everything goes through the translator as in `hark translate`,
which has its own handling of capitals and protected text.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.lines import Line, has_warning, has_word, read_lines, read_tree
from hark.data.augment import FINAL, Variant, vary
from hark.data.sample import SOURCE, paths
from hark.data.swaps import find_names, rename
from hark.errors import HarkError, UserError
from hark.evaluate.held_out import HeldOutSet, read_sets
from hark.evaluate.measures import TITLES, Measure, choose_tokenisation, make_measures
from hark.evaluate.systems import name_models
from hark.translate.load import Loaded

LINES = Path(__file__).with_name("everyday.toml")
KIND = "hark everyday"
SPELLINGS: dict[Variant, tuple[str, Callable[[str], str]]] = {
    "lower": ("small letters", str), "upper": ("CAPITALS", str.upper),
    "unpunctuated": ("no full stop", partial(FINAL.sub, "")),
    "hasty": ("small letters, no full stop", partial(FINAL.sub, "")),
}  # fmt: skip
"""Names, and how `vary` spells the references."""
MEASURES: tuple[Measure, Measure] = ("bleu", "chrf2")


@dataclass(frozen=True)
class Failure:
    kind: str
    text: str
    answer: str
    wrong: str


@dataclass(frozen=True)
class Spelling:
    """A test set in another spelling."""

    name: str
    sentences: int
    plain: dict[Measure, float]
    scores: dict[Measure, float]


@dataclass(frozen=True)
class Everyday:
    """All measurements of a model."""

    model: str
    lines: dict[str, int]
    """The number of lines by kind."""
    failures: Sequence[Failure]
    test_set: str
    spellings: Sequence[Spelling]
    signatures: dict[Measure, str]
    names: tuple[int, int]
    """Inserted names that are kept in the translations, and all inserted names."""

    def holds(self, kind: str | None = None) -> tuple[int, int]:
        """The number of lines that pass and of all lines, of one kind or in total."""
        lines = sum(self.lines.values()) if kind is None else self.lines[kind]
        return lines - sum(kind in (None, each.kind) for each in self.failures), lines

    def to_json(self) -> str:
        tree = {
            "kind": KIND, "model": self.model,
            "lines": {kind: dict(zip(("hold", "of"), self.holds(kind), strict=True)) for kind in self.lines},
            "failures": [vars(each) for each in self.failures], "test_set": self.test_set,
            "spellings": [vars(each) for each in self.spellings], "signatures": self.signatures,
            "names": dict(zip(("kept", "of"), self.names, strict=True)),
        }  # fmt: skip
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"


def check_lines(model: Loaded, lines: dict[str, list[Line]]) -> list[Failure]:
    """Translate every line separately, and collect those that fail."""
    failures = []
    for kind, each in ((kind, each) for kind, of_kind in lines.items() for each in of_kind):
        answer, of_like = model.translate(each.text), model.translate(each.like).text if each.like else ""
        if wrong := ", ".join(answer.flags) if has_warning(answer) else each.wrong(answer.text, of_like):
            failures.append(Failure(kind, each.text, answer.text, wrong))
    return failures


def score_spellings(model: Loaded, held_out: HeldOutSet) -> tuple[list[Spelling], dict[Measure, str]]:
    """Score the set in every spelling, and the same sentences in the original spelling."""
    measures = make_measures(choose_tokenisation(model.pairs[0][1]))

    def scores(texts: Sequence[str], references: Sequence[str]) -> dict[Measure, float]:
        return {name: float(measures[name].corpus_score(texts, [references]).score) for name in MEASURES}

    def translate(texts: Sequence[str]) -> list[str]:
        return [each.text for each in model.translate(texts, split=False)]

    plain = translate(held_out.sources)
    found = [Spelling("as it is", len(held_out), *[scores(plain, held_out.references)] * 2)]
    for variant, (name, spell) in SPELLINGS.items():
        pairs = enumerate(zip(held_out.sources, held_out.references, strict=True))
        varied = {at: variation for at, pair in pairs if (variation := vary(variant, *pair)) is not None}
        references = [reference for _, reference in varied.values()]
        of_plain = scores([spell(plain[at]) for at in varied], references)
        texts = translate([source for source, _ in varied.values()])
        found.append(Spelling(name, len(varied), of_plain, scores([spell(each) for each in texts], references)))
    return found, {name: str(measures[name].get_signature()) for name in MEASURES}


def keep_names(model: Loaded, held_out: HeldOutSet, people: Sequence[str]) -> tuple[int, int]:
    """Replace the names in sentences by those of other people, and count how many are kept in the translations."""
    pairs = list(zip(held_out.sources, held_out.references, strict=True))
    known, renamed_texts = find_names(pairs), list[tuple[str, str]]()
    for pair in pairs:
        person = people[len(renamed_texts) % len(people)]
        if (renamed := rename(*pair, person, known)) is not None:
            renamed_texts.append((person, renamed[0]))
    answers = model.translate([text for _, text in renamed_texts], split=False)
    kept = sum(has_word(answer.text, f"{person}*") for (person, _), answer in zip(renamed_texts, answers, strict=True))
    return kept, len(renamed_texts)


def measure(name: str, model: Loaded, held_out: HeldOutSet | None) -> Everyday:
    """Measure a model; without a test set, on the lines only."""
    lines = read_lines(LINES, "-".join(model.pairs[0]))
    spellings, signatures = score_spellings(model, held_out) if held_out else ([], {})
    found = ({kind: len(of_kind) for kind, of_kind in lines.items()}, check_lines(model, lines))
    names = keep_names(model, held_out, read_tree(LINES)["people"]) if held_out else (0, 0)
    return Everyday(name, *found, held_out.name if held_out else "", spellings, signatures, names)


def sample_set(source_language: str) -> HeldOutSet:
    """The test sentences that come with hark, in the direction from `source_language`."""
    source, reference = map(Path, paths()["test"][:: 1 if source_language == SOURCE else -1])
    return read_sets([source], [reference], ["tatoeba-sample"])[0]


def table(found: Everyday) -> list[str]:
    lines = [f"{found.model}: everyday lines that pass"]
    for kind in [*found.lines, None]:
        (holds, of), name = found.holds(kind), (kind or "all").replace("_", " ")
        lines.append(f"  {name:<14} {holds:>3} of {of:>3}  {holds / of:>5.0%}")
    lines += [f"  {each.kind}: {each.text} -> {each.answer}   ({each.wrong})" for each in found.failures]
    if found.spellings:
        heads = "".join(f"{TITLES[name]:>7} {'plain':>7}" for name in MEASURES)
        lines += ["", f"{found.test_set} in other spellings", f"  {'source':<30} {'sentences':>9} {heads}"]
    for each in found.spellings:
        cells = "".join(f"{each.scores[name]:>7.1f} {each.plain[name]:>7.1f}" for name in MEASURES)
        lines.append(f"  {each.name:<30} {each.sentences:>9,} {cells}")
    lines += [f"  {TITLES[name]}: {signature}" for name, signature in found.signatures.items()]
    if found.spellings:
        kept, of = found.names
        lines += ["", f"other names in its sentences: {kept} of {of} kept ({kept / max(1, of):.0%})"]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, run or name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--source", type=Path, metavar="FILE", help="test set instead of Tatoeba's")
    parser.add_argument("--reference", type=Path, metavar="FILE")
    parser.add_argument("--lines-only", action="store_true", help="skip the test set")
    arguments = parser.parse_args()
    try:
        model, files = Loaded.named(arguments.model), (arguments.source, arguments.reference)
        held_out = read_sets(*([each] if each else [] for each in files))[0] if any(files) else None
        held_out = None if arguments.lines_only else held_out or sample_set(model.pairs[0][0])
        found = measure(name_models([arguments.model])[0], model, held_out)
    except (UserError, HarkError) as error:
        sys.exit(f"everyday: {error}")
    print("\n".join(table(found)))
    if arguments.json:
        arguments.json.write_text(found.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
