"""Downloads Debian packages with apt, and reads gettext catalogues and licences from them."""

import gzip
import lzma
import os
import re
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hark.errors import HarkError, UserError

GROUP, GROUP_BYTES = 10, 50_000_000
"""The most packages and bytes that one call of apt downloads: it takes a second to start, and keeps all on disk."""

MAIN = re.compile(r"pool/(?:updates/)?main/")
CATALOGUE = re.compile(r"(?:^|/)(\w\w(?:[_-]\w\w)?)(?:\.[\w-]+)?/LC_MESSAGES/[^/]+\.mo$")
COPYRIGHT = re.compile(r"usr/share/doc/[^/]+/copyright(?:\.gz)?$")
LICENCE = re.compile(r"^Files:[ \n]*\*[ \n][\s\S]*?^License:[ \t]*(\S.*)$", re.MULTILINE)
NAMED_LICENCES = {  # in free text
    "AGPL": r"Affero General Public",
    "LGPL": r"(?:Lesser|Library) General Public",
    "GPL": r"(?<!Affero )(?<!Lesser )(?<!Library )General Public Licen[cs]e|\bGPL\b",
    "MPL": r"Mozilla Public",
    "Apache": r"Apache Licen[cs]e",
    "BSD": r"Redistribution and use in source and binary forms|\bBSD\b",
    "MIT": r"Permission is hereby granted, free of charge",
    "Artistic": r"Artistic Licen[cs]e",
    "public domain": r"public domain",
}
UNKNOWN = "?"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    source: str
    size: int


def apt(command: str, *words: str, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            [command, *words],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise UserError(f"{command} is missing: run this on Debian, or in a container of it") from None


def look_up(names: Sequence[str]) -> dict[str, Package]:
    """The packages of Debian's main that apt knows, by name."""
    found = {}
    for paragraph in apt("apt-cache", "show", "--no-all-versions", *names).stdout.split("\n\n"):
        fields: dict[str, str] = dict(
            re.findall(r"^(Package|Version|Source|Size|Filename): (.*)$", paragraph, re.MULTILINE)
        )
        if MAIN.match(fields.get("Filename", "")):
            name = fields["Package"]
            source = fields.get("Source", name).split()[0]
            found[name] = Package(name, fields["Version"], source, int(fields["Size"]))
    return found


def group(packages: Iterable[Package]) -> Iterator[list[Package]]:
    some: list[Package] = []
    for package in packages:
        if some and (len(some) == GROUP or sum(each.size for each in some) + package.size > GROUP_BYTES):
            yield some
            some = []
        some.append(package)
    if some:
        yield some


def download(packages: Sequence[Package], folder: Path) -> dict[str, Path]:
    """Download packages to an empty folder; return their files by name."""
    done = apt("apt-get", "download", *(f"{each.name}={each.version}" for each in packages), folder=folder)
    files = {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}
    if done.returncode or not all(each.name in files for each in packages):
        reason = next((line for line in done.stderr.splitlines() if line.startswith("E: ")), "E: apt-get failed")
        raise HarkError(
            f"cannot download packages ({reason[3:]}): check the network, the free space, and `apt-get update`"
        )
    return files


def open_package(file: BinaryIO) -> tarfile.TarFile:
    """The files of a .deb: an ar archive that ends with data.tar.*."""
    if file.read(8) != b"!<arch>\n":
        raise tarfile.ReadError("not a Debian package")
    while len(header := file.read(60)) == 60:
        if header.startswith(b"data.tar"):
            return tarfile.open(fileobj=file, mode="r|*")
        length = int(header[48:58])
        file.seek(length + length % 2, os.SEEK_CUR)
    raise tarfile.ReadError("no data in the package")


def read_package(path: Path, locales: set[str]) -> tuple[str, dict[str, list[bytes]]]:
    """The copyright file of a package, and its catalogues by locale."""
    copyright_text = ""
    catalogues: dict[str, list[bytes]] = defaultdict(list)
    try:
        with path.open("rb") as file, open_package(file) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                content = archive.extractfile(member)
                if content and COPYRIGHT.search(member.name):
                    text = content.read()
                    text = gzip.decompress(text) if member.name.endswith(".gz") else text
                    copyright_text = copyright_text or text.decode("utf-8", "replace")
                found = CATALOGUE.search(member.name)
                if content and found and (locale := plain_locale(found[1])) in locales:
                    catalogues[locale].append(content.read())
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise HarkError(f"{path.name}: cannot be read ({error}); check the free space") from None
    return copyright_text, catalogues


def plain_locale(name: str) -> str:
    """The locale without the language's own country: it for it_IT, but pt_BR."""
    language, _, country = name.replace("-", "_").partition("_")
    return language if country.lower() in ("", language) else f"{language}_{country.upper()}"


def find_licence(text: str) -> str:
    """The licence of all files that name no other, or those that a copyright file in free text mentions."""
    if found := LICENCE.search(text):
        return " ".join(found[1].split())
    words = " ".join(text.split())
    return "/".join(name for name, pattern in NAMED_LICENCES.items() if re.search(pattern, words)) or UNKNOWN
