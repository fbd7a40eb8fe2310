"""The tokenizer is lossless, never encodes text to special ids, and trains reproducibly."""

import hashlib
import io
import random
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import UserError
from hark.text.address import has_symbols
from hark.text.segment import Segmenter
from hark.text.tokenizer import MAX_ONE_BY_ONE, Tokenizer, train_symbols, train_tokenizer
from hark.text.vocabulary import SpecialIds, normalise
from tests.translate import stub

TEXT = "the of house houses tree trees green greener das der Haus Häuser Baum Bäume grün grüner über und and"

SCRIPTS = {
    "latin": "Der schnelle braune Fuchs springt über den faulen Hund – „Größe“ naïve façade.",
    "cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم",
    "persian": "می‌خواهم کتاب‌ها را بخوانم",
    "hebrew": "דג סקרן שט בים מאוכזב",
    "devanagari": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा क्‍ष",
    "bengali": "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "chinese": "視野無限廣，窗外有藍天。",
    "japanese": "いろはにほへと ちりぬるを カタカナ",
    "korean": "키스의 고유조건은 입술끼리 만나야 하고",
    "georgian": "ვეფხის ტყაოსანი შოთა რუსთაველი",
    "amharic": "ሰማይ አይታረስ ንጉሥ አይከሰስ።",
}
ODD = [
    "👩‍👩‍👧‍👦 family, 👍🏽 thumb, 🏳️‍🌈 flag, ❤️",
    "10\u00a0000\u2009€\u3000x",
    " leading and trailing ",
    "tab\tand\nnewline",
    "nul\x00byte",
    "𝄞 U+10FFFF: \U0010ffff",
    "a\u2581b",
    "\u2047 ⁇ <unk>",
    "",
    " ",
    "x" * 5000,
]


def sentences(count=400):
    chance = random.Random(0)
    return [" ".join(chance.choices(TEXT.split(), k=8)) for _ in range(count)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(sentences(), 380, ["en", "de"]))


@pytest.mark.parametrize("text", [*SCRIPTS.values(), *ODD])
def test_encoding_is_lossless(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode([text])) == [normalise(text)]


@given(text=st.text(st.characters(codec=None)))
def test_encoding_is_lossless_for_any_text(tokenizer, text):
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode([ids]) == [normalise(text)]
    assert all(tokenizer.n_special <= i < tokenizer.vocab_size for i in ids)


@pytest.mark.parametrize("text", ["</s>", "<s>", "<pad>", "<unk>", "<2de>", "<2en>", "a </s> b", "<0x41>", "\u2047"])
def test_no_text_becomes_a_special_id(tokenizer, text):
    (ids,) = tokenizer.encode([text])
    assert min(ids) >= tokenizer.n_special
    assert tokenizer.decode([ids]) == [text]


def test_symbols_of_address():
    plain, formal = stub.tokenizer(), stub.formal_tokenizer()
    assert plain.address_symbols == {}
    assert not has_symbols(plain.model)
    assert has_symbols(formal.model)
    symbols = formal.address_symbols
    assert set(symbols) == {"formal", "informal"}
    assert formal.encode_one("<formal> you see")[0] == symbols["formal"]  # as in training text
    assert formal.source_ids("you see", address="informal") == [symbols["informal"], *formal.source_ids("you see")]
    assert formal.is_special(symbols["formal"])
    assert set(formal.markers) == {"<formal>", "<informal>", "<bt>"}
    for text in ("<formal> you", "<informal>you <formal>", "the <for\u00admal>", "<formal>", "press <bt> twice"):
        ids = formal.encode_literal(text)
        assert not {*formal.markers.values()} & {*ids}
        assert formal.decode_one(ids) == normalise(text)
    assert formal.encode_literal("the <house>") == formal.encode_one("the <house>")


def test_bpe_dropout_keeps_symbols_of_address():
    formal = stub.formal_tokenizer()
    [ids] = Segmenter(formal, 0.5, 1).encode(["<formal> you see the house"])
    assert ids[0] == formal.address_symbols["formal"]


def test_special_ids(tokenizer):
    assert tokenizer.special == SpecialIds(pad=0, unknown=1, start=2, end=3)
    assert tokenizer.special.forbidden == (0, 1, 2)
    assert tokenizer.pieces([0, 1, 2, 3, 4, 5]) == ["<pad>", "<unk>", "<s>", "</s>", "<2de>", "<2en>"]
    assert (tokenizer.tag("de"), tokenizer.tag("en"), tokenizer.n_special) == (4, 5, 6)
    assert tokenizer.pieces([tokenizer.n_special + 0x41]) == ["<0x41>"]
    with pytest.raises(UserError, match="no tag for fr; available: de, en"):
        tokenizer.tag("fr")


def test_special_ids_are_skipped_in_decoding(tokenizer):
    (ids,) = tokenizer.encode(["das Haus"])
    assert tokenizer.decode(
        [[tokenizer.special.start, *ids, tokenizer.special.end, tokenizer.special.pad, tokenizer.tag("de")], []]
    ) == [
        "das Haus",
        "",
    ]


