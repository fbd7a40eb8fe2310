"""The building of a dataset in an empty folder: clean, drop duplicates, learn a vocabulary, encode, report.

`stages.py` and `learning.py` hold the work on each chunk of pairs, which worker processes do.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.data.corpus import PairReader, corpus_files
from hark.data.duplicates import DuplicateFinder
from hark.data.held_out import HeldOut
from hark.data.language import looks_swapped
from hark.data.learning import learn_names, learn_tokenizers, learn_words
from hark.data.manifest import ROLES, Manifest, Shard, compute_checksums
from hark.data.measures import Pieces, make_report, report_directions, report_held_out
from hark.data.plan import NamedCorpus, PreparePlan, Tokenizers, lead_ids
from hark.data.progress import Progress
from hark.data.report_page import write_report
from hark.data.stages import Clean, CleanChunk, Encode, RawChunk
from hark.data.store import SIDES, StoreWriter
from hark.data.tally import Tally
from hark.data.workers import run_jobs
from hark.errors import UserError
from hark.text.opening import vocabulary_files
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import Vocabulary

CHUNK_PAIRS, CHUNK_CHARACTERS = 5000, 4_000_000
"""Size of a chunk: it ends at whichever limit is reached first."""


class DatasetBuild:
    """One build of a dataset: runs the stages in order, each over all corpora."""

    def __init__(self, plan: PreparePlan, folder: Path, processes: int, progress: Progress) -> None:
        self.plan, self.data, self.folder = plan, plan.data, folder
        self.processes, self.progress = processes, progress
        self.train = [corpus for corpus in plan.corpora if corpus.role == "train"]
        self.held_out_sets = [corpus for corpus in plan.corpora if corpus.role != "train"]
        self.work = folder / "work"
        self.tallies = {corpus.name: Tally(corpus.name, plan.max_length) for corpus in self.train}

    def run(self) -> Manifest:
        self.work.mkdir()
        for role in ROLES:
            (self.folder / role).mkdir()
        held_out = self.copy_held_out()
        chunks = self.clean(held_out)
        self.refuse_empty(chunks)
        tokenizers = self.plan.tokenizers or learn_tokenizers(self.plan, chunks, self.processes, self.progress)
        for name, content in vocabulary_files(tokenizers["source"], tokenizers["target"]).items():
            (self.folder / name).write_bytes(content)
        shards = list(self.encode(chunks, tokenizers))
        shards += [shard for corpus in self.held_out_sets for shard in self.encode_held_out(corpus, tokenizers)]
        shutil.rmtree(self.work)
        self.write_report(shards, tokenizers)
        written = (path for role in ROLES for path in sorted((self.folder / role).rglob("*")) if path.is_file())
        return Manifest(
            key=self.plan.key,
            source="" if self.plan.tagged else self.data.source,
            target="" if self.plan.tagged else self.data.target,
            settings=self.plan.settings,
            sources=tuple(self.plan.sources.values()),
            tokenizer=tokenizers["target"].sha256,
            source_tokenizer=None if is_shared(tokenizers) else tokenizers["source"].sha256,
            shards=tuple(shards),
            checksums=compute_checksums(self.folder, [str(path.relative_to(self.folder)) for path in written]),
        )

    def copy_held_out(self) -> dict[str, set[bytes]]:
        """Copy the raw text of dev and test sets line by line. Return their sentences by language: they are kept out of
        every training corpus of the language, whatever the other one is."""
        held_out = defaultdict[str, set[bytes]](set)
        for corpus in self.held_out_sets:
            source, target = corpus.languages
            pairs, sentences = 0, HeldOut(held_out[source], held_out[target])
            with ExitStack() as opened:
                files = [
                    opened.enter_context(path.open("w", encoding="utf-8", newline="\n"))
                    for path in corpus.text_files(self.folder)
                ]
                for pair in self.reader(corpus):
                    for file, text in zip(files, pair, strict=True):
                        file.write(text + "\n")
                    sentences.add(*pair)
                    pairs += 1
            if not pairs:
                raise UserError(f"{corpus.config.source}: no sentence pairs")
            self.progress("reading dev and test", pairs, None)
        return held_out

    def clean(self, held_out: dict[str, set[bytes]]) -> list[CleanChunk]:
        """Clean all training corpora, and find duplicates within and across them."""
        kept = 0
        finder = DuplicateFinder(self.work)
        chunks: list[CleanChunk] = []
        build = partial(Clean, self.data.clean, held_out, self.plan.tagged, self.plan.max_length, self.work)
        with closing(run_jobs(self.processes, build, self.read())) as results:
            for chunk, hashes, tally in results:
                if hashes:
                    finder.add(kept, hashes)
                self.tallies[chunk.corpus].merge(tally)
                chunks.append(chunk)
                kept += chunk.pairs
        self.progress("finding duplicates", 0, None)
        return locate(finder.find(), chunks)

    def read(self) -> Iterator[RawChunk]:
        """Yield all training corpora in chunks, and report the share of the files read so far."""
        size = sum(self.size(corpus) for corpus in self.train)
        number = pairs = done = 0
        for corpus in self.train:
            reader = self.reader(corpus)
            line = 1
            for chunk in cut_into_chunks(iter(reader)):
                yield RawChunk(number, corpus.name, corpus.directions, line, chunk)
                number, line, pairs = number + 1, line + len(chunk), pairs + len(chunk)
                self.progress("cleaning", pairs, (done + reader.share * self.size(corpus)) / max(size, 1))
            done += self.size(corpus)

    def reader(self, corpus: NamedCorpus) -> PairReader:
        return PairReader(corpus.config, *corpus.languages, self.data.tree_tag)

    def size(self, corpus: NamedCorpus) -> int:
        return sum(self.plan.sources[path].size for path in corpus_files(corpus.config))

    def refuse_empty(self, chunks: Sequence[CleanChunk]) -> None:
        for corpus in self.train:
            in_corpus = [chunk for chunk in chunks if chunk.corpus == corpus.name]
            if any(chunk.n_unique for chunk in in_corpus):
                continue
            tally = self.tallies[corpus.name]
            dropped = tally.dropped | {"duplicates": sum(len(chunk.repeats) for chunk in in_corpus)}
            read = sum(dropped.values())
            samples = [(pair.source, pair.target) for pair in tally.samples["language"]]
            if looks_swapped(dropped, 0, samples, *corpus.languages):
                raise UserError(f"{corpus.config.source}: 0 of {read:,} pairs kept; are the files swapped?")
            rule = max(dropped, key=lambda rule: dropped[rule])
            raise UserError(
                f"{corpus.config.source}: no pairs left after cleaning: {rule} dropped {dropped[rule]:,} of {read:,}; "
                f"see data.clean.{rule}"
                if read
                else f"{corpus.config.source}: no sentence pairs"
            )

    def encode(self, chunks: Sequence[CleanChunk], tokenizers: Tokenizers) -> Iterator[Shard]:
        """Encode each training corpus into one token store, or into several with different segmentations."""
        data, done = self.data, 0
        corpora = {corpus.name: corpus for corpus in self.train}
        sampled = (chunks, data.seed, self.processes, self.progress)
        names = learn_names(*sampled) if data.augment.renamed else []
        words = learn_words(*sampled) if data.augment.words else {}
        build = partial(Encode, self.plan, tokenizers, names, words)
        total = sum(chunk.pairs for chunk in chunks)
        with closing(run_jobs(self.processes, build, chunks)) as results:
            for name, group in groupby(zip(chunks, results, strict=True), lambda encoded: encoded[0].corpus):
                shards = self.new_shards(corpora[name], self.plan.variants)
                with ExitStack() as opened:
                    writers = [self.open_writers(opened, shard, tokenizers) for shard in shards]
                    for chunk, directions in group:
                        self.tallies[name].merge(directions[0].tally)
                        for in_direction, encoded in zip(writers, directions, strict=True):
                            for writer, (sources, targets) in zip(in_direction, encoded.variants, strict=True):
                                writer.append_packed(sources, targets)
                        chunk.path.unlink()
                        done += chunk.pairs
                        self.progress("encoding", done, done / total)
                yield from (complete(shard, of_shard[0]) for shard, of_shard in zip(shards, writers, strict=True))

    def new_shards(self, corpus: NamedCorpus, variants: int) -> list[Shard]:
        """Return the empty shards of a corpus, one for each direction."""
        return [
            Shard(name, corpus.role, corpus.config.weight, 0, variants, 0, 0, pair if self.plan.tagged else None)
            for name, pair in zip(corpus.names, corpus.directions, strict=True)
        ]

    def open_writers(self, opened: ExitStack, shard: Shard, tokenizers: Tokenizers) -> list[StoreWriter]:
        vocab_size = max(vocabulary.vocab_size for vocabulary in tokenizers.values())
        return [
            opened.enter_context(StoreWriter(self.folder / shard.folder(variant), vocab_size))
            for variant in range(shard.variants)
        ]

    def encode_held_out(self, corpus: NamedCorpus, tokenizers: Tokenizers) -> list[Shard]:
        """Encode a dev or test set unfiltered in each direction: every pair, in the original order."""
        shards = self.new_shards(corpus, 1)
        with ExitStack() as opened:
            files = [
                opened.enter_context(path.open(encoding="utf-8", newline="\n"))
                for path in corpus.text_files(self.folder)
            ]
            writers = [self.open_writers(opened, shard, tokenizers)[0] for shard in shards]
            while lines := list(islice(zip(*files, strict=True), CHUNK_PAIRS)):
                # A vocabulary of bytes would keep line ends.
                sources, targets = ([line.removesuffix("\n") for line in side] for side in zip(*lines, strict=True))
                sides = [tokenizers["source"].encode(sources), tokenizers["target"].encode(targets)]
                ways = (sides, sides[::-1])[: len(writers)]
                for writer, pair, way in zip(writers, corpus.directions, ways, strict=True):
                    leads = lead_ids(self.data.tag_kind, tokenizers, pair)
                    writer.append(*([lead + ids for ids in side] for lead, side in zip(leads, way, strict=True)))
        return [complete(shard, writer) for shard, writer in zip(shards, writers, strict=True)]

    def write_report(self, shards: Sequence[Shard], tokenizers: Tokenizers) -> None:
        self.progress("writing report", 0, None)
        source, target = (pieces_of(tokenizers[side]) for side in SIDES)
        many = self.plan.tagged
        languages = ("", "") if many else (self.data.source, self.data.target)
        report = make_report(
            *languages,
            self.data.clean,
            list(self.tallies.values()),
            source,
            target,
            is_shared(tokenizers),
            report_held_out(shards),
            report_directions(shards) if many else (),
            {corpus.name: corpus.languages for corpus in self.train} if many else None,
        )
        write_report(report, self.folder)


def cut_into_chunks(pairs: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair[0]) + len(pair[1])
        if len(chunk) == CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def locate(repeats: NDArray[np.int64], chunks: Sequence[CleanChunk]) -> list[CleanChunk]:
    """Tell each chunk which of its pairs are duplicates, given by their indices over all chunks."""
    ends = np.cumsum([chunk.pairs for chunk in chunks])
    borders = np.searchsorted(repeats, np.concatenate([[0], ends]))
    return [
        replace(chunk, repeats=repeats[low:high] - (end - chunk.pairs))
        for chunk, end, low, high in zip(chunks, ends, borders[:-1], borders[1:], strict=True)
    ]


def complete(shard: Shard, writer: StoreWriter) -> Shard:
    tokens = writer.tokens
    return replace(shard, pairs=writer.pairs, source_tokens=tokens["source"], target_tokens=tokens["target"])


def pieces_of(vocabulary: Vocabulary) -> Pieces:
    """The layout of a vocabulary. An imported one has its special tokens anywhere, and usually no bytes."""
    if isinstance(vocabulary, Tokenizer):
        return Pieces(vocabulary.vocab_size, vocabulary.n_special)
    return Pieces(vocabulary.vocab_size, 0, 0)


def is_shared(tokenizers: Tokenizers) -> bool:
    return tokenizers["source"] is tokenizers["target"]
