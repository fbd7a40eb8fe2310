"""Reading of BERT and RoBERTa in Hugging Face folders: an encoder alone, usually with a layer that fills gaps.

Their layouts differ in names, and in the rows of the table of positions that RoBERTa leaves unused, up to that of its
padding id. Both add an embedding that tells the two segments of a pair apart. Hark reads one segment, so that of the
first is added to every position. What judges whether sentences follow each other is left out, and so is what pools the
first token, unless a classifier reads it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel, make_config
from hark.exchange.huggingface_settings import by_id, known, licence_of, read_byte_pairs, setting, stored_as
from hark.exchange.language_codes import MODEL, sentencepiece_pieces
from hark.exchange.recognition import own_facts
from hark.facts import LabelFacts, LabelsOf, OriginFacts
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds
from hark.text.word_pieces import WordPieceRules, with_space_marks
from hark.weights import Array, Weights

ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu", "silu": "swish", "swish": "swish",
}  # fmt: skip
EMBEDDING = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TOKEN_TYPES = "embeddings.token_type_embeddings.weight"
LAYER = {
    "self_attention.w_q": "attention.self.query",
    "self_attention.w_k": "attention.self.key",
    "self_attention.w_v": "attention.self.value",
    "self_attention.w_o": "attention.output.dense",
    "self_attention_residual.norm": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "feed_forward_residual.norm": "output.LayerNorm",
}
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
LEFT_OUT = re.compile(r"pooler\.|cls\.seq_relationship\.|embeddings\.(position_ids|token_type_ids)$")
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
LABELS_OF: dict[str, LabelsOf] = {"ForSequenceClassification": "text", "ForTokenClassification": "words"}
"""By the end of the name of an architecture."""
NOTE = "the embedding of the first segment is part of the table of positions"


@dataclass(frozen=True)
class EncoderLayout:
    """What differs between BERT and RoBERTa."""

    prefix: str
    """Of all names but those of the head, in a model with one."""
    dense: str
    norm: str
    decoder: str
    bias: str
    label_dense: str
    """Reads the first token, for the label of a text."""
    label_output: str


BERT = EncoderLayout(
    "bert.",
    "cls.predictions.transform.dense",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.decoder",
    "cls.predictions.bias",
    "pooler.dense",
    "classifier",
)
ROBERTA = EncoderLayout(
    "roberta.",
    "lm_head.dense",
    "lm_head.layer_norm",
    "lm_head.decoder",
    "lm_head.bias",
    "classifier.dense",
    "classifier.out_proj",
)
LAYOUTS = {"bert": BERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA}


def is_encoder(folder: Path) -> bool:
    return read_json(folder / "config.json").get("model_type") in LAYOUTS


def read_encoder(folder: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    """Read a model with the layer that fills gaps (BertForMaskedLM, BertForPreTraining, RobertaForMaskedLM), with
    labels (BertForSequenceClassification, RobertaForTokenClassification), or without either (BertModel). `source` is
    its name in the facts."""
    settings = read_json(folder / "config.json")
    layout, is_bert = LAYOUTS[settings["model_type"]], settings["model_type"] == "bert"
    labels = read_labels(settings, folder)
    weights = {
        plain_name(name, layout.prefix): array
        for name, array in read_huggingface_weights(folder).items()
        if is_read(name, layout, labels)
    }
    size = setting(settings, "vocab_size", int)
    first = 0 if is_bert else setting(settings, "pad_token_id", int) + 1
    config = encoder_config(settings, weights, layout, first, folder)
    if labels is not None:
        config = replace(config, labels=labels.of, n_labels=len(labels.names))
    table, model_file = word_piece_table(folder, size) if is_bert else roberta_table(folder, settings, size)
    facts = own_facts(folder)
    model = ForeignModel(
        config=config,
        weights=convert(weights, config, layout, first, folder),
        table=table,
        source_model=model_file,
        target_model=model_file,
        pairs=(),
        languages=languages or (facts.languages if facts else ("en",)),
        origin=OriginFacts(f"huggingface {settings['model_type']}", source, licence=licence_of(folder)),
        weights_note="; ".join(filter(None, (stored_as(settings), NOTE))),
        labels=labels,
    )
    model.check(folder)
    return model


def read_labels(settings: dict[str, Any], folder: Path) -> LabelFacts | None:
    """What a classifier of texts or words predicts; None for other models."""
    (architecture, *_) = setting(settings, "architectures", list, [""]) or [""]
    of = next((of for ending, of in LABELS_OF.items() if architecture.endswith(ending)), None)
    if of is None:
        return None
    by_number = {int(number): str(name) for number, name in (settings.get("id2label") or {}).items()}
    names = tuple(by_number[number] for number in sorted(by_number)) or ("LABEL_0", "LABEL_1")
    problem = settings.get("problem_type")
    if len(names) < 2 or problem not in (None, "single_label_classification"):
        raise UserError(f"{folder}: predicts a number, or several labels at once, which hark does not; {architecture}")
    if len(set(names)) < len(names):
        raise UserError(f"{folder / 'config.json'}: id2label has a name twice")
    return LabelFacts(of, names)


def is_read(name: str, layout: EncoderLayout, labels: LabelFacts | None) -> bool:
    """Whether a weight is part of the model, as hark has it."""
    reads_first = labels is not None and labels.of == "text" and layout.label_dense in name
    return reads_first or not LEFT_OUT.search(name)


def label_output(config: ModelConfig, layout: EncoderLayout) -> str:
    return layout.label_output if config.labels == "text" else "classifier"


def plain_name(name: str, prefix: str) -> str:
    for old, new in OLD_NAMES.items():
        name = name.replace(old, new)
    return name.removeprefix(prefix)


def encoder_config(
    settings: dict[str, Any], weights: Weights, layout: EncoderLayout, first: int, folder: Path
) -> ModelConfig:
    """`first`: the row of the table of positions that the first token has."""
    if setting(settings, "position_embedding_type", str, "absolute") != "absolute":
        raise UserError(f"{folder}: has relative positions, which hark's encoders do not have")
    if setting(settings, "is_decoder", bool, False):
        raise UserError(f"{folder}: is a decoder in BERT's layout, which hark does not read")
    activation = setting(settings, "hidden_act", str)
    has_head = f"{layout.dense}.weight" in weights
    if has_head and layout is ROBERTA and activation != "gelu":
        raise UserError(f"{folder}: RoBERTa's prediction layer has gelu, so layers with {activation} are not supported")
    own_output = f"{layout.decoder}.weight" in weights and not setting(settings, "tie_word_embeddings", bool, True)
    return make_config(
        folder / "config.json",
        shape="encoder",
        d_model=setting(settings, "hidden_size", int),
        d_ff=setting(settings, "intermediate_size", int),
        n_heads=setting(settings, "num_attention_heads", int),
        n_encoder_layers=setting(settings, "num_hidden_layers", int),
        dropout=float(setting(settings, "hidden_dropout_prob", (int, float), 0.1)),
        norm_eps=float(setting(settings, "layer_norm_eps", (int, float), 1e-12)),
        activation=known(ACTIVATIONS, activation, folder),
        positions="learned",
        max_positions=setting(settings, "max_position_embeddings", int) - first,
        vocab_size=setting(settings, "vocab_size", int),
        tie="none" if has_head and own_output else "all",
        prediction_layer=has_head,
        output_bias=has_head,
        scale_embedding=False,
        embedding_norm=True,
    )


def names(config: ModelConfig, layout: EncoderLayout) -> Iterator[tuple[str, str]]:
    """Pairs of hark's and Hugging Face's names of modules with a weight and a bias."""
    yield "target_norm", "embeddings.LayerNorm"
    for i in range(config.n_encoder_layers):
        for ours, theirs in LAYER.items():
            yield f"encoder.layers.{i}.{ours}", f"encoder.layer.{i}.{theirs}"
    if config.labels == "text":
        yield "prediction.dense", layout.label_dense
    elif config.prediction_layer:
        yield "prediction.dense", layout.dense
        yield "prediction.norm", layout.norm


def convert(
    weights: Weights, config: ModelConfig, layout: EncoderLayout, first: int, where: object
) -> dict[str, Array]:
    """The weights by hark's names."""
    left = dict(weights)

    def take(name: str) -> Array:
        if name not in left:
            raise UserError(f"{where}: the weight {name} is missing; the file is incomplete or of another architecture")
        return left.pop(name)

    found = {"embedding.weight": take(EMBEDDING)}
    found["target_positions.weight"] = take(POSITIONS)[first:] + take(TOKEN_TYPES)[0]
    for ours, theirs in names(config, layout):
        found[f"{ours}.weight"], found[f"{ours}.bias"] = take(f"{theirs}.weight"), take(f"{theirs}.bias")
    if config.labels:
        output_name = label_output(config, layout)
        found["projection.weight"], found["output_bias"] = take(f"{output_name}.weight"), take(f"{output_name}.bias")
    # What is tied may be stored under both names; of what is not, the decoder's counts.
    output, bias = (left.pop(f"{layout.decoder}.{part}", None) for part in ("weight", "bias"))
    if config.tie == "none":
        assert output is not None
        found["projection.weight"] = output
    if config.output_bias:
        found["output_bias"] = take(layout.bias) if bias is None else bias
        left.pop(layout.bias, None)
    if left:
        raise UserError(f"{where}: has {min(left)}, which is of a task that hark does not have; import the model alone")
    return found


