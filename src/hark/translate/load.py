"""A model that translates: loads a bundle, and its engine at the first translation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from hark.bundle import Bundle
from hark.engine.interface import Engine, TokenPair
from hark.engine.opening import ComputePrecision, EngineName, open_engine
from hark.errors import UserError, require
from hark.facts import LanguagePair
from hark.machine import check_workers
from hark.models import find_named, find_pair, phrases_folder
from hark.text.address import Formality, check_form, choose_address
from hark.text.opening import open_vocabularies
from hark.text.phrases import open_phrases
from hark.text.terms import Terms
from hark.translate.piece import Options
from hark.translate.second_look import NLL, measure
from hark.translate.translation import Translation
from hark.translate.translator import LanguageChoice, Translator, describe_value

if TYPE_CHECKING:
    from hark.model import Transformer

Value = TypeVar("Value")


class computed_once(cached_property[Value]):  # noqa: N801  # a decorator
    """A cached property of a `Loaded` that is computed once, also if several threads need it at the same time."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Value:  # type: ignore[override]
        with instance._lock:
            value: Value = super().__get__(instance, owner)
            return value


class EngineOptions(NamedTuple):
    """How a model runs; see `open_engine`."""

    engine: EngineName = "auto"
    device: str = "auto"
    precision: ComputePrecision = "auto"
    threads: int | None = None


