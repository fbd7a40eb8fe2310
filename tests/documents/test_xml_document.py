"""XML is read in pieces with the place of each element, and edited there."""

import pytest

from hark.documents.formats import DocumentError
from hark.documents.xml_document import Node, Source, find_nodes

SPACES = {"urn:a": "a"}


def nodes(content: str, *names: str) -> list[Node]:
    return list(find_nodes(content.encode(), SPACES, frozenset(names), "a.xml"))


def test_names_have_the_usual_prefix_and_places_are_exact() -> None:
    source = '\ufeff<?xml version="1.0"?><x:d xmlns:x="urn:a"><x:p x:k="1>2" j=\'"\'>ä<x:e /><x:f></x:f ></x:p></x:d>'
    (p,) = nodes(source, "a:p")
    content = source.encode()
    assert p.attributes == {"a:k": "1>2", "j": '"'}
    assert [content[each.start : each.end].decode() for each in p.walk()] == [
        '<x:p x:k="1>2" j=\'"\'>ä<x:e /><x:f></x:f ></x:p>',
        "<x:e />",
        "<x:f></x:f >",
    ]
    assert [content[each.inner_start : each.inner_end].decode() for each in p.elements] == ["", ""]
    assert p.text == "ä"


def test_pieces_do_not_matter() -> None:
    """Paragraphs lie across the pieces in which the file is read, and so do texts and tags."""
    one = '<p k="v">' + "text &amp; more " * 300 + "<b/>end</p>"
    found = nodes(f'<d xmlns="urn:a">{one * 100}</d>', "a:p")
    assert len(found) == 100
    assert {each.text for each in found} == {"text & more " * 300 + "end"}
    assert {each.end - each.start for each in found} == {len(one)}


def test_comments_instructions_and_entities() -> None:
    (p,) = nodes('<p xmlns="urn:a">a<!-- b > --><?c d?>&#101;<![CDATA[<f>]]></p>', "a:p")
    assert p.text == "ae<f>"
    assert [each.name for each in p.elements] == ["#", "#"]
    doctype = '<!DOCTYPE p PUBLIC "-//A//B" "http://example.org/a.dtd"><p xmlns="urn:a">a&nbsp;b</p>'
    assert nodes(doctype, "a:p")[0].text == "a\xa0b"  # nothing is fetched


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-16-be", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?><p xmlns="urn:a">ä</p>'
    assert next(find_nodes(declared.encode(encoding), SPACES, frozenset(("a:p",)), "a.xml")).text == "ä"


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0" encoding="nonsense"?><p/>',
        b'<?xml version="1.0" encoding="ascii"?><p>\xff</p>',
        b"<p",
        b"\xff\xfea",
    ],
)
def test_damage_is_one_line(content: bytes) -> None:
    with pytest.raises(DocumentError, match=r"^damaged file: a\.xml: ") as caught:
        list(find_nodes(content, SPACES, frozenset(("p",)), "a.xml"))
    assert "\n" not in str(caught.value)


def test_outer_edits_replace_inner_ones() -> None:
    source = Source(b"abcdefghij")
    source.replace(2, 4, "CD")
    source.replace(6, 6, "+")
    assert source.text(0, 10) == "abCDef+ghij"
    assert source.text(3, 10) == "def+ghij"  # edits that are only partly inside do not count
    source.replace(1, 8, "X")
    assert source.finish(0, 10) == b"aXij"
    assert source.text(0, 10) == "abcdefghij"
