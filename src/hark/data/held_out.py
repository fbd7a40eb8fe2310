"""Keeping dev and test sentences out of the training text, so that no score is contaminated."""

import hashlib
import re
import unicodedata

# Spaces, punctuation and symbols of ASCII, and controls; bytes of other characters are above.
IGNORED_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())
BEYOND_ASCII = re.compile(r"[^\w\x00-\x7f]+")
# Most text in Latin script has nothing of these; looking for them is quicker than for what is not a word character.
BEYOND_LATIN = re.compile("[\x80-\xbf×÷\u02b0-\U0010ffff]")

# Marks, by their category, that only choose how an emoji is drawn.
EMOJI_MARKS = "\ufe0e\ufe0f\u20e3"


class HeldOut:
    """The sentences of dev and test sets, each side by itself; compared without case, punctuation and spaces."""

    def __init__(self) -> None:
        self.sources: set[bytes] = set()
        self.targets: set[bytes] = set()

    def add(self, source: str, target: str) -> None:
        """Hold out a pair: no training pair may have its source, or its target, on the same side."""
        self.sources.add(fingerprint(source))
        self.targets.add(fingerprint(target))

    def has(self, source: str, target: str) -> bool:
        """Whether either side of a pair is held out."""
        return fingerprint(source) in self.sources or fingerprint(target) in self.targets

    def __bool__(self) -> bool:
        return bool(self.sources)


def fingerprint(text: str) -> bytes:
    """Eight bytes that are equal for sentences that differ in case, punctuation, spaces or width only."""
    return hashlib.blake2b(essence(text), digest_size=8).digest()


def essence(text: str) -> bytes:
    """The letters, marks and digits of a text, casefolded; the text itself where it has none."""
    if text.isascii():
        return text.lower().encode().translate(None, IGNORED_ASCII) or text.encode()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if BEYOND_LATIN.search(folded):
        folded = BEYOND_ASCII.sub(keep_marks, folded)
    return folded.encode("utf-8", "replace").translate(None, IGNORED_ASCII) or text.encode("utf-8", "replace")


def keep_marks(ignored: re.Match[str]) -> str:
    """Marks are no word characters to `re`, but in many scripts they are what tells words apart."""
    return "".join(each for each in ignored[0] if unicodedata.category(each)[0] == "M" and each not in EMOJI_MARKS)
