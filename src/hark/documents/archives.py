"""ZIP containers of office files and books: read with limits, and written with unchanged members as they were.

The standard library's `zipfile` reads the directory, but it can neither bound what a member inflates to nor copy a
member without compressing it again. Here, members that did not change keep their compressed bytes, and all members keep
their order, method, timestamp and attributes.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from hark.documents.formats import Document, DocumentError, Segment, SegmentTranslation

MAX_MEMBERS = 20_000
MAX_BYTES = 1 << 30
"""Maximum size of all members together, inflated."""
MAX_RATIO, RATIO_FROM = 150, 1 << 25
"""An archive that inflates to more than `RATIO_FROM` bytes may inflate at most this many times. Text: about 20."""
MAX_PART = 1 << 28
"""Maximum size of a member that is read, inflated."""
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_ENCRYPTED, _DESCRIPTOR = 0x1, 0x8
_ZIP64_EXTRA = 1


class Archive:
    """The members of a ZIP file in memory."""

    def __init__(self, content: bytes, kind: str) -> None:
        """Read the directory of an archive; `kind` names the format in errors, such as "DOCX"."""
        if content.startswith(_OLD_OFFICE):
            raise DocumentError(
                f"this {kind} file is password-protected or in the format before 2007: save it as {kind}"
            )
        self._content, self._kind = content, kind
        try:
            with ZipFile(BytesIO(content)) as opened:
                self._members, self._comment = opened.infolist(), opened.comment
        except (BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError) as error:
            raise DocumentError(f"not a valid {kind} file, or a damaged one: {error}") from error
        self._by_name = {each.filename: each for each in self._members}
        self._starts = {each.filename: self._check(each) for each in self._members}
        self._check_all()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def read(self, name: str) -> bytes:
        member = self._by_name.get(name)
        if member is None:
            raise DocumentError(f"not a valid {self._kind} file: it has no {name}")
        if member.file_size > MAX_PART:
            raise DocumentError(f"{name} in this {self._kind} file is larger than {MAX_PART >> 20} MiB")
        content = self._stored(member)
        if member.compress_type == ZIP_DEFLATED:
            inflating = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                content = inflating.decompress(content, member.file_size + 1)
            except zlib.error as error:
                raise DocumentError(f"damaged {self._kind} file: {name}: {error}") from error
        elif member.compress_type != ZIP_STORED:
            raise DocumentError(f"{name} in this {self._kind} file is compressed in a way that hark cannot read")
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise DocumentError(f"damaged {self._kind} file: {name} is not what the directory says")
        return content

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the archive with some members replaced; without a change, the same bytes."""
        changed = {name: content for name, content in changed.items() if content != self.read(name)}
        if not changed:
            return self._content
        output, directory = bytearray(), bytearray()
        written: dict[str, tuple[int, tuple[int, ...]]] = {}  # where each member is, and its fields
        for member in sorted(self._members, key=lambda each: each.header_offset):
            name = member.filename
            crc, size, data = member.CRC, member.file_size, self._stored(member)
            if name in changed:
                content = changed[name]
                crc, size, data = zlib.crc32(content), len(content), content
                if member.compress_type == ZIP_DEFLATED:
                    deflating = zlib.compressobj(wbits=-zlib.MAX_WBITS)
                    data = deflating.compress(content) + deflating.flush()
            fields = _fields(member, crc, len(data), size)
            written[name] = len(output), fields
            extra = _without_zip64(self._local_extra(member))
            output += _LOCAL.pack(b"PK\x03\x04", min(member.extract_version, 20), *fields, len(extra))
            output += _name_bytes(member) + extra + data
        for member in self._members:
            offset, fields = written[member.filename]
            extra = _without_zip64(member.extra)
            directory += _CENTRAL.pack(
                b"PK\x01\x02",
                member.create_version,
                member.create_system,
                min(member.extract_version, 20),
                member.reserved,
                *fields,
                len(extra),
                len(member.comment),
                0,
                member.internal_attr,
                member.external_attr,
                offset,
            )
            directory += _name_bytes(member) + extra + member.comment
        count = len(self._members)
        end = _END.pack(b"PK\x05\x06", 0, 0, count, count, len(directory), len(output), len(self._comment))
        return bytes(output + directory + end + self._comment)

    def _check(self, member: ZipInfo) -> int:
        """Refuse a member that is unsafe; return where its data begins."""
        name = member.orig_filename
        parts = name.replace("\\", "/").split("/")
        if ".." in parts or not parts[0] or ":" in parts[0] or not name.isprintable() or len(name) > 1000:
            raise DocumentError(f"unsafe {self._kind} file: a member is named {name[:100]!r}")
        if member.flag_bits & _ENCRYPTED:
            raise DocumentError(f"this {self._kind} file is password-protected")
        header = self._content[member.header_offset : member.header_offset + _LOCAL.size]
        if len(header) < _LOCAL.size or not header.startswith(b"PK\x03\x04"):
            raise DocumentError(f"damaged {self._kind} file: {name} is not where the directory says")
        *_, name_size, extra_size = _LOCAL.unpack(header)
        start: int = member.header_offset + _LOCAL.size + name_size + extra_size
        if start + member.compress_size > len(self._content):
            raise DocumentError(f"damaged {self._kind} file: it ends within {name}")
        if self._content[start - extra_size - name_size : start - extra_size] != _name_bytes(member):
            raise DocumentError(f"unsafe {self._kind} file: {name} has two names")
        return start

    def _check_all(self) -> None:
        """Refuse zip bombs and names that programs would read in different ways."""
        if len(self._members) > MAX_MEMBERS:
            raise DocumentError(
                f"this {self._kind} file has {len(self._members):,} members; the limit is {MAX_MEMBERS:,}"
            )
        if len({each.filename.casefold() for each in self._members}) < len(self._members):
            raise DocumentError(f"unsafe {self._kind} file: two members have the same name")
        end = 0
        for member in sorted(self._members, key=lambda each: each.header_offset):
            if member.header_offset < end:
                raise DocumentError(f"unsafe {self._kind} file: its members overlap")
            end = self._starts[member.filename] + member.compress_size
        total = sum(each.file_size for each in self._members)
        if total > MAX_BYTES or (total > RATIO_FROM and total > MAX_RATIO * len(self._content)):
            raise DocumentError(f"this {self._kind} file is too large: it inflates to {total / 2**20:,.0f} MiB")

    def _stored(self, member: ZipInfo) -> bytes:
        start = self._starts[member.filename]
        return self._content[start : start + member.compress_size]

    def _local_extra(self, member: ZipInfo) -> bytes:
        size = _LOCAL.unpack_from(self._content, member.header_offset)[-1]
        end = self._starts[member.filename]
        return self._content[end - size : end]


