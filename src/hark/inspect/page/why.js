// How one weight is computed: query, key, product, mask, softmax, and the contribution of the value (equation 1).

import { el, figure, percent, quoted } from "./dom.js";

const MISSING =
  "The vectors of this head are not in this file: with a long sentence they would make it too large. Pages of shorter sentences have them for all heads.";
const ROUNDED =
  "All numbers are rounded. The steps are computed from 16-bit vectors, so the last digit may differ from the table.";
const LISTED = 9; // maximum tokens to list by name

export class WhyView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.element = el("div", { class: "view why" });
    this.dimension = null;
  }

  async render() {
    const { look, store } = this;
    const { kind, layer } = store;
    const head = store.head === "mean" ? 0 : store.head;
    const tokens = { words: false, marks: true };
    this.rows = look.axis(kind, "rows", tokens);
    this.columns = look.axis(kind, "columns", tokens);
    [this.weights] = await look.tablesOf(kind, layer, [head], tokens);
    this.cell = this.validCell();
    const focused = this.element.contains(document.activeElement) ? document.activeElement.id : null;
    if (!look.explains(kind, layer, head)) {
      this.element.replaceChildren(this.pickers(), this.missing());
    } else {
      const [vectors, bias] = await Promise.all([look.vectors(kind, layer, head), look.bias(kind, head)]);
      this.numbers = compute(vectors, this.cell, kind === "decoder", bias);
      this.element.replaceChildren(this.pickers(), this.fit(), this.softmax(), this.value(), this.footnote());
    }
    if (focused) this.element.querySelector(`#${focused}`)?.focus();
  }

  validCell() {
    const { why } = this.store;
    if (why && why.i < this.rows.length && why.j < this.columns.length) return why;
    const width = this.columns.length;
    // In a text that is read from its start, the first token has no choice, and many heads that have nothing to do look at it.
    const first = (at) => this.look.alone && this.store.kind === "decoder" && (at < width || at % width === 0);
    const marked = (at) => this.rows[Math.floor(at / width)].mark || this.columns[at % width].mark || first(at);
    const unmarked = this.weights.map((weight, at) => (marked(at) ? 0 : weight));
    const at = unmarked.indexOf(unmarked.reduce((one, other) => Math.max(one, other), 0));
    return { i: Math.floor(at / width), j: at % width };
  }

  pickers() {
    const { i, j } = this.cell;
    const pick = (id, label, axis, at, change) => {
      const option = (group, number) => el("option", { value: number, selected: number === at }, group.label);
      const select = el("select", { id }, axis.map(option));
      select.addEventListener("change", () => change(Number(select.value)));
      return el("label", {}, label, select);
    };
    const causal = this.store.kind === "decoder";
    const weight = this.weights[i * this.columns.length + j].toFixed(this.look.decimals);
    const blocked = causal && j > i ? " (it comes later, so it is masked)" : "";
    const seen = (row) => ({ why: { i: row, j: causal ? Math.min(j, row) : j } });
    return el(
      "div",
      { class: "pickers" },
      pick("why-row", "Why does", this.rows, i, (to) => this.store.set(seen(to))),
      pick("why-column", "look at", this.columns, j, (to) => this.store.set({ why: { i, j: to } })),
      el("span", { class: "answer" }, "with weight ", el("b", {}, weight), blocked, "?"),
    );
  }

  missing() {
    const { kind } = this.store;
    const there = [];
    for (let layer = 0; layer < this.look.layers(kind); layer++) {
      for (let head = 0; head < this.look.head.heads; head++) {
        if (this.look.explains(kind, layer, head)) there.push({ layer, head });
      }
    }
    const buttons = there.slice(0, 24).map(({ layer, head }) => {
      const button = el("button", { type: "button", class: "quiet" }, `${layer + 1}:${head + 1}`);
      button.addEventListener("click", () => this.store.set({ layer, head }));
      return button;
    });
    return el(
      "div",
      { class: "missing" },
      el("p", {}, MISSING),
      buttons.length ? el("p", {}, "Available heads of this kind, as layer:head: ", buttons) : null,
    );
  }

  fit() {
    const { q, k, products, sum, score, added } = this.numbers;
    const [row, column] = [this.rows[this.cell.i].label, this.columns[this.cell.j].label];
    return step(
      "1",
      "Do they match?",
      `The token that looks has a query; every token it may look at has a key. Both are vectors of ${q.length} numbers, computed with learnt weights. If the two point in the same direction, their product is large.`,
      this.strips([
        [`query of ${quoted(row)}`, q],
        [`key of ${quoted(column)}`, k],
        ["query × key", products],
      ]),
      el(
        "p",
        { class: "sum" },
        "Sum of the products ",
        el("b", {}, figure(sum, 2)),
        `, divided by √${q.length} = ${Math.sqrt(q.length).toFixed(2)} to keep it small`,
        added === null ? ": score " : `, ${added < 0 ? "minus" : "plus"} ${figure(Math.abs(added), 2)} for the distance: score `,
        el("b", {}, figure(score, 2)),
        ".",
      ),
    );
  }

  softmax() {
    const { scores, weights } = this.numbers;
    const { i, j } = this.cell;
    const causal = this.store.kind === "decoder";
    const order = scores.map((_, at) => at).filter((at) => !causal || at <= i);
    const best = [...order].sort((one, other) => weights[other] - weights[one]).slice(0, LISTED);
    if (order.includes(j) && !best.includes(j)) best[best.length - 1] = j;
    best.sort((one, other) => one - other);
    const largest = Math.max(1e-9, ...best.map((at) => Math.abs(scores[at])));
    const rest = order.filter((at) => !best.includes(at));
    const masked = scores.length - order.length;
    const rows = best.map((at) => {
      const group = this.columns[at];
      const bar = el("i", { class: scores[at] < 0 ? "below" : "above" });
      bar.style.width = `${(50 * Math.abs(scores[at])) / largest}%`;
      const share = el("i");
      share.style.width = `${100 * weights[at]}%`;
      return el(
        "tr",
        { class: at === j ? "here" : null },
        el("th", { scope: "row", dir: "auto" }, group.label),
        el("td", {}, el("span", { class: "bar signed" }, bar), el("span", { class: "figure" }, figure(scores[at], 2))),
        el("td", {}, el("span", { class: "bar" }, share), el("span", { class: "figure" }, weights[at].toFixed(3))),
      );
    });
    const line = (words, share) => {
      const cell = el("td", {}, el("span", { class: "bar none" }), el("span", { class: "figure" }, share));
      return el("tr", { class: "others" }, el("th", { scope: "row" }, words), el("td", {}), cell);
    };
    const others = rest.reduce((sum, at) => sum + weights[at], 0);
    if (rest.length) rows.push(line(`${rest.length} others together`, others.toFixed(3)));
    if (masked) rows.push(line(`${masked} later, masked`, "0"));
    const titles = ["looked at", "score", "weight"].map((title) => el("th", {}, title));
    const mask = causal
      ? this.look.alone
        ? "Later tokens are masked: a token sees itself and those before it."
        : "Later tokens are masked: the model cannot see what it has not written yet."
      : "Nothing is masked here: every token is visible.";
    return step(
      "2",
      "How do they compare?",
      `Every token has a score. The softmax turns the scores into weights that add up to 1; a score higher by 1 gives 2.7 times the weight. ${mask}`,
      el("div", { class: "wide" }, el("table", { class: "scores" }, el("thead", {}, el("tr", {}, titles)), el("tbody", {}, rows))),
    );
  }

  value() {
    const { v, weighted, output, share } = this.numbers;
    const column = this.columns[this.cell.j].label;
    const weight = this.numbers.weights[this.cell.j];
    const here = ` of what this head passes on here${share < 0 ? " (it points in the opposite direction)" : ""}.`;
    return step(
      "3",
      "What is passed on?",
      "Every token also has a value: the information that it passes on. The output of the head is the sum of all values, each multiplied by its weight.",
      this.strips([
        [`value of ${quoted(column)}`, v],
        [`× ${weight.toFixed(3)}`, weighted, v],
        ["sum over all tokens", output],
      ]),
      el("p", { class: "sum" }, `${quoted(column)} makes up `, el("b", {}, percent(Math.max(0, share))), here),
    );
  }

  /** Vectors as colour strips, one square per number. Arrow keys move from number to number. */
  strips(vectors) {
    const readout = el("p", { class: "number soft", "aria-live": "polite" }, "Point at a square to see its value.");
    const rows = vectors.map(([name, vector, like]) => {
      const canvas = el("canvas", { class: "strip", "aria-hidden": true });
      drawStrip(canvas, vector, Math.max(...(like ?? vector).map(Math.abs)), this.shell.theme);
      return el("div", { class: "row" }, el("span", { class: "name" }, name), canvas);
    });
    const count = vectors[0][1].length;
    const label = `${vectors.map(([name]) => name).join(", ")}: left and right move through their ${count} numbers`;
    const group = el("div", { class: "strips", tabindex: 0, role: "application", "aria-label": label }, rows);
    let at = -1;
    const show = (to) => {
      at = Math.min(count - 1, Math.max(0, to));
      group.style.setProperty("--at", (at + 0.5) / count);
      group.classList.add("pointed");
      const values = vectors.map(([name, vector]) => `${name} ${figure(vector[at], 3)}`);
      readout.textContent = `number ${at + 1} of ${count}: ${values.join(" · ")}`;
    };
    group.addEventListener("pointermove", (event) => {
      const box = rows[0].querySelector("canvas").getBoundingClientRect();
      const to = Math.floor(((event.clientX - box.left) / box.width) * count);
      if (to >= 0 && to < count) show(to);
    });
    group.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: count - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(to);
    });
    return el("div", {}, group, readout);
  }

  footnote() {
    return el("p", { class: "soft note" }, ROUNDED);
  }
}

