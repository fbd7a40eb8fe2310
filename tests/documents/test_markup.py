"""Markup comes through a translation untouched, with its tags around the right words."""

import random
from collections import Counter
from collections.abc import Sequence
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.markup import MAX_DEPTH, MAX_TAGS, Markup
from hark.documents.markup_tokens import MarkupRules, tokenise
from hark.translate.align import Link, word_spans

HTML = MarkupRules()
XML = MarkupRules(html=False, collapse=False)


def same(text: str) -> tuple[str, list[Link]]:
    return text, [Link(span, span, 1.0) for span in word_spans(text)]


def identity(source: str, rules: MarkupRules = HTML) -> str:
    markup = Markup(source, rules)
    return markup.join([same(text) for text in markup.texts])


def dictionary(text: str, words: dict[str, str], order: Sequence[int] | None = None) -> tuple[str, list[Link]]:
    """Translate word by word, with the words in another order."""
    spans = word_spans(text)
    gap = text[: spans[0][0]]
    end = text[spans[-1][1] :]
    places = order or range(len(spans))
    translation, links = gap, []
    for number, place in enumerate(places):
        word = text[slice(*spans[place])]
        core = word.strip('.,!?"')
        new = word.replace(core, words.get(core, core)) if core else word
        translation += " " if number else ""
        links.append(Link(spans[place], (len(translation), len(translation) + len(new)), 1.0))
        translation += new
    return translation + end, links


WORDS = {"red": "rotes", "house": "Haus", "The": "Das", "is": "ist", "old": "alt", "very": "sehr", "Hello": "Hallo"}


def translate(source: str, rules: MarkupRules = HTML, order: Sequence[int] | None = None) -> str:
    markup = Markup(source, rules)
    return markup.join([dictionary(text, WORDS, order) for text in markup.texts])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Hello", "Hallo"),
        ("The <b>red</b> house.", "Das <b>rotes</b> Haus."),
        ("<p>The <b>red house</b>.</p>\n", "<p>Das <b>rotes Haus</b>.</p>\n"),
        ('<a href="/red?a=1&amp;b=house">red</a>', '<a href="/red?a=1&amp;b=house">rotes</a>'),
        ("<b><i>The house.</i></b>", "<b><i>Das Haus.</i></b>"),
        ("<ul><li>red<li>house</ul>", "<ul><li>rotes<li>Haus</ul>"),
        ("red<br>house", "rotes<br>Haus"),
        ("The <img src=red.png> house", "Das <img src=red.png> Haus"),
        ("red<!-- house --> house", "rotes<!-- house --> Haus"),
        ("<script>var red = '<b>house</b>';</script>red", "<script>var red = '<b>house</b>';</script>rotes"),
        ("<style>red { }</style><pre>red  house</pre>", "<style>red { }</style><pre>red  house</pre>"),
        ("The <code>red</code> house", "Das <code>red</code> Haus"),
        ('<p translate="no">red</p> house', '<p translate="no">red</p> Haus'),
        ("<i class='x notranslate'>red</i> house", "<i class='x notranslate'>red</i> Haus"),
        ("<i data-translate=no>red</i> house", "<i data-translate=no>rotes</i> Haus"),
        ("red &amp; house &lt;b&gt;", "rotes &amp; Haus &lt;b&gt;"),
        ("red &copy; house", "rotes &copy; Haus"),
        ("The\n   red <b>\n house</b>", "Das rotes <b>Haus</b>"),
        ("<!DOCTYPE html><title>red</title>", "<!DOCTYPE html><title>rotes</title>"),
        ("", ""),
        ("  \n", "  \n"),
        ("<p>3 &lt; 4</p>", "<p>3 &lt; 4</p>"),
        # Elements without an end tag end with their parent, or where the next one begins.
        ("<ul><li translate=no>red<li>house</ul>", "<ul><li translate=no>red<li>Haus</ul>"),
        ("<p class=notranslate>red<p>house", "<p class=notranslate>red<p>Haus"),
        ("<p>The <code>red</p><p>house</p>", "<p>Das <code>red</p><p>Haus</p>"),
        ("The <b><code>red</b> house", "Das <b><code>red</b> Haus"),
        # The reading of a word is not a part of the sentence.
        (
            "The <ruby>red<rp>(</rp><rt>reading</rt><rp>)</rp></ruby> house",
            "Das <ruby>rotes<rp>(</rp><rt>reading</rt><rp>)</rp></ruby> Haus",
        ),
        ("The <ruby>red<rt>reading</ruby> house", "Das <ruby>rotes<rt>reading</ruby> Haus"),
    ],
)
def test_html(source: str, expected: str) -> None:
    assert translate(source) == expected


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<ruby>red<rt>reading</rt></ruby> house", ("red house",)),
        ("<button>Save</button> <button>Cancel</button>", ("Save", "Cancel")),
        ("<label>Name</label> <input> <label>Age</label>", ("Name", "Age")),
        ("<svg><text x=1>One</text><text>Two</text></svg>", ("One", "Two")),
    ],
)
def test_texts_of_html(source: str, texts: tuple[str, ...]) -> None:
    assert Markup(source, HTML).texts == texts


