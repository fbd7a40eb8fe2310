"""Finding models by their languages, with errors that say what there is."""

from pathlib import Path

import pytest

import hark
from hark import configfile
from hark.errors import UserError
from hark.models import Known, choose, list_models, named_folder, places, user_folder
from tests.decode.bundles import make_bundle


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without models, unless hark brings some; no test sees those of the person who runs it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HARK_MODELS", raising=False)
    return tmp_path


def test_the_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Path(hark.__file__).parent / "models_data"
    assert places() == [home / "home/.local/share/hark/models", shipped]
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("HARK_MODELS", f"{home}/one:{home}/two")
    assert places() == [home / "one", home / "two", home / "data/hark/models", shipped]
    monkeypatch.setenv("XDG_DATA_HOME", "relative")  # the specification says to ignore it
    assert user_folder() == home / "home/.local/share/hark/models"


def test_bundles_are_found_and_other_things_are_not(home: Path) -> None:
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


def known(*pairs: str) -> list[Known]:
    return [Known(Path(pair), (tuple(pair.split("-", 1)),)) for pair in pairs]  # type: ignore[arg-type]


def names(models: list[Known]) -> list[str]:
    return [each.name for each in models]


def test_the_model_for_a_pair() -> None:
    models = known("en-de", "de-en", "fr-de")
    assert names(choose("en", "de", models)) == ["en-de"]
    assert names(choose(None, "de", models)) == ["en-de", "fr-de"]
    assert names(choose("de", None, models)) == ["de-en"]
    assert names(choose("en-GB", "de_AT", models)) == ["en-de"]
    assert names(choose("en", "pt", [*known("en-pt-BR"), *models])) == ["en-pt-BR"]
    both = [Known(Path("europe"), (("en", "pt"),)), Known(Path("brazil"), (("en", "pt-BR"),))]
    assert names(choose("en", "pt-BR", both)) == ["brazil"]  # exactly that one, although the other would do


def test_a_model_of_many_pairs_is_found_for_any_of_them() -> None:
    codes = ("de", "en", "fr", "pt-BR")
    many = Known(Path("many"), tuple((one, other) for one in codes for other in codes if one != other))
    models = [*known("en-de"), many]
    assert choose("fr", "de", models) == [Known(Path("many"), (("fr", "de"),))]
    assert names(choose("en", "de", models)) == ["en-de", "many"]
    assert choose("fr", "pt", models)[0].pairs == (("fr", "pt-BR"),)
    assert choose(None, "de", [many])[0].pairs == (("en", "de"), ("fr", "de"), ("pt-BR", "de"))
    with pytest.raises(UserError, match=r"there is en to de, de, en, fr and pt-BR, in all 12 directions; did you mean"):
        choose("fr", "dee", models)


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("en", "fr", r"^no model from en to fr; there is en to de, de to en; hark models says where"),
        ("en", "dee", r"^no model from en to dee; there is en to de, de to en; did you mean de\?$"),
        ("eng", None, r"^no model from eng; there is en to de, de to en; did you mean en\?$"),
        (None, "xx", r"^no model to xx; there is en to de, de to en;"),
    ],
)
def test_no_model_for_a_pair(source: str | None, target: str | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        choose(source, target, known("en-de", "de-en", "en-de"))


def test_no_models_at_all(home: Path) -> None:
    with pytest.raises(UserError, match=f"no models here; put one into {home}/home/.local/share/hark/models"):
        choose("en", "de", [])
    with pytest.raises(UserError, match="no models here"):
        choose("en", "de", [Known(Path("broken"), problem="broken")])


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
        assert str(refused.value) == f"{named}: the run has no model yet: the first comes at step 1,000"
    (run / "checkpoints" / "step-50").mkdir()
    with pytest.raises(UserError, match=rf"step 1,000, or use hark average {run} --last 1 -o FOLDER$"):
        named_folder(str(run))
    config.write_text(configfile.dump(configfile.load(None, [*settings, "train.steps=20", "train.warmup_steps=5"])))
    with pytest.raises(UserError, match="the first comes at step 20, or"):  # the end is measured, too
        named_folder(str(run))
    config.write_text(configfile.dump(configfile.load()))
    with pytest.raises(UserError, match="the run has no dev set, so it keeps no model by itself; use hark average"):
        named_folder(str(run))
    make_bundle(run / "best")
    assert named_folder(str(run)) == run / "best"
