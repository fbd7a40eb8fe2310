import lzma
from pathlib import Path

from hark.config import CleanConfig, CorpusConfig
from hark.data.filters import Cleaner
from hark.data.held_out import HeldOut
from hark.data.sample import paths


def read(use: str) -> list[tuple[str, str]]:
    source, target = (lzma.decompress(Path(path).read_bytes()).decode().split("\n") for path in paths()[use])
    assert source.pop() == target.pop() == ""  # each file ends with a newline
    return list(zip(source, target, strict=True))


def test_number_of_pairs() -> None:
    assert {use: len(read(use)) for use in paths()} == {"train": 20_000, "dev": 1_000, "test": 1_000}


def test_paths_make_a_corpus() -> None:
    for source, target in paths().values():
        assert CorpusConfig(source=source, target=target).source.endswith(".en.xz")


def test_dev_and_test_do_not_overlap_with_train() -> None:
    held_out = HeldOut()
    for pair in read("dev") + read("test"):
        assert not held_out.has(*pair)  # nor do dev and test overlap
        held_out.add(*pair)
    assert not any(held_out.has(*pair) for pair in read("train"))


def test_is_clean_and_without_duplicates() -> None:
    clean = Cleaner(CleanConfig(), "en", "de")
    train = read("train")
    assert len(set(train)) == len(train)
    for pair in train[::10] + read("dev") + read("test"):
        verdict = clean(*pair)
        assert (verdict.source, verdict.target, verdict.rule) == (*pair, None)


def test_has_sentences_of_many_lengths() -> None:
    words = [len(source.split()) for source, _ in read("train")]
    assert sum(length >= 8 for length in words) > 4_000
    assert max(words) > 20


def test_readme_states_source_and_licence() -> None:
    text = Path(paths()["train"][0]).with_name("README.md").read_text(encoding="utf-8")
    assert "Tatoeba" in text
    assert "CC BY 2.0 FR" in text
