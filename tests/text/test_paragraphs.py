"""Grouping of lines: hard-wrapped paragraphs and code blocks, and nothing else."""

import textwrap
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.paragraphs import MAX_CODE_LINES, Unit, group, wrap

PROSE = (
    "We have been working on this report for more than two years, and it was not always easy to find the people who "
    "could tell us what had really happened. Those whom we asked often did not want to remember."
)


def units(text: str) -> list[Unit]:
    return list(group(text.splitlines(keepends=True)))


@pytest.mark.parametrize("width", [50, 72, 100])
@pytest.mark.parametrize(("first", "rest"), [("", ""), ("> ", "> "), ("- ", "  "), ("    ", "    "), ("1. ", "   ")])
def test_a_wrapped_paragraph_is_joined_and_wrapped_again(width: int, first: str, rest: str) -> None:
    text = textwrap.fill(PROSE, width, initial_indent=first, subsequent_indent=rest) + "\n"
    before, after = "A line of its own.\n\n", "\nAnother one.\n"
    grouped = units(before + text + after)
    assert [each.text for each in grouped] == ["A line of its own.\n", "\n", text, "\n", "Another one.\n"]
    (joined,) = [each.joined for each in grouped if each.joined is not None]
    assert joined.after == first + PROSE + "\n"
    translation = first + PROSE.replace("We", "Wir alle zusammen") + "\n"
    wrapped = wrap(translation, grouped[2]).after
    assert " ".join(wrapped.replace("\n" + rest, " ").split()) == " ".join(translation.split())
    lines = wrapped.splitlines()
    assert all(len(line) <= max(map(len, text.splitlines())) for line in lines)
    assert all(line.startswith(rest) for line in lines[1:])


@pytest.mark.parametrize(
    "text",
    [
        "The first sentence of a list of sentences stands on one line.\nThe second one stands on the next line.\n",
        "Roses are red and violets are blue and so on\nSugar is sweet and honey is as well, they say\n",
        "short\nlines\nof\na poem\n",
        "# A heading that is long enough to be taken for a line\nand what stands under it goes on in lower case\n",
        "| a table with a row that is as long as a line | x |\n| and another one that is as long as a line | y |\n",
        "- the first item of a list, which is quite a long one\n- the second item of a list, which is not\n",
        "A line that ends with two spaces is a break in Markdown, yes  \nand so it is not joined with the next one\n",
        "A line of forty letters or more goes here\n\nand after an empty line there is another one\n",
    ],
)
def test_other_lines_are_not_joined(text: str) -> None:
    assert [each.text for each in units(text)] == text.splitlines(keepends=True)
    assert all(each.joined is None for each in units(text))


def test_lines_may_continue_with_a_german_noun() -> None:
    text = "Können Sie mir die Unterlagen vor Freitag schicken, damit ich noch die\nZeit habe, sie zu lesen?\n"
    (unit,) = units(text)
    assert unit.joined is not None
    assert unit.joined.after == text.replace("die\nZeit", "die Zeit")


def test_fenced_code_is_one_unit() -> None:
    text = "Run this:\n```bash\npip install x\n\nls\n```\nThen go on.\n~~~\nnever closed\n"
    assert [(each.text, each.code) for each in units(text)] == [
        ("Run this:\n", False),
        ("```bash\npip install x\n\nls\n```\n", True),
        ("Then go on.\n", False),
        ("~~~\nnever closed\n", True),
    ]


def test_does_not_wait_for_the_next_line_of_a_pipe() -> None:
    lines = ["This line is long enough to go on in the next, and it has no end\n", "and it does go on\n"]
    assert [each.text for each in group(lines, ready=lambda: False)] == lines
    assert len(list(group(lines, ready=lambda: True))) == 1


@given(st.text(alphabet="ab ,.\n>-`|#A", max_size=300))
def test_grouping_is_lossless(text: str) -> None:
    grouped = units(text)
    assert "".join(each.text for each in grouped) == text
    for each in grouped:
        if each.joined is not None:
            assert wrap(each.joined.after, each).after == each.text


def test_a_block_of_code_that_never_ends_is_passed_on_in_parts() -> None:
    """`(echo '```'; yes) | hark translate` filled the memory."""
    units = group(chain(["```\n"], repeat("y\n")))
    first, second = next(units), next(units)
    assert (first.text, second.text) == ("```\n" + "y\n" * (MAX_CODE_LINES - 1), "y\n" * MAX_CODE_LINES)
    assert first.code
    assert second.code
