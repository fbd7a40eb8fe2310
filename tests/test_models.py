"""Finding models by name and by language pair."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hark
from hark import configfile
from hark.bundle import Bundle, write_facts
from hark.errors import HarkWarning, UserError
from hark.facts import Facts
from hark.models import InstalledModel, choose, list_models, named_folder, places, preferred_sources, user_folder
from tests.translate.bundles import make_bundle


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without models, so that tests do not see those of the user who runs them."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HARK_MODELS", raising=False)
    return tmp_path


def test_models_are_searched_in_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Path(hark.__file__).parent / "models_data"
    assert places() == [home / "home/.local/share/hark/models", shipped]
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("HARK_MODELS", f"{home}/one:{home}/two")
    assert places() == [home / "one", home / "two", home / "data/hark/models", shipped]
    monkeypatch.setenv("XDG_DATA_HOME", "relative")  # the specification says to ignore it
    assert user_folder() == home / "home/.local/share/hark/models"


def test_only_bundles_are_listed(home: Path) -> None:
    here = home / "models"
    make_bundle(here / "b")
    make_bundle(here / "a", "de", "en")
    (here / "b" / "facts.json").write_text("nonsense")
    (here / "other").mkdir()
    (here / "file").write_text("")
    (here / ".a.partial").mkdir()
    first, second = list_models([home / "nowhere", here, here / "a"])[:2]
    assert (first.name, first.pairs, first.problem) == ("a", (("de", "en"),), "")
    assert second.name == "b"
    assert "not valid JSON" in second.problem
    assert [each.name for each in list_models([here / "a"])] == ["a"]


def run_as_nobody(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python, as another user than root, who can read everything."""
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    inherited = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME")}
    environment = {**inherited, "PYTHONPATH": str(Path(hark.__file__).parents[1]), **environment}
    command = [*nobody, sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd="/", text=True, capture_output=True, check=False)


def test_a_home_that_cannot_be_read_is_skipped_with_one_line(tmp_path: Path) -> None:
    try:
        works = run_as_nobody("-c", "import hark.models").returncode == 0
    except OSError:
        works = False
    if not works:
        pytest.skip("another user cannot run this Python here")
    barred = tmp_path / "home"
    barred.mkdir(mode=0o000)
    given = "-m", "hark", "translate", "-s", "en", "-t", "de", "Where is the station?"
    done = run_as_nobody(*given, HOME=str(barred))
    assert (done.returncode, done.stdout) == (0, "Wo ist der Bahnhof?\n")
    (line,) = done.stderr.splitlines()
    assert "cannot be read: Permission denied; going on without it" in line
    barred.chmod(0o700)
    for home in ("/nonexistent", str(Path(hark.__file__))):  # a file has no files in it either
        done = run_as_nobody(*given, HOME=home)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Wo ist der Bahnhof?\n", "")
    nowhere = run_as_nobody("-m", "hark", "translate", "-m", f"{barred}/model", "Hello.", HOME="/nonexistent")
    assert nowhere.returncode in (1, 2)
    assert nowhere.stderr.count("\n") == 1
    assert "unexpected" not in nowhere.stderr


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", fail)
    assert not user_folder().exists()
    assert [each for each in list_models() if ("en", "de") in each.pairs]


@pytest.mark.usefixtures("home")
def test_a_folder_of_models_that_cannot_be_read_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    iterdir, barred = Path.iterdir, user_folder()
    barred.mkdir(parents=True)

    def refuse(path: Path) -> object:
        if path == barred:
            raise PermissionError(13, "Permission denied", str(path))
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.warns(HarkWarning, match=f"{barred}: cannot be read: Permission denied"):
        assert [each for each in list_models() if ("en", "de") in each.pairs]


def known(*pairs: str) -> list[InstalledModel]:
    return [InstalledModel(Path(pair), (tuple(pair.split("-", 1)),)) for pair in pairs]  # type: ignore[arg-type]


def names(models: list[InstalledModel]) -> list[str]:
    return [each.name for each in models]


def test_a_model_is_chosen_by_its_pair() -> None:
    models = known("en-de", "de-en", "fr-de")
    assert names(choose("en", "de", models)) == ["en-de"]
    assert names(choose(None, "de", models)) == ["en-de", "fr-de"]
    assert names(choose("de", None, models)) == ["de-en"]
    assert names(choose("en-GB", "de_AT", models)) == ["en-de"]
    assert names(choose("en", "pt", [*known("en-pt-BR"), *models])) == ["en-pt-BR"]
    both = [InstalledModel(Path("europe"), (("en", "pt"),)), InstalledModel(Path("brazil"), (("en", "pt-BR"),))]
    assert names(choose("en", "pt-BR", both)) == ["brazil"]  # an exact match wins


