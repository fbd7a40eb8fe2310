#!/usr/bin/env bash
# Makes the models that come with hark, on one GPU: for each direction a teacher, its translations of the training text,
# a student trained on them, and the student's weights in int8.
#
#   tools/make_models.sh FOLDER [SECTION.KEY=VALUE of the teachers ...]
#
# FOLDER/dataset is made by `hark prepare europarl-en-de -o FOLDER/dataset`; both directions share it. TATOEBA is the folder
# of Tatoeba's own text (datasets/tatoeba-en-de). Every step resumes where it stopped, so the script can be killed at any time and
# started again; finished steps are skipped. HARK is the command to run hark; STUDENT holds settings for training the students, for
# experiments. The CPU prepares text for one student while the GPU works for the other.
set -euo pipefail
folder=$1
shift
hark=${HARK:-hark}
tatoeba=${TATOEBA:-datasets/tatoeba-en-de}

train() { # RUN RECIPE SETTINGS...
  local run=$1
  shift
  if [ -e "$run/finished" ]; then return; fi
  if ls "$run"/checkpoints/step-* >/dev/null 2>&1; then $hark train --resume "$run"; else $hark train "$@" -o "$run"; fi
  touch "$run/finished"
}

prepare() { # DIRECTION
  local source=${1%-*} target=${1#*-} dataset=$folder/dataset-student-$1 distilled=$folder/distilled-$1
  if [ -e "$dataset/report.json" ]; then return; fi
  # The text was cleaned before distilling, so the language detector need not be installed here.
  $hark prepare "student-$1" data.clean.language=1 \
    --train "$distilled/europarl.$source" "$distilled/europarl.$target" --weight 1 \
    --train "$folder/original/tatoeba-original.$source.xz" "$folder/original/tatoeba-original.$target.xz" --weight 4 \
    --train "$distilled/tatoeba.$source" "$distilled/tatoeba.$target" --weight 2 \
    --dev "$folder/dataset/dev/europarl-dev.$source" "$folder/dataset/dev/europarl-dev.$target" \
    --test "$folder/dataset/test/europarl-test.$source" "$folder/dataset/test/europarl-test.$target" \
    --test "$folder/dataset/test/tatoeba-test.$source" "$folder/dataset/test/tatoeba-test.$target" \
    --test "$folder/dataset/test/newstest2014.$source" "$folder/dataset/test/newstest2014.$target" -o "$dataset"
}

mkdir -p "$folder/original"
for language in en de; do cp "$tatoeba/train.$language.xz" "$folder/original/tatoeba-original.$language.xz"; done

declare -A preparing
for direction in de-en en-de; do
  teacher=$folder/teacher-$direction
  reverse=false
  [ $direction = de-en ] && reverse=true
  train "$teacher" speedrun data.dataset="$folder/dataset" data.reverse=$reverse "$@"
  $hark distil "$teacher/best" "$folder/dataset" -o "$folder/distilled-$direction"
  prepare $direction &
  preparing[$direction]=$!
done

for direction in de-en en-de; do
  wait "${preparing[$direction]}"
  train "$folder/student-$direction" "student-$direction" data.dataset="$folder/dataset-student-$direction" ${STUDENT:-}
  if [ -e "$folder/$direction/manifest.json" ]; then continue; fi
  $hark shrink "$folder/student-$direction" --weights int8 -o "$folder/$direction"
done
