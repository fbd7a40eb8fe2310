"""Preparation plan: the input files with their hashes, the named corpora, and the settings of a dataset."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

from hark.config import AugmentConfig, Config, CorpusConfig, DataConfig
from hark.data.compression import open_file, plain_name
from hark.data.corpus import BUNDLED, corpus_files, is_treebank, name_corpora
from hark.data.manifest import FORMAT, Role, SourceFile, direction_name, text_files
from hark.data.store import Side
from hark.errors import UserError
from hark.facts import LanguagePair, LanguageTags
from hark.text.detector import base_language
from hark.text.opening import load_vocabularies
from hark.text.tokenizer import Tokenizer
from hark.text.trees import TREES
from hark.text.vocabulary import Vocabulary

Tokenizers = Mapping[Side, Vocabulary]
LATER_VARIANTS = ("typed", "quoted")
"""Kinds of augmentation that the first datasets did not know. Their shares are settings only if they are used."""


@dataclass(frozen=True)
class NamedCorpus:
    """A corpus with its name and role in the dataset."""

    base: str
    """The name without the pair of languages, which a dataset with language tags adds."""
    role: Role
    config: CorpusConfig
    directions: tuple[LanguagePair, ...]
    """The directions it is used in: as it is, and usually reversed in a many-to-many dataset."""
    tagged: bool = False
    """Whether its text has language tags. Its names and files then tell the languages."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def names(self) -> list[str]:
        """The name in each direction."""
        if not self.tagged:
            return [self.base]
        return [f"{self.base}.{direction_name(pair)}" for pair in self.directions]

    @property
    def languages(self) -> LanguagePair:
        return self.directions[0]

    def text_files(self, folder: Path) -> list[Path]:
        """The files with the raw text of a dev or test set, source and target."""
        return [folder / name for name in text_files(self.role, self.base, self.languages, self.tagged)]


@dataclass(frozen=True)
class PreparePlan:
    """Everything that a dataset depends on, and nothing else: equal keys mean equal datasets."""

    data: DataConfig
    max_length: int  # in training; the report counts the pairs that exceed it
    corpora: tuple[NamedCorpus, ...]
    sources: Mapping[Path, SourceFile]
    tokenizers: Tokenizers | None  # named in the settings; None if they are to be learnt

    @property
    def variants(self) -> int:
        return self.data.bpe_variants if self.data.bpe_dropout else 1

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, sorted for a many-to-many dataset."""
        if not self.data.many:
            return self.data.source, self.data.target
        return tuple(sorted({code for corpus in self.corpora for code in corpus.languages}))

    @property
    def tagged(self) -> bool:
        """Whether the text has language tags."""
        return self.data.tag_kind != "none"

    @property
    def has_tree_tags(self) -> bool:
        """Whether there are trees with part-of-speech tags."""
        return self.data.tree_tag is None and any(is_treebank(corpus.config) for corpus in self.corpora)

    @cached_property
    def settings(self) -> dict[str, Any]:
        data = self.data
        augment = {kind: share for kind, share in asdict(data.augment).items() if share or kind not in LATER_VARIANTS}
        return {
            "format": FORMAT,
            **({"many": True} if data.many else {"source": data.source, "target": data.target}),
            # This and others are omitted when unused, so that datasets prepared before they existed keep their keys.
            **({"language_tags": data.tag_kind} if data.tag_kind != ("source" if data.many else "none") else {}),
            "corpora": [
                {
                    "name": corpus.name,
                    "role": corpus.role,
                    "weight": corpus.config.weight,
                    "sha256": [self.sources[path].sha256 for path in corpus_files(corpus.config)],
                    **({"languages": list(corpus.languages)} if data.many else {}),
                    **({"both": False} if data.many and not corpus.config.both else {}),
                }
                for corpus in self.corpora
            ],
            "clean": asdict(data.clean),
            "shared_vocab": data.shared_vocab,
            "vocab_size": None if self.tokenizers else data.vocab_size,
            "tokenizers": {side: vocabulary.sha256 for side, vocabulary in (self.tokenizers or {}).items()},
            "bpe_dropout": data.bpe_dropout,
            "bpe_variants": self.variants,
            "max_length": self.max_length,
            "seed": data.seed,
            **({"source_end": False} if self.tokenizers and self.tokenizers["source"].source_end is None else {}),
            **({"augment": augment} if data.augment != AugmentConfig() else {}),
            **({"tags": True} if self.has_tree_tags else {}),
        }

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources.values())


def make_plan(config: Config) -> PreparePlan:
    """Build the plan. Hashes every input file, so missing files are reported before any work starts."""
    data = config.data
    tokenizers = load_tokenizers(data)
    corpora = list_corpora(data, is_imported(tokenizers))
    if tokenizers:
        for pair in sorted({pair for corpus in corpora for pair in corpus.directions}):
            lead_ids(data.tag_kind, tokenizers, pair)  # raises an error if a tag is missing
    sources = {path: hash_file(path) for corpus in corpora for path in corpus_files(corpus.config)}
    return PreparePlan(data, config.batches.max_length, tuple(corpora), sources, tokenizers)


def is_imported(tokenizers: Tokenizers | None) -> bool:
    """Whether the vocabulary is that of an imported model. A corpus is used in one direction then: the sides may split
    text differently, and there need not be tags for the languages that it translates from."""
    return tokenizers is not None and not isinstance(tokenizers["target"], Tokenizer)


def list_corpora(data: DataConfig, one_way: bool) -> list[NamedCorpus]:
    """Name all corpora; with `one_way`, none is used in reverse."""
    if not data.train:
        raise UserError("no training corpus; name one with --train SRC TGT, or as data.train in a recipe")
    if not data.many and not (data.source and data.target):
        raise UserError("the model has several language pairs, or none; name one with --pair, or set data.many=true")
    if data.shared_vocab and data.target == TREES:
        raise UserError("trees have a vocabulary of their own; set data.shared_vocab=false and model.tie=target")
    roles: dict[Role, Sequence[CorpusConfig]] = {"train": data.train, "dev": data.dev, "test": data.test}
    named = [corpus for role, corpora in roles.items() for corpus in named_corpora(data, role, corpora, one_way)]
    refuse_sample_of_other_languages(named)
    return named


def named_corpora(data: DataConfig, role: Role, corpora: Sequence[CorpusConfig], one_way: bool) -> list[NamedCorpus]:
    """Name the corpora of a role. Corpora of different pairs may have the same name."""
    if not data.many:
        pair, tagged = (data.source, data.target), data.tag_kind != "none"
        names = name_corpora(corpora, pair)
        return [NamedCorpus(name, role, config, (pair,), tagged) for name, config in zip(names, corpora, strict=True)]
    named: dict[int, NamedCorpus] = {}
    directions = [directions_of(corpus, role)[: 1 if one_way else 2] for corpus in corpora]
    for group in {frozenset(pairs): pairs for pairs in directions}.values():
        places = [place for place, pairs in enumerate(directions) if set(pairs) == set(group)]
        suffixes = [*group[0], *map("-".join, permutations(group[0]))]
        for place, name in zip(places, name_corpora([corpora[place] for place in places], suffixes), strict=True):
            named[place] = NamedCorpus(name, role, corpora[place], directions[place], tagged=True)
    refuse_repeated_names(role, list(named.values()))
    return [named[place] for place in range(len(corpora))]


def refuse_repeated_names(role: Role, corpora: Sequence[NamedCorpus]) -> None:
    taken = Counter(name for corpus in corpora for name in corpus.names)
    files: dict[tuple[str, frozenset[str]], set[Path]] = {}
    for corpus in corpora:
        # Dev and test sets of both directions of a pair share the files of their raw text.
        own = set(corpus_files(corpus.config))
        mixed = role != "train" and files.setdefault((corpus.base, frozenset(corpus.languages)), own) != own
        if mixed or any(taken[name] > 1 for name in corpus.names):
            raise UserError(f"{corpus.config.source}: another corpus is also named {corpus.name}; set a different name")


def refuse_sample_of_other_languages(corpora: Sequence[NamedCorpus]) -> None:
    """Raise an error if a recipe's built-in sample is still there for languages that it does not have."""
    wrong = [corpus for corpus in corpora if is_sample_of_other_languages(corpus)]
    if not wrong:
        return
    roles = list(dict.fromkeys(corpus.role for corpus in wrong))
    options = " and ".join(f"--{role}" for role in roles)
    empty = " ".join(f"data.{role}=[]" for role in roles)
    otherwise = "" if "train" in roles else f", or leave it out with {empty}"
    raise UserError(
        f"{wrong[0].config.source} is English-German text, not {'-'.join(wrong[0].languages)}; give text of your own "
        f"with {options}{otherwise}"
    )


