// From the records of runs to curves.

const SMOOTH = 0.01; // smoothing window, as a share of the longest run's steps

/**
 * @typedef {{name: string, colour: string, train: Record<string, number[]>,
 *   dev: {step: number, set: string, nll: number | null, best: boolean, scores: Record<string, number>}[]}} RunData
 */

/**
 * Every chart that has data, in order.
 * @param {RunData[]} runs
 */
export function chartsOf(runs) {
  const longest = Math.max(0, ...runs.map(({ train }) => train.step.at(-1) ?? 0));
  const noisy = (field) =>
    runs.flatMap((run) => {
      const [xs, ys] = [run.train.step, run.train[field]];
      const curve = { name: run.name, colour: run.colour, xs };
      return [{ ...curve, ys, faint: true }, { ...curve, ys: smooth(xs, ys, SMOOTH * longest) }];
    });
  const plain = (field) => runs.map((run) => ({ name: run.name, colour: run.colour, xs: run.train.step, ys: run.train[field] }));
  const scores = [...new Set(runs.flatMap(({ dev }) => dev.flatMap(({ scores: found }) => Object.keys(found))))];
  const charts = [
    { title: "Training loss", note: "label-smoothed, per target token", curves: noisy("loss") },
    { title: "Dev loss", note: "nll per target token", curves: devCurves(runs, ({ nll }) => nll) },
    ...scores.map((name) => ({ title: `Dev ${name}`, note: "", curves: devCurves(runs, (each) => each.scores[name] ?? null) })),
    { title: "Learning rate", note: "", curves: plain("rate") },
    { title: "Speed", note: "target tokens per second", fromZero: true, curves: noisy("tokens_per_second") },
  ];
  return charts.filter(({ curves }) => curves.some(({ xs }) => xs.length));
}

/** One curve for each dev set. */
function devCurves(runs, value) {
  return runs.flatMap((run) => {
    const sets = [...new Set(run.dev.map(({ set }) => set))];
    return sets.map((set, stroke) => {
      const points = run.dev.filter((each) => each.set === set).sort((one, other) => one.step - other.step);
      const name = sets.length > 1 ? `${run.name} ${set}` : run.name;
      return { name, colour: run.colour, xs: points.map(({ step }) => step), ys: points.map(value), dots: points.length <= 60, stroke };
    });
  });
}

/** A running mean over about `horizon` steps, as in hark/monitor/curves.py. */
export function smooth(steps, values, horizon) {
  let [total, weight, previous] = [0, 0, 0];
  return values.map((value, at) => {
    const window = Math.min(horizon, 0.1 * steps[at]);
    const keep = window > 0 ? Math.exp(-(steps[at] - previous) / window) : 0;
    previous = steps[at];
    if (value !== null) [total, weight] = [keep * total + (1 - keep) * value, keep * weight + (1 - keep)];
    return weight ? total / weight : null;
  });
}
