"""BERT and RoBERTa folders with random weights and real tokenizers, made by transformers itself."""

import json
from pathlib import Path
from typing import Any, Literal

import torch

from tests.exchange.marian_models import SENTENCES, TARGETS, sentencepiece_model, written_once
from tests.exchange.multilingual_models import randomise

LABELS = ("no", "yes", "perhaps")
SHAPE: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "initializer_range": 0.2,
}  # fmt: skip


@written_once
def write_bert(folder: Path, head: bool = True, lowercase: bool = True, **changes: Any) -> Path:
    """A folder as google-bert/bert-base-uncased is, or all-MiniLM-L6-v2 without a head; `changes` are of BertConfig."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForPreTraining, BertModel

    folder.mkdir(parents=True)
    tokenizer = BertWordPieceTokenizer(lowercase=lowercase)
    tokenizer.train_from_iterator([*SENTENCES, *TARGETS] * 3, 160, 1, show_progress=False)
    tokenizer.save_model(str(folder))
    about = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    torch.manual_seed(4)
    settings = {**SHAPE, "vocab_size": tokenizer.get_vocab_size() + 3, "max_position_embeddings": 64, **changes}
    model = (BertForPreTraining if head else BertModel)(BertConfig(**settings)).eval()
    finish(model)
    model.save_pretrained(folder)
    return folder


@written_once
def write_roberta(folder: Path, head: bool = True, **changes: Any) -> Path:
    """A folder as FacebookAI/roberta-base is."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaModel

    folder.mkdir(parents=True)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator([*SENTENCES, *TARGETS] * 3, 400, 2, show_progress=False, special_tokens=special)
    tokenizer.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "RobertaTokenizer", "mask_token": MASK})
    )
    torch.manual_seed(5)
    settings = {**SHAPE, **ROBERTA_IDS, "vocab_size": tokenizer.get_vocab_size(), **changes}
    model = (RobertaForMaskedLM if head else RobertaModel)(RobertaConfig(**settings)).eval()
    finish(model)
    model.save_pretrained(folder)
    return folder


MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False, "special": True}
"""As in roberta-base: a space before it belongs to it."""
ROBERTA_IDS = {"max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0}


@written_once
def write_xlm_roberta(folder: Path) -> Path:
    """A folder as FacebookAI/xlm-roberta-base is."""
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120)
    (folder / "sentencepiece.bpe.model").write_bytes(model_file)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "XLMRobertaTokenizer"}))
    torch.manual_seed(6)
    from tests.exchange.marian_models import pieces_of

    settings = {**SHAPE, **ROBERTA_IDS, "vocab_size": len(pieces_of(model_file)) + 2}
    model = XLMRobertaForMaskedLM(XLMRobertaConfig(**settings)).eval()
    finish(model)
    model.save_pretrained(folder)
    return folder


@written_once
def write_labelled(folder: Path, layout: Literal["Bert", "Roberta"], task: str, **changes: Any) -> Path:
    """A classifier of texts (SequenceClassification) or of words (TokenClassification)."""
    import transformers

    folder.mkdir(parents=True)
    plain = (write_bert if layout == "Bert" else write_roberta)(folder.with_name("plain"), head=False)
    for path in plain.iterdir():
        if path.name not in ("config.json", "model.safetensors"):
            path.rename(folder / path.name)
    settings = json.loads((plain / "config.json").read_text())
    settings |= {
        "id2label": {0: "no", 1: "yes", 2: "perhaps"},
        "label2id": {"no": 0, "yes": 1, "perhaps": 2},
        **changes,
    }
    torch.manual_seed(7)
    model = getattr(transformers, f"{layout}For{task}")(getattr(transformers, f"{layout}Config")(**settings)).eval()
    finish(model)
    model.save_pretrained(folder)
    return folder


def finish(model: Any) -> None:
    randomise(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name in ("cls.predictions.bias", "lm_head.bias", "classifier.bias", "classifier.out_proj.bias"):
                weight.normal_(std=0.5)
