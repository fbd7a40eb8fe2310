"""Argos packages of hark's models: plain CTranslate2 with sentencepiece gives hark's translations."""

from pathlib import Path

import ctranslate2
import sentencepiece
from benchmarks.argos_package import write_package

import hark

TEXTS = ["Where is the nearest train station?", "The old man gave her the letter."]


def test_the_package_translates_as_hark_does(tmp_path: Path) -> None:
    model = hark.load("en-de")
    write_package(model, tmp_path)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(tmp_path / "model"), compute_type="int8")
    answers = translator.translate_batch([pieces.encode(text, out_type=str) for text in TEXTS], beam_size=1)
    plain = [pieces.decode(answer.hypotheses[0]) for answer in answers]
    assert plain == [each.text for each in model.translate(TEXTS, protect=False, check=False, beam=1)]
