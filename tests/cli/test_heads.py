"""`hark heads` with an untrained model."""

import json
import re
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.engine.interface import AlignmentHeads
from tests.cli.running import Hark, fake_terminal, figures, make_runner, refused
from tests.inspect.text_models import T5, make_text_to_text
from tests.tasks.decoders import make_one_stack
from tests.translate.bundles import make_bundle

SOURCES = ["the cat sees a red house .", "we have been here before ,", "", "it is not an old tree"]
TARGETS = ["Die Katze sieht das Haus .", "das war", "nicht", "aber nicht rot !"]
GOLD = ["1-1 2-2 3-3 5p5 6-5 7-6", "1-1 3p2", "", "1-1 2p1 3-2 5-3"]
ON = ("--on", "test.en", "test.de", "--threads", "1")
SETTINGS = ("model.n_decoder_layers=2", "model.n_heads=4")


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    make_bundle(tmp_path / "small", "en", "de", *SETTINGS)
    files = {"test.en": SOURCES, "test.de": TARGETS, "gold.talp": GOLD}
    return make_runner("heads", tmp_path, files, monkeypatch, capfd)


def test_the_table_has_a_row_for_each_head(hark: Hark) -> None:
    done = hark("small", *ON)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["head", "looks", "at", "share", "entropy", "distance"]
    names = [" ".join(line.split()[:2]) for line in lines[1:21]]
    assert names == [
        *(f"encoder 1:{n}" for n in range(1, 5)),
        *(f"{kind} {layer}:{n}" for kind in ("decoder", "cross") for layer in (1, 2) for n in range(1, 5)),
    ]
    assert "3 sentence pairs of test (1 more skipped: empty or too long)" in lines


def test_all_figures_as_json(hark: Hark) -> None:
    tree = figures(hark("small", *ON, "--gold", "gold.talp", "--importance", "2", "--json"))
    assert (tree["model"], tree["corpus"], tree["sentences"], tree["left_out"]) == ("small", "test", 3, 1)
    assert len(tree["heads"]) == 20
    cross = tree["heads"][-1]
    assert (cross["kind"], cross["layer"], cross["head"]) == ("cross", 2, 4)
    assert 0 <= cross["alignment_error_rate"]["reads"] <= 1
    assert cross["effect"]["interval"] >= 0
    assert 0 <= cross["measures"]["end"] <= 1
    assert tree["heads"][0]["alignment_error_rate"] is None
    assert tree["alignment"]["pairs"] == 3
    assert len(tree["alignment"]["layers"]["predicts"]) == 2
    assert tree["importance"]["sentences"] == 2
    assert tree["importance"]["curve"] is None


def test_pictures_and_a_curve_with_bleu(hark: Hark) -> None:
    done = hark("small", *ON, "--curve", "curve.svg", "--bleu", "--importance", "2", "-o", "heads.svg", "--json")
    curve = figures(done)["importance"]["curve"]
    assert [each["removed"] for each in curve] == list(range(21))
    assert all(each["bleu"] >= 0 for each in curve)
    assert done.stderr == ""
    for name in ("heads.svg", "curve.svg"):
        assert Path(name).read_text().startswith("<svg")


def test_a_picture_on_stdout_replaces_the_table(hark: Hark) -> None:
    done = hark("small", *ON, "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<svg")
    assert done.stdout.rstrip().endswith("</svg>")
    assert not Path("-").exists()
    assert "both write to stdout" in refused(hark("small", *ON, "-o", "-", "--json"))


