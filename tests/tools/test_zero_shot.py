import json
import lzma
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hark.config import BatchConfig, Config
from tools import zero_shot

WORDS = {
    "en": "one two three four five six",
    "de": "eins zwei drei vier fünf sechs",
    "fr": "un deux trois quatre cinq six",
    "es": "uno dos tres cuatro cinco seis",
    "it": "uno due tre quattro cinque sei",
    "nl": "een twee drie vier vijf zes",
    "pt": "um dois três quatro cinco seis",
}


def test_only_one_pair_is_left_out() -> None:
    everything = zero_shot.model_config(Path("text"), 500, None).data.train
    without = zero_shot.model_config(Path("text"), 500, zero_shot.LEFT_OUT).data.train
    assert len(everything) == 21
    assert {each.languages for each in everything} - {each.languages for each in without} == {("it", "nl")}


def test_translations_through_english_are_translated_twice() -> None:
    text = {language: [f"{words} seven"] for language, words in WORDS.items()}
    asked = []

    def translate(lines: list[str], source: str, target: str) -> list[str]:
        asked.append((source, target))
        return text[target] if lines == text[source] else ["something else"]

    scores, outputs = zero_shot.score_directions(translate, text)
    assert set(scores) == {"it-nl", "it-en-nl", "nl-it", "nl-en-it", "es-nl", "es-en-nl", "nl-es", "nl-en-es"}
    assert set(scores.values()) == {100.0}
    assert outputs["it-en-nl"] == text["nl"]
    assert asked[:3] == [("it", "nl"), ("it", "en"), ("en", "nl")]


def test_two_models_are_trained_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "europarl-seven").mkdir()
    for language, words in WORDS.items():
        some = words.split()
        lines = [" ".join(some[(i * k) % 6] for k in (1, 2, 3, 5)) + f" {i}" for i in range(40)]
        for role, part in (("train", lines), ("dev", lines[:2]), ("test", lines[:1])):
            with lzma.open(tmp_path / "europarl-seven" / f"{role}.{language}.xz", "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in part)
    real = zero_shot.model_config

    def small(text: Path, steps: int, left_out: tuple[str, str] | None) -> Config:
        config = real(text, steps, left_out)
        clean = replace(config.data.clean, held_out=False, duplicates=False)
        model = replace(config.model, d_model=16, d_ff=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1)
        data = replace(config.data, vocab_size=300, clean=clean)
        batches = BatchConfig(batch_tokens=256, max_length=32)
        decode = replace(config.decode, beam=1, max_extra=1)  # an untrained model does not end its sentences
        return replace(config, data=data, model=model, batches=batches, decode=decode)

    monkeypatch.setattr(zero_shot, "model_config", small)
    monkeypatch.setattr(zero_shot, "LANGUAGES", ("en", "it", "nl"))
    monkeypatch.setattr(zero_shot, "SCORED", (("it", "nl"),))
    monkeypatch.setattr(sys, "argv", ["zero_shot", str(tmp_path), str(tmp_path / "out"), "--steps", "2"])
    zero_shot.main()
    found = json.loads((tmp_path / "out" / "zero-shot.json").read_text())
    assert set(found) == {"all", "without"}
    assert all(set(scores) == {"it-nl", "it-en-nl"} for scores in found.values())
    assert len((tmp_path / "out" / "without" / "it-en-nl.txt").read_text().splitlines()) == 1
