"""Choose the sample of Tatoeba that comes with the package (src/hark/data/sample).

    python -m tools.make_sample FOLDER

FOLDER holds train.en.xz, train.de.xz, test.en.xz and test.de.xz: sentences of Tatoeba, where test is the test set of
the Tatoeba Challenge. The same input gives the same files, byte for byte.
"""

import argparse
import lzma
import random
from pathlib import Path

from hark.config import CleanConfig
from hark.data.filters import Cleaner
from hark.data.held_out import HeldOut
from tools.corpus_files import Pair, read_pairs

SEED = 2017
TRAIN, DEV, TEST = 20_000, 1_000, 1_000
OUTPUT = Path(__file__).parent.parent / "src" / "hark" / "data" / "sample"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rng = random.Random(SEED)

    # No sentence of dev or test occurs twice, on either side, so the two sets are disjoint.
    held_out_pairs = choose(list(read_pairs(folder / "test")), DEV + TEST, rng, distinct_sides=True)
    held_out = HeldOut()
    for source, target in held_out_pairs:
        held_out.add(source, target)
    train = choose(list(read_pairs(folder / "train")), TRAIN, rng, held_out=held_out)

    write_pairs("train", train)
    write_pairs("dev", held_out_pairs[:DEV])
    write_pairs("test", held_out_pairs[DEV:])


def choose(
    pairs: list[Pair], number: int, rng: random.Random, distinct_sides: bool = False, held_out: HeldOut | None = None
) -> list[Pair]:
    """Choose clean, distinct pairs at random: the files are sorted by length."""
    clean = Cleaner(CleanConfig(), "en", "de", held_out)
    chosen: list[Pair] = []
    seen, taken = HeldOut(), set[Pair]()
    rng.shuffle(pairs)
    for pair in pairs:
        verdict = clean(*pair)
        pair = verdict.source, verdict.target
        if verdict.rule is None and pair not in taken and not (distinct_sides and seen.has(*pair)):
            chosen.append(pair)
            taken.add(pair)
            seen.add(*pair)
        if len(chosen) == number:
            return chosen
    raise SystemExit(f"only {len(chosen)} of {number} pairs found")


def write_pairs(name: str, pairs: list[Pair]) -> None:
    for side, language in enumerate(("en", "de")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (OUTPUT / f"{name}.{language}.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
