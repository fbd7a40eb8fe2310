"""Datasets of running text: what becomes a document, what is dropped, what is held out, and that nothing is lost."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hark.config import Config, CorpusConfig, DataConfig, Documents
from hark.data import Dataset, prepare
from hark.data.documents import read_documents, split_off
from hark.data.text_build import cut
from hark.errors import UserError
from hark.text.byte_pairs import BytePairs

LINES = [f"Line {number} says that {number * 7} cats saw the old house.\tYes!" for number in range(400)]


def config_of(file: Path, documents: Documents = "line", dev_share: float = 0.0, **changes: object) -> Config:
    data = DataConfig(
        source="", target="en", documents=documents, dev_share=dev_share, vocab_size=300,
        train=(CorpusConfig(str(file)),),
    )  # fmt: skip
    return Config(data=replace(data, **changes))  # type: ignore[arg-type]


def text_of(dataset: Dataset, name: str) -> list[str]:
    """The documents of a shard, decoded byte by byte."""
    shard = next(each for each in dataset.manifest.shards if each.name == name)
    store, vocabulary = dataset.store(shard), dataset.tokenizer("target")
    decoder = BytePairs(b"#version")
    return [
        decoder.decode_pieces(vocabulary.pieces(store[i][0].tolist())).replace("\u2581", " ") for i in range(len(store))
    ]


@pytest.mark.parametrize("processes", [1, 2])
def test_every_document_comes_back(tmp_path: Path, processes: int) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n")
    dataset = prepare(config_of(tmp_path / "text.txt"), tmp_path / "data", processes).dataset
    assert text_of(dataset, "text") == LINES
    (shard,) = dataset.manifest.shards
    assert (shard.pairs, shard.bytes) == (400, sum(map(len, LINES)))
    assert dataset.text_report.kept == 400
    assert "400" in (tmp_path / "data" / "report.html").read_text()


def test_a_file_is_one_document_and_its_end_the_dev_set(tmp_path: Path) -> None:
    text = "\n".join(LINES)
    (tmp_path / "text.txt.xz").write_bytes(lzma.compress(text.encode()))
    dataset = prepare(config_of(tmp_path / "text.txt.xz", "file", 0.1), tmp_path / "data", 1).dataset
    (train,), (dev,) = text_of(dataset, "text"), text_of(dataset, "text-end")
    assert train + dev == text
    assert train.endswith("\n")
    assert len(dev) == pytest.approx(0.1 * len(text), abs=80)


def test_some_of_many_documents_are_the_dev_set(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    dataset = prepare(config_of(tmp_path / "text.txt", dev_share=0.2), tmp_path / "data", 1).dataset
    train, dev = text_of(dataset, "text"), text_of(dataset, "text-end")
    assert sorted(train + dev) == sorted(LINES)
    assert 50 < len(dev) < 110


def test_documents_by_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\n\nthree\n")
    kinds: list[Documents] = ["file", "paragraph", "line"]
    assert [list(read_documents(tmp_path / "a.txt", kind)) for kind in kinds] == [
        ["one\ntwo\n\n\nthree"], ["one\ntwo", "three"], ["one", "two", "", "", "three"],
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text('{"text": "one\\n\\ntwo"}\n\n{"text": "three"}\n')
    assert list(read_documents(tmp_path / "a.jsonl", "line")) == ["one\n\ntwo", "three"]
    (tmp_path / "b.jsonl").write_text('{"text": "one"}\n{"words": 2}\n')
    with pytest.raises(UserError, match=r"b\.jsonl:2: expected a JSON object"):
        list(read_documents(tmp_path / "b.jsonl", "line"))


def test_what_is_dropped_is_counted(tmp_path: Path) -> None:
    dirty = [*LINES[:50], "", LINES[7], "Wer schÃ¶n ist", "  dev   sentence "]
    (tmp_path / "text.txt").write_text("\n".join(dirty))
    (tmp_path / "dev.txt").write_text("dev sentence\n")
    config = config_of(tmp_path / "text.txt", dev=(CorpusConfig(str(tmp_path / "dev.txt")),))
    dataset = prepare(config, tmp_path / "data", 1).dataset
    assert dataset.text_report.dropped == {"empty": 1, "duplicates": 1, "garbled": 1, "held_out": 1}
    assert text_of(dataset, "text") == LINES[:50]
    assert text_of(dataset, "dev") == ["dev sentence"]


def test_the_same_settings_do_nothing_and_others_are_another_dataset(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    config = config_of(tmp_path / "text.txt")
    assert prepare(config, tmp_path / "data", 1).created
    assert not prepare(config, tmp_path / "data", 1).created
    with pytest.raises(UserError, match="data"):
        prepare(config_of(tmp_path / "text.txt", "file"), tmp_path / "data", 1)


def test_a_vocabulary_can_be_used_again(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    first = prepare(config_of(tmp_path / "text.txt"), tmp_path / "first", 1).dataset
    again = config_of(tmp_path / "text.txt", "file", tokenizer=str(tmp_path / "first" / "pieces.json"))
    second = prepare(again, tmp_path / "second", 1).dataset
    assert second.tokenizer("target").sha256 == first.tokenizer("target").sha256


def test_wrong_text_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(UserError, match="no text"):
        prepare(config_of(tmp_path / "empty.txt"), tmp_path / "data", 1)
    with pytest.raises(UserError, match="no such file"):
        prepare(config_of(tmp_path / "missing.txt"), tmp_path / "data", 1)
    (tmp_path / "text.txt").write_text("one")
    pair = CorpusConfig(str(tmp_path / "text.txt"), str(tmp_path / "text.txt"))
    with pytest.raises(UserError, match="text has one file"):
        prepare(config_of(tmp_path / "text.txt", train=(pair,)), tmp_path / "data", 1)


def test_pieces_of_a_long_text_are_encoded_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.data.text_build.PIECE", 100)
    text = "\n".join(line if number % 9 else f"\n  {line}\n" for number, line in enumerate(LINES))
    pieces = list(cut(text))
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.ends for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert len(pieces) > 100
    encode = BytePairs(b"#version\n\xe2\x96\x81 t").encode
    assert [token for piece in pieces for token in encode(piece.text)] == encode(text)


def test_a_text_is_divided_at_a_line_break() -> None:
    assert split_off("aaaa\nbbbb\ncccc\n", 0.3) == ("aaaa\nbbbb\n", "cccc\n")
    assert split_off("no break", 0.5) == ("no break", "")


def test_a_report_counts_tokens_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    dataset = prepare(config_of(tmp_path / "text.txt"), tmp_path / "data", 1).dataset
    (corpus,) = json.loads((tmp_path / "data" / "report.json").read_text())["corpora"]
    store = dataset.store(dataset.manifest.shards[0])
    assert corpus["tokens"] == int(np.sum(store.lengths("target")))
    assert corpus["documents"] == len(store)
