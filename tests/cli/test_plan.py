"""`hark plan`: what it prints, and bad options."""

import json

import pytest

from hark.cli.plan import plan
from hark.errors import UserError


def test_says_memory_speed_bound_and_price(capsys: pytest.CaptureFixture[str]) -> None:
    plan("gpt", gpus=8, tokens=5e9, price=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("model   124M weights: 12 decoder layers, width 768; 8 x 65,536 tokens a step on 8 h200")
    assert "GiB of each GPU" in lines[1]
    assert any("products" in line and "█" in line for line in lines)
    assert any(line.startswith("bound   by arithmetic") for line in lines)
    assert lines[-2].startswith("run     5.00G tokens, 9,537 steps: ")
    assert lines[-1].startswith("note: only one H200 was measured")
    plan("gpt", gpus=8, tokens=5e9, price=2, as_json=True)
    values = json.loads(capsys.readouterr().out)
    assert values["price"] == pytest.approx(2 * values["gpu_hours"])
    assert f"{values['gpu_hours']:,.1f} GPU hours" in lines[-2]


def test_a_run_that_does_not_fit_is_told_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    plan("gpt", ["batches.batch_tokens=1000000"])
    assert "too much; lower batches.batch_tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "v100"}, "--gpu v100: choose h200, h100, a100"),
        ({"tokens": 0.0}, "--tokens 0: choose a number from 1 on"),
        ({"tokens": float("nan")}, "--tokens nan: choose"),
        ({"gpus": 3}, "batches cannot be divided evenly among 3 GPUs; set a multiple"),
    ],
)
def test_bad_options_are_refused_in_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan("gpt", **options)  # type: ignore[arg-type]
