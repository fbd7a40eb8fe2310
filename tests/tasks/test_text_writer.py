"""From tokens to text: pieces, stop strings and broken characters."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.tasks.text_writer import TextWriter
from hark.text.byte_pairs import HEADER
from hark.text.piece_vocabulary import PieceTable, PieceVocabulary
from hark.text.vocabulary import SpecialIds, Vocabulary
from tests.translate.stub import tokenizer


def byte_pairs() -> PieceVocabulary:
    """GPT-2's kind of vocabulary, with a few merges."""
    merges = HEADER + b": 0.2\na b\n\xc4\xa0 x\n"
    alphabet = {chr(byte) for byte in range(0x21, 0x7F)} | {chr(0x100 + n) for n in range(68) if n != 0x20}
    alphabet |= {chr(byte) for byte in (*range(0xA1, 0xAD), *range(0xAE, 0x100))} | {"\u2581"}
    pieces = ("<end>", "<unk>", *sorted(alphabet), "ab", "\u2581x")
    table = PieceTable(SpecialIds(pad=0, unknown=1, start=0, end=0), pieces)
    return PieceVocabulary(merges, pieces, table)


def cut(tokens: Sequence[int], chance: random.Random) -> list[list[int]]:
    """A sequence of tokens in parts of one to four."""
    parts, rest = [], list(tokens)
    while rest:
        size = chance.randint(1, 4)
        parts.append(rest[:size])
        rest = rest[size:]
    return parts


@pytest.mark.parametrize("vocabulary", [tokenizer(), byte_pairs()], ids=["sentencepiece", "byte pairs"])
@given(st.data())
@settings(max_examples=60)
def test_pieces_are_the_text_up_to_the_first_stop_string(vocabulary: Vocabulary, data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab c€😀é", min_size=1, max_size=30))
    stop = data.draw(st.lists(st.text(alphabet="ab c€", min_size=1, max_size=4), max_size=3))
    tokens = vocabulary.encode_literal(text)
    plain = TextWriter(vocabulary)
    whole = plain.push(tokens, last=True)
    assert whole == text or whole.strip() == " ".join(text.split())  # sentencepiece joins spaces
    ends = [(at + len(each), at) for each in stop for at in [whole.find(each)] if at >= 0]
    expected = whole[: min(ends)[1]] if ends else whole
    writer = TextWriter(vocabulary, stop)
    parts = cut(tokens, random.Random(data.draw(st.integers(0, 999))))
    pieces = []
    for part in parts:
        pieces.append(writer.push(part))
        assert not any(each in "".join(pieces) for each in stop)
        assert "\ufffd" not in pieces[-1]
        assert expected.startswith("".join(pieces))
    pieces.append(writer.push((), last=True))
    assert "".join(pieces) == writer.text == expected
    assert writer.stopped == bool(ends)


def test_spaces_at_both_ends_belong_to_the_text() -> None:
    vocabulary = byte_pairs()
    writer = TextWriter(vocabulary)
    assert [writer.push(vocabulary.encode_one(each)) for each in (" a", " ", "\n", "b ")] == [" a", " ", "\n", "b "]
    assert TextWriter(vocabulary, begins=True).push(vocabulary.encode_one(" ab")) == "ab"


def test_a_broken_character_is_shown_at_the_end() -> None:
    vocabulary = byte_pairs()
    writer, tokens = TextWriter(vocabulary), vocabulary.encode_one("a€")
    assert [writer.push([token]) for token in tokens[:-1]] == ["a", "", ""]
    assert writer.push((), last=True) == "\ufffd"
