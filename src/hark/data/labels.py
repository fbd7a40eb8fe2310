"""Text with labels, read and built into a dataset: one for each text, in lines of a text, a tab and its label; or one
for each word, in lines of a word, a tab and its tag, with an empty line between sentences."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from hark.config import CorpusConfig
from hark.data.compression import ByteStream
from hark.data.corpus import corpus_files, read_lines
from hark.data.documents import DocumentCleaner, is_chosen
from hark.data.manifest import Manifest, Role
from hark.data.store import SIDES
from hark.data.text_build import EncodedPiece, TextBuild, byte_count
from hark.data.workers import run_jobs
from hark.errors import UserError
from hark.facts import LabelFacts, LabelsOf
from hark.pages.formats import plural
from hark.text.vocabulary import Vocabulary

HEADS_OF_LABELS = {"label", "labels", "class", "category", "sentiment", "target", "tag", "tags", "pos", "ner"}
HEADS_OF_TEXTS = {"text", "texts", "sentence", "sentence1", "sentence2", "word", "words", "token", "tokens", "form"}
"""What a header may call the columns."""
JOB = 1_000
"""Texts that a worker encodes at a time."""
FEW_LABELS = 20
"""So many labels need not occur more often than texts."""


@dataclass(frozen=True)
class LabelledText:
    """A text or two with a label, or the words of a sentence with one each."""

    parts: tuple[str, ...]
    labels: tuple[str, ...]
    where: str
    """The file and the line that it begins in."""

    @property
    def text(self) -> str:
        return " ".join(self.parts)


def read_labelled(path: Path, of: LabelsOf) -> Iterator[LabelledText]:
    """Yield the texts or the sentences of a file. A line of another form is an error that names it."""
    with ByteStream(path) as stream:
        lines = enumerate(read_lines(stream), start=1)
        yield from read_texts(lines, path) if of == "text" else read_sentences(lines, path)


def read_texts(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[LabelledText]:
    width = 0
    for number, line in lines:
        if not line.strip():
            continue
        where, cells = f"{path}:{number}", split_cells(line)
        if len(cells) not in (2, 3):
            raise UserError(
                f"{where}: {plural(len(cells), 'column')}; expected a text, a tab and its label, or two texts"
            )
        if len(cells) != (width or len(cells)):
            raise UserError(f"{where}: {plural(len(cells), 'column')}, but the lines before have {width}")
        width = len(cells)
        if number == 1 and is_header(cells, where, "a text, a tab and its label"):
            continue
        if not cells[-1]:
            raise UserError(f"{where}: no label after the last tab")
        yield LabelledText(tuple(cells[:-1]), (cells[-1],), where)


def read_sentences(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[LabelledText]:
    words: list[tuple[str, str]] = []
    where = ""
    for number, line in chain(lines, [(0, "")]):
        if not line.strip():
            if words:
                yield LabelledText(tuple(word for word, _ in words), tuple(tag for _, tag in words), where)
            words = []
            continue
        if line.startswith("#") and "\t" not in line:  # a comment, as in CoNLL-U
            continue
        here, cells = f"{path}:{number}", split_cells(line)
        if len(cells) != 2 or not all(cells):
            raise UserError(f"{here}: expected a word, a tab and its tag; an empty line ends a sentence")
        if number == 1 and is_header(cells, here, "a word, a tab and its tag"):
            continue
        where = where if words else here
        words.append((cells[0], cells[1]))


def split_cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")]


def is_header(cells: Sequence[str], where: str, expected: str) -> bool:
    """Whether the first line names the columns; in another order, it is an error."""
    first, last = cells[0].casefold(), cells[-1].casefold()
    if first in HEADS_OF_LABELS and last in HEADS_OF_TEXTS:
        raise UserError(f"{where}: the columns are {', then '.join(cells)}; expected {expected}, in this order")
    return first in HEADS_OF_TEXTS and last in HEADS_OF_LABELS


class LabelBuild(TextBuild):
    """One build of a dataset of text with labels."""

    sides = SIDES

    def run(self) -> Manifest:
        assert self.data.labels is not None
        self.progress("reading labels", 0, None)
        self.labels = self.find_labels(self.data.labels)
        return super().run()

    def labelled(self, corpus: CorpusConfig) -> Iterator[LabelledText]:
        assert self.data.labels is not None
        return chain.from_iterable(read_labelled(path, self.data.labels) for path in corpus_files(corpus))

    def raw(self, corpus: CorpusConfig) -> Iterator[str]:
        return (each.text for each in self.labelled(corpus))

    def find_labels(self, of: LabelsOf) -> LabelFacts:
        """The labels of the training text. Others in a dev or test set are an error; but a rare tag may occur there
        alone, which is never predicted then."""
        names, count, widths, spaced = set[str](), 0, set[int](), 0
        corpora = [(role, self.labelled(corpus)) for _, role, corpus in self.plan.corpora]
        for each in chain.from_iterable(texts for role, texts in corpora if role == "train"):
            names.update(each.labels)
            count += len(each.labels)
            widths.add(len(each.parts))
            spaced += sum(" " in part for part in each.parts)
        files = ", ".join(corpus.source for corpus in self.data.train)
        if not count:
            raise UserError(f"{files}: no text with labels")
        if of == "words" and 2 * spaced > count:
            raise UserError(f"{files}: most words have spaces, so they are texts; prepare it with data.labels=text")
        if len(names) < 2:
            raise UserError(f"{files}: has one label, {min(names)}; there is nothing to learn")
        if len(names) > max(FEW_LABELS, count // 2):
            what = "texts" if of == "text" else "words"
            raise UserError(
                f"{files}: {len(names):,} labels for {count:,} {what}; are the columns swapped? The label is the last"
            )
        for role, texts in corpora:
            for each in texts if role != "train" else ():
                widths.add(len(each.parts))
                for name in set(each.labels) - names if of == "text" else ():
                    raise UserError(f"{each.where}: the label {name!r} is in no training text")
                names.update(each.labels)
        if of == "text" and len(widths) > 1:
            raise UserError(f"{files}: some lines have one text, others two; prepare them apart")
        return LabelFacts(of, tuple(sorted(names)), pairs=of == "text" and widths == {2})

    def encoded(
        self, role: Role, corpus: CorpusConfig, cleaner: DocumentCleaner, vocabulary: Vocabulary
    ) -> Generator[list[EncodedPiece], None, None]:
        assert self.labels is not None
        share = self.dev_share if role == "train" else 0.0
        kept = (
            (int(is_chosen(number, share, self.data.seed)), each)
            for number, each in enumerate(self.labelled(corpus))
            if role != "train" or cleaner.keeps(each.text)
        )
        jobs = iter(lambda: list(islice(kept, JOB)), [])
        yield from run_jobs(self.processes, partial(EncodeLabelled, vocabulary, self.labels), jobs)


class EncodeLabelled:
    """Encodes texts with their labels in a worker process."""

    def __init__(self, vocabulary: Vocabulary, labels: LabelFacts) -> None:
        self.vocabulary, self.of = vocabulary, labels.of
        self.numbers = {name: number for number, name in enumerate(labels.names, start=1)}

    def __call__(self, job: Sequence[tuple[int, LabelledText]]) -> list[EncodedPiece]:
        return [self.encode(output, text) for output, text in job]

    def encode(self, output: int, text: LabelledText) -> EncodedPiece:
        plain, places = encode_parts(self.vocabulary, text.parts, self.of)
        ids = self.vocabulary.enclose(plain)[:-1]  # batches add the end
        labels = np.zeros(len(ids), np.int32)
        labels[places] = [self.numbers[name] for name in text.labels]
        return EncodedPiece(output, np.array(ids, np.int32), True, byte_count(text.text), labels)


def encode_parts(vocabulary: Vocabulary, parts: Sequence[str], of: LabelsOf) -> tuple[list[int], list[int]]:
    """Encode a text or the words of a sentence. Also return which tokens, once they are enclosed, decide on a label:
    the start token for a text, the first token of each word for words."""
    if of == "text":
        return vocabulary.encode_texts(parts), [0]
    words = vocabulary.encode_words(parts)
    lead = len(vocabulary.enclose([])) - 1  # before the first word
    return list(chain.from_iterable(words)), (lead + np.cumsum([0, *map(len, words[:-1])])).tolist()
