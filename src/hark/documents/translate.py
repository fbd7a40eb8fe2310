"""Translates a document: each distinct segment once, by the model or from a translation memory.

The finished segments of a translation in progress are in a file beside the output, so that a killed run continues.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from hark.documents.formats import Document, Segment, SegmentKey, SegmentOutcome
from hark.documents.messages import find_placeholders, keeps_placeholders
from hark.errors import HarkError, UserError
from hark.translate.translation import Reason, Translation, in_order

if TYPE_CHECKING:
    from hark.documents.memory import Memory  # it reads TMX as hark.data does, which takes long to import

CACHE_FORMAT = 1
TranslateTexts = Callable[[list[str], bool], Iterator[Translation]]
"""Translates texts in order; the flag asks for word links, which take time."""


def sample(document: Document, characters: int) -> Iterator[str]:
    """Texts from the beginning of a document, each with a line end, to detect its language."""
    size = 0
    for segment in document.segments:
        if size >= characters:
            break
        size += len(segment.text)
        yield segment.text + "\n"


@dataclass(frozen=True)
class TranslatedDocument:
    """The content of the translated file, and the outcome of each segment, in the order of the document."""

    content: bytes
    segments: tuple[Segment, ...]
    outcomes: tuple[SegmentOutcome, ...]


class DocumentJob:
    """The work on a document: which texts are still to be translated, and the outcomes of the others."""

    def __init__(
        self,
        document: Document,
        done: Mapping[SegmentKey, SegmentOutcome] | None = None,
        memory: "Memory | None" = None,
    ) -> None:
        """`done`: outcomes of an interrupted run."""
        self._document, self._memory = document, memory
        self.count = Counter((each.text, each.tagged) for each in document.segments)
        """The number of segments with each key."""
        self._outcomes: dict[SegmentKey, SegmentOutcome] = {}
        for key in self.count:
            if done and key in done:
                self._outcomes[key] = done[key]
            elif memory is not None and not key[1] and (text := memory.exact(key[0])) is not None:
                self._outcomes[key] = SegmentOutcome(text, origin="memory")

    def sample(self, characters: int) -> Iterator[str]:
        return sample(self._document, characters)

    @property
    def finished(self) -> int:
        """The number of segments that have an outcome."""
        return sum(self.count[key] for key in self._outcomes)

    def pending(self, tagged: bool) -> list[str]:
        """The texts still to be translated: of segments with tags, which need word links, or of those without."""
        return [text for text, has_tags in self.count if has_tags == tagged and (text, tagged) not in self._outcomes]

    def add(self, key: SegmentKey, translation: Translation) -> SegmentOutcome:
        """Take the model's translation of a text; what the memory knows replaces it."""
        outcome = SegmentOutcome.of_model(translation)
        if self._memory is not None:
            from hark.documents.memory import recall

            outcome = recall(self._memory, key, translation) or outcome
        self._outcomes[key] = outcome
        return outcome

    def finish(self) -> TranslatedDocument:
        """Write the document; every segment must have an outcome."""
        segments = tuple(self._document.segments)
        outcomes = tuple(flag_placeholders(each, self._outcomes[each.text, each.tagged]) for each in segments)
        return TranslatedDocument(self._document.write([each.placed for each in outcomes]), segments, outcomes)


def flag_placeholders(segment: Segment, outcome: SegmentOutcome) -> SegmentOutcome:
    """Flag the translation of a message that has other placeholders than its source: it is not written."""
    if not segment.message or keeps_placeholders(segment.text, outcome.text):
        return outcome
    if any(each.flag == "changed" for each in outcome.reasons):
        return outcome
    before, after = (Counter(find_placeholders(text)) for text in (segment.text, outcome.text))
    reason = Reason("changed", ", ".join(((before - after) + (after - before)).elements()))
    return replace(outcome, reasons=in_order([reason, *outcome.reasons]))


def cache_path(output: Path) -> Path:
    """Where the finished segments of an output file are kept until it is complete."""
    return output.with_name(f".{output.name}.segments")


class SegmentCache:
    """Outcomes of segments, one JSON object per line; a line that a kill cut off is dropped.

    Outcomes are found by text, so that they are still good if other parts of the input change. `settings` is
    everything else that they depend on: outcomes of other settings are dropped. On success the file is removed.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self._path = path
        self._file = _open_locked(path)
        self.done: dict[SegmentKey, SegmentOutcome] = {}
        header = {"format": CACHE_FORMAT, "settings": settings}
        end = self._read(header)
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._write(header)

    def add(self, key: SegmentKey, outcome: SegmentOutcome) -> None:
        """Keep an outcome. It is safe from a kill of the process as soon as this returns."""
        self.done[key] = outcome
        self._write({"source": key[0], "tagged": key[1], **outcome.to_json()})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file if the output is complete, or if it holds nothing."""
        if kind is None or not self.done:
            self._path.unlink(missing_ok=True)
        self._file.close()

    def _read(self, header: dict[str, Any]) -> int:
        """Read what an earlier run has finished; return the offset of the end of its last good line."""
        end = 0
        for line in self._file:
            try:
                row: Any = json.loads(line) if line.endswith(b"\n") else None
                if end == 0 and row != header:
                    return 0
                if end > 0:
                    self.done[row["source"], row["tagged"]] = SegmentOutcome.from_json(row)
            except (ValueError, KeyError, TypeError):
                return end
            end += len(line)
        return end

    def _write(self, row: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
            self._file.flush()
        except OSError as error:
            raise HarkError(f"{self._path}: cannot be written: {error.strerror}") from None


def _open_locked(path: Path) -> BinaryIO:
    import fcntl  # not every system has it

    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
    except FileNotFoundError:
        raise UserError(f"{path.parent}: no such folder") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise HarkError(f"{path}: another process is translating this file; wait for it to finish") from None
    except OSError:  # the file system has no locks
        pass
    return file


def translate_document(
    document: Document,
    translate: TranslateTexts,
    cache: SegmentCache | None = None,
    memory: "Memory | None" = None,
    advance: Callable[[int], object] = lambda _: None,
) -> TranslatedDocument:
    """Translate a document. `advance` is called with the number of segments that are finished since the last call."""
    job = DocumentJob(document, cache.done if cache else None, memory)
    advance(job.finished)
    for tagged in (False, True):
        texts = job.pending(tagged)
        for text, translation in zip(texts, translate(texts, tagged), strict=True):
            outcome = job.add((text, tagged), translation)
            if cache is not None:
                cache.add((text, tagged), outcome)
            advance(job.count[text, tagged])
    return job.finish()
