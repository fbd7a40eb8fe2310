"""Comparison of two implementations of one model: tokens, logits and translations of a set of check sentences.

Every import and export passes through `compare`. Both sides are callables, so that this module needs none of the
libraries compared. The result is a `ParityProof`, which is printed and stored in the facts; a difference is an error
that names the first one, and the layer in which the models first differ.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from hark.errors import HarkError, UserError
from hark.facts import ParityProof
from hark.machine import return_memory
from hark.userfiles import read_bytes
from hark.weights import Array

BOUND = 1e-3
"""Largest difference allowed between logits in float32: rounding alone gives about 1e-4 after a dozen layers."""
BEAMS = (1, 4)
MAX_CHECKED = 1000
"""Lines of `--check FILE` that are compared."""
HELD = 16 << 20
"""Bytes of one side's logits that are held for the other side."""
SHOWN = 40
"""Characters of a sentence in an error message."""

Ids = Sequence[int]
Quantity = Literal["logits", "log-probabilities"]
Model = TypeVar("Model")


class Lazy(Generic[Model]):
    """A model that is loaded at first use, and again after each release."""

    def __init__(self, load: Callable[[], Model], close: Callable[[Model], None] = lambda _: None) -> None:
        self.load, self.close = load, close

    @cached_property
    def model(self) -> Model:
        return self.load()

    def release(self) -> None:
        if "model" in self.__dict__:
            self.close(self.__dict__.pop("model"))
            return_memory()


