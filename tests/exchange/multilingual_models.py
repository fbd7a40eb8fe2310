"""M2M100, NLLB and mBART-50 folders with random weights and real tokenizers, made by transformers itself."""

import json
from pathlib import Path
from typing import Any

import torch

from tests.exchange.marian_models import SENTENCES, SHAPE, TARGETS, pieces_of, sentencepiece_model, written_once

SETTINGS = SHAPE | {
    "max_position_embeddings": 40, "scale_embedding": True, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
    "decoder_start_token_id": 2,
}  # fmt: skip


def randomise(model: Any) -> None:
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias") or ("layer" in name and "norm" in name):
                weight.add_(torch.randn_like(weight) * 0.1)


@written_once
def write_m2m100(folder: Path, language_codes: str = "m2m100") -> Path:
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120)
    (folder / "spm.model").write_bytes(model_file)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(model_file)[3:]]
    (folder / "v.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    tokenizer = M2M100Tokenizer(str(folder / "v.json"), str(folder / "spm.model"), language_codes=language_codes)
    tokenizer.save_pretrained(folder)
    for name in ("spm.model", "v.json"):
        (folder / name).unlink()
    codes = tokenizer.lang_code_to_token.values()
    # As in the published folders; the newest transformers does not write the list.
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": list(codes)}))
    torch.manual_seed(2)
    size = len(pieces) + len(codes) + 8
    model = M2M100ForConditionalGeneration(M2M100Config(vocab_size=size, **SETTINGS)).eval()
    randomise(model)
    model.save_pretrained(folder)
    return folder


@written_once
def write_mbart50(folder: Path) -> Path:
    from transformers import MBartConfig, MBartForConditionalGeneration
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120)
    (folder / "sentencepiece.bpe.model").write_bytes(model_file)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MBart50Tokenizer"}))
    tokens = {"additional_special_tokens": FAIRSEQ_LANGUAGE_CODES}
    (folder / "special_tokens_map.json").write_text(json.dumps(tokens))
    torch.manual_seed(2)
    size = len(pieces_of(model_file)) + 1 + len(FAIRSEQ_LANGUAGE_CODES) + 1
    config = MBartConfig(vocab_size=size, activation_function="gelu", **SETTINGS)
    model = MBartForConditionalGeneration(config).eval()
    randomise(model)
    model.save_pretrained(folder)
    return folder


@written_once
def write_nllb(folder: Path) -> Path:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120, "bpe")
    (folder / "sentencepiece.bpe.model").write_bytes(model_file)
    codes = ["ace_Arab", "eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant"]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": codes}))
    first = len(pieces_of(model_file)) + 1
    # As in the published tokenizer.json, which numbers languages before <mask>; transformers itself does otherwise.
    added = {
        str(i): {"content": piece, "special": True, "lstrip": False, "rstrip": False, "normalized": False,
                 "single_word": False}
        for i, piece in enumerate([*codes, "<mask>"], first)
    }  # fmt: skip
    settings = {
        "tokenizer_class": "NllbTokenizer",
        "additional_special_tokens": codes,
        "added_tokens_decoder": added,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(2)
    size = len(pieces_of(model_file)) + 1 + len(codes) + 3
    model = M2M100ForConditionalGeneration(M2M100Config(vocab_size=size, **SETTINGS)).eval()
    randomise(model)
    model.save_pretrained(folder)
    return folder
