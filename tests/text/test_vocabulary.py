"""Tags, start and end around a text, and opening the vocabularies of a bundle."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import SOURCE_TOKENIZER, Bundle, write_facts, write_files
from hark.errors import UserError
from hark.facts import Facts, VocabularyFacts
from hark.text.opening import open_vocabularies
from hark.text.tokenizer import Tokenizer, train_tokenizer
from hark.text.vocabulary import SpecialIds, TagScheme
from tests.translate.bundles import make_bundle
from tests.translate.stub import tokenizer

MANY = Facts(pairs=(("en", "de"), ("de", "en")), vocabulary=VocabularyFacts(language_tags="source"))


def tagged(facts: Facts) -> Tokenizer:
    return Tokenizer(tokenizer().model, scheme=TagScheme.of(facts))


def test_without_tags_languages_are_ignored() -> None:
    plain = tokenizer()
    ids = plain.encode_one("the cat")
    assert plain.source_ids("the cat") == plain.source_ids("the cat", "de", "en") == [*ids, plain.special.end]
    assert plain.as_source(ids, "anything") == [*ids, plain.special.end]
    assert (plain.prefix(), plain.prefix("de"), plain.lead) == ((), (), 0)


def test_source_starts_with_the_target_tag() -> None:
    many = tagged(MANY)
    ids = many.encode_one("the cat")
    assert many.source_ids("the cat", "de") == [many.tag("de"), *ids, many.special.end]
    assert many.source_ids("the cat", "en") == [many.tag("en"), *ids, many.special.end]
    assert many.pieces(many.source_ids("the cat", "de"))[0] == "<2de>"
    assert many.decode([many.source_ids("the cat", "de")]) == ["the cat"]
    assert (many.prefix("de"), many.lead) == ((), 1)


def test_decoding_is_forced_to_start_with_the_target_tag() -> None:
    facts = replace(MANY, vocabulary=VocabularyFacts(language_tags="target"))
    many = tagged(facts)
    ids = many.encode_one("the cat")
    assert many.source_ids("the cat", "de", "en") == [many.tag("en"), *ids, many.special.end]
    assert many.prefix("de") == (many.tag("de"),)


def test_a_language_is_required_if_there_are_several() -> None:
    many = tagged(MANY)
    with pytest.raises(UserError, match=r"this model translates to de, en; choose one with -t"):
        many.source_ids("the cat")
    with pytest.raises(UserError, match="fr: this model translates only to de, en; choose one of them"):
        many.source_ids("the cat", "fr")
    # Two sources and one target need no -t.
    into_german = tagged(replace(MANY, pairs=(("en", "de"), ("fr", "de"))))
    assert into_german.source_ids("the cat") == into_german.source_ids("the cat", "de")


def test_forbidden_ids() -> None:
    assert SpecialIds(pad=1, unknown=3, start=2, end=2).forbidden == (1, 3)  # a decoder that starts with EOS


@given(st.text(max_size=30))
def test_single_and_batch_encoding_agree(text: str) -> None:
    ids = tokenizer().encode_one(text)
    assert ids == tokenizer().encode([text])[0]
    assert tokenizer().decode_one(ids) == tokenizer().decode([ids])[0]


def test_kinds_of_ids() -> None:
    words = tokenizer()
    assert [words.is_special(token) for token in (words.special.end, words.tag("de"), words.n_special)] == [
        True,
        True,
        False,
    ]
    assert (words.byte_of(words.special.end), words.byte_of(words.n_special + 0x41)) == (None, 0x41)
    assert words.byte_of(words.learnt[0]) is None
    assert {"a", "ß", "€"} <= words.alphabet
    assert not {"\u2581", "👍"} & words.alphabet


def test_pickles() -> None:
    many = tagged(MANY)
    there = pickle.loads(pickle.dumps(many))
    assert (there.sha256, there.scheme) == (many.sha256, many.scheme)
    assert there.source_ids("the cat", "de") == many.source_ids("the cat", "de")


def test_opening_the_vocabularies_of_a_bundle(tmp_path: Path) -> None:
    bundle = Bundle.open(make_bundle(tmp_path / "model"))
    source, target = open_vocabularies(bundle)
    assert source is target
    assert source.source_ids("the cat")[-1] == source.special.end
    other = train_tokenizer(["a b c d e f g h"] * 30, 275, ["en", "de"])
    write_files(bundle, {SOURCE_TOKENIZER: other})
    write_facts(bundle, MANY)
    source, target = open_vocabularies(Bundle.open(bundle.folder))
    assert (source.vocab_size, target.vocab_size) == (275, 700)
    assert source.source_ids("a b", "de")[0] == source.tag("de")
