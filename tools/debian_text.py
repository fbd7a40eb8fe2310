"""Make text of user interfaces from the translations in Debian packages.

    python -m tools.debian_text FOLDER --to it nl pt [--packages FILE]

Downloads packages of Debian's `main` with apt, reads their gettext catalogues (tools/catalogues.py) and deletes them.
FOLDER gets catalogues.en-it.tsv.xz and so on (English TAB translation, each pair once, at most four translations of one
text), and packages.tsv: version, source package, pairs and main licence of each package, for attribution. Portuguese is
that of Portugal; a Brazilian translation is taken only of a text that has no other, and all of those stand at the end.

FILE has a package name a line; names that this Debian release does not have are skipped with a note. Killed and started
again, the command continues: what is finished is in FOLDER/parts. Delete that folder to read all packages anew, with
other rules or a newer Debian.
"""

import argparse
import errno
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from hark.atomic import claim, clear, replace_file
from hark.errors import HarkError, UserError
from tools.catalogues import Pair, Tidy, read_catalogue

LANGUAGES = ("de", "fr", "es", "it", "nl", "pt")
FALLBACKS = {"pt": ("pt_BR",)}
"""Locales that are read only where the language itself has no translation."""
PACKAGES = Path(__file__).with_name("debian_packages.txt")
GROUP, GROUP_BYTES = 10, 50_000_000
"""Packages that one call of apt downloads: it takes a second to start, and all of them lie on the disk together."""
MOST_TRANSLATIONS = 4

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


@dataclass(frozen=True)
class Part:
    """What one package gave: its licence, and pairs by locale (`pt_BR` beside `pt`)."""

    name: str
    version: str
    source: str
    licence: str
    languages: list[str]
    pairs: dict[str, list[Pair]]

    def save(self, path: Path) -> None:
        replace_file(path, lzma.compress(json.dumps(asdict(self), ensure_ascii=False).encode(), preset=1))

    @classmethod
    def load(cls, path: Path) -> "Part":
        tree = json.loads(lzma.decompress(path.read_bytes()))
        tree["pairs"] = {name: [(en, other) for en, other in pairs] for name, pairs in tree["pairs"].items()}
        return cls(**tree)


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


def read_names(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{path}: {reason}; name a file with a package name a line") from None
    names = [name for line in lines if (name := line.partition("#")[0].strip())]
    if wrong := next((name for name in names if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name)), None):
        raise UserError(f"{path}: {wrong!r} is not the name of a package; write one name a line")
    return list(dict.fromkeys(names))


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
    """The licence of all files which have no other, or the ones that a copyright file without fields names."""
    if found := LICENCE.search(text):
        return " ".join(found[1].split())
    words = " ".join(text.split())
    return "/".join(name for name, pattern in NAMED_LICENCES.items() if re.search(pattern, words)) or UNKNOWN


def read_pairs(catalogues: Iterable[bytes], tidy: Tidy) -> Iterator[Pair]:
    for data in catalogues:
        try:
            messages = list(read_catalogue(data))
        except ValueError:
            continue  # a damaged file; the package has others
        for english, other in messages:
            yield from tidy(english, other)


def make_part(package: Package, path: Path, languages: Iterable[str]) -> Part:
    tidies = {locale: tidy(language) for language in languages for locale in locales(language)}
    copyright_text, catalogues = read_package(path, set(tidies))
    pairs = {locale: list(dict.fromkeys(read_pairs(catalogues.get(locale, ()), tidies[locale]))) for locale in tidies}
    return Part(package.name, package.version, package.source, find_licence(copyright_text), [*languages], pairs)


@cache
def tidy(language: str) -> Tidy:
    return Tidy(language)


def locales(language: str) -> list[str]:
    """The locales of a language, from the one that is preferred."""
    return [language, *FALLBACKS.get(language, ())]


