"""Normalisation; ids of both sides, with tags, start and end; and opening the vocabularies of a bundle."""

import pickle
import unicodedata
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
from hark.text.vocabulary import Coder, SpecialIds, TagScheme, normalise
from tests.translate.bundles import make_bundle
from tests.translate.stub import many_to_many, tokenizer

# Including surrogates: JSON escapes can produce them.
any_text = st.text(st.characters(codec=None))


@given(any_text)
def test_is_idempotent(text):
    once = normalise(text)
    assert normalise(once) == once


@given(any_text)
def test_result_is_nfc_with_single_spaces(text):
    result = normalise(text)
    assert unicodedata.is_normalized("NFC", result)
    assert result == " ".join(result.split())
    assert result.encode("utf-8").decode("utf-8") == result


@given(st.text("abc ü\u0301\u200b\u00ad", max_size=12))
def test_letters_and_accents_brought_together_are_composed(text):
    assert unicodedata.is_normalized("NFC", normalise(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \t b\n", "a b"),
        ("10\u00a0000\u202f€\u3000!\u2028x\x85y\x0bz", "10 000 € ! x y z"),
        ("Ko\u00adope\u200bra\u2060tion\ufeff", "Kooperation"),
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),
        ("a\ud800b", "a\ufffdb"),
        ("a\u2581b", "a_b"),
        ("", ""),
        (" \u200b ", ""),
    ],
)
def test_examples(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "½ ™ ﬁ Ａ ² …",  # NFKC would rewrite them
        "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 ❤️",  # joined with U+200D, varied with U+FE0F
        "می‌خواهم",  # Persian, with the non-joiner
        "क्‍ष",  # Devanagari, with the joiner
        "a\x00b",
    ],
)
def test_preserves_meaningful_characters(text):
    assert normalise(text) == text


CODER = Coder(tokenizer(), tokenizer())


@given(st.text(max_size=30))
def test_encoding_equals_the_tokenizers(text: str) -> None:
    tokens = CODER.source.encode_literal(text)
    assert tokens == tokenizer().encode([text])[0]
    assert CODER.decode(tuple(tokens)) == normalise(text)


@given(st.lists(st.integers(0, 699), max_size=20))
def test_decoded_text_is_one_line(tokens: list[int]) -> None:
    text = CODER.decode(tuple(tokens))
    assert text == " ".join(text.split())
    if "\ufffd" not in text:  # both replace invalid bytes, but not always with the same number of characters
        assert text == " ".join(tokenizer().decode([tokens])[0].split())


@given(st.text(max_size=30), st.integers(1, 40))
def test_fits_counts_tokens(text: str, limit: int) -> None:
    if CODER.fits(text, limit):
        assert len(CODER.source.encode_literal(text)) <= limit
    else:
        assert len(CODER.source.encode_literal(text)) > limit


def test_unknown_characters() -> None:
    assert CODER.unknown("The cat is 5 € (yes).\u00a0\t\ufeff") == ""
    assert set(CODER.unknown("a 👍 и ł\u2581 \ud800 „»—₴´")) == set("👍иł\u2581\ud800")
    assert CODER.unknown("Ba\u0308r") == ""


def test_a_model_of_one_pair_ignores_languages() -> None:
    vocabulary = CODER.source
    ids = [*vocabulary.encode_literal("the cat"), vocabulary.special.end]
    assert vocabulary.source_ids("the cat") == vocabulary.source_ids("the cat", "fr") == ids
    assert vocabulary.prefix() == vocabulary.prefix("fr") == ()


def test_the_encoder_input_starts_with_the_tag() -> None:
    coder = many_to_many("source")
    assert coder.source.source_ids("the cat", "de")[0] == coder.source.tag("de")
    assert coder.source.source_ids("the cat", "de")[1:] == CODER.source.source_ids("the cat")
    assert coder.target.prefix("de") == ()
    with pytest.raises(UserError, match="choose one with -t"):
        coder.source.source_ids("the cat")


def test_the_tag_counts_as_a_token() -> None:
    tokens = len(CODER.source.encode_literal("the cat sees a tree"))
    assert CODER.fits("the cat sees a tree", tokens)
    assert not many_to_many("source").fits("the cat sees a tree", tokens)
    assert many_to_many("source").fits("the cat sees a tree", tokens + 1)


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
