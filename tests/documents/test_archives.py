"""Archives are read within limits, and written with everything but the changed members as it was."""

import struct
import zlib
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest

from hark.documents import archives
from hark.documents.archives import Archive
from hark.documents.formats import DocumentError


def packed(members: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    output = BytesIO()
    with ZipFile(output, "w") as archive:
        for number, (name, content) in enumerate(members.items()):
            info = ZipInfo(name, (2001, 2, 3, 4, 5, 2 * number))
            info.compress_type = ZIP_STORED if name == "mimetype" else method
            info.external_attr, info.comment, info.create_system = 0o600 << 16, b"remark", 3
            archive.writestr(info, content)
        archive.comment = b"the end"
    return output.getvalue()


MEMBERS = {"mimetype": b"kind", "b.xml": b"<b/>" * 100, "a/c.xml": b"<c/>" * 90, "grün.xml": b"<d/>"}


def facts(content: bytes) -> list[tuple[object, ...]]:
    with ZipFile(BytesIO(content)) as archive:
        assert archive.testzip() is None
        return [
            (each.filename, each.date_time, each.compress_type, each.external_attr, each.comment, each.create_system)
            for each in archive.infolist()
        ]


def compressed(content: bytes, name: str) -> bytes:
    with ZipFile(BytesIO(content)) as archive:
        info = archive.getinfo(name)
    start = info.header_offset + 30 + sum(struct.unpack_from("<2H", content, info.header_offset + 26))
    return content[start : start + info.compress_size]


def test_without_a_change_the_bytes_are_the_same() -> None:
    content = packed(MEMBERS)
    archive = Archive(content, "DOCX")
    assert archive.names == tuple(MEMBERS)
    assert archive.write({}) == content
    assert archive.write({"b.xml": MEMBERS["b.xml"]}) == content


def test_a_change_leaves_the_other_members_and_all_attributes() -> None:
    content = packed(MEMBERS)
    written = Archive(content, "DOCX").write({"b.xml": b"new", "grün.xml": b""})
    assert facts(written) == facts(content)
    with ZipFile(BytesIO(written)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            **MEMBERS,
            "b.xml": b"new",
            "grün.xml": b"",
        }
        assert archive.comment == b"the end"
    for name in ("mimetype", "a/c.xml"):
        assert compressed(written, name) == compressed(content, name)
    assert written[30:42] == b"mimetypekind"  # readers of ODF and EPUB look for the type at this place
    assert Archive(written, "DOCX").read("b.xml") == b"new"


def test_streamed_members_and_sizes_of_zip64() -> None:
    """Written to a pipe: sizes follow the data, and the headers are those of large files."""

    class Pipe(BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise OSError

    output = Pipe()
    with ZipFile(output, "w", ZIP_DEFLATED) as archive:
        for name, content in MEMBERS.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(content)
    written = Archive(output.getvalue(), "XLSX").write({"b.xml": b"new"})
    with ZipFile(BytesIO(written)) as read:
        assert read.testzip() is None
        assert read.read("b.xml") == b"new"
        assert read.read("a/c.xml") == MEMBERS["a/c.xml"]


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/passwd", "a/../../b", "..\\b", "C:/b", "\\b", "a\nb"])
def test_path_tricks_are_refused(name: str) -> None:
    with pytest.raises(DocumentError, match="unsafe DOCX file"):
        Archive(packed({"a.xml": b"", name: b""}), "DOCX")


def test_duplicates_are_refused() -> None:
    content = packed({"a.xml": b"1", "b.xml": b"2"}).replace(b"b.xml", b"A.xml")
    with pytest.raises(DocumentError, match="same name"):
        Archive(content, "DOCX")


def test_two_names_of_one_member_are_refused() -> None:
    content = packed({"a.xml": b"1"}).replace(b"a.xml", b"b.xml", 1)
    with pytest.raises(DocumentError, match="two names"):
        Archive(content, "DOCX")


def test_overlapping_members_are_refused() -> None:
    """As in the zip bombs that quote one compressed kernel thousands of times."""
    content = bytearray(packed({"a.xml": b"1" * 100, "b.xml": b"2" * 100}))
    with ZipFile(BytesIO(content)) as archive:
        place = content.rindex(b"PK\x01\x02")
        struct.pack_into("<L", content, place + 42, archive.getinfo("a.xml").header_offset)
    content[place + 46 : place + 51] = b"a.xml"
    with pytest.raises(DocumentError, match="same name"):
        Archive(bytes(content), "DOCX")
    nested = packed({"b.xml": b""})[: 30 + 5]
    content = bytearray(packed({"a.xml": nested + b"2" * 100, "b.xml": b"2"}, ZIP_STORED))
    place = content.rindex(b"PK\x01\x02")
    struct.pack_into("<L", content, place + 42, content.index(nested))
    with pytest.raises(DocumentError, match="overlap"):
        Archive(bytes(content), "DOCX")


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "RATIO_FROM", 1 << 16)
    with pytest.raises(DocumentError, match="too large: it inflates to"):
        Archive(packed({"a.xml": bytes(1 << 20)}), "DOCX")
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    with pytest.raises(DocumentError, match="too large"):
        Archive(packed({"a.xml": b"0123456789" * 101}, ZIP_STORED), "DOCX")
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(DocumentError, match="3 members; the limit is 2"):
        Archive(packed({"a": b"", "b": b"", "c": b""}), "DOCX")


def test_a_member_that_inflates_to_more_than_it_says_is_refused() -> None:
    content = bytearray(packed({"a.xml": bytes(1 << 20)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", content, content.index(signature) + offset, 10)
    with pytest.raises(DocumentError, match="damaged"):
        Archive(bytes(content), "DOCX").read("a.xml")


def test_members_beyond_the_limit_are_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_PART", 10)
    archive = Archive(packed({"a.xml": b"12345678901"}), "DOCX")
    with pytest.raises(DocumentError, match=r"a\.xml in this DOCX file is larger than"):
        archive.read("a.xml")


def test_damage_is_one_line() -> None:
    good = packed({"a.xml": b"text" * 100, "b.xml": b"more"})
    encrypted = bytearray(good)
    encrypted[good.index(b"PK\x01\x02") + 8] |= 1
    for content, message in (
        (b"", "not a valid DOCX file"),
        (b"text", "not a valid DOCX file"),
        (good[:-30], "not a valid DOCX file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "password-protected or in the format before 2007"),
        (bytes(encrypted), "password-protected"),
    ):
        with pytest.raises(DocumentError, match=message) as caught:
            Archive(content, "DOCX")
        assert "\n" not in str(caught.value)
    flipped = bytearray(good)
    flipped[40] ^= 0xFF
    with pytest.raises(DocumentError, match="damaged"):
        Archive(bytes(flipped), "DOCX").read("a.xml")
    with pytest.raises(DocumentError, match=r"has no word/document\.xml"):
        Archive(good, "DOCX").read("word/document.xml")
    with pytest.raises(DocumentError, match="cannot read"):
        Archive(packed({"a.xml": b"text"}, ZIP_BZIP2), "DOCX").read("a.xml")


def test_truncated_everywhere() -> None:
    """No cut or flipped byte gives anything but an error of ours, or the members as they were."""
    good = packed({"a.xml": b"text" * 20, "b.xml": b"more"})
    for place in range(len(good)):
        broken = bytearray(good)
        broken[place] ^= 0x55
        for content in (good[:place], bytes(broken)):
            try:
                archive = Archive(content, "DOCX")
                for name in archive.names:
                    assert zlib.crc32(archive.read(name)) in (zlib.crc32(b"text" * 20), zlib.crc32(b"more"))
            except DocumentError:
                pass
