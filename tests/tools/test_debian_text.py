"""Packages become text: apt is a stub that serves small packages made here, so there is no network."""

import io
import lzma
import tarfile
from collections.abc import Iterable
from pathlib import Path

import polib
import pytest

from tests.modules import run_module
from tools import debian_text as tool

TOOL = "tools.debian_text"
SHOW = "Package: {0}\nVersion: 1:1.0-1\nSource: {1} (1.0)\nSize: {2}\nFilename: pool/{3}/x/{0}_1.0-1_all.deb\n"
DEP5 = "Format: x\n\nFiles: *\nCopyright: 2020 Someone\nLicense: GPL-2+\n\nFiles: debian/*\nLicense: MIT\n"
APT_CACHE = '#!/bin/sh\ncd "{folder}"\nshift 3\nfor each; do cat "$each.show" 2>/dev/null && echo; done\nexit 0\n'
APT_GET = """#!/bin/sh
shift
for each; do
  name=${{each%%=*}}
  cp "{folder}/$name.deb" "${{name}}_1%3a1.0-1_all.deb" || exit 100
done
"""


def catalogue(pairs: Iterable[tuple[str, str]]) -> bytes:
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    for english, other in pairs:
        file.append(polib.POEntry(msgid=english, msgstr=other))
    return file.to_binary()


def make_deb(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    deb = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", packed.getvalue())):
        deb += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        deb += b"\n" * (len(content) % 2)
    return deb


class Apt:
    """The folder of the stub, with its packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        texts: dict[str, list[tuple[str, str]]],
        licence: str = DEP5,
        source: str = "source",
        area: str = "main",
    ) -> None:
        files = {f"usr/share/locale/{each}/LC_MESSAGES/{name}.mo": catalogue(texts[each]) for each in texts}
        files[f"usr/share/doc/{name}/copyright"] = licence.encode()
        deb = make_deb(files)
        (self.folder / f"{name}.deb").write_bytes(deb)
        (self.folder / f"{name}.show").write_text(SHOW.format(name, source, len(deb), area))


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    folder = tmp_path / "apt"
    folder.mkdir()
    for name, script in (("apt-cache", APT_CACHE), ("apt-get", APT_GET)):
        (folder / name).write_text(script.format(folder=folder))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    stub = Apt(folder)
    stub.add("editor", {"it": [("_Open", "_Apri"), ("Save", "Salva")], "pt": [("_Open", "_Abrir")], "nl": []})
    stub.add(
        "viewer",
        {
            "it_IT.UTF-8": [("Open", "Apri"), ("Open", "Apertura"), ("Zoom in", "Ingrandisci")],
            "nl": [("Zoom in", "Inzoomen")],
            "pt_BR": [("Open", "Abra"), ("File name", "Nome do arquivo")],
            "pt_PT": [("Zoom in", "Ampliar")],
            "fr": [("Open", "Ouvrir")],
        },
        licence="This program is under the GNU Lesser General\nPublic License.",
        source="viewer-source",
    )
    return stub


def run(folder: Path, *names: str, to: Iterable[str] = ("it", "nl", "pt")) -> "tuple[int, str, str]":
    (folder / "names.txt").write_text("# names\n" + "".join(f"{name}\n" for name in names))
    done = run_module(TOOL, folder / "text", "--to", *to, "--packages", folder / "names.txt")
    return done.returncode, done.stdout, done.stderr


def read(folder: Path, language: str) -> list[list[str]]:
    text = lzma.decompress((folder / "text" / f"catalogues.en-{language}.tsv.xz").read_bytes()).decode()
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.usefixtures("apt")
def test_packages_become_tables(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "editor", "viewer", "nowhere")
    assert code == 0
    assert read(tmp_path, "it") == [
        ["Save", "Salva"],
        ["Open", "Apri"],
        ["Open", "Apertura"],
        ["Zoom in", "Ingrandisci"],
    ]
    assert read(tmp_path, "nl") == [["Zoom in", "Inzoomen"]]
    # "Open" is known in the Portuguese of Portugal, so that of Brazil is not taken.
    assert read(tmp_path, "pt") == [["Open", "Abrir"], ["Zoom in", "Ampliar"], ["File name", "Nome do arquivo"]]
    assert (tmp_path / "text/packages.tsv").read_text() == (
        "package\tversion\tsource\tpairs_it\tpairs_nl\tpairs_pt\tmain_licence\n"
        "editor\t1:1.0-1\tsource\t2\t0\t1\tGPL-2+\n"
        "viewer\t1:1.0-1\tviewer-source\t2\t1\t2\tLGPL\n"
    )
    assert out.endswith("catalogues.en-pt.tsv.xz: 3 pairs, of which the last 1 are fallbacks\n")
    notes = err.splitlines()
    assert notes[2] == "nowhere: skipped, not in main of this Debian release"
    assert notes[0].startswith("1/3 editor 1:1.0-1: it 2, nl 0, pt 1, pt_BR 0")


def test_a_text_has_its_most_frequent_translations(apt: Apt, tmp_path: Path) -> None:
    for number, word in enumerate(("Chiudi", "Termina", "Esci", "Fine", "Basta", "Basta")):
        apt.add(f"quit{number}", {"it": [("Quit", word)]})
    run(tmp_path, *(f"quit{number}" for number in range(6)), to=["it"])
    assert [other for _, other in read(tmp_path, "it")] == ["Chiudi", "Termina", "Esci", "Basta"]


def test_only_main_is_read(apt: Apt, tmp_path: Path) -> None:
    apt.add("closed", {"it": [("Quit", "Esci")]}, area="non-free")
    apt.add("secure", {"it": [("Help", "Aiuto")]}, area="updates/main")
    _, _, err = run(tmp_path, "closed", "secure", to=["it"])
    assert "closed: skipped, not in main" in err
    assert read(tmp_path, "it") == [["Help", "Aiuto"]]


@pytest.mark.usefixtures("apt")
def test_useless_names_are_refused(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "nowhere")
    assert (code, err) == (1, "apt knows none of these packages: run `apt-get update` as root first\n")


def test_licences_are_found_in_free_text() -> None:
    assert tool.find_licence("Files:\n *\nCopyright: me\nLicense:   MPL-2.0  \n") == "MPL-2.0"
    assert tool.find_licence("under the GNU General Public License, some under the Mozilla Public") == "GPL/MPL"
    assert tool.find_licence("Ask me.") == "?"


def test_the_list_of_packages_is_fine() -> None:
    names = tool.read_names(tool.PACKAGES)
    assert len(names) > 150
    assert names == sorted(names)