def test_tags_follow_their_words() -> None:
    source = 'The <b>red</b> house is <a href="x">very <i>old</i></a>.'
    # house is red The old. very
    assert translate(source, order=[2, 3, 1, 0, 5, 4]) == 'Haus ist <b>rotes</b> Das <a href="x"><i>alt</i>. sehr</a>'


def test_text_from_the_translation_is_escaped() -> None:
    markup = Markup("<p>Hello</p>", HTML)
    assert markup.join([("<script>alert('&')</script>", [])]) == ("<p>&lt;script&gt;alert('&amp;')&lt;/script&gt;</p>")


def test_escaped_text_stays_escaped() -> None:
    markup = Markup("<p>&lt;script&gt; &quot;Hello&quot; is &auml;</p>", HTML)
    assert markup.texts == ('<script> "Hello" is ä',)
    assert markup.join([('<script> "Hallo" ist ä', [])]) == "<p>&lt;script&gt; &quot;Hallo&quot; ist &auml;</p>"


@pytest.mark.parametrize(
    ("source", "rules", "texts"),
    [
        ("<d><p>One <b>two</b></p><p>Three</p></d>", XML, ("One two", "Three")),
        ("<d><t>Title</t><p>One <t>two</t></p></d>", XML, ("Title", "One two")),  # t is inline somewhere
        ("One <par>two</par> three", MarkupRules(html=False, splitting=frozenset({"par"})), ("One", "two", "three")),
        (
            "<d><a>One</a><b>two</b></d>",
            MarkupRules(html=False, non_splitting=frozenset({"a", "b"})),
            ("Onetwo",),
        ),
        ("<d><a>One</a><b>two</b></d>", MarkupRules(html=False, outline=False), ("Onetwo",)),
        ("One <x>two</x> three", MarkupRules(html=False, ignore=frozenset({"x"})), ("One {{x1}} three",)),
        ("One {{x <x>two</x>", MarkupRules(html=False, ignore=frozenset({"x"})), ("One {{x {{y1}}",)),
        ("<A>One</A><a>two</a>", MarkupRules(html=False, ignore=frozenset({"a"})), ("One",)),
        ("One <![CDATA[<b>]]> two", XML, ("One  two",)),
        ("One &company; two &#x41;", XML, ("One {{x1}} two A",)),
        ("<div>One</div>two <SPAN>three</SPAN>", HTML, ("One", "two three")),
        ("<h1>One</h1><td>two<td>three", HTML, ("One", "two", "three")),
    ],
)
def test_texts(source: str, rules: MarkupRules, texts: tuple[str, ...]) -> None:
    assert Markup(source, rules).texts == texts
    assert identity(source, rules) == source


