"""`hark translate` with documents and folders, with a real engine and an untrained model."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hark.cli.documents import output_suffix, place_outputs, reading_options, translated_name
from hark.documents.formats import ReadingOptions
from hark.documents.memory import add_to_memory
from hark.errors import UserError
from hark.translate.load import Loaded
from tests.cli.running import Hark, make_runner, refused
from tests.documents.pdfs import lines
from tests.documents.pdfs import made as make_pdf
from tests.translate.bundles import make_bundle

PAGE = "<html>\n<h1>The <b>old</b> house</h1><p>A cat.</p>\n<p>404</p><p>A cat.</p></html>\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a model and its reverse, without which each second look would load the large shipped one."""
    folder = tmp_path_factory.mktemp("home")
    make_bundle(folder / "hark/models/small-en-de")
    make_bundle(folder / "hark/models/small-de-en", "de", "en")
    return folder


@pytest.fixture
def hark(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    (tmp_path / "page.html").write_text(PAGE)
    return make_runner("translate", tmp_path, {}, monkeypatch, capfd)


def skeleton(text: str) -> list[str]:
    return re.findall(r"<[^>]*>|404", text)


def files() -> list[str]:
    return sorted(str(each) for each in Path().rglob("*") if each.is_file())


def test_a_document_is_written_beside_the_input_and_keeps_its_markup(hark: Hark) -> None:
    done = hark("-t", "de", "page.html")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    text = Path("page.de.html").read_text()
    assert skeleton(text) == skeleton(PAGE)
    assert text != PAGE
    assert done.stderr.splitlines()[-1].startswith("page.de.html: 3 segments: 3 translated, 0 kept; ")
    assert files() == ["page.de.html", "page.html"]  # nothing else is left


def test_an_existing_file_is_replaced_only_by_force(hark: Hark) -> None:
    Path("out.html").write_text("precious")
    assert "out.html: already exists; name another file, or replace it with --force" in refused(
        hark("-t", "de", "page.html", "-o", "out.html")
    )
    assert "is the input file" in refused(hark("-t", "de", "page.html", "-o", "page.html", "--force"))
    assert Path("out.html").read_text() == "precious"
    assert hark("-t", "de", "page.html", "-o", "out.html", "--force").returncode == 0
    assert skeleton(Path("out.html").read_text()) == skeleton(PAGE)


def test_a_document_on_stdout(hark: Hark) -> None:
    done = hark("-t", "de", "page.html", "-o", "-")
    assert skeleton(done.stdout) == skeleton(PAGE)
    assert done.stderr.splitlines()[-1].startswith("page.html: 3 segments")
    assert files() == ["page.html"]


def test_strict_reports_flags_by_the_exit_status(hark: Hark) -> None:
    done = hark("-t", "de", "page.html", "-o", "-", "--strict")
    flagged = not done.stderr.splitlines()[-1].endswith("0 flagged")
    assert done.returncode == (3 if flagged else 0)
    assert flagged  # an untrained model is not sure of anything
    assert re.search(r"^segment 1 \(The old house\): ", done.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["page.html", "--json"], "for a document, use --report"),
        (["page.html", "--nbest", "2"], "for a document, use --report"),
        (["page.html", "--report", "r.txt"], "a report must be a .json or .html file"),
        (["page.html", "--read", "colums=1"], "no such setting; did you mean columns?"),
        (["page.html", "--read", "attributes=yes"], "must be true or false"),
        (["page.html", "--memory", "none.tmx"], "no such memory"),
        (["page.html", "--glossary", "none.tsv"], "cannot be read"),
        ([".", "-o", "x"], "translate all documents in it with --recursive"),
        (["--memory", "m.tmx", "some text"], "--memory requires a file"),
        (["--recursive", "some text"], "--recursive requires a file"),
        (["none.docx"], "no such file"),
        (["page.html", "-o", "page.odt"], "a .html file can become only .html"),
        (["page.html", "-o", "none/x.html"], "no such folder"),
    ],
)
def test_mistakes(hark: Hark, words: list[str], message: str) -> None:
    assert message in refused(hark("-t", "de", *words))
    assert files() == ["page.html"]


