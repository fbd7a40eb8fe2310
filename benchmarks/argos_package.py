"""Makes an Argos package of a hark model, so that LibreTranslate's own server can be measured with the same weights.

    python -m benchmarks.argos_package MODEL FOLDER

Argos names tokens by their sentencepiece pieces, hark by their ids. docs/serve.md has the commands for the server.
"""

import argparse
import json
from pathlib import Path
from shutil import copyfile

import hark
from hark.decode.engines.conversion import convert
from hark.decode.load import Loaded
from hark.weights import read_weights


def write_package(model: Loaded, folder: Path) -> None:
    """Write an installed package: metadata, the tokenizer and a CTranslate2 model in int8."""
    source, target = model.facts.pairs[0]
    special = model.target_vocabulary.special
    files = convert(read_weights(model.bundle.weights), model.config.model, special)
    pieces = model.target_vocabulary.pieces(range(model.config.model.vocab_size))
    settings = json.loads(files["config.json"])
    for name in ("unk_token", "bos_token", "eos_token", "decoder_start_token"):
        settings[name] = pieces[int(settings[name])]
    settings["add_source_eos"] = True
    files["config.json"] = json.dumps(settings).encode()
    files["shared_vocabulary.json"] = json.dumps(pieces).encode()
    (folder / "model").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / "model" / name).write_bytes(data)
    copyfile(model.bundle.folder / "tokenizer.model", folder / "sentencepiece.model")
    metadata = {
        "package_version": "1.0",
        "argos_version": "1.0",
        "from_code": source,
        "from_name": source,
        "to_code": target,
        "to_name": target,
        "type": "translate",
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write_package(hark.load(arguments.model), arguments.folder)


if __name__ == "__main__":
    main()
