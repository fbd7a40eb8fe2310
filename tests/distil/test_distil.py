"""Distillation: translations become text, faulty ones are replaced, and an interrupted run resumes."""

import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hark import configfile
from hark.config import CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, prepare
from hark.distil import distil as module
from hark.distil.distil import DistilRecord, distil, refuse_sampling
from hark.distil.filter import find_reason
from hark.engine.interface import Hypothesis
from hark.errors import HarkError, UserError
from hark.translate.load import Loaded
from tests.data.material import pairs, write
from tests.distil.pauses import distil_and_pause
from tests.processes import Hark, hide_optional_packages
from tests.translate.bundles import make_bundle
from tests.translate.stub import Stub

PAIRS = 60


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    train = [CorpusConfig(*write(folder, name, pairs(PAIRS, seed))) for seed, name in enumerate(("one", "two"))]
    dev = CorpusConfig(*write(folder, "dev", pairs(5, seed=9)))
    data = DataConfig(train=tuple(train), dev=(dev,), vocab_size=400, clean=CleanConfig(language=1.0))
    return prepare(Config(data=data), folder / "dataset", processes=1).dataset


def translate(text):
    return "Er sagt " + " ".join(text.split()[::-1])


def teacher(dataset, bundle, answer=translate, source="en", target="de"):
    """A stub of a teacher that translates a source to `answer(source)`."""
    tokenizer = dataset.tokenizer("target")
    config = configfile.load(None, ["batches.max_length=100"])
    engine = Stub()

    def run(requests):
        held = []
        for number, request in enumerate(requests):
            assert request.source[-1] == tokenizer.special.end
            result = answer(tokenizer.decode([request.source[:-1]])[0])
            if not isinstance(result, Hypothesis):
                result = Hypothesis(tuple(tokenizer.encode_one(result)), -1.0, -1.0, True)
            held.append((number, (result,)))
            if len(held) == 7:
                yield from reversed(held)
                held = []
        yield from reversed(held)

    engine.run = run
    return SimpleNamespace(
        config=replace(config, data=replace(config.data, source=source, target=target)),
        source_vocabulary=tokenizer,
        target_vocabulary=tokenizer,
        engine=engine,
        bundle=SimpleNamespace(folder=bundle),
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("bundle") / "teacher")


def lines(path):
    return path.read_bytes().decode().removesuffix("\n").split("\n")


def run(model, dataset, folder, **options):
    return distil(model, dataset, folder, model.config.decode, processes=1, **options)


@pytest.mark.parametrize(("chunk", "processes"), [(1, 1), (7, 1), (1000, 1), (7, 2)])
def test_every_pair_is_translated_in_order(dataset, bundle, tmp_path, monkeypatch, chunk, processes):
    monkeypatch.setattr(module, "CHUNK_PAIRS", chunk)
    model = teacher(dataset, bundle)
    done = distil(model, dataset, tmp_path / "out", model.config.decode, processes=processes)
    assert done.new_pairs == 2 * PAIRS
    for seed, name in enumerate(("one", "two")):
        sources = [source for source, _ in pairs(PAIRS, seed)]
        assert lines(tmp_path / "out" / f"{name}.en") == sources
        assert lines(tmp_path / "out" / f"{name}.de") == [translate(source) for source in sources]
    assert done.record.replaced == {}


FAULTY = {
    "empty": lambda _: "",
    "looped": lambda text: text + " weil" * 30,
    "truncated": lambda _: Hypothesis((300, 301), -1.0, -1.0, False),
    "length": lambda _: "".join(random.Random(1).choices("abcdefghiklmnoprstuvwzäöü", k=500)),
    "garbled": lambda _: Hypothesis((4 + 2 + 0xC3, 4 + 2 + 0x28, 300, 301, 302), -1.0, -1.0, True),
    "copied": lambda text: text.upper(),
}


@pytest.mark.parametrize("reason", FAULTY)
def test_a_faulty_translation_is_replaced_by_the_original_target(dataset, bundle, tmp_path, reason):
    model = teacher(dataset, bundle, lambda text: FAULTY[reason](text) if text.endswith("-7") else translate(text))
    done = run(model, dataset, tmp_path / "out")
    expected = [target if source.endswith("-7") else translate(source) for source, target in pairs(PAIRS)]
    assert lines(tmp_path / "out" / "one.de") == expected
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["complete"]
    assert [corpus["replaced"] for corpus in report["corpora"]] == [{reason: 1}] * 2
    (sample,) = report["corpora"][0]["samples"]
    assert (sample["reason"], sample["source"]) == (reason, pairs(PAIRS)[7][0])
    assert done.record.replaced == {reason: 2}


def test_line_breaks_in_a_translation_do_not_split_the_line(dataset, bundle, tmp_path):
    newline = dataset.tokenizer("target").n_special + 0x0A

    def answer(text):
        tokens = dataset.tokenizer("target").encode_one(translate(text))
        return Hypothesis((*tokens[:3], newline, *tokens[3:]), -1.0, -1.0, True)

    run(teacher(dataset, bundle, answer), dataset, tmp_path / "out")
    assert len(lines(tmp_path / "out" / "one.de")) == PAIRS


