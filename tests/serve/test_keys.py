"""API keys: hashed at rest, printed once, and the file may change while the server runs."""

import hashlib
import hmac
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.serve.keys import Keys, add_key


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
