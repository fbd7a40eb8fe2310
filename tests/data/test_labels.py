"""Text with labels: what files may look like, the dataset made of them, and its batches."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hark.config import BatchConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, prepare
from hark.data.labelled import UNLABELLED
from hark.data.labels import read_labelled
from hark.errors import UserError
from hark.facts import LabelFacts, LabelsOf

TEXTS = [f"Line {number} says {'no' if number % 3 else 'yes'} to {number * 7} cats." for number in range(200)]
LABELS = ["no" if number % 3 else "yes" for number in range(200)]
LINES = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
SENTENCES = [[(f"word{number}", "NN"), ("un-believably", "RB"), (".", "O")][: 1 + number % 3] for number in range(90)]


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def conll(sentences: list[list[tuple[str, str]]]) -> list[str]:
    return [line for sentence in sentences for line in (*("\t".join(pair) for pair in sentence), "")]


def prepared(tmp_path: Path, of: LabelsOf, *lines: str, dev: tuple[str, ...] = (), processes: int = 1) -> Dataset:
    corpora = {"train": (CorpusConfig(str(write(tmp_path / "train.tsv", *lines))),)}
    if dev:
        corpora["dev"] = (CorpusConfig(str(write(tmp_path / "dev.tsv", *dev))),)
    data = DataConfig(
        source="", target="en", documents="line" if of == "text" else "paragraph", labels=of, vocab_size=300
    )
    return prepare(Config(data=replace(data, **corpora)), tmp_path / "data", processes).dataset


def test_lines_of_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "text\tlabel", " one \tA", "", "two\t B ")
    assert [(each.parts, each.labels, each.where) for each in read_labelled(path, "text")] == [
        (("one",), ("A",), f"{path}:2"), (("two",), ("B",), f"{path}:4"),
    ]  # fmt: skip
    path = write(tmp_path / "b.tsv", "one\ttwo\tA", "three\tfour\tB")
    assert [each.parts for each in read_labelled(path, "text")] == [("one", "two"), ("three", "four")]


def test_lines_of_words(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "# a comment", "A\tDT", "cat\tNN", "", "", "Run\tVB", "#\tSYM")
    assert [(each.parts, each.labels, each.where) for each in read_labelled(path, "words")] == [
        (("A", "cat"), ("DT", "NN"), f"{path}:2"), (("Run", "#"), ("VB", "SYM"), f"{path}:6"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "lines", "message"),
    [
        ("text", ["a\tA", "b"], r"train\.tsv:2: 1 column; expected a text, a tab and its label"),
        ("text", ["a\tA", "b\tc\td\tB"], r"train\.tsv:2: 4 columns"),
        ("text", ["a\tA", "b\tc\tB"], r"train\.tsv:2: 3 columns, but the lines before have 2"),
        ("text", ["a\tA", "b\t "], r"train\.tsv:2: no label after the last tab"),
        ("text", ["label\ttext", "A\ta"], r"train\.tsv:1: the columns are label, then text; expected a text, a tab"),
        ("text", [f"{'AB'[i % 2]}\ttext {i}" for i in range(50)], r"50 labels for 50 texts; are the columns swapped"),
        ("text", ["a\tA", "b\tA"], "has one label, A"),
        ("text", ["", ""], "no text with labels"),
        ("words", ["A\tDT", "cat NN"], r"train\.tsv:2: expected a word, a tab and its tag"),
        ("words", ["A\tDT", "\tNN"], r"train\.tsv:2: expected a word, a tab and its tag"),
        ("words", ["a good film\tyes", "a bad film\tno"], "most words have spaces, so they are texts"),
        ("words", ["tag\tword", "DT\tA"], r"train\.tsv:1: the columns are tag, then word"),
    ],
)
def test_other_lines_are_one_line_errors(tmp_path: Path, of: LabelsOf, lines: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        prepared(tmp_path, of, *lines)


def test_labels_of_a_dev_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"dev\.tsv:2: the label 'perhaps' is in no training text"):
        prepared(tmp_path, "text", *LINES, dev=("a\tno", "b\tperhaps"))
    tags = prepared(tmp_path, "words", *conll(SENTENCES), dev=("rare\tXX",)).manifest.labels
    assert tags is not None
    assert tags.names == ("NN", "O", "RB", "XX")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_dataset_of_texts(tmp_path: Path, processes: int) -> None:
    """Every text is encoded after a start token, which has the label; what is repeated or held out is dropped."""
    more = (LINES[3], f"{TEXTS[4]}\tyes", "held   out\tno", "\tno")
    dataset = prepared(tmp_path, "text", *LINES, *more, dev=("held out\tyes",), processes=processes)
    assert dataset.manifest.labels == LabelFacts("text", ("no", "yes"))
    assert dataset.text_report.dropped == {"duplicates": 2, "empty": 1, "held_out": 1}
    train, dev = (each for role in ("train", "dev") for each in dataset.shards(role))  # type: ignore[arg-type]
    store, words = dataset.store(train), dataset.tokenizer("target")
    assert len(store) == 200
    for number in range(200):
        tokens, labels = store[number]
        assert tokens.tolist() == words.enclose(words.encode_one(TEXTS[number]))[:-1]
        assert labels.tolist() == [1 + (LABELS[number] == "yes"), *[0] * (len(tokens) - 1)]
    assert dataset.text_report.labels("train") == {"no": 133, "yes": 67}
    assert dataset.text_report.labels("dev") == {"yes": 1, "no": 0}
    assert (len(dataset.store(dev)), dataset.manifest.is_text) == (1, True)
    page = (tmp_path / "data" / "report.html").read_text()
    assert "<td>no</td><td>133</td><td>66.5%</td><td>0</td>" in page


def test_a_dataset_of_words(tmp_path: Path) -> None:
    """The first token of each word has its tag."""
    dataset = prepared(tmp_path, "words", *conll(SENTENCES))
    labels, words = dataset.manifest.labels, dataset.tokenizer("target")
    assert labels is not None
    kept = {" ".join(word for word, _ in sentence): sentence for sentence in SENTENCES}
    (shard,) = dataset.shards("train")
    store = dataset.store(shard)
    assert len(store) == len(kept) == 90
    for number, sentence in enumerate(kept.values()):
        tokens, numbers = store[number]
        assert tokens[0] == words.special.start
        text = " ".join(word for word, _ in sentence)
        assert words.decode_one(tokens[1:].tolist()) == text
        places = np.flatnonzero(numbers).tolist()
        assert [labels.names[numbers[place] - 1] for place in places] == [tag for _, tag in sentence]
        pieces = [tokens[begin:end] for begin, end in zip(places, [*places[1:], len(tokens)], strict=True)]
        assert [words.decode_one(each.tolist()).strip() for each in pieces] == [word for word, _ in sentence]


def test_a_dataset_of_pairs_of_texts(tmp_path: Path) -> None:
    dataset = prepared(tmp_path, "text", *(f"a {text}\tb\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)))
    assert dataset.manifest.labels == LabelFacts("text", ("no", "yes"), pairs=True)
    words = dataset.tokenizer("target")
    tokens = dataset.store(dataset.shards("train")[0])[0][0].tolist()
    ours = [words.special.start, *words.encode_one(f"a {TEXTS[0]}"), words.special.end, *words.encode_one("b")]
    assert tokens == ours


@pytest.mark.parametrize("of", ["text", "words"])
def test_batches(tmp_path: Path, of: LabelsOf) -> None:
    """Each text is once in an epoch, with its own labels; shapes are the same, and batch i depends on i alone."""
    dataset = prepared(tmp_path, of, *(LINES if of == "text" else conll(SENTENCES)))
    config = BatchConfig(batch_tokens=300, max_length=60)
    batches, again = (dataset.batches(dataset.train, config) for _ in range(2))
    store, end = dataset.store(dataset.shards("train")[0]), dataset.special.end
    seen: list[int] = []
    assert batches.ignored == UNLABELLED
    for index in range(batches.batches_per_epoch):
        batch, stream = batches[index], batches[index].streams["target"]
        assert {each.shape for each in (stream.tokens, stream.positions, stream.labels)} == {(300,)}
        for place, row in enumerate(batch.pairs[:, 1].tolist()):
            tokens, numbers = store[row]
            slots = slice(stream.cu[place], stream.cu[place + 1])
            assert stream.tokens[slots].tolist() == [*tokens, end]
            assert stream.labels[slots].tolist() == [*(numbers.astype(int) - 1), UNLABELLED]
            assert stream.positions[slots].tolist() == list(range(len(tokens) + 1))
            seen.append(row)
        real = stream.cu[batch.n_pairs]
        assert (stream.tokens[real:] == dataset.special.pad).all()
        assert (stream.labels[real:] == UNLABELLED).all()
        assert batch.n_predicted == np.count_nonzero(stream.labels != UNLABELLED)
        assert (batch.n_tokens["target"], batch.n_target_tokens) == (real, real)
    assert sorted(seen) == list(range(len(store)))
    far = 5 * batches.batches_per_epoch + 1
    assert np.array_equal(again[far].streams["target"].tokens, batches[far].streams["target"].tokens)
    worst = batches.worst_case().streams["target"]
    assert worst.labels.min() >= 0
    assert [each.shape for each in worst.arrays().values()] == [each.shape for each in stream.arrays().values()]


def test_of_long_texts_the_beginning_is_read(tmp_path: Path) -> None:
    dataset = prepared(tmp_path, "text", *LINES[:50], f"{'many cats ' * 40}\tno")
    batches = dataset.batches(dataset.train, BatchConfig(batch_tokens=100, max_length=12))
    store, rows = dataset.store(dataset.shards("train")[0]), list[int]()
    assert len(store.shortened(400)[50][0]) == len(store[50][0]) > 12
    assert store.shortened(400) is store
    for index in range(batches.batches_per_epoch):
        batch, stream = batches[index], batches[index].streams["target"]
        for place, row in enumerate(batch.pairs[:, 1].tolist()):
            tokens = store[row][0][:11].tolist()
            slots = slice(stream.cu[place], stream.cu[place + 1])
            assert stream.tokens[slots].tolist() == [*tokens, dataset.special.end]
            assert stream.labels[slots][0] == store[row][1][0] - 1
            rows.append(row)
    assert sorted(rows) == list(range(51))
    assert batches.n_excluded == 0


def test_padded_batches_are_refused(tmp_path: Path) -> None:
    dataset = prepared(tmp_path, "text", *LINES)
    with pytest.raises(UserError, match=r"leave out batches\.kind"):
        dataset.batches(dataset.train, BatchConfig(kind="padded"))


def test_the_same_settings_do_nothing(tmp_path: Path) -> None:
    dataset = prepared(tmp_path, "text", *LINES)
    before = (dataset.folder / "manifest.json").stat().st_mtime_ns
    assert prepared(tmp_path, "text", *LINES).manifest == dataset.manifest
    assert (dataset.folder / "manifest.json").stat().st_mtime_ns == before
