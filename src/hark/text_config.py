"""Settings of the text that a model learns from: the sections data and batches. Standard library only."""

from dataclasses import dataclass, field
from typing import Literal

from hark.facts import LabelsOf, LanguageTags
from hark.settings import Section, SettingError, any_seed, at_least, between, fraction, more_than, setting

Batching = Literal["packed", "padded"]
TreeTag = Literal["XX"]
Documents = Literal["file", "paragraph", "line"]
Corrupted = Literal["spans", "infilling"]


def is_language_code(text: str) -> bool:
    """Whether a text can be a language code, such as `en` or `pt-BR`: it becomes part of file names."""
    return text.replace("-", "").replace("_", "").isalnum()


@dataclass(frozen=True)
class CorpusConfig(Section):
    """A parallel corpus: two line-aligned files, or one file (TSV, JSONL, TMX, trees) with both sides."""

    source: str = setting(
        "", "file of the source side, or one file with both sides; hark:sample/NAME is a built-in sample"
    )
    target: str = setting("", "file of the target side; empty: `source` has both sides")
    name: str = setting("", "name in reports; empty: the name of the file")
    weight: float = setting(1.0, "sampling weight, relative to a corpus of weight 1", more_than(0))
    languages: tuple[str, ...] = setting(
        (), "language codes of its two sides, for data.many; empty: data.source and data.target"
    )
    both: bool = setting(
        True, "with data.many, train in both directions; false: only to the second language, as for distilled text"
    )

    def check(self) -> None:
        if not self.source:
            raise SettingError("source", "is empty; name a file")
        if self.languages and (len(self.languages) != 2 or not all(map(is_language_code, self.languages))):
            raise SettingError("languages", f"{list(self.languages)} is not allowed; must be two language codes")
        if len(set(self.languages)) == 1:
            raise SettingError("languages", f"both are {self.languages[0]}; name two languages")


@dataclass(frozen=True)
class CleanConfig(Section):
    """Cleaning rules, in the order of application. The report counts and samples the pairs that each rule drops."""

    normalise: bool = setting(True, "normalise text to Unicode NFC, and unusual whitespace to single spaces")
    garbled: bool = setting(True, "drop pairs with control or replacement characters, or wrongly decoded text")
    empty: bool = setting(True, "drop pairs with an empty side")
    max_words: int = setting(200, "drop pairs with more words than this on a side", at_least(1))
    max_chars: int = setting(1500, "drop pairs with more characters than this on a side", at_least(1))
    max_ratio: float = setting(
        3.0,
        "drop pairs with one side this many times as long as the other, in characters; lenient on short lines",
        more_than(1),
    )
    identical: bool = setting(True, "drop pairs of two languages with the same text on both sides")
    min_letters: float = setting(
        0.25, "drop pairs with a smaller share of letters than this on a side; 0: off", between(0, 1)
    )
    language: float = setting(
        0.8,
        "drop pairs with a side in another language, at this confidence of the detector or more; 1: off",
        between(0, 1),
    )
    held_out: bool = setting(True, "drop pairs with a side that occurs in a dev or test set")
    duplicates: bool = setting(True, "drop all but the first of identical pairs")


@dataclass(frozen=True)
class AugmentConfig(Section):
    """Data augmentation: shares of the training pairs that are also written in other forms; 0: none (the paper)."""

    lower: float = setting(0.0, "share with the source in lower case, target unchanged", between(0, 1))
    upper: float = setting(0.0, "share with both sides in upper case", between(0, 1))
    unpunctuated: float = setting(
        0.0, "share without the final full stop or question mark on both sides", between(0, 1)
    )
    hasty: float = setting(
        0.0, "share with the source in lower case, and no final full stop on both sides", between(0, 1)
    )
    names: float = setting(0.0, "share reduced to a bare name: capitalised words common to both sides", between(0, 1))
    renamed: float = setting(0.0, "share with a name common to both sides replaced by another", between(0, 1))
    renumbered: float = setting(
        0.0, "share with numbers on both sides replaced by others of equal length", between(0, 1)
    )
    typed: float = setting(0.0, "share with the source without umlauts, accents and apostrophes", between(0, 1))
    quoted: float = setting(0.0, "share with other quotation marks in the source", between(0, 1))
    words: float = setting(0.0, "share accompanied by a single word of the text and its translation", between(0, 1))