def test_written_files_are_named_on_a_terminal(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        fake_terminal(changed)
        done = hark("small", *ON, "--gold", "gold.talp", "--store", "-o", "heads.svg", "--json")
    assert "heads.svg" in done.stderr
    assert "stored alignment heads" in done.stderr


def test_the_best_heads_are_stored_and_used(hark: Hark) -> None:
    done = hark("small", *ON, "--name", "our words", "--gold", "gold.talp", "--store", "--json")
    best = figures(done)["alignment"]["best_in_one_layer"]
    bundle = Bundle.open("small")
    stored = AlignmentHeads.of_facts(bundle.facts.alignment, bundle.config.model)
    assert stored is not None
    assert [[stored.layer + 1, head + 1] for head in stored.heads] == best["heads"]
    assert stored.step == best["step"]
    assert re.search(r"alignment error rate 0\.\d{3} on 3 pairs of our words\n", bundle.card)


def test_reversed_gold_gives_the_same_result(hark: Hark) -> None:
    straight = hark("small", *ON, "--gold", "gold.talp", "--json").stdout
    turned = [re.sub(r"(\d+)([-p])(\d+)", r"\3\2\1", line) for line in GOLD]
    Path("turned.talp").write_text("\n".join(turned) + "\n")
    assert figures(hark("small", *ON, "--gold", "turned.talp", "--gold-reversed", "--json")) == json.loads(straight)


def test_tokenised_text_is_detokenised_for_the_model_only(hark: Hark) -> None:
    apart, together = (
        figures(hark("small", *ON, "--gold", "gold.talp", "--json", *words)) for words in ((), ("--tokenised",))
    )
    assert apart["heads"] != together["heads"]  # "house ." and "house."
    assert apart["alignment"]["pairs"] == together["alignment"]["pairs"]  # the words are the same


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("small", *ON, "--store"), "--store requires --gold"),
        (("small", *ON, "--gold-reversed"), "--gold-reversed requires --gold"),
        (("small", *ON, "--bleu"), "--bleu requires --curve"),
        (("small", *ON, "-o", "heads.png"), "heads.png: the picture is SVG; name a .svg file"),
        (("small", *ON, "--curve", "none/curve.svg"), "none/curve.svg: no such folder: none"),
        (("small", *ON, "--gold", "test.de"), "test.de:1: 'Die' is not a link; use the format 1-1 2p3"),
        (
            ("small", *ON, "--gold", "gold.talp", "--gold-reversed"),
            "gold.talp:1: link 7-6 is out of range: the pair has",
        ),
        (("small", "--on", "test.en", "none.de"), "none.de"),
        (("none", *ON), "none: no such model"),
        (("small",), "'--on'"),
    ],
)
def test_users_mistakes_are_one_line_and_nothing_is_written(words: tuple[str, ...], message: str, hark: Hark) -> None:
    assert message in refused(hark(*words))
    assert {path.name for path in Path().iterdir()} == {"small", "test.en", "test.de", "gold.talp"}


@pytest.mark.parametrize(
    "where", ["inspect.heads.importance.losses", "inspect.heads.picture.draw", "bundle.manifest.seal"]
)
def test_an_interrupt_leaves_no_partial_file(where: str, hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {path.name: path.read_bytes() for path in Path("small").iterdir()}
    monkeypatch.setattr(f"hark.{where}", interrupt)
    done = hark("small", *ON, "--gold", "gold.talp", "--importance", "2", "--store", "-o", "heads.svg")
    assert done.returncode == 130
    assert done.stderr.endswith("hark: interrupted\n")
    drawn = {"heads.svg"} if "seal" in where else set()
    assert {path.name for path in Path().iterdir()} == {"small", "test.en", "test.de", "gold.talp"} | drawn
    assert {path.name: path.read_bytes() for path in Path("small").iterdir()} == before


@pytest.fixture
def alone(hark: Hark, tmp_path: Path) -> Hark:
    """With a decoder and an encoder alone, and a text."""
    make_one_stack(tmp_path / "decoder", "decoder", *SETTINGS, "model.d_k=8", "model.d_v=8")
    make_one_stack(tmp_path / "encoder", "encoder")
    (tmp_path / "text.txt").write_text("the cat sees a red house .\n" * 40)
    (tmp_path / "text.jsonl").write_text(json.dumps({"text": "the cat sees a red house . " * 15}) + "\n")
    return hark


def test_a_decoder_alone_reads_a_text_and_repeated_tokens(alone: Hark) -> None:
    done = alone("decoder", "--on", "text.txt", "--threads", "1", "--importance", "2", "-o", "heads.svg")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "head", "looks", "at", "share", "entropy", "distance", "induction", "copying", "effect",
    ]  # fmt: skip
    assert [" ".join(line.split()[:2]) for line in lines[1:9]] == [
        f"decoder {layer}:{n}" for layer in (1, 2) for n in range(1, 5)
    ]
    assert re.search(r"^\d+ parts of text with [\d,]+ tokens$", done.stdout, re.MULTILINE)
    assert re.search(r"^loss on \d+ random tokens: [\d.]+ nats per token, and [\d.]+ again$", done.stdout, re.MULTILINE)
    assert "bits per byte on 2 parts" in done.stdout
    tree = figures(alone("decoder", "--on", "text.jsonl", "--json", "--sentences", "3"))
    assert tree["corpus"] == "text"
    assert tree["sentences"] == 2  # of at most 64 tokens, the model's positions
    assert tree["text"]["unit"] == "bits per byte"
    assert 0 <= tree["heads"][0]["measures"]["copying"] <= 1


