"""Marian's settings as hark's: of the model, from the settings in its .npz file, and of decoding, from decoder.yml.

Positions are Marian's own: sines, then cosines, with the wavelengths of tensor2tensor. Hugging Face and CTranslate2
compute slightly different ones for the same models. Marian's layer norm has an epsilon of 1e-6, hark's 1e-5.

Its settings and vocabularies are YAML of flat keys, lists and quoted strings, for which no YAML parser is needed.
"""

import re
from collections.abc import Mapping

from hark.config import DecodeConfig, ModelConfig
from hark.errors import UserError
from hark.exchange.huggingface_settings import MAX_BEAM
from hark.settings import SettingError
from hark.weights import Array

Value = str | list[str]
POSITIONS = 1024
"""Size of the table of positions; Marian computes them as needed."""
ACTIVATIONS = ("relu", "swish")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
ESCAPES |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def read_settings(text: str) -> dict[str, Value]:
    """Read keys with a value or a list; nested keys are skipped."""
    found: dict[str, Value] = {}
    key = ""
    for line in text.splitlines():
        bare = line.strip().rstrip("\0")
        if not bare or bare.startswith("#"):
            continue
        if bare.startswith("- ") and key:
            before = found[key]
            found[key] = [*(before if isinstance(before, list) else []), unquote(bare[2:].strip())]
        elif not line[0].isspace() and ":" in bare:
            key, _, value = bare.partition(":")
            value = value.strip()
            inline = [unquote(each.strip()) for each in value[1:-1].split(",") if each.strip()]
            found[key] = inline if value.startswith("[") and value.endswith("]") else unquote(value)
    return found


def read_pieces(text: str, where: object) -> dict[str, int]:
    """Read a vocabulary: a line `piece: id`, or `? piece` and `: id` on two lines, for each piece."""
    found: dict[str, int] = {}
    pending: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        if line.startswith("? "):
            pending = line[2:]
            continue
        piece, _, token = line.rpartition(":")
        if pending is not None:
            piece, pending = pending, None
        try:
            found[unquote(piece)] = int(token)
        except ValueError:
            raise UserError(f"{where}: line {number} is not a piece with its id") from None
    return found


def unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return ESCAPED.sub(_unescape, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)


def option(settings: Mapping[str, Value], name: str, default: str = "") -> str:
    value = settings.get(name, default)
    return value if isinstance(value, str) else default


def check_settings(settings: Mapping[str, Value], where: object) -> None:
    """Refuse what hark's layers cannot compute."""
    kind = option(settings, "type", "transformer")
    autoregression = option(settings, "transformer-decoder-autoreg", "self-attention")
    vocabularies = *listed(settings, "vocabs"), option(settings, "factors-combine")
    has_factors = any(name.endswith(".fsv") for name in vocabularies)
    has_lemmas = option(settings, "lemma-dim-emb", "0") not in ("0", "", "-1")
    depths = {option(settings, f"transformer-{name}", "2") for name in ("ffn-depth", "decoder-ffn-depth")}
    activation = option(settings, "transformer-ffn-activation", "swish")
    for holds, reason in (
        (kind != "transformer", f"is of the type {kind}; only transformer is supported"),
        (
            autoregression != "self-attention",
            f"has a decoder with {autoregression} (SSRU or RNN); only self-attention is supported",
        ),
        (has_factors or has_lemmas, "has factored vocabularies"),
        (listed(settings, "transformer-tied-layers"), "shares layers (transformer-tied-layers)"),
        (
            option(settings, "transformer-no-projection") == "true",
            "has no output projections (transformer-no-projection)",
        ),
        (not depths <= {"2", "0"}, "has feed-forward networks of another depth than 2"),
        (
            activation not in ACTIVATIONS,
            "has another activation than relu or swish (Marian's gelu is an approximation)",
        ),
    ):
        if holds:
            raise UserError(f"{where}: {reason}")


def norm_of(settings: Mapping[str, Value], where: object) -> str:
    """post or pre, from strings such as dan: d is dropout, a the residual sum, n the norm."""
    strings = [
        option(settings, f"transformer-{name}").replace("d", "")
        for name in ("preprocess", "postprocess", "postprocess-top")
    ]
    match strings:
        case ["", "an", ""]:
            return "post"
        case ["n", "a", "n"]:
            return "pre"
    raise UserError(
        f"{where}: the order of norms is not supported (preprocess {strings[0]!r}, postprocess {strings[1]!r}, "
        f"top {strings[2]!r}, without dropout); hark has '', 'an', '' and 'n', 'a', 'n'"
    )


def model_config(settings: Mapping[str, Value], weights: Mapping[str, Array], where: object) -> ModelConfig:
    embedding = option(settings, "transformer-postprocess-emb").replace("d", "")
    if embedding not in ("", "n"):
        raise UserError(f"{where}: transformer-postprocess-emb {embedding!r} is not supported")
    shared, learned = "Wemb" in weights, "Wpos" in weights
    tied = not any(f"decoder_ff_logit_out_W{suffix}" in weights for suffix in ("", "t"))
    target = "Wemb" if shared else "decoder_Wemb"
    if target not in weights or weights[target].ndim != 2:
        raise UserError(f"{where}: the weight {target} is missing or not a matrix")
    rows, width = weights[target].shape
    source = weights.get("encoder_Wemb", weights[target]).shape[0]
    tie = ("all" if shared else "target") if tied else "none"
    try:
        return ModelConfig(
            d_model=int(width),
            d_ff=int(option(settings, "transformer-dim-ffn", "2048")),
            n_heads=int(option(settings, "transformer-heads", "8")),
            n_encoder_layers=int(option(settings, "enc-depth", "6")),
            n_decoder_layers=int(option(settings, "dec-depth", "6")),
            norm=norm_of(settings, where),  # type: ignore[arg-type]
            activation=option(settings, "transformer-ffn-activation", "swish"),  # type: ignore[arg-type]
            positions="learned" if learned else "sinusoidal_t2t",
            max_positions=len(weights["Wpos"]) if learned else POSITIONS,
            scale_embedding=not learned,  # Marian scales embeddings only with sinusoids
            vocab_size=int(rows) + 1,
            source_vocab_size=None if shared else int(source),
            tie=tie,  # type: ignore[arg-type]
            output_bias=True,
            embedding_norm=embedding == "n",
        )
    except (SettingError, ValueError) as error:
        raise UserError(f"{where}: {error}") from None


def decode_config(decoder: Mapping[str, Value]) -> DecodeConfig:
    """Beam and length penalty of decoder.yml; Marian divides by length^normalize."""
    beam, penalty = option(decoder, "beam-size"), option(decoder, "normalize")
    alpha = float(penalty) if re.fullmatch(r"[0-4](\.\d+)?", penalty) else 1.0
    return DecodeConfig(beam=int(beam) if beam.isdigit() and 1 <= int(beam) <= MAX_BEAM else 6, alpha=alpha)


def listed(settings: Mapping[str, Value], name: str) -> list[str]:
    value = settings.get(name, [])
    return value if isinstance(value, list) else [value] if value else []
