"""Gather the words of apps of daily life, translated by their users, for tools/voice_text.py.

    python -m tools.app_text MIRROR -o FOLDER

MIRROR has bare git folders OWNER+NAME/repo of the repositories below; those that are missing are skipped with a note.
FOLDER gets apps.en-de.tsv.xz and so on. Portuguese is that of Portugal.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polib  # type: ignore[import-untyped]
import yaml  # type: ignore[import-untyped]
from lxml import etree

from tools.catalogues import Tidy
from tools.found_text import Repository
from tools.voice_text import LANGUAGES, write_rows

APPS = {
    "RocketChat/Rocket.Chat": ("packages/i18n/src/locales/{}.i18n.json",),
    "babybuddy/babybuddy": ("locale/{}/LC_MESSAGES/django.po",),
    "bitwarden/clients": (
        "apps/browser/src/_locales/{}/messages.json", "apps/desktop/src/locales/{}/messages.json",
        "apps/web/src/locales/{}/messages.json",
    ),
    "calcom/cal.com": ("packages/i18n/locales/{}/common.json",),
    "consuldemocracy/consuldemocracy": ("config/locales/{}/*.yml",),
    "decidim/decidim": ("decidim-*/config/locales/{}.yml",),
    "discourse/discourse": (
        "config/locales/client.{}.yml", "config/locales/server.{}.yml", "plugins/*/config/locales/*.{}.yml",
    ),
    "grocy/grocy": ("localization/{}/*.po",),
    "lichess-org/lila": ("translation/dest/*/{}.xml",),
    "loomio/loomio": ("config/locales/client.{}.yml", "config/locales/server.{}.yml"),
    "lukevella/rallly": ("apps/*/public/locales/{}/*.json",),
    "monicahq/monica": ("lang/{}.json",),
    "mtotschnig/MyExpenses": ("*/src/main/res/values-{}/*.xml", "business/*/values-{}/strings.xml"),
    "opencollective/opencollective-frontend": ("lang/{}.json",),
    "openfoodfacts/smooth-app": ("packages/smooth_app/lib/l10n/app_{}.arb",),
    "streetcomplete/StreetComplete": ("app/src/commonMain/composeResources/values-{}/strings.xml",),
    "woocommerce/woocommerce-android": ("WooCommerce/src/main/res/values-{}/strings.xml",),
}  # fmt: skip
"""The files of a repository with a language's text; what stands for {} is the language."""
LOCALES = {
    "en": ("en", "en-US", "en_US"), "de": ("de", "de-DE", "de_DE"), "fr": ("fr", "fr-FR", "fr_FR"),
    "es": ("es", "es-ES", "es_ES"), "it": ("it", "it-IT", "it_IT"), "nl": ("nl", "nl-NL", "nl_NL"),
    "pt": ("pt-PT", "pt_PT", "pt-rPT", "pt"),
}  # fmt: skip
MARKUP = re.compile(r"[{}%$<>#]|\\\\n")
LEAST_WORDS = 3
"""Labels of one or two words mean something else in each app."""
Texts = dict[str, str]
"""Texts by their key."""


def flatten(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            if not str(key).startswith("@") and key != "description":
                yield from flatten(value, f"{path}/{key}")


def read_texts(name: str, content: str) -> Texts:
    """The texts of a file; a PO file has English as its keys."""
    match name.rsplit(".", 1)[1]:
        case "po":
            entries = polib.pofile(content)
            return {entry.msgid: entry.msgstr for entry in entries if entry.msgstr and not entry.fuzzy}
        case "json" | "arb":
            return dict(flatten(json.loads(content)))
        case "yml":
            (tree,) = yaml.load(content, yaml.CSafeLoader).values()
            return dict(flatten(tree))
    texts = {}
    for element in etree.fromstring(content.encode()).iter("string", "item"):
        parent = element.getparent()
        place = element.get("quantity") or str(parent.index(element))
        key = element.get("name") or f"{parent.get('name')}/{place}"
        texts[key] = re.sub(r"\\(['\"@?])", r"\1", "".join(element.itertext())).strip('"')
    return texts


def english_name(name: str, locale: str) -> list[str]:
    """Where the English of a file may stand."""
    names = [name.replace(f"values-{locale}/", "values/")] if "/values-" in name else []
    if name.startswith("translation/dest"):
        return [f"translation/source/{name.split('/')[2]}.xml"]
    return [*names, *(re.sub(rf"(?<=[/._]){re.escape(locale)}(?=[/.])", code, name) for code in LOCALES["en"])]


def read_app(repository: Repository, patterns: tuple[str, ...], language: str) -> Iterator[tuple[str, str]]:
    names = set(repository.git("ls-tree", "-r", "--name-only", "HEAD").split("\n"))
    for pattern in patterns:
        for locale in LOCALES[language]:
            wanted = re.compile(re.escape(pattern).replace(r"\{\}", re.escape(locale)).replace(r"\*", "[^/]+"))
            found = sorted(filter(wanted.fullmatch, names))
            for name in found:
                other = read_texts(name, repository.read(name))
                if name.endswith(".po"):
                    yield from other.items()
                elif beside := next((each for each in english_name(name, locale) if each in names), None):
                    english = read_texts(beside, repository.read(beside))
                    yield from ((english[key], text) for key, text in other.items() if key in english)
                else:  # English is the key
                    yield from ((key.strip("/"), text) for key, text in other.items() if " " in key)
            if found:
                break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    said.output.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES[1:]:
        tidy, pairs, counts = Tidy(language), dict[tuple[str, str], None](), []
        for name, patterns in APPS.items():
            before = len(pairs)
            for english, other in read_app(Repository(said.mirror, name), patterns, language):
                if other != english and not MARKUP.search(english + other):
                    pairs.update((pair, None) for pair in tidy(english, other) if len(pair[0].split()) >= LEAST_WORDS)
            counts.append(f"{name.split('/')[1]} {len(pairs) - before:,}")
        write_rows(said.output / f"apps.en-{language}.tsv.xz", pairs)
        sys.stdout.write(f"en-{language}: {len(pairs):,} ({', '.join(counts)})\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