@contextmanager
def recorded(modules: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Yield a dictionary that receives the output of each torch module of the next forward pass, without the batch
    axis."""
    found: dict[str, Array] = {}

    def record(module: Any, inputs: Any, output: Any, name: str) -> None:  # noqa: ARG001
        output = output[0] if isinstance(output, tuple) else output
        found[name] = output[0].float().numpy()

    hooks = [module.register_forward_hook(partial(record, name=name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


class ParityError(HarkError):
    """Two implementations of a model compute different things."""


@dataclass(frozen=True, eq=False)
class Side:
    """One implementation of a model. Both sides of a comparison use the same token ids.

    What a side cannot compute is None; only what both sides have is compared.
    """

    name: str
    """The program and its version, with the precision."""
    translate: Callable[[Sequence[str], int], Sequence[str]]
    """Translate texts with a beam size. Hypotheses are ranked by log-probability, without length penalty: every
    program can do so, while their penalties differ."""
    source_tokens: Callable[[str], Ids] | None = None
    """The encoder input of a text, with language tags and EOS."""
    target_tokens: Callable[[str], Ids] | None = None
    """The ids of a translation: the prefix that decoding is forced to start with, if any, and the text. No EOS."""
    logits: Callable[[Ids, Ids], Array] | None = None
    """The logits of each target token and EOS, given source and target: one row more than the target has tokens."""
    log_probs: Callable[[Ids, Ids], Array] | None = None
    """The log-probabilities of the target tokens and EOS."""
    layers: Callable[[Ids, Ids], Mapping[str, Array]] | None = None
    """The outputs of the layers in order, by name; equal names mean the same layer. They locate a difference."""
    release: Callable[[], None] = lambda: None
    """Free the model's memory until it is needed again, so that both sides need not be in memory at once."""


def compare(
    ours: Side,
    theirs: Side,
    texts: Sequence[str],
    *,
    bound: float = BOUND,
    beams: Sequence[int] = BEAMS,
    what: str = "",
    held: int = HELD,
) -> ParityProof:
    """Compare two sides; raise `ParityError` at the first difference.

    Translations may differ only if both are equally good within `bound`, by our own log-probabilities: then rounding
    decides. `what` describes the import or export in the proof. `held`: bytes of logits to hold before the other side
    takes its turn.
    """
    if not texts:
        raise UserError("no sentences to check; pass some with --check FILE, or skip the check with --no-check")
    compare_tokens(ours, theirs, texts)
    expected = {beam: ours.translate(texts, beam) for beam in beams}
    ours.release()
    quantity, difference = compare_numbers(ours, theirs, texts, expected[beams[0]], bound, held)
    found = {beam: theirs.translate(texts, beam) for beam in beams}
    theirs.release()
    different: set[int] = set()
    for beam in beams:
        for place, (mine, other) in enumerate(zip(expected[beam], found[beam], strict=True)):
            if mine != other:
                different.add(place)
                if not is_tie(ours, texts[place], mine, other, beam, bound):
                    raise translation_error(ours, theirs, place, texts[place], mine, other, beam)
    ours.release()
    return ParityProof(
        against=theirs.name,
        sentences=len(texts),
        equal=len(texts) - len(different),
        largest_difference=difference,
        search=describe_search(beams),
        what=what,
        quantity=quantity,
        bound=bound if quantity else None,
    )


def compare_texts(
    ours: Side, theirs: Side, texts: Sequence[str], *, bound: float = BOUND, what: str = "", held: int = HELD
) -> ParityProof:
    """Compare two sides of a model of one stack: the tokens of texts, and the logits that follow each of them."""
    if not texts:
        raise UserError("no texts to check; pass some with --check FILE, or skip the check with --no-check")
    compare_tokens(ours, theirs, texts)
    quantity, difference = compare_numbers(ours, theirs, texts, [""] * len(texts), bound, held)
    count = len(texts)
    return ParityProof(theirs.name, count, count, difference, what=what, quantity=quantity, bound=bound)


def enough_logits(weights: int) -> int:
    """Bytes of logits to hold for a model of so many bytes, so that sides that take turns are not loaded too often."""
    return max(HELD, weights // 20)


def skipped(against: str, what: str = "") -> ParityProof:
    """The record of a comparison that was skipped with `--no-check`."""
    return ParityProof(against=against, sentences=0, equal=0, what=what, skipped=True)


def describe_search(beams: Sequence[int]) -> str:
    return ", ".join("greedy" if beam == 1 else f"beam {beam} without length penalty" for beam in beams)


def compare_tokens(ours: Side, theirs: Side, texts: Sequence[str]) -> None:
    if ours.source_tokens is None or theirs.source_tokens is None:
        return
    for number, text in enumerate(texts, 1):
        mine, other = ours.source_tokens(text), theirs.source_tokens(text)
        for place, (one, two) in enumerate(zip_longest(mine, other), 1):
            if one != two:
                raise ParityError(
                    f"{where(number, text)}: token {place} is {describe_id(one)} in {ours.name}, "
                    f"but {describe_id(two)} in {theirs.name}"
                )


def describe_id(token: int | None) -> str:
    return "missing" if token is None else f"id {token}"


def compare_numbers(
    ours: Side, theirs: Side, texts: Sequence[str], translations: Sequence[str], bound: float, held: int = HELD
) -> tuple[Quantity | None, float | None]:
    """Compare logits, or log-probabilities if only these are available; return which, and the largest difference."""
    if ours.source_tokens is None or ours.target_tokens is None:
        return None, None
    quantity: Quantity
    if ours.logits is not None and theirs.logits is not None:
        quantity, mine, other = "logits", ours.logits, theirs.logits
    elif ours.log_probs is not None and theirs.log_probs is not None:
        quantity, mine, other = "log-probabilities", ours.log_probs, theirs.log_probs
    else:
        return None, None
    largest = 0.0
    tokens = [
        (ours.source_tokens(text), ours.target_tokens(translation))
        for text, translation in zip(texts, translations, strict=True)
    ]
    first = 0
    while first < len(texts):
        kept: list[Array] = []
        while first + len(kept) < len(texts) and sum(each.nbytes for each in kept) < held:
            kept.append(np.asarray(mine(*tokens[first + len(kept)])))
        ours.release()
        block = range(first, first + len(kept))
        for place in block:
            one, two = kept.pop(0), np.asarray(other(*tokens[place]))
            described = where(place + 1, texts[place])
            if one.shape != two.shape:
                shapes = f"{one.shape} in {ours.name}, {two.shape} in {theirs.name}"
                raise ParityError(f"{described}: {quantity} have different shapes: {shapes}")
            difference = largest_difference(one, two)
            if not difference <= bound:
                raise ParityError(
                    f"{described}: {quantity} of {theirs.name} differ from those of {ours.name} by "
                    f"{difference:.2g} (allowed: {bound:.2g}){locate(ours, theirs, *tokens[place], bound)}"
                )
            largest = max(largest, difference)
        del one, two
        theirs.release()
        first = block.stop
    return quantity, largest


def largest_difference(one: Array, two: Array) -> float:
    """The largest absolute difference; NaN on one side only is infinitely different."""
    if one.ndim > 1:  # row by row, because logits are large and these copies are larger
        return max((largest_difference(*rows) for rows in zip(one, two, strict=True)), default=0.0)
    with np.errstate(invalid="ignore"):  # infinity - infinity
        difference = np.abs(one.astype(np.float64) - two.astype(np.float64))
    difference[(one == two) | (np.isnan(one) & np.isnan(two))] = 0  # two infinities are equal
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))