def word_piece_table(folder: Path, size: int) -> tuple[PieceTable, bytes]:
    """BERT's vocabulary, from tokenizer.json or vocab.txt."""
    settings = read_optional_json(folder / "tokenizer_config.json")
    rules: dict[str, Any] = {
        "lowercase": settings.get("do_lower_case", True),
        "strip_accents": settings.get("strip_accents"),
        "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
    }
    longest = WordPieceRules.max_characters
    if (folder / "tokenizer.json").is_file():
        tree = read_json(folder / "tokenizer.json")
        model, rules = tree.get("model") or {}, tree.get("normalizer") or {}
        if (model.get("type"), rules.get("type"), rules.get("clean_text")) != ("WordPiece", "BertNormalizer", True):
            raise UserError(f"{folder / 'tokenizer.json'}: is not the tokenizer that BERT has")
        pieces, longest = by_id(model["vocab"], size, folder), int(model["max_input_chars_per_word"])
    elif (folder / "vocab.txt").is_file():
        lines = read_bounded(folder / "vocab.txt").decode("utf-8").split("\n")
        pieces = by_id({line.rstrip("\r"): i for i, line in enumerate(lines) if line}, size, folder / "vocab.txt")
    else:
        raise UserError(f"{folder}: no tokenizer; vocab.txt is needed, or tokenizer.json")
    lower = bool(rules["lowercase"])
    strips = lower if rules.get("strip_accents") is None else bool(rules["strip_accents"])
    kept = WordPieceRules(lower, strips, bool(rules["handle_chinese_chars"]), longest)
    return special_table(with_space_marks(pieces, BERT_SPECIAL), BERT_SPECIAL, folder), kept.dump()


def roberta_table(folder: Path, settings: dict[str, Any], size: int) -> tuple[PieceTable, bytes]:
    """RoBERTa's merges of bytes, or the sentencepiece model of XLM-RoBERTa."""
    if settings["model_type"] == "roberta":
        pieces, model_file = read_byte_pairs(folder, size)
        return special_table(pieces, ROBERTA_SPECIAL, folder), model_file
    if not (folder / MODEL).is_file():
        raise UserError(f"{folder}: there is no {MODEL}; copy it there from the model that this one was trained from")
    model_file = read_bounded(folder / MODEL)
    known = (*sentencepiece_pieces(model_file, folder / MODEL), "<mask>")
    return special_table((*known, *[""] * (size - len(known))), ROBERTA_SPECIAL, folder), model_file


def special_table(pieces: tuple[str, ...], tokens: tuple[str, ...], folder: Path) -> PieceTable:
    """`tokens`: padding, unknown, start, end and mask."""
    if missing := [token for token in tokens if token not in pieces]:
        raise UserError(f"{folder}: the vocabulary has no {missing[0]}")
    *special, mask = map(pieces.index, tokens)
    return PieceTable(SpecialIds(*special), pieces, mask=mask)
