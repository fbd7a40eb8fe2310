"""GPT-2 and Llama folders with random weights and real tokenizers, made by transformers and tokenizers themselves."""

import json
from pathlib import Path
from typing import Any

import torch

from hark.text.byte_pairs import Splitting
from tests.exchange.marian_models import SENTENCES, TARGETS, sentencepiece_model, written_once
from tests.text.test_byte_pairs import TEXTS, trained

TEXT = [*SENTENCES, *TARGETS, *TEXTS] * 3


def byte_level_tokenizer(splitting: Splitting, special: list[str], start: str | None = None) -> Any:
    import tokenizers

    tokenizer = trained(splitting, TEXT, 500, ignore_merges=splitting == "llama3")
    tokenizer.add_special_tokens(special)
    steps = [tokenizers.processors.ByteLevel(trim_offsets=False)]
    if start:
        template = tokenizers.processors.TemplateProcessing(
            single=f"{start} $A", pair=f"{start} $A $B", special_tokens=[(start, tokenizer.token_to_id(start))]
        )
        steps.append(template)
    tokenizer.post_processor = tokenizers.processors.Sequence(steps)
    return tokenizer


@written_once
def write_gpt2(folder: Path, files: str = "all", **changes: Any) -> Path:
    """A folder as openai-community/gpt2 is; `files`: all of the tokenizer, or only the old or the new ones."""
    from transformers import GPT2Config, GPT2LMHeadModel

    folder.mkdir(parents=True)
    tokenizer = byte_level_tokenizer("gpt2", ["<|endoftext|>"])
    end = tokenizer.token_to_id("<|endoftext|>")
    if files != "new":
        tokenizer.model.save(str(folder))
        ids = json.loads((folder / "vocab.json").read_text()) | {"<|endoftext|>": end}
        (folder / "vocab.json").write_text(json.dumps(ids))
    if files != "old":
        tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    torch.manual_seed(5)
    settings = {
        "vocab_size": end + 1, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, "bos_token_id": end,
        "eos_token_id": end, "initializer_range": 0.2,
    }  # fmt: skip
    save(GPT2LMHeadModel(GPT2Config(**settings | changes)), folder)
    return folder


@written_once
def write_llama(
    folder: Path, splitting: Splitting | None = "digits", rope_theta: float = 10_000.0, **changes: Any
) -> Path:
    """A folder as SmolLM2 or Llama 3 are, by their splitting; with None, one with a sentencepiece model, as Llama 2."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder.mkdir(parents=True)
    special: dict[str, Any]
    if splitting is None:
        model_file = sentencepiece_model(
            (*SENTENCES, *TARGETS), 400, "bpe", byte_fallback=True, normalization_rule_name="identity",
            remove_extra_whitespaces=False, unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
        )  # fmt: skip
        (folder / "tokenizer.model").write_bytes(model_file)
        special, size = {"bos_token_id": 1, "eos_token_id": 2}, 420
        about = {
            "add_bos_token": True,
            "add_eos_token": False,
            "legacy": False,
            "bos_token": "<s>",
            "eos_token": "</s>",
        }
        about |= {"unk_token": "<unk>", "tokenizer_class": "LlamaTokenizer"}
    else:
        start = "<|start|>" if splitting == "llama3" else None
        tokenizer = byte_level_tokenizer(splitting, ["<|start|>", "<|end|>"], start)
        tokenizer.save(str(folder / "tokenizer.json"))
        special = {name: tokenizer.token_to_id(f"<|{name[:-9].replace('bos', 'start').replace('eos', 'end')}|>")
                   for name in ("bos_token_id", "eos_token_id")}  # fmt: skip
        size = tokenizer.get_vocab_size() + 7  # published models are padded to round sizes
        about = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|start|>", "eos_token": "<|end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    torch.manual_seed(6)
    settings = {
        "vocab_size": size, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "initializer_range": 0.2,
        "rope_parameters": {"rope_type": "default", "rope_theta": rope_theta}, **special,
    }  # fmt: skip
    save(LlamaForCausalLM(LlamaConfig(**settings | changes)), folder)
    return folder


def save(model: Any, folder: Path) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 1:  # so that a missing bias or norm shows
                weight.add_(torch.randn_like(weight) * 0.2)
    model.save_pretrained(folder)
