"""What each of hark's own rules (hark/text/rules.py) gains, and what it changes that it should not.

    python -m benchmarks.rules --data FOLDER [--lines N] [--touched N] [--translate]

FOLDER has tatoeba-en-de/test.{en,de}.xz and github/docs.en-de.tsv.xz: text with human translations. Without a model,
the rules read N lines of each, in both directions (default: 10,000). A rule *touches* a line if it writes something; it
*agrees* if the human translation has that; and it makes a *false change* if the human translation has what was typed
instead. Lines that `typing` touches have nothing to compare: they are printed.

With --translate, every rule is switched off in turn, for the lines of trust.toml and everyday.toml (how many hold) and
for the lines of the text that it touches (chrF2 against the human translation, without and with the rule).
"""

import argparse
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import get_args

from sacrebleu.metrics.chrf import CHRF

from benchmarks.lines import read_lines, read_xz
from benchmarks.trust import HERE, PARTS
from hark.errors import HarkError, UserError
from hark.text import clock, protect, spelling
from hark.text.phrases import Phrases, open_phrases
from hark.text.rules import ON, RULES, Rule, Rules
from hark.translate.load import Loaded
from hark.translate.piece import Options

PAIRS = ("en-de", "de-en")
SEED = 44
SHOWN = 8
"""Examples printed of each rule."""
_SPACES = re.compile(r"[ \u00a0\u202f]")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘´`ʼ′", "'"))


@dataclass(frozen=True)
class Touch:
    """A line in which a rule writes something, and the human translation."""

    text: str
    reference: str
    typed: str = ""
    written: str = ""


@dataclass
class Found:
    """What a rule does to some text."""

    agrees: list[Touch] = field(default_factory=list)
    other: list[Touch] = field(default_factory=list)
    """The human translation has neither."""
    false: list[Touch] = field(default_factory=list)

    @property
    def all(self) -> list[Touch]:
        return [*self.agrees, *self.other, *self.false]


def read_pairs(folder: Path, lines: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each corpus with lines drawn from it at random, English first."""
    english, german = (read_xz(folder / "tatoeba-en-de" / f"test.{side}.xz") for side in ("en", "de"))
    tatoeba = list(zip(english, german, strict=True))
    rows = (line.split("\t") for line in read_xz(folder / "github" / "docs.en-de.tsv.xz"))
    docs = [(row[0], row[1]) for row in rows if len(row) >= 2]
    for name, pairs in (("Tatoeba", tatoeba), ("documentation", docs)):
        yield name, random.Random(SEED).sample(pairs, min(lines, len(pairs)))


def touch_all(pairs: Iterable[tuple[str, str]], pair: str, phrases: Phrases) -> dict[Rule, Found]:
    """Apply the rules to the source side of some text."""
    source, target = pair.split("-")
    found: dict[Rule, Found] = {rule: Found() for rule in get_args(Rule)}
    for text, reference in pairs:
        if (phrase := phrases.lookup(text)) is not None:
            sort(found["phrases"], Touch(text, reference, text, phrase))
            continue
        find = partial(protect.find, text, lambda _: "", source, target)  # what the rules protect or write
        items = list(find())
        tidied = spelling.tidy(text, source, [item.span for item in items])
        if tidied and tidied.after.translate(_APOSTROPHES) != text.translate(_APOSTROPHES):
            found["typing"].other.append(Touch(text, reference, text, tidied.after))
        for item in items:
            # The rule without which it would not be written.
            rule = next((each for each in RULES if item not in list(find(rules=ON - {each}))), None)
            if item.written and rule:
                sort(found[rule], Touch(text, reference, item.text, item.written))
    return found


def sort(found: Found, touch: Touch) -> None:
    """Sort a change by what the human translation has."""
    reference, typed, written = (
        _SPACES.sub("", each).lower() for each in (touch.reference, touch.typed, touch.written)
    )

    def has(part: str) -> bool:
        """Not inside a longer number."""
        return re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(part)}(?!\d|[.,]\d)", reference) is not None

    if has(written):
        found.agrees.append(touch)
    elif has(typed) and typed not in written:  # 2:30 Uhr is still 2:30
        found.false.append(touch)
    else:
        found.other.append(touch)


def held(model: Loaded, pair: str, rules: Rules) -> tuple[int, int]:
    """How many of the lines of trust.toml and everyday.toml hold, and of how many."""
    lines = [line for part in PARTS for kind in read_lines(HERE / part, pair).values() for line in kind]
    answers = translate(model, [line.text for line in lines], rules)
    alike = translate(model, [line.like for line in lines], rules)
    wrong = [line.wrong(*both) for line, both in zip(lines, zip(answers, alike, strict=True), strict=True)]
    return wrong.count(""), len(lines)


def translate(model: Loaded, texts: Sequence[str], rules: Rules) -> list[str]:
    options = Options(model.config.decode, rules=rules)
    return [each.text for each in model.translator.stream(texts, options)]


def gain(model: Loaded, touched: Sequence[Touch], rule: Rule) -> str:
    """The chrF2 of the lines that a rule touches, without and with it, and how many are better and worse."""
    texts = list(dict.fromkeys((each.text, each.reference) for each in touched))
    source, target = model.pairs[0]
    scores, right = [], []
    for rules in (ON - {rule}, ON):
        answers = translate(model, [text for text, _ in texts], rules)
        both = list(zip(answers, texts, strict=True))
        right.append(sum(tells(answer, text, source, target) for answer, (text, _) in both))
        scores.append([CHRF().sentence_score(answer, [other]).score for answer, (_, other) in both])
    without, with_it = (sum(each) / max(1, len(each)) for each in scores)
    better, worse = (sum(gained * (new - old) > 0 for old, new in zip(*scores, strict=True)) for gained in (1, -1))
    told = f"; times told right {right[0]} -> {right[1]}" if rule.endswith("times") else ""
    return f"{len(texts):>6} lines  chrF2 {without:.1f} -> {with_it:.1f}  better {better}, worse {worse}{told}"


def tells(answer: str, text: str, source: str, target: str) -> bool:
    """Whether an answer has the times of a text; on a 12-hour clock, for a text need not say which half of the day."""
    both = (clock.find_times(text, source), clock.find_times(answer, target))
    ours, theirs = ({(time.hour % 12, time.minute) for time in times} for times in both)
    return ours <= theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder with text and translations")
    parser.add_argument("--lines", type=int, default=10_000, metavar="N", help="lines of each text (default: 10,000)")
    parser.add_argument("--touched", type=int, default=300, metavar="N", help="lines to translate for each rule")
    parser.add_argument("--translate", action="store_true", help="measure with the models, too")
    arguments = parser.parse_args()
    try:
        corpora = dict(read_pairs(arguments.data, arguments.lines))
        for pair in PAIRS:
            measure(corpora, pair, arguments)
    except (UserError, HarkError, OSError) as error:
        sys.exit(f"rules: {error}")


def measure(corpora: dict[str, list[tuple[str, str]]], pair: str, arguments: argparse.Namespace) -> None:
    source, target = pair.split("-")
    phrases = open_phrases(source, target)
    touched: dict[Rule, list[Touch]] = {rule: [] for rule in get_args(Rule)}
    print(f"{pair}  {'rule':<16}{'touches':>9}{'agrees':>9}{'neither':>9}{'false':>7}")
    for name, pairs in corpora.items():
        sides = pairs if pair.startswith("en") else [(german, english) for english, german in pairs]
        for rule, found in touch_all(sides, pair, phrases).items():
            touched[rule] += found.all
            all_, agrees, other, false = (len(each) for each in (found.all, found.agrees, found.other, found.false))
            print(f"  {name:<14} {rule:<16}{all_:>6}{agrees:>9}{other:>9}{false:>7}   of {len(sides):,} lines")
            examples = found.false or (found.other if rule == "typing" else [])
            for each in examples[:SHOWN]:
                print(f"      {each.typed} -> {each.written}   | {each.text[:90]} | {each.reference[:90]}")
    if not arguments.translate:
        return
    model = Loaded.named(pair)
    all_held, of = held(model, pair, ON)
    print(f"  trust.toml and everyday.toml: {all_held} of {of} lines hold; touched lines, without -> with the rule")
    for rule in RULES:
        without, _ = held(model, pair, ON - {rule})
        change = gain(model, touched[rule][: arguments.touched], rule)
        print(f"  {rule:<16}{without - all_held:>+5} held without it; {change}", flush=True)
    model.close()


if __name__ == "__main__":
    main()
