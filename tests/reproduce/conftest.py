"""A dataset for experiments that take milliseconds per step."""

from dataclasses import replace

import pytest

from hark import configfile
from hark.config import CorpusConfig
from hark.data.dataset import Dataset
from hark.data.prepare import prepare

WORDS = "the cat dog sees likes a small red house and runs to old tree we you they have".split()  # noqa: SIM905


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Train, dev and test set of a few made-up sentences, which say which set they are of."""
    folder = tmp_path_factory.mktemp("text")
    corpora = {}
    for use, pairs in (("train", 100), ("dev", 3), ("test", 3)):
        lines = [
            " ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(2, 5 + i % 7)) + f" {i} {use}" for i in range(pairs)
        ]
        files = [folder / f"{use}.en", folder / f"{use}.de"]
        files[0].write_text("\n".join(lines) + "\n")
        files[1].write_text("\n".join(line.upper()[::-1] for line in lines) + "\n")
        corpora[use] = (CorpusConfig(str(files[0]), str(files[1]), use),)
    settings = ["data.vocab_size=400", "data.clean.language=1", "data.clean.min_letters=0", "batches.max_length=64"]
    config = configfile.load(None, settings)
    return prepare(replace(config, data=replace(config.data, **corpora)), folder / "dataset", processes=1).dataset
