"""The token store reads back what was written, at any index, and refuses incomplete stores."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.data.store import FEW, ONE_SIDED, SIDES, Sentences, StoreWriter, TokenStore
from hark.errors import HarkError, UserError
from tests.data.stores import store_of

SOURCES = [[5, 6, 7], [], [8], [65535, 0]]
TARGETS = [[9], [10, 11], [], [12, 13, 14, 15]]


def write(folder: Path, vocab_size: int = 65536) -> Path:
    with StoreWriter(folder, vocab_size) as writer:
        writer.append(SOURCES[:1], TARGETS[:1])
        writer.append(SOURCES[1:], TARGETS[1:])
    return folder


def test_text_of_one_side(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "store", 65536, ONE_SIDED) as writer:
        writer.append(TARGETS[:3])
        writer.append_packed(Sentences.pack(TARGETS[3:]))
    store = TokenStore.open(tmp_path / "store")
    assert [[side.tolist() for side in store[i]] for i in range(len(store))] == [[target] for target in TARGETS]
    assert (store.sides, store.target_lengths.tolist()) == (ONE_SIDED, [1, 2, 0, 4])
    assert sorted(path.name for path in store.folder.iterdir()) == ["store.json", "target.offsets", "target.tokens"]


@pytest.mark.parametrize(("vocab_size", "dtype"), [(65536, "<u2"), (65537, "<u4")])
def test_reads_back_what_was_written(tmp_path: Path, vocab_size: int, dtype: str) -> None:
    store = TokenStore.open(write(tmp_path / "store", vocab_size))
    assert len(store) == 4
    assert [(list(source), list(target)) for source, target in store] == list(zip(SOURCES, TARGETS, strict=True))
    assert [list(side) for side in store[-1]] == [SOURCES[-1], TARGETS[-1]]
    assert store[0][0].dtype == np.dtype(dtype)
    assert store.source_lengths.tolist() == [3, 0, 1, 2]
    assert store.target_lengths.tolist() == [1, 2, 0, 4]
    assert store.source_lengths.dtype == np.int32
    with pytest.raises(IndexError):
        store[4]


def test_file_format_is_as_documented(tmp_path: Path) -> None:
    folder = write(tmp_path / "store")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"], "no temporary files remain"
    assert np.fromfile(folder / "source.tokens", "<u2").tolist() == list(chain(*SOURCES))
    assert np.fromfile(folder / "target.offsets", "<i8").tolist() == [0, 1, 3, 3, 7]
    about = json.loads((folder / "store.json").read_text())
    assert about == {"format": 1, "dtype": "uint16", "pairs": 4, "source_tokens": 6, "target_tokens": 7}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20),
    st.lists(st.integers(0, 19), max_size=30),
    st.sampled_from(["source", "target"]),
    st.sampled_from([None, 3]),
)
def test_gather_concatenates_single_sentences(
    lengths: list[tuple[int, int]], chosen: list[int], side: str, end: int | None
) -> None:
    store = store_of(lengths)
    indices = np.array([index % len(lengths) for index in chosen], np.int64)
    sentences = [[*store[index][side == "target"], *([] if end is None else [end])] for index in indices]
    flat, widths = store.gather(indices, side, end=end)
    assert flat.tolist() == list(chain(*sentences))
    assert widths.tolist() == [len(sentence) for sentence in sentences]


@pytest.mark.parametrize("end", [None, 3])
@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1])
def test_write_copies_what_gather_returns(count: int, end: int | None) -> None:
    store = store_of([(n % 5, n % 3) for n in range(40)])
    indices = np.random.default_rng(count).integers(0, 40, count)
    for side in SIDES:
        flat, widths = store.gather(indices, side, end=end)
        out = np.full(len(flat) + 2, -1, np.int32)
        assert store.write(indices, side, out, end) == widths.tolist()
        assert out.tolist() == [*flat.tolist(), -1, -1]


def test_an_empty_store(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "store", 100):
        pass
    store = TokenStore.open(tmp_path / "store")
    assert len(store) == 0
    assert store.source_lengths.tolist() == []


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError), StoreWriter(tmp_path / "store", 100) as writer:
        writer.append([[1]], [None])  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_store_is_invisible_and_replaceable(tmp_path: Path) -> None:
    killed = StoreWriter(tmp_path / "store", 100)
    killed.append([[1]], [[2]])
    with pytest.raises(UserError, match=r"store: not a token store: store\.json is missing"):
        TokenStore.open(tmp_path / "store")
    assert len(TokenStore.open(write(tmp_path / "store"))) == 4
    killed.discard()


def test_an_existing_store_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "store")
    with pytest.raises(UserError, match="already exists"):
        StoreWriter(tmp_path / "store", 100)


def test_an_unwritable_location_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HarkError, match="cannot write"):
        StoreWriter(tmp_path / "file" / "store", 100)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path / "store", 100)
    writer._files["source.tokens"] = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(HarkError, match="cannot write the token store: No space left"):
        writer.append([[1] * 100_000], [[1]])
    writer.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ids", [[100], [-1]])
def test_ids_outside_the_vocabulary_are_refused(tmp_path: Path, ids: list[int]) -> None:
    with pytest.raises(ValueError, match="vocabulary"), StoreWriter(tmp_path / "store", 100) as writer:
        writer.append([ids], [[1]])


def test_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 sources but 1 targets"), StoreWriter(tmp_path / "store", 100) as writer:
        writer.append([[1], [2]], [[1]])


@pytest.mark.parametrize("name", ["source.tokens", "target.tokens", "source.offsets", "target.offsets"])
@pytest.mark.parametrize("damage", ["truncate", "lengthen", "remove"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    path = write(tmp_path / "store") / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] if damage == "truncate" else content + b"\0\0")
    if damage == "remove":
        path.unlink()
    with pytest.raises(UserError, match=name.replace(".", r"\.")) as raised:
        TokenStore.open(tmp_path / "store")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "about",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "dtype": "float64", "pairs": 1}',
        '{"format": 1, "dtype": "uint16"}',
    ],
)
def test_an_invalid_store_json_is_refused(tmp_path: Path, about: str) -> None:
    (write(tmp_path / "store") / "store.json").write_text(about)
    with pytest.raises(UserError, match=r"store\.json") as raised:
        TokenStore.open(tmp_path / "store")
    assert "\n" not in str(raised.value)


def test_offsets_of_another_store_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "store")
    np.array([0, 1, 2, 3, 4], "<i8").tofile(folder / "source.offsets")
    with pytest.raises(UserError, match="damaged"):
        TokenStore.open(folder)


def test_reversed_exchanges_source_and_target(tmp_path: Path) -> None:
    store = TokenStore.open(write(tmp_path / "store"))
    back = store.reversed()
    assert [(list(source), list(target)) for source, target in back] == list(zip(TARGETS, SOURCES, strict=True))
    assert back.source_lengths.tolist() == store.target_lengths.tolist()
    assert back.n_tokens("source") == store.n_tokens("target") == 7


@given(st.lists(st.integers(0, 3), max_size=9))
def test_sentences_returns_lists_of_ids(rows: list[int]) -> None:
    store = store_of([(3, 1), (0, 2), (1, 0), (2, 4)])
    indices = np.array(rows, np.int64)
    assert store.sentences(indices, "target") == [store[i][1].tolist() for i in rows]


def test_packed_sentences_write_the_same_files(tmp_path: Path) -> None:
    write(tmp_path / "one")
    with StoreWriter(tmp_path / "two", 65536) as writer:
        writer.append_packed(Sentences.pack(SOURCES), Sentences.pack(TARGETS))
        with pytest.raises(ValueError, match="2 sources but 1 targets"):
            writer.append_packed(Sentences.pack(SOURCES[:2]), Sentences.pack(TARGETS[:1]))
    assert Sentences.pack(SOURCES).unpack() == SOURCES
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
