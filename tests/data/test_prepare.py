"""Dataset preparation: its result, its reproducibility, and that it is atomic."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hark import configfile
from hark.config import CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, TokenStore, build, learning, prepare
from hark.data.corpus import read_pairs
from hark.data.learning import until_full
from hark.errors import HarkError, UserError
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.piece_vocabulary import piece_files
from hark.text.vocabulary import normalise

from .material import pairs, write

# Loading the detector takes each process half a second; one test of the command line enables it.
CLEAN = CleanConfig(language=1.0)


@pytest.fixture
def config(tmp_path):
    """Two training corpora, a dev and a test set."""
    held = pairs(30, seed=9)
    one, two = pairs(900, seed=1), pairs(200, seed=2)
    one[100] = one[50]  # a duplicate
    one[200] = ("", "leer")
    one[300] = (held[7][0].upper(), "Etwas anderes steht hier nun.")  # a dev sentence
    two[10] = one[3]  # a duplicate of the other corpus
    two[20] = ("Ein Satz.", "Ein Satz.")
    corpora = {name: CorpusConfig(*write(tmp_path, name, text)) for name, text in (("one", one), ("two", two))}
    dev = CorpusConfig(*write(tmp_path, "dev", held[:20]))
    test = CorpusConfig(*write(tmp_path, "test", held[20:]))
    return Config(
        data=DataConfig(
            train=(corpora["one"], replace(corpora["two"], weight=2.0)),
            dev=(dev,),
            test=(test,),
            vocab_size=400,
            clean=CLEAN,
        )
    )


def change(config, **values):
    return replace(config, data=replace(config.data, **values))


def hashes(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def texts(dataset, store):
    tokens = ([store[i][n].tolist() for i in range(len(store))] for n in range(2))
    sides = zip(("source", "target"), tokens, strict=True)
    return list(zip(*(dataset.tokenizer(side).decode(each) for side, each in sides), strict=True))


def test_end_to_end(config, tmp_path):
    prepared = prepare(config, tmp_path / "dataset", processes=1)
    assert prepared.created
    dataset = Dataset.open(tmp_path / "dataset")
    assert [(each.name, each.role, each.weight, each.pairs) for each in dataset.manifest.shards] == [
        ("one", "train", 1.0, 897),
        ("two", "train", 2.0, 198),
        ("dev", "dev", 1.0, 20),
        ("test", "test", 1.0, 10),
    ]
    (one, two) = dataset.train
    assert (two.name, two.weight, len(two.variants)) == ("two", 2.0, 1)
    expected = list(read_pairs(config.data.train[0], "en", "de"))
    kept = [pair for i, pair in enumerate(expected) if i not in (100, 200, 300)]
    assert texts(dataset, one.variants[0]) == kept
    for side, language in (("source", "en"), ("target", "de")):
        assert dataset.tokenizer(side).vocab_size == 400
        assert dataset.tokenizer(side).tag(language) in (4, 5)
    assert configfile.load(tmp_path / "dataset" / "config.toml") == config
    assert sorted(path.name for path in (tmp_path / "dataset").iterdir()) == [
        "config.toml", "dev", "manifest.json", "report.html", "report.json", "test", "tokenizer.model", "train",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "dataset" / "train").iterdir()) == ["one", "two"]


def test_the_manifest_names_its_sources(config, tmp_path):
    manifest = prepare(config, tmp_path / "dataset", processes=1).dataset.manifest
    path = Path(config.data.train[0].source)
    (source,) = (each for each in manifest.sources if each.path == str(path))
    assert (source.size, source.sha256) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(manifest.sources) == 8


def test_the_report_counts_every_pair_once(config, tmp_path):
    report = prepare(config, tmp_path / "dataset", processes=1).dataset.report
    assert (report.total.read, report.total.kept) == (1100, 1095)
    assert {rule: count for rule, count in report.total.dropped.items() if count} == {
        "empty": 1,
        "held_out": 1,
        "identical": 1,
        "duplicates": 2,
    }
    (sample,) = report.corpora[1].samples["duplicates"]
    assert (sample.corpus, sample.line) == ("two", 11)
    (sample,) = report.corpora[0].samples["held_out"]
    assert sample.line == 301


def test_dev_and_test_are_copied_unchanged(config, tmp_path):
    odd = [("  same ", "  same "), ("", ""), ("a\u2028b\x0bc\rd", "e\x00f\x85"), ("x" * 100_000, "y"), ("1 2 3", "?")]
    odd += [odd[0]]
    dataset = prepare(
        change(config, dev=(CorpusConfig(*write(tmp_path, "odd", odd)),)), tmp_path / "dataset", processes=1
    ).dataset
    (shard,) = dataset.shards("dev")
    assert list(zip(dataset.text(shard, "source"), dataset.text(shard, "target"), strict=True)) == odd
    assert (
        list(read_pairs(CorpusConfig(*(str(tmp_path / f"dataset/dev/odd.{x}") for x in ("en", "de"))), "en", "de"))
        == odd
    )
    assert texts(dataset, dataset.store(shard)) == [tuple(map(normalise, pair)) for pair in odd]


def test_pairs_of_one_language_keep_their_sides_apart(config, tmp_path):
    """Also those that need no correction."""
    right = [f"Satz Nummer {number} ist gut." for number in range(60)]
    wrong = [line.lower() if number % 2 else line for number, line in enumerate(right)]
    files = {
        name: CorpusConfig(*write(tmp_path, name, list(zip(wrong[a:b], right[a:b], strict=True))))
        for name, a, b in (("train", 0, 50), ("dev", 50, 60))
    }
    changed = change(config, source="de", target="de", train=(files["train"],), dev=(files["dev"],), test=())
    dataset = prepare(changed, tmp_path / "out", 1).dataset
    (shard,) = dataset.shards("dev")
    texts = [dataset.text(shard, side) for side in ("source", "target")]
    assert texts == [wrong[50:], right[50:]]
    assert dataset.report.total.kept == 50
    assert list(dataset.report.languages) == ["de"]
    back = Dataset.open(tmp_path / "out", reverse=True)
    assert [back.text(shard, side) for side in ("source", "target")] == texts[::-1]


def test_pairs_have_what_precedes_the_texts_of_their_vocabulary(config, tmp_path):
    learnt = learn_byte_pairs(["Ein Satz."], 261)
    table = replace(learnt.table, source_lead=(2,), target_lead=(3, 2))
    for name, content in piece_files(table, learnt.model, learnt.model).items():
        (tmp_path / name).write_bytes(content)
    dataset = prepare(change(config, tokenizer=str(tmp_path / "pieces.json")), tmp_path / "out", 1).dataset
    for shard in dataset.manifest.shards:
        source, target = dataset.store(shard)[0]
        assert source[:1].tolist() == [2]
        assert target[:2].tolist() == [3, 2]
        assert dataset.prefix(shard) == (3, 2)
        assert not any(map(learnt.is_special, (*source[1:], *target[2:])))


def test_the_result_is_independent_of_the_number_of_processes(config, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "CHUNK_PAIRS", 60)
    monkeypatch.setattr(learning, "SAMPLE", 700)  # less than all pairs
    config = change(config, bpe_dropout=0.2, bpe_variants=2, shared_vocab=False, vocab_size=350)
    results = []
    for processes in (1, 2):
        prepare(config, tmp_path / str(processes), processes)
        results.append(hashes(tmp_path / str(processes)))
    assert results[0] == results[1]


def test_dropout_writes_several_segmentations(config, tmp_path):
    config = change(config, bpe_dropout=0.3, bpe_variants=3)
    dataset = prepare(config, tmp_path / "dataset", processes=1).dataset
    corpus = dataset.train[0]
    assert [store.folder.name for store in corpus.variants] == ["one", "one.1", "one.2"]
    decoded = [texts(dataset, store) for store in corpus.variants]
    assert decoded[0] == decoded[1] == decoded[2]
    tokens = [[store[i][0].tolist() for i in range(len(store))] for store in corpus.variants]
    assert tokens[0] != tokens[1] != tokens[2] != tokens[0]
    (shard,) = dataset.shards("dev")
    plain = dataset.tokenizer("source").encode(dataset.text(shard, "source"))
    assert [store_ids.tolist() for store_ids, _ in map(dataset.store(shard).__getitem__, range(20))] == plain


def test_separate_vocabularies_can_be_reused(config, tmp_path):
    first = prepare(change(config, shared_vocab=False, vocab_size=330), tmp_path / "first", processes=1).dataset
    source, target = first.tokenizer("source"), first.tokenizer("target")
    assert source.sha256 != target.sha256
    assert len(source.encode(["The old man"])[0]) < len(target.encode(["The old man"])[0])
    again = change(config, shared_vocab=False, tokenizer=str(tmp_path / "first" / "tokenizer.model"))
    second = prepare(again, tmp_path / "second", processes=1).dataset
    assert (second.tokenizer("source").sha256, second.tokenizer("target").sha256) == (source.sha256, target.sha256)
    shared = change(config, tokenizer=str(tmp_path / "first" / "tokenizer.model"))
    third = prepare(shared, tmp_path / "third", processes=1).dataset
    assert third.tokenizer("source").sha256 == target.sha256
    with pytest.raises(UserError, match=r"tokenizer\.source\.model: cannot be read"):
        prepare(change(again, tokenizer=str(tmp_path / "third" / "tokenizer.model")), tmp_path / "fourth", processes=1)


class TestRerun:
    def test_an_unchanged_dataset_is_not_rebuilt(self, config, tmp_path):
        folder = tmp_path / "dataset"
        prepare(config, folder, processes=1)
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        same = replace(config, train=replace(config.train, steps=7))
        assert not prepare(same, folder, processes=1).created
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before

    def test_moved_files_do_not_rebuild(self, config, tmp_path):
        prepare(config, tmp_path / "dataset", processes=1)
        (tmp_path / "elsewhere").mkdir()
        files = [Path(config.data.dev[0].source), Path(config.data.dev[0].target)]
        moved = [str(path.rename(tmp_path / "elsewhere" / path.name)) for path in files]
        assert not prepare(change(config, dev=(CorpusConfig(*moved),)), tmp_path / "dataset", processes=1).created

    @pytest.mark.parametrize(
        "values", [{"seed": 2}, {"vocab_size": 390}, {"clean": replace(CLEAN, identical=False)}, {"test": ()}]
    )
    def test_changed_settings_rebuild_with_force(self, config, tmp_path, values):
        prepare(config, tmp_path / "dataset", processes=1)
        before = hashes(tmp_path / "dataset")
        refused(change(config, **values), tmp_path / "dataset", UserError, "already exists; .* --force")
        assert hashes(tmp_path / "dataset") == before
        changed = prepare(change(config, **values), tmp_path / "dataset", processes=1, force=True)
        assert changed.created
        assert changed.dataset.manifest.key == Dataset.open(tmp_path / "dataset").manifest.key

    def test_the_tag_of_trees_does_not_matter_without_trees(self, config, tmp_path):
        prepare(config, tmp_path / "dataset", processes=1)
        assert not prepare(change(config, tree_tag="XX"), tmp_path / "dataset", processes=1).created

    def test_changed_text_rebuilds_with_force(self, config, tmp_path):
        prepare(config, tmp_path / "dataset", processes=1)
        with open(config.data.train[1].source, "a") as one, open(config.data.train[1].target, "a") as other:
            one.write("And one more sentence.\n")
            other.write("Und noch ein Satz mehr.\n")
        changed = prepare(config, tmp_path / "dataset", processes=1, force=True)
        assert changed.created
        assert changed.dataset.shards("train")[1].pairs == 199

    def test_a_damaged_dataset_is_rebuilt(self, config, tmp_path):
        folder = tmp_path / "dataset"
        prepare(config, folder, processes=1)
        whole = hashes(folder)
        (folder / "train" / "one" / "source.tokens").write_bytes(b"xx")
        assert prepare(config, folder, processes=1).created
        assert hashes(folder) == whole


def refused(config, folder, kind, match, force=False):
    """Check that it fails with a one-line error and leaves no files."""
    siblings = sorted(folder.parent.iterdir())
    with pytest.raises(kind, match=match) as error:
        prepare(config, folder, processes=1, force=force)
    assert "\n" not in str(error.value)
    assert sorted(folder.parent.iterdir()) == siblings


class TestBadInput:
    def test_unequal_line_counts(self, config, tmp_path):
        with open(config.data.train[0].source, "a") as file:
            file.write("one more\n")
        refused(config, tmp_path / "d", UserError, r"one\.en has 901 lines but .*one\.de has 900")

    def test_invalid_utf8(self, config, tmp_path):
        with open(config.data.test[0].target, "ab") as file:
            file.write(b"\xff\n")
        refused(config, tmp_path / "d", UserError, r"test\.de:11: not UTF-8")

    def test_a_missing_file(self, config, tmp_path):
        refused(
            change(config, dev=(CorpusConfig("gone.en", "gone.de"),)), tmp_path / "d", UserError, "gone.en: no such"
        )

    def test_nothing_left_after_cleaning(self, config, tmp_path):
        bad = CorpusConfig(*write(tmp_path, "bad", [(f"same {n}", f"same {n}") for n in range(5)]))
        config = change(config, train=(*config.data.train, bad))
        refused(config, tmp_path / "d", UserError, r"bad\.en: no pairs left after cleaning: identical dropped 5 of 5")

    def test_nothing_left_after_duplicates(self, config, tmp_path):
        again = replace(config.data.train[1], name="again")
        config = change(config, train=(*config.data.train, again))
        refused(config, tmp_path / "d", UserError, "no pairs left after cleaning: duplicates dropped 199 of 200")

    @pytest.mark.parametrize("role", ["train", "dev"])
    def test_an_empty_corpus(self, config, tmp_path, role):
        empty = CorpusConfig(*write(tmp_path, "empty", []))
        refused(change(config, **{role: (empty,)}), tmp_path / "d", UserError, r"empty\.en: no sentence pairs")

    def test_a_vocabulary_too_large(self, config, tmp_path):
        refused(change(config, vocab_size=30_000), tmp_path / "d", UserError, r"the largest that works is \d+")

    def test_no_corpus_and_no_languages(self, config, tmp_path):
        refused(change(config, train=()), tmp_path / "d", UserError, "no training corpus")
        refused(change(config, source="", target=""), tmp_path / "d", UserError, "name one with --pair")

    def test_a_pipe(self, config, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        pipe = CorpusConfig(str(tmp_path / "pipe"), config.data.dev[0].target)
        refused(change(config, dev=(pipe,)), tmp_path / "d", UserError, "not a regular file")

    def test_a_folder_not_made_by_hark(self, config, tmp_path):
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "holiday.jpg").touch()
        refused(config, tmp_path / "photos", UserError, "not made by hark")
        assert (tmp_path / "photos" / "holiday.jpg").exists()

    def test_a_dataset_that_contains_its_own_input(self, config, tmp_path):
        folder = tmp_path / "d"
        prepare(config, folder, processes=1)
        files = [Path(config.data.dev[0].source), Path(config.data.dev[0].target)]
        dev = CorpusConfig(*(str(path.rename(folder / f"mine{path.suffix}")) for path in files))
        refused(change(config, dev=(dev,), seed=2), folder, UserError, r"d: contains .*mine\.en", force=True)
        tokenizer = str(folder / "tokenizer.model")
        refused(change(config, tokenizer=tokenizer, dev=()), folder, UserError, "contains .*tokenizer", force=True)

    def test_a_failure_keeps_the_existing_dataset(self, config, tmp_path):
        prepare(config, tmp_path / "d", processes=1)
        before = hashes(tmp_path / "d")
        refused(change(config, vocab_size=30_000), tmp_path / "d", UserError, "largest", force=True)
        assert hashes(tmp_path / "d") == before

    @pytest.mark.parametrize("where", ["pathlib.Path.write_bytes", "hark.data.store.StoreWriter._write", "os.fsync"])
    def test_a_full_disk(self, config, tmp_path, monkeypatch, where):
        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(where, full)
        refused(config, tmp_path / "d", HarkError, "No space left on device")


def run(config, tmp_path, *arguments, setup="pass"):
    """Start `hark prepare` in its own process group."""
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(configfile.dump(config))
    code = f"import sys; {setup}\nif __name__ == '__main__':\n from hark.cli import main\n main()"
    script = tmp_path / "start.py"
    script.write_text(code)
    return subprocess.Popen(
        [sys.executable, script, "prepare", recipe, "-o", tmp_path / "dataset", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def test_a_file_size_limit_is_an_error(config, tmp_path):
    # Python would cut off the bytecode of modules that it imports, and keep it.
    limit = "import resource; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))"
    process = run(config, tmp_path, "--processes", "2", setup=limit)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 1
    assert stderr.splitlines()[-1].startswith("hark: ")
    assert "File too large" in stderr.splitlines()[-1]
    assert "Traceback" not in stderr
    assert not [path for path in tmp_path.iterdir() if "dataset" in path.name]


MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}


WAIT = """
import time
from pathlib import Path
from hark.data import build
from hark.data.stages import Clean

