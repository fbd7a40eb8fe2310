"""WordPiece against the tokenizer that BERT comes with."""

import pickle
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.errors import UserError
from hark.text.piece_vocabulary import WORD_PIECES, PieceTable, PieceVocabulary, open_pieces, piece_files
from hark.text.vocabulary import UNTAGGED, SpecialIds
from hark.text.word_pieces import WordPieceRules, with_original_marks, with_space_marks

tokenizers = pytest.importorskip("tokenizers")

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGäßéσςΣİıя你好ـあ한ㅎ▁½0123456789"
WORDS = ("the", "un", "aff", "able", "##able", "##aff", "##ing", "cafe", "café", "don", "e\u0301", "[unused1]", "##")
SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»„“”…—。、¿§€→"
PIECES = (*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *SIGNS)
RULES = [
    WordPieceRules(),
    WordPieceRules(lower_case=False, strip_accents=False),
    WordPieceRules(lower_case=True, strip_accents=False, split_chinese=False),
    WordPieceRules(lower_case=False, strip_accents=True, max_characters=5),
]
HARD = [
    "", " ", "Hello, world!", "unaffable unaffing", "don't we'll", "Ein Café in der Größe, ÄÖÜ naïve", "ΟΔΥΣΣΕΥΣ Σ ς",
    "İstanbul ISPARTA ı", "你好, world 한글 あいう", "a\u200bb\u00adc\ufeffd",
    "x\u00a0y\u3000z\u2028w\u0085v\tt\nn\rr\x0bq",
    "e\u0301 \u0301e", "[MASK] [SEP] [unused1]", "a" * 100, "a" * 101, "\ufffd\x00\x07a", "ﬁ ½ ① Ⅷ 𝔄", "👩‍👩‍👧 🙂a",
    "U.S.-based $5.00 100%", "ــa ▁a a▁", "\ue000private", "豈 \U0002f800 \U0002b820",
]  # fmt: skip


def ours(rules: WordPieceRules) -> PieceVocabulary:
    special = SpecialIds(pad=0, unknown=1, start=2, end=3)
    table = PieceTable(special, with_space_marks(PIECES, SPECIAL), mask=4)
    return PieceVocabulary(rules.dump(), table.target, table)


def theirs(rules: WordPieceRules) -> "tokenizers.Tokenizer":
    from tokenizers import models, normalizers, pre_tokenizers

    ids = {piece: token for token, piece in enumerate(PIECES)}
    model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=rules.max_characters)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=rules.split_chinese, strip_accents=rules.strip_accents, lowercase=rules.lower_case
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


PAIRS = [(ours(rules), theirs(rules)) for rules in RULES]


def check(text: str) -> None:
    for one, other in PAIRS:
        assert one.encode_one(text) == other.encode(text).ids, (text, one.model)


@pytest.mark.parametrize("text", HARD)
def test_hard_text(text: str) -> None:
    check(text)


def is_old(character: str) -> bool:
    """Whether a character has been in Unicode since 3.2: the tables of the two libraries are of different years."""
    return unicodedata.ucd_3_2_0.category(character) == unicodedata.category(character) != "Cs"


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(st.characters().filter(is_old), st.sampled_from(LETTERS + SIGNS + " "))).map("".join))
def test_any_text(text: str) -> None:
    check(text)


def test_special_tokens_are_no_text() -> None:
    words = PAIRS[0][0]
    assert not {0, 2, 3, 4} & set(words.encode_one("[MASK] [CLS] [PAD]"))
    assert words.mask == 4
    assert words.is_special(4)
    assert words.enclose([7]) == [2, 7, 3]
    assert (
        words.decode_one(words.enclose(words.encode_one("The unaffable café, don't!")))
        == "the unaffable cafe, don ' t!"
    )


def test_what_begins_a_word() -> None:
    words = PAIRS[0][0]
    ids = words.enclose(words.encode_one("unaffable cafe!"))
    assert words.pieces(ids) == ["[CLS]", "▁un", "aff", "able", "▁cafe", "▁!", "[SEP]"]
    assert [words.begins_word(token) for token in ids] == [True, True, False, False, True, True, True]


def test_marks_are_restored() -> None:
    assert with_original_marks(with_space_marks(PIECES, SPECIAL), SPECIAL) == PIECES


def test_a_bundle_keeps_it(tmp_path: Path) -> None:
    words = PAIRS[1][0]
    for name, content in piece_files(words.table, words.model, words.model).items():
        (tmp_path / name).write_bytes(content)
    again = open_pieces(tmp_path, UNTAGGED)[1]
    assert (again.sha256, again.mask, again.special) == (words.sha256, 4, words.special)
    assert pickle.loads(pickle.dumps(again)).encode_one("Hello") == words.encode_one("Hello")
    (tmp_path / WORD_PIECES).write_text("{}")
    with pytest.raises(UserError, match=r"wordpiece.json: not the rules of a WordPiece vocabulary"):
        open_pieces(tmp_path, UNTAGGED)


def test_a_table_without_a_mask_is_stored_as_before() -> None:
    table = PieceTable(SpecialIds(0, 1, 2, 3), PIECES)
    assert b"mask" not in table.dump().replace(b"[MASK]", b"")
    with pytest.raises(UserError, match="the id 999 of mask"):
        PieceTable(SpecialIds(0, 1, 2, 3), PIECES, mask=999).check("x")
