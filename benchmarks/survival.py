"""Names, numbers, units, dates and addresses: do they survive a translation, in every direction?

    python -m benchmarks.survival [MODEL]

survival.toml has the same sentences in seven languages. MODEL (default: seven) translates them in all directions that
it knows. What must survive *held*; was lost and the result carries a warning (*flagged*); or was lost without one
(*silently wrong*). A sentence that was not translated is wrong too.
"""

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.lines import Line, has_warning
from benchmarks.trust import Verdict, decide, head, row
from hark.errors import HarkError, UserError
from hark.translate.load import Loaded

FILE = Path(__file__).with_name("survival.toml")
LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
SPACES = " \u00a0\u202f"


@dataclass(frozen=True)
class Sentence:
    """A sentence in all languages, and what must survive its translation."""

    kind: str
    texts: dict[str, str]
    keeps: tuple[str, ...] = ()
    amounts: tuple[tuple[str, str], ...] = ()
    """Numbers, with a point before decimals, and alternatives for their units."""
    has: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: str, tree: dict[str, Any]) -> "Sentence":
        texts = {language: tree[language] for language in LANGUAGES}
        amounts = tuple((number, unit) for number, unit in tree.get("amounts", ()))
        return cls(kind, texts, tuple(tree.get("keeps", ())), amounts, tuple(tree.get("has", ())))

    def lost(self, answer: str, source: str, target: str) -> str:
        """What a translation has lost, or an empty string."""
        if answer == self.texts[source]:
            return "is not translated"
        wrong = Line(self.texts[source], keeps=self.keeps, has=self.has).wrong(answer)
        lost = [f"lost {' '.join(each)}".strip() for each in self.amounts if not shows(answer, *each, target)]
        return wrong or "".join(lost[:1])


def shows(text: str, number: str, units: str, language: str) -> bool:
    """Whether a text has a number, written as in a language, beside one of its units."""
    whole, _, fraction = number.partition(".")
    thousands, decimal = (",", r"\.") if language == "en" else (".'’", ",")
    start = len(whole) % 3
    groups = [whole[:start]] * bool(start) + [whole[at : at + 3] for at in range(start, len(whole), 3)]
    digits = f"[{thousands}{SPACES}]?".join(groups) + (decimal + fraction if fraction else "")
    pattern = rf"(?<![\d.,]){digits}(?!\d|[.,]\d)"
    if units:
        ends = {each: r"\w*" if each.endswith("*") else r"\b" * each.isalpha() for each in units.split("|")}
        unit = f"(?:{'|'.join(re.escape(each.rstrip('*')) + end for each, end in ends.items())})"
        pattern = rf"{pattern}[{SPACES}]?{unit}|{unit}[{SPACES}]?{pattern}"
    return re.search(pattern, text, re.IGNORECASE) is not None


def read_sentences(file: Path) -> list[Sentence]:
    tree = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Sentence.of(kind, each) for kind, sentences in tree.items() for each in sentences]


def check(model: Loaded, sentences: Sequence[Sentence], source: str, target: str) -> Iterator[Verdict]:
    answers = model.translate([each.texts[source] for each in sentences], source=source, target=target)
    for sentence, answer in zip(sentences, answers, strict=True):
        lost, warned = sentence.lost(answer.text, source, target), has_warning(answer)
        about = (f"{source}-{target}", sentence.kind, sentence.texts[source], answer.text, answer.flags)
        yield Verdict(*about, decide(not lost, warned), not lost and warned, lost)


def tabulate(found: Sequence[Verdict]) -> list[str]:
    """Outcomes by kind, held and silently wrong sentences by direction, and what was lost without a warning."""
    lines = head("what must survive")
    for kind in dict.fromkeys(each.kind for each in found):
        lines.append(row(kind, [each for each in found if each.kind == kind]))
    lines += [row("all", found), ""]
    directions = Counter(each.part for each in found)
    for outcome, title in (("held", "held"), ("silent", "silently wrong")):
        counts = Counter(each.part for each in found if each.outcome == outcome)
        lines.append(f"{title}, of {max(directions.values())} in each direction")
        lines.append("".join(f"{name:>5}" for name in ("", *LANGUAGES)))
        for source in LANGUAGES:
            pairs = [f"{source}-{target}" for target in LANGUAGES]
            cells = [counts[pair] if pair in directions else "" for pair in pairs]
            lines.append("".join(f"{cell:>5}" for cell in (source, *cells)))
        lines.append("")
    silent = [each for each in found if each.outcome == "silent"]
    return [*lines, *(f"{each.part} {each.kind}: {each.text} -> {each.answer}   ({each.wrong})" for each in silent)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="seven", help="folder, run or name")
    arguments = parser.parse_args()
    sentences, found = read_sentences(FILE), list[Verdict]()
    try:
        model = Loaded.named(arguments.model)
        directions = [pair for pair in permutations(LANGUAGES, 2) if pair in model.facts.pairs]
        if not directions:
            raise UserError(f"{arguments.model}: translates none of the languages {', '.join(LANGUAGES)}")
        for source, target in directions:
            found += check(model, sentences, source, target)
    except (UserError, HarkError) as error:
        sys.exit(f"survival: {error}")
    print("\n".join(tabulate(found)))


if __name__ == "__main__":
    main()
