"""`hark completion`: shell completion of verbs, options, models, languages, recipes and settings."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from hark.cli.verbs import ASK, VERBS

if TYPE_CHECKING:
    from hark.models import InstalledModel

EXAMPLES = (
    'eval "$(hark completion bash)"    # now, and from ~/.bashrc every time',
    'eval "$(hark completion zsh)"     # now, and from ~/.zshrc every time',
    "hark completion fish > ~/.config/fish/completions/hark.fish",
)

ASKING = f"env {ASK}=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS"

SCRIPTS = {
    "bash": r"""_hark() {
  local line=${COMP_LINE:0:COMP_POINT} value
  local word=${line##* }
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    # A value equal to the word so far means a file name, which bash completes itself.
    if [[ -n $value && $value != "$word" ]]; then COMPREPLY+=("$value"); fi
  done < <(ASKING="$line" "$1" 2>/dev/null)
  if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then # bash splits words at =
    COMPREPLY=("${COMPREPLY[@]#"${word%%=*}="}")
  fi
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _hark hark
""",
    "zsh": r"""#compdef hark
_hark() {
  local line="${(j: :)words[1,CURRENT]}" value about
  local -a found open
  while IFS=$'\t' read -r value about; do
    if [[ -z $value || $value == "$words[CURRENT]" ]]; then continue; fi # a file name, which zsh completes itself
    if [[ $value == *= ]]; then open+=("${value//:/\\:}:$about"); else found+=("${value//:/\\:}:$about"); fi
  done < <(ASKING="$line" "$words[1]" 2>/dev/null)
  (( $#found + $#open )) || { _files; return; }
  (( $#found )) && _describe hark found
  (( $#open )) && _describe hark open -S ''
}
if [[ $funcstack[1] == _hark ]]; then _hark "$@"; else compdef _hark hark; fi
""",
    "fish": r"""function __hark_complete
  set --local found (ASKING=(commandline -cp) hark 2>/dev/null | string match --invert --regex '^$')
  set --local word (commandline -ct)
  if test (count $found) -eq 0 -o "$found" = "$word" # a file name
    __fish_complete_path "$word"
  else
    printf '%s\n' $found
  end
end
complete --command hark --no-files --arguments '(__hark_complete)'
""",
}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a shell completion script.

    Completes verbs, options, and values such as models, languages, recipes and settings.
    """
    typer.echo(SCRIPTS[shell].replace("ASKING", ASKING), nl=False)


def answer_shell() -> None:
    """Answer a shell's request for completions."""
    from typer._completion_classes import FishComplete
    from typer.completion import completion_init  # type: ignore[attr-defined]

    # typer has rich wrap long help texts, and shells would offer each further line as a completion.
    FishComplete.format_completion = format_completion  # type: ignore[assignment, method-assign]
    completion_init()


def format_completion(_: Any, item: Any) -> str:
    """A completion and its help in one line."""
    about = " ".join((item.help or "").split())
    return f"{item.value}\t{about}" if about else str(item.value)


Candidates = list[tuple[str, str]]
"""Completions, each with a short description."""
ACTIONS = ("get", "add", "remove")
"""The actions of `hark models`."""


def verbs() -> Candidates:
    return [(verb, "") for verb in VERBS]


def usable_models() -> "list[InstalledModel]":
    from hark.models import list_models

    return [model for model in list_models() if not model.problem]


def models() -> Candidates:
    return list({model.name: (model.name, model.languages) for model in usable_models()}.values())


def models_and_actions() -> Candidates:
    return [*models(), *((action, "") for action in ACTIONS)]


def source_languages(incomplete: str = "") -> Candidates:
    return languages({pair[0] for model in usable_models() for pair in model.pairs}, incomplete)


def target_languages(incomplete: str = "") -> Candidates:
    return languages({pair[1] for model in usable_models() for pair in model.pairs}, incomplete)


def languages(codes: set[str], incomplete: str) -> Candidates:
    """Codes, and for a word that has been begun also English names."""
    from hark.text.language_names import language_name

    named = {code: language_name(code) for code in sorted(codes)}
    names = [(name.lower(), code) for code, name in named.items() if incomplete and name != code]
    return [*named.items(), *names]


def recipes() -> Candidates:
    from hark.recipes import names, summary

    return [(name, summary(name)) for name in names()]


def settings(incomplete: str = "") -> Candidates:
    """Complete `model.norm=`, and after the sign the values that can be listed."""
    from hark.config import Config
    from hark.configfile import explain
    from hark.settings import Section, hints, without_none

    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [(f"{each.key}=", each.meaning) for each in explain(Config())]
    *sections, key = name.split(".")
    section: type[Section] = Config
    for each in sections:
        section = hints(section).get(each, Section)
    kind = without_none(hints(section).get(key)) if issubclass(section, Section) else None
    values = ("true", "false") if kind is bool else get_args(kind)
    return [(f"{name}={value}", "") for value in values if isinstance(value, str)]


def setting_names() -> Candidates:
    return [(name.removesuffix("="), meaning) for name, meaning in settings()]


def search_settings() -> Candidates:
    return [(name.removeprefix("decode."), meaning) for name, meaning in settings() if name.startswith("decode.")]


def recipe_or_settings(incomplete: str) -> Candidates:
    """Complete the first argument of `hark train`."""
    return [*recipes(), *settings(incomplete)] if "." not in incomplete else settings(incomplete)


def reproducible() -> Candidates:
    """Tables and figures; listed here because importing them imports PyTorch."""
    return [(name, "") for name in ("table1", "table2", "table3", "table4", "figures", "ablate")]
