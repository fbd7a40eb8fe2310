"""Builds the tree of inline elements that `placing` puts into a translation."""

from hark.documents.placing import Element, Mark, placeholders


class InlineTree:
    """The text of a segment as it is read, and the elements and marks in it."""

    def __init__(self, source: str) -> None:
        self.text, self.root = "", Element("", "", 0, 0)
        self._stack, self._holders = [self.root], placeholders(source)

    @property
    def tagged(self) -> bool:
        """Whether there is anything to place by word links."""
        return bool(self.root.children)

    def add_text(self, text: str) -> None:
        self.text += text
        self.root.end = len(self.text)

    def add_placeholder(self, raw: str) -> None:
        """Add something that is not translated but has a place in the sentence."""
        holder = next(self._holders)
        self._stack[-1].children.append(Mark(raw, len(self.text), holder))
        self.add_text(holder)

    def add_mark(self, raw: str, ordered: bool = False) -> None:
        """Add something without a meaning for the sentence; ordered ones keep their order."""
        self._stack[-1].children.append(Mark(raw, len(self.text), ordered=ordered))

    def open(self, raw: str) -> None:
        self._stack[-1].children.append(element := Element(raw, "", len(self.text), len(self.text)))
        self._stack.append(element)

    def close(self, raw: str) -> None:
        element = self._stack.pop()
        element.closing, element.end = raw, len(self.text)
