"""A Hugging Face folder in the shape of an OPUS-MT model, with random weights, made by transformers itself."""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sentencepiece
import torch

from hark.config import CorpusConfig
from hark.data.corpus import read_pairs
from hark.data.sample import paths

LEARNED = 8000
"""Pieces of each side; more than the sample corpus needs, and fewer than OPUS-MT's 32,000."""


@dataclass(frozen=True)
class OpusShape:
    """The sizes of most OPUS-MT models."""

    vocabulary: int = 58_101
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    layers: int = 6
    positions: int = 512
    pairs: int = 20_000
    """Pairs of the sample corpus that pieces are learned from: all."""


TINY = OpusShape(vocabulary=1200, d_model=32, d_ff=64, heads=2, layers=1, positions=16, pairs=300)
"""Few positions, because a model with random weights never ends a translation."""


def write_opus_mt(folder: Path, shape: OpusShape) -> Path:
    """Write a folder as OPUS-MT's are: safetensors, two sentencepiece models, and one vocabulary for both sides.

    The vocabulary is filled up with pieces that occur in no text, because the sample corpus is too small for so many.
    """
    from transformers import MarianConfig, MarianMTModel  # type: ignore[import-not-found]

    folder.mkdir(parents=True)
    pairs = list(islice(read_pairs(CorpusConfig(*paths()["train"]), "en", "de"), shape.pairs))
    size = min(LEARNED, shape.vocabulary // 3)
    models = [train_pieces((pair[side] for pair in pairs), size) for side in (0, 1)]
    learned = dict.fromkeys(piece for model in models for piece in pieces_of(model))
    pieces = ["</s>", "<unk>", *learned]
    pieces += [f"▁unused{i}" for i in range(shape.vocabulary - 1 - len(pieces))]
    pieces.append("<pad>")
    pad = len(pieces) - 1
    (folder / "source.spm").write_bytes(models[0])
    (folder / "target.spm").write_bytes(models[1])
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8")
    languages = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    config = MarianConfig(
        vocab_size=shape.vocabulary,
        d_model=shape.d_model,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_ffn_dim=shape.d_ff,
        decoder_ffn_dim=shape.d_ff,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        max_position_embeddings=shape.positions,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=pad,
        eos_token_id=0,
        bos_token_id=0,
        forced_eos_token_id=0,
        decoder_start_token_id=pad,
    )
    torch.manual_seed(1)
    model = MarianMTModel(config)
    model.generation_config.num_beams = 6
    model.generation_config.bad_words_ids = [[pad]]
    model.save_pretrained(folder)
    return folder


def train_pieces(texts: Iterable[str], size: int) -> bytes:
    """Train a unigram model, as OPUS-MT's are."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    """The pieces of a sentencepiece model without its special ones."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size()) if not special(processor, i)]


def special(processor: sentencepiece.SentencePieceProcessor, token: int) -> bool:
    return bool(processor.is_control(token) or processor.is_unknown(token))
