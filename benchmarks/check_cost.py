"""What the second look by the reverse model costs: CPU seconds with and without it.

    python -m benchmarks.check_cost MODEL FILE [FILE ...] [--first 500]

One thread, so that CPU time is that of the work, and a busy machine does not matter.
"""

import argparse
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import hark


def measure(name: str, lines: Sequence[str], check: bool) -> tuple[float, int]:
    """CPU seconds for translating the lines with a fresh model, and how many are flagged."""
    model = hark.load(name, threads=1)
    list(model.translate(["Hello, my friend."], check=False))  # loads the engine
    reverse = model.reverse(*model.pairs[0]) if check else None
    if reverse is not None:
        reverse.surprise([("Hello.", "Hello.")], source=model.pairs[0][1], target=model.pairs[0][0])
    start = time.process_time()
    flagged = sum(bool(each.doubtful) for each in model.translate(lines, check=check))
    seconds = time.process_time() - start
    model.close()
    return seconds, flagged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, run or name")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--first", type=int, default=500, help="lines of each file")
    arguments = parser.parse_args()
    for file in arguments.files:
        with file.open(encoding="utf-8") as text:
            lines = [line.rstrip("\n") for line in islice(text, arguments.first)]
        (plain, before), (checked, after) = (measure(arguments.model, lines, check) for check in (False, True))
        print(
            f"{arguments.model} {file.name}: {len(lines)} lines, {plain:.2f} s, with the second look {checked:.2f} s "
            f"({checked / plain - 1:+.0%}); flagged {before}, with it {after}"
        )


if __name__ == "__main__":
    main()