def locate(ours: Side, theirs: Side, source: Ids, target: Ids, bound: float) -> str:
    """Name the first layer whose outputs differ, if both sides expose their layers."""
    if ours.layers is None or theirs.layers is None:
        return ""
    mine, other = ours.layers(source, target), theirs.layers(source, target)
    for name in mine:
        if name not in other:
            continue
        if mine[name].shape != other[name].shape:
            return f"; first difference: {name} has shapes {mine[name].shape} and {other[name].shape}"
        difference = largest_difference(mine[name], other[name])
        if not difference <= bound:
            return f"; first difference: {name}, by {difference:.2g}"
    return "; all layers agree, so the output projection differs"


def is_tie(ours: Side, text: str, mine: str, other: str, beam: int, bound: float) -> bool:
    """Whether our own model finds both translations equally good within the bound, so that rounding decides."""
    if ours.log_probs is None or ours.source_tokens is None or ours.target_tokens is None:
        return False
    source, one, two = ours.source_tokens(text), ours.target_tokens(mine), ours.target_tokens(other)
    if list(one) == list(two):  # the same tokens, read as different texts
        return False
    one_T, two_T = np.asarray(ours.log_probs(source, one)), np.asarray(ours.log_probs(source, two))
    if beam > 1:
        return bool(abs(one_T.sum() - two_T.sum()) <= bound)
    # Greedy search goes its own way after the first token that differs.
    first = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return bool(abs(one_T[first] - two_T[first]) <= 2 * bound)


def translation_error(ours: Side, theirs: Side, place: int, text: str, mine: str, other: str, beam: int) -> ParityError:
    words, others = mine.split(), other.split()
    first = next((i for i, (a, b) in enumerate(zip_longest(words, others)) if a != b), 0)
    return ParityError(
        f"{where(place + 1, text)}: translations ({describe_search([beam])}) differ from word {first + 1} on: "
        f"{' '.join(words[first:]) or 'nothing'!r} in {ours.name}, {' '.join(others[first:]) or 'nothing'!r} in "
        f"{theirs.name}"
    )


def where(number: int, text: str) -> str:
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return f"not equal: sentence {number} ({shown!r})"


def check_sentences(language: str, file: Path | None = None) -> list[str]:
    """The fixed check sentences of a language, and the lines of a file.

    A language without its own sentences is checked with the English ones: any text shows whether numbers agree.
    """
    folder = Path(__file__).parent / "sentences"
    own = folder / f"{language.partition('-')[0].partition('_')[0].lower()}.txt"
    fixed = (own if own.is_file() else folder / "en.txt").read_text(encoding="utf-8").splitlines()
    return [*fixed, *(read_lines(file) if file is not None else ())]


def read_lines(path: Path) -> list[str]:
    """The lines of a file that are not empty, at most `MAX_CHECKED`."""
    try:
        lines = [line.strip() for line in read_bytes(path).decode().split("\n")]
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; convert it") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    return [line for line in lines if line][:MAX_CHECKED]
