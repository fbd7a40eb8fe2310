"""`hark prepare` from the command line."""

import gzip
import re

import pytest

from hark import configfile
from hark.data import Dataset
from tests.cli.running import make_runner
from tests.data.material import pairs, write


@pytest.fixture
def hark(tmp_path, monkeypatch, capfd):
    return make_runner("prepare", tmp_path, {}, monkeypatch, capfd)


@pytest.fixture
def text(tmp_path):
    write(tmp_path, "train", pairs(700))
    write(tmp_path, "dev", pairs(20, seed=1))
    write(tmp_path, "test", pairs(10, seed=2))
    rows = "".join(f"{a}\t{b}\n" for a, b in pairs(100, seed=3))
    (tmp_path / "more.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    return tmp_path


FLAGS = (
    *("--pair", "en", "de"),
    *("--train", "train.en", "train.de", "--train", "more.tsv.gz", "-", "--weight", "2.5"),
    *("--dev", "dev.en", "dev.de", "--test", "test.en", "test.de"),
    *("--vocab", "400", "-o", "dataset", "--processes", "1"),
)


def test_options(hark, text):
    result = hark(*FLAGS, "data.clean.max_words=30")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "dataset: 800 pairs read, 800 kept (100.00%)"
    assert lines[1] == "dropped: none"
    assert lines[2].endswith("vocabulary 400")
    assert lines[3] == "report: dataset/report.html"
    assert "cleaning" in result.stderr
    dataset = Dataset.open(text / "dataset")
    assert [(shard.name, shard.weight, shard.pairs) for shard in dataset.manifest.shards] == [
        ("train", 1.0, 700),
        ("more", 2.5, 100),
        ("dev", 1.0, 20),
        ("test", 1.0, 10),
    ]
    assert configfile.load(text / "dataset" / "config.toml").data.clean.max_words == 30
    again = hark(*FLAGS, "data.clean.max_words=30")
    assert again.returncode == 0
    assert again.stdout == "dataset: up to date with these files and settings; nothing to do\n"


def test_pairs_that_are_too_long_are_counted(hark, text):
    result = hark(*FLAGS, "batches.max_length=35")
    dataset = Dataset.open(text / "dataset")
    stores = [store for corpus in dataset.train for store in corpus.variants]
    too_long = sum(max(map(len, store[i])) >= 35 for store in stores for i in range(len(store)))
    assert 0 < too_long < 800
    line = f"too long: {too_long:,} of 800 pairs; training skips them (batches.max_length 35)"
    assert result.stdout.splitlines()[2] == line


def test_a_recipe_with_options_on_top(hark, text):
    (text / "recipe.toml").write_text(
        """
        [data]
        dataset = "from-recipe"
        vocab_size = 500
        train = [{ source = "train.en", target = "train.de", name = "mine" }]
        """
    )
    result = hark("recipe.toml", "data.vocab_size=450", "--vocab", "400")
    assert result.returncode == 0, result.stderr
    dataset = Dataset.open(text / "from-recipe")
    assert dataset.tokenizer("target").vocab_size == 400
    assert dataset.manifest.shards[0].name == "mine"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("-o", "d"), "hark: no training corpus; name one with --train SRC TGT, or as data.train in a recipe"),
        (("--train", "train.en", "train.de"), "hark: no output folder; name one with -o"),
        (("--train", "gone.en", "train.de", "-o", "d"), "hark: gone.en: no such file"),
        (("--train", "train.en", "-o", "d"), None),
        (
            ("--weight", "2", "--train", "a", "b", "-o", "d"),
            "hark: --weight before any --train; put it after the --train that it applies to",
        ),
        (
            ("--train", "a", "b", "--weight", "-1", "-o", "d"),
            "hark: command line: weight: -1.0 is not allowed; must be a number, more than 0",
        ),
        (
            ("--vocab", "7", "-o", "d"),
            "hark: command line: vocab_size: 7 is not allowed; must be a whole number, from 261 to 16777216",
        ),
        (("gone.toml", "-o", "d"), "hark: gone.toml: no such file"),
        (("data.vocabulary=3", "-o", "d"), None),
    ],
)
def test_users_mistakes_are_one_line_and_exit_2(hark, text, arguments, line):
    result = hark(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("hark: ")
    assert "Traceback" not in result.stderr
    if line is not None:
        assert last == line
    assert not (text / "d").exists()


def test_swapped_files_cause_a_warning(hark, tmp_path):
    english = [f"The dog runs quickly through the old forest, and it is {i} minutes past three." for i in range(300)]
    german = [f"Der Hund läuft schnell durch den alten Wald, und es ist {i} Minuten nach drei." for i in range(300)]
    short = [f"{one}{two} {two}{one}" for one in ("oma", "ruby", "fado", "kilo") for two in "abcdefghijklmnopqrstuvwxy"]
    (tmp_path / "a.en").write_text("\n".join([*english, *short]) + "\n")
    (tmp_path / "a.de").write_text("\n".join([*german, *map(str.title, short[::-1])]) + "\n")
    flags = ("--pair", "en", "de", "--vocab", "320", "--processes", "1")
    swapped = hark(*flags, "--train", "a.de", "a.en", "-o", "swapped")
    assert swapped.returncode == 0
    assert swapped.stderr.splitlines()[-1] == (
        "a: 100 of 400 kept: are the files swapped? Dropped pairs have de on the en side and en on the de side"
    )
    right = hark(*flags, "--vocab", "400", "--train", "a.en", "a.de", "-o", "right")
    assert (right.returncode, "swapped" in right.stderr) == (0, False)
    (tmp_path / "b.en").write_text("\n".join(english) + "\n")
    (tmp_path / "b.de").write_text("\n".join(german) + "\n")
    nothing = hark(*flags, "--train", "b.de", "b.en", "-o", "nothing")
    assert nothing.returncode == 2
    assert nothing.stderr.splitlines()[-1] == "hark: b.de: 0 of 300 pairs kept; are the files swapped?"
    french = "\n".join(f"Le chien court vite à travers la vieille forêt, et il est {i} heures." for i in range(300))
    (tmp_path / "c.fr").write_text(french + "\n")
    other = hark(*flags, "--train", "c.fr", "b.de", "-o", "other")
    assert "no pairs left after cleaning: language dropped 300 of 300" in other.stderr


def test_many_to_many_takes_languages_from_the_file_names(hark, tmp_path):
    write(tmp_path, "train", pairs(400))
    (tmp_path / "more.de-fr.tsv").write_text("".join(f"{b}\t{a}\n" for a, b in pairs(300, seed=4)))
    arguments = ("--train", "train.en", "train.de", "--train", "more.de-fr.tsv", "-", "--vocab", "400")
    settings = ("data.many=true", "data.clean.language=1", "-o", "dataset", "--processes", "1")
    result = hark(*settings, *arguments)
    assert result.returncode == 0, result.stderr
    at = result.stdout.splitlines().index("pairs in 4 directions (rows: source, columns: target):")
    matrix = [line.split() for line in result.stdout.splitlines()[at + 1 : at + 5]]
    assert matrix == [
        ["de", "en", "fr"],
        ["de", "-", "400", "300"],
        ["en", "400", "-", "-"],
        ["fr", "300", "-", "-"],
    ]
    dataset = Dataset.open(tmp_path / "dataset")
    assert [shard.name for shard in dataset.manifest.shards] == [
        "train.en-de",
        "train.de-en",
        "more.de-fr",
        "more.fr-de",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--train", "train", "train.de"),
            "train: cannot tell its languages; name the files as in train.en and train.fr",
        ),
        (("--train", "a.tsv", "-"), "a.tsv: cannot tell its languages; name the file as in train.en-fr.tsv"),
        (("--train", "a.en", "b.en"), "command line: languages: both are en; name two languages"),
        (("--pair", "en", "de"), "--pair and data.many=true exclude each other"),
    ],
)
def test_many_to_many_without_languages(hark, arguments, message):
    result = hark("data.many=true", *arguments, "-o", "dataset")
    assert result.returncode == 2
    assert result.stderr.startswith(f"hark: {message}")
    assert result.stderr.count("\n") == 1


