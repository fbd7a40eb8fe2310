"""Corpus names are short, unique and valid folder names."""

import pytest

from hark.config import CorpusConfig
from hark.data.names import name_corpora
from hark.errors import UserError


def names(*corpora):
    return name_corpora([CorpusConfig(source, name=name) for source, name in corpora], ("en", "de"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/train.en.xz", "train"),
        ("a/news.en-de.EN", "news.en-de"),
        ("memory.tmx.gz", "memory"),
        ("my corpus!.tsv", "my-corpus-"),
        (".en", "corpus"),
        ("../x.en", "x"),
    ],
)
def test_name_from_the_file(path, expected):
    assert names((path, "")) == [expected]


def test_ambiguous_names_are_prefixed_with_the_folder():
    assert names(("a/train.en", ""), ("b/train.en", ""), ("b/other.en", "")) == ["a-train", "b-train", "other"]


def test_a_configured_name_is_kept():
    assert names(("a/train.en", "mine"), ("b/train.en", "")) == ["mine", "train"]


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "a b"])
def test_an_invalid_folder_name_is_refused(name):
    with pytest.raises(UserError, match="corpus name"):
        names(("a/train.en", name))


def test_equal_names_are_refused():
    with pytest.raises(UserError, match=r"another corpus is also named x; set a different name"):
        names(("a/1.en", "x"), ("a/2.en", "x"))
    with pytest.raises(UserError, match=r"another corpus is also named a-train; set a different name"):
        names(("a/train.en", ""), ("a/train.en", ""))
