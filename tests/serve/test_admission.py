"""Rates: a minute's requests may come at once, then they are spread; clients do not affect each other."""

import hashlib
import hmac
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.serve.admission import MAX_CLIENTS, Keys, Rates, add_key


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
    for i in range(MAX_CLIENTS + 10):
        limit.take(f"{i}")
    assert len(limit._buckets) == MAX_CLIENTS
    assert limit.take(f"{MAX_CLIENTS + 5}") > 0


def test_a_new_key_is_found_by_name_and_only_its_hash_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    one, other = add_key(path, "alice  smith"), add_key(path)
    assert one != other
    assert one not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    keys = Keys(path)
    assert keys.find(one) == "alice smith"
    assert keys.find(other) == "key 2"
    assert keys.find(one + "x") is None
    assert keys.find("") is None
    assert keys.find("\udcff") is None


def test_all_hashes_are_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys"
    first = add_key(path)
    add_key(path)
    compared = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda *pair: (compared.append(pair), compare(*pair))[1])
    assert Keys(path).find(first)
    assert len(compared) == 2


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    key = add_key(path)
    keys = Keys(path)
    other = add_key(path)
    assert keys.find(other)
    path.write_text(f"# nobody but bob\n\n{hashlib.sha256(b'secret').hexdigest().upper()} bob\n")
    assert keys.find("secret") == "bob"
    assert keys.find(key) is None
    path.write_text("damaged\n")
    assert keys.find("secret") == "bob"  # until it is valid again


def test_a_wrong_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--new-key"):
        Keys(tmp_path / "missing")
    path = tmp_path / "keys"
    path.write_text("secret\n")
    with pytest.raises(UserError, match="keys:1: not the SHA-256"):
        Keys(path)
    with pytest.raises(UserError, match="No such file"):
        add_key(tmp_path / "missing" / "keys")
