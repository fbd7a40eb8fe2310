"""A small English-German corpus that the package carries: 20,000 pairs to learn from, 1,000 dev and 1,000 test.

From Tatoeba, CC BY 2.0 FR; see README.md beside this file.
"""

from pathlib import Path

SOURCE, TARGET = "en", "de"


def paths() -> dict[str, tuple[str, str]]:
    """The files of both sides, by use: `train`, `dev` and `test`. A `CorpusConfig` takes them as they are."""
    folder = Path(__file__).parent
    return {
        use: (str(folder / f"{use}.{SOURCE}.xz"), str(folder / f"{use}.{TARGET}.xz"))
        for use in ("train", "dev", "test")
    }
