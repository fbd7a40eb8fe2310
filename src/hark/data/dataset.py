"""A prepared dataset: its manifest, its token stores and tokenizers, and their verification."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from hark.bundle import TOKENIZER
from hark.config import BatchConfig
from hark.data.batches import PackedBatches, PaddedBatches, make_batches
from hark.data.checksums import verify_checksums
from hark.data.pool import Corpus
from hark.data.report import DatasetReport
from hark.data.store import SIDES, Side, TokenStore
from hark.errors import UserError
from hark.facts import LanguagePair, LanguageTags
from hark.text.detector import base_language
from hark.text.opening import have_same_ids, load_vocabularies, vocabulary_path
from hark.text.vocabulary import SideIds, SpecialIds, Vocabulary

FORMAT = 1
KIND = "hark dataset"
Role = Literal["train", "dev", "test"]
ROLES: tuple[Role, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class SourceFile:
    """An input file of the dataset."""

    path: str
    size: int
    sha256: str


def direction_name(pair: LanguagePair) -> str:
    """The name of a direction in file names: `en-fr`."""
    return "-".join(pair)


def text_file(role: Role, corpus: str, pair: LanguagePair | None, language: str) -> str:
    """The file of the raw text of a dev or test set in one language; both directions of a pair share it."""
    return f"{role}/{corpus}.{language}" if pair is None else f"{role}/{corpus}.{'-'.join(sorted(pair))}.{language}"


@dataclass(frozen=True)
class Shard:
    """One encoded corpus, or dev or test set."""

    name: str
    role: Role
    weight: float
    pairs: int
    variants: int
    source_tokens: int
    target_tokens: int
    languages: LanguagePair | None = None
    """The direction, in a dataset with language tags: each source begins with one, and maybe each target."""

    @property
    def corpus(self) -> str:
        """The name without the direction."""
        return self.name if self.languages is None else self.name.removesuffix(f".{direction_name(self.languages)}")

    @property
    def lead(self) -> int:
        """The number of ids before the text of each source: its language tag, or none."""
        return 0 if self.languages is None else 1

    def folder(self, variant: int = 0) -> str:
        return f"{self.role}/{self.name}" + (f".{variant}" if variant else "")

    def reversed(self) -> "Shard":
        return replace(self, source_tokens=self.target_tokens, target_tokens=self.source_tokens)


@dataclass(frozen=True)
class Manifest:
    """Contents of a dataset. `key` hashes all inputs and settings: equal keys mean equal datasets."""

    key: str
    source: str
    target: str
    """The languages; both are empty in a dataset with language tags, whose shards have them."""
    settings: Mapping[str, Any]
    sources: tuple[SourceFile, ...]
    tokenizer: str
    source_tokenizer: str | None
    shards: tuple[Shard, ...]
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums of every file in the shard folders; empty in older datasets."""

    @property
    def directions(self) -> tuple[LanguagePair, ...]:
        """Every direction with training text, or else with any text."""
        if not self.tagged:
            return ((self.source, self.target),)
        trained = [shard.languages for shard in self.shards if shard.languages and shard.role == "train"]
        return tuple(dict.fromkeys(trained or [shard.languages for shard in self.shards if shard.languages]))

    @property
    def corpora(self) -> frozenset[str]:
        """The names of the shards in the direction of their corpus, without those reversed."""
        names = frozenset(each["name"] for each in self.settings["corpora"]) if self.tagged else None
        return frozenset(shard.name for shard in self.shards if names is None or shard.name in names)

    @property
    def tagged(self) -> bool:
        """Whether the text has language tags. All many-to-many datasets do."""
        return any(shard.languages for shard in self.shards)

    @property
    def language_tags(self) -> LanguageTags:
        """How a model is told the target language."""
        if not self.tagged:
            return "none"
        return "target" if self.settings.get("language_tags") == "target" else "source"

    def reversed(self) -> "Manifest":
        """Return the manifest with source and target exchanged."""
        separate = self.source_tokenizer is not None
        return replace(
            self,
            source=self.target,
            target=self.source,
            tokenizer=self.source_tokenizer or self.tokenizer,
            source_tokenizer=self.tokenizer if separate else None,
            shards=tuple(shard.reversed() for shard in self.shards),
        )

    def to_json(self) -> str:
        tree = {"kind": KIND, "format": FORMAT, **asdict(self)}
        for shard in tree["shards"]:
            if shard["languages"] is None:  # older versions of hark do not know it
                del shard["languages"]
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        path = folder / "manifest.json"
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"{folder}: not a hark dataset; create one with hark prepare") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        if not isinstance(tree, dict) or tree.get("kind") != KIND:
            raise UserError(f"{folder}: not a hark dataset; create one with hark prepare")
        if tree.get("format") != FORMAT:
            raise UserError(
                f"{path}: format {tree.get('format')}; this version of hark reads format {FORMAT}; prepare it again"
            )
        try:
            values = {each.name: tree[each.name] for each in fields(cls) if each.name != "checksums"}
            values["checksums"] = dict(tree.get("checksums", {}))
            values["sources"] = tuple(SourceFile(**each) for each in values["sources"])
            values["shards"] = tuple(shard_from_tree(each) for each in values["shards"])
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path}: damaged: {error}; prepare it again") from None


