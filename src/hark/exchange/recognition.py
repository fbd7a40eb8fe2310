"""Recognition of foreign models by their files, and the facts in a folder that hark itself exported."""

import zipfile
from pathlib import Path
from typing import Literal

from hark import manifest
from hark.bundle import is_bundle
from hark.errors import UserError
from hark.exchange.files import read_optional_json
from hark.exchange.language_codes import Languages
from hark.facts import FACTS, Facts, load_facts

ImportKind = Literal["huggingface", "marian", "ctranslate2", "argos", "gguf", "llama2c"]
LLAMA2C_VOCABULARY = "tokenizer.bin"
EXPORT = "hark export"
"""The kind in the manifest of a folder that hark exported."""


def recognise(path: Path) -> ImportKind:
    """The kind of model in a folder or file."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_file():
        if path.suffix == ".npz":
            return "marian"
        if path.suffix == ".gguf":
            return "gguf"
        if path.suffix == ".argosmodel" or zipfile.is_zipfile(path):
            return "argos"
        raise UserError(f"{path}: not a model that hark knows; name its folder, or an .argosmodel, .npz or .gguf file")
    if is_bundle(path):
        raise UserError(f"{path}: is already a model of hark; use it as it is")
    names = {each.name for each in path.iterdir()}
    if "model.bin" in names and any("vocabulary" in name for name in names):
        return "ctranslate2"
    if "metadata.json" in names and "model" in names:
        return "argos"
    if settings := read_optional_json(path / "config.json"):
        if "model_type" in settings:
            return "huggingface"
        if any(name.endswith((".safetensors", ".bin")) for name in names):
            raise UserError(f'{path / "config.json"}: has no model_type; add it, for example "model_type": "bert"')
    if LLAMA2C_VOCABULARY in names:
        return "llama2c"
    if any(name.endswith(".npz") for name in names):
        return "marian"
    if any("intgemm" in name for name in names):
        raise UserError(f"{path}: is Marian's binary form in 8 bits, which hark does not read; import the .npz file")
    raise UserError(
        f"{path}: not a model that hark knows; expected config.json with weights (Hugging Face), model.npz (Marian), "
        "model.bin (CTranslate2) or an .argosmodel file"
    )


def own_facts(folder: Path) -> Facts | None:
    """The facts of a folder that hark exported; None for other folders."""
    if not (folder / FACTS).is_file() or not manifest.is_kind(folder, EXPORT):
        return None
    return load_facts(folder / FACTS)


def facts_languages(facts: Facts) -> Languages:
    sources, targets = (tuple(dict.fromkeys(pair[side] for pair in facts.pairs)) for side in (0, 1))
    return sources, targets
