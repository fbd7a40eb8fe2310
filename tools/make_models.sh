#!/usr/bin/env bash
# How the models that come with hark are made, on one GPU: a teacher for each direction, its translations of the training
# text, a student that learns from them, its weights in int8.
#
#   tools/make_models.sh FOLDER DIRECTION [SECTION.KEY=VALUE of the teacher ...]     DIRECTION: en-de or de-en
#
# FOLDER/dataset was made by `hark prepare recipes/europarl-en-de.toml -o FOLDER/dataset`; both directions share it. Every step
# goes on where it was stopped, so this may be killed at any time and started again; a step that is done is left alone.
# HARK says how hark is called; STUDENT has settings of the student's recipe, for trying things out.
set -euo pipefail
folder=$1 direction=$2
shift 2
hark=${HARK:-hark}
recipes=$(dirname "$0")/../recipes
reverse=false
[ "$direction" = de-en ] && reverse=true
teacher=$folder/teacher-$direction text=$folder/distilled-$direction student=$folder/student-$direction

train() { # RUN RECIPE SETTINGS...
  local run=$1
  shift
  if [ -e "$run/finished" ]; then return; fi
  if ls "$run"/checkpoints/step-* >/dev/null 2>&1; then $hark train --resume "$run"; else $hark train "$@" -o "$run"; fi
  touch "$run/finished"
}

set_of() { echo "$folder/dataset/$1/$2.${direction%-*}" "$folder/dataset/$1/$2.${direction#*-}"; }

train "$teacher" "$recipes/speedrun.toml" data.dataset="$folder/dataset" data.reverse=$reverse "$@"
$hark distil "$teacher/best" "$folder/dataset" -o "$text"
# The text was cleaned before it was distilled; the detector of languages need not be installed here.
$hark prepare "$recipes/student-$direction.toml" data.clean.language=1 \
  --train "$text/europarl.${direction%-*}" "$text/europarl.${direction#*-}" --weight 1 \
  --train "$text/tatoeba.${direction%-*}" "$text/tatoeba.${direction#*-}" --weight 3 \
  --dev $(set_of dev europarl-dev) --test $(set_of test europarl-test) --test $(set_of test tatoeba-test) \
  --test $(set_of test newstest2014) -o "$folder/dataset-student-$direction"
train "$student" "$recipes/student-$direction.toml" data.dataset="$folder/dataset-student-$direction" ${STUDENT:-}
$hark shrink "$student/best" -o "$folder/$direction" --weights int8
