"""XML: chosen elements, CDATA, entities; and files that could do harm are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, ReadingOptions, SegmentTranslation
from hark.documents.xml import MAX_DEPTH, check_xml
from tests.documents.test_markup import scrambled
from tests.documents.translators import constant, is_unchanged, line_ends, read, texts, translate

BOOK = """\
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE book [ <!ENTITY company "Hark Ltd"> <!-- a > b --> ]>
<?xml-stylesheet href="a.css"?>
<book xmlns:x="urn:x">
  <!-- <title>no</title> -->
  <title x:id='1'>A <emph>short</emph> title</title>
  <para>By &company;, for &lt;you&gt; &amp; me,
     in   two lines.</para>
  <para><![CDATA[Some <b>HTML</b> &amp; more]]></para>
  <para><![CDATA[ plain & simple ]]></para>
  <code>not_this</code><empty/><dir xml:lang="he">שלום <emph>עולם</emph></dir>
</book>
"""


@pytest.mark.parametrize("content", line_ends(BOOK)[:5])
@pytest.mark.parametrize("options", [ReadingOptions(), ReadingOptions(elements=("para",), ignore=("code",))])
def test_round_trip(content: bytes, options: ReadingOptions) -> None:
    assert is_unchanged("a.xml", content, options)


def test_utf_16() -> None:
    content = BOOK.replace("utf-8", "utf-16").encode("utf-16")
    assert texts("a.xml", content)[0] == "A short title"
    assert is_unchanged("a.xml", content)


def test_texts() -> None:
    assert texts("a.xml", BOOK, ReadingOptions(ignore=("code",))) == [
        "A short title",
        "By {{x1}}, for <you> & me, in two lines.",
        "שלום עולם",
        "Some HTML & more",
        "plain & simple",
    ]


def test_translation() -> None:
    written = translate("a.xml", BOOK, options=ReadingOptions(ignore=("code",))).decode()
    assert "<title x:id='1'>A <emph>SHORT</emph> TITLE</title>" in written
    assert "<para>BY &company;, FOR &lt;YOU&gt; &amp; ME, IN TWO LINES.</para>" in written
    assert "<![CDATA[SOME <b>HTML</b> &amp; MORE]]>" in written
    assert "<![CDATA[ PLAIN & SIMPLE ]]>" in written
    assert "<code>not_this</code>" in written
    check_xml(written)


def test_chosen_elements() -> None:
    assert texts("a.xml", BOOK, ReadingOptions(elements=("title",))) == ["A short title"]
    assert texts("a.xml", BOOK, ReadingOptions(elements=("para",))) == [
        "By {{x1}}, for <you> & me, in two lines.",
        "Some HTML & more",
        "plain & simple",
    ]
    nested = "<a>out<b>in<c>deep</c><b>twice</b>end</b>out</a>"
    assert texts("a.xml", nested, ReadingOptions(elements=("b",))) == ["indeep", "twice", "end"]
    with pytest.raises(DocumentError, match=r"^a\.xml: there is no element 'chapter'$"):
        texts("a.xml", BOOK, ReadingOptions(elements=("chapter",)))


def test_the_end_of_a_cdata_section_in_a_translation() -> None:
    written = translate("a.xml", "<a><![CDATA[plain text]]></a>", constant("a ]]> b")).decode()
    assert written == "<a><![CDATA[a ]]]]><![CDATA[> b]]></a>"
    check_xml(written)


def test_characters_that_the_encoding_lacks() -> None:
    source = '<?xml version="1.0" encoding="iso-8859-1"?><a>Größe</a>'.encode("latin-1")
    assert is_unchanged("a.xml", source)
    assert translate("a.xml", source, constant("ж ö")).endswith(b"<a>&#1078; \xf6</a>")


LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize("suffix", [".xml", ".xliff", ".tmx"])
@pytest.mark.parametrize(
    "source",
    [
        LAUGHS,
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY x PUBLIC "p" "http://example.org/x">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://example.org/x"> %p;]><a>b</a>',
        '<!DOCTYPE a [<!ENTITY % p "b">]><a>b</a>',
    ],
)
def test_dangerous_entities_are_refused(source: str, suffix: str) -> None:
    if '% p "b"' in source:  # harmless, and not expanded
        check_xml(source)
        return
    with pytest.raises(DocumentError, match=rf"^a{suffix}: the XML declares the entity '\w'"):
        texts("a" + suffix, source)


@pytest.mark.parametrize("source", ["", "<a>", "<a></b>", "<a>&unknown;</a>", "text", "<a b=c/>", "<a>&#0;</a>"])
def test_what_is_not_xml_is_refused(source: str) -> None:
    with pytest.raises(DocumentError, match=r"^a\.xml: line 1 is not well-formed XML: "):
        texts("a.xml", source)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"nested more than 2,000 levels deep"):
        texts("a.xml", "<a>" * (MAX_DEPTH + 1))


NAMES = st.sampled_from(["p", "b", "x:i", "Note"])
TREES = st.recursive(
    st.sampled_from(["One ", "two", " &amp; ", "\n", "<!-- c -->", "<![CDATA[x & y]]>", "<br/>"]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>", NAMES, st.lists(inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.lists(TREES, max_size=4).map("".join), st.sampled_from([(), ("p",), ("b", "Note")]), st.integers(0, 99))
def test_any_tree_stays_well_formed(inner: str, elements: tuple[str, ...], seed: int) -> None:
    source = f'<doc xmlns:x="urn:x"><p/><b/><Note/>{inner}</doc>'
    options = ReadingOptions(elements=elements)
    assert is_unchanged("a.xml", source, options)
    document = read("a.xml", source, options)
    done = [SegmentTranslation(*scrambled(segment.text, seed)) for segment in document.segments]
    check_xml(document.write(done).decode())


PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="9"><title>A small house</title>
<style>text { fill: red }</style><defs><path d="M 1 2"/></defs>
<text x="1">The <tspan font-weight="bold">old</tspan> house</text>
<metadata>not this</metadata><g><text>42</text></g></svg>
"""


def test_pictures() -> None:
    assert is_unchanged("a.svg", PICTURE)
    assert texts("a.svg", PICTURE) == ["A small house", "The old house"]
    written = translate("a.svg", PICTURE).decode()
    assert '<text x="1">THE <tspan font-weight="bold">OLD</tspan> HOUSE</text>' in written
    assert written.replace("A SMALL HOUSE", "").count("text { fill: red }") == 1
