"""`hark completion`: what makes a shell complete verbs, options, models, languages, recipes and settings."""

import os
from typing import Annotated, Literal

import typer

EXAMPLES = (
    'eval "$(hark completion bash)"    # now, and from ~/.bashrc every time',
    'eval "$(hark completion zsh)"     # now, and from ~/.zshrc every time',
    "hark completion fish > ~/.config/fish/completions/hark.fish",
)

ASK = "_HARK_COMPLETE"
"""Set where a shell asks what may be typed next. `complete_fish` is the plainest of typer's answers, and serves all."""
ASKING = f"env {ASK}=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS"

SCRIPTS = {
    "bash": r"""_hark() {
  local line=${COMP_LINE:0:COMP_POINT} value
  local word=${line##* }
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    # What is no more than the word so far stands for a file, which bash completes itself.
    if [[ -n $value && $value != "$word" ]]; then COMPREPLY+=("$value"); fi
  done < <(ASKING="$line" "$1" 2>/dev/null)
  if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then # to bash, a word begins behind the sign
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
    if [[ -z $value || $value == "$words[CURRENT]" ]]; then continue; fi # a file, which zsh completes itself
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
  if test (count $found) -eq 0 -o "$found" = "$word" # a file
    __fish_complete_path "$word"
  else
    printf '%s\n' $found
  end
end
complete --command hark --no-files --arguments '(__hark_complete)'
""",
}


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="Which shell: bash, zsh or fish.")
    ],
) -> None:
    """Print a script that makes a shell complete what you type.

    It completes verbs, options, and values such as models, languages, recipes and settings.
    """
    typer.echo(SCRIPTS[shell].replace("ASKING", ASKING), nl=False)


def answer_shell() -> None:
    """Let typer answer, if it is a shell that asks. Nobody else pays for the import."""
    if ASK in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
