"""A bundle in memory, and the engine that suits it and the machine."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from hark.bundle import Bundle
from hark.config import Config, DecodeConfig, Precision
from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engine import Engine
from hark.decode.piece import Options
from hark.decode.translation import Translation
from hark.decode.translator import Translator, describe_value
from hark.errors import UserError, require
from hark.facts import Facts
from hark.machine import check_workers
from hark.models import phrases_folder
from hark.settings import SettingError
from hark.text.opening import open_vocabularies
from hark.text.phrases import Phrases, open_phrases
from hark.text.vocabulary import SpecialIds

if TYPE_CHECKING:
    from hark.decode.engines.ctranslate2 import ComputeType
    from hark.model import Transformer

EngineName = Literal["auto", "ctranslate2", "torch"]
ComputePrecision = Literal["auto", "int8", "int16", "float32", "bfloat16"]


def open_engine(
    bundle: Bundle,
    special: SpecialIds,
    engine: EngineName = "auto",
    device: str = "auto",
    precision: ComputePrecision = "auto",
    threads: int | None = None,
) -> Engine:
    """CTranslate2 on a CPU, our own engine on a GPU; or what is asked for. The facts name the alignment heads."""
    alignment = AlignmentHeads.of_facts(bundle.facts.alignment, bundle.config.model)
    if engine == "auto":
        engine = "torch" if device.startswith("cuda") or (device == "auto" and gpu_is_usable()) else "ctranslate2"
    if engine == "ctranslate2":
        if device not in ("auto", "cpu"):
            raise UserError(f"CTranslate2 is hark's engine for a CPU; for {device} use --engine torch")
        from hark.decode.engines.ctranslate2 import CTranslate2Engine

        # Not every CPU multiplies in int8.
        chosen = default_precision() if precision == "auto" else precision
        return CTranslate2Engine.open(bundle, special, chosen, threads, alignment)
    require("torch", "train", "the engine for a GPU")
    if precision in ("int8", "int16"):
        raise UserError(f"{precision} is for the CPU; the torch engine computes in float32 or bfloat16")
    from hark.decode.engines.torch import TorchEngine
    from hark.model.weights import load_model

    on = torch_device(device)
    if threads and on == "cpu":
        import torch

        torch.set_num_threads(threads)
    return TorchEngine(load_model(bundle, on), special, on, cast(Precision, precision), alignment=alignment)


def default_precision() -> "ComputeType":
    import ctranslate2  # type: ignore[import-untyped]

    return "int8" if "int8" in ctranslate2.get_supported_compute_types("cpu") else "float32"


def gpu_is_usable() -> bool:
    """Whether there is a GPU and torch to use it. Torch is not imported where the machine has no sign of a GPU."""
    signs = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    if not any(map(os.path.exists, signs)) or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def torch_device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        wanted = torch.device(device)
    except RuntimeError:
        raise UserError(f"{device}: no such device; use cpu, cuda or cuda:1") from None
    if wanted.type == "cuda" and (wanted.index or 0) >= torch.cuda.device_count():
        raise UserError(f"{device}: there is no such GPU here ({torch.cuda.device_count()} found)")
    return device


class Loaded:
    """What `hark.load` gives: a model that translates, with its settings, facts, vocabularies and network.

    The engine is made when something is first translated, the network when it is first looked at; that needs torch.
    """

    def __init__(
        self,
        path: Path | str,
        engine: EngineName = "auto",
        device: str = "auto",
        precision: ComputePrecision = "auto",
        threads: int | None = None,
    ) -> None:
        check_workers(threads, "--threads")
        self.bundle = Bundle.open(path)
        self.source_vocabulary, self.target_vocabulary = open_vocabularies(self.bundle)
        self._chosen = engine, device, precision, threads

    @property
    def config(self) -> Config:
        return self.bundle.config

    @property
    def facts(self) -> Facts:
        return self.bundle.facts

    @property
    def card(self) -> str:
        return self.bundle.card

    @cached_property
    def engine(self) -> Engine:
        return open_engine(self.bundle, self.target_vocabulary.special, *self._chosen)

    @cached_property
    def translator(self) -> Translator:
        return Translator(
            self.engine,
            self.source_vocabulary,
            self.target_vocabulary,
            self.config,
            self.facts.vocabulary.rare_signs,
            self.phrases,
        )

    @cached_property
    def phrases(self) -> Phrases:
        """Lines whose translation is known: hark's own table for the pair, and the user's, which wins."""
        return open_phrases(self.config.data.source, self.config.data.target, folder=phrases_folder())

    @cached_property
    def model(self) -> "Transformer":
        """The network itself, on the CPU and in float32."""
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
        **search: Any,
    ) -> Translation | Iterator[Translation]:
        """Translate a text, or a stream of texts, which may be without end: order is kept, and memory is bounded.

        `source` and `target` name languages, where the model knows several. With `split=False` each line is one
        sentence; with `align=True` results say which words stand for which; with `protect=False` nothing is held to
        come out unchanged. `join=False` keeps the lines of hard-wrapped paragraphs apart, `tidy=False` leaves typing
        (dont, schoen) as it is, `detect=False` translates sentences whatever their language seems to be. `search`
        changes settings of the search, such as `beam=1` or `nbest=3`; the others are the model's own.
        """
        settings = search_settings(self.config.decode, search)
        options = Options(settings, split, align, protect, source, target, join=join, tidy=tidy, detect=detect)
        if isinstance(texts, str):
            return self.translator.translate(texts, options)
        if isinstance(texts, bytes) or not isinstance(texts, Iterable):
            raise TypeError(f"a text is a string, or several are an iterable of strings, not {describe_value(texts)}")
        return self.translator.stream(texts, options)

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """The log-probability of given translations, (source, translation) each, taken as one sentence."""
        source, target = self.source_vocabulary, self.target_vocabulary
        encoded = ((source.source_ids(text), [*target.prefix(), *target.encode_one(given)]) for text, given in pairs)
        return (sum(each) for each in self.engine.score(encoded))

    def close(self) -> None:
        """Give back the engine's memory."""
        if "engine" in self.__dict__:
            self.engine.close()


def search_settings(search: DecodeConfig, changes: dict[str, Any]) -> DecodeConfig:
    """The settings with some changed. A beam is as wide as the n-best list that is asked for, unless it is given."""
    if "nbest" in changes and "beam" not in changes:
        changes = {**changes, "beam": max(search.beam, changes["nbest"])}
    try:
        return replace(search, **changes)
    except SettingError as error:
        raise UserError(f"decode.{error}") from None
    except TypeError:
        unknown = ", ".join(sorted(set(changes) - set(search.__dataclass_fields__)))
        raise UserError(f"{unknown}: no such setting of the search; hark config --explain lists all") from None