def test_a_model_of_many_pairs_is_found_for_any_of_them() -> None:
    codes = ("de", "en", "fr", "pt-BR")
    many = InstalledModel(Path("many"), tuple((one, other) for one in codes for other in codes if one != other))
    models = [*known("en-de"), many]
    assert choose("fr", "de", models) == [InstalledModel(Path("many"), (("fr", "de"),), narrowed=True)]
    assert names(choose("en", "de", models)) == ["en-de", "many"]
    assert choose("fr", "pt", models)[0].pairs == (("fr", "pt-BR"),)
    assert choose(None, "de", [many])[0].pairs == (("en", "de"), ("fr", "de"), ("pt-BR", "de"))
    with pytest.raises(
        UserError, match=r"no model from fr to dee; available: de, en, fr and pt-BR, in all 12 directions; did you"
    ):
        choose("fr", "dee", models)


def test_models_of_one_pair_come_first(home: Path) -> None:
    make_bundle(home / "models" / "z")
    many = Facts(pairs=(("en", "de"), ("en", "fr")))
    write_facts(Bundle.open(make_bundle(home / "models" / "a")), many)
    first, second = models = list_models([home / "models"])
    assert [each.name for each in models] == ["z", "a"]
    assert (first.bilingual, second.bilingual) == (True, False)
    assert not choose("en", "fr", models)[0].bilingual  # one pair is asked for, but the model has two
    assert preferred_sources(models) == {"en"}
    assert preferred_sources(known("de-en", "fr-en")) == {"de", "fr"}
    assert preferred_sources([second, *known("de-en")]) == {"de"}
    assert preferred_sources([second]) == {"en"}


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("en", "fr", r"^no model from en to fr; available: en to de, de to en; see hark models$"),
        ("en", "dee", r"^no model from en to dee; available: en to de, de to en; did you mean de\?$"),
        ("enx", None, r"^no model from enx; available: en to de, de to en; did you mean en\?$"),
        (None, "xx", r"^no model to xx; available: en to de, de to en;"),
        (None, "germna", r"^no language 'germna'; did you mean german\?$"),
        ("Klingon", "de", r"^no language 'Klingon'; see hark models$"),
    ],
)
def test_no_model_for_a_pair(source: str | None, target: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(source, target, known("en-de", "de-en", "en-de"))


@pytest.mark.usefixtures("home")
def test_a_model_of_one_stack_is_not_chosen_to_translate() -> None:
    encoder = InstalledModel(Path("encoder"), text_languages=("en", "de"))
    assert encoder.languages == "en, de"
    with pytest.raises(UserError, match="no models installed"):
        choose(None, None, [encoder])
    translator = InstalledModel(Path("en-de"), (("en", "de"),))
    assert choose("en", None, [encoder, translator]) == [translator]


def test_no_models_at_all() -> None:
    with pytest.raises(UserError, match="no models installed; hark models add FOLDER"):
        choose("en", "de", [])
    with pytest.raises(UserError, match="no models installed"):
        choose("en", "de", [InstalledModel(Path("broken"), problem="broken")])


def test_a_model_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = make_bundle(home / "mine" / "small-en-de")
    run = make_bundle(home / "run" / "best").parent
    monkeypatch.setenv("HARK_MODELS", str(home / "mine"))
    assert named_folder(str(bundle)) == bundle
    assert named_folder(str(run)) == run / "best"
    assert named_folder("small-en-de") == bundle
    with pytest.raises(UserError, match=r"smal-en-de: no such model; did you mean small-en-de\?"):
        named_folder("smal-en-de")
    monkeypatch.setattr("hark.models.places", list)
    with pytest.raises(UserError, match=r"^small-en-de: no such model; name a folder or a run, or see hark models$"):
        named_folder("small-en-de")


def test_a_run_that_has_no_model_yet(home: Path) -> None:
    run = home / "runs" / "new"
    (run / "checkpoints").mkdir(parents=True)
    settings = ['data.dev=[{source="dev.en", target="dev.de"}]', "train.average_last=3"]
    config = run / "config.toml"
    config.write_text(configfile.dump(configfile.load(None, settings)))
    for named in (run, run / "best"):
        with pytest.raises(UserError) as refused:
            named_folder(str(named))
        assert str(refused.value) == f"{named}: the run has no model yet; wait for step 1,000"
    (run / "checkpoints" / "step-50").mkdir()
    with pytest.raises(UserError, match=rf"step 1,000, or use hark average {run} --last 1 -o FOLDER$"):
        named_folder(str(run))
    config.write_text(configfile.dump(configfile.load(None, [*settings, "train.steps=20", "train.warmup_steps=5"])))
    with pytest.raises(UserError, match="wait for step 20, or use"):  # the last step is always evaluated
        named_folder(str(run))
    config.write_text(configfile.dump(configfile.load()))
    with pytest.raises(UserError, match="the run has no dev set, so it keeps no best model; use hark average"):
        named_folder(str(run))
    make_bundle(run / "best")
    assert named_folder(str(run)) == run / "best"
