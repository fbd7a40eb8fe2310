"""How a model takes what people type in everyday life: words, greetings, no capitals, no full stop, names, dates.

    python -m benchmarks.everyday MODEL [--json FILE] [--source FILE --reference FILE]

Three measurements. The lines of everyday.toml, each with what must hold of a good translation: the share that holds,
and the failures. A test set (unless named, the 1,000 sentences of Tatoeba that come with hark) in other spellings, as
`[data.augment]` has them, beside the plain one: translations of both are spelt as the references are (in capitals,
without full stops) before they are scored, so that what differs is the model's doing. And its sentences about someone
with names of others in place (`people` in everyday.toml): how many are still there. Everything goes through the
translator as `hark translate` calls it, which has cures of its own, for capitals and for what must not change.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lines import Line, has_warning, has_word, read_lines, read_tree
from hark.data.augment import FINAL, Variant, vary
from hark.data.sample import SOURCE, paths
from hark.data.swaps import find_names, rename
from hark.decode.load import Loaded
from hark.errors import HarkError, UserError
from hark.evaluate.held_out import HeldOutSet, read_sets
from hark.evaluate.measures import TITLES, Measure, choose_tokenisation, make_measures
from hark.evaluate.systems import name_models
from hark.models import named_folder

LINES = Path(__file__).with_name("everyday.toml")
KIND = "hark everyday"
SPELLINGS: dict[Variant, str] = {
    "lower": "small letters",
    "upper": "CAPITALS",
    "unpunctuated": "no full stop",
    "hasty": "small letters, no full stop",
}
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
    """All that was measured."""

    model: str
    lines: dict[str, int]
    """How many there are of each kind."""
    failures: Sequence[Failure]
    test_set: str
    spellings: Sequence[Spelling]
    signatures: dict[Measure, str]
    names: tuple[int, int]
    """Of the names that were put into its sentences, those that their translations have; and all."""

    def holds(self, kind: str | None = None) -> tuple[int, int]:
        """Lines that hold, and all, of a kind or of every one."""
        lines = sum(self.lines.values()) if kind is None else self.lines[kind]
        return lines - sum(kind in (None, each.kind) for each in self.failures), lines

    def to_json(self) -> str:
        tree = {
            "kind": KIND,
            "model": self.model,
            "lines": {kind: dict(zip(("hold", "of"), self.holds(kind), strict=True)) for kind in self.lines},
            "failures": [vars(each) for each in self.failures],
            "test_set": self.test_set,
            "spellings": [vars(each) for each in self.spellings],
            "signatures": self.signatures,
            "names": dict(zip(("kept", "of"), self.names, strict=True)),
        }
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"


def check_lines(model: Loaded, lines: dict[str, list[Line]]) -> list[Failure]:
    """Every line by itself, as a person types it."""
    failures = []
    for kind, each in ((kind, each) for kind, of_kind in lines.items() for each in of_kind):
        answer = model.translate(each.text)
        wrong = each.wrong(answer.text, model.translate(each.like).text if each.like else "")
        if has_warning(answer):
            wrong = ", ".join(answer.flags)
        if wrong:
            failures.append(Failure(kind, each.text, answer.text, wrong))
    return failures


def spelt_as(variant: Variant) -> Callable[[str], str]:
    """How the references of a variant are spelt, which `vary` does to whole pairs."""
    match variant:
        case "lower":
            return str
        case "upper":
            return str.upper
        case "unpunctuated" | "hasty":
            return lambda text: FINAL.sub("", text)


def score_spellings(model: Loaded, held_out: HeldOutSet) -> tuple[list[Spelling], dict[Measure, str]]:
    """The set in every spelling, beside the plain scores of the same sentences."""
    measures = make_measures(choose_tokenisation(model.config.data.target))

    def scores(texts: Sequence[str], references: Sequence[str]) -> dict[Measure, float]:
        return {name: float(measures[name].corpus_score(texts, [references]).score) for name in MEASURES}

    def translate(texts: Sequence[str]) -> list[str]:
        return [each.text for each in model.translate(texts, split=False)]

    plain = translate(held_out.sources)
    found = [Spelling("as it is", len(held_out), *[scores(plain, held_out.references)] * 2)]
    for variant, name in SPELLINGS.items():
        pairs = enumerate(zip(held_out.sources, held_out.references, strict=True))
        varied = {at: made for at, pair in pairs if (made := vary(variant, *pair)) is not None}
        spell = spelt_as(variant)
        references = [reference for _, reference in varied.values()]
        of_plain = scores([spell(plain[at]) for at in varied], references)
        texts = translate([source for source, _ in varied.values()])
        found.append(Spelling(name, len(varied), of_plain, scores([spell(each) for each in texts], references)))
    return found, {name: str(measures[name].get_signature()) for name in MEASURES}


def keep_names(model: Loaded, held_out: HeldOutSet, people: Sequence[str]) -> tuple[int, int]:
    """The sentences that have a name, with that of the next of some people instead."""
    pairs = list(zip(held_out.sources, held_out.references, strict=True))
    known = find_names(pairs)
    asked: list[tuple[str, str]] = []
    for pair in pairs:
        person = people[len(asked) % len(people)]
        renamed = rename(*pair, person, known)
        if renamed is not None:
            asked.append((person, renamed[0]))
    answers = model.translate([text for _, text in asked], split=False)
    kept = sum(has_word(answer.text, f"{person}*") for (person, _), answer in zip(asked, answers, strict=True))
    return kept, len(asked)


def measure(name: str, model: Loaded, held_out: HeldOutSet | None) -> Everyday:
    """Without a set to spell otherwise, the lines only."""
    data = model.config.data
    lines = read_lines(LINES, f"{data.source}-{data.target}")
    failures = check_lines(model, lines)
    spellings, signatures = score_spellings(model, held_out) if held_out else ([], {})
    counts = {kind: len(of_kind) for kind, of_kind in lines.items()}
    names = keep_names(model, held_out, read_tree(LINES)["people"]) if held_out else (0, 0)
    return Everyday(name, counts, failures, held_out.name if held_out else "", spellings, signatures, names)


def sample_set(source_language: str) -> HeldOutSet:
    """The test sentences that come with hark, in the direction that starts from a language."""
    files = paths()["test"]
    source, reference = files if source_language == SOURCE else reversed(files)
    (held_out,) = read_sets([Path(source)], [Path(reference)], ["tatoeba-sample"])
    return held_out


def table(found: Everyday) -> list[str]:
    lines = [f"{found.model}: what must hold of everyday lines"]
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
        lines += ["", f"names of other people in its sentences: {kept} of {of} are kept ({kept / max(1, of):.0%})"]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, a run or a name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--source", type=Path, metavar="FILE", help="a test set in place of Tatoeba's")
    parser.add_argument("--reference", type=Path, metavar="FILE")
    parser.add_argument("--lines-only", action="store_true", help="no test set")
    given = parser.parse_args()
    try:
        model = Loaded(named_folder(given.model))
        held_out = sample_set(model.config.data.source)
        if given.source or given.reference:
            (held_out,) = read_sets(*([file] if file else [] for file in (given.source, given.reference)))
        found = measure(name_models([given.model])[0], model, None if given.lines_only else held_out)
    except (UserError, HarkError) as error:
        sys.exit(f"everyday: {error}")
    print("\n".join(table(found)))
    if given.json:
        given.json.write_text(found.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