def test_plain_text_is_streamed_as_before_unless_options_need_segments(hark: Hark) -> None:
    Path("a.txt").write_text("A cat.\n")
    assert hark("-t", "de", "a.txt").stdout.endswith("\n")
    add_to_memory(Path("m.tmx"), [("A cat.", "Eine Katze.")], "en", "de")
    done = hark("-t", "de", "a.txt", "--memory", "m.tmx", "--report", "r.json")
    assert "1 segment: 0 translated, 0 kept, 1 from memory; 0 flagged" in done.stderr
    assert Path("a.de.txt").read_text() == "Eine Katze.\n"
    [report] = json.loads(Path("r.json").read_text())["documents"]
    assert report["list"] == [{"source": "A cat.", "text": "Eine Katze.", "state": "memory"}]


@pytest.mark.parametrize("text", ["Hello", "The cat sleeps on the table."])
def test_a_memory_for_a_language_that_only_a_model_of_several_has(hark: Hark, text: str) -> None:
    """The model detects the source language for each segment, the memory must know it for the document."""
    Path("a.html").write_text(f"<p>{text}</p>")
    add_to_memory(Path("m.tmx"), [(text, "De la mémoire")], "en", "fr")
    done = hark("-t", "fr", "a.html", "--memory", "m.tmx")
    assert "1 segment: 0 translated, 0 kept, 1 from memory; 0 flagged" in done.stderr
    assert Path("a.fr.html").read_text(encoding="utf-8") == "<p>De la mémoire</p>"


def test_terms_of_a_glossary_in_text_and_documents(hark: Hark) -> None:
    Path("terms.tsv").write_text("house\tGebäude\n", encoding="utf-8")
    Path("keep.txt").write_text("cat\n")
    options = ("-t", "de", "--glossary", "terms.tsv", "--do-not-translate", "keep.txt")
    assert "Gebäude" in hark(*options, "The house").stdout
    done = hark(*options, "page.html", "--report", "r.html")
    assert re.search(r"; terms held: \d of 3$", done.stderr.strip())
    assert "Gebäude" in Path("page.de.html").read_text(encoding="utf-8")
    assert "<td>house</td><td>Gebäude</td>" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("app.py", "if it is plain text, use --as txt"),
        ("style.css", "if it is plain text, use --as txt"),
        ("letter.doc", "save it as .docx first"),
        ("letter.rtf", "save it as .docx first"),
        ("sheet.xls", "save it as .xlsx first"),
        ("talk.ppt", "save it as .pptx first"),
    ],
)
def test_a_file_of_an_unknown_type_is_refused_with_a_way_out(hark: Hark, name: str, way_out: str) -> None:
    Path(name).write_text("The cat sees it.\n")
    suffix = Path(name).suffix
    for options in ((), ("--report", "r.json")):
        line = refused(hark("-t", "de", name, *options))
        assert f"{name}: files of type {suffix} cannot be translated; {way_out}" in line
    assert hark("-t", "de", name, "--as", "txt").stdout == hark("-t", "de", "The cat sees it.").stdout
    assert files() == sorted([name, "page.html"])


@pytest.mark.parametrize("name", ["README", "notes.txt", "test.en", "test.de-DE", "v1.2", "server.log", "newstest.src"])
def test_text_of_any_name_is_read_as_before(hark: Hark, name: str) -> None:
    Path(name).write_text("The cat sees it.\n")
    assert hark("-t", "de", name).stdout == hark("-t", "de", "The cat sees it.").stdout


def test_toml_and_yaml_are_no_longer_broken(hark: Hark) -> None:
    """As plain text, keys were translated, and 19.99 became 19,99."""
    Path("a.toml").write_text('price = 19.99\ntitle = "The old house"\n')
    Path("a.yaml").write_text("price: 19.99\ntitle: The old house\n")
    for name in ("a.toml", "a.yaml"):
        assert hark("-t", "de", name).returncode == 0
    written = tomllib.loads(Path("a.de.toml").read_text(encoding="utf-8"))
    assert (written["price"], list(written)) == (19.99, ["price", "title"])
    assert written["title"] != "The old house"
    assert Path("a.de.yaml").read_text(encoding="utf-8").startswith("price: 19.99\ntitle: ")


