"""Event loops in tests, apart from the one that Playwright leaves running in the main thread."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def in_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a thread of its own, because what it calls runs an event loop."""

    @wraps(test)
    def run_test(**fixtures: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, **fixtures).result()

    return run_test
