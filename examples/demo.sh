#!/usr/bin/env bash
# What `make demo` shows, offline: translate, then teach the model a house style that it cannot know, from English to German.
# HARK is the command hark; HARK_PYTHON is a Python that has the package.
set -euo pipefail
cd "$(dirname "$0")/.."
hark=${HARK:-.venv/bin/hark}
python=${HARK_PYTHON:-$(dirname "$hark")/python}
style=examples/house-style
bold='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'printf "\nStopped. make demo starts again from the beginning.\n"; exit 130' INT

step() { # prints the seconds of the step before, to compare with the list at the start
  if [ -n "${began:-}" ]; then printf '(%s s)\n' $((SECONDS - began)); fi
  began=$SECONDS
  printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}
show() { # prints a command as one would type it
  local word shown='$'
  for word in "$@"; do
    case $word in *[!a-zA-Z0-9_./=:-]*) shown+=" \"$word\"" ;; *) shown+=" $word" ;; esac
  done
  printf '%s\n' "$shown"
}
run() {
  show hark "$@"
  $hark "$@"
}
translate() { # LANGUAGE SENTENCES...
  local language=$1 sentence
  shift
  for sentence in "$@"; do run translate -t "$language" "$sentence"; done
}
translate_sentences() { # MODEL FILE: notes of low confidence would only distract here; errors would not
  if ! $hark translate -m "$1" --no-split "$scratch/sentences.en" -o "$2" 2>"$scratch/notes"; then
    cat "$scratch/notes" >&2
    exit 1
  fi
}
count_terms() { # MODELS...
  show python $style/count_terms.py $style/test.tsv "$@"
  $python $style/count_terms.py $style/test.tsv "$@"
}
print_beside() { # LABEL FILE...: each English sentence with its lines of the files, labelled, beneath it
  local number=0 sentence
  while IFS= read -r sentence; do
    number=$((number + 1))
    printf '%s\n' "$sentence"
    local each=("$@")
    while [ ${#each[@]} -gt 0 ]; do
      printf '  %-7s %s\n' "${each[0]}" "$(sed -n "${number}p" "${each[1]}")"
      each=("${each[@]:2}")
    done
  done <"$scratch/sentences.en"
}

started=$SECONDS
cat <<END
About 3 minutes on two idle cores:
  1, 2  translate                about 10 s
  3     a house style, before    about 2 s
  4     prepare its text         about 2 s
  5     measure the model        about 20 s
  6     fine-tune it             about 90 s
  7     measure both             about 40 s
  8     the house style, after   about 3 s
END
step "1. Translate into German, offline, with the model that comes with hark."
translate de "Where is the nearest train station?" "see you tomorrow" "The meeting of 12 May 2024 was moved to https://example.org/room5."

step "2. And into English."
translate en "Wo ist der nächste Bahnhof?" "bis morgen" "ICH HABE DAS BUCH SCHON GELESEN!"

step "3. A company that does not exist has a language of its own ($style). The model cannot know it."
sed -n '7p;12p;33p;79p;96p' $style/test.tsv >"$scratch/sentences.tsv"
cut -f 1 "$scratch/sentences.tsv" >"$scratch/sentences.en"
cut -f 2 "$scratch/sentences.tsv" >"$scratch/house.de"
translate_sentences en-de "$scratch/before.de"
print_beside model "$scratch/before.de" house "$scratch/house.de"

step "4. Make a dataset: 200 pairs in the house style, with general text beside them, so that the model forgets less."
run prepare fine-tune -o datasets/demo --force \
  --train $style/train.tsv - --weight 200 --train hark:sample/train.en.xz hark:sample/train.de.xz \
  --dev $style/dev.tsv - --test $style/test.tsv - --test hark:sample/test.en.xz hark:sample/test.de.xz

step "5. Measure the model on 100 other sentences in the house style and on 1,000 general ones."
run evaluate en-de --brief --dataset datasets/demo
count_terms en-de

step "6. Fine-tune it for a minute, and watch it learn (Ctrl-C stops)."
rm -rf runs/demo
run train fine-tune data.dataset=datasets/demo -o runs/demo

step "7. Measure again: the tuned model beside the one that it came from. What it gains in the house style, and what that costs elsewhere."
run evaluate runs/demo en-de --brief --dataset datasets/demo
count_terms runs/demo en-de

step "8. The sentences of part 3 again."
translate_sentences runs/demo "$scratch/after.de"
print_beside before "$scratch/before.de" after "$scratch/after.de" house "$scratch/house.de"

step "Done in $((SECONDS - started)) seconds. Try next:"
cat <<END
  # A text of yours; nothing leaves this machine.
  $hark translate -t de letter.txt
  # What the model looked at, word by word: a page for your browser.
  $hark look -t de "The dog did not cross the street because it was too tired."
  # The same with sentence pairs of yours: then hark train and hark evaluate as above (docs/training.md).
  $hark prepare fine-tune --train my.en my.de --dev dev.en dev.de --test test.en test.de -o datasets/mine
END
