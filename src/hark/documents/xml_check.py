"""Checks XML before it is read: it must be well-formed, and must not declare entities that could do harm."""

from xml.parsers import expat

from hark.documents.document import DocumentError

MAX_DEPTH = 2000
"""Elements inside elements."""


def check_xml(text: str) -> None:
    """Raise an error if the text is not XML, or declares entities from files or made of other entities.

    Nothing is expanded: the readers work on the text itself.
    """
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def declare(name: str, _: int, value: str | None, *rest: object) -> None:
        if value is None or "&" in value or "%" in value or any(each is not None for each in rest[1:]):
            raise DocumentError(
                f"the XML declares the entity {name!r} by other entities or files, which is not allowed"
            )

    def start(name: str, _: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DocumentError(f"the XML is nested more than {MAX_DEPTH:,} levels deep, at the element {name!r}")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.EntityDeclHandler = declare
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.DefaultHandler = lambda _: None  # without it, internal entities are expanded
    try:
        for at in range(0, len(text), 1 << 20):
            parser.Parse(text[at : at + (1 << 20)].encode("utf-8", "surrogatepass"))
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DocumentError(f"line {error.lineno} is not well-formed XML: {expat.ErrorString(error.code)}") from None
