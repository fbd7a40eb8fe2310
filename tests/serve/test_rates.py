"""Rates: a minute's requests may come at once, then they are spread; clients do not affect each other."""

from hark.serve import rates
from hark.serve.rates import Rates


def test_a_client_is_slowed_down_and_recovers() -> None:
    now = 0.0
    limit = Rates(60, lambda: now)
    assert [limit.take("a") for _ in range(60)] == [0] * 60
    wait = limit.take("a")
    assert wait >= 1
    assert limit.take("b") == 0
    now += wait
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    now += 3600
    assert [limit.take("a") > 0 for _ in range(61)] == [False] * 60 + [True]


def test_no_limit() -> None:
    limit = Rates(0)
    assert all(limit.take("a") == 0 for _ in range(1000))


def test_the_number_of_clients_is_bounded() -> None:
    limit = Rates(1, lambda: 0.0)
    for i in range(rates.MOST_CLIENTS + 10):
        limit.take(f"{i}")
    assert len(limit._buckets) == rates.MOST_CLIENTS
    assert limit.take(f"{rates.MOST_CLIENTS + 5}") > 0
