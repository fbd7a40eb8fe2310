"""Parallel corpora, read as streams: two line-aligned files, or one TSV, JSONL or TMX file; plain or compressed.

A treebank is a corpus, too: of sentences and their linearised trees.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hark.config import CorpusConfig
from hark.data.compression import ByteStream, plain_name
from hark.data.tmx import parse_tmx
from hark.errors import UserError
from hark.text.trees import as_source, linearise, read_trees, simplify

TextPair = tuple[str, str]
FORMATS = ("tsv", "jsonl", "ndjson", "tmx", "txt", "trees", "mrg")
TREEBANKS = (".trees", ".mrg")
BUNDLED = "hark:"
HERE = Path(__file__).parent
HEAD_BYTES = 1 << 13
"""Read to tell text from binary files."""


def name_corpora(corpora: Sequence[CorpusConfig], languages: Sequence[str]) -> list[str]:
    """Return the name of each corpus in reports and folders: as configured, or else its file name.

    Ambiguous file names are prefixed with the folder.
    """
    stems = [corpus.name or stem(Path(corpus.source), languages) for corpus in corpora]
    ambiguous = {name for name, count in Counter(stems).items() if count > 1}
    names = [
        f"{tidy(Path(corpus.source).absolute().parent.name)}-{name}" if name in ambiguous and not corpus.name else name
        for corpus, name in zip(corpora, stems, strict=True)
    ]
    for corpus, name in zip(corpora, names, strict=True):
        if tidy(name) != name:
            raise UserError(
                f"corpus name {name!r}: use letters, digits, underscores, dots and dashes; no leading dot or dash"
            )
        if names.count(name) > 1:
            raise UserError(f"{corpus.source}: another corpus is also named {name}; set a different name")
    return names


def stem(path: Path, languages: Sequence[str]) -> str:
    """Return the file name without suffixes: `train` for train.en.xz."""
    name = plain_name(path)
    while "." in name and name.rpartition(".")[2].lower() in (*FORMATS, *map(str.lower, languages)):
        name = name.rpartition(".")[0]
    return tidy(name) or "corpus"


def tidy(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).lstrip(".-")


class PairReader:
    """Reads the pairs of a corpus in order, raw, without line endings; `share` is the share read so far.

    In the trees of a treebank, every word has the tag `tree_tag`; None: its own."""

    def __init__(self, corpus: CorpusConfig, source: str, target: str, tree_tag: str | None = None) -> None:
        self.corpus, self.source, self.target, self.tree_tag = corpus, source, target, tree_tag
        self._streams: list[ByteStream] = []

    @property
    def share(self) -> float:
        size = sum(stream.size for stream in self._streams)
        return sum(stream.position for stream in self._streams) / size if size else 0.0

    def __iter__(self) -> Iterator[TextPair]:
        with ExitStack() as opened:
            self._streams = [opened.enter_context(ByteStream(path)) for path in corpus_files(self.corpus)]
            yield from self._read()
            self._streams = []

    def _read(self) -> Iterator[TextPair]:
        if self.corpus.target:
            return read_aligned(*self._streams)
        (stream,) = self._streams
        match suffix(stream.path):
            case ".tsv":
                return read_tsv(stream)
            case ".jsonl" | ".ndjson":
                return read_jsonl(stream, self.source, self.target)
            case ".tmx":
                return parse_tmx(stream, self.source, self.target)
            case kind if kind in TREEBANKS:
                return read_treebank(stream, self.tree_tag)
            case _:
                raise UserError(
                    f"{stream.path}: a single file with both sides must be .tsv, .jsonl, .tmx or .trees; "
                    "otherwise name the target file too"
                )


def read_pairs(corpus: CorpusConfig, source: str, target: str) -> Iterator[TextPair]:
    """Yield the pairs of a corpus in order: raw text, without line endings."""
    return iter(PairReader(corpus, source, target))


def is_treebank(corpus: CorpusConfig) -> bool:
    return not corpus.target and suffix(locate(corpus.source)) in TREEBANKS


def suffix(path: Path) -> str:
    """The end of a name that tells the format of a file, compressed or not."""
    return Path(plain_name(path)).suffix.lower()


def corpus_files(corpus: CorpusConfig) -> list[Path]:
    return [locate(name) for name in (corpus.source, corpus.target) if name]


def locate(name: str) -> Path:
    """Return the path of a file; `hark:sample/train.en.xz` is text bundled with the installed package."""
    return HERE / name.removeprefix(BUNDLED) if name.startswith(BUNDLED) else Path(name)


def read_aligned(source: ByteStream, target: ByteStream) -> Iterator[TextPair]:
    sources, targets = read_lines(source), read_lines(target)
    for count, (line, other) in enumerate(zip_longest(sources, targets)):
        if line is None or other is None:
            n_sources = count + (line is not None) + sum(1 for _ in sources)
            n_targets = count + (other is not None) + sum(1 for _ in targets)
            raise UserError(
                f"{source.path} has {n_sources} lines but {target.path} has {n_targets}; they must be line-aligned"
            )
        yield line, other


def read_tsv(stream: ByteStream) -> Iterator[TextPair]:
    for number, line in enumerate(read_lines(stream), start=1):
        if not line:
            yield "", ""
            continue
        columns = line.split("\t")
        if len(columns) == 4 and columns[3] in ("", "low"):  # from hark align: score, and the mark of doubtful pairs
            columns = columns[:2] if not columns[3] else ["", ""]
        if len(columns) != 2:
            raise UserError(f"{stream.path}:{number}: {len(columns)} columns; expected source, one tab, target")
        yield columns[0], columns[1]


def read_jsonl(stream: ByteStream, source: str, target: str) -> Iterator[TextPair]:
    """Read objects keyed by language code or `source` and `target`, also nested in `translation` (Hugging Face)."""
    for number, line in enumerate(read_lines(stream), start=1):
        if not line.strip():
            yield "", ""
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{stream.path}:{number}: not valid JSON: {error}") from None
        yield pick_pair(row, source, target, f"{stream.path}:{number}")


def pick_pair(row: Any, source: str, target: str, where: str) -> TextPair:
    if isinstance(row, dict) and isinstance(row.get("translation"), dict):
        row = row["translation"]
    if not isinstance(row, dict):
        raise UserError(f"{where}: not a JSON object")
    for keys in ((source, target), ("source", "target")):
        if all(key in row for key in keys):
            texts = [row[key] for key in keys]
            if not all(isinstance(text, str) for text in texts):
                raise UserError(f"{where}: {keys[0]} and {keys[1]} must be strings")
            return one_line(texts[0]), one_line(texts[1])
    raise UserError(f"{where}: expected keys {source} and {target}, or source and target")


def read_treebank(stream: ByteStream, tag: str | None) -> Iterator[TextPair]:
    """Read bracketed trees as pairs of a sentence, its words separated by spaces, and the symbols of its tree."""
    for tree in map(simplify, read_trees(read_lines(stream), str(stream.path))):
        yield (as_source(tree.words()), " ".join(linearise(tree, tag))) if tree else ("", "")


def one_line(text: str) -> str:
    """Replace line breaks and lone surrogates, which JSON can hold but lines of UTF-8 cannot."""
    text = text.replace("\r\n", " ").replace("\n", " ")
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def read_lines(stream: ByteStream) -> Iterator[str]:
    refuse_binary(stream)
    for number, line in enumerate(stream.lines(), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{stream.path}:{number}: not UTF-8 (byte {error.start + 1} of the line); convert it, e.g. with iconv"
            ) from None


def refuse_binary(stream: ByteStream) -> None:
    """Raise an error for UTF-16 and binary files. Stray NUL bytes in text are allowed."""
    head = stream.peek(HEAD_BYTES)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{stream.path}: UTF-16 text; convert it to UTF-8, e.g. with iconv")
    controls = sum(byte < 0x20 and byte not in b"\t\n\r" for byte in head)
    if controls > 0.3 * len(head) or ((b"\0" in head or controls > 0.03 * len(head)) and not is_utf8(head)):
        raise UserError(f"{stream.path}: binary file, not text")


def is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be incomplete
    except UnicodeDecodeError:
        return False
    return True
