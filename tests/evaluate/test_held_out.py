"""Test sets from files, compressed files and prepared datasets."""

import lzma
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.evaluate.held_out import HeldOutSet, read_hypotheses, read_sets, sets_of
from hark.evaluate.systems import read_systems


def write(path: Path, text: str) -> Path:
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


def test_a_set_is_named_after_its_files_and_may_be_compressed(tmp_path: Path) -> None:
    source, reference = write(tmp_path / "news.en.xz", "a\n\nb"), write(tmp_path / "news.de", "A\n\nB\n")
    assert read_sets([source], [reference]) == [HeldOutSet("news", ("a", "", "b"), ("A", "", "B"))]
    assert [each.name for each in read_sets([source] * 2, [reference] * 2, ["one", "two"])] == ["one", "two"]


def test_files_of_different_length_are_errors(tmp_path: Path) -> None:
    source, reference = write(tmp_path / "a.en", "a\nb\nc\n"), write(tmp_path / "a.de", "A\nB\n")
    with pytest.raises(UserError, match=r"a\.en has 3 lines but .*a\.de has 2"):
        read_sets([source], [reference])
    with pytest.raises(UserError, match="2 --source but 1 --reference"):
        read_sets([source, source], [reference])
    with pytest.raises(UserError, match="2 --name for 1 --source"):
        read_sets([source], [reference], ["x", "y"])
    with pytest.raises(UserError, match=r"other\.de has 1 lines but a has 2"):
        read_hypotheses(write(tmp_path / "other.de", "A\n"), HeldOutSet("a", ("a", "b"), ("A", "B")))


def test_invalid_files_are_errors(tmp_path: Path) -> None:
    good, empty = write(tmp_path / "a.en", "a\n"), write(tmp_path / "b.en", "")
    bad = tmp_path / "a.de"
    bad.write_bytes("Grüße, und noch etwas mehr Text\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"a\.de:1: not UTF-8"):
        read_sets([good], [bad])
    with pytest.raises(UserError, match="are empty"):
        read_sets([empty], [empty])
    with pytest.raises(UserError, match="no such file"):
        read_sets([good], [tmp_path / "nowhere"])


class Prepared:
    """A stub of a dataset."""

    class Shard:
        languages = None

        def __init__(self, name: str, pairs: int) -> None:
            self.name, self.pairs = name, pairs

    folder = Path("prepared")

    def __init__(self, *sets: str) -> None:
        self.sets = sets

    def shards(self, role: str) -> list[Shard]:
        return [self.Shard(name, 1) for name in self.sets] if role == "test" else []

    def text(self, shard: Shard, side: str) -> list[str]:
        return [f"{shard.name} {side}"]


def test_a_dataset_has_all_its_test_sets() -> None:
    assert sets_of(Prepared("a", "b")) == [  # type: ignore[arg-type]
        HeldOutSet("a", ("a source",), ("a target",)),
        HeldOutSet("b", ("b source",), ("b target",)),
    ]
    with pytest.raises(UserError, match="prepared: has no test sets"):
        sets_of(Prepared())  # type: ignore[arg-type]


def test_files_of_one_name_are_one_system(tmp_path: Path) -> None:
    sets = [HeldOutSet(name, ("a",), ("A",)) for name in ("first", "second")]
    x, y = write(tmp_path / "x.de", "X\n"), write(tmp_path / "y.de", "Y\n")
    (system,) = read_systems([f"other={x}", f"other={y}"], sets)
    assert (system.name, system.texts) == ("other", {"first": ("X",), "second": ("Y",)})
    with pytest.raises(UserError, match="other: 1 files for 2 test sets"):
        read_systems([f"other={x}"], sets)


def test_a_system_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    sets = [HeldOutSet("first", ("a",), ("A",))]
    for name in ("plain.de", "a=b.de"):
        file = write(tmp_path / name, "A\n")
        assert read_systems([str(file)], sets)[0].name == name
    assert read_systems([f"={tmp_path / 'plain.de'}"], sets)[0].name == "plain.de"
