"""The everyday lines, and the whole benchmark with an untrained model."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from sacrebleu.metrics.chrf import CHRF

from hark.errors import UserError
from hark.evaluate.held_out import HeldOutSet
from hark.text.phrases import open_phrases
from hark.translate.load import Loaded
from tests.translate.bundles import make_bundle


def test_the_lines_of_both_directions() -> None:
    from benchmarks.everyday import LINES  # type: ignore[import-not-found]
    from benchmarks.lines import read_lines  # type: ignore[import-not-found]

    there, back = read_lines(LINES, "en-de"), read_lines(LINES, "de-en")
    assert there.keys() == back.keys()
    for lines in (there, back):
        every = [line for of_kind in lines.values() for line in of_kind]
        assert len({line.text for line in every}) == len(every) >= 60
        for line in every:
            assert line.has or line.keeps or line.like, line  # otherwise any answer would pass
            assert not line.like or line.wrong("something else", "entirely"), line
            assert not line.has or line.wrong("", ""), line
            assert all(kept in line.text for kept in line.keeps), line
    with pytest.raises(UserError, match="no lines from en to fr; choose from"):
        read_lines(LINES, "en-fr")


@pytest.mark.parametrize("pair", ["en-de", "de-en"])
def test_phrases_of_the_table_are_good_translations(pair: str) -> None:
    from benchmarks.everyday import LINES, read_lines

    phrases = open_phrases(*pair.split("-"))
    lines = read_lines(LINES, pair)
    answers = {line: phrases.lookup(line.text) for of_kind in lines.values() for line in of_kind}
    known = {line: answer for line, answer in answers.items() if answer is not None}
    assert [(line.text, answer) for line, answer in known.items() if not line.like and line.wrong(answer)] == []
    greetings = {line.text for line in lines["greetings"]}
    assert {line.text for line in known} & greetings == {
        # The rest is left to the model: it contains a name.
        text
        for text in greetings
        if not any(name in text for name in ("Berlin", "Tanaka"))
    }


class Echo:
    """Returns its input, except for one name."""

    def translate(self, texts: list[str], split: bool) -> list[SimpleNamespace]:
        assert not split
        return [SimpleNamespace(text=text.replace("Zoë", "Zoo")) for text in texts]


def test_kept_names_are_counted() -> None:
    from benchmarks.everyday import keep_names

    sources = ("I saw Tom.", "It rains.", "Tom ran.", "Ask Tom about Tom!", "Ask Tom!")
    held_out = HeldOutSet(
        "some", sources, ("Ich sah Tom.", "Es regnet.", "Tom lief.", "Frag Tom nach Tom!", "Frag Tom!")
    )
    assert keep_names(Echo(), held_out, ["Zoë", "Uwe", "O'Brien"]) == (2, 4)  # Zoë, Uwe, O'Brien, Zoë


def test_measuring_an_untrained_model(tmp_path: Path) -> None:
    from benchmarks.everyday import measure, table

    model = Loaded(make_bundle(tmp_path / "small"), threads=1)
    held_out = HeldOutSet("two", ("The house is red.", "we run"), ("Das Haus ist rot.", "wir rennen"))
    found = measure("small", model, held_out)
    holds, of = found.holds()
    assert holds + len(found.failures) == of == sum(found.lines.values())
    plain, lower, upper, unpunctuated, hasty = found.spellings
    assert (plain.sentences, lower.sentences, upper.sentences, unpunctuated.sentences) == (2, 1, 2, 1)
    texts = [each.text for each in model.translate([each.upper() for each in held_out.sources], split=False)]
    expected = CHRF().corpus_score([each.upper() for each in texts], [["DAS HAUS IST ROT.", "WIR RENNEN"]])
    assert upper.scores["chrf2"] == expected.score
    answer = model.translate("the house is red", split=False).text
    assert hasty.scores["chrf2"] == CHRF().corpus_score([answer.rstrip(".!?… ")], [["Das Haus ist rot"]]).score
    assert found.names == (0, 0)  # these two have no names
    tree = json.loads(found.to_json())
    assert sum(each["hold"] for each in tree["lines"].values()) == holds
    assert any("all" in line and f"{holds} of" in line for line in table(found))
