"""Markdown: sentences come out whole, and everything around them stays."""

import re
import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hark.documents.formats import ReadingOptions, SegmentTranslation
from tests.documents.test_markup import scrambled
from tests.documents.translators import constant, is_unchanged, line_ends, read, shout, texts, translate

TraceFunction = Any  # typeshed has no public name for it

PAGE = """\
---
title: Not translated
tags: [a, b]
---

# The *best* garden #

Some text that is wrapped by hand in the middle of a sentence, with **bold
words** and `code = 1`, and a [link to *something*](https://example.org/a_(b) "Title") in
it.

A line with a hard break\x20\x20
and another\\
end.

Setext heading
--------------

- first item
- second item that goes
  on in the next line

  a paragraph of the item

      code in a list
1. one
   * nested [x] <b>bold &amp; strong</b>
2. two
- [ ] a task

> A quote that is
> longer than a line
>> and nested

```python
print("not translated")
```

~~~
nor this
~~~

    indented code

| Name | What it |\x20
|------|:-------:|
| `a|b` | The first \\| of **two** |
| مرحبا | last |

<div class="note">
<p>HTML <b>inside</b>.</p>
</div>

<!-- a comment
that goes on -->

Text with a footnote[^1], an ![image](a.png), <https://example.org>, \\*stars\\* and a [reference].
See [this page][ref], [ref][] too.

[^1]: The footnote itself.
[reference]: https://example.org
[ref]: <a b> 'title'

!!! note
    An admonition.

***
"""


@pytest.mark.parametrize("content", line_ends(PAGE))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("page.md", content)


def test_texts() -> None:
    assert texts("page.md", PAGE) == [
        "The best garden",
        "Some text that is wrapped by hand in the middle of a sentence, with bold words and {{x1}}, "
        "and a link to something in it.",
        "A line with a hard break",
        "and another",
        "end.",
        "Setext heading",
        "first item",
        "second item that goes on in the next line",
        "a paragraph of the item",
        "one",
        "nested [x] bold & strong",
        "two",
        "a task",
        "A quote that is longer than a line",
        "and nested",
        "Name",
        "What it",
        "The first | of two",
        "مرحبا",
        "last",
        "HTML inside.",
        "Text with a footnote, an {{x1}}, {{x2}}, *stars* and a reference. See this page, ref too.",
        "The footnote itself.",
        "An admonition.",
    ]


def test_translation() -> None:
    written = translate("page.md", PAGE).decode()
    assert "# THE *BEST* GARDEN #\n" in written
    assert "**BOLD WORDS** AND `code = 1`" in written.replace("\n", " ")
    assert '[LINK TO *SOMETHING*](https://example.org/a_(b) "Title")' in written.replace("\n", " ")
    assert "A LINE WITH A HARD BREAK  \nAND ANOTHER\\\nEND.\n" in written
    assert "- SECOND ITEM THAT GOES\n  ON IN THE NEXT LINE\n" in written
    assert "   * NESTED [X] <b>BOLD &amp; STRONG</b>\n" in written
    assert "> A QUOTE THAT IS\n> LONGER THAN A LINE\n>> AND NESTED\n" in written
    assert "| `a|b` | THE FIRST \\| OF **TWO** |\n" in written
    assert "\\*STARS\\*" in written
    assert "[REFERENCE][reference]" in written
    assert "[THIS PAGE][ref], [REF][ref] TOO." in written
    assert "[^1]: THE FOOTNOTE ITSELF.\n" in written
    for same in ('print("not translated")', "nor this", "    indented code", "title: Not translated", "<!-- a comment"):
        assert same in written


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Hello", "* star", "\\* star"),
        ("Hello", "a_b_ `c` [d]", "a\\_b\\_ \\`c\\` \\[d\\]"),
        ("Hello", "1. one", "1\\. one"),
        ("Hello", "# one", "\\# one"),
        ("2 * 3 = a", "a = 2 * 3", "a = 2 * 3"),
        ("| a | b |\n|---|---|\n| Hello | 1 |", "x|y", "| x\\|y | x\\|y |\n|---|---|\n| x\\|y | 1 |"),
        ("Hello \\<b>", "Hallo <b>", "Hallo \\<b>"),
        ("A &copy; B", "© B A", "&copy; B A"),
    ],
)
def test_text_of_the_translation_does_not_become_markup(source: str, translation: str, expected: str) -> None:
    assert translate("a.md", source, constant(translation)).decode() == expected


