"""Vocabulary shortlists: their file, and CTranslate2's format."""

from pathlib import Path

import numpy as np
import pytest

from hark.errors import UserError
from hark.shortlist import Shortlist


def shortlist() -> Shortlist:
    return Shortlist(
        np.array([3, 7], np.uint16), np.array([0, 2, 0, 3, 1], np.uint8), np.array([9, 300, 1, 2, 8, 4], np.uint16)
    )


def test_candidates_of_a_token() -> None:
    candidates = [shortlist().of(source).tolist() for source in range(5)]
    assert candidates == [[], [9, 300], [], [1, 2, 8], [4]]


def test_the_format_of_ctranslate2() -> None:
    assert shortlist().vocabulary_map() == b"\t3 7\n1\t9 300\n3\t1 2 8\n4\t4"


def test_a_shortlist_round_trips_through_its_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(shortlist().to_bytes())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert Shortlist.open(tmp_path / "one").vocabulary_map() == shortlist().vocabulary_map()


def test_an_invalid_file_is_a_one_line_error(tmp_path: Path) -> None:
    path = tmp_path / "shortlist.npz"
    path.write_bytes(shortlist().to_bytes())
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    short = Shortlist(np.zeros(1, np.uint16), np.array([5], np.uint8), np.zeros(2, np.uint16))
    (tmp_path / "short.npz").write_bytes(short.to_bytes())
    others = [(tmp_path / name).read_bytes() for name in ("other.npz", "short.npz")]
    for content in (b"", b"hello", whole[: len(whole) // 2], *others):
        path.write_bytes(content)
        with pytest.raises(UserError, match="not a valid shortlist: ") as refused:
            Shortlist.open(path)
        assert "\n" not in str(refused.value)
