"""Translating on a CPU without torch, whether it is installed or not."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hark import configfile
from hark.bundle import TOKENIZER, Bundle, write_bundle
from hark.data.dataset import Dataset
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.interface import Request
from hark.facts import Facts
from hark.text.tokenizer import Tokenizer
from hark.train.checkpoint import write_tensors
from tests.engine.oracle import random_model

TEXTS = ["the small red house", "we have a dog", "they run to an old tree and see", "a"]

PROGRAM = """
import json, sys
if sys.argv[1] == "absent":
    sys.modules["torch"] = None  # importing it fails as in a plain install
from hark.bundle import Bundle
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.interface import Request
from hark.text.tokenizer import Tokenizer

bundle = Bundle.open(sys.argv[2])
tokenizer = Tokenizer.load(bundle.target_tokenizer)
engine = CTranslate2Engine.open(bundle, tokenizer.special)
requests = [Request([*ids, tokenizer.special.end]) for ids in tokenizer.encode(sys.argv[3:])]
answers = dict(engine.run(requests))
print(json.dumps(tokenizer.decode([answers[i][0].tokens for i in range(len(requests))])))
assert sys.modules.get("torch") is None, "torch was imported"
assert "transformers" not in sys.modules
"""


@pytest.fixture
def bundle(dataset: Path, tmp_path: Path) -> Path:
    config = configfile.load(None, ["model.d_model=32", "model.d_ff=64", "model.n_heads=2", "model.n_decoder_layers=2"])
    tokenizer = Dataset.open(dataset).tokenizer("target")
    config = replace(config, model=replace(config.model, vocab_size=tokenizer.vocab_size, max_positions=250))
    tensors = random_model(config.model).state_dict()
    write_bundle(
        tmp_path / "model",
        config,
        lambda path: write_tensors(path, tensors),
        {TOKENIZER: tokenizer.model},
        Facts(pairs=(("en", "de"),)),
    )
    return tmp_path / "model"


@pytest.mark.parametrize("torch", ["absent", "installed"])
def test_translations_without_torch(torch: str, bundle: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, torch, str(bundle), *TEXTS]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    opened = Bundle.open(bundle)
    tokenizer = Tokenizer.load(opened.target_tokenizer)
    answers = dict(
        CTranslate2Engine.open(opened, tokenizer.special).run(
            Request([*ids, tokenizer.special.end]) for ids in tokenizer.encode(TEXTS)
        )
    )
    assert json.loads(ran.stdout) == tokenizer.decode([answers[i][0].tokens for i in range(len(TEXTS))])
    assert all(json.loads(ran.stdout))