def is_sample_of_other_languages(corpus: NamedCorpus) -> bool:
    """Whether the files of a corpus are built in, and in other languages than it is used for; en-GB is no other."""
    files = corpus.config.source, corpus.config.target
    return any(
        file.startswith(BUNDLED) and not plain_name(Path(file)).endswith(f".{base_language(language)}")
        for file, language in zip(files, corpus.languages, strict=True)
    )


def directions_of(corpus: CorpusConfig, role: Role) -> tuple[LanguagePair, ...]:
    """The directions of a corpus of a many-to-many dataset; dev and test sets have both."""
    source, target = corpus.languages
    return ((source, target), (target, source)) if corpus.both or role != "train" else ((source, target),)


def hash_file(path: Path) -> SourceFile:
    with open_file(path) as file:
        try:
            return SourceFile(str(path), path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def load_tokenizers(data: DataConfig) -> Tokenizers | None:
    """Load the tokenizer named in the settings; with separate vocabularies, the source tokenizer is next to it."""
    if not data.tokenizer:
        return None
    source, target = load_vocabularies(Path(data.tokenizer), data.shared_vocab)
    tokenizers: Tokenizers = {"source": source, "target": target}
    if is_imported(tokenizers) and data.bpe_dropout:
        raise UserError(f"{data.tokenizer}: data.bpe_dropout is not possible with the vocabulary of an imported model")
    return tokenizers


def lead_ids(kind: LanguageTags, tokenizers: Tokenizers, pair: LanguagePair) -> tuple[list[int], list[int]]:
    """Return what precedes each source and each target of a direction: language tags, see `facts.LanguageTags`, or what
    the vocabulary of a model without them has."""
    source, target = pair
    match kind:
        case "none":
            return list(tokenizers["source"].source_lead), list(tokenizers["target"].target_lead)
        case "source":
            return [tokenizers["source"].tag(target)], []
        case "target":
            return [tokenizers["source"].tag(source)], [tokenizers["target"].tag(target)]
