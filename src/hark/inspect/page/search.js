// The steps of beam search, as a tree.

import { el, figure, percent, quoted } from "./dom.js";
import { pictureOf } from "./picture.js";
import { widthOf } from "./pen.js";
import { Stage } from "./stage.js";

const ROW = 32;
const TOP = 18;
const SIZE = 14;
const GAP = 44; // between columns
const INTERVAL = 900; // milliseconds per step during playback

export class SearchView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.beam = look.head.beam;
    this.last = this.beam.steps.length - 1;
    this.hypotheses = hypothesisTexts(this.beam);
    this.stage = new Stage(this, "Tree of hypotheses. Left and right move between steps, up and down between hypotheses.");
    this.slider = el("input", { type: "range", min: 0, max: this.last, step: 1, "aria-label": "Step of the search" });
    this.slider.addEventListener("input", () => store.set({ step: Number(this.slider.value) }));
    this.count = el("output", { class: "count", "aria-live": "polite" });
    this.player = el("button", { type: "button", class: "quiet" }, "Play");
    this.player.addEventListener("click", () => this.play());
    this.cards = el("div", { class: "cards", role: "radiogroup", "aria-label": "Live hypotheses" });
    this.looking = el("div", { class: "looking" });
    this.below = el("div", {}, this.cards, this.looking);
    const bar = el("div", { class: "slider" }, this.player, this.slider, this.count);
    this.element = el("div", { class: "view search" }, bar, this.stage.element, this.below);
    this.laid = null;
  }

  async render() {
    const { store, beam } = this;
    store.step ??= this.initialStep();
    const { step } = store;
    const row = Math.min(store.beamRow, beam.steps[step].logProbs.length - 1);
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step + 1} of ${this.last + 1}`);
    this.count.textContent = `step ${step + 1} of ${this.last + 1}`;
    this.current = { step, row };
    const { theme } = this.shell;
    this.laid ??= this.layOut(theme);
    this.stage.lay(theme);
    this.stage.reveal(this.laid.x[step] - 120, 0, 420, 1);
    this.cards.replaceChildren(...beam.steps[step].logProbs.map((_, at) => this.card(step, at, at === row)));
    await this.showLooking(step, row);
  }

  /** The initial step: the one where the winning token had the lowest probability, except the first ones. */
  initialStep() {
    const chosen = this.beam.path.map((rank, at) => {
      const [row, token] = this.beam.steps[at].next[rank];
      return this.beam.steps[at].likely[row].find(([each]) => each === token)?.[1] ?? 0;
    });
    const first = Math.max(1, this.beam.forced); // the step after those without a choice
    return chosen.length > first ? chosen.indexOf(Math.min(...chosen.slice(first)), first) : 0;
  }

  play() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      if (this.store.step >= this.last) this.store.set({ step: 0 });
      this.timer = setInterval(() => {
        if (this.store.step >= this.last || this.store.view !== "search") this.play();
        else this.store.set({ step: this.store.step + 1 });
      }, INTERVAL);
    }
    this.player.textContent = this.timer ? "Pause" : "Play";
  }

  label(token) {
    const text = this.beam.tokens[token];
    if (text === " ") return "␣";
    return text.startsWith(" ") ? text.slice(1) : /^[\p{P}\p{S}]+$/u.test(text) ? text : `·${text}`;
  }

  /** Lay out the nodes: one column per step, one row per hypothesis, with ended hypotheses below. */
  layOut(theme) {
    const { steps } = this.beam;
    const nodes = [{ column: 0, row: 0, label: "⟨start⟩", parent: null, mark: true, onPath: true }];
    let alive = [nodes[0]];
    steps.forEach((step, at) => {
      const next = [];
      let ended = 0;
      step.next.forEach(([row, token, logProb, fate], rank) => {
        if (fate === "dropped") return;
        const onPath = this.beam.path[at] === rank && alive[row].onPath;
        const node = { column: at + 1, parent: alive[row], token, logProb, onPath };
        if (fate === "ends") {
          const score = logProb / ((5 + at + 1 - this.beam.forced) / 6) ** this.beam.alpha;
          const text = this.beam.tokens[token] === "" ? "⟨end⟩" : this.label(token);
          // After the last step no hypothesis is live, so its rows are free.
          const place = (at === this.last ? 0 : this.beam.width) + ended++;
          Object.assign(node, { row: place, label: `${text} ${figure(score, 2)}`, ended: true });
        } else {
          Object.assign(node, { row: next.length, label: this.label(token) });
          next.push(node);
        }
        nodes.push(node);
      });
      alive = next;
    });
    const x = [0];
    for (let column = 0; column <= steps.length; column++) {
      const widths = nodes.filter((node) => node.column === column).map(({ label }) => widthOf(theme, label, SIZE, 600));
      x.push(x[column] + Math.max(24, ...widths) + GAP);
    }
    const rows = Math.max(...nodes.map(({ row }) => row)) + 1;
    return { nodes, x, rows };
  }

  size(available) {
    return [Math.max(available, this.laid.x[this.laid.x.length - 1] + 20), TOP * 2 + ROW * this.laid.rows];
  }

  paint(pen, region) {
    const { theme } = pen;
    const { nodes, x } = this.laid;
    const { step, row } = this.current;
    const at = (node) => [x[node.column] + 22, TOP + ROW * (node.row + 0.5)];
    const alpha = (node) => (node.column > step + 1 ? 0.28 : 1);
    pen.rect(x[step] + 6, 4, x[step + 1] - x[step] - 8, TOP * 2 + ROW * this.laid.rows - 8, { fill: theme.mark, radius: 8, alpha: 0.7 });
    const inView = (node) => x[node.column + 1] > region.x - 200 && x[node.column] < region.x + region.width + 200;
    for (const node of nodes) {
      if (!node.parent || !inView(node)) continue;
      const [fromX, fromY] = at(node.parent);
      const [toX, toY] = at(node);
      const start = fromX + widthOf(theme, node.parent.label, SIZE, node.parent.onPath ? 600 : 400) + 6;
      // Straight to the end of the column, so that it does not cross a longer word in another row.
      const turn = Math.max(start, toX - GAP + 6);
      const bend = (toX - 6 - turn) / 2;
      const look = node.onPath
        ? { stroke: theme.accent, width: 2.2, alpha: alpha(node) }
        : { stroke: theme.faint, width: 1.1, alpha: 0.7 * alpha(node) };
      const straight = [start, fromY, start, fromY, turn, fromY, turn, fromY];
      pen.path([...straight, turn + bend, fromY, toX - 6 - bend, toY, toX - 6, toY], look);
    }
    for (const node of nodes) {
      if (!inView(node)) continue;
      const [left, middle] = at(node);
      const width = widthOf(theme, node.label, SIZE, node.onPath ? 600 : 400);
      if (node.column === step && !node.ended && node.row === row) {
        pen.rect(left - 7, middle - 13, width + 14, 26, { stroke: theme.ink, radius: 6 });
      }
      if (node.ended) {
        const fill = node.onPath ? theme.accent : theme.line;
        pen.rect(left - 6, middle - 12, width + 12, 24, { fill, radius: 12, alpha: alpha(node) });
      }
      pen.text(left, middle + 5, node.label, {
        size: SIZE,
        weight: node.onPath ? 600 : 400,
        italic: Boolean(node.mark),
        fill: node.ended && node.onPath ? theme.card : node.onPath ? theme.ink : theme.soft,
        alpha: alpha(node),
      });
    }
  }

  point(x, y) {
    const column = this.laid.x.findIndex((start, at) => x >= start && x < this.laid.x[at + 1]);
    this.pointed = column < 0 ? null : { step: Math.min(column, this.last), row: Math.max(0, Math.floor((y - TOP) / ROW)) };
  }

  pick() {
    if (this.pointed) this.store.set({ step: this.pointed.step, beamRow: this.pointed.row });
  }

  key(name) {
    const { step, row } = this.current;
    const rows = this.beam.steps[step].logProbs.length;
    switch (name) {
      case "ArrowRight":
        this.store.set({ step: Math.min(this.last, step + 1) });
        return true;
      case "ArrowLeft":
        this.store.set({ step: Math.max(0, step - 1) });
        return true;
      case "ArrowDown":
        this.store.set({ beamRow: Math.min(rows - 1, row + 1) });
        return true;
      case "ArrowUp":
        this.store.set({ beamRow: Math.max(0, row - 1) });
        return true;
      case "Home":
        this.store.set({ step: 0 });
        return true;
      case "End":
        this.store.set({ step: this.last });
        return true;
    }
    return false;
  }

  /** One live hypothesis: its text so far, and the likeliest next tokens. */
  card(step, row, on) {
    const { steps, tokens } = this.beam;
    const fates = new Map(steps[step].next.filter(([from]) => from === row).map(([, token, , fate]) => [token, fate]));
    const bars = steps[step].likely[row].map(([token, p]) => {
      const fate = fates.get(token) ?? "dropped";
      const fill = el("i");
      fill.style.width = `${Math.max(0.5, 100 * p)}%`;
      const word = tokens[token] === "" ? "⟨end⟩" : this.label(token);
      const means = { lives: "kept", ends: "ended", dropped: "dropped" }[fate];
      return el(
        "li",
        { class: fate, title: means },
        el("span", { class: "token", dir: "auto" }, word),
        el("span", { class: "bar" }, fill),
        el("span", { class: "figure" }, percent(p)),
        el("span", { class: "fate", "aria-label": means }, { lives: "→", ends: "■", dropped: "" }[fate]),
      );
    });
    const text = this.hypotheses[step][row].trim();
    const card = el(
      "button",
      { type: "button", class: "card", role: "radio", "aria-checked": on, tabindex: on ? 0 : -1 },
      el("span", { class: "begun", dir: "auto" }, text || "⟨start⟩"),
      el("span", { class: "soft" }, `log-probability ${figure(steps[step].logProbs[row], 2)}`),
      el("ul", {}, bars),
    );
    card.addEventListener("click", () => this.store.set({ beamRow: row }));
    card.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.store.set({ beamRow: Math.min(steps[step].logProbs.length - 1, Math.max(0, row + by)) });
      this.focusCard = true;
    });
    return card;
  }

  /** Show where the chosen hypothesis looks at this step. */
  async showLooking(step, row) {
    const { shape, scale, values } = await this.look.block("beam");
    const { source } = this.look.head;
    const [, width, length] = shape;
    const weights = source.words.map(() => 0);
    for (let s = 0; s < length; s++) weights[source.wordOf[s]] += scale * values[(step * width + row) * length + s];
    const text = el("p", { class: "text small", dir: "auto" });
    source.words.forEach((word, at) => {
      const mark = source.marks[source.wordOf.indexOf(at)];
      if (at && source.spaced[at]) text.append(" ");
      const title = weights[at].toFixed(2);
      const span = el("span", { class: mark ? "word tied mark" : "word tied", title }, mark ? `⟨${mark}⟩` : word);
      span.style.setProperty("--tie", `${Math.round(100 * weights[at])}%`);
      text.append(span);
    });
    const best = weights.indexOf(Math.max(...weights));
    const mark = source.marks[source.wordOf.indexOf(best)];
    const most = quoted(mark ? `⟨${mark}⟩` : source.words[best]);
    const summary = `To predict the next token, it looks most at ${most} (${weights[best].toFixed(2)}).`;
    this.looking.replaceChildren(
      el("h3", {}, `Where this hypothesis looks in the ${this.look.nouns.source}`),
      text,
      el("p", { class: "soft", "aria-live": "polite" }, summary),
    );
    if (this.focusCard) {
      this.focusCard = false;
      this.cards.querySelector('[aria-checked="true"]')?.focus();
    }
  }

  picture() {
    const tree = this.stage.picture(640);
    const below = pictureOf(this.below);
    return {
      width: Math.max(tree.width, below.width),
      height: tree.height + 16 + below.height,
      paint: (pen) => {
        tree.paint(pen);
        const shifted = shift(pen, 0, tree.height + 16);
        below.paint(shifted);
      },
    };
  }
}

/** A pen that draws at an offset. */
function shift(pen, dx, dy) {
  return {
    theme: pen.theme,
    rect: (x, y, ...rest) => pen.rect(x + dx, y + dy, ...rest),
    text: (x, y, ...rest) => pen.text(x + dx, y + dy, ...rest),
    image: (canvas, x, y, ...rest) => pen.image(canvas, x + dx, y + dy, ...rest),
    path: (points, options) => pen.path(points.map((each, at) => each + (at % 2 ? dy : dx)), options),
  };
}

/** The text of each live hypothesis at each step. */
function hypothesisTexts({ steps, tokens }) {
  const all = [[""]];
  for (const { next } of steps) {
    const before = all[all.length - 1];
    all.push(next.filter(([, , , fate]) => fate === "lives").map(([row, token]) => before[row] + tokens[token]));
  }
  return all;
}
