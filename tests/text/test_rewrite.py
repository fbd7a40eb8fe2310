"""Positions map between a text and its rewritten form."""

from hypothesis import given
from hypothesis import strategies as st

from hark.text.rewrite import Rewriting


@st.composite
def rewritings(draw: st.DrawFn) -> tuple[Rewriting, list[str]]:
    """Alternating kept and replaced parts."""
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
    rewriting = Rewriting.of(text + "b", zip(spans, [new for *_, new in parts], strict=True))
    return rewriting, [stays + new for stays, _, new in parts]


@given(rewritings())
def test_positions_map_both_ways(case: tuple[Rewriting, list[str]]) -> None:
    rewriting, parts = case
    assert rewriting.after == "".join(parts) + "b"
    for before, after in rewriting.edits:
        assert rewriting.forth(before) == after
        if after[0] < after[1]:
            assert rewriting.back(after) == before
    last = (len(rewriting.before) - 1, len(rewriting.before))
    assert rewriting.after[slice(*rewriting.forth(last))] == "b"
    assert rewriting.back(rewriting.forth(last)) == last


def test_part_of_a_replacement_maps_to_the_whole() -> None:
    rewriting = Rewriting.of("go to {name} now", [((6, 12), "317 m")])
    assert rewriting.after == "go to 317 m now"
    assert rewriting.before[slice(*rewriting.back((10, 11)))] == "{name}"
    assert rewriting.before[slice(*rewriting.back((12, 15)))] == "now"
    assert rewriting.after[slice(*rewriting.forth((0, 8)))] == "go to 317 m"
