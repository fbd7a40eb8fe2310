from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.data.duplicates import BUFFER, DuplicateFinder, pair_hash
from hark.errors import HarkError


def repeats(hashes: list[bytes]) -> list[int]:
    """Reference implementation with a set."""
    seen: set[bytes] = set()
    found = []
    for index, each in enumerate(hashes):
        if each in seen:
            found.append(index)
        seen.add(each)
    return found


few_pairs = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), max_size=60)


@settings(max_examples=60, deadline=None)
@given(few_pairs, st.sampled_from([1, 2, 16, 256]), st.integers(1, 20), st.integers(1, 7), st.randoms())
def test_agrees_with_the_reference(pairs, partitions, buffer, chunk, chance) -> None:  # type: ignore[no-untyped-def]
    hashes = [pair_hash(*pair) for pair in pairs]
    chunks = [(start, hashes[start : start + chunk]) for start in range(0, len(hashes), chunk)]
    chance.shuffle(chunks)  # workers finish in any order
    with TemporaryDirectory() as folder:
        finder = DuplicateFinder(Path(folder), partitions=partitions, buffer=buffer)
        for start, part in chunks:
            finder.add(start, part)
        found = finder.find()
    assert found.dtype == np.int64
    assert found.tolist() == repeats(hashes)


@pytest.mark.parametrize("buffer", [BUFFER, 3000])
def test_many_pairs_with_default_partitions(tmp_path: Path, buffer: int) -> None:
    """In memory and in files."""
    chance = np.random.default_rng(1)
    hashes = [pair_hash("s", str(number)) for number in chance.integers(0, 5000, 20_000)]
    finder = DuplicateFinder(tmp_path, buffer=buffer)
    for start in range(0, len(hashes), 999):
        finder.add(start, hashes[start : start + 999])
    assert finder.find().tolist() == repeats(hashes)
    assert any(tmp_path.iterdir()) == (buffer < len(hashes))


@pytest.mark.parametrize("buffer", [BUFFER, 1])
def test_hashes_with_equal_first_halves_are_distinguished(tmp_path: Path, buffer: int) -> None:
    finder = DuplicateFinder(tmp_path, buffer=buffer)
    finder.add(0, [b"\xff" * 8 + b"a" * 8, b"\xff" * 8 + b"b" * 8, b"\xff" * 8 + b"a" * 8])
    assert finder.find().tolist() == [2]


def test_memory_is_bounded_by_the_buffer(tmp_path: Path) -> None:
    finder = DuplicateFinder(tmp_path, buffer=10)
    for start in range(0, 100, 5):
        finder.add(start, [pair_hash("s", str(start + offset)) for offset in range(5)])
        assert finder.n_pending < 10
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == 100 * 24


def test_leftovers_of_a_killed_run_are_ignored(tmp_path: Path) -> None:
    killed = DuplicateFinder(tmp_path)
    killed.add(0, [pair_hash("a", "b")])
    killed.flush()
    finder = DuplicateFinder(tmp_path, buffer=1)
    finder.add(5, [pair_hash("a", "b")])
    assert finder.find().tolist() == []


def test_no_hashes_no_duplicates(tmp_path: Path) -> None:
    finder = DuplicateFinder(tmp_path)
    finder.add(0, [])
    assert finder.find().tolist() == []


def test_hash_depends_on_where_the_source_ends() -> None:
    assert pair_hash("ab", "c") != pair_hash("a", "bc")
    assert pair_hash("", "1 a") != pair_hash("1 a", "")
    assert len(pair_hash("a", "b")) == 16


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    finder = DuplicateFinder(tmp_path / "missing", buffer=1)
    with pytest.raises(HarkError, match="missing: cannot write"):
        finder.add(0, [pair_hash("a", "b")])
