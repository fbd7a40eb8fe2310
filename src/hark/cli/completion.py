"""`hark completion`: shell completion of verbs, options, models, languages, recipes and settings."""

import os
from typing import Annotated, Any, Literal

import typer

EXAMPLES = (
    'eval "$(hark completion bash)"    # now, and from ~/.bashrc every time',
    'eval "$(hark completion zsh)"     # now, and from ~/.zshrc every time',
    "hark completion fish > ~/.config/fish/completions/hark.fish",
)

ASK = "_HARK_COMPLETE"
"""Variable that a shell sets to ask for completions. All shells use `complete_fish`, typer's plainest format."""
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
    """Answer a shell's request for completions. Imports typer's completion only then."""
    if ASK in os.environ:
        from typer._completion_classes import FishComplete
        from typer.completion import completion_init  # type: ignore[attr-defined]

        # typer has rich wrap long help texts, and shells would offer each further line as a completion.
        FishComplete.format_completion = format_completion  # type: ignore[assignment, method-assign]
        completion_init()


def format_completion(_: Any, item: Any) -> str:
    """A completion and its help in one line."""
    about = " ".join((item.help or "").split())
    return f"{item.value}\t{about}" if about else str(item.value)
