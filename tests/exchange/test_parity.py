"""Parity checks: what they compare, what they allow, and what they say about the first difference."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.hark_side import hark_side
from hark.exchange.parity import Ids, ParityError, Side, check_sentences, compare, largest_difference, skipped
from hark.text.vocabulary import normalise
from hark.weights import Array
from tests.translate.bundles import make_bundle

TEXTS = ["a b", "c d e"]
VOCABULARY = "abcde$"
"""A toy language in which every word is translated by its capital; the last id is EOS."""


def encode(text: str) -> list[int]:
    return [VOCABULARY.index(word) for word in text.lower().split()]


def logits(source: Ids, target: Ids) -> Array:
    rows = np.zeros((len(target) + 1, len(VOCABULARY)))
    for row, token in enumerate([*source[: len(target)], 5]):
        rows[row, token] = 9
    return rows


def log_probs(source: Ids, target: Ids) -> Array:
    rows = logits(source, target)
    return (rows - np.log(np.exp(rows).sum(axis=1, keepdims=True)))[range(len(rows)), [*target, 5]]


ONE = Side(
    "one 1.0",
    lambda texts, beam: [text.upper() for text in texts],  # noqa: ARG005
    lambda text: [*encode(text), 5],
    encode,
    logits,
    log_probs,
    lambda source, target: {"encoder layer 1": np.array(source), "decoder layer 1": np.array(target)},
)


def test_equal_sides_give_a_proof() -> None:
    other = replace(ONE, name="two 2.0", logits=lambda source, target: logits(source, target) + 1e-4)
    proof = compare(ONE, other, TEXTS, what="export to two")
    assert (proof.against, proof.sentences, proof.equal, proof.quantity) == ("two 2.0", 2, 2, "logits")
    assert proof.largest_difference == pytest.approx(1e-4)
    assert (proof.bound, proof.what, proof.skipped) == (1e-3, "export to two", False)
    assert proof.search == "greedy, beam 4 without length penalty"


def test_log_probabilities_stand_in_for_logits() -> None:
    proof = compare(ONE, replace(ONE, logits=None), TEXTS)
    assert (proof.quantity, proof.largest_difference) == ("log-probabilities", 0)
    neither = compare(ONE, replace(ONE, logits=None, log_probs=None), TEXTS)
    assert (neither.quantity, neither.largest_difference, neither.bound) == (None, None, None)


def test_the_first_different_token_is_named() -> None:
    other = replace(ONE, name="two", source_tokens=lambda text: encode(text))
    with pytest.raises(ParityError, match=r"sentence 1 \('a b'\): token 3 is id 5 in one 1.0, but missing in two"):
        compare(ONE, other, TEXTS)


def test_the_first_different_layer_is_named() -> None:
    def layers(source: Ids, target: Ids) -> dict[str, Array]:
        return {"encoder layer 1": np.array(source), "decoder layer 1": np.array(target) + 0.5}

    other = replace(ONE, name="two", logits=lambda source, target: logits(source, target) * 1.01, layers=layers)
    with pytest.raises(ParityError, match=r"logits of two .* by 0.09 \(allowed: 0.001\); .*: decoder layer 1, by 0.5"):
        compare(ONE, other, TEXTS)
    with pytest.raises(ParityError, match="the output projection differs"):
        compare(ONE, replace(other, layers=ONE.layers), TEXTS)
    with pytest.raises(ParityError, match=r"allowed: 0.001\)$"):
        compare(ONE, replace(other, layers=None), TEXTS)


def test_nan_on_one_side_is_a_difference() -> None:
    nan, inf = np.array([np.nan]), np.array([-np.inf])
    assert largest_difference(nan, nan) == largest_difference(inf, inf) == 0
    assert largest_difference(nan, np.array([1.0])) == np.inf
    other = replace(ONE, logits=lambda source, target: logits(source, target) * np.nan)
    with pytest.raises(ParityError, match="by inf"):
        compare(ONE, other, TEXTS)


def test_different_shapes_are_a_difference() -> None:
    other = replace(ONE, logits=lambda source, target: logits(source, target)[:, :-1])
    with pytest.raises(ParityError, match=r"different shapes: \(3, 6\) in one 1.0, \(3, 5\)"):
        compare(ONE, other, TEXTS)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_different_translation_names_the_first_word(beam: int) -> None:
    def translate(texts: list[str], of: int) -> list[str]:
        return [text.upper().replace("D", "B") if of == beam else text.upper() for text in texts]

    search = "greedy" if beam == 1 else "beam 4"
    with pytest.raises(
        ParityError, match=rf"sentence 2 .*\({search}.*\) differ from word 2 on: 'D E' in one 1.0, 'B E'"
    ):
        compare(ONE, replace(ONE, translate=translate), TEXTS)


def test_a_tie_is_no_difference_but_is_counted() -> None:
    """If our own model finds two translations equally good, rounding decides between them."""
    undecided = replace(ONE, log_probs=lambda source, target: np.zeros(len(target) + 1))  # noqa: ARG005
    other = replace(ONE, translate=lambda texts, beam: [text.upper().replace("D", "B") for text in texts])  # noqa: ARG005
    assert compare(undecided, other, TEXTS).equal == 1


def test_a_skipped_check_is_recorded() -> None:
    proof = skipped("two 2.0", "export to two")
    assert (proof.skipped, proof.sentences, proof.what) == (True, 0, "export to two")


def test_every_language_has_its_sentences(tmp_path: Path) -> None:
    sentences = check_sentences("en")
    assert len(sentences) == 20
    assert check_sentences("de-AT") == check_sentences("de") != sentences
    assert check_sentences("tlh") == sentences  # a language without its own
    for code in ("de", "fr", "es", "it", "pt", "nl", "sv", "pl", "cs", "ru", "uk", "zh", "ja", "ar"):
        own = check_sentences(code)
        assert len(own) == len(set(own)) == 20
        assert own != sentences
        assert [normalise(each) for each in own] == own
    (tmp_path / "more.txt").write_text("One more.\n\n  Two more. \n")
    assert check_sentences("en", tmp_path / "more.txt")[20:] == ["One more.", "Two more."]


def test_a_file_of_sentences_must_be_text(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        check_sentences("en", tmp_path / "bad")
    with pytest.raises(UserError, match="cannot be read"):
        check_sentences("en", tmp_path / "missing")
    with pytest.raises(UserError, match="no sentences"):
        compare(ONE, ONE, [])


def test_harks_own_engines_are_equal(tmp_path: Path) -> None:
    """CTranslate2 translates and scores, torch computes logits and layers."""
    bundle = Bundle.open(make_bundle(tmp_path / "small"))
    side = hark_side(bundle)
    proof = compare(side, side, check_sentences("en")[:3])
    assert (proof.equal, proof.quantity, proof.largest_difference) == (3, "logits", 0)
    assert side.source_tokens
    assert side.target_tokens
    assert side.logits
    assert side.log_probs
    assert side.layers
    source, target = side.source_tokens("A man."), side.target_tokens("Ein Mann.")
    rows = side.logits(source, target)
    normalised = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
    end = source[-1]
    assert np.allclose(normalised[range(len(rows)), [*target, end]], side.log_probs(source, target), atol=1e-5)
    assert list(side.layers(source, target)) == ["encoder layer 1", "decoder layer 1"]


def test_another_model_is_found_out(tmp_path: Path) -> None:
    one = hark_side(Bundle.open(make_bundle(tmp_path / "one")))
    two = hark_side(Bundle.open(make_bundle(tmp_path / "two", "en", "de", "model.activation=gelu")))
    with pytest.raises(ParityError, match="first difference: encoder layer 1, by"):
        compare(one, two, check_sentences("en")[:1])


class Lazy:
    """A side that loads at each use after a release, and records when."""

    def __init__(self, name: str, loaded: set[str], most: list[int]) -> None:
        self.name, self.loaded, self.most = name, loaded, most

    def use(self) -> None:
        self.loaded.add(self.name)
        self.most.append(len(self.loaded))

    def side(self) -> Side:
        def translate(texts: Sequence[str], beam: int) -> Sequence[str]:
            self.use()
            return ONE.translate(texts, beam)

        def numbers(source: Ids, target: Ids) -> Array:
            self.use()
            return logits(source, target)

        return replace(
            ONE, name=self.name, translate=translate, logits=numbers, release=lambda: self.loaded.discard(self.name)
        )


@pytest.mark.parametrize("held", [1, 1 << 20])
def test_only_one_side_is_loaded_at_a_time(held: int) -> None:
    loaded: set[str] = set()
    most: list[int] = []
    proof = compare(Lazy("a", loaded, most).side(), Lazy("b", loaded, most).side(), TEXTS, held=held)
    assert (proof.equal, proof.quantity) == (2, "logits")
    assert set(most) == {1}
    assert loaded == set()


def test_the_sides_of_hark_load_again_after_a_release(tmp_path: Path) -> None:
    side = hark_side(Bundle.open(make_bundle(tmp_path / "bundle")))
    assert side.source_tokens is not None
    assert side.logits is not None
    source = side.source_tokens("a house")
    before = side.translate(["a house"], 2), side.logits(source, source[:1])
    side.release()
    after = side.translate(["a house"], 2), side.logits(source, source[:1])
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])


def test_different_texts_of_equal_tokens_are_a_difference() -> None:
    """Then one side decodes its tokens wrongly, which no rounding explains."""
    other = replace(ONE, name="two", translate=lambda texts, beam: [text.capitalize() for text in texts])  # noqa: ARG005
    assert compare(ONE, replace(other, translate=ONE.translate), TEXTS).equal == 2
    with pytest.raises(ParityError, match=r"translations \(greedy\) differ from word 2 on: 'B' in one 1.0, 'b' in two"):
        compare(ONE, other, TEXTS)
