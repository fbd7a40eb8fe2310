"""Opening a dataset: damaged, replaced or foreign files raise one clear error."""

import hashlib
import json
from dataclasses import replace

import pytest

from hark.config import BatchConfig, CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, make_batches, prepare
from hark.data import manifest as checksums
from hark.data.manifest import Manifest, is_dataset
from hark.errors import UserError
from hark.text.tokenizer import train_tokenizer

from .material import pairs, write


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    corpora = {
        name: (CorpusConfig(*write(folder, name, pairs(300, seed))),) for seed, name in enumerate(("train", "dev"))
    }
    data = DataConfig(**corpora, vocab_size=350, clean=CleanConfig(language=1.0))
    return Config(data=data, batches=BatchConfig(batch_tokens=500))


@pytest.fixture
def folder(config, tmp_path):
    prepare(config, tmp_path / "dataset", processes=1)
    return tmp_path / "dataset"


def edit(folder, **values):
    path = folder / "manifest.json"
    tree = json.loads(path.read_text())
    path.write_text(json.dumps(tree | values))


def test_the_manifest_reads_back_equal(folder):
    manifest = Manifest.read(folder)
    assert json.loads(manifest.to_json()) == json.loads((folder / "manifest.json").read_text())
    assert Dataset.open(folder).manifest == manifest


def test_batches_have_special_tokens(config, folder):
    dataset = Dataset.open(folder)
    batch = make_batches(dataset.train, config.batches, dataset.special)[0]
    target = batch.streams["target"]
    tokenizer = dataset.tokenizer("target")
    assert target.tokens[0] == tokenizer.special.start
    assert target.labels[target.cu[1] - 1] == tokenizer.special.end


def test_text_and_tokens_of_a_held_out_set_match(folder):
    dataset = Dataset.open(str(folder))
    (shard,) = dataset.shards("dev")
    sources = dataset.text(shard, "source")
    assert len(sources) == shard.pairs == 300
    store = dataset.store(shard)
    assert [store[i][0].tolist() for i in range(300)] == dataset.tokenizer("source").encode(sources)
    assert sum(len(store[i][1]) for i in range(300)) == shard.target_tokens


def test_both_sides_share_one_tokenizer(folder):
    dataset = Dataset.open(folder)
    assert dataset.tokenizer("source") is dataset.tokenizer("target")


@pytest.mark.parametrize("content", [None, "{}", "[1]", '{"kind": "cat"}'])
def test_a_folder_that_is_not_a_dataset_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    assert not is_dataset(tmp_path)
    with pytest.raises(UserError, match="not a hark dataset; create one with hark prepare"):
        Dataset.open(tmp_path)


def test_an_unreadable_manifest_is_refused(folder):
    (folder / "manifest.json").write_text("{")
    assert not is_dataset(folder)
    with pytest.raises(UserError, match=r"manifest\.json: cannot be read"):
        Dataset.open(folder)


def test_another_format_version_is_refused(folder):
    edit(folder, format=99)
    assert is_dataset(folder)
    with pytest.raises(UserError, match=r"format 99; this version of hark reads format 1; prepare it again"):
        Dataset.open(folder)


def test_an_incomplete_manifest_is_refused(folder):
    edit(folder, shards=[{"name": "x"}])
    with pytest.raises(UserError, match=r"manifest\.json: damaged"):
        Dataset.open(folder)


def test_a_replaced_tokenizer_is_refused(folder):
    (folder / "tokenizer.model").write_bytes(train_tokenizer((pair[0] for pair in pairs(300)), 330, ["en", "de"]))
    with pytest.raises(UserError, match=r"tokenizer\.model: not the original tokenizer"):
        Dataset.open(folder)


def test_a_wrong_number_of_pairs_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["pairs"] += 1
    edit(folder, shards=manifest["shards"])
    with pytest.raises(UserError, match=r"train: 300 pairs, but the manifest states 301; prepare it again"):
        Dataset.open(folder)


