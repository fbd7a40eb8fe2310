"""`hark look` from the command line and from Python."""

import gc
import io
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

import hark
from hark.cli import look as verb
from hark.cli import main
from tests.inspect.text_models import T5, make_text_to_text
from tests.tasks.decoders import make_one_stack
from tests.translate.bundles import make_bundle

Hark = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Nothing that an untrained model says is complete, so every sentence is also searched with a higher limit.
    return make_bundle(tmp_path_factory.mktemp("models") / "small", "en", "de", "decode.max_extra=0")


@pytest.fixture
def hark_look(tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # this process also holds the tests' objects
    monkeypatch.setattr(webbrowser, "open", lambda url: sys.stderr.write(f"opened {url}\n"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["hark", "look", "-m", str(bundle), "--changes", "1", *words])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(words, int(left.value.code or 0), out, err)

    return run


def test_a_page_is_written_and_its_path_printed(hark_look: Hark, tmp_path: Path) -> None:
    done = hark_look("the cat sees a house", "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, "page.html\n")
    assert "opened" not in done.stderr  # not on a desktop
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>the cat sees a house · hark</title>" in page
    assert hark_look("the cat", "--changes", "0").stdout == "look.html\n"
    piped = hark_look("the cat", "--changes", "0", "-o", "-", "--open")
    assert piped.stdout.startswith("<!doctype html>")
    assert piped.stdout.rstrip().endswith("</html>")
    assert "opened" not in piped.stderr  # there is no file to open


def test_quick_measures_nothing(hark_look: Hark, tmp_path: Path) -> None:
    hark_look("the cat sees a house", "--changes", "0", "-o", "none.html")
    assert hark_look("the cat sees a house", "--changes", "0", "--quick", "-o", "quick.html").stdout == "quick.html\n"
    assert (tmp_path / "quick.html").read_text(encoding="utf-8") == (tmp_path / "none.html").read_text(encoding="utf-8")
    refused = hark_look("the cat sees a house", "--quick")  # together with --changes 1
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "hark: --quick cannot be combined with --changes\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_status_line_on_a_terminal_is_removed_at_the_end(hark_look: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hark_look("the cat sees a house").stderr == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    hark_look("the cat sees a house")
    shown = [each.rstrip() for each in terminal.getvalue().split("\r")]
    measured = [each for each in shown if each.startswith("measuring")]
    total = 1 + 6 + 5 + 1 + 1  # unchanged, without each of 6 heads and 5 words; one search of each kind
    assert shown[:4] == ["", "loading the model", "translating", f"measuring 0 of {total}"]
    assert measured == [f"measuring {done} of {total}" for done in range(total + 1)]
    assert shown[-2:] == ["", ""]
    # Each message covers the previous one, even if that is longer.
    widths = [len(each) for each in terminal.getvalue().split("\r")]
    assert all(width >= len(before) for width, before in zip(widths[1:], shown[:-2], strict=False))


def test_the_status_line_is_removed_before_an_error(hark_look: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    hark_look("2014", "--quick", "--changes", "0")
    before, error = terminal.getvalue().rsplit("\r", 1)
    assert error.startswith("hark: ")
    assert before.split("\r")[-1].strip() == ""


def test_a_word_of_five_megabytes_is_an_error_before_torch_is_imported(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "word.txt").write_text("ä" * 2_500_000, encoding="utf-8")
    code = """
import sys
from hark.cli import main
sys.argv = ["hark", "look", *sys.argv[1:]]
try:
    main()
except SystemExit as left:
    print(left.code, "torch" in sys.modules)
"""
    command = [sys.executable, "-c", code, "-m", str(bundle)]
    message = "hark: the first sentence is longer than 1,000 characters, the limit of a page; give a shorter one\n"
    from_file = subprocess.run([*command, "word.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert (from_file.stdout, from_file.stderr) == ("2 False\n", message)
    with (tmp_path / "word.txt").open() as stdin:
        from_stdin = subprocess.run(command, cwd=tmp_path, stdin=stdin, capture_output=True, text=True)
        assert stdin.buffer.raw.tell() < 100_000  # the rest was not read
    assert (from_stdin.stdout, from_stdin.stderr) == ("2 False\n", message)


@pytest.mark.parametrize("more", ["", "x", "xy", "xyz"])
def test_a_long_line_is_cut_between_characters(hark_look: Hark, tmp_path: Path, more: str) -> None:
    (tmp_path / "long.txt").write_text(f"The {more} cat sees. " + "ein Käse für 5 € 🐈 und " * 5000, encoding="utf-8")
    done = hark_look("long.txt", "--changes", "0")
    assert done.stdout == "look.html\n"
    assert "this page shows the first" in done.stderr


def test_leading_blank_lines_are_skipped(hark_look: Hark, tmp_path: Path) -> None:
    (tmp_path / "late.txt").write_text(" " * 100_000 + "\n" * 1000 + "  The cat sees.\n", encoding="utf-8")
    assert hark_look("late.txt", "--changes", "0").stderr == ""
    assert "<title>The cat sees. · hark</title>" in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_bytes_that_are_not_utf8(hark_look: Hark, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("the caf\xe9\n".encode("latin-1"))
    refused = hark_look("latin.txt", "--changes", "0")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].endswith("convert it, or use --errors replace")
    assert hark_look("latin.txt", "--changes", "0", "--errors", "replace").stdout == "look.html\n"


def test_the_page_is_opened_on_request(hark_look: Hark, tmp_path: Path) -> None:
    done = hark_look("the cat", "--open", "--changes", "0")
    assert f"opened {(tmp_path / 'look.html').as_uri()}" in done.stderr
    assert "opened" not in hark_look("the cat", "--no-open", "--changes", "0").stderr


def test_desktops_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert not verb.on_a_desktop()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert verb.on_a_desktop()
    monkeypatch.setenv("SSH_CONNECTION", "somewhere")
    assert not verb.on_a_desktop()
    monkeypatch.delenv("SSH_CONNECTION")
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # output to a script
    assert not verb.on_a_desktop()


def test_the_first_sentence_of_a_file_is_shown(hark_look: Hark, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n\nThe cat sees.\n\nA house.\n", encoding="utf-8")
    done = hark_look("text.txt", "--changes", "0")
    assert done.returncode == 0
    assert "this page shows the first" in done.stderr
    assert "<title>The cat sees. · hark</title>" in (tmp_path / "look.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("the cat", "-o", "page.png"), "page.png: the page is HTML; name a .html file"),
        (("the cat", "-o", "nowhere/page.html"), "nowhere/page.html: no such folder: nowhere"),
        (("the cat", "-t", "fr"), "translates en to de, not en to fr; choose another model"),
        (("the cat", "--preset", "anaphora"), "--preset comes with its own sentence; omit the text"),
        (("2014",), "nothing to translate; give a sentence with words"),
        (("--preset", "nothing"), "'nothing' is not one of"),
        (("the cat", "--beam", "99"), "99 is not in the range"),
    ],
)
def test_users_mistakes_are_one_line(words: tuple[str, ...], message: str, hark_look: Hark) -> None:
    done = hark_look(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_preset_whose_words_the_model_does_not_have(hark_look: Hark) -> None:
    done = hark_look("--preset", "anaphora", "-o", "page.html")
    assert done.returncode == 0
    assert "The dog slept under the tree" in Path("page.html").read_text(encoding="utf-8")


def test_from_python(bundle: Path, tmp_path: Path) -> None:
    page = hark.look("the cat sees a house", bundle, changes=0, beam=2)
    assert "<iframe" in page._repr_html_()
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert hark.look("the cat", hark.load(bundle), changes=0).title == "the cat · hark"


def test_hark_inspect_needs_no_import() -> None:
    code = "import sys, hark; assert 'torch' not in sys.modules; from hark import inspect; print(hark.inspect.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "hark.inspect\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hark.nothing  # noqa: B018


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_one_stack(tmp_path_factory.mktemp("models") / "tiny"))


def test_a_text_of_a_model_of_one_stack(hark_look: Hark, decoder: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat\n\nsees a house\n")
    done = hark_look("-m", decoder, "--changes", "0", "text.txt", "--max-tokens", "3", "-o", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "page.html\n", "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>the cat\n\nsees a house · hark</title>" in page  # the whole text, not its first sentence
    assert '"expected":' in page


def test_options_for_translations_are_refused_for_a_text(hark_look: Hark, decoder: str) -> None:
    for options, message in (
        (("--beam", "3"), "leave out --beam"),
        (("-t", "de"), "leave out -t"),
        (("--preset", "anaphora"), "leave out --preset"),
        ((), "leave out --changes"),  # the fixture gives 1
        (("--changes", "0", "--max-tokens", "900"), "may get 900 more; a page of tiny shows at most 64"),
    ):
        words = () if "--preset" in options else ("the cat",)
        refused = hark_look("-m", decoder, *options, *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1
    refused = hark_look("the cat", "--max-tokens", "3")
    assert refused.stderr == "hark: --max-tokens requires -m with a model that generates text, such as t5-small\n"


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that makes text from text."""
    return str(make_text_to_text(tmp_path_factory.mktemp("models") / "tiny", *T5))


def test_what_a_model_makes_of_a_text(hark_look: Hark, writer: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The <extra_id_0> sees.\nA house.\n")
    done = hark_look("-m", writer, "text.txt", "--max-tokens", "4", "--beam", "2", "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, "page.html\n")
    assert done.stderr == "the output is cut off after 4 tokens; raise --max-tokens for more\n"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>The &lt;extra_id_0&gt; sees.\nA house. · hark</title>" in page  # the whole text
    assert '"width":2,' in page.replace(" ", "")
    done = hark_look("-m", writer, "text.txt", "--changes", "0", "--output-text", "<extra_id_0> cat", "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"expected":' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_options_that_do_not_apply_to_a_text_to_text_model(hark_look: Hark, writer: str, decoder: str) -> None:
    for words, message in (
        (("-m", writer, "the cat", "-t", "de"), "has no languages, so it does not translate; leave out -t"),
        (("-m", writer, "--preset", "anaphora"), "has no languages, so it does not translate; leave out --preset"),
        (("-m", writer, "the cat", "--output-text", "a", "--beam", "2"), "nothing is generated; leave out --beam"),
        (("-m", writer, "the cat", "--output-text", "a"), "nothing is generated; leave out --changes"),  # given: 1
        (("-m", writer, "the cat", "--max-tokens", "0"), "max_tokens 0: must be at least 1"),
        (("-m", decoder, "the cat", "--changes", "0", "--output-text", "a"), "one stack, so it does not translate; "),
        (("the cat", "--output-text", "a"), "--output-text requires -m with a model that makes text from text, such"),
    ):
        refused = hark_look(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1
