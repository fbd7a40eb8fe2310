"""Names of corpora: short, unlike one another, fit for a folder."""

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
def test_from_the_file(path, expected):
    assert names((path, "")) == [expected]


def test_namesakes_carry_their_folder():
    assert names(("a/train.en", ""), ("b/train.en", ""), ("b/other.en", "")) == ["a-train", "b-train", "other"]


def test_a_given_name_is_kept():
    assert names(("a/train.en", "mine"), ("b/train.en", "")) == ["mine", "train"]


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "a b"])
def test_a_name_that_is_no_folder(name):
    with pytest.raises(UserError, match="corpus name"):
        names(("a/train.en", name))


def test_equal_names():
    with pytest.raises(UserError, match=r"another corpus is called x too"):
        names(("a/1.en", "x"), ("a/2.en", "x"))
    with pytest.raises(UserError, match=r"another corpus is called a-train too"):
        names(("a/train.en", ""), ("a/train.en", ""))
