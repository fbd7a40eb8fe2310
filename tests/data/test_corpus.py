"""Corpus readers: alignment survives any text, and unreadable files raise one clear error."""

import bz2
import gzip
import json
import lzma
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import CorpusConfig
from hark.data.corpus import PairReader, name_corpora, read_pairs
from hark.errors import HarkError, UserError

COMPRESS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def read(*paths, source="en", target="de"):
    names = [str(path) for path in paths]
    return list(read_pairs(CorpusConfig(*names), source, target))


def files(tmp_path, source, target):
    paths = tmp_path / "c.en", tmp_path / "c.de"
    for path, content in zip(paths, (source, target), strict=True):
        path.write_bytes(content)
    return paths


@pytest.mark.parametrize("suffix", COMPRESS)
def test_all_formats_with_all_compressions(tmp_path, suffix):
    pairs = [("A house.", "Ein Haus."), ("Größe\u2028x", "y\x85z"), ("", "leer"), ("tab?", "👩‍👧")]
    contents = {
        "c.en": "\n".join(each[0] for each in pairs) + "\n",
        "c.de": "\n".join(each[1] for each in pairs) + "\n",
        "c.tsv": "\n".join("\t".join(pair) for pair in pairs) + "\n",
        "c.jsonl": "\n".join(json.dumps({"en": a, "de": b}) for a, b in pairs) + "\n",
        "c.tmx": tmx(*({"en": a, "de": b} for a, b in pairs)),
    }
    for name, content in contents.items():
        (tmp_path / (name + suffix)).write_bytes(COMPRESS[suffix](content.encode()))
    assert read(tmp_path / f"c.en{suffix}", tmp_path / f"c.de{suffix}") == pairs
    for name in ("c.tsv", "c.jsonl", "c.tmx"):
        assert read(tmp_path / (name + suffix)) == pairs


def test_zstandard_frames_and_errors(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    whole = zstandard.compress(b"a\tb\n" * 1000) + zstandard.compress(b"c\td\n")  # two frames
    path = tmp_path / "c.tsv.zst"
    path.write_bytes(whole)
    assert read(path) == [("a", "b")] * 1000 + [("c", "d")]
    path.write_bytes(zstandard.compress(bytes(range(33, 127)) * 5000)[:-20])
    with pytest.raises(UserError, match=r"c\.tsv\.zst: truncated archive; download it again"):
        read(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"c\.tsv\.zst: not a valid \.zst archive"):
        read(path)


def test_missing_zstandard_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("hark.errors.find_spec", lambda _: None)
    path = tmp_path / "c.tsv.zst"
    path.write_bytes(b"x")
    with pytest.raises(HarkError, match="requires zstandard: pip install"):
        read(path)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (b"a\nb\nc\n", b"1\n2\n3\n"),
        (b"a\r\nb\r\nc\r\n", b"1\n2\n3"),
        (b"\xef\xbb\xbfa\nb\nc", b"\xef\xbb\xbf1\r\n2\r\n3\r\n"),
    ],
)
def test_line_endings_byte_order_marks_and_missing_last_newlines(tmp_path, source, target):
    assert read(*files(tmp_path, source, target)) == [("a", "1"), ("b", "2"), ("c", "3")]


def test_only_newlines_separate_lines(tmp_path):
    odd = "a\x0bb\x0cc\x1cd\x1ee\x85f\u2028g\u2029h\ri\x00j"
    long = "x" * 1_000_000
    source, target = f"{odd}\n{long}\n\nlast", f"1\n2\n3\n{odd}"
    pairs = read(*files(tmp_path, source.encode(), target.encode()))
    assert pairs == [(odd, "1"), (long, "2"), ("", "3"), ("last", odd)]


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))] * 2)))
def test_any_lines_stay_aligned(tmp_path_factory, pairs):
    pairs = [tuple(text.removesuffix("\r").removeprefix("\ufeff") for text in pair) for pair in pairs]
    pairs = [("x" * 9000, "y" * 9000), *pairs]  # text that looks binary at the start is refused
    folder = tmp_path_factory.mktemp("any")
    paths = files(folder, *("".join(pair[side] + "\n" for pair in pairs).encode() for side in (0, 1)))
    read_back = read(*paths)
    assert [tuple(text.removesuffix("\r") for text in pair) for pair in pairs] == read_back