def test_the_format_of_a_file_or_of_stdin_can_be_given(hark: Hark) -> None:
    Path("page.tpl").write_text(PAGE)
    assert hark("-t", "de", "page.html").returncode == 0
    translated = Path("page.de.html").read_text(encoding="utf-8")
    assert hark("-t", "de", "page.tpl", "--as", "html").returncode == 0
    assert Path("page.de.tpl").read_text(encoding="utf-8") == translated
    command = [sys.executable, "-m", "hark", "translate", "-t", "de", "--as", "html"]
    with Path("page.html").open() as page:
        done = subprocess.run(command, stdin=page, capture_output=True, check=True, timeout=600)
    assert done.stdout.decode() == translated
    assert "--as yaaml: no such format; did you mean yaml?" in refused(hark("-t", "de", "page.tpl", "--as", "yaaml"))
    assert "is a folder; --as is for a file" in refused(hark("-t", "de", ".", "--recursive", "--as", "html"))
    assert "--as requires a file" in refused(hark("-t", "de", "Some text", "--as", "html"))


def test_a_folder_names_the_file_first_and_stays_inside(hark: Hark) -> None:
    Path("in").mkdir()
    Path("secret.html").write_text(PAGE)
    Path("in/a.html").write_text(PAGE)
    Path("in/b.html").write_bytes(b"\x00\x01" * 400)
    Path("in/main.ts").write_text("const a = 1;\n")
    Path("in/link.html").symlink_to(Path("secret.html").resolve())
    Path("in/inner.html").symlink_to("a.html")
    done = hark("-t", "de", "in", "--recursive", "-o", "in.de")
    assert done.returncode == 1
    *lines, summary, _ = done.stderr.splitlines()
    assert [line for line in lines if not line.startswith(("in/", "in.de/"))] == []
    assert any(line.startswith("in/a.html: segment 1 (The old house): ") for line in lines)
    assert any(line.startswith("in/b.html: the file is not text") for line in lines)
    assert summary == "in.de: 4 files: 2 translated, 1 of other types, 1 left out: links out of the folder"
    assert [each for each in files() if each.startswith("in.de")] == ["in.de/a.html", "in.de/inner.html"]


