"""Make text of user interfaces from the translations in Debian packages.

    python -m tools.debian_text FOLDER --to it nl pt [--packages FILE]

Downloads packages of Debian's `main` with apt, reads their gettext catalogues (tools/catalogues.py) and deletes them.
FOLDER gets catalogues.en-it.tsv.xz and so on (English TAB translation, each pair once, at most four translations of one
text), and packages.tsv: version, source package, pairs and main licence of each package, for attribution. Portuguese is
European; a Brazilian translation is used only where there is no European one, and these pairs come last.

FILE has one package name per line; names that this Debian release does not have are skipped with a note. Killed and
started again, the command continues: what is finished is in FOLDER/parts. Delete that folder to read all packages
again, with other rules or a newer Debian.
"""

import argparse
import errno
import json
import lzma
import os
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from hark.atomic import claim, clear, replace_file
from hark.errors import HarkError, UserError
from tools.catalogues import Pair, Tidy, read_catalogue
from tools.debian import Package, download, find_licence, group, look_up, read_package

LANGUAGES = ("de", "fr", "es", "it", "nl", "pt")
FALLBACKS = {"pt": ("pt_BR",)}
"""Locales that are read only where the language itself has no translation."""
PACKAGES = Path(__file__).with_name("debian_packages.txt")
MOST_TRANSLATIONS = 4


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


def read_names(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{path}: {reason}; name a file with one package name per line") from None
    names = [name for line in lines if (name := line.partition("#")[0].strip())]
    if wrong := next((name for name in names if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name)), None):
        raise UserError(f"{path}: {wrong!r} is not a package name; write one name per line")
    return list(dict.fromkeys(names))


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
