"""The text of an experiment: a dataset, or the files of the recipe in a folder."""

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.reproduce.corpora import describe_text, open_text, recipe_config, sample_config
from hark.reproduce.scales import MEDIUM, TINY
from tests.reproduce.conftest import WORDS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The recipe's training text and dev set, and one of its test sets."""
    files = ("europarl-en-de/train", "tatoeba-en-de/train", "europarl-en-de/dev", "tatoeba-en-de/test")
    for number, name in enumerate(files):
        for side in ("en", "de"):
            path = tmp_path / "text" / f"{name}.{side}.xz"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [" ".join(WORDS[(i * k + number) % len(WORDS)] for k in range(3, 7 + i % 3)) for i in range(30)]
            text = "".join(f"{side} {line} {i} {number}\n" for i, line in enumerate(lines))
            path.write_bytes(lzma.compress(text.encode()))
    return tmp_path / "text"


def test_the_recipe_is_found_in_a_folder(folder: Path, tmp_path: Path) -> None:
    config = recipe_config(folder)
    assert [each.name for each in config.data.train] == ["europarl", "tatoeba"]
    assert [each.name for each in config.data.test] == ["tatoeba-test"]
    assert config.data.train[0].source == str(folder / "europarl-en-de" / "train.en.xz")
    dataset = open_text(replace(TINY, vocab_size=330), folder, tmp_path / "out")
    assert describe_text(dataset).startswith("europarl, tatoeba (en-de, ")
    again = open_text(replace(TINY, vocab_size=330), folder, tmp_path / "out")
    assert again.manifest.key == dataset.manifest.key


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "tatoeba-en-de" / "train.de.xz").unlink()
    with pytest.raises(UserError, match=r"no \S+tatoeba-en-de/train.de.xz"):
        recipe_config(folder)


def test_a_folder_without_test_sets_is_refused(folder: Path) -> None:
    (folder / "tatoeba-en-de" / "test.de.xz").unlink()
    with pytest.raises(UserError, match="none of the test sets"):
        recipe_config(folder)


def test_a_dataset_is_used_as_it_is(text: Dataset, tmp_path: Path) -> None:
    assert open_text(MEDIUM, text.folder, tmp_path).manifest == text.manifest


def test_the_sample_has_all_three_sets() -> None:
    data = sample_config().data
    assert all(Path(each.source).exists() for each in (*data.train, *data.dev, *data.test))
    assert [len(each) for each in (data.train, data.dev, data.test)] == [1, 1, 1]
