"""Triton's interpreter, without what it repeats."""

import sys
from typing import Any


def patch_language_once() -> None:
    """Triton's interpreter replaces the functions of `triton.language` at every call of a function in a kernel, which
    takes a third of the time; once for each kernel is enough. Does nothing if Triton is not in use."""
    interpreter: Any = sys.modules.get("triton.runtime.interpreter")
    if not all(hasattr(interpreter, name) for name in ("GridExecutor", "_LangPatchScope", "_patch_lang")):
        return
    run, patch = interpreter.GridExecutor.__call__, interpreter._patch_lang
    languages = (interpreter.tl, interpreter.tl.core)
    patched: set[int] = set()

    def patch_once(function: Any) -> Any:
        needed = {id(each) for each in function.__globals__.values() if any(each is known for known in languages)}
        if needed and needed <= patched:
            return interpreter._LangPatchScope()
        patched.update(needed)
        return patch(function)

    def run_kernel(self: Any, *arguments: Any, **named: Any) -> None:
        patched.clear()
        try:
            run(self, *arguments, **named)
        finally:
            patched.clear()

    interpreter.GridExecutor.__call__, interpreter._patch_lang = run_kernel, patch_once