def test_ignored_elements_go_where_their_placeholder_goes() -> None:
    rules = MarkupRules(html=False, ignore=frozenset({"x"}))
    markup = Markup('Open <b><x id="1"/> now</b>, <x id="2">you</x>!', rules)
    assert markup.texts == ("Open {{x1}} now, {{x2}}!",)
    assert markup.join([("{{x2}}, jetzt {{x1}} öffnen!", [])]) == (
        '<x id="2">you</x>, jetzt <b><x id="1"/></b> öffnen!'
    )


def test_a_lost_placeholder_is_not_lost() -> None:
    markup = Markup("Open <code>a</code> and <code>b</code>", HTML)
    joined = markup.join([("Mach {{x2}} {{x2}} auf", [])])
    assert joined.count("<code>a</code>") == joined.count("<code>b</code>") == 1
    assert "{{" not in joined


def test_whitespace_at_the_edges_is_kept() -> None:
    assert translate("<p>\n\t red\n </p>\n\n<p>  house</p>") == "<p>\n\t rotes\n </p>\n\n<p>  Haus</p>"


def test_a_tag_around_everything_keeps_the_punctuation_inside() -> None:
    markup = Markup("<b>Hello, house!</b>", HTML)
    assert markup.join([("Na, Haus, hallo!", [])]) == "<b>Na, Haus, hallo!</b>"


def test_part_of_a_word() -> None:
    markup = Markup("per month<sup>1</sup>", HTML)
    assert markup.join([("pro Monat1", [Link((4, 10), (4, 10), 1.0)])]) == "pro Monat<sup>1</sup>"


def test_halves_of_an_element_that_spans_blocks_keep_their_order() -> None:
    source = "The <i>red <u>house<p>is</p>very</u></i> old"
    markup = Markup(source, HTML)
    assert markup.texts == ("The red house", "is", "very old")
    joined = markup.join([dictionary("The red house", WORDS, [2, 1, 0]), same("is"), same("very old")])
    assert joined.index("<i>") < joined.index("<u>")
    assert is_well_nested(joined)


@pytest.mark.parametrize(
    "source",
    [
        "<b>Hello",
        "Hello</b>",
        "<b>red <i>house</b> old</i>",
        "Hello <",
        "Hello < world > <3 <-- a",
        "Hello <b",
        "<a href='red>Hello",
        "<p title=don't>Hello</p>",
        "<!-- Hello",
        "<script>Hello",
        "<![CDATA[Hello",
        "<?php Hello",
        "<code>Hello",
        "&lt &amp &bogus; &#0; &#xD800; &#x110000;Hello",
        '<a b="<c>">Hello</a>',
        "<é>Hello</é>",
        "<b/>Hello<i/>",
    ],
)
@pytest.mark.parametrize("rules", [HTML, XML])
def test_broken_markup_is_not_lost(source: str, rules: MarkupRules) -> None:
    assert identity(source, rules) == source
    translated = translate(source, rules)
    assert tags(translated, rules.html) == tags(source, rules.html)
    assert "Hello" not in source or "Hello" in translated or "Hallo" in translated


def tags(source: str, html: bool) -> Counter[str]:
    return Counter(token.raw for token in tokenise(source, html) if token.kind != "text")


def is_well_nested(source: str) -> bool:
    opened = []
    for token in tokenise(source, True):
        if token.kind == "open":
            opened.append(token.name)
        elif token.kind == "close" and (not opened or opened.pop() != token.name):
            return False
    return not opened


TEXT = st.text("ab c.<>&\"'\n;{}x1é ", max_size=12)
NAMES = st.sampled_from(["b", "i", "p", "li", "span", "code", "br", "x", "div", "pre", "script", "td"])
ATTRIBUTES = st.sampled_from(["", ' id="1"', " class=notranslate", " translate='no'", ' t="a>b"', " t=don't"])


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def build(name: str, attributes: str, inside: list[str]) -> str:
    if name == "br":
        return f"<br{attributes}>"
    return f"<{name}{attributes.replace(' t=don' + chr(39) + 't', '')}>{''.join(inside)}</{name}>"