def test_a_folder(hark: Hark) -> None:
    Path("in/sub").mkdir(parents=True)
    for name in ("in/a.html", "in/sub/b.html"):
        Path(name).write_text(PAGE)
    Path("in/sub/c.txt").write_text("A cat.\n")
    Path("in/picture.png").write_bytes(b"\x89PNG")
    Path("in/.hidden.html").write_text(PAGE)
    done = hark("-t", "de", "in", "--recursive", "--report", "r.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith("in.de: 4 files: 3 translated, 1 of other types")
    assert [each for each in files() if each.startswith("in.de")] == [
        "in.de/a.html",
        "in.de/sub/b.html",
        "in.de/sub/c.txt",
    ]
    assert len(json.loads(Path("r.json").read_text())["documents"]) == 3
    Path("in.de/sub/c.txt").unlink()
    again = hark("-t", "de", "in", "--recursive", "-o", "in.de")
    assert again.stderr.splitlines()[-1].startswith("in.de: 4 files: 1 translated, 2 there already")
    assert "is inside the input" in refused(hark("-t", "de", "in", "--recursive", "-o", "in/out"))


def test_two_files_that_would_get_the_same_name(hark: Hark) -> None:
    pytest.importorskip("pypdfium2", reason="pypdfium2 is in the extra documents")
    Path("in").mkdir()
    Path("in/a.html").write_text(PAGE)
    Path("in/a.pdf").write_bytes(make_pdf([lines("A cat.")]))
    done = hark("-t", "de", "in", "--recursive")
    assert done.returncode == 0, done.stderr
    assert "in/a.pdf: a.html is the translation of another file; writing a.pdf.html" in done.stderr
    assert [each for each in files() if each.startswith("in.de")] == ["in.de/a.html", "in.de/a.pdf.html"]
    assert skeleton(Path("in.de/a.html").read_text()) == skeleton(PAGE)


def test_places_of_outputs() -> None:
    names = ["a.html", "A.pdf", "a.pdf.html", "b.pdf", "c.docx", "d/a.pdf", "x.txt", "X.txt"]
    placed = dict(place_outputs([Path("in", name) for name in names], Path("in"), Path("out")))
    assert [str(each.relative_to("out")) for each in placed.values()] == [
        "a.html", "A.pdf-2.html", "a.pdf.html", "b.html", "c.docx", "d/a.html", "x.txt", "X.txt",
    ]  # fmt: skip


PLAIN = """\
The old house
=============

The cat sat on the mat, and the dog, which was
older than the cat, slept beside the door. Nobody
came. It rained.

  An indented line.
> A quoted line.
- one
- two

```
code = "stays"
```
404

The end"""


@pytest.mark.parametrize("text", [PLAIN, PLAIN.replace("\n", "\r\n"), "\n\n  A cat.  \n\n", "A cat.\n\tA dog.\n"])
def test_plain_text_as_a_document_equals_the_stream(hark: Hark, text: str) -> None:
    Path("in").mkdir()
    Path("in/a.txt").write_bytes(text.encode())
    assert hark("-t", "de", "in", "--recursive").returncode == 0
    assert hark("-t", "de", "in/a.txt", "-o", "streamed.txt").returncode == 0
    assert Path("in.de/a.txt").read_bytes() == Path("streamed.txt").read_bytes() != text.encode()


def test_a_damaged_file_does_not_stop_the_others(hark: Hark) -> None:
    Path("in").mkdir()
    Path("in/a.txt").write_bytes(b"\x00\x01" * 400)
    Path("in/b.html").write_text(PAGE)
    done = hark("-t", "de", "in", "--recursive")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "hark: 1 of 2 files could not be translated"
    assert Path("in.de/b.html").exists()


KILLED = """
import os, signal, sys
from hark.cli import main
from hark.documents.translate import SegmentCache

add = SegmentCache.add

def add_and_die(self, key, outcome):
    add(self, key, outcome)
    if len(self.done) == 7:
        os.kill(os.getpid(), signal.SIGKILL)

SegmentCache.add = add_and_die
main()
"""


def test_a_killed_run_continues(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "".join(f"<p>The cat number {number} is here.</p>\n" for number in range(20))
    Path("long.html").write_text(page)
    command = ["translate", "-t", "de", "long.html", "--beam", "1"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *command], env={**os.environ}, check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert not Path("long.de.html").exists()
    kept = Path(".long.de.html.segments").read_bytes()
    finished = [json.loads(line)["source"] for line in kept.splitlines()[1:]]
    assert len(finished) == 7

    asked: list[str] = []
    translate = Loaded.translate

    def watched(self: Loaded, texts: list[str], **options: object) -> object:
        asked.extend(texts)
        return translate(self, texts, **options)

    monkeypatch.setattr(Loaded, "translate", watched)
    done = hark(*command[1:])
    assert "long.de.html: resuming; 7 different segments are finished" in done.stderr
    assert len(asked) == 13
    assert not set(asked) & set(finished)
    assert not Path(".long.de.html.segments").exists()
    resumed = Path("long.de.html").read_bytes()
    asked.clear()
    assert hark(*command[1:], "--force").returncode == 0
    assert len(asked) == 20
    assert Path("long.de.html").read_bytes() == resumed

    Path(".long.de.html.segments").write_bytes(kept)  # from another beam size
    assert "resuming" not in hark(*command[1:-1], "2", "--force").stderr


def test_the_target_language_is_known_to_the_reader_also_without_an_option(hark: Hark) -> None:
    Path("app.po").write_text('msgid ""\nmsgstr ""\n"Language: \\n"\n\nmsgid "A cat"\nmsgstr ""\n')
    done = hark("app.po", "-m", "small-en-de")
    assert done.returncode == 0, done.stderr
    assert '"Language: de\\n"' in Path("app.de.po").read_text()


def test_names() -> None:
    assert translated_name(Path("a/letter.docx"), "en", "de") == "letter.de.docx"
    assert translated_name(Path("letter.en.docx"), "en", "de") == "letter.de.docx"
    assert translated_name(Path("v1.2.docx"), "en", "de") == "v1.2.de.docx"
    assert translated_name(Path("A.DOCX"), "en", "de") == "A.de.DOCX"
    assert translated_name(Path("a.pdf"), "en", "de") == "a.de.html"
    assert output_suffix(Path("a.pdf"), Path("b.docx")) == ".docx"
    assert output_suffix(Path("a.html"), Path("b.out")) == ".html"


def test_reading_options() -> None:
    assert reading_options(["columns=title, 3", "columns=x", "attributes=true"]) == ReadingOptions(
        attributes=True, columns=("title", "3", "x")
    )
    with pytest.raises(UserError):
        reading_options(["columns"])
