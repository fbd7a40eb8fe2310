"""Positions are carried between a text and what was made of it."""

from hypothesis import given
from hypothesis import strategies as st

from hark.text.rewrite import Rewriting


@st.composite
def rewritings(draw: st.DrawFn) -> tuple[Rewriting, list[str]]:
    """Alternating parts that stay and parts that are replaced."""
    parts = draw(
        st.lists(
            st.tuples(st.text("ab", max_size=3), st.text("xy", min_size=1, max_size=3), st.text("z", max_size=3)),
            max_size=4,
        )
    )
    text, spans = "", []
    for stays, goes, _ in parts:
        text += stays
        spans.append((len(text), len(text) + len(goes)))
        text += goes
    made = Rewriting.of(text + "b", zip(spans, [new for *_, new in parts], strict=True))
    return made, [stays + new for stays, _, new in parts]


@given(rewritings())
def test_replacements_and_their_places(case: tuple[Rewriting, list[str]]) -> None:
    made, parts = case
    assert made.after == "".join(parts) + "b"
    for before, after in made.edits:
        assert made.forth(before) == after
        if after[0] < after[1]:
            assert made.back(after) == before
    last = (len(made.before) - 1, len(made.before))
    assert made.after[slice(*made.forth(last))] == "b"
    assert made.back(made.forth(last)) == last


def test_a_part_of_a_replacement_stands_for_all_of_it() -> None:
    made = Rewriting.of("go to {name} now", [((6, 12), "317 m")])
    assert made.after == "go to 317 m now"
    assert made.before[slice(*made.back((10, 11)))] == "{name}"
    assert made.before[slice(*made.back((12, 15)))] == "now"
    assert made.after[slice(*made.forth((0, 8)))] == "go to 317 m"
