"""Our attention kernels compile for a GPU, which Triton does without one: its interpreter accepts more."""

import os
import subprocess
import sys
from textwrap import dedent

import pytest

pytest.importorskip("triton", reason="Triton is not installed")
PROGRAM = """
    from triton import compile
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from hark.model.kernels import attention

    KINDS = {
        "float": ("log_sum_at", "along_at", "bias_at", "sums_at"), "int": ("first_at", "end_at"),
        "long": ("step_at", "seed_at"), "number": ("scale", "drop"),
    }
    TYPES = {"float": "*fp32", "int": "*i32", "long": "*i64", "number": "fp32"}
    TYPE_OF = {name: TYPES[kind] for kind, names in KINDS.items() for name in names}
    FIXED = {"H": 12, "SHARE": 3, "K": 64, "ROWS": 64, "COLUMNS": 32, "BIAS": True, "DROP": True, "SPLIT": True}

    for kernel in (attention.forward_block, attention.backward_queries, attention.backward_keys):
        names = kernel.arg_names
        fixed = {name: value for name, value in {**FIXED, "STEPS": 32}.items() if name in names}
        rest = {name: TYPE_OF.get(name, "*bf16" if name.endswith("_at") else "i32") for name in names}
        source = ASTSource(
            kernel, {**rest, **dict.fromkeys(fixed, "constexpr")},
            constexprs={(names.index(name),): value for name, value in fixed.items()},
        )
        made = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 2})
        assert "wgmma" in made.asm["ptx"]
        print(kernel.__name__)
"""


def test_attention_compiles_with_everything_switched_on() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-c", dedent(PROGRAM)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["forward_block", "backward_queries", "backward_keys"], done.stderr[-2000:]
