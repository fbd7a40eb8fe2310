"""BART and Pegasus folders with random weights and real tokenizers, made by transformers itself."""

import json
from pathlib import Path
from typing import Any

import torch

from tests.exchange.marian_models import SENTENCES, SHAPE, TARGETS, pieces_of, sentencepiece_model, written_once
from tests.exchange.multilingual_models import randomise


@written_once
def write_bart(folder: Path, **changes: Any) -> Path:
    """A folder as facebook/bart-large is, with vocab.json and merges.txt; `changes` are of BartConfig."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import BartConfig, BartForConditionalGeneration

    folder.mkdir(parents=True)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator([*SENTENCES, *TARGETS] * 3, 400, 2, show_progress=False, special_tokens=special)
    tokenizer.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BartTokenizer"}))
    settings = {
        **SHAPE, "max_position_embeddings": 128, "vocab_size": tokenizer.get_vocab_size(), "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_bos_token_id": 0,
        "forced_eos_token_id": 2, "activation_function": "gelu",
    }  # fmt: skip
    torch.manual_seed(4)
    model = BartForConditionalGeneration(BartConfig(**settings | changes)).eval()
    finish(model)
    model.generation_config.forced_bos_token_id = 0
    model.save_pretrained(folder)
    return folder


@written_once
def write_pegasus(folder: Path, offset: int = 103, **changes: Any) -> Path:
    """A folder as google/pegasus-large is, with spiece.model; `changes` are of PegasusConfig."""
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    folder.mkdir(parents=True)
    # As theirs: padding and EOS come first.
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model_file)
    tokenizer = {"tokenizer_class": "PegasusTokenizer", "offset": offset}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    settings = {
        **SHAPE, "max_position_embeddings": 128, "vocab_size": len(pieces_of(model_file)) + offset, "pad_token_id": 0,
        "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1, "activation_function": "relu",
        "scale_embedding": True,
    }  # fmt: skip
    torch.manual_seed(4)
    model = PegasusForConditionalGeneration(PegasusConfig(**settings | changes)).eval()
    finish(model)
    model.save_pretrained(folder)
    return folder


def finish(model: Any) -> None:
    randomise(model)
    with torch.no_grad():
        model.final_logits_bias.normal_(std=0.5)
        model.final_logits_bias[0, model.config.eos_token_id] = 4.0  # so that translations end
