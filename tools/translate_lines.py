"""Translate lines with a teacher, as training text for a student; drop translations that the teacher doubts.

    python -m tools.translate_lines TEACHER LINES -o STEM

LINES is a file with one sentence a line. Writes STEM.SOURCE and STEM.TARGET, for `hark prepare`; they replace earlier
ones only when complete. A line is dropped if its translation is empty, the same, or flagged as doubtful.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hark.data.progress import show_progress
from hark.errors import HarkError, UserError
from hark.translate.load import Loaded


def translate_lines(teacher: Loaded, lines: Iterable[str]) -> Iterator[tuple[str, str] | None]:
    """Yield each line with its translation, or None for one to drop."""
    lines = list(lines)
    # As the text of a dataset is translated: whole lines, without stand-ins for names and numbers.
    for line, answer in zip(lines, teacher.translate(lines, split=False, protect=False, check=False), strict=True):
        text = " ".join(answer.text.split())
        yield None if not text or text == line or answer.doubtful else (line, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", help="folder, run or name")
    parser.add_argument("lines", type=Path)
    parser.add_argument("-o", "--output", required=True, metavar="STEM")
    arguments = parser.parse_args()
    try:
        lines = arguments.lines.read_text(encoding="utf-8").split("\n")[:-1]
        teacher = Loaded.named(arguments.teacher)
        data, kept = teacher.config.data, 0
        files = [Path(f"{arguments.output}.{language}") for language in (data.source, data.target)]
        partial = [file.with_name(f".{file.name}.partial") for file in files]
        with (
            partial[0].open("w", encoding="utf-8") as sources,
            partial[1].open("w", encoding="utf-8") as targets,
            show_progress() as progress,
        ):
            for number, pair in enumerate(translate_lines(teacher, lines), start=1):
                if pair is not None:
                    sources.write(pair[0] + "\n")
                    targets.write(pair[1] + "\n")
                    kept += 1
                progress("translating", number, number / len(lines))
        for file, finished in zip(partial, files, strict=True):
            file.replace(finished)
    except (UserError, HarkError) as error:
        sys.exit(f"translate_lines: {error}")
    except OSError as error:
        sys.exit(f"translate_lines: {error.filename}: {error.strerror}")
    sys.stdout.write(f"{files[1]}: {kept:,} of {len(lines):,} lines\n")


if __name__ == "__main__":
    main()
