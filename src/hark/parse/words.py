"""Splitting of a sentence into words, by the conventions of the Penn Treebank: `Don't go!` is `Do n't go !`.

Only spaces are inserted, so that the words spell the sentence. A treebank with other conventions (GUM also splits
`well - known`) is better served with text that is already split.
"""

import re

_RULES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(\.{2,}|…|--+|—)", r" \1 "),
        (r"([\"“”«»„`;?!()\[\]{}<>%&$€£#]|'')", r" \1 "),
        (r"([,:])(?!\d)", r" \1 "),  # not in 12,500 and 7:30
        (r"(?<!\d)([,:])(?=\d)", r" \1 "),
        (r"(?<![.\s])(\.)(?=[\"”»')\]}\s]*$)", r" \1 "),  # the full stop of a sentence, not that of an abbreviation
        (r"(?<!\S)(['‘])(?!(?:s|m|d|ll|re|ve)\b)(?=\w)", r" \1 "),
        (r"(?<=\w)(['’])(?!\w)", r" \1 "),
        (r"(?<=\w)(n['’]t)(?!\w)", r" \1 "),
        (r"(?<=\w)(['’](?:s|m|d|ll|re|ve))(?!\w)", r" \1 "),
        (r"\b(can)(not)\b", r"\1 \2"),
    )
]
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+")


def split_words(sentence: str) -> list[str]:
    """Return the words of a sentence. Addresses stay whole."""
    words: list[str] = []
    end = 0
    for address in _ADDRESS.finditer(sentence):
        stop = end + len(sentence[end : address.end()].rstrip(".,;:!?)\"'"))
        words += [*_split(sentence[end : address.start()], ends=False), sentence[address.start() : stop]]
        end = stop
    return words + _split(sentence[end:], ends=True)


def _split(text: str, ends: bool) -> list[str]:
    text = text if ends else text + "\u2060"  # a word joiner: what precedes it is not the end of the sentence
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return [word for each in text.split() if (word := each.replace("\u2060", ""))]