NESTED = st.recursive(
    TEXT.map(escaped),
    lambda inner: st.builds(build, NAMES, ATTRIBUTES, st.lists(inner, max_size=4)),
    max_leaves=12,
)
RULES = st.builds(
    MarkupRules,
    st.booleans(),
    st.sampled_from([frozenset[str](), frozenset({"x"}), frozenset({"b", "x"})]),
    st.sampled_from([frozenset[str](), frozenset({"i"})]),
    st.sampled_from([frozenset[str](), frozenset({"p"})]),
    st.booleans(),
    st.booleans(),
)


def scrambled(text: str, seed: int) -> tuple[str, list[Link]]:
    """A translation with the words in another order, some lost or invented, and links that may be wrong."""
    chance = random.Random(seed)
    spans = word_spans(text)
    words = [text[slice(*span)] for span in spans] + ["neu", "&", "<b>", "ä."]
    chance.shuffle(words)
    words = words[: chance.randint(0, len(words))]
    translation = "".join(chance.choice(["", " "]) + word for word in words)
    links = [Link(chance.choice(spans), span, chance.random()) for span in word_spans(translation) if spans]
    return translation, links


@given(st.one_of(st.lists(NESTED, max_size=4).map("".join), st.text("<>/bip &;!-\"'= x\n", max_size=60)), RULES)
def test_an_identity_translation_is_the_exact_input(source: str, rules: MarkupRules) -> None:
    assert identity(source, rules) == source


@given(st.lists(NESTED, max_size=4).map("".join), RULES, st.integers(0, 1000))
def test_any_translation_keeps_all_tags(source: str, rules: MarkupRules, seed: int) -> None:
    markup = Markup(source, rules)
    translations = [scrambled(text, seed) for text in markup.texts]
    joined = markup.join(translations)
    assert tags(joined, rules.html) == tags(source, rules.html)
    if is_well_nested(source):
        assert is_well_nested(joined)


@given(st.lists(NESTED, max_size=4).map("".join), st.integers(0, 1000))
def test_no_text_is_invented_or_lost(source: str, seed: int) -> None:
    """Every translation appears once; everything else was in the source."""
    markup = Markup(source, HTML)
    joined = markup.join([("\ue000", scrambled(text, seed)[1]) for text in markup.texts])
    assert joined.count("\ue000") == len(markup.texts)
    assert Counter(joined.replace("\ue000", "")) <= Counter(source)


def test_huge_input_takes_linear_time_and_no_recursion() -> None:
    deep = "<b>" * 10_000 + "Hello red house" + "</b>" * 10_000
    assert identity(deep) == deep
    assert tags(translate(deep), True) == tags(deep, True)
    for broken in ('<a "' * 20_000, "<a>" * 20_000 + "</b>" * 20_000, "<" * 80_000, "<!--" * 20_000, "&" * 80_000):
        assert identity(f"Hello {broken}") == f"Hello {broken}"


@pytest.mark.parametrize("count", [MAX_TAGS // 2, MAX_TAGS * 2])
def test_many_tags(count: int) -> None:
    source = "The " + "<b>red</b> house " * count
    assert translate(source) == "Das " + "<b>rotes</b> Haus " * count


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_deep_tags(depth: int) -> None:
    source = "The " + "<b>red " * depth + "</b>" * depth + " house"
    joined = translate(source)
    assert tags(joined, True) == tags(source, True)
    assert joined.startswith("Das " + "<b>rotes " * (depth - 1))


def test_entities_of_words() -> None:
    assert unescape(translate("Sch&ouml;n &amp; red")) == "Schön & rotes"
