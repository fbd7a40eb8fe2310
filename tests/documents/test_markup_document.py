"""HTML: markup stays byte for byte, attributes are translated on request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import ReadingOptions
from tests.documents.test_markup import NESTED
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

PAGE = """\
<!DOCTYPE html>
<html lang="en" dir=ltr>
<head>
  <meta name="viewport" content="width=device-width">
  <title>Our &amp; your garden</title>
  <style>p > a { content: "no <b>" }</style>
  <script>if (a < b) document.write("<p>no</p>")</script>
</head>
<body class='a "b"'>
  <!-- a comment with <b>tags</b> -->
  <h1>The <em>best <strong>garden</strong></em> in town</h1>
  <p>Open <code>index.html</code>,
     then <a href="/a?b=1&amp;c=2" title="See &quot;more&quot;">click</a>&nbsp;here<br/>or there.
  <p dir="rtl" lang="ar">مرحبا <b>بالعالم</b></p>
  <ul><li>One<li>Two <img src=a.png alt="A red house"> three</ul>
  <table><tr><td>Cell</td><td translate="no" title="No">Keep</td></tr></table>
  <pre>  as   is </pre><textarea placeholder='Your name'>keep</textarea>
  <![CDATA[ odd ]]><?php echo "no"; ?>
  <input placeholder=Search><button>It&#39;s &lt;fine&gt;</button>
</body>
</html>
"""


@pytest.mark.parametrize("content", line_ends(PAGE))
@pytest.mark.parametrize("attributes", [False, True])
def test_round_trip(content: bytes, attributes: bool) -> None:
    assert is_unchanged("page.html", content, ReadingOptions(attributes=attributes))


def test_texts() -> None:
    found = texts("page.html", PAGE)
    assert found[:3] == [
        "Our & your garden",
        "The best garden in town",
        "Open {{x1}}, then click\xa0here",
    ]
    assert not {"Keep", "keep"} & set(found)
    assert found[-1] == "It's <fine>"


def test_translation() -> None:
    written = translate("page.html", PAGE).decode()
    assert "<title>OUR &amp; YOUR GARDEN</title>" in written
    assert "<h1>THE <em>BEST <strong>GARDEN</strong></em> IN TOWN</h1>" in written
    assert 'title="See &quot;more&quot;"' in written
    assert "IT&#39;S &lt;FINE&gt;" in written


def test_attributes() -> None:
    options = ReadingOptions(attributes=True)
    found = texts("page.html", PAGE, options)
    assert found[-3:] == ['See "more"', "A red house", "Search"]  # not those of elements that are not translated
    written = translate("page.html", PAGE, options=options).decode()
    assert 'title="SEE &quot;MORE&quot;"' in written
    assert 'alt="A RED HOUSE"' in written
    assert '<input placeholder="SEARCH">' in written
    assert 'title="No"' in written
    assert "<h1>THE <em>BEST <strong>GARDEN</strong></em> IN TOWN</h1>" in written


def test_quotes_in_attributes_are_escaped() -> None:
    options = ReadingOptions(attributes=True)
    for source, expected in (
        ('<img alt="red">', b"<img alt=\"&quot;a&quot; &amp; 'b'\">"),
        ("<img alt='red'>", b"<img alt='\"a\" &amp; &#39;b&#39;'>"),
        ("<img alt=red>", b"<img alt=\"&quot;a&quot; &amp; 'b'\">"),
    ):
        assert translate("a.html", source, constant("\"a\" & 'b'"), options) == expected


def test_elements_to_ignore() -> None:
    options = ReadingOptions(ignore=("CITE",))
    assert texts("a.html", "<p>By <cite>Someone</cite>.</p>", options) == ["By {{x1}}."]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<?xml version="1.0" encoding="iso-8859-5"?>', "iso8859-5"),
        ("<meta charset=shift_jis>", "shift_jis"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta charset=unknown-8bit>", "utf-8"),
    ],
)
def test_declared_encodings(head: str, encoding: str) -> None:
    content = f"{head}<p>Привет</p>".encode(encoding)
    assert texts("a.html", content) == ["Привет"]
    assert is_unchanged("a.html", content)


def test_the_label_latin_1_means_windows_1252() -> None:
    content = "<meta charset=iso-8859-1><p>10 €</p><p>Größe</p>".encode("cp1252")
    assert texts("a.html", content) == ["Größe"]
    assert translate("a.html", content, constant("размер €")).endswith(
        b"<p>&#1088;&#1072;&#1079;&#1084;&#1077;&#1088; \x80</p>"
    )


def test_the_language_of_a_translated_page() -> None:
    options = ReadingOptions(target="de")
    assert is_unchanged("page.html", PAGE, options)
    assert '\n<html lang="de" dir=ltr>\n' in translate("page.html", PAGE, options=options).decode()
    assert translate("a.html", "<html><p>Hi", options=options) == b"<html><p>HI"
    source = '<html lang=en xml:lang="en-US"><p lang="en">Hi'
    assert translate("a.html", source, options=options) == b'<html lang=de xml:lang="de"><p lang="en">HI'


def test_another_language_of_the_page_stays() -> None:
    options = ReadingOptions(source="en", target="de")
    assert translate("a.html", "<html lang=fr><p>Hi", options=options) == b"<html lang=fr><p>HI"
    assert translate("a.html", "<html lang=en-GB><p>Hi", options=options) == b"<html lang=de><p>HI"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("<html lang='en'><p>Hi", "ar", "<html lang='ar' dir=\"rtl\"><p>HI"),
        ("<HTML><BODY CLASS=x><p>Hi", "ar", '<HTML dir="rtl"><BODY CLASS=x><p>HI'),
        ("<html dir=ltr><body DIR='ltr'><p>Hi", "he", "<html dir=rtl><body DIR='rtl'><p>HI"),
        ("<html dir=rtl><p dir=rtl>Hi", "en", "<html dir=ltr><p dir=rtl>HI"),
        ('<html dir="auto"><p>Hi', "ar", '<html dir="auto"><p>HI'),
        ("<body><p>Hi", "ar", '<body dir="rtl"><p>HI'),
        ("<html><p>Hi", "de", "<html><p>HI"),
        ("<p>Hi", "ar", "<p>HI"),
        # As pages are made for old versions of Internet Explorer: the first tag is in a comment.
        (
            "<!--[if IE]><html lang=en><![endif]--><!--[if !IE]>--><html lang=en><!--<![endif]--><p>Hi",
            "ar",
            '<!--[if IE]><html lang=en><![endif]--><!--[if !IE]>--><html lang=ar dir="rtl"><!--<![endif]--><p>HI',
        ),
    ],
)
def test_the_direction_of_a_translated_page(source: str, target: str, expected: str) -> None:
    options = ReadingOptions(target=target)
    assert translate("a.html", source, options=options).decode() == expected
    assert is_unchanged("a.html", source, options)


def test_xhtml_has_self_closing_scripts() -> None:
    body = '<html xmlns="http://www.w3.org/1999/xhtml"><script src="a.js"/><p>Text</p></html>'
    assert texts("a.xhtml", f'<?xml version="1.0"?>{body}') == ["Text"]
    assert texts("a.html", body) == []  # as browsers read it


@given(st.lists(NESTED, max_size=4).map("".join), st.booleans())
def test_any_page_comes_back(source: str, attributes: bool) -> None:
    assert is_unchanged("a.html", source, ReadingOptions(attributes=attributes))