def test_sources_longer_than_in_the_teachers_training_are_skipped(dataset, bundle, tmp_path):
    model = teacher(dataset, bundle)
    lengths = dataset.store(dataset.shards("train")[0]).source_lengths
    longest = int(sorted(lengths)[PAIRS // 2])
    model.config = replace(model.config, batches=replace(model.config.batches, max_length=longest))
    run(model, dataset, tmp_path / "out")
    expected = [
        translate(source) if length < longest else target
        for (source, target), length in zip(pairs(PAIRS), lengths, strict=True)
    ]
    assert lines(tmp_path / "out" / "one.de") == expected


def test_the_teachers_languages_determine_the_direction(dataset, bundle, tmp_path):
    model = teacher(dataset, bundle, source="de", target="en")
    run(model, dataset, tmp_path / "out")
    assert lines(tmp_path / "out" / "one.de") == [target for _, target in pairs(PAIRS)]
    assert lines(tmp_path / "out" / "one.en") == [translate(target) for _, target in pairs(PAIRS)]
    with pytest.raises(UserError, match=r"languages are en and de, not en and fr"):
        run(teacher(dataset, bundle, target="fr"), dataset, tmp_path / "other")


@pytest.mark.parametrize("other", [{"bpe_dropout": 0.3, "bpe_variants": 2}, {"vocab_size": 380}])
def test_text_with_another_segmentation_is_encoded_with_the_teachers_tokenizer(dataset, bundle, tmp_path, other):
    corpus = CorpusConfig(*write(tmp_path, "one", pairs(PAIRS)))
    data = DataConfig(train=(corpus,), clean=CleanConfig(language=1.0), **other)
    if "bpe_dropout" in other:
        data = replace(data, tokenizer=str(dataset.folder / "tokenizer.model"))
    recoded = prepare(Config(data=data), tmp_path / "dataset", processes=1).dataset
    model, seen = teacher(dataset, bundle), []
    plain = model.engine.run
    model.engine.run = lambda requests: plain(seen.append(each.source[:-1]) or each for each in requests)
    run(model, recoded, tmp_path / "out")
    assert seen == dataset.tokenizer("target").encode([source for source, _ in pairs(PAIRS)])
    assert lines(tmp_path / "out" / "one.en") == [source for source, _ in pairs(PAIRS)]
    assert lines(tmp_path / "out" / "one.de") == [translate(source) for source, _ in pairs(PAIRS)]


class StoppedError(Exception):
    pass


def stopping(after):
    """A translator that fails after so many sentences."""
    asked = []

    def stops(text):
        asked.append(text)
        if len(asked) > after:
            raise StoppedError
        return translate(text)

    return stops


@pytest.mark.parametrize("after", [0, 1, 13, 70, 119])
def test_an_interrupted_run_resumes(dataset, bundle, tmp_path, monkeypatch, after):
    monkeypatch.setattr(module, "CHUNK_PAIRS", 10)
    run(teacher(dataset, bundle), dataset, tmp_path / "whole")
    with pytest.raises(StoppedError):
        run(teacher(dataset, bundle, stopping(after)), dataset, tmp_path / "out")
    kept = DistilRecord.read(tmp_path / "out")
    assert not kept.complete
    for name in ("one.en", "one.de", "two.de"):
        with (tmp_path / "out" / name).open("ab") as file:
            file.write(b"half a li")  # as after a power cut while writing
    second = run(teacher(dataset, bundle), dataset, tmp_path / "out")
    assert second.new_pairs == 2 * PAIRS - kept.pairs
    if after > 30:
        assert kept.pairs > 0
    for name in ("one.en", "one.de", "two.en", "two.de"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert run(teacher(dataset, bundle, StoppedError), dataset, tmp_path / "out").new_pairs == 0


def test_another_teacher_or_setting_does_not_resume(dataset, bundle, tmp_path):
    model = teacher(dataset, bundle)
    run(model, dataset, tmp_path / "out", limit=5)
    assert len(lines(tmp_path / "out" / "one.en")) == 5
    with pytest.raises(UserError, match=r"was made with another limit; name another folder"):
        run(model, dataset, tmp_path / "out")
    other = teacher(dataset, make_bundle(tmp_path / "other", "en", "de", "model.d_ff=48"))
    with pytest.raises(UserError, match=r"was made with another teacher; .* --force"):
        run(other, dataset, tmp_path / "out", limit=5)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert run(other, dataset, tmp_path / "out", limit=3, force=True).new_pairs
    assert len(lines(tmp_path / "out" / "one.en")) == 3
    assert (tmp_path / "out" / "notes.txt").exists()


def test_the_output_must_not_overlap_an_input(dataset, bundle):
    for folder in (dataset.folder, dataset.folder / "distilled", bundle):
        with pytest.raises(UserError, match=r"would overwrite the input|is inside the input"):
            run(teacher(dataset, bundle), dataset, folder, force=True)


def test_a_folder_of_others_is_not_replaced(dataset, bundle, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear")
    with pytest.raises(UserError, match="was not made by hark"):
        run(teacher(dataset, bundle), dataset, tmp_path / "mine")


def test_a_truncated_file_is_an_error(dataset, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_PAIRS", 10)
    with pytest.raises(StoppedError):
        run(teacher(dataset, bundle, stopping(40)), dataset, tmp_path / "out")
    os.truncate(tmp_path / "out" / "one.de", 5)
    with pytest.raises(HarkError, match=r"one\.de: shorter than recorded; remove"):
        run(teacher(dataset, bundle), dataset, tmp_path / "out")


@pytest.mark.parametrize("change", [{"sample": True}, {"diverse": True}, {"nbest": 2}])
def test_settings_with_several_translations_are_rejected(change):
    with pytest.raises(UserError, match="distillation needs one translation per sentence"):
        refuse_sampling(replace(Config().decode, **change))


def test_a_good_translation_has_no_reason():
    assert find_reason((5, 6, 7), (8, 9), "we see it", "wir sehen es", True) is None


def real_teacher(dataset, folder):
    """A bundle of an untrained model with the dataset's own tokenizer."""
    from hark.bundle import TOKENIZER, Bundle, write_bundle

    model = Bundle.open(make_bundle(folder / "stub", "en", "de", "model.vocab_size=400"))
    tokenizers = {TOKENIZER: dataset.tokenizer("target").model}
    write_bundle(
        folder / "real",
        model.config,
        lambda path: path.write_bytes(model.weights.read_bytes()),
        tokenizers,
        model.facts,
    )
    return folder / "real"


def hark(output, *arguments, status=0):
    """What `hark` prints where optional packages are missing."""
    with Hark(*map(str, arguments), output=output, change=hide_optional_packages) as ran:
        assert ran.finish() == status, ran.printed
    return ran.printed


def test_hark_distil_and_prepare_without_optional_packages(dataset, tmp_path):
    bundle = real_teacher(dataset, tmp_path)
    words = ["distil", bundle, dataset.folder, "-o", tmp_path / "out", "--engine", "torch", "--device", "cpu"]
    words += ["--beam", "2", "--processes", "1", "--limit", "20"]
    printed = hark(tmp_path / "first", *words)
    assert f"{tmp_path / 'out'}: 40 pairs, " in printed
    assert "original target kept: " in printed
    assert "nothing to do" in hark(tmp_path / "second", *words)
    model = Loaded(bundle, "torch", "cpu")
    result = distil(model, dataset, tmp_path / "here", replace(model.config.decode, beam=2), limit=20, processes=1)
    assert result.new_pairs == 40
    for name in ("one.en", "one.de", "two.en", "two.de"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    out, dev = tmp_path / "out", dataset.folder / "dev"
    text = ["--train", out / "one.en", out / "one.de", "--train", out / "two.en", out / "two.de"]
    held_out = ["--dev", dev / "dev.en", dev / "dev.de"]
    settings = ["data.clean.language=1", "data.clean.max_ratio=99", "--vocab", "320", "--processes", "1"]
    hark(tmp_path / "third", "prepare", *text, *held_out, *settings, "-o", tmp_path / "student")
    assert Dataset.open(tmp_path / "student").manifest.shards[0].pairs > 0


def test_the_language_check_names_the_setting_to_turn_it_off(tmp_path):
    write(tmp_path, "train", pairs(30))
    words = ["--train", tmp_path / "train.en", tmp_path / "train.de", "--vocab", "320", "-o", tmp_path / "d"]
    printed = hark(tmp_path / "printed", "prepare", *words, "--processes", "1", status=1)
    assert "data.clean.language=1" in printed


def test_a_killed_or_interrupted_command_resumes(dataset, tmp_path):
    bundle = real_teacher(dataset, tmp_path)
    words = ["distil", bundle, dataset.folder, "-o", tmp_path / "out", "--engine", "torch", "--device", "cpu"]
    words = [*map(str, words), "--beam", "1", "--processes", "1", "--limit", "10"]
    for sent, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
        before = recorded_pairs(tmp_path / "out")
        with Hark(*words, output=tmp_path / "printed", change=distil_and_pause) as process:
            process.wait_for(lambda before=before: recorded_pairs(tmp_path / "out") > before)
            os.kill(process.pid, sent)
            assert process.finish() == status
    model = Loaded(bundle, "torch", "cpu")
    search = replace(model.config.decode, beam=1)
    rest = distil(model, dataset, tmp_path / "out", search, limit=10, processes=1)
    assert 0 < rest.new_pairs <= 20 - 3 * 3  # each command has recorded three
    distil(model, dataset, tmp_path / "whole", search, limit=10, processes=1)
    for name in ("one.en", "one.de", "two.en", "two.de"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def recorded_pairs(folder: Path) -> int:
    record = DistilRecord.read(folder)
    return record.pairs if record else 0
