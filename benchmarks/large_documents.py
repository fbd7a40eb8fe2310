"""Time and memory of large documents: `python -m benchmarks.large_documents`.

An HTML page of 50 MB and a Word document of 300 pages are read, and written with every text unchanged and with every
text changed. No model takes part: this is the cost of our own code. Each figure is from a process of its own; times are
CPU seconds, so that they hardly depend on what else the machine does.
"""

import argparse
import multiprocessing
import random
import resource
from collections.abc import Iterator
from time import process_time

from hark.documents.document import ReadingOptions, Segment, SegmentTranslation
from hark.documents.formats import read_document
from hark.documents.new_files import write_docx
from hark.documents.pdf_paragraphs import PdfParagraph, StyledText
from hark.translate.align import Link, word_spans

WORDS = "the house of old stone near river people who live there have many small gardens and some trees".split()  # noqa: SIM905
PAGE_WORDS = 400
"""Words of a page of a Word document."""


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def make_page(size: int) -> bytes:
    """A web page with headings, links, bold words, pictures, tables and comments."""
    chance = random.Random(1)
    parts, made = ["<!DOCTYPE html>\n<html lang='en'>\n<head><title>Large</title></head>\n<body>\n"], 0
    while made < size:
        text = [sentence(chance, 12) for _ in range(6)]
        part = (
            f'<h2 class="title">{text[0]}</h2>\n<p>{text[1]} See <a href="/page?id={made}">{text[2]}</a> and '
            f"<b>{text[3]}</b> &amp; more.</p>\n<!-- {made} -->\n<table><tr><td>{text[4]}</td><td>{made}</td></tr>"
            f'</table>\n<p><img src="a.png" alt="{text[5]}"></p>\n'
        )
        parts.append(part)
        made += len(part)
    return "".join([*parts, "</body></html>\n"]).encode()


def make_word_document(pages: int) -> bytes:
    """A Word document with headings and bold words."""
    chance = random.Random(1)

    def paragraphs() -> Iterator[PdfParagraph]:
        for number in range(pages):
            yield PdfParagraph((StyledText(f"Chapter {number}: {sentence(chance, 6)}"),), 1)
            for _ in range(PAGE_WORDS // 80):
                text = [sentence(chance, 20) for _ in range(4)]
                styles = [StyledText(f"{text[0]} "), StyledText(f"{text[1]} ", bold=True)]
                yield PdfParagraph((*styles, StyledText(f"{text[2]} "), StyledText(text[3], italic=True)))

    return write_docx("Large", list(paragraphs()))


def measure(name: str, changed: bool, attributes: bool, size: int) -> None:
    content = make_page(size) if name.endswith("html") else make_word_document(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = process_time()
    document = read_document(name, content, ReadingOptions(attributes=attributes, target="de"))
    segments = document.segments
    read = process_time() - start
    read_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    done = [translate(each) for each in segments] if changed else [SegmentTranslation(each.text) for each in segments]
    count, tagged = len(segments), sum(each.tagged for each in segments)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = process_time()
    written = document.write(done)
    wrote = process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert changed or written == content
    what = f"{len(content) / 1e6:.1f} MB, {count:,} segments, {tagged:,} with tags"
    print(
        f"{name}{' with attributes' if attributes else ''}: {what}; {'all changed' if changed else 'unchanged'}: "
        f"read {read:.1f} s, peak {read_peak:.0f} MB (before: {before:.0f}); "
        f"write {wrote:.1f} s, peak {peak:.0f} MB (with the translations: {held:.0f})"
    )


def translate(segment: Segment) -> SegmentTranslation:
    """Capitals, with links where tags are to be placed."""
    links = [Link(span, span, 1.0) for span in word_spans(segment.text)] if segment.tagged else ()
    return SegmentTranslation(segment.text.upper(), links)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--pages", type=int, default=300)
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    cases = [
        ("a.html", False, False, size),
        ("a.html", True, False, size),
        ("a.html", True, True, size),
        ("a.docx", False, False, arguments.pages),
        ("a.docx", True, False, arguments.pages),
    ]
    context = multiprocessing.get_context("spawn")
    for case in cases:
        process = context.Process(target=measure, args=case)
        process.start()
        process.join()


if __name__ == "__main__":
    main()
