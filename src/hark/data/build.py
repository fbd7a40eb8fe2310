"""The building of a dataset in an empty folder: clean, drop duplicates, learn a vocabulary, encode, report.

`stages.py` holds the work on each chunk of pairs, which worker processes do.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.data.checksums import compute_checksums
from hark.data.corpus import PairReader, corpus_files
from hark.data.dataset import ROLES, Manifest, Shard
from hark.data.duplicates import DuplicateFinder
from hark.data.filters import HeldOut
from hark.data.language import looks_swapped
from hark.data.lexicon import find_words
from hark.data.plan import NamedCorpus, PreparePlan, Tokenizers
from hark.data.progress import Progress
from hark.data.report import HeldOutReport, Pieces, make_report
from hark.data.report_page import write_report
from hark.data.stages import Clean, CleanChunk, Encode, FindNames, FindShort, Learn, RawChunk, UniqueChunk
from hark.data.store import SIDES, Side, StoreWriter
from hark.data.tally import Tally
from hark.data.workers import run_jobs
from hark.errors import UserError
from hark.text.tokenizer import Tokenizer

CHUNK_PAIRS, CHUNK_CHARACTERS = 5000, 4_000_000
"""Size of a chunk: it ends at whichever limit is reached first."""
SAMPLE = 250_000
"""Pairs from which the vocabulary and the names are learnt. Twice as many do not shorten the encoded text (37,000
pieces, Europarl)."""
SHORT = 2_000_000
"""Pairs sampled for the lexicon, which is learnt from the short ones among them."""
NAMES = 20_000
"""Maximum number of names used as replacements for others."""


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
        tokenizers = self.plan.tokenizers or self.learn(chunks)
        tokenizers["target"].save(self.folder / "tokenizer.model")
        if not is_shared(tokenizers):
            tokenizers["source"].save(self.folder / "tokenizer.source.model")
        shards = list(self.encode(chunks, tokenizers))
        shards += [self.encode_held_out(corpus, tokenizers) for corpus in self.held_out_sets]
        shutil.rmtree(self.work)
        self.write_report(shards, tokenizers)
        written = (path for role in ROLES for path in sorted((self.folder / role).rglob("*")) if path.is_file())
        return Manifest(
            key=self.plan.key,
            source=self.data.source,
            target=self.data.target,
            settings=self.plan.settings,
            sources=tuple(self.plan.sources.values()),
            tokenizer=tokenizers["target"].sha256,
            source_tokenizer=None if is_shared(tokenizers) else tokenizers["source"].sha256,
            shards=tuple(shards),
            checksums=compute_checksums(self.folder, [str(path.relative_to(self.folder)) for path in written]),
        )

    def copy_held_out(self) -> HeldOut:
        """Copy the raw text of dev and test sets line by line, and collect the sentences to keep out of training."""
        held_out = HeldOut()
        for corpus in self.held_out_sets:
            pairs = 0
            with ExitStack() as opened:
                files = [
                    opened.enter_context(self.text_file(corpus, side).open("w", encoding="utf-8", newline="\n"))
                    for side in SIDES
                ]
                for pair in PairReader(corpus.config, self.data.source, self.data.target):
                    for file, text in zip(files, pair, strict=True):
                        file.write(text + "\n")
                    held_out.add(*pair)
                    pairs += 1
            if not pairs:
                raise UserError(f"{corpus.config.source}: no sentence pairs")
            self.progress("reading dev and test", pairs, None)
        return held_out

    def text_file(self, corpus: NamedCorpus, side: Side) -> Path:
        language = self.data.source if side == "source" else self.data.target
        return self.folder / corpus.role / f"{corpus.name}.{language}"

    def clean(self, held_out: HeldOut) -> list[UniqueChunk]:
        """Clean all training corpora, and find duplicates within and across them."""
        data, kept = self.data, 0
        finder = DuplicateFinder(self.work)
        chunks: list[CleanChunk] = []
        build = partial(Clean, data.clean, data.source, data.target, held_out, self.plan.max_length, self.work)
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
            reader = PairReader(corpus.config, self.data.source, self.data.target)
            line = 1
            for chunk in cut_into_chunks(iter(reader)):
                yield RawChunk(number, corpus.name, line, chunk)
                number, line, pairs = number + 1, line + len(chunk), pairs + len(chunk)
                self.progress("cleaning", pairs, (done + reader.share * self.size(corpus)) / max(size, 1))
            done += self.size(corpus)

    def size(self, corpus: NamedCorpus) -> int:
        return sum(self.plan.sources[path].size for path in corpus_files(corpus.config))

    def refuse_empty(self, chunks: Sequence[UniqueChunk]) -> None:
        for corpus in self.train:
            in_corpus = [each for each in chunks if each.chunk.corpus == corpus.name]
            if any(each.left for each in in_corpus):
                continue
            dropped = self.tallies[corpus.name].dropped | {"duplicates": sum(len(each.repeats) for each in in_corpus)}
            read = sum(dropped.values())
            samples = [(each.source, each.target) for each in self.tallies[corpus.name].samples["language"]]
            if looks_swapped(dropped, 0, samples, self.data.source, self.data.target):
                raise UserError(f"{corpus.config.source}: 0 of {read:,} pairs kept; are the files swapped?")
            rule = max(dropped, key=lambda rule: dropped[rule])
            raise UserError(
                f"{corpus.config.source}: no pairs left after cleaning: {rule} dropped {dropped[rule]:,} of {read:,}; "
                f"see data.clean.{rule}"
                if read
                else f"{corpus.config.source}: no sentence pairs"
            )

    def learn(self, chunks: Sequence[UniqueChunk]) -> Tokenizers:
        """Learn one vocabulary for both sides, or one for each, from a sample of the kept pairs."""
        data = self.data
        share = SAMPLE / sum(each.left for each in chunks)
        build = partial(Learn, chunks, share, data.vocab_size, (data.source, data.target), data.seed)
        sides: list[tuple[Side, ...]] = [SIDES] if data.shared_vocab else [("source",), ("target",)]
        self.progress("learning vocabulary", 0, None)
        # In a worker process unless there is only one: learning takes memory and does not respond to Ctrl-C.
        with closing(run_jobs(min(self.processes, 2), build, sides)) as results:
            learnt = [Tokenizer(model) for model in results]
        return {"source": learnt[0], "target": learnt[-1]}

    def find_words(self, chunks: Sequence[UniqueChunk]) -> dict[str, str]:
        """Return words and their translations, learnt from the short kept pairs."""
        self.progress("finding words", 0, None)
        build = partial(FindShort, SHORT / sum(each.left for each in chunks), self.data.seed)
        with closing(run_jobs(self.processes, build, chunks)) as results:
            return find_words(list(chain.from_iterable(results)))

    def find_names(self, chunks: Sequence[UniqueChunk]) -> list[str]:
        """Return the most frequent names in a sample of the kept pairs of all corpora."""
        self.progress("finding names", 0, None)
        counts: Counter[str] = Counter()
        build = partial(FindNames, SAMPLE / sum(each.left for each in chunks), self.data.seed)
        with closing(run_jobs(self.processes, build, chunks)) as results:
            for names in results:
                counts.update(names)
        return sorted(counts, key=lambda name: (-counts[name], name))[:NAMES]

    def encode(self, chunks: Sequence[UniqueChunk], tokenizers: Tokenizers) -> Iterator[Shard]:
        """Encode each training corpus into one token store, or into several with different segmentations."""
        data, done = self.data, 0
        vocab_size = max(each.vocab_size for each in tokenizers.values())
        weights = {corpus.name: corpus.config.weight for corpus in self.train}
        models = (tokenizers["source"].model, tokenizers["target"].model)
        names = self.find_names(chunks) if data.augment.renamed else []
        words = self.find_words(chunks) if data.augment.words else {}
        build = partial(
            Encode,
            *models,
            data.augment,
            names,
            words,
            data.bpe_dropout,
            self.plan.variants,
            data.seed,
            self.plan.max_length,
        )
        total = sum(each.chunk.pairs for each in chunks)
        with closing(run_jobs(self.processes, build, chunks)) as results:
            for name, group in groupby(zip(chunks, results, strict=True), lambda each: each[0].chunk.corpus):
                shard = Shard(name, "train", weights[name], 0, self.plan.variants, 0, 0)
                with ExitStack() as opened:
                    writers = [
                        opened.enter_context(StoreWriter(self.folder / shard.folder(variant), vocab_size))
                        for variant in range(shard.variants)
                    ]
                    for unique, (variants, tally) in group:
                        self.tallies[name].merge(tally)
                        for writer, (sources, targets) in zip(writers, variants, strict=True):
                            writer.append_packed(sources, targets)
                        unique.chunk.path.unlink()
                        done += unique.chunk.pairs
                        self.progress("encoding", done, done / total)
                yield complete(shard, writers[0])

    def encode_held_out(self, corpus: NamedCorpus, tokenizers: Tokenizers) -> Shard:
        """Encode a dev or test set unfiltered: every pair, in the original order."""
        vocab_size = max(each.vocab_size for each in tokenizers.values())
        shard = Shard(corpus.name, corpus.role, corpus.config.weight, 0, 1, 0, 0)
        with ExitStack() as opened:
            files = [
                opened.enter_context(self.text_file(corpus, side).open(encoding="utf-8", newline="\n"))
                for side in SIDES
            ]
            writer = opened.enter_context(StoreWriter(self.folder / shard.folder(), vocab_size))
            while lines := list(islice(zip(*files, strict=True), CHUNK_PAIRS)):
                sources, targets = zip(*lines, strict=True)
                writer.append(tokenizers["source"].encode(sources), tokenizers["target"].encode(targets))
        return complete(shard, writer)

    def write_report(self, shards: Sequence[Shard], tokenizers: Tokenizers) -> None:
        self.progress("writing report", 0, None)
        source, target = (Pieces(each.vocab_size, each.n_special) for each in (tokenizers[side] for side in SIDES))
        report = make_report(
            self.data.source,
            self.data.target,
            self.data.clean,
            list(self.tallies.values()),
            source,
            target,
            is_shared(tokenizers),
            [HeldOutReport(shard.name, shard.role, shard.pairs) for shard in shards if shard.role != "train"],
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


def locate(repeats: NDArray[np.int64], chunks: Sequence[CleanChunk]) -> list[UniqueChunk]:
    """Map the global indices of duplicate pairs to positions in their chunks."""
    ends = np.cumsum([chunk.pairs for chunk in chunks])
    borders = np.searchsorted(repeats, np.concatenate([[0], ends]))
    return [
        UniqueChunk(chunk, repeats[low:high] - (end - chunk.pairs))
        for chunk, end, low, high in zip(chunks, ends, borders[:-1], borders[1:], strict=True)
    ]


def complete(shard: Shard, writer: StoreWriter) -> Shard:
    tokens = writer.tokens
    return replace(shard, pairs=writer.pairs, source_tokens=tokens["source"], target_tokens=tokens["target"])


def is_shared(tokenizers: Tokenizers) -> bool:
    return tokenizers["source"] is tokenizers["target"]
