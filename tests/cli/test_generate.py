"""`hark generate` from the command line, and what other verbs say of a model that generates."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Hark, fake_terminal, make_runner, refused
from tests.tasks.decoders import make_one_stack
from tests.translate.bundles import make_bundle

FILES = {"prompts.txt": ["Once upon", "", "The house"]}
SHORT = ("--max-tokens", "8", "--seed", "2")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_bundle(folder / "en-de")
    make_one_stack(folder / "bert", "encoder")
    make_one_stack(folder / "gpt")
    make_one_stack(folder / "t5", "encoder-decoder", "model.positions=relative", "model.norm_kind=rms")
    return folder


@pytest.fixture
def hark(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("HARK_MODELS", str(models))
    return make_runner("generate", tmp_path, FILES, monkeypatch, capfd)


def test_a_prompt_is_continued(hark: Hark) -> None:
    done = hark("Once", "upon", *SHORT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
    assert done.stdout == hark("Once upon", *SHORT, "-m", "gpt").stdout
    assert done.stdout == hark("Once upon", *SHORT, "--stream").stdout


def test_text_is_streamed_to_a_terminal(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    from hark.cli import generate

    expected = hark("Once upon", *SHORT).stdout
    pieces: list[str] = []
    fake_terminal(monkeypatch)
    monkeypatch.setattr(generate, "print_piece", pieces.append)
    hark("Once upon", *SHORT)
    assert len(pieces) > 3
    assert "".join(pieces) == expected


def test_each_line_of_a_file_is_a_prompt(hark: Hark) -> None:
    lines = [json.loads(line) for line in hark("prompts.txt", *SHORT, "--n", "2", "--json").stdout.splitlines()]
    assert [line["prompt"] for line in lines] == [prompt for prompt in FILES["prompts.txt"] for _ in range(2)]
    assert all(line["ending"] in ("eos", "length") for line in lines)
    assert len({line["seed"] for line in lines}) == 2
    alone = hark("The house", "--max-tokens", "8", "--seed", str(lines[5]["seed"])).stdout
    assert alone == lines[5]["text"] + "\n"


def test_greedy_text_ends_before_a_stop_string(hark: Hark) -> None:
    whole = hark("Once upon", "--greedy", "--max-tokens", "20").stdout.removesuffix("\n")
    stop = whole[5:9]
    done = hark("Once upon", "--greedy", "--max-tokens", "20", "--stop", "never", "--stop", stop)
    assert done.stdout == whole[: whole.find(stop)] + "\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "-m", "en-de"), "continues no text: it translates; use hark translate"),
        (("x", "-m", "bert"), "continues no text: it "),
        (("x", "-m", "none"), "none: no such model"),
        (("none.txt",), "none.txt: no such file; to continue this as text, pipe it in"),
        (("x", "--top-p", "0"), "top_p"),
        (("x", "--min-p", "1"), "min_p"),
        (("x", "--stop", ""), "stop: must be a list of strings that are not empty"),
        (("x", "--greedy", "--n", "2"), "n 2 requires a temperature above 0"),
        (("x", "--greedy", "--temperature", "1"), "--greedy and --temperature exclude each other"),
        (("x", "--beam", "2", "--temperature", "1"), "draws nothing; leave out --temperature"),
        (("x", "--stream", "--json"), "--stream prints one text at a time"),
        (("word " * 90,), "positions; shorten it"),
    ],
)
def test_mistakes_are_one_line(hark: Hark, words: tuple[str, ...], message: str) -> None:
    assert message in refused(hark(*words))


def test_without_a_model(hark: Hark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARK_MODELS", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "no model that continues text; name one with -m, or get one" in refused(hark("x"))


def test_a_model_that_makes_another_text(hark: Hark) -> None:
    """Its text is the likeliest one, unless something else is asked for, and does not begin with the prompt."""
    done = hark("-m", "t5", "The house", "--max-tokens", "8", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    line = json.loads(done.stdout)
    assert line["text"] + "\n" == hark("-m", "t5", "The house", "--max-tokens", "8", "--stream").stdout
    assert line["text"] + "\n" == hark("-m", "t5", "The house", "--max-tokens", "8", "--greedy").stdout
    drawn = hark("-m", "t5", "prompts.txt", *SHORT, "--temperature", "1", "--n", "2").stdout.splitlines()
    assert len(drawn) == 6
    searched = [hark("-m", "t5", "The house", "--max-tokens", "8", "--beam", beam).stdout for beam in ("1", "4")]
    assert searched[0] == line["text"] + "\n"
    assert searched[1].strip()
    for option in ("--temperature", "--seed"):
        wrong = refused(hark("-m", "t5", "The house", "--beam", "4", option, "1"))
        assert f"draws nothing; leave out {option}" in wrong


NO_TRANSLATION = [
    ("translate", "-m", "gpt", "-t", "de", "Hello"),
    ("translate", "-m", "gpt", "Hello"),
    ("evaluate", "gpt", "--source", "prompts.txt", "--reference", "prompts.txt"),
    ("export", "gpt", "--to", "ctranslate2", "-o", "new"),
    ("export", "gpt", "--to", "onnx", "-o", "new"),
    ("parse", "-m", "gpt", "Hello"),
    ("align", "-m", "gpt", "-s", "en", "-t", "de", "prompts.txt", "prompts.txt", "-o", "pairs.tsv"),
]


@pytest.mark.usefixtures("hark")
@pytest.mark.parametrize("words", NO_TRANSLATION, ids=" ".join)
def test_other_verbs_refuse_it(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    message = refused(make_runner(words[0], tmp_path, {}, monkeypatch, capfd)(*words[1:]))
    assert "continues text; use hark generate" in message or "no model" in message or "is a decoder alone" in message, (
        message
    )


@pytest.mark.usefixtures("hark")
@pytest.mark.parametrize("words", NO_TRANSLATION, ids=" ".join)
def test_other_verbs_refuse_a_model_without_languages(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = tuple("t5" if word == "gpt" else word for word in words)
    message = refused(make_runner(words[0], tmp_path, {}, monkeypatch, capfd)(*words[1:]))
    assert (
        "makes text from text; use hark generate" in message
        or "no pairs of languages" in message
        or "no model" in message
    ), message


@pytest.mark.usefixtures("hark")
def test_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    listed = make_runner("models", tmp_path, {}, monkeypatch, capfd)().stdout.splitlines()
    (line,) = [line for line in listed if line.startswith("gpt ")]
    assert line.split()[1] == "en"