class ArchiveDocument:
    """A document in an archive, some of whose members are documents themselves."""

    def __init__(self, archive: Archive, parts: Mapping[str, Document]) -> None:
        self._archive, self._parts = archive, parts
        self.segments: Sequence[Segment] = tuple(segment for part in parts.values() for segment in part.segments)

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        """Return the archive with the translations in its members; as it was if nothing was translated.

        Otherwise members also get the language and direction of the target.
        """
        same = all(new.text == old.text for new, old in zip(translations, self.segments, strict=True))
        return self._archive.write({} if same else dict(self._written(translations)))

    def _written(self, translations: Sequence[SegmentTranslation]) -> Iterator[tuple[str, bytes]]:
        end = 0
        for name, part in self._parts.items():
            start, end = end, end + len(part.segments)
            yield name, part.write(translations[start:end])


def _fields(member: ZipInfo, crc: int, compressed: int, size: int) -> tuple[int, ...]:
    """The fields that local headers and the directory share."""
    year, month, day, hour, minute, second = member.date_time
    time, date = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    flags = member.flag_bits & ~_DESCRIPTOR
    return flags, member.compress_type, time, date, crc, compressed, size, len(_name_bytes(member))


def _name_bytes(member: ZipInfo) -> bytes:
    return member.orig_filename.encode("utf-8" if member.flag_bits & 0x800 else "cp437")


def _without_zip64(extra: bytes) -> bytes:
    """Extra fields of a member without the one for sizes from 4 GiB, which some programs always write."""
    kept, place = bytearray(), 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, place)
        if kind != _ZIP64_EXTRA:
            kept += extra[place : place + 4 + size]
        place += 4 + size
    return bytes(kept)
