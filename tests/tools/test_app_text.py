"""Words of apps: files of several formats, in a repository as people keep them."""

import subprocess
from pathlib import Path

import pytest
from tools.app_text import english_name, read_app, read_texts
from tools.found_text import Repository

ANDROID = """<resources>
  <string name="ask">Don\\'t you have a "{0}"?</string>
  <plurals name="days"><item quantity="one">One day left</item><item quantity="other">%d days left</item></plurals>
  <string-array name="when"><item>At once</item><item>Some <b>time</b> later</item></string-array>
</resources>"""


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a/fr.json", '{"hello": "Bonjour", "more": {"bye": "Au revoir", "description": "a note"}}',
         {"/hello": "Bonjour", "/more/bye": "Au revoir"}),
        ("l10n/app_fr.arb", '{"@@locale": "fr", "ok": "Bien", "@ok": {"description": "a note"}}', {"/ok": "Bien"}),
        ("config/fr.yml", "fr:\n  form:\n    save: Enregistrer\n    days: 3\n", {"/form/save": "Enregistrer"}),
        ("fr/django.po", 'msgid "Sleep"\nmsgstr "Sommeil"\n\nmsgid "Nap"\nmsgstr ""\n', {"Sleep": "Sommeil"}),
        ("values/strings.xml", ANDROID,
         {"ask": "Don't you have a \"{0}\"?", "days/one": "One day left", "days/other": "%d days left",
          "when/0": "At once", "when/1": "Some time later"}),
    ],
)  # fmt: skip
def test_each_format_is_read_by_key(name: str, content: str, texts: dict[str, str]) -> None:
    assert read_texts(name, content) == texts


@pytest.mark.parametrize(
    ("name", "locale", "english"),
    [
        ("app/res/values-pt-rPT/strings.xml", "pt-rPT", "app/res/values/strings.xml"),
        ("config/locales/client.de.yml", "de", "config/locales/client.en.yml"),
        ("lang/pt.json", "pt", "lang/en.json"),
        ("translation/dest/arena/nl-NL.xml", "nl-NL", "translation/source/arena.xml"),
    ],
)
def test_the_english_of_a_file_stands_beside_it(name: str, locale: str, english: str) -> None:
    assert english in english_name(name, locale)


def test_a_repository_gives_pairs_of_its_first_locale(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for name, text in {"en": "Good morning", "pt": "Bom dia (Brasil)", "pt-PT": "Bom dia"}.items():
        (work / "lang").mkdir(parents=True, exist_ok=True)
        (work / f"lang/{name}.json").write_text(f'{{"greeting": "{text}"}}')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(work)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "words"]):
        subprocess.run([*git, *command], check=True)
    mirror = tmp_path / "mirror/me+app"
    mirror.mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(mirror / "repo")], check=True)
    repository = Repository(tmp_path / "mirror", "me/app")
    assert list(read_app(repository, ("lang/{}.json",), "pt")) == [("Good morning", "Bom dia")]
