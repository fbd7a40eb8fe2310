"""The sentences of survival.toml, how numbers are recognised in each language, and the tables."""

import pytest
from benchmarks.survival import FILE, LANGUAGES, Sentence, read_sentences, shows, tabulate  # type: ignore[import-not-found]
from benchmarks.trust import Verdict


def test_each_language_is_a_good_translation_of_the_others() -> None:
    sentences = read_sentences(FILE)
    assert len(sentences) >= 18
    for sentence in sentences:
        assert sentence.keeps or sentence.amounts
        for source in LANGUAGES:
            for target in set(LANGUAGES) - {source}:
                assert sentence.lost(sentence.texts[target], source, target) == "", (sentence.kind, source, target)
            assert sentence.lost("", source, "en")
            assert sentence.lost(sentence.texts[source], source, "en") == "is not translated"
        assert len(set(sentence.texts.values())) == len(LANGUAGES)


@pytest.mark.parametrize(
    ("text", "number", "units", "language", "found"),
    [
        ("1,500 books", "1500", "", "en", True),
        ("1500 books", "1500", "", "en", True),
        ("1.500 books", "1500", "", "en", False),
        ("1.500 Bücher", "1500", "", "de", True),
        ("1\u202f500 livres", "1500", "", "fr", True),
        ("1,500 Bücher", "1500", "", "de", False),
        ("21.500 Bücher", "1500", "", "de", False),
        ("3.141,59 km", "3141.59", "km|kil*", "nl", True),
        ("3.141,59 Kilometer", "3141.59", "km|kil*", "de", True),
        ("3.141,59 m", "3141.59", "km|kil*", "de", False),
        ("3.141,5 km", "3141.59", "km", "nl", False),
        ("It costs €14.50.", "14.50", "€|eur*", "en", True),
        ("kost € 14,50", "14.50", "€|eur*", "nl", True),
        ("kostet 14,50 €", "14.50", "€|eur*", "de", True),
        ("is 1,88 mm long", "1.88", "m|met*", "it", False),
    ],
)
def test_numbers_as_a_language_writes_them(text: str, number: str, units: str, language: str, found: bool) -> None:
    assert shows(text, number, units, language) == found


def test_what_is_lost_is_named() -> None:
    texts = dict.fromkeys(LANGUAGES, "Anna has 12 kg.")
    sentence = Sentence("units", texts, ("Anna",), (("12", "kg"),))
    assert sentence.lost("Maria has 12 kg.", "en", "de") == "lost Anna"
    assert sentence.lost("Anna hat 12 g.", "en", "de") == "lost 12 kg"


def test_the_tables_count_by_kind_and_direction() -> None:
    outcomes = {"en-de": ("held", "silent"), "de-en": ("held", "flagged")}
    found = [
        Verdict(pair, kind, "text", "answer", (), outcome, False, "" if outcome == "held" else "lost Anna")
        for pair, both in outcomes.items()
        for kind, outcome in zip(("names", "units"), both, strict=True)
    ]
    lines = tabulate(found)
    (units,) = (line.split() for line in lines if line.startswith("  units"))
    assert units == ["units", "2", "0", "0.0%", "1", "50.0%", "1", "50.0%", "0"]
    assert "held, of 2 in each direction" in lines
    silent = lines.index("silently wrong, of 2 in each direction")
    assert lines[silent + 3].split() == ["en", "1"]
    assert lines[-1] == "en-de units: text -> answer   (lost Anna)"
