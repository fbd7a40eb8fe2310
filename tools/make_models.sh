#!/usr/bin/env bash
# Makes hark's models, on one GPU: for each direction a teacher, its translations of the training text,
# a student trained on them, and the student's weights in int8; then the many-to-many model `seven`, if MULTIWAY names the
# folder of seven-way text (train.en.xz, train.de.xz and so on, made by europarl_multiway.py).
#
#   [MULTIWAY=FOLDER] tools/make_models.sh DATA FOLDER
#
# DATA has the corpora that tools/cut_domains.py and held_out_text.py name; `python -m tools.debian_text DATA/debian --to
# it nl pt` adds text of programs in three more languages, for `seven`. Everything goes to FOLDER. Every step takes
# about ten minutes on an H200, except the training of `seven` (24) and the cleaning of the text on few cores, and
# resumes where it stopped: kill the script at any time and start it again; finished steps are skipped. HARK and PYTHON
# are the commands to run; TEACHER, STUDENT and SEVEN hold settings for training, for experiments. The CPU prepares text
# for one student while the GPU works for the other.
set -euo pipefail
data=$(realpath "$1")
multiway=${MULTIWAY:+$(realpath "$MULTIWAY")}
mkdir -p "$2"
here=$(cd "$(dirname "$0")/.." && pwd)
hark=${HARK:-hark} python=${PYTHON:-python}
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
cd "$2" # recipes name their text relative to it
exec 9>.lock # steps inherit it: one that outlives a killed script must not run twice
flock -n 9 || { echo "make_models.sh: $2: a step is still running there; wait for it, or stop it" >&2; exit 1; }
mkdir -p datasets
for corpus in europarl-en-de tatoeba-en-de news; do ln -sfn "$data/$corpus" "datasets/$corpus"; done

once() { # MARKER COMMAND...: a step that leaves a marker when it is done
  local marker=$1
  shift
  if [ ! -e "$marker" ]; then "$@" && touch "$marker"; fi
}

train() { # RUN RECIPE SETTINGS...
  local run=$1
  shift
  if ls "$run"/checkpoints/step-* >/dev/null 2>&1; then $hark train --resume "$run"; else $hark train "$@" -o "$run"; fi
}

prepare() { # DIRECTION; the text was cleaned before distilling, so the language detector need not be installed here
  $hark prepare "student-$1" data.clean.language=1 -o "datasets/student-$1"
}

cut() { # with &&, because set -e does not hold inside of `once`
  $python -m tools.cut_domains "$data" -o datasets/domains-en-de &&
    $python -m tools.collect_lines "$data" datasets/domains-en-de
}

once datasets/domains-en-de/done cut
once datasets/teacher-en-de/done $hark prepare teacher-en-de -o datasets/teacher-en-de

# Two shapes of about the same quality and cost, tried side by side: deeper for one direction, wider for the other.
declare -A shape=(
  [en-de]="model.n_encoder_layers=12"
  [de-en]="data.reverse=true model.d_model=768 model.d_ff=3072 model.n_heads=12"
)
for direction in en-de de-en; do
  teacher=runs/teacher-$direction distilled=datasets/distilled-$direction
  once "$teacher/finished" train "$teacher" teacher-en-de data.dataset=datasets/teacher-en-de ${shape[$direction]} ${TEACHER:-}
  once "$distilled/done" $hark distil "$teacher" datasets/teacher-en-de -o "$distilled"
  once "$distilled/everyday.done" $python -m tools.translate_lines "$teacher" "datasets/domains-en-de/everyday.${direction%-*}" -o "$distilled/everyday"
done

declare -A preparing
for direction in en-de de-en; do # both read lines of both teachers
  once "datasets/student-$direction.done" prepare $direction &
  preparing[$direction]=$!
done
for direction in en-de de-en; do
  wait "${preparing[$direction]}"
  once "runs/student-$direction/finished" train "runs/student-$direction" "student-$direction" data.dataset="datasets/student-$direction" ${STUDENT:-}
  once "$direction.done" $hark shrink "runs/student-$direction" --weights int8 --force -o "$direction"
done

if [ -n "$multiway" ]; then
  for corpus in europarl-seven tatoeba-seven tatoeba-en-fr; do ln -sfn "$data/$corpus" "datasets/$corpus"; done
  for language in fr es it nl pt; do
    once "datasets/domains-en-$language/done" $python -m tools.cut_domains "$data" -o "datasets/domains-en-$language" --to "$language"
  done
  once datasets/seven-pairs/done $python -m tools.pair_languages "$multiway" datasets -o datasets/seven-pairs
  for direction in en-de de-en; do # the teachers' translations, which the students read as well
    ln -sfn "distilled-$direction" "datasets/taught-$direction"
  done
  once datasets/seven.done $hark prepare seven -o datasets/seven
  once runs/seven/finished train runs/seven seven data.dataset=datasets/seven ${SEVEN:-}
  once seven.done $hark shrink runs/seven --weights int8 --force -o seven
fi
