"""How measurements grow with a size: exponents fitted on logarithmic axes, and the law that fits best."""

import math
from collections.abc import Callable, Sequence

import numpy as np

Points = Sequence[tuple[float, float]]

LAWS: dict[str, Callable[[float], float]] = {"O(log n)": math.log, "O(n)": float, "O(n²)": lambda n: n * n}


def fit_exponent(points: Points) -> float:
    """The exponent p of `value = c size^p`, by least squares on the larger half of the sizes, at least two: small ones
    are dominated by constant costs."""
    kept = sorted(points)[-max(2, math.ceil(len(points) / 2)) :]
    logs = np.log([size for size, _ in kept]), np.log([value for _, value in kept])
    return float(np.polyfit(*logs, 1)[0])


def name_law(points: Points) -> str:
    """The law `a + b f(n)` that fits a count best; O(1) if it never changes."""
    sizes, values = zip(*points, strict=True)
    if len(set(values)) == 1:
        return "O(1)"
    errors = {}
    for name, law in LAWS.items():
        features = np.array([[1.0, law(size)] for size in sizes])
        solution, *_ = np.linalg.lstsq(features, np.array(values, float), rcond=None)
        errors[name] = float(np.square(features @ solution - values).sum())
    return min(errors, key=errors.__getitem__)
