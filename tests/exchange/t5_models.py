"""T5 folders with random weights and real tokenizers, made by transformers itself."""

import json
from pathlib import Path
from typing import Any

import torch

from tests.exchange.marian_models import SENTENCES, TARGETS, pieces_of, sentencepiece_model, written_once

ORIGINAL: dict[str, Any] = {}
FLAN: dict[str, Any] = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 1}


@written_once
def write_t5(folder: Path, files: str = "spiece.model", **changes: Any) -> Path:
    """A folder as google-t5/t5-small is or, with `FLAN`, google/flan-t5-small; `changes` are of T5Config.

    files: the tokenizer's: spiece.model, or tokenizer.json as transformers 5 saves it."""
    from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model_file)
    about = {"tokenizer_class": "T5Tokenizer", "extra_ids": 100}
    about |= {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    settings = {
        "vocab_size": len(pieces_of(model_file)) + 110, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2,
        "num_heads": 4, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20,
        "decoder_start_token_id": 0,
    }  # fmt: skip
    torch.manual_seed(6)
    tied = changes.get("tie_word_embeddings", True)
    model = T5ForConditionalGeneration(T5Config(**settings | changes)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                weight.add_(torch.randn_like(weight) * 0.2)
            else:
                weight.mul_(1.0 if "shared" in name else 3.0)
        if not tied:
            model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.shared.weight) * 0.3)
        output = model.lm_head.weight if not tied else model.shared.weight
        output[1] += 2 * output.std()  # so that texts end
    model.save_pretrained(folder)
    if not tied:  # as the published files, which older versions wrote, have it
        config = json.loads((folder / "config.json").read_text()) | {"tie_word_embeddings": False}
        config.pop("scale_decoder_outputs", None)
        (folder / "config.json").write_text(json.dumps(config))
    if files == "tokenizer.json":
        AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
        (folder / "spiece.model").unlink()
    return folder
