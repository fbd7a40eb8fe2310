"""Settings as TOML: exact round trips, overrides, and errors that name file, key and allowed values."""

import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark import configfile, recipes
from hark.config import BatchConfig, Config, CorpusConfig, DataConfig, DecodeConfig, ModelConfig, TrainConfig
from hark.errors import UserError
from hark.settings import Section, SettingError, field_name, settings_of, without_none

RECIPES = sorted(recipes.FOLDER.glob("*.toml"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipes_round_trip(recipe: Path) -> None:
    config = configfile.load(recipe)
    assert configfile.build(Config, tomllib.loads(configfile.dump(config))) == config


FAMILY = ("base", "big", "gpt", "gpt-nano", "llama", "bert", "xlnet", "classify", "t5", "bart")


@pytest.mark.parametrize("recipe", FAMILY)
def test_a_member_of_the_family_takes_40_lines(recipe: str) -> None:
    """As docs/shapes.md says: a model differs from the others in its specification alone."""
    assert len((recipes.FOLDER / f"{recipe}.toml").read_text().splitlines()) <= 40


def any_value(kind: Any) -> st.SearchStrategy[Any]:
    inner = without_none(kind)
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    if get_origin(inner) is Literal:
        return st.sampled_from(get_args(inner))
    if get_origin(inner) is tuple:
        name = texts.filter(bool)
        return st.lists(st.builds(CorpusConfig, source=name, target=texts, weight=st.floats(0.1, 9)), max_size=2).map(
            tuple
        )
    plain = {int: st.integers(0, 5000), float: st.floats(0, 2), bool: st.booleans(), str: texts}[inner]
    return plain if inner is kind else st.none() | plain


@st.composite
def sections(draw: st.DrawFn, section: type[Section]) -> Section:
    """A section with any valid values: each setting is drawn, and dropped if it is rejected."""
    chosen: dict[str, Any] = {}
    for each in settings_of(section()):
        if not each.is_section:
            name, value = field_name(each.name), draw(any_value(each.kind))
            try:
                section(**chosen, **{name: value})
            except SettingError:
                continue
            chosen[name] = value
    return section(**chosen)


@given(*map(sections, (DataConfig, BatchConfig, ModelConfig, TrainConfig, DecodeConfig)))
def test_any_settings_round_trip(data: Any, batches: Any, model: Any, train: Any, decode: Any) -> None:
    try:
        config = Config(data, batches, model, train, decode)
    except SettingError:
        return
    assert configfile.build(Config, tomllib.loads(configfile.dump(config))) == config


def test_overrides_are_typed_and_need_no_quotes() -> None:
    config = configfile.load(
        None, ["model.norm=pre", "train.eps=1e-8", "data.source=1", "model.d_k = 32", "data.clean.identical=false"]
    )
    assert (config.model.norm, config.train.eps, config.data.source, config.model.d_k) == ("pre", 1e-8, "1", 32)
    assert config.data.clean.identical is False
    quoted = configfile.load(None, ['data.dataset="a b"', 'data.train=[{source="x", target="y", weight=2}]'])
    assert quoted.data.dataset == "a b"
    assert quoted.data.train == (CorpusConfig("x", "y", weight=2.0),)


def test_a_setting_may_be_named_like_a_python_keyword(tmp_path: Path) -> None:
    config = configfile.load(None, ["train.from=model"])
    assert config.train.from_ == "model"
    (tmp_path / "a.toml").write_text(configfile.dump(config))
    assert configfile.load(tmp_path / "a.toml") == config


def test_an_override_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[model]\ndropout = 0.2\nn_heads = 4\n")
    config = configfile.load(file, ["model.dropout=0.3"])
    assert (config.model.dropout, config.model.n_heads) == (0.3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nd_modle = 1", "a.toml: model.d_modle: no such setting; did you mean d_model?"),
        ("[modle]\nd_model = 1", "a.toml: modle: no such setting; did you mean model?"),
        (f"[train]\nsteps = {'9' * 5000}", "a.toml: not valid TOML: Exceeds the limit"),
        ("model = 3", "a.toml: model: 3 is not allowed; must be a table of settings"),
        ("[model]\ndropout = -0.5", "a.toml: model.dropout: -0.5 is not allowed; must be a number, from 0"),
        ("[model]\npositions = 'x'", "a.toml: model.positions: 'x' is not allowed; must be one of sinusoidal"),
        ("[model]\nn_heads = 7", "a.toml: model.d_model: 512 is not divisible by n_heads 7"),
        ("[data.clean]\nmax_word = 7", "a.toml: data.clean.max_word: no such setting; did you mean max_words?"),
        ("[[data.train]]\nsource = 'a'\n[[data.train]]\nsorce = 'a'", "a.toml: data.train[1].sorce: no such setting"),
        ("[data]\ntrain = ['a']", "a.toml: data.train[0]: 'a' is not allowed; must be a table of settings"),
        ("[data]\nzzz = 1", "data.zzz: no such setting; choose from dataset, source"),
        ("[model\n", "a.toml: not valid TOML"),
        ("x = 1\nx = 2", "a.toml: not valid TOML"),
        ("batches = 3", "a.toml: batches: 3 is not allowed; must be a table of settings"),
        ("[batches]\nbatch_tokens = 0", "a.toml: batches.batch_tokens: 0 is not allowed"),
    ],
)
def test_an_invalid_file_is_a_one_line_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(UserError) as raised:
        configfile.load(file)
    assert message in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_a_folder_and_binary_data_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"b\.toml: no such file"):
        configfile.load(tmp_path / "b.toml")
    with pytest.raises(UserError, match="cannot be read"):
        configfile.load(tmp_path)
    (tmp_path / "c.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(UserError, match="not UTF-8"):
        configfile.load(tmp_path / "c.toml")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.dropuot=1", "command line: model.dropuot: no such setting; did you mean dropout?"),
        ("modle.dropout=1", "command line: modle: no such section; did you mean model?"),
        ("model.dropout", "is not of the form section.key=value"),
        ("dropout=1", "is not of the form section.key=value"),
        ("model.dropout.x=1", "command line: model.dropout: no such section"),
        ("model.dropout=high", "command line: model.dropout: 'high' is not allowed"),
        ("model.n_heads=", "command line: model.n_heads: '' is not allowed"),
    ],
)
def test_an_invalid_override_is_a_one_line_error(override: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        configfile.load(None, [override])
    assert message in str(raised.value)


def test_explain_lists_every_setting_with_its_value() -> None:
    rows = {each.key: each for each in configfile.explain(configfile.load(None, ["model.norm=pre"]))}
    assert (rows["model.norm"].default, rows["model.norm"].value) == ('"post"', '"pre"')
    assert rows["model.d_k"].default == "unset"
    assert "data.clean.max_words" in rows
    assert len(rows) > 40


def test_a_number_with_too_many_digits_is_a_setting_error() -> None:
    with pytest.raises(
        UserError, match=r"train\.steps: '9{39}\.\.\. \(5002 characters\) is not allowed; must be a whole"
    ):
        configfile.load(None, [f"train.steps={'9' * 5000}"])
