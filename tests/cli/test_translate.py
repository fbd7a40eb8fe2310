"""`hark translate` with a real engine and an untrained model."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hark.cli import main
from hark.cli.model_choice import choose_model, read_beginning
from hark.cli.streams import find_input
from hark.errors import UserError
from hark.models import InstalledModel
from hark.text.detector import GLANCE
from tests.translate.bundles import make_bundle

Hark = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with two models."""
    folder = tmp_path_factory.mktemp("home")
    make_bundle(folder / "hark/models/small-en-de")
    make_bundle(folder / "hark/models/small-de-en", "de", "en")
    return folder


@pytest.fixture
def hark(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Hark:
    """The command line in this process: starting a new one for each call would take most of the time."""
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        capfdbinary.readouterr()
        with tempfile.TemporaryFile() as file, monkeypatch.context() as changed:
            file.write(stdin)
            file.seek(0)
            changed.setattr(sys, "stdin", io.TextIOWrapper(file))
            changed.setattr(sys, "argv", ["hark", "translate", *words])
            with pytest.raises(SystemExit) as left:
                main()
            sys.stdin.detach()
        out, err = capfdbinary.readouterr()
        return subprocess.CompletedProcess(words, int(left.value.code or 0), out, err)

    return run


def refused(done: subprocess.CompletedProcess[bytes], status: int = 2) -> str:
    """The one-line error of a command that failed."""
    assert done.returncode == status, done.stderr
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("hark: ")
    return line


DOCUMENT = (
    b"\xef\xbb\xbf# The house\r\n\r\n  - {name} sees https://a.b/c?d=e .\r\n\t1) 12.5 kg \xf0\x9f\x91\x8d\n\n  end"
)


def test_text_as_an_argument(hark: Hark) -> None:
    done = hark("-t", "de", "The cat sees {name}.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 1
    assert b"{name}" in done.stdout
    assert hark("-t", "de", "The", "cat", "sees", "{name}.").stdout == done.stdout
    assert hark("-t", "de", "{name}: 7.5%").stdout == b"{name}: 7,5 %\n"


def test_a_file_and_a_pipe_give_the_same_and_keep_the_structure(hark: Hark, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_bytes(DOCUMENT)
    from_file = hark("-t", "de", "letter.txt")
    assert from_file.returncode == 0, from_file.stderr
    assert b"translating the file" not in from_file.stderr  # not a terminal
    for arguments in (["-"], []):
        assert hark("-t", "de", *arguments, stdin=DOCUMENT).stdout == from_file.stdout
    lines = from_file.stdout.split(b"\n")
    assert len(lines) == 6
    assert lines[0].startswith(b"\xef\xbb\xbf# ")
    assert [line.endswith(b"\r") for line in lines] == [True, True, True, False, False, False]
    assert lines[1] == b"\r"
    assert lines[2].startswith(b"  - ")
    assert lines[2].count(b"{name}") == lines[2].count(b"https://a.b/c?d=e") == 1
    assert lines[3] == b"\t1) 12,5 kg \xf0\x9f\x91\x8d"
    assert lines[5].startswith(b"  ")

    assert hark("-t", "de", "letter.txt", "-o", "-").stdout == from_file.stdout
    written = hark("-t", "de", "letter.txt", "-o", "brief.txt")
    assert written.stdout == b""
    assert (tmp_path / "brief.txt").read_bytes() == from_file.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["brief.txt", "letter.txt"]


def test_json(hark: Hark) -> None:
    done = hark("-t", "de", "--json", "--nbest", "3", "--align", stdin=b"The cat sees a house.\r\n\n5 %\nA tree.")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["source"] for each in objects] == ["The cat sees a house.", "", "5 %", "A tree."]
    first = objects[0]
    assert list(first) == ["source", "text", "score", "flags", "warnings", "nbest", "alignment"]
    assert first["nbest"][0] == {"text": first["text"], "score": first["score"]}
    assert first["score"] < 0
    for link in first["alignment"]:
        assert first["source"][slice(*link["source"])] in ["The", "cat", "sees", "a", "house."]
        assert first["text"][slice(*link["target"])] in first["text"].split()
    assert objects[2] == {"source": "5 %", "text": "5 %", "score": None, "flags": ["copied"], "warnings": [], "nbest": [
        {"text": "5 %", "score": None}], "alignment": []}  # fmt: skip


def test_nbest_in_columns(hark: Hark) -> None:
    done = hark("-t", "de", "--nbest", "2", stdin=b"The cat.\n2014\n")
    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert [row[0] for row in rows][-1] == "2"
    assert rows[-1] == ["2", "-", "2014"]
    assert all(len(row) == 3 for row in rows)
    assert refused(hark("-t", "de", "--nbest", "3", "--beam", "2", "The cat.")).startswith(
        "hark: decode.nbest: 3 is more than beam 2 can return; raise decode.beam"
    )


def test_search_settings_and_engine_options(hark: Hark) -> None:
    exact = hark("-t", "de", "--precision", "float32", "--threads", "1", "The cat sees a house.")
    ours = hark("-t", "de", "--engine", "torch", "--device", "cpu", "The cat sees a house.")
    assert exact.stdout == ours.stdout
    greedy = hark("-t", "de", "--search", "beam=1", "--search", "max_extra=0", "--precision", "float32", "The cat.")
    assert greedy.returncode == 0, greedy.stderr
    assert "decode.bean: no such setting; did you mean beam?" in refused(
        hark("--search", "bean=1", "-t", "de", "The cat.")
    )
    assert "no such GPU; this machine has" in refused(hark("-t", "de", "--device", "cuda:77", "The cat."))
    assert "--threads 100000: must be 1 to " in refused(hark("-t", "de", "--threads", "100000", "The cat."))
    assert "--align requires --json" in refused(hark("-t", "de", "--align", "The cat."))


def test_a_pipe_is_answered_line_by_line(home: Path) -> None:
    command = [sys.executable, "-m", "hark", "translate", "-t", "de", "--threads", "1"]
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"The cat.\n", b"\n", b"A {name}!\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()  # before the next line is typed
            assert answer.endswith(b"\n")
            assert (answer == b"\n") == (line == b"\n")
        process.stdin.write(b"end")
        process.stdin.close()
        last = process.stdout.read()
        assert last
        assert not last.endswith(b"\n")
    assert process.returncode == 0


def test_ctrl_c_leaves_whole_lines(home: Path, tmp_path: Path) -> None:
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    command = [sys.executable, "-m", "hark", "translate", "-t", "de", "--threads", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, env=environment, cwd=tmp_path) as process:  # type: ignore[call-overload]
        process.stdin.write(b"The cat.\nA tree.\n")
        process.stdin.flush()
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.stderr.read().endswith(b"hark: interrupted\n")
    assert process.returncode == 130
    assert (first + rest).endswith(b"\n")


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_no_partial_file(home: Path, tmp_path: Path, sent: int, status: int) -> None:
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    command = [sys.executable, "-m", "hark", "translate", "-t", "de", "--threads", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    (tmp_path / "out.txt").write_text("from before")
    with subprocess.Popen([*command, "-o", "out.txt"], **pipes, env=environment, cwd=tmp_path) as process:  # type: ignore[call-overload]
        process.stdin.write(b"The cat.\n")
        process.stdin.flush()
        while not any(path.name.endswith(".partial") for path in tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sent)
        _, talk = process.communicate()
    assert process.returncode == status
    assert talk.startswith(b"hark: ")
    assert talk.count(b"\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "from before"


def test_progress_is_shown_on_a_terminal_only(home: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The cat sees it.\n" * 30)
    environment = os.environ | {"XDG_DATA_HOME": str(home), "TERM": "xterm", "COLUMNS": "100"}
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "hark", "translate", "-t", "de", "--beam", "1", "text"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        assert process.stdout is not None
        assert process.stdout.read().count(b"\n") == 30
        talk = b""
        with suppress(OSError):  # raised by Linux when the other end of a terminal is closed
            while chunk := os.read(ours, 1 << 16):
                talk += chunk
    os.close(ours)
    assert b"30 lines," in talk
    assert b"lines/s" in talk
    assert b"100%" in talk


def test_a_reader_that_closes_the_pipe(home: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("The cat sees it.\n" * 1500)
    shell = f"{sys.executable} -m hark translate -t de --beam 1 long.txt | head -n 1"
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    warnings = done.stderr.splitlines()
    assert all(line.startswith(b"line ") or b"more doubtful lines" in line for line in warnings), warnings


def test_empty_input_gives_empty_output(hark: Hark, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    for words in ([], ["-"], ["empty.txt"], ["-t", "de"], ["-m", "small-en-de"]):
        done = hark(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hark(stdin=b"\n \n").stdout == b"\n \n"


def test_text_that_begins_with_a_dash(hark: Hark) -> None:
    line = refused(hark("-t", "de", "-5 {degrees}"))
    assert line == "hark: No such option: -5; for text that begins with a dash, put -- before it"
    assert hark("-t", "de", "--", "-5 {degrees}").stdout.endswith(b"{degrees}\n")
    assert "put --" not in refused(hark("--bean", "3", "The cat."))  # a typo, with a better suggestion


def test_a_file_is_announced_on_a_terminal(hark: Hark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "letter.txt").write_text("{a}\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert hark("-t", "de", "letter.txt").stderr == b""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert hark("-t", "de", "letter.txt").stderr == b"translating the file letter.txt\n"


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        (("--beam", "100000"), "beam: 100000"),
        (("--nbest", "100000"), "nbest: 100000"),
        (("--nbest", "201"), "nbest: 201"),
        (("--search", "beam=5000"), "beam: 5000"),
    ],
)
def test_a_search_too_wide_for_any_machine(hark: Hark, words: tuple[str, str], setting: str) -> None:
    line = refused(hark("-t", "de", *words, "The cat."))
    assert line == f"hark: decode.{setting} is not allowed; must be a whole number, from 1 to 200"


class TestWhichModel:
    def test_by_the_pair(self, hark: Hark) -> None:
        done = hark("-s", "de", "{a}")
        assert done.returncode == 0, done.stderr
        known = "de, en, es, fr, it, nl and pt, in all 42 directions"
        line = refused(hark("-s", "en", "-t", "ja", "The cat."))
        assert line == (
            f"hark: no model from en to ja; available: {known}; see hark models; "
            "a public one: hark models get opus-mt-en-jap"
        )
        assert refused(hark("-t", "ja", "The cat.")).endswith("; a public one: hark models --search ja")
        assert f"no model to dee; available: {known}; did you mean de?" in refused(hark("-t", "dee", "The cat."))
        assert hark("-t", "fr", "The cat.").stdout == b"Le chat.\n"  # the model that comes with hark

    def test_a_pair_as_a_name_is_one_direction(self, hark: Hark) -> None:
        assert hark("-m", "en-fr", "The cat.").stdout == b"Le chat.\n"
        line = refused(hark("-m", "en-fr", "-t", "es", "The cat."))
        assert line == "hark: en-fr: translates en to fr, not en to es; choose another model"
        assert "not de to fr; choose" in refused(hark("-m", "en-fr", "-s", "de", "Die Katze."))

    @pytest.mark.parametrize("name", ["german", "German", "DEUTSCH", "deu", "ger", "DE"])
    def test_by_the_name_of_a_language(self, hark: Hark, name: str) -> None:
        assert hark("-s", "English", "-t", name, "The cat.").stdout == hark("-t", "de", "The cat.").stdout

    def test_a_language_that_is_mistyped(self, hark: Hark) -> None:
        for model in ((), ("-m", "small-en-de")):
            line = refused(hark(*model, "-t", "germna", "The cat."))
            assert line == "hark: no language 'germna'; did you mean german?"

    def test_by_the_text(self, hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
        english = "Where is the nearest station, please, and when does the next train leave?"
        assert hark(english).stdout == hark("-t", "de", english).stdout
        german = "Wo ist denn bitte der nächste Bahnhof, und wann fährt der nächste Zug ab?"
        assert hark(german).stdout == hark("-t", "en", german).stdout
        assert hark(stdin=german.encode()).stdout == hark("-t", "en", stdin=german.encode()).stdout
        assert hark("2014").stdout == b"2014\n"  # in any language
        monkeypatch.setattr("hark.translate.languages.clearly_best", lambda *_: None)
        assert "cannot detect the language (de or en); set it with -s" in refused(hark(f"{english} {german}"))

    @pytest.mark.parametrize(
        ("target", "text", "name"),
        [
            ("de", "Danke", "already German"),
            ("en", "Hello", "already English"),
            ("de", "Dziękuję", "Polish"),
            ("en", "Tack", "Swedish"),
            ("de", "Mange tak", "Danish"),
            ("en", "Teşekkürler", "Turkish"),
            ("de", "ありがとう", "Japanese"),
            ("fr", "Bonjour", "already French"),
            ("de", "Gdzie jest dworzec? Pociąg odjeżdża o piątej.", "Polish"),
        ],
    )
    def test_what_no_model_translates_is_kept(self, hark: Hark, target: str, text: str, name: str) -> None:
        for model in ([], ["-m", f"small-{'de-en' if target == 'en' else 'en-de'}"] if target != "fr" else []):
            done = hark(*model, "-t", target, "--strict", text)
            assert (done.returncode, done.stdout.decode()) == (3, f"{text}\n")
            assert done.stderr.decode() == f"line 1: not translated: not in the source language ({name})\n"

    def test_what_a_doubtful_text_is_taken_for_is_said(self, hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hark.cli.streams.is_interactive", lambda: True)
        note = "taken for English; if it is not, say with -s what it is"
        assert note in hark("-t", "de", "hotel").stderr.decode()
        assert note not in hark("-t", "de", "The hotel is old.").stderr.decode()
        assert note not in hark("-s", "en", "-t", "de", "hotel").stderr.decode()

    def test_a_line_in_a_source_language_is_translated_whatever_the_first_one_is_in(self, hark: Hark) -> None:
        lines = "Dziękuję\nThe cat sees the house and the tree.\nTeşekkürler\n"
        done = hark("-t", "de", stdin=lines.encode())
        first, second, third = done.stdout.decode().splitlines()
        assert (first, third) == ("Dziękuję", "Teşekkürler")
        assert second != "The cat sees the house and the tree."

    def test_by_its_folder_or_name(self, hark: Hark, home: Path) -> None:
        one = hark("-m", "small-en-de", "The cat.")
        assert one.returncode == 0, one.stderr
        assert hark("-m", str(home / "hark/models/small-en-de"), "The cat.").stdout == one.stdout
        assert "no such model; did you mean small-" in refused(hark("-m", "small-en-dd", "The cat."))
        assert "translates en to de, not fr to de" in refused(hark("-m", "small-en-de", "-s", "fr", "The cat."))
        assert "no such bundle" in refused(hark("-m", "./nowhere", "The cat."))

    def test_an_edited_card_is_one_warning(self, hark: Hark, tmp_path: Path) -> None:
        folder = make_bundle(tmp_path / "mine")
        (folder / "card.md").write_text("edited")
        done = hark("-m", str(folder), "The cat.")
        assert done.returncode == 0
        assert done.stdout
        (warned,) = [line for line in done.stderr.decode().splitlines() if "card.md" in line]
        assert warned.startswith(f"hark: warning: {folder}/card.md: modified or missing; ")

    def test_a_broken_bundle(self, hark: Hark, tmp_path: Path) -> None:
        broken = make_bundle(tmp_path / "broken")
        weights = (broken / "model.safetensors").read_bytes()
        (broken / "model.safetensors").write_bytes(weights[:-1] + b"x")
        assert "model.safetensors: damaged or modified: wrong sha256" in refused(hark("-m", str(broken), "The cat."))
        (broken / "model.safetensors").write_bytes(weights)
        (broken / "tokenizer.model").unlink()
        assert "tokenizer.model: missing; the hark bundle is incomplete" in refused(hark("-m", "broken", "The cat."))

    def test_no_models_at_all(self, hark: Hark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        done = hark("-s", "tlh", "-t", "vo", "nuqneH")
        assert done.returncode == 2
        assert b"no model" in done.stderr


class TestBadInput:
    def test_not_utf8(self, hark: Hark, tmp_path: Path) -> None:
        """A file is decoded as documents are; bytes that come through a pipe cannot be."""
        pytest.importorskip("charset_normalizer", reason="charset_normalizer is in the extra documents")
        (tmp_path / "latin.txt").write_bytes(b"5 %\n7 %\n\tf\xfcr\n")
        (tmp_path / "utf8.txt").write_text("5 %\n7 %\n\tf\xfcr\n", encoding="utf-8")
        done = hark("-t", "de", "latin.txt")
        assert (done.returncode, done.stdout) == (0, hark("-t", "de", "utf8.txt").stdout)
        replaced = hark("-t", "de", "latin.txt", "--errors", "replace")
        assert replaced.returncode == 0
        assert "\ufffd" in replaced.stdout.decode()
        assert "stdin: line 1: not UTF-8" in refused(hark("-t", "de", stdin=b"\xff\n"))

    @pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
    def test_text_in_any_encoding_with_and_without_a_report(self, hark: Hark, tmp_path: Path, encoding: str) -> None:
        pytest.importorskip("charset_normalizer", reason="charset_normalizer is in the extra documents")
        (tmp_path / "a.txt").write_bytes("5 % für 7 €\n\nThe cat sees it.\n".encode(encoding))
        assert hark("-t", "de", "a.txt", "-o", "plain.txt").returncode == 0
        assert hark("-t", "de", "a.txt", "-o", "reported.txt", "--report", "r.json").returncode == 0
        assert (tmp_path / "plain.txt").read_bytes() == (tmp_path / "reported.txt").read_bytes()
        assert (tmp_path / "plain.txt").read_text(encoding)

    def test_binary(self, hark: Hark, tmp_path: Path) -> None:
        (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n"[1:] + bytes(100))
        done = hark("-t", "de", "picture.png")
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[-1] == (
            "hark: picture.png: files of type .png cannot be translated; if it is plain text, use --as txt"
        )
        assert "picture.png: the file is not text, or in an unknown encoding" in refused(
            hark("-t", "de", "picture.png", "--as", "txt")
        )
        (tmp_path / "wide.txt").write_bytes("The cat.\n".encode("utf-16"))
        assert hark("-t", "de", "wide.txt").stdout == hark("-t", "de", stdin=b"The cat.\n").stdout

    def test_nothing(self, hark: Hark, tmp_path: Path) -> None:
        (tmp_path / "empty").write_bytes(b"")
        done = hark("-t", "de", "empty", "-o", "out")
        assert (done.returncode, done.stdout) == (0, b"")
        assert (tmp_path / "out").read_bytes() == b""
        assert hark("-t", "de", stdin=b"").stdout == b""
        assert hark("-t", "de", "").stdout == b"\n"

    def test_files_that_cannot_be_read_or_written(self, hark: Hark, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("5 %")
        assert "no such file; to translate this as text, pipe it in" in refused(hark("-t", "de", "leter.txt"))
        assert "is a folder; translate all documents in it with --recursive" in refused(hark("-t", "de", "."))
        assert "is the input file; write the translation to another" in refused(
            hark("-t", "de", "text", "-o", "./text")
        )
        assert (tmp_path / "text").read_text() == "5 %"
        assert "nowhere/out: no such folder: nowhere" in refused(hark("-t", "de", "text", "-o", "nowhere/out"))
        assert "is a folder; name a file" in refused(hark("-t", "de", "text", "-o", "."))
        assert "only one file at a time" in refused(hark("-t", "de", "text", "text"))
        if os.geteuid():  # root may read everything
            (tmp_path / "text").chmod(0)
            assert "cannot be read: Permission denied" in refused(hark("-t", "de", "text"))

    def test_output_through_a_link_keeps_the_link_and_permissions(self, hark: Hark, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("old")
        (tmp_path / "real").chmod(0o640)
        (tmp_path / "link").symlink_to("real")
        assert hark("-t", "de", "{a}", "-o", "link").returncode == 0
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "{a}\n"
        assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
        assert hark("-t", "de", "{a}", "-o", "/dev/null").returncode == 0
        assert Path("/dev/null").is_char_device()


def test_arguments_are_text_a_file_or_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").write_text("")
    assert find_input([]) is find_input(["-"]) is None
    assert find_input(["a b"]) == Path("a b")
    assert find_input(["a", "b"]) == "a b"
    assert find_input(["see", "a b"]) == "see a b"
    assert find_input(["x" * 10_000]) == "x" * 10_000
    with pytest.raises(UserError, match="the text is not UTF-8"):
        find_input(["\udcff"])


def test_doubtful_lines_cause_warnings_on_stderr(hark: Hark) -> None:
    lines = b"The cat sees it.\n" * 3 + b"5 %\n"
    too_long = ["-t", "de", "--search", "max_extra=0", "--search", "min_length=60"]
    done = hark(*too_long, stdin=lines)
    assert done.returncode == 0
    warnings = done.stderr.decode().splitlines()
    assert [line.split(":")[0] for line in warnings] == ["line 1", "line 2", "line 3"]
    assert all("the translation was cut off" in line for line in warnings)
    assert hark(*too_long, "--strict", stdin=lines).returncode == 3
    assert hark("-t", "de", "--strict", stdin=b"5 %\n").returncode == 0
    flagged = hark(*too_long, "--json", stdin=lines)
    assert flagged.stderr == b""
    flags = [set(json.loads(line)["flags"]) for line in flagged.stdout.splitlines()]
    assert [bool(each & {"truncated", "looped", "length"}) for each in flags] == [True, True, True, False]
    first, *_, last = map(json.loads, flagged.stdout.splitlines())
    assert {"flag": "truncated", "detail": "", "message": "the translation was cut off"} in first["warnings"]
    assert last["warnings"] == []
    many = hark(*too_long, stdin=lines * 5).stderr.decode().splitlines()
    assert many[-1] == "5 more doubtful lines; --json lists the reasons for each"


def test_a_wrapped_paragraph_is_joined_by_default(hark: Hark) -> None:
    text = b"The cat sees the house and it is old, and the tree is there, and the\nhouse is on it, too.\n\n5 %\n"
    joined = [json.loads(line)["source"] for line in hark("-t", "de", "--json", stdin=text).stdout.splitlines()]
    assert [source.count("\n") for source in joined] == [1, 0, 0]
    apart = hark("-t", "de", "--json", "--no-join", stdin=text).stdout.splitlines()
    assert len(apart) == 4
    assert hark("-t", "de", stdin=text).stdout.endswith(b"\n\n5 %\n")


def test_a_model_of_many_pairs_is_chosen_by_the_text_and_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = ("de", "en", "fr")
    many = InstalledModel(Path("many"), tuple((one, other) for one in codes for other in codes if one != other))
    models = [InstalledModel(Path("small"), (("de", "en"),)), many]
    monkeypatch.setattr("hark.models.list_models", lambda: models)
    french = ["Bonjour, où est la gare, s'il vous plaît ?\n"]
    assert choose_model(None, None, "en", french)[0] == Path("many")
    assert choose_model(None, None, "en", ["Guten Tag, wo ist bitte der Bahnhof?\n"])[0] == Path("small")
    assert choose_model(None, "fr", None, iter([]))[0] == Path("many")  # nothing to translate, so no choice is needed
    chosen = choose_model(None, "fr", "de", french)
    assert (chosen.folder, list(chosen.lines)) == (Path("many"), french)
    # Without a target, a model of one pair takes precedence; one of several translates to English.
    assert choose_model(None, None, None, ["Guten Tag, wo ist bitte der Bahnhof?\n"])[:3] == (Path("small"), "de", None)
    chosen = choose_model(None, None, None, iter(french))
    assert (chosen[:3], list(chosen.lines)) == ((Path("many"), "fr", "en"), french)
    assert choose_model(None, "fr", None, french)[:3] == (Path("many"), "fr", "en")
    with pytest.raises(UserError, match=r"^models from en translate to de, fr; choose with -t$"):
        choose_model(None, "en", None, ["Where is the station, please?\n"])
    # A first model of all these languages detects that of each paragraph, also if a text is too short to tell.
    models.reverse()
    assert choose_model(None, None, "en", french)[:2] == (Path("many"), None)
    models.reverse()
    assert choose_model(None, None, "de", ["x\n"])[:2] == (Path("many"), None)
    # Otherwise the language of the model of one pair is preferred.
    assert choose_model(None, None, "en", ["zzz zzz\n"])[:2] == (Path("small"), "de")


def test_the_language_of_a_huge_line_is_detected_from_its_beginning() -> None:
    line = "x" * 5_000_000 + "\n"
    text, lines = read_beginning([line, "more\n"])
    assert text == "x" * GLANCE
    assert list(lines) == [line, "more\n"]  # nothing is lost