def test_a_wrapped_line_does_not_begin_a_list() -> None:
    source = "Some words that are wrapped at forty cols\nand go on in the next one."
    written = translate("a.md", source, constant("Worte die umgebrochen werden und hier nun - 5 + 3 # usw. folgt"))
    assert all(line[:1] not in "-+#" for line in written.decode().splitlines())


def test_tags_follow_words() -> None:
    document = read("a.md", "The **red** house")
    [segment] = document.segments
    assert segment.tagged
    order = shout("The red house").links
    moved = [order[0], type(order[1])(order[1].source, (10, 13), 1.0), type(order[2])(order[2].source, (4, 9), 1.0)]
    assert document.write([SegmentTranslation("THE HOUSE RED", moved)]) == b"THE HOUSE **RED**"


def test_alt_texts_on_request() -> None:
    assert texts("a.md", "![A house](a.png)") == []
    assert texts("a.md", "![A house](a.png)", ReadingOptions(attributes=True)) == ["A house"]


@pytest.mark.parametrize(
    "source",
    [
        "a*b*c",
        "**a*b**c*",
        "***a** b*",
        "_a_b_",
        "*a **b* c**",
        "[a](b [c](d)",
        "![a [b](c)](d)",
        "`` a ` b ``",
        "[a]",
        "a]b[",
    ],
)
def test_odd_markup(source: str) -> None:
    assert is_unchanged("a.md", source)
    written = translate("a.md", source).decode()
    assert Counter(written.lower()) == Counter(source)


MARKS = st.sampled_from(
    ["*", "**", "_", "`", "~~", "[", "](u)", "]", "!", "<b>", "</b>", "\\", "\n", "\n\n", "> ", "- ", "| ", "#", "    "]
)


@given(st.lists(MARKS | st.sampled_from(["word ", "a", " b", "é."]), max_size=30).map("".join))
def test_anything_comes_back(source: str) -> None:
    assert is_unchanged("a.md", source)


RENDERER = MarkdownIt("commonmark")
WORDS = st.sampled_from(["red", "house", "old", "very", "green"])
LINKS = st.builds("[{} {}](/u)".format, WORDS, st.sampled_from(["old", "*old*", "**old *one***"]))
INLINE = st.recursive(
    WORDS | LINKS,  # links do not contain links
    lambda inner: st.builds(
        lambda marks, parts: marks[0] + " ".join(parts) + marks[1],
        st.sampled_from([("**", "**"), ("*", "*"), ("<u>", "</u>")]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@given(st.lists(INLINE, min_size=1, max_size=5).map(" ".join), st.integers(0, 1000))
def test_every_tag_stays_once_and_well_nested(source: str, seed: int) -> None:
    document = read("a.md", source)
    done = [scrambled(segment.text, seed) for segment in document.segments]
    written = document.write([SegmentTranslation(*each) for each in done]).decode()
    for mark in ("](/u)", "<u>", "</u>"):
        assert written.count(mark) == source.count(mark)
    assert RENDERER.renderInline(written).count("<a ") == source.count("](/u)")


@given(st.lists(INLINE, min_size=1, max_size=5).map(" ".join))
def test_text_is_what_other_programs_show(source: str) -> None:
    shown = re.sub(r"<[^<>]+>", "", RENDERER.renderInline(source))
    assert texts("a.md", source) == [shown]


def test_a_paragraph_of_any_length_is_translated() -> None:
    paragraph = "The cat sees the house. " * 2_500
    assert translate("a.md", paragraph) == paragraph.upper().encode()


def lines_run(source: str) -> int:
    """The lines of Python that are executed to translate a paragraph: work, whatever the machine."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        translate("a.md", source)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("part", ["*a* `x` ", "*a* <b>x</b> ", "[a](b) `x` "])
def test_work_grows_with_the_length_of_a_paragraph_not_with_its_square(part: str) -> None:
    assert lines_run(part * 400) < 2.3 * lines_run(part * 200)


def test_time_is_bounded() -> None:
    for part in ("`", "[", "*a ", "_a*", "<a ", "![", "{{", "<!--"):
        assert is_unchanged("a.md", "Word " + part * (10_000 // len(part)))