def test_the_sample_of_a_recipe_is_refused_for_other_languages(hark, tmp_path):
    (tmp_path / "my.de").write_text("Guten Morgen.\n")
    (tmp_path / "my.en").write_text("Good morning.\n")
    own = "--train", str(tmp_path / "my.de"), str(tmp_path / "my.en")
    result = hark("fine-tune", "train.from=de-en", *own, "-o", "dataset")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        "hark: hark:sample/dev.en.xz is English-German text, not de-en; give text of your own with --dev and --test, "
        "or leave it out with data.dev=[] data.test=[]"
    )
    result = hark("fine-tune", "train.from=de-en", "-o", "dataset")
    assert result.stderr.endswith("give text of your own with --train and --dev and --test\n")
    reversed_sides = ["--dev", "hark:sample/dev.de.xz", "hark:sample/dev.en.xz"]
    result = hark("fine-tune", "train.from=de-en", *own, *reversed_sides, "data.test=[]", "-o", "dataset")
    assert result.returncode == 0, result.stderr


def test_the_sample_is_text_of_every_kind_of_english(hark):
    sides = ["--train", "hark:sample/dev.en.xz", "hark:sample/dev.de.xz"]
    result = hark("--pair", "en-GB", "de_AT", *sides, "--vocab", "400", "-o", "dataset")
    assert result.returncode == 0, result.stderr