def shard_from_tree(tree: Mapping[str, Any]) -> Shard:
    shard = Shard(**tree)
    if shard.languages is None:
        return shard
    source, target = shard.languages
    return replace(shard, languages=(source, target))


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a hark dataset, of any format version."""
    try:
        tree = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(tree, dict) and tree.get("kind") == KIND


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
        if self.manifest.tagged:
            return self._narrow(source, target)
        current = [base_language(each) for each in (self.manifest.source, self.manifest.target)]
        requested = [base_language(each) for each in (source, target)]
        if requested == current:
            return self
        if requested == current[::-1]:
            return Dataset.open(self.folder, not self.reverse)
        raise UserError(
            f"{self.folder}: languages are {self.manifest.source} and {self.manifest.target}, not {source} and {target}"
        )

    def _narrow(self, source: str, target: str) -> "Dataset":
        requested = [base_language(each) for each in (source, target)]
        shards = [
            shard
            for shard in self.manifest.shards
            if shard.languages and [base_language(each) for each in shard.languages] == requested
        ]
        if not shards or shards[0].languages is None:
            known = sorted({code for pair in self.manifest.directions for code in pair})
            raise UserError(f"{self.folder}: has no {source} to {target}; its languages are {', '.join(known)}")
        source, target = shards[0].languages
        return Dataset(self.folder, replace(self.manifest, source=source, target=target, shards=tuple(shards)))

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
            Corpus(
                shard.name,
                shard.weight,
                [self.store(shard, variant) for variant in range(shard.variants)],
                shard.languages,
            )
            for shard in self.shards("train")
        ]

    def shards(self, role: Role) -> list[Shard]:
        return [shard for shard in self.manifest.shards if shard.role == role]

    def text(self, shard: Shard, side: Side) -> list[str]:
        """Return the raw sentences of a dev or test set."""
        pair = shard.languages or (self.manifest.source, self.manifest.target)
        path = self.folder / text_file(shard.role, shard.corpus, shard.languages, pair[SIDES.index(side)])
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

    def batches(self, corpora: Sequence[Corpus], config: BatchConfig) -> PackedBatches | PaddedBatches:
        """Return the endless batch stream of some of its text."""
        return make_batches(corpora, config, self.special, self.source_ids)

    def batches_of(self, shard: Shard, config: BatchConfig) -> PackedBatches | PaddedBatches:
        """Return the batch stream of a dev or test set, or of one corpus."""
        return self.batches([Corpus(shard.name, 1.0, [self.store(shard)])], config)

    def prefix(self, shard: Shard) -> tuple[int, ...]:
        """Return the ids before the text of each target: its language tag, or none."""
        if self.manifest.language_tags != "target" or shard.languages is None:
            return ()
        return (self.tokenizer("target").tag(shard.languages[1]),)

    @cached_property
    def _vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        shared = self.manifest.source_tokenizer is None
        source, target = load_vocabularies(vocabulary_path(self.folder), shared)
        if self.reverse and not shared:
            source, target = target, source
        target.verify(self.manifest.tokenizer)
        source.verify(self.manifest.source_tokenizer or self.manifest.tokenizer)
        return source, target

    @cached_property
    def report(self) -> DatasetReport:
        path = self.folder / "report.json"
        try:
            return DatasetReport.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