@dataclass(frozen=True)
class DataConfig(Section):
    """The text: languages, corpora, cleaning and tokenisation. `hark prepare` makes a dataset from it."""

    # `dataset` (written by prepare, read by train) and `reverse` are here, not in [batches]: they determine which text
    # a run uses, not how it is batched.
    dataset: str = setting("", "folder of the prepared dataset (made by `hark prepare`)")
    source: str = setting("en", "language code of the source side")
    target: str = setting("de", "language code of the target side")
    reverse: bool = setting(False, "swap the sides of the dataset: train from its target language to its source")
    many: bool = setting(False, "many-to-many: each corpus has its own `languages` and is used in both directions")
    language_tags: LanguageTags | None = setting(
        None,
        "how the target language is chosen: by its tag before the source (source), by tags before both sides (target), "
        "or not at all (none); unset: as in the model of train.from, or else source with many, and none without",
    )
    train: tuple[CorpusConfig, ...] = setting((), "corpora to train on")
    dev: tuple[CorpusConfig, ...] = setting((), "dev sets, scored during training; removed from the training text")
    test: tuple[CorpusConfig, ...] = setting((), "test sets, for the final scores; removed from the training text")
    clean: CleanConfig = field(default_factory=CleanConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    documents: Documents | None = setting(
        None,
        "text of one language instead of pairs; a document is a whole file (file), a "
        "paragraph between empty lines (paragraph) or a line (line). A corpus names one file as its source",
    )
    labels: LabelsOf | None = setting(
        None,
        "text with labels instead of pairs, for an encoder: each text has one (text: lines of a text, a tab and its "
        "label) or each word (words: lines of a word, a tab and its tag, an empty line between sentences)",
    )
    dev_share: float = setting(
        0.0, "with documents and without a dev set: share of the text that is kept as one", fraction()
    )
    tokenizer: str = setting("", "a tokenizer.model or, of an imported model, pieces.json; empty: learn one")
    vocab_size: int = setting(37000, "size of the BPE vocabulary to learn (paper, 5.1)", between(261, 16_777_216))
    sentinels: int = setting(
        0,
        "with documents: ids of the vocabulary to learn that stand for hidden spans (batches.corrupted; T5: 100)",
        between(0, 10_000),
    )
    shared_vocab: bool = setting(True, "one vocabulary for both languages (paper, 5.1), or one for each")
    bpe_dropout: float = setting(0.0, "probability of skipping a BPE merge in training text; 0: off", fraction())
    bpe_variants: int = setting(
        4, "segmentations of each sentence, one per epoch in turn, with bpe_dropout", between(1, 1_000)
    )
    tree_tag: TreeTag | None = setting(
        None, "tag of every word in trees: XX, as in Vinyals et al. (2015); unset: the treebank's part-of-speech tags"
    )
    seed: int = setting(1, "seed of all random choices in preparing text", any_seed())

    @property
    def tag_kind(self) -> LanguageTags:
        """How the target language is chosen, as set or by default."""
        return self.language_tags or ("source" if self.many else "none")

    def check(self) -> None:
        if self.sentinels > self.vocab_size - 261:
            raise SettingError(
                "sentinels", f"{self.sentinels} leave no room for bytes in vocab_size {self.vocab_size}; raise that"
            )
        if self.many and self.language_tags == "none":
            raise SettingError("language_tags", "none is not possible with many; the model must be told the language")
        if self.many and not self.shared_vocab:
            raise SettingError("shared_vocab", "false is not possible with many; all languages share one vocabulary")
        for role, corpora in (("train", self.train), ("dev", self.dev), ("test", self.test)):
            for number, corpus in enumerate(corpora):
                if self.many and not corpus.languages:
                    raise SettingError(
                        f"{role}[{number}].languages", 'is empty; with many, name two codes, such as ["en", "fr"]'
                    )
                if not self.many and corpus.languages not in ((), (self.source, self.target)):
                    raise SettingError(
                        f"{role}[{number}].languages",
                        f"{' to '.join(corpus.languages)}, but the dataset is {self.source} to {self.target}; "
                        "set data.many=true for several pairs",
                    )


SHORTEST_CORRUPTED = 8
"""Tokens of the shortest windows of which some can be hidden behind marks, and the rest says something."""


@dataclass(frozen=True)
class BatchConfig(Section):
    """Batching of a prepared dataset for training."""

    kind: Batching = setting("packed", "sentences end to end without padding (packed), or rows by length (padded)")
    batch_tokens: int = setting(
        25000, "source tokens, and target tokens, per batch (paper, 5.1)", between(1, 16_777_216)
    )
    max_length: int = setting(
        250, "maximum length of a sentence in tokens; longer pairs are skipped", between(2, 16_777_216)
    )
    masked: float = setting(
        0.0,
        "running text: share of the tokens that are hidden and predicted by an encoder from both sides (BERT: 0.15), "
        "or that are corrupted (T5: 0.15, BART: 0.3); 0: each token is predicted from those before it",
        fraction(),
    )
    any_order: float = setting(
        0.0,
        "running text, for an encoder: share of the tokens that are predicted in a random order, each from those "
        "before it in that order and from the rest (XLNet: 0.1667)",
        fraction(),
    )
    whole_words: bool = setting(False, "with masked or any_order, for an encoder: hide all tokens of a word, or none")
    corrupted: Corrupted | None = setting(
        None,
        "running text, for an encoder and a decoder, which restores what is masked: sentinels stand for spans, and the "
        "decoder writes these (spans, as T5), or masks do, and it writes the whole text (infilling, as BART)",
    )
    span: float = setting(3.0, "with corrupted: mean length of a span in tokens", at_least(1))
    permuted: float = setting(
        0.0,
        "with infilling: share of the sentences that change places in what the encoder reads (BART: 1)",
        between(0, 1),
    )
    temperature: float = setting(
        1.0,
        "many-to-many: sample directions in proportion to their pairs to the power of 1 / temperature; above 1 favours "
        "small ones",
        at_least(1),
    )
    seed: int = setting(1, "seed of the order of sentences; by default data.seed, if that is set", any_seed())

    @property
    def predicted(self) -> float:
        """The share of running text that is predicted; 0: all of it, each token from those before."""
        return self.masked or self.any_order

    def check(self) -> None:
        if self.max_length > self.batch_tokens:
            raise SettingError(
                "max_length",
                f"{self.max_length} is more than batch_tokens {self.batch_tokens}; a sentence must fit in a batch",
            )
        if self.masked and self.any_order:
            raise SettingError(
                "any_order", f"{self.any_order} and masked {self.masked} exclude each other; set one to 0"
            )
        if self.corrupted is None:
            if self.permuted:
                raise SettingError("permuted", "needs batches.corrupted = infilling")
            return
        if not self.masked:
            raise SettingError("masked", "is 0, but corrupted text needs a share; T5 has 0.15, BART 0.3")
        if self.whole_words:
            raise SettingError("whole_words", "is for an encoder alone; spans are of tokens")
        if self.permuted and self.corrupted != "infilling":
            raise SettingError("permuted", f"needs corrupted = infilling, not {self.corrupted}")
        if self.max_length < SHORTEST_CORRUPTED:
            raise SettingError("max_length", f"{self.max_length} is too short to corrupt; {SHORTEST_CORRUPTED} or more")