def test_running_text(hark, tmp_path):
    lines = [f"Line {number} of a long letter to my sister." for number in range(300)]
    (tmp_path / "letter.txt").write_text("\n".join(lines))
    result = hark("--text", "letter.txt", "--vocab", "300", "-o", "letters", "--processes", "1")
    assert result.returncode == 0, result.stderr
    out = result.stdout.splitlines()
    assert out[0] == "letters: 1 document kept; dropped: none"
    assert out[1].startswith("train letter: ")
    assert out[2].startswith("dev letter-end: ")
    assert out[3:] == ["vocabulary 300", "report: letters/report.html"]
    config = configfile.load(tmp_path / "letters" / "config.toml").data
    assert (config.documents, config.target, config.dev_share) == ("file", "en", 0.1)
    again = hark("--text", "letter.txt", "--vocab", "300", "-o", "letters", "--language", "nl", "--processes", "1")
    assert again.returncode == 2
    assert "Traceback" not in again.stderr


@pytest.mark.usefixtures("text")
def test_pairs_and_text_exclude_each_other(hark):
    result = hark("--text", "train.en", "--train", "train.en", "train.de", "-o", "mixed")
    assert result.returncode == 2
    assert result.stderr == "hark: --text and --train exclude each other; prepare text and pairs apart\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--text", "train.en", "--pair", "en", "de"), "--pair is for sentence pairs; name the language of --text"),
        (("--train", "train.en", "train.de", "--language", "fr"), "--language requires --text"),
        (("--train", "train.en", "train.de", "--text-dev", "train.en"), "--text-dev requires --text"),
    ],
)
@pytest.mark.usefixtures("text")
def test_no_option_is_ignored(hark, words, message):
    result = hark(*words, "-o", "mixed")
    assert result.returncode == 2
    assert message in result.stderr


def test_a_vocabulary_larger_than_the_text_gives(hark, tmp_path):
    (tmp_path / "short.txt").write_text("The cat sees the cat.\nThe dog sees the cat.\n")
    result = hark("--text", "short.txt", "-o", "short", "--processes", "1")
    assert re.search(r"^vocabulary [\d]+ instead of 37,000: the text has no more$", result.stdout, re.MULTILINE)
    assert "1 document kept" in result.stdout
