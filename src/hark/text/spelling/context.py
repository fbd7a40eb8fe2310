"""The context of a word in its text, used to decide what it is."""

from dataclasses import dataclass

_JOINING = frozenset("@#%$/\\_=<>|~0123456789")
_OPENING = " \t\"'“”„«»‚‘([*"
_ENDING = frozenset(".!?:…–—•")


@dataclass(frozen=True)
class Context:
    """The position of a word, and its neighbours if only a space separates them."""

    text: str
    start: int
    end: int
    before: str = ""
    after: str = ""

    def is_first(self) -> bool:
        """Whether a sentence may start here."""
        head = self.text[: self.start].rstrip(_OPENING)
        return not head or head[-1] in _ENDING or head.endswith(" -") or head == "-"

    def is_shouted(self) -> bool:
        """Whether the whole text is in capitals."""
        return self.text.isupper()

    def is_joined(self, also: str = "") -> bool:
        """Whether it is part of something longer: a path, a formula, a domain, `u.s.`, or joined by `also`."""
        text, start, end = self.text, self.start, self.end
        left, right = text[start - 1 : start] if start else "", text[end : end + 1]
        if left in _JOINING or right in _JOINING or (left and left in also) or (right and right in also):
            return True
        if left == "(" and right == ")":  # (i), (r)
            return True
        return (left == "." and start > 1 and text[start - 2].isalnum()) or (
            right == "." and text[end + 1 : end + 2].isalnum()
        )


def match_case(right: str, word: str) -> str:
    """Return `right` with the case of `word`."""
    if word.isupper() and len(word) > 1:
        return right.upper()
    return right[0].upper() + right[1:] if word[0].isupper() else right