def test_an_encoder_alone(alone: Hark) -> None:
    done = alone("encoder", "--on", "text.txt", "-", "--sentences", "2")
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:3]] == [["encoder", "1:1"], ["encoder", "1:2"]]
    assert "random tokens" not in done.stdout
    measures = figures(alone("encoder", "--on", "text.txt", "--sentences", "2", "--json"))["heads"][0]["measures"]
    assert {"start", "end", "next"} <= set(measures)


def test_what_a_model_of_one_stack_cannot_do_is_one_line(alone: Hark, tmp_path: Path) -> None:
    for given, message in (
        (["decoder", *ON], "decoder: has one stack, so it reads one text; give --on one file"),
        (["decoder", "--on", "text.txt", "--gold", "gold.talp"], "leave out --gold"),
        (["decoder", "--on", "text.txt", "--curve", "x.svg", "--bleu"], "leave out --bleu"),
        (["decoder", "--on", "text.txt", "-t", "de"], "leave out -t"),
        (
            ["encoder", "--on", "text.txt", "--importance", "2"],
            "predicts no tokens, because its vocabulary has no mask; leave out",
        ),
        (["decoder", "--on", "none.txt"], "none.txt: no such file"),
    ):
        assert message in refused(alone(*given))
    (tmp_path / "short.txt").write_text("a\n")
    assert "short.txt: has no text of 8 tokens" in refused(alone("decoder", "--on", "short.txt"))


def test_a_text_to_text_model_reads_a_text_that_is_corrupted_or_pairs(alone: Hark, tmp_path: Path) -> None:
    make_text_to_text(tmp_path / "t5", *T5)
    done = alone("t5", "--on", "text.txt", "--sentences", "3", "--importance", "2", "-o", "heads.svg")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[-3:] == ["induction", "copying", "effect"]
    assert [" ".join(line.split()[:2]) for line in lines[1:25]] == [
        f"{kind} {layer}:{n}" for kind in ("encoder", "decoder", "cross") for layer in (1, 2) for n in range(1, 5)
    ]
    assert re.search(r"^3 parts of text with [\d,]+ tokens$", done.stdout, re.MULTILINE)
    assert re.search(r"^loss on \d+ random tokens: [\d.]+ nats per token, and [\d.]+ again$", done.stdout, re.MULTILINE)
    assert "nats per token on 2 parts" in done.stdout
    (tmp_path / "pairs.tsv").write_text("The <extra_id_0> sees\t<extra_id_0> cat\nIt is old.\tIt is not.\n")
    for on in (["test.en", "test.de"], ["pairs.tsv"]):
        tree = figures(alone("t5", "--on", *on, "--json"))
        assert tree["sentences"] == (3 if len(on) == 2 else 2)
        assert tree["text"]["unit"] == "nats per token"
        assert "induction" in tree["heads"][8]["measures"]
        assert "induction" not in tree["heads"][0]["measures"]
    gold = figures(alone("t5", *ON, "--gold", "gold.talp", "--tokenised", "--json", "--store"))
    assert 0 <= gold["heads"][-1]["alignment_error_rate"]["reads"] <= 1
    assert Bundle.open(tmp_path / "t5").facts.alignment is not None  # for hark look


def test_what_a_text_to_text_model_cannot_do_is_one_line(alone: Hark, tmp_path: Path) -> None:
    make_text_to_text(tmp_path / "t5", *T5)
    make_one_stack(tmp_path / "plain", "encoder-decoder")
    for given, message in (
        (["t5", *ON, "-t", "de"], "t5: has no languages, so it does not translate; leave out -t"),
        (["t5", *ON, "--curve", "x.svg", "--bleu"], "t5: has no languages, so it does not translate; leave out --bleu"),
        (["t5", "--on", "text.txt", "--gold", "gold.talp"], "--gold is for pairs of texts, but text.txt is one text;"),
        (["t5", "--on", "text.txt", "--tokenised"], "--tokenised is for pairs of texts, but text.txt is one text;"),
        (["t5", "--on", "none.txt"], "none.txt: no such file"),
        (["plain", "--on", "text.txt"], "no sentinels and no mask, so it restores no text; give --on two files"),
    ):
        assert message in refused(alone(*given))