def clean_and_wait(self, chunk, clean=Clean.__call__):
    clean(self, chunk)
    Path({folder!r}, "runs").touch()
    time.sleep(600)

build.CHUNK_PAIRS, Clean.__call__ = 60, clean_and_wait
if __name__ != "__main__":
    Path({folder!r}, "starts").touch()
"""
"""Lets workers never finish a chunk, and tell when they start and when they have cleaned one."""


@pytest.mark.parametrize(
    ("ending", "moment"),
    [(signal.SIGINT, "starts"), (signal.SIGTERM, "runs"), (signal.SIGHUP, "starts"), (signal.SIGKILL, "runs")],
)
def test_interrupted_and_killed(config, tmp_path, ending, moment, monkeypatch):
    for folder in ("temporary", "workers"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    process = run(config, tmp_path, "--processes", "2", setup=WAIT.format(folder=str(tmp_path / "workers")))
    deadline = time.monotonic() + 120
    while not (tmp_path / "workers" / moment).exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    if ending != signal.SIGKILL:
        os.killpg(process.pid, ending)  # as a terminal sends it: to every process
    else:
        process.kill()
    _, stderr = process.communicate(timeout=600)  # ends with the last worker, as they share stderr
    if ending != signal.SIGKILL:
        assert process.returncode == 128 + ending
        assert stderr.strip().splitlines()[-1] == f"hark: {MESSAGES[ending]}"
        assert "Traceback" not in stderr
        assert not list((tmp_path / "temporary").iterdir())
        assert not [path for path in tmp_path.iterdir() if "dataset" in path.name]
    else:
        assert not (tmp_path / "dataset").exists()
    prepare(config, tmp_path / "dataset", 1)
    assert [path.name for path in tmp_path.iterdir() if "dataset" in path.name] == ["dataset"]


def test_single_files_with_both_sides(config, tmp_path):
    made = pairs(600, seed=4)
    (tmp_path / "both.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in made))
    (tmp_path / "both.jsonl").write_text("".join(json.dumps({"en": a + " x", "de": b + " x"}) + "\n" for a, b in made))
    train = tuple(CorpusConfig(str(tmp_path / f"both.{kind}"), name=kind) for kind in ("tsv", "jsonl"))
    dataset = prepare(change(config, train=train), tmp_path / "dataset", processes=1).dataset
    assert [len(TokenStore.open(tmp_path / "dataset" / "train" / kind)) for kind in ("tsv", "jsonl")] == [600, 600]
    assert texts(dataset, dataset.train[0].variants[0]) == made


def test_trees_get_a_vocabulary_of_symbols(config, tmp_path):
    path = tmp_path / "t.trees"
    nouns = ["cat", "dog", "bird", "fox", "elephant", "giraffe", "crocodile", "hippopotamus", "butterfly", "squirrel"]
    path.write_text("".join(f"(S (NP (JJ {one}) (NN {two})))\n" for one in nouns for two in nouns), encoding="utf-8")
    data = replace(
        config.data, target="trees", train=(CorpusConfig(str(path)),), dev=(), test=(), vocab_size=300,
        shared_vocab=False, bpe_dropout=0.5, bpe_variants=2, clean=replace(CLEAN, max_ratio=9),
    )  # fmt: skip
    dataset = prepare(replace(config, data=data), tmp_path / "trees", processes=1).dataset
    symbols = dataset.tokenizer("target").symbols
    assert symbols.keys() == {"(S", "(NP", "JJ", "NN", ")"}
    (corpus,) = dataset.train
    assert len(corpus.variants) == 2
    for store in corpus.variants:  # dropout never splits a symbol
        assert {tuple(store[i][1].tolist()) for i in range(len(store))} == {
            tuple(symbols[each] for each in "(S (NP JJ NN ) )".split())  # noqa: SIM905
        }
    untagged = prepare(replace(config, data=replace(data, tree_tag="XX")), tmp_path / "untagged", processes=1).dataset
    assert untagged.tokenizer("target").symbols.keys() == {"(S", "(NP", "XX", ")"}
    assert untagged.manifest.key != dataset.manifest.key
    shared = replace(config, data=replace(data, shared_vocab=True))
    with pytest.raises(UserError, match=r"trees have a vocabulary of their own; set data\.shared_vocab=false"):
        prepare(shared, tmp_path / "shared", processes=1)


def test_long_lines_make_small_chunks(monkeypatch):
    monkeypatch.setattr(build, "CHUNK_CHARACTERS", 100)
    chunks = list(build.cut_into_chunks(iter([("x" * 60, "y" * 60)] * 3 + [("a", "b")] * 3)))
    assert [len(chunk) for chunk in chunks] == [1, 1, 1, 3]


def test_until_full_bounds_the_distinct_words():
    text = ["a bb", "bb a", "ccc", "a", "dddd", "e"]
    assert list(until_full(text, 6)) == ["a bb", "bb a", "ccc", "a"]
    assert list(until_full(text, 1000)) == text
    assert list(until_full(["longer than the room"], 3)) == ["longer than the room"]


def test_does_not_import_torch():
    code = "import sys, hark.data, hark.text.tokenizer; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
