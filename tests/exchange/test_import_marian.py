"""Import of Marian's npz files, against transformers' Marian with the same weights and Marian's own positions."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.import_marian import SETTINGS, read_marian_folder
from hark.exchange.marian_settings import read_pieces, read_settings
from hark.model.positions import sinusoid_halves
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian
from tests.exchange.test_import_huggingface import logits_of

transformers = pytest.importorskip("transformers")
YML = """type: transformer
enc-depth: 2
dec-depth: 2
transformer-heads: 4
transformer-dim-ffn: 48
transformer-ffn-activation: swish
transformer-preprocess: ""
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-decoder-autoreg: self-attention
transformer-no-projection: false
transformer-tied-layers:
  []
tied-embeddings-all: true
dim-vocabs:
  - 175
  - 175
"""
LANGUAGES = (("en",), ("fr",))


def npz_weights(model: Any) -> dict[str, Any]:
    """The weights of a Hugging Face model under Marian's documented names, without the row of padding."""
    state = {name: each.detach().numpy() for name, each in model.state_dict().items()}
    found = {
        "Wemb": state["model.shared.weight"][:-1],
        "decoder_ff_logit_out_b": state["final_logits_bias"][:, :-1],
    }
    for stack in ("encoder", "decoder"):
        for i in range(2):
            theirs, ours = f"model.{stack}.layers.{i}", f"{stack}_l{i + 1}"
            attentions = {"self_attn": "self"} | ({"encoder_attn": "context"} if stack == "decoder" else {})
            for name, attention in attentions.items():
                for part, letter in (("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v"), ("out_proj", "o")):
                    found[f"{ours}_{attention}_W{letter}"] = state[f"{theirs}.{name}.{part}.weight"].T
                    found[f"{ours}_{attention}_b{letter}"] = state[f"{theirs}.{name}.{part}.bias"][None]
                found[f"{ours}_{attention}_Wo_ln_scale"] = state[f"{theirs}.{name}_layer_norm.weight"][None]
                found[f"{ours}_{attention}_Wo_ln_bias"] = state[f"{theirs}.{name}_layer_norm.bias"][None]
            for number in "12":
                found[f"{ours}_ffn_W{number}"] = state[f"{theirs}.fc{number}.weight"].T
                found[f"{ours}_ffn_b{number}"] = state[f"{theirs}.fc{number}.bias"][None]
            found[f"{ours}_ffn_ffn_ln_scale"] = state[f"{theirs}.final_layer_norm.weight"][None]
            found[f"{ours}_ffn_ffn_ln_bias"] = state[f"{theirs}.final_layer_norm.bias"][None]
    return found


def quoted(piece: str) -> str:
    plain = piece.replace("\u2581", "").isalpha()
    return piece if plain else json.dumps(piece, ensure_ascii=False)


def write_npz(folder: Path, original: Path, yml: str = YML, **changes: Any) -> Path:
    model = transformers.MarianMTModel.from_pretrained(original).eval()
    folder.mkdir()
    pieces = list(json.loads((original / "vocab.json").read_text()))[:-1]
    (folder / "opus.vocab.yml").write_text("".join(f"{quoted(piece)}: {i}\n" for i, piece in enumerate(pieces)))
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes((original / name).read_bytes())
    (folder / "decoder.yml").write_text(
        "models:\n  - opus.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\nbeam-size: 6\nnormalize: 1\n"
    )
    weights = {**npz_weights(model), SETTINGS: np.frombuffer(yml.encode() + b"\0", np.int8), **changes}
    np.savez(folder / "opus.npz", **{name: each for name, each in weights.items() if each is not None})
    return folder


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


