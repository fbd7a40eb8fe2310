#!/usr/bin/env bash
# Adds a model from tools/make_models.sh to the package: evaluates it against its teacher, writes its facts, card and logs.
#
#   tools/ship_model.sh FOLDER DIRECTION     DIRECTION: en-de or de-en
#
# FOLDER is that of make_models.sh: it has the student in int8 (DIRECTION), its teacher (runs/teacher-DIRECTION, or the model
# TEACHER) and the student's dataset (datasets/student-DIRECTION) with the test sets and the report of its training text. Logs
# go to docs/results/logs/models.
# On two cores the teacher takes most of the time, on 22,000 sentences; EVALUATION is the output of an earlier
# `hark evaluate STUDENT TEACHER --json`. PYTHON is the Python command.
set -euo pipefail
folder=$1 direction=$2
python=${PYTHON:-python}
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
student=$folder/$direction teacher=${TEACHER:-$folder/runs/teacher-$direction} dataset=$folder/datasets/student-$direction
logs=$here/docs/results/logs/models shipped=$here/src/hark/models_data/$direction

$python -m benchmarks.student "$student" "$teacher" --repeats 5 --dataset "$dataset" ${EVALUATION:+--evaluation "$EVALUATION"} \
  --json "$logs/student-$direction.json" | tee "$logs/student-$direction.txt"
$python -m benchmarks.everyday "$student" --json "$logs/everyday-$direction.json" | tee "$logs/everyday-$direction.txt"
$python -m tools.make_facts "$student" --evaluation "$logs/student-$direction.json" \
  --everyday "$logs/everyday-$direction.json" --teacher "$teacher" \
  --report "$dataset/report.json"
mkdir -p "${shipped%/*}"
rm -rf "$shipped"
cp -r "$student" "$shipped"
echo "$shipped: $(du -k "$shipped" | cut -f1) KB; read its card.md, then run make test and make bench"