function step(number, title, description, ...rest) {
  const heading = el("h3", {}, el("span", { class: "count", "aria-hidden": true }, number), title);
  return el("section", { class: "step" }, heading, el("p", { class: "says" }, description), ...rest);
}

/** Compute equation 1 for one row, step by step. */
function compute(vectors, { i, j }, causal, bias) {
  const [q, k, v] = [vectors.q(i), vectors.k(j), vectors.v(j)];
  const dot = (one, other) => one.reduce((sum, x, at) => sum + x * other[at], 0);
  const root = Math.sqrt(q.length);
  const scores = Array.from({ length: vectors.columns }, (_, at) => dot(q, vectors.k(at)) / root + (bias?.(i, at) ?? 0));
  const seen = scores.map((score, at) => (causal && at > i ? -Infinity : score));
  const most = seen.reduce((one, other) => Math.max(one, other), -Infinity);
  const powers = seen.map((score) => Math.exp(score - most));
  const total = powers.reduce((one, other) => one + other, 0);
  const weights = powers.map((power) => power / total);
  const output = v.map(() => 0);
  weights.forEach((weight, at) => {
    if (weight) vectors.v(at).forEach((x, axis) => (output[axis] += weight * x));
  });
  const weighted = v.map((x) => weights[j] * x);
  const products = q.map((x, at) => x * k[at]);
  const sum = dot(q, k);
  const share = dot(weighted, output) / Math.max(dot(output, output), 1e-12);
  const added = bias?.(i, j) ?? null;
  return { q, k, v, products, sum, score: scores[j], added, scores, weights, weighted, output, share };
}

function drawStrip(canvas, vector, largest, theme) {
  [canvas.width, canvas.height] = [vector.length, 1];
  const context = canvas.getContext("2d");
  const image = context.createImageData(vector.length, 1);
  vector.forEach((x, at) => {
    const share = 0.5 + 0.5 * Math.sign(x) * Math.abs(x / (largest || 1)) ** 0.7;
    image.data.set(theme.signed[Math.round(255 * share)], 4 * at);
    image.data[4 * at + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}