def test_invalid_bytes_decode_to_the_replacement_character(tokenizer):
    assert tokenizer.decode([[tokenizer.n_special + 0xFF]])[0].strip() == "\ufffd"


def test_one_text_is_encoded_like_many(tokenizer):
    assert [tokenizer.encode_one(text) for text in ODD] == tokenizer.encode(ODD)


def test_few_texts_are_encoded_like_many(tokenizer):
    """Also those that sentencepiece gets one by one."""
    ids, times = tokenizer.encode(ODD), MAX_ONE_BY_ONE
    assert tokenizer.encode(ODD * times) == ids * times
    assert tokenizer.decode(ids * times) == tokenizer.decode(ids) * times


def test_raw_text_and_normalised_text_have_the_same_ids(tokenizer):
    assert tokenizer.encode(["  das\u00a0 Ha\u00adus "]) == tokenizer.encode(["das Haus"])


def test_training_is_reproducible_in_another_process(tokenizer):
    code = (
        "import hashlib; from tests.text.test_tokenizer import *;"
        "print(hashlib.sha256(train_tokenizer(sentences(), 380, ['de', 'en'])).hexdigest())"
    )
    root = Path(__file__).parents[2]
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert out.stdout.strip() == tokenizer.sha256


def test_the_size_is_exact_and_frequent_words_are_whole(tokenizer):
    assert tokenizer.vocab_size == 380
    assert tokenizer.pieces(tokenizer.encode(["das Haus"])[0]) == ["▁das", "▁Haus"]


def test_a_vocabulary_too_large_names_the_largest_that_works():
    with pytest.raises(UserError, match=r"corpus: .*largest that works is \d+") as error:
        train_tokenizer(sentences(), 5000, ["en", "de"], "corpus")
    largest = int(str(error.value).rsplit(" ", 1)[1])
    assert Tokenizer(train_tokenizer(sentences(), largest, ["en", "de"])).vocab_size == largest
    with pytest.raises(UserError):
        train_tokenizer(sentences(), largest + 1, ["en", "de"])


def test_a_vocabulary_too_small_names_the_smallest_that_works():
    text = ["".join(map(chr, range(0x4E00, 0x4E00 + 300)))] * 3
    with pytest.raises(UserError, match="too many characters") as error:
        train_tokenizer(text, 300, ["zh"])
    smallest = int(str(error.value).split()[-1])
    assert Tokenizer(train_tokenizer(text, smallest, ["zh"])).vocab_size == smallest


def test_training_without_text_is_an_error():
    with pytest.raises(UserError, match="no text"):
        train_tokenizer([], 300, ["en"])


def test_save_and_load(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.model)
    loaded = Tokenizer.load(path, tokenizer.sha256)
    assert loaded.encode(["das Haus"]) == tokenizer.encode(["das Haus"])
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_another_tokenizer_is_refused(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_tokenizer(sentences(), 370, ["en", "de"]))
    with pytest.raises(UserError, match=r"tokenizer\.model: not the original tokenizer .*; restore the original"):
        Tokenizer.load(path, tokenizer.sha256)


@pytest.mark.parametrize("content", [b"", b"not a model", None])
def test_an_invalid_tokenizer_file_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=r"tokenizer\.model"):
        Tokenizer.load(path)


def test_a_model_without_byte_fallback_is_refused():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()), model_writer=model, vocab_size=60, model_type="bpe", minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3,
    )  # fmt: skip
    with pytest.raises(UserError, match="byte fallback"):
        Tokenizer(model.getvalue())


def test_a_vocabulary_of_symbols():
    symbols = Tokenizer(train_symbols(["(S (NP XX XX ) )", "(SBAR XX )"], ["trees", "en"]))
    assert symbols.symbols.keys() == {"(S", "(NP", "(SBAR", "XX", ")"}
    assert symbols.vocab_size == 4 + 2 + 5 + 256
    text = "(SBAR (S (NP XX XX ) ) )"
    ids = symbols.encode_one(text)
    assert ids == symbols.encode([text])[0] == [symbols.symbols[each] for each in text.split()]
    assert symbols.decode_one(ids) == symbols.decode([ids])[0] == text
    assert symbols.decode_one(symbols.encode_one("(QP é")) == "(QP é"  # unknown: as bytes
    assert symbols.byte_of(symbols.first_byte + 0x41) == 0x41
    assert not symbols.learnt
    assert train_symbols(["b a"], ["en"]) == train_symbols(["a", "b a"], ["en"])
    with pytest.raises(UserError, match="no symbols"):
        train_symbols([" "], ["en"])


def test_ordinary_vocabularies_have_no_symbols(tokenizer):
    assert (tokenizer.symbols, tokenizer.first_byte) == ({}, tokenizer.n_special)
