#!/usr/bin/env bash
# What `make demo` shows, with the models and the text that come with hark: translate, measure, fine-tune, measure again.
# HARK says how hark is called.
set -euo pipefail
cd "$(dirname "$0")/.."
hark=${HARK:-.venv/bin/hark}
bold='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi

step() { # says how long the last one took, as the list at the start says how long each takes
  if [ -n "${began:-}" ]; then printf '(%s s)\n' $((SECONDS - began)); fi
  began=$SECONDS
  printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}
run() { # shows a command as a person would type it, and runs it
  local word shown='$ hark'
  for word in "$@"; do
    case $word in *[!a-zA-Z0-9./=-]*) shown+=" \"$word\"" ;; *) shown+=" $word" ;; esac
  done
  printf '%s\n' "$shown"
  $hark "$@"
}
translate() { # LANGUAGE SENTENCES...
  local language=$1 sentence
  shift
  for sentence in "$@"; do run translate -t "$language" "$sentence"; done
}

started=$SECONDS
cat <<END
About 2 minutes on two idle cores:
  1, 2  translate        about 5 s
  3     prepare a text   about 5 s, and no time if it was prepared before
  4     measure          about 20 s
  5     fine-tune        about 70 s
  6     measure again    about 20 s
END
step "1. Translate into German, offline, with the model that comes with hark."
translate de "Where is the nearest train station?" "see you tomorrow" "The meeting of 12 May 2024 was moved to https://example.org/room5."

step "2. And into English."
translate en "Wo ist der nächste Bahnhof?" "bis morgen" "ICH HABE DAS BUCH SCHON GELESEN!"

step "3. Make a dataset of 20,000 sentence pairs from Tatoeba, in the model's own vocabulary, and keep 1,000 to measure with."
run prepare fine-tune -o datasets/demo --force

step "4. Measure both models on the 1,000 sentences, beside what people wrote."
run evaluate en-de --brief --dataset datasets/demo
run evaluate de-en --brief --dataset datasets/demo

step "5. Fine-tune the English-German model on the others for a moment, and watch it (Ctrl-C saves; --resume goes on)."
rm -rf runs/demo
run train fine-tune data.dataset=datasets/demo -o runs/demo

step "6. Measure again: the tuned model, and the one that it came from, which knew such sentences before. Yours it would learn."
run evaluate runs/demo en-de --brief --dataset datasets/demo

step "Done in $((SECONDS - started)) seconds. Try next:"
cat <<END
  # A text of yours; nothing leaves this machine.
  $hark translate -t de letter.txt
  # What the model looked at, word by word: a page for your browser.
  $hark look "The dog did not cross the street because it was too tired."
  # The same with sentence pairs of yours: then hark train and hark evaluate as above (docs/training.md).
  $hark prepare fine-tune --train my.en my.de --dev dev.en dev.de -o datasets/mine
END
