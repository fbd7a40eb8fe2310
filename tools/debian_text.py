"""Make text of user interfaces from the translations in Debian packages.

    python -m tools.debian_text FOLDER --to it nl pt [--packages FILE]

Downloads packages of Debian's `main` with apt, reads their gettext catalogues (tools/catalogues.py) and deletes them.
FOLDER gets catalogues.en-it.tsv.xz and so on (English TAB translation, each pair once, at most four translations of one
text), and packages.tsv: version, source package, pairs and main licence of each package, for attribution. Portuguese is
European; a Brazilian translation is used only where there is no European one, and these pairs come last.

FILE has one package name per line; names that this Debian release does not have are skipped with a note.
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from tools.catalogues import Pair, Tidy, read_catalogue
from tools.voice_text import write_rows

LANGUAGES = ("de", "fr", "es", "it", "nl", "pt")
FALLBACKS = {"pt": ("pt_BR",)}
"""Locales that are read only where the language itself has no translation."""
PACKAGES = Path(__file__).with_name("debian_packages.txt")
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


@dataclass(frozen=True)
class PackageText:
    """What one package gave: its licence, and pairs by locale (`pt_BR` beside `pt`)."""

    package: Package
    licence: str
    pairs: dict[str, list[Pair]]


def apt(command: str, *words: str, folder: Path | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [command, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, errors="replace", check=False
    )
    return done.stdout


def read_names(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(name for line in lines if (name := line.partition("#")[0].strip())))


def look_up(names: Sequence[str]) -> dict[str, Package]:
    """The packages of Debian's main that apt knows, by name."""
    found = {}
    for paragraph in apt("apt-cache", "show", "--no-all-versions", "--", *names).split("\n\n"):
        fields: dict[str, str] = dict(re.findall(r"^(Package|Version|Source|Filename): (.*)$", paragraph, re.MULTILINE))
        if MAIN.match(fields.get("Filename", "")):
            name = fields["Package"]
            found[name] = Package(name, fields["Version"], fields.get("Source", name).split()[0])
    return found


def read_package(package: Package, languages: Sequence[str]) -> PackageText:
    """Download a package, and read it."""
    tidies = {locale: Tidy(language) for language in languages for locale in locales(language)}
    with TemporaryDirectory() as folder:
        apt("apt-get", "download", f"{package.name}={package.version}", folder=Path(folder))
        files = list(Path(folder).glob("*.deb"))
        if not files:
            raise SystemExit(f"{package.name}: cannot be downloaded: check the network, and `apt-get update`")
        copyright_text, catalogues = read_files(files[0], set(tidies))
    pairs = {locale: list(dict.fromkeys(read_pairs(catalogues[locale], tidies[locale]))) for locale in tidies}
    return PackageText(package, find_licence(copyright_text), pairs)


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


def read_files(path: Path, locales: set[str]) -> tuple[str, dict[str, list[bytes]]]:
    """The copyright file of a package, and its catalogues by locale."""
    copyright_text = ""
    catalogues: dict[str, list[bytes]] = defaultdict(list)
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


def read_pairs(catalogues: Iterable[bytes], tidy: Tidy) -> Iterator[Pair]:
    for data in catalogues:
        try:
            messages = list(read_catalogue(data))
        except ValueError:
            continue  # a damaged file; the package has others
        for english, other in messages:
            yield from tidy(english, other)


def locales(language: str) -> list[str]:
    """The locales of a language, from the one that is preferred."""
    return [language, *FALLBACKS.get(language, ())]


def choose(parts: Sequence[PackageText], language: str) -> dict[Pair, str]:
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
                    chosen.setdefault((english, other), part.package.name)
    return chosen


def write_text(folder: Path, parts: Sequence[PackageText], languages: Sequence[str]) -> None:
    """Write the pairs of each language and the table of packages, and print how much there is."""
    taken = {}
    for language in languages:
        chosen = choose(parts, language)
        taken[language] = Counter(chosen.values())
        name = f"catalogues.en-{language}.tsv.xz"
        write_rows(folder / name, chosen)
        own = {pair for part in parts for pair in part.pairs[language]}
        sys.stdout.write(
            f"{name}: {len(chosen):,} pairs, of which the last {len(chosen.keys() - own):,} are fallbacks\n"
        )
    rows = [["package", "version", "source", *(f"pairs_{language}" for language in languages), "main_licence"]]
    for part in parts:
        package, counts = part.package, [taken[language][part.package.name] for language in languages]
        if any(counts):
            rows.append([package.name, package.version, package.source, *map(str, counts), part.licence])
    (folder / "packages.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", nargs="+", required=True, choices=LANGUAGES, metavar="LANGUAGE", dest="languages")
    parser.add_argument("--packages", type=Path, default=PACKAGES, help=f"by default tools/{PACKAGES.name}")
    asked = parser.parse_args()
    languages, names = list(dict.fromkeys(asked.languages)), read_names(asked.packages)
    packages = look_up(names)
    if not packages:
        raise SystemExit("apt knows none of these packages: run `apt-get update` as root first")
    parts = []
    for number, name in enumerate(names, 1):
        if name not in packages:
            sys.stderr.write(f"{name}: skipped, not in main of this Debian release\n")
            continue
        parts.append(read_package(packages[name], languages))
        counts = ", ".join(f"{locale} {len(pairs):,}" for locale, pairs in parts[-1].pairs.items())
        sys.stderr.write(f"{number}/{len(names)} {name} {packages[name].version}: {counts}\n")
    asked.folder.mkdir(parents=True, exist_ok=True)
    write_text(asked.folder, parts, languages)


if __name__ == "__main__":
    main()
