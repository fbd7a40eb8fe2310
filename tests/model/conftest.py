"""Kernels in Triton's interpreter."""

import pytest


@pytest.fixture
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide sums among three programs instead of hundreds, one after another in the interpreter; so each of them also
    has several rows to add up."""
    activation = pytest.importorskip(
        "hark.model.kernels.activation", reason="Triton is not installed", exc_type=ImportError
    )
    from hark.model.kernels import norm

    monkeypatch.setattr(activation, "PARTS", 3)
    monkeypatch.setattr(norm, "PROGRAMS", 3)
