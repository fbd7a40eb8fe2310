"""How often a model uses the form of address that it is asked for, and whether a text keeps one form.

    python -m benchmarks.formality MODEL [--data FOLDER] [--source en] [--held-out]

MODEL is a name, a run or a folder. The texts are the connected ones of data/written, and those of FOLDER, such as
shared/data/written (tables of seven languages, *.text.tsv or *.text.tsv.xz, an empty line between texts). --held-out:
only those that tools/voice_text.py keeps out of the training text.

formal, informal: of the lines whose translation addresses somebody (by its pronouns), those in the form that was asked
for alone. one form, right: of the texts whose reference addresses somebody at least twice, always in one form, those
whose translation has only one form when it is left to the model, and those that have the reference's.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.voice_text import is_held_out, split_texts

import hark
from benchmarks.lines import LANGUAGES, read_xz
from hark.text.address import FORMS, Address, Formality, form_of, has_address
from hark.translate.load import Loaded

COLUMNS: tuple[tuple[Address, int], ...] = (("formal", 9), ("informal", 10))
WRITTEN = Path(__file__).parents[1] / "data" / "written"
Text = Sequence[Sequence[str]]  # its lines, each in all languages


def read_texts(folder: Path, held_out: bool = False) -> Iterator[Text]:
    for file in sorted((*folder.glob("*.text.tsv"), *folder.glob("*.text.tsv.xz"))):
        lines = read_xz(file) if file.suffix == ".xz" else file.read_text(encoding="utf-8").split("\n")
        for number, text in enumerate(split_texts(line.split("\t") for line in lines)):
            if is_held_out(number) or not held_out:
                yield text


def translate(model: Loaded, texts: Sequence[Text], pair: tuple[str, str], formality: Formality) -> list[list[str]]:
    """The lines of each translation."""
    sources = ["\n".join(row[LANGUAGES.index(pair[0])] for row in text) for text in texts]
    options = {"source": pair[0], "target": pair[1], "formality": formality, "join": False, "check": False}
    return [each.text.split("\n") for each in model.translate(sources, **options)]


def find_form(lines: Sequence[str], target: str, least: int) -> Address | None:
    """The only form of the lines that address somebody; None if there are several, or fewer lines than `least`."""
    found = [form_of(line, target) for line in lines if has_address(line, target)]
    return found[0] if len(found) >= least and len({*found}) == 1 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="more texts, such as shared/data/written")
    parser.add_argument("--source", default="en", choices=LANGUAGES, help="language of the texts (default: en)")
    parser.add_argument("--held-out", action="store_true", help="only texts that are not trained on")
    said = parser.parse_args()
    folders = [WRITTEN, *([said.data] if said.data else [])]
    texts = [text for folder in folders for text in read_texts(folder, said.held_out)]
    model = hark.load(said.model)
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} lines, from {said.source}")
    print(f"{'':<4}{'lines':>8}{'formal':>9}{'lines':>8}{'informal':>10}{'texts':>8}{'one form':>10}{'right':>8}")
    for target in (code for code in FORMS if code != said.source):
        pair, cells = (said.source, target), f"{target:<4}"
        able = model.translator.check_formality("auto", target)
        for form, width in COLUMNS:
            lines = [line for each in translate(model, texts, pair, form) for line in each] if able else []
            lines = [line for line in lines if has_address(line, target)]
            right_lines = sum(form_of(line, target) == form for line in lines)
            cells += f"{len(lines):>8,}{right_lines / max(1, len(lines)):>{width}.1%}"
        wanted = [find_form([row[LANGUAGES.index(target)] for row in text], target, 2) for text in texts]
        kept = [find_form(lines, target, 1) for lines in translate(model, texts, pair, "auto")]
        found = [(one, other) for one, other in zip(wanted, kept, strict=True) if one]
        one_form, right = sum(other is not None for _, other in found), sum(one == other for one, other in found)
        total = max(1, len(found))
        print(f"{cells}{len(found):>8,}{one_form / total:>10.1%}{right / total:>8.1%}", flush=True)


if __name__ == "__main__":
    main()
