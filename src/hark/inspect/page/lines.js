// Attention as lines between two columns of words, as in the paper's figures 3 to 5.

import { el, quoted } from "./dom.js";
import { widthOf } from "./pen.js";
import { Stage } from "./stage.js";

const ROW = 28;
const TOP = 44;
const GAP = [110, 320];
const SMALLEST = 0.02; // minimum weight to draw; fainter lines only blur the picture
const SIZE = 15;
const MOST = 2400; // maximum lines; for a long sentence only the strongest are drawn

export class LinesView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.stage = new Stage(this, "Lines between words. Up and down select a word, left and right a column, Escape clears the selection.");
    this.summary = el("p", { class: "said", "aria-live": "polite" });
    this.element = el("div", { class: "view" }, this.summary, this.stage.element);
    this.pointed = null;
  }

  async render() {
    const { store, look } = this;
    const { kind, layer, heads, mean, words, marks } = store;
    const shown = { words, marks };
    this.tables = await look.tablesOf(kind, layer, heads, shown, mean);
    this.rows = look.axis(kind, "rows", shown);
    this.columns = look.axis(kind, "columns", shown);
    const { theme } = this.shell;
    this.colours = mean && heads.length > 1 ? [theme.ink] : heads.map((head) => theme.head(head, look.head.heads));
    const widest = (axis) => Math.max(60, ...axis.map(({ label }) => widthOf(theme, label, SIZE, 500)));
    this.left = Math.ceil(widest(this.rows)) + 16;
    this.beyond = Math.ceil(widest(this.columns)) + 12 * this.tables.length + 70;
    this.edges = null;
    this.stage.lay(theme);
    this.describe();
  }

  size(available) {
    const length = Math.max(this.rows.length, this.columns.length);
    const gap = Math.min(GAP[1], Math.max(GAP[0], available - this.left - this.beyond));
    this.right = this.left + gap;
    const wide = this.right + this.beyond;
    this.shift = Math.max(0, (available - wide) / 2);
    return [Math.max(wide, available), TOP + ROW * length + 16];
  }

  /** The word whose lines alone are shown: the one under the pointer, or else the selected one. */
  get chosen() {
    return this.pointed ?? this.store.held;
  }

  valid(chosen) {
    return chosen && this.tables.length && chosen.at < (chosen.side === "row" ? this.rows : this.columns).length ? chosen : null;
  }

  lookup(side, at) {
    const width = this.columns.length;
    const mean = (i, j) => this.tables.reduce((sum, table) => sum + table[i * width + j], 0) / this.tables.length;
    if (side === "row") return this.columns.map((_, j) => mean(at, j));
    return this.rows.map((_, i) => mean(i, at));
  }

  paint(pen, region) {
    const { theme } = pen;
    const chosen = this.valid(this.chosen);
    const y = (at) => TOP + ROW * (at + 0.5);
    const [left, right] = [this.left + this.shift, this.right + this.shift];
    const seen = (at) => y(at) > region.y - ROW && y(at) < region.y + region.height + ROW;

    pen.text(left, 20, "looks", { size: 12, fill: theme.faint, align: "right" });
    pen.text(right, 20, "is looked at", { size: 12, fill: theme.faint });

    for (const { table, i, j, weight } of this.visible(chosen)) {
      const [from, to] = [y(i), y(j)];
      if (!seen(i) && !seen(j)) continue; // both ends are out of view
      const [a, b] = [left + 10, right - 10];
      const bend = (b - a) * 0.42;
      const alpha = Math.min(1, 0.05 + 0.95 * weight ** (chosen ? 0.6 : 0.9));
      pen.path([a, from, a + bend, from, b - bend, to, b, to], { stroke: this.colours[table], width: 1 + 2.2 * weight, alpha });
    }

    const weights = chosen ? this.lookup(chosen.side, chosen.at) : null;
    const column = (axis, side, x, align) => {
      axis.forEach((group, at) => {
        if (!seen(at)) return;
        const here = chosen?.side === side && chosen.at === at;
        const other = chosen && chosen.side !== side;
        const strength = other ? weights[at] : null;
        const width = widthOf(theme, group.label, SIZE, here ? 600 : 400);
        const start = align === "right" ? x - width : x;
        if (here) pen.rect(start - 7, y(at) - 13, width + 14, 26, { fill: theme.mark, radius: 6 });
        const faded = chosen && !here && (!other || strength < SMALLEST);
        pen.text(x, y(at) + 5, group.label, {
          size: SIZE,
          weight: here ? 600 : 400,
          italic: Boolean(group.mark),
          fill: group.mark ? theme.soft : theme.ink,
          alpha: faded ? 0.45 : 1,
          align,
        });
        const beside = align === "right" ? start - 12 : start + width + 12;
        if (other && strength >= SMALLEST) this.squares(pen, chosen, at, beside, y(at), strength, align);
      });
    };
    column(this.rows, "row", left, "right");
    column(this.columns, "column", right, "left");
  }

  /** Beside a linked word: a square for each head, shaded by its weight, and the weight as a number. */
  squares(pen, chosen, at, x, y, strength, align) {
    const direction = align === "right" ? -1 : 1;
    const width = this.columns.length;
    this.tables.forEach((table, which) => {
      const weight = chosen.side === "row" ? table[chosen.at * width + at] : table[at * width + chosen.at];
      const left = x + direction * 12 * which - (direction < 0 ? 9 : 0);
      pen.rect(left, y - 5, 9, 10, { fill: this.colours[which], alpha: Math.max(0.08, weight ** 0.8), radius: 2 });
    });
    const after = x + direction * (12 * this.tables.length + 6);
    pen.text(after, y + 4, strength.toFixed(2), { size: 12, fill: pen.theme.soft, align: direction < 0 ? "right" : "left" });
  }

  /** The lines to draw, faint ones first. */
  visible(chosen) {
    this.edges ??= edgesOf(this.tables, this.rows.length, this.columns.length);
    if (!chosen) return this.edges.slice(-MOST);
    return this.edges.filter((edge) => (chosen.side === "row" ? edge.i : edge.j) === chosen.at);
  }

  point(x, y) {
    const at = Math.floor((y - TOP) / ROW);
    const middle = (this.left + this.right) / 2 + this.shift;
    const side = x < middle ? "row" : "column";
    const inside = x >= 0 && at >= 0 && at < (side === "row" ? this.rows : this.columns).length;
    const near = x < this.left + this.shift + 30 || x > this.right + this.shift - 30;
    const pointed = inside && near ? { side, at } : null;
    if (pointed?.side === this.pointed?.side && pointed?.at === this.pointed?.at) return;
    this.pointed = pointed;
    this.stage.draw();
    this.describe();
  }

  pick() {
    const { held } = this.store;
    const same = this.pointed && held && held.side === this.pointed.side && held.at === this.pointed.at;
    this.store.set({ held: same ? null : this.pointed });
  }

  key(name) {
    const { held } = this.store;
    const side = held?.side ?? "row";
    const length = (which) => (which === "row" ? this.rows : this.columns).length;
    const go = (to, which = side) => {
      const at = Math.min(length(which) - 1, Math.max(0, to));
      this.pointed = null;
      this.store.set({ held: { side: which, at } });
      this.stage.reveal(0, TOP + ROW * at - ROW, 1, 3 * ROW);
      return true;
    };
    const at = held?.at ?? -1;
    switch (name) {
      case "ArrowDown":
        return go(at + 1);
      case "ArrowUp":
        return go(at - 1);
      case "ArrowRight":
        return go(Math.max(at, 0), "column");
      case "ArrowLeft":
        return go(Math.max(at, 0), "row");
      case "Home":
        return go(0);
      case "End":
        return go(length(side) - 1);
      case "Escape":
        this.store.set({ held: null });
        return true;
    }
    return false;
  }

  describe() {
    const chosen = this.valid(this.chosen);
    if (!this.tables.length) {
      this.summary.textContent = "No head is selected; select some above.";
      return;
    }
    if (!chosen) {
      const few = this.edges?.length > MOST ? ` Only the strongest ${MOST} of ${this.edges.length} lines are drawn.` : "";
      this.summary.textContent = `Point at a word to see only its lines; click to select it.${few}`;
      return;
    }
    const [axis, other] = chosen.side === "row" ? [this.rows, this.columns] : [this.columns, this.rows];
    const weights = this.lookup(chosen.side, chosen.at);
    const best = weights.map((weight, at) => ({ weight, at })).sort((one, two) => two.weight - one.weight);
    const named = best
      .slice(0, 4)
      .filter(({ weight }) => weight >= 0.005)
      .map(({ weight, at }) => `${quoted(other[at].label)} ${weight.toFixed(2)}`);
    const verb = chosen.side === "row" ? "looks at" : "is looked at by";
    const several = this.tables.length > 1 ? ` (mean of ${this.tables.length} heads)` : "";
    this.summary.textContent = `${quoted(axis[chosen.at].label)} ${verb} ${named.join(", ") || "nothing shown here"}${several}`;
  }

  picture() {
    return this.stage.picture(640);
  }
}

function edgesOf(tables, height, width) {
  const edges = [];
  tables.forEach((values, table) => {
    for (let i = 0; i < height; i++) {
      for (let j = 0; j < width; j++) {
        const weight = values[i * width + j];
        if (weight >= SMALLEST) edges.push({ table, i, j, weight });
      }
    }
  });
  edges.sort((one, two) => one.weight - two.weight);
  return edges;
}
