"""Decontamination: keeps dev and test sentences out of the training text."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field

# ASCII spaces, punctuation, symbols and control characters. Bytes of non-ASCII characters are >= 128.
IGNORED_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())
BEYOND_ASCII = re.compile(r"[^\w\x00-\x7f]+")
# Most text in Latin script has none of these; searching for them is faster than for non-word characters.
BEYOND_LATIN = re.compile("[\x80-\xbf×÷\u02b0-\U0010ffff]")

# Characters of category Mark that only select how an emoji is drawn.
EMOJI_MARKS = "\ufe0e\ufe0f\u20e3"


@dataclass(frozen=True)
class HeldOut:
    """The sentences of dev and test sets, by side, compared without case, punctuation and spaces."""

    sources: set[bytes] = field(default_factory=set)
    targets: set[bytes] = field(default_factory=set)

    def add(self, source: str, target: str) -> None:
        """Add a pair: a training pair with the same source or the same target will be dropped."""
        self.sources.add(fingerprint(source))
        self.targets.add(fingerprint(target))

    def has(self, source: str, target: str) -> bool:
        """Whether either side of a pair is held out."""
        return fingerprint(source) in self.sources or fingerprint(target) in self.targets

    def __bool__(self) -> bool:
        return bool(self.sources or self.targets)


def fingerprint(text: str) -> bytes:
    """Return an eight-byte hash that ignores case, punctuation, spaces and character width."""
    return hashlib.blake2b(essence(text), digest_size=8).digest()


def essence(text: str) -> bytes:
    """Return the letters, marks and digits of a text, casefolded; the text itself if it has none."""
    if text.isascii():
        return text.lower().encode().translate(None, IGNORED_ASCII) or text.encode()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if BEYOND_LATIN.search(folded):
        folded = BEYOND_ASCII.sub(keep_marks, folded)
    return folded.encode("utf-8", "replace").translate(None, IGNORED_ASCII) or text.encode("utf-8", "replace")


def keep_marks(ignored: re.Match[str]) -> str:
    """Keep combining marks: `re` does not count them as word characters, but in many scripts they distinguish words."""
    return "".join(char for char in ignored[0] if unicodedata.category(char)[0] == "M" and char not in EMOJI_MARKS)