def collect(names: Sequence[str], languages: Sequence[str], folder: Path) -> list[Path]:
    """Make the parts of all packages that this Debian has; return their files."""
    parts = {name: folder / "parts" / f"{name}.json.xz" for name in names}
    known = {name: Part.load(path).languages for name, path in parts.items() if path.exists()}
    open_names = [name for name in names if not set(languages) <= set(known.get(name, ()))]
    if not open_names:
        return list(parts.values())
    packages = look_up(open_names)
    if not packages and not known:
        raise UserError("apt knows none of these packages: run `apt-get update` as root first")
    for name in open_names:
        if name not in packages:
            sys.stderr.write(f"{name}: skipped, not in main of this Debian release\n")
    scratch = folder / "scratch"
    lock = claim(scratch, folder)
    number = len(names) - len(open_names)
    try:
        clear(scratch)
        for some in group(packages.values()):
            files = download(some, scratch)
            for package in some:
                wanted = dict.fromkeys((*known.get(package.name, ()), *languages))
                part = make_part(package, files[package.name], list(wanted))
                part.save(parts[package.name])
                files[package.name].unlink()
                number += 1
                counts = ", ".join(f"{locale} {len(pairs):,}" for locale, pairs in part.pairs.items())
                size = f"{package.size / 1e6:.1f} MB"
                sys.stderr.write(f"{number}/{len(names)} {package.name} {package.version} ({size}): {counts}\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)
    return [path for path in parts.values() if path.exists()]


def choose(parts: Sequence[Part], language: str) -> dict[Pair, str]:
    """The pairs of a language, each with the package it came from first."""
    chosen: dict[Pair, str] = {}
    for locale in locales(language):
        frequency = Counter(pair for part in parts for pair in part.pairs.get(locale, ()))
        known = {english for english, _ in chosen}
        translations: dict[str, list[str]] = defaultdict(list)
        for (english, other), _ in frequency.most_common():
            if english not in known and len(translations[english]) < MOST_TRANSLATIONS:
                translations[english].append(other)
        for part in parts:
            for english, other in part.pairs.get(locale, ()):
                if other in translations[english]:
                    chosen.setdefault((english, other), part.name)
    return chosen


def write_text(folder: Path, paths: Iterable[Path], languages: Sequence[str]) -> None:
    """Write the pairs of each language and the table of packages, and print how much there is."""
    parts = [Part.load(path) for path in paths]
    taken, notes = {}, []
    sys.stdout.write("| file | pairs | English words | other words | bytes |\n|---|---:|---:|---:|---:|\n")
    for language in languages:
        chosen = choose(parts, language)
        taken[language] = Counter(chosen.values())
        name = f"catalogues.en-{language}.tsv.xz"
        text = "".join(f"{english}\t{other}\n" for english, other in chosen)
        content = lzma.compress(text.encode(), preset=2)  # the default: a sixth smaller, three times slower
        replace_file(folder / name, content)
        words = [sum(len(pair[side].split()) for pair in chosen) for side in (0, 1)]
        sys.stdout.write(f"| {name} | {len(chosen):,} | {words[0]:,} | {words[1]:,} | {len(content):,} |\n")
        own = {pair for part in parts for pair in part.pairs.get(language, ())}
        for borrowed in FALLBACKS.get(language, ()):
            notes.append(f"{name}: the last {len(chosen.keys() - own):,} pairs are {borrowed}\n")
    sys.stdout.writelines(notes)
    rows = [["package", "version", "source", *(f"pairs_{language}" for language in languages), "main_licence"]]
    for part in parts:
        counts = [taken[language][part.name] for language in languages]
        if any(counts):
            rows.append([part.name, part.version, part.source, *map(str, counts), part.licence])
    replace_file(folder / "packages.tsv", "".join("\t".join(row) + "\n" for row in rows).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", nargs="+", required=True, choices=LANGUAGES, metavar="LANGUAGE", dest="languages")
    parser.add_argument("--packages", type=Path, default=PACKAGES, help=f"by default tools/{PACKAGES.name}")
    asked = parser.parse_args()
    languages = list(dict.fromkeys(asked.languages))
    try:
        names = read_names(asked.packages)
        (asked.folder / "parts").mkdir(parents=True, exist_ok=True)
        write_text(asked.folder, collect(names, languages, asked.folder), languages)
    except UserError as error:
        sys.exit(f"debian_text: {error}")
    except HarkError as error:
        sys.exit(f"debian_text: {error}; the same command continues where it stopped")
    except OSError as error:
        way = "free some space" if error.errno == errno.ENOSPC else "name another folder"
        sys.exit(
            f"debian_text: {error.filename or asked.folder}: {error.strerror}; {way} and run the same command again"
        )
    except KeyboardInterrupt:
        sys.exit("debian_text: stopped; the same command continues")


if __name__ == "__main__":
    main()