class Loaded:
    """A loaded model, as returned by `hark.load`: translates, and gives access to settings, facts and vocabularies.

    The engine is created at the first translation. `model` creates the network at first access and requires torch.

    Any number of threads may translate and score with one `Loaded` at the same time; their texts share its batches. An
    iterator that `translate` returns belongs to one thread at a time, nobody may translate during `close`, and who uses
    `engine` directly must be its only user. Ctrl-C, or an error of the engine, stops what all threads are translating
    with this model; texts that come later are translated.
    """

    def __init__(
        self,
        path: Path | str,
        engine: EngineName = "auto",
        device: str = "auto",
        precision: ComputePrecision = "auto",
        threads: int | None = None,
        pair: LanguagePair | None = None,
    ) -> None:
        """`pair`: translate between these languages only, as if the model knew no others."""
        check_workers(threads, "--threads")
        self.bundle = Bundle.open(path, wait=False)
        self.config, self.facts = self.bundle.config, self.bundle.facts
        if not self.facts.pairs:
            raise UserError(f"{self.bundle.folder}: does not translate: it {self.bundle.purpose}")
        self.pairs = (pair,) if pair else self.facts.pairs
        self.source_vocabulary, self.target_vocabulary = open_vocabularies(self.bundle)
        self.engine_options = EngineOptions(engine, device, precision, threads)
        self.phrases = cache(lambda source, target: open_phrases(source, target, phrases_folder()))
        """The phrase table of a language pair: hark's entries, overridden by the user's."""
        self._reverse: dict[LanguagePair, Loaded | None] = {}
        self._lock = RLock()

    @classmethod
    def named(cls, name: str, **engine: Any) -> "Loaded":
        """Load the model that a folder, a run, a name or a pair of languages names (`hark.models.find_named`)."""
        folder, pair = find_named(name)
        return cls(folder, **engine, pair=pair)

    @property
    def card(self) -> str:
        return self.bundle.card

    @computed_once
    def languages(self) -> LanguageChoice:
        data = self.config.data
        default = self.pairs[0] if len(self.pairs) == 1 else (data.source, data.target)
        return LanguageChoice(replace(self.source_vocabulary.scheme, pairs=self.pairs), default)

    @computed_once
    def engine(self) -> Engine:
        return open_engine(self.bundle, self.target_vocabulary.special, *self.engine_options)

    @computed_once
    def translator(self) -> Translator:
        return Translator(
            self.engine,
            self.source_vocabulary,
            self.target_vocabulary,
            self.config,
            self.facts.vocabulary.rare_signs,
            self.phrases,
            self.facts.unsure_above,
            self.languages,
        )

    @computed_once
    def model(self) -> "Transformer":
        """The network, on the CPU and in float32."""
        require("torch", "train", "the network of a model")
        from hark.model.weights import load_model

        return load_model(self.bundle)

    @overload
    def translate(self, texts: str, **options: Any) -> Translation: ...

    @overload
    def translate(self, texts: Iterable[str], **options: Any) -> Iterator[Translation]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        split: bool = True,
        align: bool = False,
        protect: bool = True,
        join: bool = True,
        tidy: bool = True,
        detect: bool = True,
        check: bool = True,
        terms: Terms | None = None,
        written_in: str | None = None,
        formality: Formality | None = "auto",
        **search: Any,
    ) -> Translation | Iterator[Translation]:
        """Translate a text, or a stream of texts, which may be infinite: order is kept, and memory is bounded.

        source, target: languages; without a source, it is detected for each text, and a text that is in the target
            language, or in one that no model knows, is kept as it is, with the flag `language`.
        split: split lines into sentences; False: each line is one sentence.
        align: return the word alignment with the results.
        protect: keep addresses, placeholders, tags, numbers and unknown characters unchanged.
        join: join the lines of hard-wrapped paragraphs.
        tidy: correct missing apostrophes and umlauts (dont, schoen) first.
        detect: keep sentences untranslated that are not in the source language.
        check: let the model of the reverse direction, if one is installed, check sentences that are not certain. A
            model of both directions also looks for a better translation of what it does not recognise.
        terms: the terms of a glossary; their translations appear in the translation as given.
        written_in: the language of texts that are not to be translated; what is in a source language of the model is.
        formality: formal or informal address (Sie or du), for models that can choose; auto: one form for each text,
            formal unless the text is plainly informal; None: what the model makes of each sentence.
        search: settings of the search, such as `beam=1` or `nbest=3`; the defaults are the model's.
        """
        options = Options(
            self.config.decode.changed(search), split, align, protect, source, target, join=join, tidy=tidy,
            detect=detect, terms=terms, written_in=written_in, formality=formality, second_look=check,
        )  # fmt: skip
        check_form(formality)
        if formality in ("formal", "informal"):
            self.translator.check_formality(formality, target)
        review = partial(self.check, options=options) if check else None
        if isinstance(texts, str):
            (translation,) = self.translator.stream([texts], options, review=review)
            return translation
        if isinstance(texts, bytes) or not isinstance(texts, Iterable):
            raise TypeError(f"texts must be a string or an iterable of strings, not {describe_value(texts)}")
        return self.translator.stream(texts, options, review=review)

    def choose_form(
        self, texts: Iterable[str], formality: Formality | None, source: str | None = None, target: str | None = None
    ) -> Formality | None:
        """The form of address of several texts that belong together; auto if each may have its own."""
        if not self.translator.check_formality(formality, target) or formality != "auto":
            return formality
        text = "\n".join(texts)
        return choose_address(text, self.languages.pair(text, source, target)[0]) or formality

    def score(
        self, pairs: Iterable[tuple[str, str]], *, source: str | None = None, target: str | None = None
    ) -> Iterator[float]:
        """Return the log-probability of each (source, translation) pair, each side taken as one sentence.

        source, target: languages, for models of several pairs; without a target, an error is raised.
        """
        return (sum(each) for each in self.engine.score(self._encode(pairs, source, target)))

    def nll(
        self, pairs: Iterable[tuple[str, str]], *, source: str | None = None, target: str | None = None
    ) -> list[NLL | None]:
        """Return how unlikely each translation is, given the source; None: the pair is too long for the model."""
        return measure(self.engine, self._encode(pairs, source, target))

    def _encode(self, pairs: Iterable[tuple[str, str]], source: str | None, target: str | None) -> Iterator[TokenPair]:
        return (self.translator.coder.pair_ids(*pair, source, target) for pair in pairs)

    def reverse(self, source: str, target: str) -> "Loaded | None":
        """The installed model of the opposite direction, this one if it has both; None if there is none."""
        if target in self.source_vocabulary.scheme.sources_of(source):
            return self
        with self._lock:
            if (source, target) not in self._reverse:
                found = find_pair((target, source), beside=self.bundle.folder)
                self._reverse[source, target] = Loaded(found, *self.engine_options) if found else None
            return self._reverse[source, target]

    def check(self, translations: Sequence[Translation], options: Options) -> list[Translation]:
        """Have the model of the reverse direction, if one is installed, check the sentences that are not certain. A
        model of both directions has done so."""

        def languages(text: str) -> LanguagePair:
            return self.languages.pair(text, options.source, options.target)

        def ask(source: str, target: str, pairs: Sequence[tuple[str, str]]) -> Sequence[NLL | None] | None:
            reverse = self.reverse(source, target)
            return None if reverse is None or reverse is self else reverse.nll(pairs, source=target, target=source)

        return self.translator.second_look(options).review(translations, languages, ask)

    def close(self) -> None:
        """Free the engine's memory. A later translation opens it again."""
        self.__dict__.pop("translator", None)
        if (engine := self.__dict__.pop("engine", None)) is not None:
            engine.close()
        for each in self._reverse.values():
            if each is not None:
                each.close()
