"""reStructuredText: sentences come out whole, and everything around them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import SegmentTranslation
from tests.documents.test_markup import scrambled
from tests.documents.translators import constant, copy, dictionary, is_unchanged, line_ends, read, texts, translate

PAGE = """\
=========
The Guide
=========

:orphan:
:Author: Someone

.. _top:
.. A comment that is
   not translated.

A paragraph that is wrapped by hand, with *emphasis*, **strong
words**, ``code = 1``, and a `link <https://example.org>`_ in it.
See :ref:`the other page <other>`, :class:`str`, Python_ and `The Guide`_. [1]_

Code follows::

    print("not translated")

      more of it

Installing
----------

- first item
- second item that goes
  on in the next line

  a paragraph of the item

1. one thing
#. another thing

term
    Its definition stands below.

-v, --verbose  Say more about it
--quiet        Say less

| Roses are red,
| violets are blue.

.. note:: Mind the gap, and the
   second line of it.

.. warning::

   This is dangerous.

   .. code-block:: python

      print("not this")

.. figure:: house.png
   :alt: A house
   :width: 100

   The caption of the figure.

.. py:function:: open(path)

   Open a file.

   :param path: The path of the file.
   :type path: str
   :returns: Nothing at all.

.. versionadded:: 3.2
   The new argument.

.. versionchanged:: 3.3 Something else now.

.. toctree::
   :maxdepth: 2

   not/translated

+-----+--------+
| Not | These  |
+-----+--------+

===== =====
Nor   These
===== =====
Cell  Other
===== =====

>>> not_this()
'or this'

.. [1] The text of a footnote.
.. _Python: https://python.org
.. |name| replace:: Not this

----

The end.
"""


@pytest.mark.parametrize("content", line_ends(PAGE))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.rst", content)


def test_texts() -> None:
    assert texts("a.rst", PAGE) == [
        "The Guide",
        "A paragraph that is wrapped by hand, with emphasis, strong words, {{x1}}, and a link in it. See the other "
        "page, {{x2}}, {{x3}} and The Guide. ",
        "Code follows:",
        "Installing",
        "first item",
        "second item that goes on in the next line",
        "a paragraph of the item",
        "one thing",
        "another thing",
        "term",
        "Its definition stands below.",
        "Say more about it",
        "Say less",
        "Roses are red,",
        "violets are blue.",
        "Mind the gap, and the second line of it.",
        "This is dangerous.",
        "The caption of the figure.",
        "Open a file.",
        "The path of the file.",
        "Nothing at all.",
        "The new argument.",
        "Something else now.",
        "The text of a footnote.",
        "The end.",
    ]


def test_translation() -> None:
    written = translate("a.rst", PAGE).decode()
    assert ".. _The Guide:\n\n=========\nTHE GUIDE\n=========\n" in written  # a link refers to it
    joined = written.replace("\n", " ")
    assert "*EMPHASIS*, **STRONG WORDS**, ``code = 1``, AND A `LINK <https://example.org>`_ IN IT." in joined
    assert "SEE :ref:`THE OTHER PAGE <other>`, :class:`str`, Python_ AND `THE GUIDE <The Guide_>`_. [1]_" in joined
    assert 'CODE FOLLOWS::\n\n    print("not translated")\n\n      more of it\n' in written
    assert "- SECOND ITEM THAT GOES\n  ON IN THE NEXT LINE\n" in written
    assert "-v, --verbose  SAY MORE ABOUT IT\n--quiet        SAY LESS\n" in written
    assert ".. note:: MIND THE GAP, AND THE\n   SECOND LINE OF IT.\n" in written
    assert "   :param path: THE PATH OF THE FILE.\n   :type path: str\n" in written
    assert ".. versionchanged:: 3.3 SOMETHING ELSE NOW.\n" in written
    for kept in (
        "   :alt: A house\n",
        "not/translated",
        "| Not | These  |",
        "Cell  Other",
        ">>> not_this()",
        ":orphan:",
    ):
        assert kept in written


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Title\n=====\n", "Überschrift", "Überschrift\n===========\n"),
        ("Title\n=====\n", "Ja", "Ja\n==\n"),
        ("Title\n==========\n", "Überschriften", "Überschriften\n=============\n"),
        ("Title\n==========\n", "Titel!", "Titel!\n==========\n"),
        ("Title\n=====\n", "題名", "題名\n====\n"),
        ("=======\n Title\n=======\n", "Überschrift", "=============\n Überschrift\n=============\n"),
        ("Some text", "a * b", "a \\* b"),
        ("2 * 3 words", "a * b", "a * b"),
        ("Some text", "name_ hier", "name\\_ hier"),
        ("Some text", "- ja", "\\- ja"),
        ("Some text", "3. Mai", "3\\. Mai"),
        ("Some text", "Code::", "Code:"),
        ("Code follows::\n\n  x", "Hier ist Code", "Hier ist Code::\n\n  x"),
        ("Code follows ::\n\n  x", "Hier ist Code", "Hier ist Code ::\n\n  x"),
    ],
)
def test_what_a_translation_needs(source: str, translation: str, expected: str) -> None:
    assert translate("a.rst", source, constant(translation)).decode() == expected


def test_markup_inside_a_word_is_separated() -> None:
    """Markup must have white space or punctuation around it; a backslash and a space are nothing."""
    german = dictionary({"The {{x1}} value": "Der{{x1}}wert"})
    assert translate("a.rst", "The ``int`` value", german) == b"Der\\ ``int``\\ wert"


WORDS = st.sampled_from(
    ["word", "*a b*", "**c**", "``d e``", "`f <g>`_", "`h i`_", "`j`__", ":ref:`k <l>`", ":m:`n`", "|o|", "p_", "[1]_",
     "\\*", "_`q r`", "*", "`", "_", "::", "..", "-", "1.", "\\ ", "<s>", ":t: u"]
)  # fmt: skip
LINES = st.lists(WORDS, max_size=5).map(" ".join)
BLOCKS = st.lists(
    st.one_of(LINES, LINES.map("  ".__add__), LINES.map("- ".__add__), LINES.map(".. note:: ".__add__),
              st.sampled_from(["", "====", "----", ".. x::", "   :y: z", "+--+", "== ==", ">>> a", "| b"])),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(BLOCKS)
def test_anything_comes_back(source: str) -> None:
    assert is_unchanged("a.rst", source)


@given(BLOCKS, st.integers(0, 9))
def test_code_and_addresses_stay_once(source: str, seed: int) -> None:
    document = read("a.rst", source)
    written = document.write([SegmentTranslation(*scrambled(each.text, seed)) for each in document.segments]).decode()
    written, source = " ".join(written.split()), " ".join(source.split())
    for part in ("``d e``", "<g>`_", ":m:`n`", "|o|", "<l>`"):
        assert written.count(part) == source.count(part)


@pytest.mark.parametrize(
    "part", ["*", "`", "`a", "*a ", ":a", "a_ ", "|a", "[a", "\\", "- ", "a::\n", "_`a", "a:b", "``a "]
)
def test_time_is_bounded(part: str) -> None:
    source = part * (20_000 // len(part))
    document = read("a.rst", source)
    assert document.write([copy(each.text) for each in document.segments]) == source.encode()
