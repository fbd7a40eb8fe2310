"""Hugging Face Marian folders with random weights and real sentencepiece vocabularies, made by transformers itself."""

import io
import json
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
import torch

SENTENCES = [
    "The cat sat on the mat.",
    "A small house stands by the river, and nobody lives there.",
    "We have 12 apples and 7 pears; how many do you want?",
    "Is this really the last train to London tonight?",
    "Good morning!",
]
TARGETS = [
    "Le chat était assis sur le tapis.",
    "Une petite maison se trouve au bord de la rivière, et personne n'y habite.",
    "Nous avons 12 pommes et 7 poires ; combien en voulez-vous ?",
    "Est-ce vraiment le dernier train pour Londres ce soir ?",
    "Bonjour !",
]

SHAPE: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "init_std": 0.2,
}  # fmt: skip


@cache
def sentencepiece_model(texts: tuple[str, ...], vocab_size: int = 90, model_type: str = "unigram", **ids: int) -> bytes:
    """A sentencepiece model: unigram, as OPUS-MT's are, or bpe."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts] * 20),
        model_writer=model,
        vocab_size=vocab_size,
        model_type=model_type,
        character_coverage=1.0,
        hard_vocab_limit=False,
        minloglevel=2,
        **ids,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def written_once(write: Callable[..., Path]) -> Callable[..., Path]:
    """Let a function that writes a folder for its arguments make it once, and only write its files the next time."""

    @cache
    def files(*settings: Any, **changes: Any) -> dict[str, bytes]:
        with TemporaryDirectory() as made, torch.random.fork_rng(devices=[]):  # so that both leave the same seed
            return {
                each.name: each.read_bytes() for each in write(Path(made) / "model", *settings, **changes).iterdir()
            }

    @wraps(write)
    def write_again(folder: Path, *settings: Any, **changes: Any) -> Path:
        folder.mkdir(parents=True)
        for name, content in files(*settings, **changes).items():
            (folder / name).write_bytes(content)
        return folder

    return write_again


@written_once
def write_marian(folder: Path, tags: tuple[str, ...] = (), safe: bool = True, **changes: Any) -> Path:
    """Write a folder as OPUS-MT's are; `changes` are of MarianConfig."""
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir(parents=True)
    source, target = sentencepiece_model(tuple(SENTENCES)), sentencepiece_model(tuple(TARGETS))
    skipped = {"<s>", "</s>", "<unk>"}
    learnt = list(dict.fromkeys(each for model in (source, target) for each in pieces_of(model) if each not in skipped))
    pieces = ["</s>", "<unk>", *(f">>{tag}<<" for tag in tags), *learnt, "<pad>"]
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "eng", "target_lang": "fra", "tokenizer_class": "MarianTokenizer"})
    )
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\ntags:\n- translation\n---\n# A model\n")
    pad = len(pieces) - 1
    settings = {
        **SHAPE, "vocab_size": len(pieces), "max_position_embeddings": 64, "activation_function": "swish",
        "scale_embedding": True, "pad_token_id": pad, "eos_token_id": 0, "bos_token_id": 0, "forced_eos_token_id": 0,
        "decoder_start_token_id": pad,
    }  # fmt: skip
    torch.manual_seed(7)
    model = MarianMTModel(MarianConfig(**settings | changes)).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_(std=0.5)
        for name, weight in model.named_parameters():
            if name.endswith("bias") or "layer_norm" in name:
                weight.add_(torch.randn_like(weight) * 0.1)
    generation = model.generation_config
    generation.num_beams, generation.length_penalty, generation.bad_words_ids = 6, 1.0, [[pad]]
    if safe:
        model.save_pretrained(folder)
    else:
        model.config.save_pretrained(folder)
        model.generation_config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder
