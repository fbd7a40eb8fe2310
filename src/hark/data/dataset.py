"""A prepared dataset: its token stores and tokenizers, and their verification."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from hark.bundle import TOKENIZER
from hark.config import BatchConfig
from hark.data.batches import Batches, make_batches
from hark.data.corruption import Corruption
from hark.data.denoising import DenoisingBatches
from hark.data.labelled import LabelledBatches
from hark.data.manifest import Manifest, Role, Shard, text_files, verify_checksums
from hark.data.masking import Masking
from hark.data.pool import Corpus
from hark.data.report import DatasetReport
from hark.data.store import SIDES, Side, TokenStore
from hark.data.text_report import TextReport
from hark.data.windows import TextBatches
from hark.errors import UserError
from hark.facts import SIGNS
from hark.text.detector import base_language
from hark.text.opening import have_same_ids, load_vocabularies, vocabulary_path
from hark.text.vocabulary import SPACE, SideIds, SpecialIds, Vocabulary

Report = TypeVar("Report")


class Dataset:
    """A prepared dataset, opened and checked against its manifest.

    With `reverse`, source and target are exchanged, in `manifest` as well. The report stays as written.
    """

    def __init__(self, folder: Path, manifest: Manifest, reverse: bool = False) -> None:
        self.folder, self.reverse = folder, reverse
        self.manifest = manifest.reversed() if reverse else manifest

    @classmethod
    def open(cls, folder: Path | str, reverse: bool = False) -> Self:
        """Open a dataset and check its tokenizers and sizes; tokens are memory-mapped, not read."""
        manifest = Manifest.read(Path(folder))
        dataset = cls(Path(folder), manifest, reverse)
        if reverse and manifest.is_text:
            raise UserError(f"{folder}: is text of one language; leave out data.reverse")
        if reverse and dataset.has_imported_vocabulary:
            raise UserError(f"{folder}: is for an imported model of one direction; leave out data.reverse")
        if reverse and manifest.tagged:
            both = len(manifest.directions) > 1
            reason = "both directions of every pair" if both else "language tags for one direction"
            raise UserError(f"{folder}: has {reason}; leave out data.reverse")
        for side in SIDES:
            dataset.tokenizer(side)
        for shard in dataset.manifest.shards:
            for variant in range(shard.variants):
                dataset.store(shard, variant)
        return dataset

    def verify(self, *roles: Role) -> None:
        """Verify the checksums of all files of the given roles."""
        verify_checksums(
            self.folder,
            {name: value for name, value in self.manifest.checksums.items() if name.split("/")[0] in roles},
        )

    def towards(self, source: str, target: str) -> "Dataset":
        """Return the dataset in the given direction: itself, reversed, or one direction of a many-to-many dataset.

        The text of that direction still begins with language tags (`Shard.lead`)."""
        requested = [base_language(source), base_language(target)]
        if self.manifest.tagged:
            shards = tuple(
                shard
                for shard in self.manifest.shards
                if shard.languages and list(map(base_language, shard.languages)) == requested
            )
            if not shards or shards[0].languages is None:
                known = sorted({code for pair in self.manifest.directions for code in pair})
                raise UserError(f"{self.folder}: has no {source} to {target}; its languages are {', '.join(known)}")
            source, target = shards[0].languages
            return Dataset(self.folder, replace(self.manifest, source=source, target=target, shards=shards))
        current = [base_language(self.manifest.source), base_language(self.manifest.target)]
        if requested == current:
            return self
        if requested == current[::-1]:
            return Dataset.open(self.folder, not self.reverse)
        raise UserError(
            f"{self.folder}: languages are {self.manifest.source} and {self.manifest.target}, not {source} and {target}"
        )

    def store(self, shard: Shard, variant: int = 0) -> TokenStore:
        store = TokenStore.open(self.folder / shard.folder(variant))
        if len(store) != shard.pairs:
            raise UserError(
                f"{store.folder}: {len(store)} pairs, but the manifest states {shard.pairs}; prepare it again"
            )
        return store.reversed() if self.reverse else store

    @cached_property
    def train(self) -> list[Corpus]:
        return [
            Corpus(shard.name, shard.weight, [self.store(shard, i) for i in range(shard.variants)], shard.languages)
            for shard in self.shards("train")
        ]

    def shards(self, role: Role) -> list[Shard]:
        return [shard for shard in self.manifest.shards if shard.role == role]

    def text(self, shard: Shard, side: Side) -> list[str]:
        """Return the raw sentences of a dev or test set."""
        pair = shard.languages or (self.manifest.source, self.manifest.target)
        files = text_files(shard.role, shard.corpus, pair, tagged=shard.languages is not None)
        swapped = self.reverse and pair[0] == pair[1]  # otherwise their languages tell
        path = self.folder / files[SIDES.index(side) ^ swapped]
        try:
            return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None

    def tokenizer(self, side: Side) -> Vocabulary:
        """Return the tokenizer of a side; both sides share one unless the vocabularies are separate."""
        return self._vocabularies[SIDES.index(side)]

    @property
    def has_imported_vocabulary(self) -> bool:
        return vocabulary_path(self.folder).name != TOKENIZER

    @property
    def has_separate_ids(self) -> bool:
        """Whether the same id means different pieces on the two sides."""
        return not have_same_ids(*self._vocabularies)

    @property
    def special(self) -> SpecialIds:
        """The special ids of the target, as used in batches. Padding is not predicted, and EOS must be: if a model has
        one id for both, unknown stands for padding, because there is nothing to learn from it either."""
        special = self.tokenizer("target").special
        return special if special.pad != special.end else replace(special, pad=special.unknown)

    @property
    def source_ids(self) -> SideIds:
        """The special ids of the source, as used in batches."""
        vocabulary = self.tokenizer("source")
        return SideIds(vocabulary.special.pad, vocabulary.source_end)

    def batches(self, corpora: Sequence[Corpus], config: BatchConfig) -> Batches[Any]:
        """Return the endless batch stream of some of its text."""
        if self.manifest.labels is not None:
            return LabelledBatches(corpora, config, self.special)
        if self.manifest.is_text:
            vocabulary, pad = self.tokenizer("target"), self.special.pad
            if config.corrupted:
                return DenoisingBatches(corpora, config, self.special, Corruption.of(vocabulary, config))
            masking = Masking.of(vocabulary, config.masked, config.whole_words, pad) if config.masked else None
            return TextBatches(corpora, config, self.special, masking)
        return make_batches(corpora, config, self.special, self.source_ids)

    def batches_of(self, shard: Shard, config: BatchConfig) -> Batches[Any]:
        """Return the batch stream of a dev or test set, or of one corpus."""
        batches = self.batches([Corpus(shard.name, 1.0, [self.store(shard)])], config)
        # Bits per byte are those of whole texts that are predicted from themselves alone.
        batches.n_bytes = 0 if config.masked else shard.bytes
        return batches

    def prefix(self, shard: Shard) -> tuple[int, ...]:
        """Return the ids before the text of each target: its language tag, or what every text has."""
        vocabulary = self.tokenizer("target")
        if self.manifest.language_tags != "target" or shard.languages is None:
            return vocabulary.target_lead
        return (vocabulary.tag(shard.languages[1]),)

    @cached_property
    def _vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        shared = self.manifest.source_tokenizer is None
        source, target = load_vocabularies(vocabulary_path(self.folder), shared)
        if self.reverse and not shared:
            source, target = target, source
        target.verify(self.manifest.tokenizer)
        source.verify(self.manifest.source_tokenizer or self.manifest.tokenizer)
        return source, target

    def count_signs(self) -> tuple[int, dict[str, int]]:
        """Return the number of source characters in the training text, and the count of each symbol in `SIGNS`.

        A model can neither translate nor copy rare symbols. Computed from token counts, without reading the text.
        """
        vocabulary = self.tokenizer("source")
        tokens_V = np.zeros(vocabulary.vocab_size, np.int64)
        for shard in self.shards("train"):
            tokens_V += self.store(shard).count("source", vocabulary.vocab_size)
        characters, counts = 0, Counter[str]()
        used = [token for token in np.flatnonzero(tokens_V).tolist() if not vocabulary.is_special(token)]
        for token, piece in zip(used, vocabulary.pieces(used), strict=True):
            byte = vocabulary.byte_of(token)
            text = piece.replace(SPACE, " ") if byte is None else chr(byte)
            characters += len(text) * int(tokens_V[token])
            for sign in set(text) & set(SIGNS):
                counts[sign] += text.count(sign) * int(tokens_V[token])
        return characters, {sign: counts[sign] for sign in SIGNS}

    @cached_property
    def report(self) -> DatasetReport:
        return self.read_report(DatasetReport.from_json)

    @cached_property
    def text_report(self) -> TextReport:
        return self.read_report(TextReport.of_json)

    def read_report(self, parse: Callable[[str], Report]) -> Report:
        path = self.folder / "report.json"
        try:
            return parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
