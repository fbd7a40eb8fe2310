"""The effect of correcting typing errors: missing apostrophes, ae for ä, repeated letters.

    python -m benchmarks.slips MODEL [--source FILE --reference FILE] [--lines N] [--json FILE]
    python -m benchmarks.slips --language LANGUAGE --touched FILE...

A test set (default: the 1,000 sentences of Tatoeba that come with hark) is changed by a slip, and translated before and
after `hark.text.spelling.tidy`, as well as unchanged: BLEU and chrF of the sentences that the slip changes, and how
many of these tidying restores exactly. `--touched` prints every sentence of correct text that tidying changes; it
needs no model.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.everyday import MEASURES, sample_set
from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.errors import HarkError, UserError
from hark.evaluate.held_out import HeldOutSet, read_sets
from hark.evaluate.measures import TITLES, Measure, choose_tokenisation, make_measures
from hark.text.spelling import tidy
from hark.text.spelling.german import transliterate
from hark.translate.load import Loaded

SEED = 22
_INNER = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CAPITAL = re.compile("[ÄÖÜ]")
Slip = Callable[[str, random.Random], str]


def drop_apostrophes(text: str, _: random.Random) -> str:
    return _INNER.sub("", text)


def type_accents(text: str, rng: random.Random) -> str:
    """Replace apostrophes by accents."""
    return _INNER.sub(lambda _: rng.choice("´`’"), text)


def drop_umlauts(text: str, _: random.Random) -> str:
    return transliterate(_CAPITAL.sub(lambda letter: transliterate(letter[0].lower()).capitalize(), text))


def hold_a_letter(text: str, rng: random.Random) -> str:
    """Repeat a letter of one word, three to six times in all."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    word = rng.choice(words)
    at = rng.randrange(word.start(), word.end())
    return text[:at] + text[at] + text[at].lower() * rng.randrange(2, 6) + text[at + 1 :]


def all_of(*slips: Slip) -> Slip:
    def slip(text: str, rng: random.Random) -> str:
        for each in slips:
            text = each(text, rng)
        return text

    return slip


SLIPS: dict[str, dict[str, Slip]] = {
    "en": {
        "no apostrophes": drop_apostrophes,
        "´, ` and ’ for '": type_accents,
        "a letter held down": hold_a_letter,
        "no apostrophes, letter held": all_of(drop_apostrophes, hold_a_letter),
    },
    "de": {
        "no umlauts": drop_umlauts,
        "a letter held down": hold_a_letter,
        "no umlauts, letter held": all_of(drop_umlauts, hold_a_letter),
    },
}


@dataclass(frozen=True)
class Outcome:
    """The sentences that a slip changes, and their scores."""

    slip: str
    sentences: int
    restored: int
    """Sentences that tidying restores exactly."""
    plain: dict[Measure, float]
    typed: dict[Measure, float]
    tidied: dict[Measure, float]


def tidied(text: str, language: str) -> str:
    found = tidy(text, language)
    return found.after if found else text


def measure(model: Loaded, held_out: HeldOutSet) -> list[Outcome]:
    language = model.pairs[0][0]
    measures = make_measures(choose_tokenisation(model.pairs[0][1]))
    known: dict[str, str] = {}

    def translate(texts: Sequence[str]) -> list[str]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(
            zip(new, (each.text for each in model.translate(new, split=False, tidy=False, check=False)), strict=True)
        )
        return [known[text] for text in texts]

    found = []
    for name, slip in SLIPS[language].items():
        rng = random.Random(SEED)
        typed = [slip(text, rng) for text in held_out.sources]
        changed = [at for at, text in enumerate(typed) if text != held_out.sources[at]]
        references = [held_out.references[at] for at in changed]
        versions = (
            [held_out.sources[at] for at in changed],
            [typed[at] for at in changed],
            [tidied(typed[at], language) for at in changed],
        )
        restored = sum(plain == restored_text for plain, _, restored_text in zip(*versions, strict=True))
        scores = [
            {each: float(measures[each].corpus_score(translations, [references]).score) for each in MEASURES}
            for translations in map(translate, versions)
        ]
        found.append(Outcome(name, len(changed), restored, *scores))
    return found


def table(test_set: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    heads = "".join(f"  {TITLES[each]:>5} {'typed':>7} {'tidied':>7}" for each in MEASURES)
    yield f"{test_set}: sentences unchanged, with a slip, and tidied"
    yield f"  {'slip':<28} {'sentences':>9} {'restored':>9} {heads}"
    for each in outcomes:
        cells = "".join(f"  {each.plain[of]:>5.1f} {each.typed[of]:>7.1f} {each.tidied[of]:>7.1f}" for of in MEASURES)
        yield f"  {each.slip:<28} {each.sentences:>9,} {each.restored / max(1, each.sentences):>9.0%} {cells}"


def touched(language: str, files: Sequence[Path]) -> Iterator[str]:
    """List what tidying changes in correct text."""
    for file in files:
        count = total = 0
        with ByteStream(file) as stream:
            for total, text in enumerate(read_lines(stream), start=1):  # noqa: B007
                found = tidy(text, language)
                if found:
                    count += 1
                    edits = ((found.before[slice(*old)], found.after[slice(*new)]) for old, new in found.edits)
                    yield f"  {', '.join(f'{old} -> {new}' for old, new in edits)}   in: {text}"
        yield f"{file.name}: {count:,} of {total:,} sentences touched"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="folder, run or name")
    parser.add_argument("--source", type=Path, metavar="FILE", help="test set instead of Tatoeba's")
    parser.add_argument("--reference", type=Path, metavar="FILE")
    parser.add_argument("--lines", type=int, metavar="N", help="use only the first N sentences")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--touched", type=Path, nargs="+", metavar="FILE", help="show what changes in correct text")
    parser.add_argument("--language", help="language of the --touched files")
    arguments = parser.parse_args()
    if not arguments.model and not (arguments.touched and arguments.language):
        parser.error("a model is required, or --language and --touched")
    try:
        if arguments.touched:
            print("\n".join(touched(arguments.language, arguments.touched)))
            return
        model = Loaded.named(arguments.model)
        held_out = sample_set(model.pairs[0][0])
        if arguments.source or arguments.reference:
            (held_out,) = read_sets(*([file] if file else [] for file in (arguments.source, arguments.reference)))
        held_out = HeldOutSet(
            held_out.name, held_out.sources[: arguments.lines], held_out.references[: arguments.lines]
        )
        outcomes = measure(model, held_out)
    except (UserError, HarkError) as error:
        sys.exit(f"slips: {error}")
    print("\n".join(table(held_out.name, outcomes)))
    if arguments.json:
        tree: dict[str, Any] = {"kind": "hark slips", "model": arguments.model, "test_set": held_out.name}
        tree["slips"] = [asdict(each) for each in outcomes]
        arguments.json.write_text(json.dumps(tree, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
