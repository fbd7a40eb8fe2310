"""Learning a byte-level vocabulary from running text. It keeps every character, line breaks and runs of spaces too."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import sentencepiece

from hark.errors import UserError
from hark.text.byte_pairs import BYTE_CHARACTERS, HEADER, BytePairs, split_words
from hark.text.piece_vocabulary import PieceTable, PieceVocabulary
from hark.text.vocabulary import SpecialIds

MASK = "<mask>"
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>", MASK)
SPECIAL = SpecialIds(pad=0, unknown=1, start=2, end=3)
SMALLEST = len(SPECIAL_PIECES) + len(BYTE_CHARACTERS)
"""The size of a vocabulary without merges: every byte is a token."""
BORDER = "\u2400"
"""Between the words of a line for sentencepiece; no byte is written with it."""
MAX_LINE_WORDS = 1000


def learn_byte_pairs(texts: Iterable[str], vocab_size: int, sentinels: int = 0) -> PieceVocabulary:
    """Learn a vocabulary of at most `vocab_size`, smaller if the text has too few distinct words. The last ids are the
    sentinels."""
    count = vocab_size - SMALLEST - sentinels
    merges = list(islice(learn_merges(texts, count), count)) if count > 0 else []
    pieces = (*SPECIAL_PIECES, *BYTE_CHARACTERS.values(), *map("".join, merges))
    ids = tuple(range(len(pieces), len(pieces) + sentinels))
    pieces += tuple(f"<extra_id_{number}>" for number in range(sentinels))
    model = b"\n".join([HEADER, *(" ".join(pair).encode() for pair in merges)]) + b"\n"
    table = PieceTable(SPECIAL, pieces, mask=SPECIAL_PIECES.index(MASK), verbatim=True, sentinels=ids)
    return PieceVocabulary(model, pieces, table, "learnt vocabulary")


def learn_merges(texts: Iterable[str], count: int) -> Iterator[tuple[str, str]]:
    """Learn pieces with sentencepiece, on text in which a character stands for each byte, and yield the two parts that
    make each."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=train_pieces(texts, count))
    merging = BytePairs(HEADER)
    for token in range(processor.get_piece_size()):
        piece = processor.id_to_piece(token)
        if len(piece) > 1 and not processor.is_unknown(token) and not processor.is_control(token):
            parts = merging.merge(piece)
            if len(parts) == 2:
                merging.add(parts)
                yield parts


def train_pieces(texts: Iterable[str], count: int) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=chain.from_iterable(map(lines, texts)),
            model_writer=model,
            model_type="bpe",
            # With its own three special tokens. There are more merges if not every byte occurs.
            vocab_size=count + 3 + len(BYTE_CHARACTERS),
            hard_vocab_limit=False,
            pretokenization_delimiter=BORDER,
            character_coverage=1.0,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            split_by_unicode_script=False,
            split_by_number=False,
            split_by_whitespace=False,
            max_sentence_length=1 << 20,
            num_threads=2,
            minloglevel=2,
        )
    except RuntimeError as error:
        if "sentences_.empty()" in str(error):
            raise UserError("no text to learn a vocabulary from") from None
        raise
    return model.getvalue()


def lines(text: str) -> Iterator[str]:
    words = ["".join(BYTE_CHARACTERS[byte] for byte in word.encode("utf-8", "replace")) for word in split_words(text)]
    for start in range(0, len(words), MAX_LINE_WORDS):
        yield BORDER.join(words[start : start + MAX_LINE_WORDS])
