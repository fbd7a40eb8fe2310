"""Time and memory of a large translation memory: `python -m benchmarks.memory_lookup --data FOLDER --units 100000`.

Sentences of Europarl become a TMX file. Then texts are looked up: some of its sentences, some with a few words changed,
and some that are not in it. Similar texts are compared with those that a search through the whole memory finds. Times
are CPU seconds, so that they hardly depend on what else the machine does.
"""

import argparse
import lzma
import random
import resource
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from rapidfuzz import fuzz, process

from hark.documents.memory_file import add_to_memory, open_memory
from hark.documents.similar_texts import SIMILAR


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
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with europarl-en-de/")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--compared", type=int, default=100, help="texts to search for in the whole memory, too")
    parser.add_argument("--kind", choices=("tmx", "sqlite"), default="tmx")
    arguments = parser.parse_args()
    count = arguments.units + arguments.texts
    lines = [read(arguments.data / f"europarl-en-de/train.{code}.xz", count) for code in ("en", "de")]
    units = list(zip(*(side[: arguments.units] for side in lines), strict=True))
    others = [text for text in lines[0][arguments.units :] if text]
    words = [word for text in others for word in text.split()]
    chance = random.Random(1)
    sources = [one for one, _ in units]
    print(f"{len(units):,} units, {sum(len(one) + len(other) for one, other in units) / 1e6:.0f} MB of text")
    with TemporaryDirectory() as folder:
        path = Path(folder, f"memory.{arguments.kind}")
        start = process_time()
        add_to_memory(path, units, "en", "de")
        print(f"write {path.name}: {process_time() - start:.1f} s, {path.stat().st_size / 1e6:.0f} MB; peak {peak()}")
        start = process_time()
        memory = open_memory(path, "en", "de")
        print(f"open: {process_time() - start:.1f} s; peak {peak()}")
        texts = chance.sample(sources, arguments.texts)
        start = process_time()
        found = sum(memory.exact(text) is not None for text in texts)
        spent = process_time() - start
        print(f"exact: {1e6 * spent / len(texts):.0f} µs each, {found} of {len(texts)} found")
        start = process_time()
        memory.similar("the first one builds the index")
        print(f"index of similar texts: {process_time() - start:.1f} s; peak {peak()}")
        for share in (0.1, 0.2, 0.3, None):
            edited = others if share is None else [change(text, words, share, chance) for text in texts]
            times, matches = [], []
            for text in edited:
                start = process_time()
                matches.append(memory.similar(text))
                times.append(process_time() - start)
            name = "not in the memory" if share is None else f"{share:.0%} of words changed"
            start = process_time()
            right = known = 0
            for text, match in list(zip(edited, matches, strict=True))[: arguments.compared]:
                best = process.extractOne(text, sources, scorer=fuzz.ratio, score_cutoff=100 * SIMILAR)
                if best is not None and best[0] != text:
                    known += 1
                    right += match is not None and match.similarity >= round(best[1] / 100, 3) - 1e-9
            whole = (process_time() - start) / max(1, min(arguments.compared, len(edited)))
            print(
                f"{name:20} {1e3 * sum(times) / len(times):.1f} ms each, slowest {1e3 * max(times):.1f} ms; "
                f"{sum(match is not None for match in matches)} of {len(edited)} have a similar text; "
                f"as similar as the best of the whole memory: {right} of {known} ({1e3 * whole:.0f} ms each to search)"
            )


if __name__ == "__main__":
    main()
