"""Learning of shortlists: the translations of a token are among its candidates."""

import random
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from hark.bundle import TOKENIZER, Bundle, write_files
from hark.config import CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, prepare
from hark.data.manifest import Shard
from hark.distil import shortlist as learning
from hark.distil.shortlist import learn_shortlist
from hark.errors import UserError
from hark.facts import ShortlistFacts
from hark.shortlist import Shortlist
from hark.translate.load import Loaded
from tests.cli.running import make_runner
from tests.data.material import pairs, write
from tests.translate.bundles import make_bundle

VOCABULARY = 400


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("dataset")
    train, dev = (
        (CorpusConfig(*write(folder, name, pairs(n, seed))),) for name, n, seed in (("t", 900, 1), ("d", 9, 2))
    )
    data = DataConfig(train=train, dev=dev, vocab_size=VOCABULARY, clean=CleanConfig(language=1.0))
    return prepare(Config(data=data), folder / "dataset", processes=1).dataset


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes for a small vocabulary."""
    monkeypatch.setattr(learning, "COMMON", 12)
    monkeypatch.setattr(learning, "CANDIDATES", 6)


class SyntheticDataset:
    """Pairs in which an odd token n is translated by n + 100 and an even one by n + 200 or n + 300, in any order; every
    target also has two of five common tokens."""

    folder = Path("synthetic")

    def __init__(self, pairs: int) -> None:
        chance = random.Random(3)
        self.pairs = []
        for _ in range(pairs):
            source = [chance.randrange(10, 60) for _ in range(chance.randrange(1, 9))]
            target = [n + (100 if n % 2 else chance.choice([200, 300])) for n in source]
            target += chance.choices(range(390, 395), k=2)
            self.pairs.append((np.array(source), np.array(chance.sample(target, len(target)))))

    def shards(self, role: str) -> list[Shard]:
        assert role == "train"
        return [Shard("synthetic", "train", 1.0, len(self.pairs), 1, 0, 0)]

    def store(self, shard: Shard) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        assert shard.name == "synthetic"
        return self.pairs


def test_translations_are_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "COMMON", 5)
    monkeypatch.setattr(learning, "CANDIDATES", 2)
    found = learn_shortlist(cast(Dataset, SyntheticDataset(2000)), VOCABULARY)
    assert found.common.tolist() == [390, 391, 392, 393, 394]
    by_token = [set(found.of(n).tolist()) for n in range(10, 60)]
    for n, candidates in enumerate(by_token, start=10):
        assert {n + 100} <= candidates if n % 2 else {n + 200, n + 300} <= candidates
        assert n in candidates  # itself, since names are copied
    assert all(found.of(n).tolist() == [n] for n in range(60, 390))
    assert len(found.candidates) == 2 * VOCABULARY  # less likely ones fill the rest
    assert max(len(candidates) for candidates in by_token) < 20


@pytest.mark.usefixtures("few")
def test_learning_is_deterministic(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "PAIRS", 300)
    one, two = (learn_shortlist(dataset, VOCABULARY) for _ in range(2))
    assert one.vocabulary_map() == two.vocabulary_map()
    assert learn_shortlist(dataset, VOCABULARY, seed=2).vocabulary_map() != one.vocabulary_map()
    # The size of chunks hardly matters.
    monkeypatch.setattr(learning, "CHUNK", 70)
    parts = learn_shortlist(dataset, VOCABULARY)
    same = np.isin(parts.candidates, one.candidates).mean()
    assert len(parts.candidates) == pytest.approx(len(one.candidates), rel=0.02)
    assert same > 0.98


@pytest.mark.usefixtures("few")
def test_with_separate_vocabularies_a_token_is_not_its_own_candidate(dataset: Dataset) -> None:
    found = learn_shortlist(dataset, VOCABULARY, source_vocab_size=VOCABULARY)
    assert found.of(VOCABULARY - 1).tolist() != [VOCABULARY - 1]
    assert len(found.counts) == VOCABULARY


def test_a_dataset_of_only_long_sentences_is_an_error(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LONGEST", 1)
    with pytest.raises(UserError, match="no sentence has at most 1 tokens on both sides"):
        learn_shortlist(dataset, VOCABULARY)


def test_hark_shortlist(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hark = make_runner("shortlist", tmp_path, {}, monkeypatch, capfd)
    make_bundle(tmp_path / "other")
    refused = hark("other", str(dataset.folder))
    assert refused.returncode == 2
    assert "not the model's tokenizer; prepare it with data.tokenizer=other/tokenizer.model" in refused.stderr
    assert Bundle.open("other").shortlist is None

    bundle = Bundle.open(make_bundle(tmp_path / "model", "de", "en", f"model.vocab_size={VOCABULARY}"))
    write_files(bundle, {TOKENIZER: dataset.tokenizer("target").model})
    done = hark("model", str(dataset.folder))  # prepared in the other direction
    assert done.returncode == 0, done.stderr
    shortlist = Bundle.open("model").shortlist
    assert shortlist is not None
    found = Shortlist.open(shortlist)
    opened = Bundle.open("model")
    assert opened.facts.shortlist == ShortlistFacts(len(found.common), len(found.candidates))
    assert "- Shortlist: " in opened.card
    assert done.stdout == f"model: {len(found.common)} common tokens, {len(found.candidates):,} other candidates\n"
    assert len(list(Loaded(tmp_path / "model", "ctranslate2", precision="int8").translate(["Der Lehrer."]))) == 1
    assert "already has a shortlist; replace it with --force" in hark("model", str(dataset.folder)).stderr
    assert hark("model", str(dataset.folder), "--force").returncode == 0
