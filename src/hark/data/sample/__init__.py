"""A small English-German corpus bundled with the package: 20,000 training, 1,000 dev and 1,000 test pairs.

From Tatoeba, CC BY 2.0 FR; see README.md in this folder.
"""

from pathlib import Path

SOURCE, TARGET = "en", "de"


def paths() -> dict[str, tuple[str, str]]:
    """Return the source and target file of `train`, `dev` and `test`, as `CorpusConfig` takes them."""
    folder = Path(__file__).parent
    return {
        use: (str(folder / f"{use}.{SOURCE}.xz"), str(folder / f"{use}.{TARGET}.xz"))
        for use in ("train", "dev", "test")
    }
