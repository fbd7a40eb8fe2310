"""The vocabulary of imported models: pieces of sentencepiece with ids from a list."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.facts import Facts, VocabularyFacts
from hark.text.piece_vocabulary import PIECES, PieceTable, PieceVocabulary, open_pieces, piece_files
from hark.text.tokenizer import train_tokenizer
from hark.text.vocabulary import UNTAGGED, SpecialIds, TagScheme
from tests.text.test_tokenizer import sentences

SENTENCES = list(sentences())
MODEL = train_tokenizer(SENTENCES, 380, [])
MANY = TagScheme.of(Facts(pairs=(("en", "de"), ("de", "en")), vocabulary=VocabularyFacts(language_tags="target")))


def pieces() -> tuple[str, ...]:
    """The pieces of the sentencepiece model in another order, and two tags."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
    learnt = [processor.id_to_piece(i) for i in range(4, processor.get_piece_size())]
    return ("</s>", "<unk>", "__en__", "__de__", *reversed(learnt), "<pad>", "")


TABLE = PieceTable(SpecialIds(len(pieces()) - 2, 1, 0, 0), pieces(), None, {"en": "__en__", "de": "__de__"})


def vocabulary(scheme: TagScheme = UNTAGGED) -> PieceVocabulary:
    return PieceVocabulary(MODEL, TABLE.target, TABLE, scheme=scheme)


def test_text_comes_back() -> None:
    words = vocabulary()
    for text in SENTENCES[:20]:
        ids = words.encode_one(text)
        assert words.decode_one(ids) == " ".join(text.split())
        assert words.decode([ids, [*ids, words.special.end, words.special.pad]]) == [words.decode_one(ids)] * 2
        assert words.pieces(ids) == [TABLE.target[token] for token in ids]


def test_special_ids() -> None:
    words = vocabulary()
    special = {token for token in range(words.vocab_size) if words.is_special(token)}
    assert special == {0, 1, 2, 3, words.vocab_size - 2, words.vocab_size - 1}
    assert words.special.forbidden == (1, words.vocab_size - 2)
    for text in ("</s>", "__de__", "<pad>"):
        assert not (special - {1}) & set(words.encode_one(text))
    assert words.byte_of(TABLE.target.index("<0x41>")) == 0x41
    assert words.byte_of(0) is None


def test_tags_of_both_sides() -> None:
    many = vocabulary(MANY)
    assert many.source_ids("a", "de", "en")[0] == many.tag("en") == 2
    assert many.prefix("de") == (3,)
    with pytest.raises(UserError, match="no tag for fr; available: en, de"):
        many.tag("fr")


def test_a_source_without_end() -> None:
    table = replace(TABLE, source_end=False)
    words = PieceVocabulary(MODEL, table.target, table)
    assert words.source_ids("a b") == words.encode_one("a b")
    assert vocabulary().source_ids("a b") == [*words.encode_one("a b"), 0]


def test_files(tmp_path: Path) -> None:
    for name, content in piece_files(TABLE, MODEL, MODEL).items():
        (tmp_path / name).write_bytes(content)
    source, target = open_pieces(tmp_path, MANY)
    assert source is target
    assert source.table == TABLE
    assert (source.sha256, source.encode_one("abc")) == (vocabulary().sha256, vocabulary().encode_one("abc"))
    there = pickle.loads(pickle.dumps(source))
    assert (there.sha256, there.scheme, there.source_ids("a", "de", "en")) == (
        source.sha256, MANY, source.source_ids("a", "de", "en"),
    )  # fmt: skip


def test_separate_vocabularies_have_their_own_special_ids(tmp_path: Path) -> None:
    own = ("<unk>", "</s>", *TABLE.target[4:-2])
    other = train_tokenizer(SENTENCES[::-1], 370, [])
    for name, content in piece_files(replace(TABLE, source=own, tags={}), other, MODEL).items():
        (tmp_path / name).write_bytes(content)
    source, target = open_pieces(tmp_path, UNTAGGED)
    assert (source.special.end, source.special.unknown, target.special.end) == (1, 0, 0)
    assert source.source_ids("a")[-1] == 1
    assert source.vocab_size == len(own)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not a list of pieces, or damaged"),
        (b"nothing", "not a list of pieces, or damaged"),
        (replace(TABLE, special=SpecialIds(1, 2, 3, 100_000)).dump(), "the id 100000 of end is not in the vocabulary"),
        (replace(TABLE, tags={"fr": "__fr__"}).dump(), "the tag __fr__ of fr is not in the vocabulary"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / PIECES).write_bytes(content)
    with pytest.raises(UserError, match=message):
        open_pieces(tmp_path, UNTAGGED)
