"""Translate all test sets of tools/voice_text.py, in both directions, for `hark evaluate --hypothesis`.

    python -m tools.translate_sets MODEL SETS -o FOLDER [--part 1/6] [--only NAME ...] [--before SYMBOL]

SETS has NAME.en-de.tsv and so on; FOLDER gets NAME.en-de.de and NAME.en-de.en: line by line, what the model makes of
the other side, without stand-ins and repairs, as `hark evaluate` does. SYMBOL is put before each source. Python is
slower than a GPU here: start several processes, each with its part.
"""

import argparse
import sys
from pathlib import Path

from hark.translate.load import Loaded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("sets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--before", default="", metavar="SYMBOL", help="<software>, for example")
    said = parser.parse_args()
    said.output.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, said.part.split("/"))
    model = Loaded(said.model)
    files = [path for path in sorted(said.sets.glob("*.tsv")) if not said.only or path.name.split(".")[0] in said.only]
    for path in files[part - 1 :: parts]:
        languages = path.stem.split(".")[1].split("-")
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        for place, (source, target) in enumerate((languages, languages[::-1])):
            texts = (f"{said.before} {row[place]}".lstrip() for row in rows)
            answers = model.translate(
                texts, source=source, target=target, split=False, protect=False, tidy=False,
                detect=False, check=False,
            )  # fmt: skip
            lines = [answer.text.replace("\n", " ") for answer in answers]
            (said.output / f"{path.stem}.{target}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        sys.stdout.write(f"{path.stem}: {len(rows):,} lines\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