def test_share_grows_to_one(tmp_path):
    text = (letter * 99 + b"\n" for letter in (b"a", b"b"))
    reader = PairReader(CorpusConfig(*map(str, files(tmp_path, *(line * 8000 for line in text)))), "en", "de")
    shares = [reader.share for _ in reader]
    assert shares[0] < 0.5
    assert shares[-1] == 1
    assert shares == sorted(shares)


@pytest.mark.parametrize(("sources", "targets"), [(3, 5), (5, 3), (0, 1), (1, 0)])
def test_unequal_line_counts_name_both_files_and_counts(tmp_path, sources, targets):
    paths = files(tmp_path, b"a\n" * sources, b"b\n" * targets)
    with pytest.raises(UserError, match=rf"c\.en has {sources} lines but .*c\.de has {targets}"):
        read(*paths)


def test_invalid_utf8_names_file_and_line(tmp_path):
    paths = files(tmp_path, b"a\nb\n", b"1\n" + "Größe\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"c\.de:2: not UTF-8 \(byte 3 of the line\)"):
        read(*paths)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (random.Random(0).randbytes(5000), "binary"),
        (gzip.compress(random.Random(0).randbytes(100)), "binary"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x03\x00", "binary"),
        (bytes(1000), "binary"),
        ("text\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_binary_and_utf16_files_are_refused(tmp_path, content, problem):
    with pytest.raises(UserError, match=rf"c\.en: {problem}"):
        read(*files(tmp_path, content, b"b\n"))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_invalid_archives_are_refused(tmp_path, suffix):
    whole = COMPRESS[suffix](b"".join(b"%d\tx\n" % random.Random(i).getrandbits(99) for i in range(5000)))
    path = tmp_path / f"c.tsv{suffix}"
    for content in (whole[: len(whole) // 2], b"not an archive", whole[:100] + b"\x00" * 50 + whole[150:]):
        path.write_bytes(content)
        with pytest.raises(UserError, match=rf"c\.tsv\{suffix}: (truncated archive|not a valid)"):
            read(path)


def test_missing_files_folders_and_unknown_formats_are_refused(tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n")
    with pytest.raises(UserError, match=r"gone\.de: no such file"):
        read(tmp_path / "c.tsv", tmp_path / "gone.de")
    with pytest.raises(UserError, match="is a folder"):
        read(tmp_path / "c.tsv", tmp_path)
    (tmp_path / "c.txt").write_text("a\tb\n")
    with pytest.raises(UserError, match=r"c\.txt: .*must be \.tsv, \.jsonl, \.tmx or \.trees"):
        read(tmp_path / "c.txt")


@pytest.mark.parametrize("line", ["one column", "three\tcolumns\there"])
def test_tsv_without_two_columns_is_refused(tmp_path, line):
    path = tmp_path / "c.tsv"
    path.write_text(f"a\tb\n\n{line}\n")
    with pytest.raises(UserError, match=r"c\.tsv:3: [13] columns"):
        read(path)


def test_jsonl_accepts_all_key_styles(tmp_path):
    path = tmp_path / "c.jsonl"
    rows = [
        {"en": "a", "de": "b"},
        {"source": "a", "target": "b"},
        {"translation": {"en": "a", "de": "b"}, "id": 3},
        {"de": "b", "en": "a", "source": "x", "target": "y"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert read(path) == [("a", "b")] * 4 + [("", "")]


def test_jsonl_replaces_line_breaks_and_lone_surrogates(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(r'{"en": "a\nb\r\nc", "de": "x\ud800y \ud83d\ude00"}')
    ((source, target),) = read(path)
    assert source == "a b c"
    assert target.encode("utf-8").endswith("y 😀".encode())
    assert target.startswith("x\ufffd")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"en": "a"', "not valid JSON"),
        ('["a", "b"]', "not a JSON object"),
        ('"a"', "not a JSON object"),
        ('{"en": "a"}', "expected keys en and de, or source and target"),
        ('{"en": "a", "de": 3}', "must be strings"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_invalid_jsonl_is_refused(tmp_path, line, problem):
    path = tmp_path / "c.jsonl"
    path.write_text('{"en": "a", "de": "b"}\n' + line + "\n")
    with pytest.raises(UserError, match=rf"c\.jsonl:2: .*{problem}"):
        read(path)


def tmx(*units, head=""):
    def escape(text):
        return text.replace("&", "&amp;").replace("<", "&lt;")

    body = "".join(
        "<tu>"
        + "".join(f'<tuv xml:lang="{key}"><seg>{escape(text)}</seg></tuv>' for key, text in unit.items())
        + "</tu>"
        for unit in units
    )
    return f'<?xml version="1.0"?>{head}<tmx version="1.4"><header/><body>{body}</body></tmx>'


def test_tmx_matches_regional_variants(tmp_path):
    path = tmp_path / "c.tmx"
    head = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    units = [{"EN-us": "a & b", "fr": "c", "de_AT": "d"}, {"en": "only"}, {"de-DE": "f", "de": "g", "en": "e"}]
    path.write_text(tmx(*units, head=head))
    assert read(path) == [("a & b", "d"), ("e", "g")]
    assert read(path, source="de-DE", target="en-GB") == [("f", "e")]


def test_tmx_drops_markup_and_keeps_highlighted_text(tmp_path):
    path = tmp_path / "c.tmx"
    segment = '<seg>Press <bpt i="1">&lt;b&gt;</bpt><hi>the</hi> key<ept i="1">&lt;/b&gt;</ept>\nnow<ph/>.</seg>'
    path.write_text(tmx({"en": "X", "de": "Y"}).replace("<seg>X</seg>", segment))
    assert read(path) == [("Press the key now.", "Y")]


def test_tmx_may_be_utf16(tmp_path):
    path = tmp_path / "c.tmx"
    path.write_bytes(tmx({"en": "Größe", "de": "x"}).encode("utf-16"))
    assert read(path) == [("Größe", "x")]


def test_tmx_without_the_languages_is_refused(tmp_path):
    path = tmp_path / "c.tmx"
    path.write_text(tmx({"en": "a", "fr": "b"}, {"it": "c"}))
    with pytest.raises(UserError, match=r"c\.tmx: no unit has both en and de; languages found: en, fr, it"):
        read(path)


def test_malformed_tmx_is_refused(tmp_path):
    path = tmp_path / "c.tmx"
    path.write_text(tmx({"en": "a", "de": "b"})[:-10] + "\n<oops")
    with pytest.raises(UserError, match=r"c\.tmx:\d: not well-formed"):
        read(path)


def test_tmx_entities_are_refused(tmp_path):
    path = tmp_path / "c.tmx"
    bomb = '<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    path.write_text(tmx({"en": "x", "de": "y"}, head=bomb))
    with pytest.raises(UserError, match=r"c\.tmx: declares XML entities"):
        read(path)


def test_a_treebank_is_a_corpus_of_sentences_and_trees(tmp_path):
    path = tmp_path / "c.trees"
    path.write_text("( (S (NP-SBJ (`` ``) (NN cat)) (VP (VBZ -LRB-))))\n(X (-NONE- *))\n", encoding="utf-8")
    assert read(path, target="trees") == [('" cat (', "(S (NP `` NN ) (VP VBZ ) )"), ("", "")]
    untagged = PairReader(CorpusConfig(str(path)), "en", "trees", tree_tag="XX")
    assert list(untagged) == [('" cat (', "(S (NP XX XX ) (VP XX ) )"), ("", "")]
    path.write_text("(S (NN a)", encoding="utf-8")
    with pytest.raises(UserError, match=r"c\.trees:1: the last tree is incomplete"):
        read(path, target="trees")


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
