"""The building of a dataset of running text: clean, learn a vocabulary, encode, report."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hark.config import Config, CorpusConfig, DataConfig
from hark.data.corpus import corpus_files, name_corpora
from hark.data.documents import DocumentCleaner, document_hash, is_chosen, read_documents, split_off
from hark.data.manifest import FORMAT, ROLES, Manifest, Role, Shard, SourceFile, compute_checksums
from hark.data.plan import hash_file
from hark.data.progress import Progress
from hark.data.store import ONE_SIDED, Sentences, Side, StoreWriter
from hark.data.text_report import CorpusText, TextReport, write_text_report
from hark.data.workers import run_jobs
from hark.errors import UserError
from hark.facts import LabelFacts
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.opening import load_vocabularies, vocabulary_files
from hark.text.vocabulary import Vocabulary

SAMPLE_CHARACTERS = 20_000_000
"""Of the beginning of the text, from which the vocabulary is learnt."""
PIECE = 1_000_000
"""Characters that are encoded at a time."""
DEV = "end"
"""The name of the dev set that is divided from the training text."""


@dataclass(frozen=True)
class DocumentsPlan:
    """Everything that a dataset of text depends on: equal keys mean equal datasets."""

    data: DataConfig
    corpora: tuple[tuple[str, Role, CorpusConfig], ...]
    """Name, role and settings of each."""
    sources: dict[Path, SourceFile]
    vocabulary: Vocabulary | None
    """Named in the settings; None if it is to be learnt."""

    @property
    def settings(self) -> dict[str, Any]:
        data, clean = self.data, self.data.clean
        return {
            "format": FORMAT,
            "documents": data.documents,
            "language": data.target,
            "corpora": [
                {"name": name, "role": role, "weight": corpus.weight, "sha256": self.sources[file].sha256}
                for name, role, corpus in self.corpora
                for file in corpus_files(corpus)
            ],
            "clean": {name: getattr(clean, name) for name in ("garbled", "empty", "held_out", "duplicates")},
            "vocab_size": None if self.vocabulary else data.vocab_size,
            "tokenizer": self.vocabulary.sha256 if self.vocabulary else None,
            "dev_share": data.dev_share,
            # Omitted when unused, so that datasets prepared before it existed keep their keys.
            **({"sentinels": data.sentinels} if data.sentinels and not self.vocabulary else {}),
            "seed": data.seed,
            **({"labels": data.labels} if data.labels else {}),  # datasets from before there were any keep their key
        }

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources.values())


def plan_text(config: Config) -> DocumentsPlan:
    data = config.data
    if not data.train:
        raise UserError("no training text; name a file with --text, or as data.train in a recipe")
    roles: dict[Role, Sequence[CorpusConfig]] = {"train": data.train, "dev": data.dev, "test": data.test}
    corpora = []
    for role, named in roles.items():
        for corpus in named:
            if corpus.target:
                raise UserError(f"{corpus.source}: text has one file, but {corpus.target} is named, too")
        corpora += [(name, role, each) for name, each in zip(name_corpora(named, [data.target]), named, strict=True)]
    sources = {path: hash_file(path) for _, _, corpus in corpora for path in corpus_files(corpus)}
    vocabulary = load_vocabularies(Path(data.tokenizer), True)[1] if data.tokenizer else None
    return DocumentsPlan(data, tuple(corpora), sources, vocabulary)


@dataclass(frozen=True)
class DocumentPart:
    """A part of a document, small enough to encode at once."""

    text: str
    ends: bool
    """Whether the document ends with it."""


class TextBuild:
    """One build of a dataset of text. The text is read twice: to learn the vocabulary, and to encode it."""

    sides: tuple[Side, ...] = ONE_SIDED

    def __init__(self, plan: DocumentsPlan, folder: Path, processes: int, progress: Progress) -> None:
        self.plan, self.data, self.folder = plan, plan.data, folder
        self.processes, self.progress = processes, progress
        self.held_out: set[bytes] = set()
        self.report: list[CorpusText] = []
        self.labels: LabelFacts | None = None

    def run(self) -> Manifest:
        for role in ROLES:
            (self.folder / role).mkdir()
        for name, role, corpus in self.plan.corpora:
            if role != "train":
                self.progress(f"reading {name}", 0, None)
                self.held_out.update(map(document_hash, self.raw(corpus)))
        if self.plan.vocabulary is None:
            self.progress("learning vocabulary", 0, None)
        vocabulary = self.plan.vocabulary or learn_byte_pairs(self.sample(), self.data.vocab_size, self.data.sentinels)
        for name, content in vocabulary_files(vocabulary, vocabulary).items():
            (self.folder / name).write_bytes(content)
        shards = [shard for corpus in self.plan.corpora for shard in self.encode(*corpus, vocabulary)]
        if not any(shard.target_tokens for shard in shards if shard.role == "train"):
            raise UserError("no text left after cleaning; see data.clean")
        write_text_report(TextReport(self.data.target, vocabulary.vocab_size, tuple(self.report)), self.folder)
        written = (path for role in ROLES for path in sorted((self.folder / role).rglob("*")) if path.is_file())
        return Manifest(
            key=self.plan.key,
            source="",
            target=self.data.target,
            settings=self.plan.settings,
            sources=tuple(self.plan.sources.values()),
            tokenizer=vocabulary.sha256,
            source_tokenizer=None,
            shards=tuple(shards),
            checksums=compute_checksums(self.folder, [str(path.relative_to(self.folder)) for path in written]),
            labels=self.labels,
        )

    @property
    def dev_share(self) -> float:
        return 0.0 if self.data.dev else self.data.dev_share

    def raw(self, corpus: CorpusConfig) -> Iterator[str]:
        assert self.data.documents is not None
        return chain.from_iterable(read_documents(path, self.data.documents) for path in corpus_files(corpus))

    def divided(self, corpus: CorpusConfig, cleaner: DocumentCleaner) -> Iterator[tuple[str, bool]]:
        """Yield the documents of a training corpus that are kept, and whether each is for the dev set: the end of each
        file, or some of many documents."""
        share = self.dev_share
        for number, text in enumerate(self.raw(corpus)):
            if not cleaner.keeps(text):
                continue
            if share and self.data.documents == "file":
                train, dev = split_off(text, share)
                yield from ((part, is_dev) for part, is_dev in ((train, False), (dev, True)) if part)
            else:
                yield text, is_chosen(number, share, self.data.seed)

    def sample(self) -> Iterator[str]:
        """The text that the vocabulary is learnt from."""
        left = SAMPLE_CHARACTERS
        for _, role, corpus in self.plan.corpora:
            if role == "train":
                for text, is_dev in self.divided(corpus, self.new_cleaner()):
                    if left > 0 and not is_dev:
                        yield text[:left]
                        left -= len(text)
                    elif left <= 0:
                        return

    def new_cleaner(self) -> DocumentCleaner:
        assert self.data.documents is not None
        return DocumentCleaner(self.data.clean, self.data.documents, self.held_out)

    def encode(self, name: str, role: Role, corpus: CorpusConfig, vocabulary: Vocabulary) -> Iterator[Shard]:
        """Encode a corpus into one store, and into another the part of it that is the dev set."""
        cleaner = self.new_cleaner()
        shards = [Shard(name, role, corpus.weight, 0, 1, 0, 0)]
        if role == "train" and self.dev_share:
            shards.append(Shard(f"{name}-{DEV}", "dev", 1.0, 0, 1, 0, 0))
        largest = max(vocabulary.vocab_size, len(self.labels.names) + 1 if self.labels else 0)
        outputs = [TextOutput(StoreWriter(self.folder / shard.folder(), largest, self.sides)) for shard in shards]
        size, done = sum(self.plan.sources[path].size for path in corpus_files(corpus)), 0
        with closing(self.encoded(role, corpus, cleaner, vocabulary)) as results:
            for pieces in results:
                for piece in pieces:
                    outputs[piece.output].add(piece)
                    done += piece.bytes
                self.progress(
                    f"encoding {name}", sum(output.writer.pairs for output in outputs), min(1.0, done / max(1, size))
                )
        for shard, output in zip(shards, outputs, strict=True):
            output.writer.close()
            writer = output.writer
            if not writer.pairs and shard.role == "dev":  # too little text to divide
                shutil.rmtree(writer.folder)
                continue
            full = replace(shard, pairs=writer.pairs, target_tokens=writer.tokens["target"], bytes=output.bytes)
            dropped = dict(cleaner.dropped) if shard.role == "train" else {}
            labels = {
                name: output.labels[number] for number, name in enumerate(self.labels.names if self.labels else ())
            }
            self.report.append(
                CorpusText(full.name, full.role, full.pairs, full.bytes, full.target_tokens, dropped, labels)
            )
            yield full if self.labels is None else replace(full, bytes=0)

    def encoded(
        self, role: Role, corpus: CorpusConfig, cleaner: DocumentCleaner, vocabulary: Vocabulary
    ) -> Generator["list[EncodedPiece]", None, None]:
        """Yield the encoded pieces of a corpus, several at a time."""
        texts = self.divided(corpus, cleaner) if role == "train" else ((text, False) for text in self.raw(corpus))
        yield from run_jobs(self.processes, partial(EncodePieces, vocabulary), jobs(texts))


@dataclass(frozen=True, eq=False)
class EncodedPiece:
    """The tokens of a document or, if it does not end with them, of a part of it."""

    output: int
    """The number of the store that it is for."""
    ids: NDArray[np.int32]
    ends: bool
    bytes: int
    labels: NDArray[np.int32] | None = None
    """Of each token of a whole document, if there are any: as in `Manifest.labels`."""


class TextOutput:
    """A store that is written piece by piece."""

    def __init__(self, writer: StoreWriter) -> None:
        self.writer, self.parts, self.bytes = writer, list[NDArray[np.int32]](), 0
        self.labels: Counter[int] = Counter()

    def add(self, piece: EncodedPiece) -> None:
        self.parts.append(piece.ids)
        self.bytes += piece.bytes
        if piece.ends:
            whole = [np.concatenate(self.parts)]
            if piece.labels is not None:
                whole.append(piece.labels)
                self.labels.update((piece.labels[piece.labels > 0] - 1).tolist())
            self.writer.append_packed(*(Sentences(each, np.array([len(each)], np.int32)) for each in whole))
            self.parts.clear()


Job = list[tuple[int, DocumentPart]]
"""Pieces to encode, each with the number of the output that it is for."""


def jobs(texts: Iterator[tuple[str, bool]]) -> Iterator[Job]:
    """Gather pieces until they have enough characters to be worth sending to another process."""
    pieces = ((int(is_dev), piece) for text, is_dev in texts for piece in cut(text))
    sizes = 0

    def number_of(entry: tuple[int, DocumentPart]) -> int:
        nonlocal sizes
        sizes += len(entry[1].text) + 1
        return (sizes - 1) // PIECE

    for _, group in groupby(pieces, number_of):
        while job := list(islice(group, 100_000)):
            yield job


def cut(text: str) -> Iterator[DocumentPart]:
    """Cut a text before words that begin a line, where no token crosses."""
    start = 0
    while len(text) - start > PIECE:
        at = text.rfind("\n", start, start + PIECE) + 1
        while at > start and not text[at].isalpha():
            at = text.rfind("\n", start, at - 1) + 1
        at = at if at > start else start + PIECE
        yield DocumentPart(text[start:at], ends=False)
        start = at
    yield DocumentPart(text[start:], ends=True)


class EncodePieces:
    """Encodes pieces in a worker process."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, job: Job) -> list[EncodedPiece]:
        encode = self.vocabulary.encode_one
        return [
            EncodedPiece(output, np.array(encode(piece.text), np.int32), piece.ends, byte_count(piece.text))
            for output, piece in job
        ]


def byte_count(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
