"""Documents and translators without a model, for tests."""

from collections.abc import Callable, Iterator, Sequence

from hark.documents.formats import Segment, SegmentTranslation
from hark.text.segments import TextLayout, lay_out, split_sentences
from hark.translate.align import Link, word_spans
from hark.translate.translation import Reason, Sentence, Translation


class Lines:
    """A document of lines; those with a star are tagged."""

    def __init__(self, text: str) -> None:
        self.segments: Sequence[Segment] = [Segment(line, "*" in line) for line in text.split("\n")]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        return "\n".join(each.text for each in translations).encode()


class Reversing:
    """Translates by reversing every word; a sentence with a question mark is doubtful. Records what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    def __call__(self, texts: list[str], align: bool) -> Iterator[Translation]:
        for text in texts:
            self.asked.append((text, align))
            yield translation(text, lambda word: word[::-1], align)


def translation(text: str, change: Callable[[str], str], align: bool = False) -> Translation:
    """A translation of a text, word by word."""
    layout: TextLayout = lay_out(text, lambda part: split_sentences(part, "en"))
    sentences, start, source_start = list[Sentence](), len(layout.gaps[0]), len(layout.gaps[0])
    for source, gap in zip(layout.sentences, layout.gaps[1:], strict=True):
        words = [source[slice(*span)] for span in word_spans(source)]
        target = " ".join(map(change, words))
        links = tuple(Link(*spans, 1.0) for spans in zip(word_spans(source), word_spans(target), strict=True))
        reasons = (Reason("unsure", "50%"),) if "?" in source else ()
        flags = tuple(each.flag for each in reasons)
        sentences.append(
            Sentence(source, target, -1.0, 1, flags, reasons, links if align else (), (), source_start, start)
        )
        source_start += len(source) + len(gap)
        start += len(target) + len(gap)
    return Translation(text, layout.join([each.text for each in sentences]), tuple(sentences), layout)
