"""What each cleaning rule drops from mostly good text, and the time per pair.

python -m benchmarks.cleaning FOLDER    FOLDER holds europarl-en-de/ (every 6th pair is taken) and tatoeba-en-de/
"""

import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from hark.config import CleanConfig, CorpusConfig
from hark.data.corpus import read_pairs
from hark.data.filters import Cleaner


def main() -> None:
    clean = Cleaner(CleanConfig(), "en", "de")
    for name, stride in (("tatoeba-en-de", 1), ("europarl-en-de", 6)):
        folder = Path(sys.argv[1]) / name
        corpus = CorpusConfig(str(folder / "train.en.xz"), str(folder / "train.de.xz"))
        pairs = list(islice(read_pairs(corpus, "en", "de"), 0, None, stride))
        start = time.process_time()
        dropped = Counter(clean(source, target).rule for source, target in pairs)
        seconds = time.process_time() - start
        rules = ", ".join(f"{rule} {count}" for rule, count in dropped.most_common() if rule)
        print(f"{name}: {len(pairs):,} pairs, {1e6 * seconds / len(pairs):.0f} us each; dropped: {rules or 'none'}")


if __name__ == "__main__":
    main()
