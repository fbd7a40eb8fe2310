#!/usr/bin/env bash
# How the models that come with hark are made, on one GPU: a teacher for each direction, its translations of the training
# text, a student that learns from them, and then from Tatoeba's own translations, too; its weights in int8.
#
#   tools/make_models.sh FOLDER [SECTION.KEY=VALUE of the teachers ...]
#
# FOLDER/dataset was made by `hark prepare recipes/europarl-en-de.toml -o FOLDER/dataset`; both directions share it. Every step
# goes on where it was stopped, so this may be killed at any time and started again; a step that is done is left alone.
# HARK says how hark is called; STUDENT, FINISH and NAMES have settings of the students' trainings, for trying things out. A bundle
# FOLDER/teacher-DIRECTION/best that is there already is taken as the teacher (docs/distilling.md says which ones were).
set -euo pipefail
folder=$1
shift
hark=${HARK:-hark}
recipes=$(dirname "$0")/../recipes

train() { # RUN RECIPE SETTINGS...
  local run=$1
  shift
  if [ -e "$run/finished" ]; then return; fi
  if ls "$run"/checkpoints/step-* >/dev/null 2>&1; then $hark train --resume "$run"; else $hark train "$@" -o "$run"; fi
  touch "$run/finished"
}

prepare() { # DATASET SETTINGS AND TRAINING TEXT...
  # The text was cleaned before it was distilled; the detector of languages need not be installed here.
  local dataset=$1
  shift
  if [ -e "$dataset/report.json" ]; then return; fi
  $hark prepare "$recipes/student-$direction.toml" data.clean.language=1 "$@" \
    --dev $(set_of dev europarl-dev) --test $(set_of test europarl-test) --test $(set_of test tatoeba-test) \
    --test $(set_of test newstest2014) -o "$dataset"
}

set_of() { echo "$folder/dataset/$1/$2.${direction%-*}" "$folder/dataset/$1/$2.${direction#*-}"; }
text_of() { echo "$folder/distilled-$direction/$1.${direction%-*}" "$folder/distilled-$direction/$1.${direction#*-}"; }

for direction in en-de de-en; do
  teacher=$folder/teacher-$direction
  reverse=false
  [ $direction = de-en ] && reverse=true
  [ -e "$teacher/best" ] && [ ! -e "$teacher/checkpoints" ] ||
    train "$teacher" "$recipes/speedrun.toml" data.dataset="$folder/dataset" data.reverse=$reverse "$@"
  $hark distil "$teacher/best" "$folder/dataset" -o "$folder/distilled-$direction"
done

# What was translated line by line in one direction is what people wrote for the other.
mkdir -p "$folder/original"
cp "$folder/distilled-en-de/tatoeba.en" "$folder/original/tatoeba-original.en"
cp "$folder/distilled-de-en/tatoeba.de" "$folder/original/tatoeba-original.de"

for direction in en-de de-en; do
  dataset=$folder/dataset-student-$direction student=$folder/student-$direction
  original="$folder/original/tatoeba-original.${direction%-*} $folder/original/tatoeba-original.${direction#*-}"
  prepare "$dataset" --train $(text_of europarl) --weight 1 --train $(text_of tatoeba) --weight 3
  train "$student" "$recipes/student-$direction.toml" data.dataset="$dataset" ${STUDENT:-}
  prepare "$dataset-finish" data.tokenizer="$dataset/tokenizer.model" --train $(text_of europarl) --weight 1 \
    --train $(text_of tatoeba) --weight 4 --train $original --weight 4
  train "$student-finish" "$recipes/student-$direction.toml" data.dataset="$dataset-finish" train.from="$student" \
    train.steps=5000 train.warmup_steps=100 train.rate_scale=0.31 ${FINISH:-}
  last=$student-finish
  if [ $direction = de-en ]; then
    # Names alone became sentences of the parliament ("Anna Schmidt": "I voted in favour"); into German they did not.
    prepare "$dataset-names" data.tokenizer="$dataset/tokenizer.model" data.augment.names=1 \
      --train $(text_of europarl) --weight 1 --train $(text_of tatoeba) --weight 9 --train $original --weight 9
    last=$student-names
    train "$last" "$recipes/fine-tune.toml" data.dataset="$dataset-names" train.from="$student-finish" train.best=last \
      data.batch_tokens=1800 train.steps=250 train.warmup_steps=20 train.rate_scale=0.012 ${NAMES:-}
  fi
  $hark shrink "$last" --weights int8 -o "$folder/$direction"
done
