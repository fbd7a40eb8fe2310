#!/usr/bin/env bash
# Adds a model from tools/make_models.sh to the package: evaluates it against its teacher, writes its facts, card and logs.
#
#   tools/ship_model.sh FOLDER DIRECTION     DIRECTION: en-de or de-en
#
# FOLDER has the student in int8 (DIRECTION), its teacher (teacher-DIRECTION/best, or the bundle TEACHER), the dataset with the
# test sets (dataset) and the report of the student's training text (dataset-student-DIRECTION/report.json). Logs go to docs/results/logs/models.
# On two cores the teacher takes most of the time, on 22,000 sentences; EVALUATION is the output of an earlier
# `hark evaluate STUDENT TEACHER --json`. PYTHON is the Python command.
set -euo pipefail
folder=$1 direction=$2
python=${PYTHON:-python}
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
student=$folder/$direction teacher=${TEACHER:-$folder/teacher-$direction/best}
logs=$here/docs/results/logs/models shipped=$here/src/hark/models_data/$direction

$python -m benchmarks.student "$student" "$teacher" --repeats 5 --dataset "$folder/dataset" ${EVALUATION:+--evaluation "$EVALUATION"} \
  --json "$logs/student-$direction.json" | tee "$logs/student-$direction.txt"
$python -m benchmarks.everyday "$student" --json "$logs/everyday-$direction.json" | tee "$logs/everyday-$direction.txt"
$python -m tools.make_facts "$student" --evaluation "$logs/student-$direction.json" \
  --everyday "$logs/everyday-$direction.json" --teacher "$teacher" \
  --report "$folder/dataset-student-$direction/report.json"
mkdir -p "${shipped%/*}"
rm -rf "$shipped"
cp -r "$student" "$shipped"
echo "$shipped: $(du -k "$shipped" | cut -f1) KB; read its card.md, then run make test and make bench"
