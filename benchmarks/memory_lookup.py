"""Time and memory of a large translation memory: `python -m benchmarks.memory_lookup --data FOLDER --units 100000`.

Sentences of Europarl become a TMX file. Then texts are looked up: some of its sentences, some with a few words changed,
and some that are not in it. Similar texts are compared with those that a search through the whole memory finds. Times
are CPU seconds, so that they hardly depend on what else the machine does.
"""

import argparse
import lzma
import random
import re
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from rapidfuzz import fuzz, process

from hark.documents.memory import SIMILAR, add_to_memory, open_memory

SHARES = (0.1, 0.2, 0.3)
"""Shares of words that are changed."""


def read(path: Path, count: int) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [line.strip() for line in islice(lines, count)]


def change(text: str, words: list[str], share: float, chance: random.Random) -> str:
    """Replace, drop or insert a share of the words."""
    new: list[str] = []
    for word in text.split():
        what = chance.random()
        if what < share / 3:
            continue
        new.append(chance.choice(words) if what < 2 * share / 3 else word)
        new += [chance.choice(words)] if 2 * share / 3 <= what < share else []
    return " ".join(new)


def peak() -> str:
    """The most memory that this process has taken; getrusage would include the parent that started it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return f"peak {int(found[1]) / 1024:,.0f} MB" if found else "peak unknown"


def look_up(path: Path, exact: list[str], batches: dict[str, list[str]]) -> dict[str, list[float]]:
    """Open a memory and look texts up; print times. Return the similarity of what was found, 0 for nothing."""
    print(f"process: {peak()}")
    start = process_time()
    memory = open_memory(path, "en", "de")
    print(f"open: {process_time() - start:.1f} s; {peak()}")
    start = process_time()
    found = sum(memory.exact(text) is not None for text in exact)
    print(f"exact: {1e6 * (process_time() - start) / len(exact):.0f} µs each, {found} of {len(exact)} found; {peak()}")
    start = process_time()
    memory.similar("the first one builds the index")
    print(f"index of similar texts: {process_time() - start:.1f} s; {peak()}")
    matches: dict[str, list[float]] = {}
    for name, texts in batches.items():
        times: list[float] = []
        matches[name] = []
        for text in texts:
            start = process_time()
            match = memory.similar(text)
            times.append(process_time() - start)
            matches[name].append(match.similarity if match else 0.0)
        print(
            f"{name:22} {1e3 * sum(times) / len(times):.1f} ms each, slowest {1e3 * max(times):.1f} ms; "
            f"{sum(map(bool, matches[name]))} of {len(texts)} have a similar text"
        )
    print(f"end: {peak()}", flush=True)
    return matches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with europarl-en-de/")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--compared", type=int, default=50, help="texts to search for in the whole memory, too")
    parser.add_argument("--kind", choices=("tmx", "sqlite"), default="tmx")
    arguments = parser.parse_args()
    count = arguments.units + arguments.texts
    lines = [read(arguments.data / f"europarl-en-de/train.{code}.xz", count) for code in ("en", "de")]
    units = list(zip(*(side[: arguments.units] for side in lines), strict=True))
    others = [text for text in lines[0][arguments.units :] if text]
    words = [word for text in others for word in text.split()]
    chance = random.Random(1)
    sources = [one for one, _ in units]
    texts = chance.sample(sources, arguments.texts)
    batches = {
        f"{share:.0%} of words changed": [change(text, words, share, chance) for text in texts] for share in SHARES
    }
    batches["not in the memory"] = others
    with TemporaryDirectory() as folder, ProcessPoolExecutor(1, get_context("spawn")) as child:
        path = Path(folder, f"memory.{arguments.kind}")
        add_to_memory(path, units, "en", "de")
        size = sum(len(one) + len(other) for one, other in units) / 1e6
        print(f"{len(units):,} units, {size:.0f} million characters; {path.stat().st_size / 1e6:.0f} MB", flush=True)
        found = child.submit(look_up, path, texts, batches).result()
    for name, edited in batches.items():
        right = known = 0
        start = process_time()
        compared = list(zip(edited, found[name], strict=True))[: arguments.compared]
        for text, similarity in compared:
            best = process.extractOne(text, sources, scorer=fuzz.ratio, score_cutoff=100 * SIMILAR)
            if best is not None and best[0] != text:
                known += 1
                right += similarity >= round(best[1] / 100, 3) - 1e-9
        whole = 1e3 * (process_time() - start) / max(1, len(compared))
        print(f"{name:22} as similar as the best of all: {right} of {known}; {whole:.0f} ms each to compare all")


if __name__ == "__main__":
    main()