def test_equal_to_the_model_of_transformers(tmp_path: Path, original: Path) -> None:
    model = read_marian_folder(write_npz(tmp_path / "marian", original), LANGUAGES, "a test")
    assert (model.decode.beam, model.decode.alpha, model.config.positions) == (6, 1.0, "sinusoidal_t2t")
    model.write(tmp_path / "bundle")
    ours, (source, target) = (
        load_model(Bundle.open(tmp_path / "bundle")),
        open_vocabularies(Bundle.open(tmp_path / "bundle")),
    )
    theirs = transformers.MarianMTModel.from_pretrained(original).eval()
    for stack in (theirs.model.encoder, theirs.model.decoder):  # transformers has other wavelengths than Marian
        stack.embed_positions.weight.data = sinusoid_halves(64, 32, tensor2tensor=True)
    # Marian starts from a zero vector, and so do the published models of transformers.
    theirs.model.shared.weight.data[-1] = 0
    for text, translation in zip(SENTENCES, TARGETS, strict=True):
        ids, read = source.source_ids(text), [target.special.start, *target.encode_one(translation)]
        with torch.no_grad():
            expected = theirs(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([read])).logits[0]
        assert float((logits_of(ours, ids, read) - expected)[:, :-1].abs().max()) < 1e-4
        assert transformers.MarianTokenizer.from_pretrained(original)(text).input_ids == ids


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("autoreg: self-attention", "autoreg: rnn", r"decoder with rnn \(SSRU or RNN\)"),
        ("type: transformer", "type: s2s", "of the type s2s; only transformer"),
        ("postprocess: dan", "postprocess: dhn", "order of norms is not supported"),
        ("activation: swish", "activation: gelu", "another activation"),
        ("  []", "  - 1\n  - 1", "shares layers"),
        ("enc-depth: 2", "enc-depth: 3", "encoder_l3_self_Wq is missing"),
        ("enc-depth: 2", "enc-depth: many", "invalid literal"),
        ("type: transformer", "type: transformer\nlemma-dim-emb: 16", "factored vocabularies"),
    ],
)
def test_refusals(tmp_path: Path, original: Path, before: str, after: str, message: str) -> None:
    folder = write_npz(tmp_path / "marian", original, YML.replace(before, after))
    with pytest.raises(UserError, match=message):
        read_marian_folder(folder, LANGUAGES, "a test")


def test_damaged_files_are_one_clear_error(tmp_path: Path, original: Path) -> None:
    folder = write_npz(tmp_path / "marian", original)
    whole = (folder / "opus.npz").read_bytes()
    (folder / "opus.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"opus.npz: not a valid .npz file, or incomplete"):
        read_marian_folder(folder, LANGUAGES, "a test")
    np.savez(folder / "opus.npz", a=np.array([{"code": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match=r"opus.npz: not a valid .npz file"):
        read_marian_folder(folder, LANGUAGES, "a test")
    with zipfile.ZipFile(folder / "opus.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(10_000_000))
    with pytest.raises(UserError, match="would unpack to 10,000,000 bytes"):
        read_marian_folder(folder, LANGUAGES, "a test")
    with pytest.raises(UserError, match="name them with -s and -t"):
        read_marian_folder(write_npz(tmp_path / "again", original), ((), ()), "a test")


def test_yaml() -> None:
    assert read_settings("a: 1\nb: \"\"\nc:\n  - x\n  - 'y'\nd: [1, 2]\n  e: 3\n") == {
        "a": "1", "b": "", "c": ["x", "y"], "d": ["1", "2"],
    }  # fmt: skip
    text = '</s>: 0\n",": 1\n"\\"": 2\n\'\'\'\': 3\n":": 4\n"\\x85": 5\n? long\n: 6\n"\\u2028": 7\n\\: 8\n'
    assert read_pieces(text, "x") == {
        "</s>": 0, ",": 1, '"': 2, "'": 3, ":": 4, "\x85": 5, "long": 6, "\u2028": 7, "\\": 8,
    }  # fmt: skip
    with pytest.raises(UserError, match="x: line 2 is not a piece with its id"):
        read_pieces("a: 1\nb\n", "x")
