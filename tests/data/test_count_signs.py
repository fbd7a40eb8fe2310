"""Symbol counts of a dataset's source text, computed from its tokens."""

from pathlib import Path

from hark.config import CleanConfig, Config, CorpusConfig, DataConfig
from hark.data.prepare import prepare
from hark.facts import SIGNS, VocabularyFacts
from tests.data.material import pairs, write


def test_counts_match_the_text(tmp_path: Path) -> None:
    text = [(f"{source} C# a_b" if i % 7 == 0 else source, target) for i, (source, target) in enumerate(pairs(60, 1))]
    data = DataConfig(
        train=(CorpusConfig(*write(tmp_path, "one", text)),),
        dev=(CorpusConfig(*write(tmp_path, "dev", pairs(20))),),
        vocab_size=340,
        clean=CleanConfig(language=1.0),
    )
    dataset = prepare(Config(data=data), tmp_path / "dataset", processes=1).dataset
    characters, signs = dataset.count_signs()
    tokenizer = dataset.tokenizer("source")
    texts = []
    for shard in dataset.shards("train"):
        store = dataset.store(shard)
        texts += tokenizer.decode([list(map(int, store[i][0])) for i in range(len(store))])
    # Each text starts with a space marker, which decoding removes.
    assert characters == sum(len(text) + 1 for text in texts)
    assert signs == {sign: sum(text.count(sign) for text in texts) for sign in SIGNS}
    assert signs["#"] == signs["_"] == 9


def test_rare_signs() -> None:
    facts = VocabularyFacts(source_characters=10_000_000, source_signs={"#": 9, "+": 10, "&": 5000})
    assert {"#", "|"} <= facts.rare_signs
    assert not {"+", "&"} & facts.rare_signs
    assert VocabularyFacts().rare_signs == frozenset()  # no counts