@pytest.mark.parametrize("missing", ["tokenizer.model", "train/train/store.json"])
def test_a_missing_file_is_named(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(UserError, match=missing.split("/")[0]):
        Dataset.open(folder)


def test_a_missing_report_or_text_raises_on_access(folder):
    dataset = Dataset.open(folder)
    (folder / "report.json").unlink()
    with pytest.raises(UserError, match=r"report\.json: cannot be read"):
        dataset.report  # noqa: B018
    (folder / "dev" / "dev.de").unlink()
    with pytest.raises(UserError, match=r"dev\.de: cannot be read"):
        dataset.text(dataset.shards("dev")[0], "target")


@pytest.mark.parametrize("shared", [True, False])
def test_reverse_exchanges_source_and_target(config, tmp_path, shared):
    data = replace(config.data, shared_vocab=shared, bpe_dropout=0.2, bpe_variants=2)
    there = prepare(replace(config, data=data), tmp_path / "dataset", processes=1).dataset
    back = Dataset.open(tmp_path / "dataset", reverse=True)
    assert (back.manifest.source, back.manifest.target) == ("de", "en")
    assert (back.manifest.source_tokenizer is None) == shared
    for ours, theirs in (("source", "target"), ("target", "source")):
        assert back.tokenizer(ours).sha256 == there.tokenizer(theirs).sha256
    assert (there.tokenizer("source").sha256 == there.tokenizer("target").sha256) == shared
    for shard, other in zip(back.manifest.shards, there.manifest.shards, strict=True):
        assert (shard.source_tokens, shard.target_tokens) == (other.target_tokens, other.source_tokens)
        for variant in range(shard.variants):
            store, mirror = there.store(other, variant), back.store(shard, variant)
            assert len(store) == len(mirror) == shard.pairs
            for pair in (0, 7, shard.pairs - 1):
                assert [each.tolist() for each in mirror[pair]] == [each.tolist() for each in store[pair][::-1]]
    (shard,), (other,) = back.shards("dev"), there.shards("dev")
    assert back.text(shard, "source") == there.text(other, "target")
    assert back.text(shard, "target") == there.text(other, "source")


def test_towards_returns_the_requested_direction(folder):
    dataset = Dataset.open(folder)
    assert dataset.towards("en", "de") is dataset
    assert dataset.towards("en-GB", "de-AT") is dataset
    back = dataset.towards("de", "en")
    assert back.reverse
    assert not back.towards("en", "de").reverse
    with pytest.raises(UserError, match="languages are en and de, not de and fr"):
        dataset.towards("de", "fr")


@pytest.mark.parametrize("name", ["train/train/source.tokens", "train/train/target.offsets", "dev/dev/target.tokens"])
def test_verify_names_the_file_with_a_flipped_bit(config, folder, name):
    path = folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2 + 1] ^= 1
    path.write_bytes(content)
    dataset = Dataset.open(folder)
    with pytest.raises(UserError, match=rf"{name}: damaged: checksum mismatch; prepare the dataset again"):
        dataset.verify("train", "dev")
    dataset.verify("test")
    assert prepare(config, folder, processes=1).created  # which repairs it
    Dataset.open(folder).verify("train", "dev", "test")
    path.unlink()
    with pytest.raises(UserError, match=rf"{name}: cannot be read"):
        dataset.verify("train", "dev")


def test_a_dataset_without_checksums_still_verifies(folder):
    tree = json.loads((folder / "manifest.json").read_text())
    del tree["checksums"]
    (folder / "manifest.json").write_text(json.dumps(tree))
    (folder / "train" / "train" / "source.tokens").touch()
    Dataset.open(folder).verify("train", "dev", "test")


def test_checksums_cover_every_byte_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(checksums, "PIECE", 10)
    monkeypatch.setattr(checksums, "BLOCK", 4)
    texts = {"empty": b"", "one": b"0123456789", "two": b"01234567890", "other": b"0123456789" + b"1"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    computed = checksums.compute_checksums(tmp_path, texts)
    assert len(set(computed.values())) == 4
    pieces = hashlib.sha256(b"0123456789").digest() + hashlib.sha256(b"0").digest()
    assert computed["two"] == hashlib.sha256(pieces).hexdigest()
