// The weights as a table: the words of the rows look at the words of the columns.

import { el, quoted } from "./dom.js";
import { hexOfBytes } from "./colour.js";
import { widthOf } from "./pen.js";
import { Stage } from "./stage.js";

const CELLS = 4900; // maximum cells to draw one by one; larger tables are drawn as an image
const SLANT = -55;
const CELL = [3, 64];

export class MatrixView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.stage = new Stage(this, "Table of weights. Arrow keys move, Enter locks the row, plus and minus zoom, w explains the weight.");
    this.summary = el("p", { class: "said", "aria-live": "polite" });
    this.why = el("button", { type: "button", class: "quiet" }, "Why this weight?");
    this.why.addEventListener("click", () => this.openWhy());
    const zoom = (label, text, by) => {
      const button = el("button", { type: "button", class: "quiet", "aria-label": label, title: label }, text);
      button.addEventListener("click", () => this.zoom(by));
      return button;
    };
    const tools = el("span", { class: "tools" }, this.why, zoom("Zoom out", "−", 0.8), zoom("Zoom in", "+", 1.25));
    this.element = el("div", { class: "view" }, el("div", { class: "saidbar" }, this.summary, tools), this.stage.element);
    this.pointed = null;
    this.zoomed = 1;
  }

  async render() {
    const { look, store, shell } = this;
    const { kind, layer, head, words, marks } = store;
    const shown = { words, marks };
    const all = Array.from({ length: look.head.heads }, (_, at) => at);
    [this.table] = await look.tablesOf(kind, layer, head === "mean" ? all : [head], shown, true);
    this.rows = look.axis(kind, "rows", shown);
    this.columns = look.axis(kind, "columns", shown);
    const { theme } = shell;
    const widest = (axis) => Math.min(180, Math.max(40, ...axis.map(({ label }) => widthOf(theme, label, 13))));
    this.gutter = Math.ceil(widest(this.rows)) + 16;
    this.crown = Math.ceil(widest(this.columns) * Math.sin((-SLANT * Math.PI) / 180)) + 26;
    this.lean = Math.ceil(widest(this.columns) * Math.cos((SLANT * Math.PI) / 180)) + 12;
    this.bitmap = null;
    this.stage.lay(theme);
    this.describe();
  }

  size(available) {
    const across = (available - this.gutter - this.lean) / this.columns.length;
    const fitting = Math.min(44, Math.max(5, across));
    this.cell = Math.min(CELL[1], Math.max(CELL[0], fitting * this.zoomed));
    return [
      Math.ceil(this.gutter + this.cell * this.columns.length + this.lean),
      Math.ceil(this.crown + this.cell * this.rows.length + 8),
    ];
  }

  value(i, j) {
    return this.table[i * this.columns.length + j];
  }

  get chosen() {
    const chosen = this.pointed ?? this.store.cell;
    return chosen && chosen.i < this.rows.length && chosen.j < this.columns.length ? chosen : null;
  }

  paint(pen, region) {
    const { cell, gutter, crown } = this;
    const { theme } = pen;
    const { chosen } = this;
    const { lockedRow } = this.store;
    // Labels stay in view while the table scrolls under them.
    const [labelX, labelY] = [region.x + gutter, region.y + crown];
    const many = this.rows.length * this.columns.length > CELLS;
    if (many || cell < 6) {
      this.bitmap ??= this.drawBitmap(theme);
      pen.image(this.bitmap, gutter, crown, cell * this.columns.length, cell * this.rows.length);
    } else {
      const space = cell > 12 ? 1 : 0;
      for (let i = 0; i < this.rows.length; i++) {
        const y = crown + i * cell;
        for (let j = 0; j < this.columns.length; j++) {
          const fill = hexOfBytes(theme.shade(this.value(i, j)));
          pen.rect(gutter + j * cell, y, cell - space, cell - space, { fill, radius: space ? 2 : 0 });
        }
      }
      if (cell >= 34) this.figures(pen);
    }
    for (const i of new Set([lockedRow, chosen?.i])) {
      if (i === null || i === undefined || i >= this.rows.length) continue;
      const stroke = i === lockedRow ? theme.accent : theme.soft;
      pen.rect(gutter - 1, crown + i * cell - 1, cell * this.columns.length + 1, cell + 1, { stroke, radius: 2 });
    }
    if (chosen) {
      const [x, y] = [gutter + chosen.j * cell, crown + chosen.i * cell];
      pen.rect(x - 1, crown - 1, cell + 1, cell * this.rows.length + 1, { stroke: theme.soft, radius: 2, alpha: 0.6 });
      pen.rect(x - 1.5, y - 1.5, cell + 2, cell + 2, { stroke: theme.ink, radius: 2 });
    }
    this.labels(pen, region, labelX, labelY);
  }

  /** The weights as numbers, if cells are large enough. */
  figures(pen) {
    const { theme } = pen;
    for (let i = 0; i < this.rows.length; i++) {
      for (let j = 0; j < this.columns.length; j++) {
        const value = this.value(i, j);
        if (value < 0.005) continue;
        const [x, y] = [this.gutter + (j + 0.5) * this.cell - 0.5, this.crown + (i + 0.5) * this.cell + 4];
        pen.text(x, y, value.toFixed(2).replace(/^0/, ""), { size: 11, align: "center", fill: theme.onShade(value) });
      }
    }
  }

  labels(pen, region, labelX, labelY) {
    const { cell, gutter, crown, chosen } = this;
    const { theme } = pen;
    // A background behind the labels, so that cells do not show through.
    pen.rect(labelX - gutter, labelY - crown, region.width + 2, crown - 2, { fill: theme.card });
    pen.rect(labelX - gutter, labelY - crown, gutter - 2, region.height + crown, { fill: theme.card });
    const every = Math.max(1, Math.ceil(11 / cell)); // if cells are smaller than labels, only some are labelled
    this.rows.forEach((row, i) => {
      const y = crown + (i + 0.5) * cell;
      if (y < labelY || y > region.y + region.height + cell || (i % every && chosen?.i !== i)) return;
      if (every > 1 && chosen && chosen.i !== i && Math.abs(chosen.i - i) < every) return;
      pen.text(labelX - 10, y + 4.5, row.label, this.ink(theme, row, chosen?.i === i, "right"));
    });
    this.columns.forEach((column, j) => {
      const x = gutter + (j + 0.5) * cell;
      if (x < labelX || x > region.x + region.width + cell || (j % every && chosen?.j !== j)) return;
      if (every > 1 && chosen && chosen.j !== j && Math.abs(chosen.j - j) < every) return;
      pen.text(x + 3, labelY - 8, column.label, { ...this.ink(theme, column, chosen?.j === j, "left"), turn: SLANT });
    });
  }

  ink(theme, group, here, align) {
    return { size: 13, weight: here ? 600 : 400, italic: Boolean(group.mark), fill: here ? theme.ink : theme.soft, align };
  }

  drawBitmap(theme) {
    const bitmap = document.createElement("canvas");
    [bitmap.width, bitmap.height] = [this.columns.length, this.rows.length];
    const context = bitmap.getContext("2d");
    const image = context.createImageData(bitmap.width, bitmap.height);
    for (let at = 0; at < this.table.length; at++) {
      image.data.set(theme.shade(this.table[at]), 4 * at);
      image.data[4 * at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return bitmap;
  }

  point(x, y) {
    const [j, i] = [Math.floor((x - this.gutter) / this.cell), Math.floor((y - this.crown) / this.cell)];
    const { scrollLeft, scrollTop } = this.stage.element;
    const covered = x < scrollLeft + this.gutter || y < scrollTop + this.crown;
    const inside = !covered && i >= 0 && j >= 0 && i < this.rows.length && j < this.columns.length;
    const row = this.store.lockedRow;
    const pointed = inside ? { i: row ?? i, j } : null;
    if (pointed?.i === this.pointed?.i && pointed?.j === this.pointed?.j) return;
    this.pointed = pointed;
    this.stage.draw();
    this.describe();
  }

  /** Lock the row under the pointer, or unlock it. */
  pick() {
    const { lockedRow } = this.store;
    const { chosen } = this;
    this.store.set({ cell: chosen, lockedRow: lockedRow === null && chosen ? chosen.i : null });
  }

  key(name) {
    const here = this.store.cell ?? { i: -1, j: -1 };
    const go = (i, j) => {
      const cell = {
        i: Math.min(this.rows.length - 1, Math.max(0, this.store.lockedRow ?? i)),
        j: Math.min(this.columns.length - 1, Math.max(0, j)),
      };
      this.pointed = null;
      this.store.set({ cell });
      const [x, y, side] = [this.gutter + cell.j * this.cell, this.crown + cell.i * this.cell, 2 * this.cell];
      this.stage.reveal(x, y, side, side, [this.gutter, this.crown]);
      return true;
    };
    switch (name) {
      case "ArrowDown":
        return go(here.i + 1, here.j);
      case "ArrowUp":
        return go(here.i - 1, here.j);
      case "ArrowRight":
        return go(here.i, here.j + 1);
      case "ArrowLeft":
        return go(here.i, here.j - 1);
      case "Home":
        return go(here.i, 0);
      case "End":
        return go(here.i, this.columns.length - 1);
      case "Enter":
      case " ":
        this.pick();
        return true;
      case "+":
      case "=":
        this.zoom(1.25);
        return true;
      case "-":
        this.zoom(0.8);
        return true;
      case "w":
        this.openWhy();
        return true;
      case "Escape":
        this.store.set({ cell: null, lockedRow: null });
        return true;
    }
    return false;
  }

  zoom(by) {
    this.zoomed = Math.min(12, Math.max(0.2, this.zoomed * by));
    const { element } = this.stage;
    const [x, y] = [element.scrollLeft * by, element.scrollTop * by];
    this.stage.lay(this.shell.theme);
    element.scrollTo(x, y);
    this.stage.draw();
  }

  /** Open the view that explains the chosen weight. It shows tokens, so the strongest pair of the two words is used. */
  async openWhy() {
    const { kind, layer, head } = this.store;
    const cell = this.chosen ?? strongest(this.table, this.columns.length);
    const tokens = { words: false, marks: true };
    const which = head === "mean" ? 0 : head;
    const [table] = await this.look.tablesOf(kind, layer, [which], tokens);
    const width = this.look.axis(kind, "columns", tokens).length;
    let best = { weight: -1 };
    for (const i of this.rows[cell.i].members) {
      for (const j of this.columns[cell.j].members) {
        if (table[i * width + j] > best.weight) best = { weight: table[i * width + j], i, j };
      }
    }
    this.store.set({ view: "why", head: which, why: { i: best.i, j: best.j } });
  }

  describe() {
    const { chosen } = this;
    const { lockedRow } = this.store;
    if (!chosen) {
      this.summary.textContent = "Point at a cell to see its weight; click to lock its row.";
      return;
    }
    const [row, column] = [this.rows[chosen.i], this.columns[chosen.j]];
    const locked = lockedRow === null ? "" : " (row locked; press Escape to unlock)";
    const value = this.value(chosen.i, chosen.j).toFixed(this.look.decimals);
    this.summary.textContent = `${quoted(row.label)} looks at ${quoted(column.label)}: ${value}${locked}`;
  }

  picture() {
    return this.stage.picture(Math.max(640, this.stage.element.clientWidth));
  }
}

function strongest(table, width) {
  const at = table.indexOf(table.reduce((one, other) => Math.max(one, other), 0));
  return { i: Math.floor(at / width), j: at % width };
}
