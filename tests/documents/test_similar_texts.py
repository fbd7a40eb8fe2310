"""The most similar of many texts is found without comparing all."""

import random

import pytest

from hark.documents import similar_texts
from hark.documents.similar_texts import SIMILAR, SimilarTexts

fuzz = pytest.importorskip("rapidfuzz.fuzz", reason="rapidfuzz is in the extra documents")
WORDS = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in ("alo", "emir", "ipu", "orent", "usk", "aedi")]


def sentences(number: int, chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 14))) for _ in range(number)]


def best(text: str, texts: list[str]) -> float:
    found = max(fuzz.ratio(text, each) for each in texts) / 100
    return found if found >= SIMILAR else 0.0


def test_the_same_is_found_as_by_comparing_all() -> None:
    chance = random.Random(1)
    texts = sentences(400, chance)
    index = SimilarTexts(texts)
    for text in chance.sample(texts, 40):
        words = text.split()
        words[chance.randrange(len(words))] = chance.choice(WORDS)
        edited = " ".join(words)
        found = index.find(edited)
        assert (found[1] if found else 0.0) == pytest.approx(best(edited, texts))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Colour", "Color"),
        ("Save file", "Save files"),
        ("今日はとても良い天気です", "今日はとても悪い天気です"),
        ("Delivery to Berlin", "Delivery to Bern"),
    ],
)
def test_short_texts_and_texts_without_spaces(text: str, other: str) -> None:
    index = SimilarTexts([other, *sentences(50, random.Random(2))])
    found = index.find(text)
    assert found is not None
    assert found[0] == other


def test_words_that_are_everywhere_do_not_hide_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_texts, "POSTINGS", 20)
    monkeypatch.setattr(similar_texts, "CANDIDATES", 3)
    texts = [f"the letter of the day is number {number} again" for number in range(200)]
    index = SimilarTexts([*texts, "the letter of the day is unusual again"])
    found = index.find("the letter of this day is unusual again")
    assert found is not None
    assert found[0] == "the letter of the day is unusual again"


@pytest.mark.parametrize("text", ["", " ", "...", "nothing like it"])
def test_nothing_is_similar(text: str) -> None:
    assert SimilarTexts(["Something else entirely."]).find(text) is None
    assert SimilarTexts([]).find(text) is None
