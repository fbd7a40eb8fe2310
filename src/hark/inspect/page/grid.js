// All heads of all layers as thumbnails.

import { el, roving } from "./dom.js";

/** The side of a thumbnail in pixels, as large as the page allows. */
const sideOf = (heads) => (heads <= 4 ? 128 : heads <= 8 ? 100 : 56);

export class GridView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.element = el("div", { class: "view grid" });
    this.pending = new Map();
    this.seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) this.fill(target);
    }, { rootMargin: "300px" });
    for (const kind of look.kinds) this.element.append(this.section(kind));
  }

  section(kind) {
    const { look } = this;
    const { name: title, description } = look.wordsOf(kind);
    const table = el("div", { class: "heads", role: "group", "aria-label": title });
    table.style.setProperty("--heads", look.head.heads);
    table.style.setProperty("--side", `${sideOf(look.head.heads)}px`);
    table.append(el("span", {}), ...Array.from({ length: look.head.heads }, (_, head) => el("span", { class: "label top" }, head + 1)));
    const buttons = [];
    for (let layer = 0; layer < look.layers(kind); layer++) {
      table.append(el("span", { class: "label" }, `layer ${layer + 1}`));
      for (let head = 0; head < look.head.heads; head++) {
        const canvas = el("canvas", { width: 0, height: 0 });
        const name = `${title}, layer ${layer + 1}, head ${head + 1}`;
        const what = el("span", { class: "what" });
        const named = { "aria-label": name, title: name, tabindex: buttons.length ? -1 : 0 };
        const button = el("button", { type: "button", class: "head", ...named }, canvas, what);
        button.addEventListener("click", () => this.store.open(kind, layer, head));
        this.pending.set(button, { kind, layer, head, canvas, what, name });
        this.seen.observe(button);
        buttons.push(button);
        table.append(button);
      }
    }
    roving(table, () => buttons);
    table.addEventListener("keydown", (event) => {
      const by = { ArrowDown: look.head.heads, ArrowUp: -look.head.heads }[event.key];
      const at = buttons.indexOf(document.activeElement);
      if (by === undefined || at < 0 || !buttons[at + by]) return;
      event.preventDefault();
      buttons[at].tabIndex = -1;
      buttons[at + by].tabIndex = 0;
      buttons[at + by].focus();
    });
    return el("section", {}, el("h3", {}, title), el("p", { class: "soft" }, description), table);
  }

  /** Draw a thumbnail when it comes into view. */
  async fill(button) {
    const { kind, layer, head, canvas, what, name } = this.pending.get(button);
    const { words, marks } = this.store;
    const shown = { words, marks };
    const [table] = await this.look.tablesOf(kind, layer, [head], shown);
    const [rows, columns] = ["rows", "columns"].map((side) => this.look.axis(kind, side, shown));
    thumbnail(canvas, table, rows.length, columns.length, sideOf(this.look.head.heads), this.shell.theme);
    const habit = habitOf(table, kind, rows, columns, this.look.alone);
    what.textContent = habit;
    button.setAttribute("aria-label", habit ? `${name}: ${habit}` : name);
    this.seen.unobserve(button);
  }

  async render() {
    for (const button of this.pending.keys()) {
      this.seen.unobserve(button);
      this.seen.observe(button);
    }
  }

  /** Draw all thumbnails, including those never scrolled into view. */
  async complete() {
    await Promise.all([...this.pending.keys()].map((button) => this.fill(button)));
  }
}

/** Draw a table at a fixed size; if it has more cells than pixels, each pixel shows the maximum. */
function thumbnail(canvas, table, height, width, pixels, theme) {
  const side = Math.round(pixels * (window.devicePixelRatio || 1));
  [canvas.width, canvas.height] = [side, side];
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  const cells = (at, count) => {
    const first = Math.floor((at * count) / side);
    return [first, Math.max(first + 1, Math.ceil(((at + 1) * count) / side))];
  };
  const across = Array.from({ length: side }, (_, x) => cells(x, width));
  for (let y = 0; y < side; y++) {
    const [top, bottom] = cells(y, height);
    for (let x = 0; x < side; x++) {
      const [left, right] = height > side || width > side ? across[x] : [across[x][0], across[x][0] + 1];
      let most = 0;
      for (let i = top; i < (height > side ? bottom : top + 1); i++) {
        for (let j = left; j < right; j++) most = Math.max(most, table[i * width + j]);
      }
      image.data.set(theme.shade(most), 4 * (y * side + x));
      image.data[4 * (y * side + x) + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/** A short label for what a head does in this sentence, if that has more than half of its weight on average. */
function habitOf(table, kind, rows, columns, alone) {
  const width = columns.length;
  const mean = (where) => rows.reduce((sum, _, i) => sum + (table[i * width + where(i)] ?? 0), 0) / rows.length;
  // A row of a translation's decoder is the word being written, and column i is the word before it.
  const before = kind === "decoder" && !alone ? 0 : -1;
  const habits = [];
  if (kind !== "cross") {
    const inside = (offset) => (i) => (i + offset >= 0 && i + offset < width ? i + offset : NaN);
    habits.push(["previous word", mean(inside(before))]);
    if (kind === "encoder") habits.push(["itself", mean(inside(0))], ["next word", mean(inside(1))]);
    else habits.push(["two back", mean(inside(before - 1))]);
    if (kind === "decoder" && alone) habits.push(["itself", mean(inside(0))], ["first word", mean(() => 0)]);
  }
  for (const mark of ["start", "end"]) {
    const at = columns.findIndex((column) => column.mark === mark);
    if (at >= 0) habits.push([`the ${mark}`, mean(() => at)]);
  }
  const best = habits.reduce((one, other) => (other[1] > one[1] ? other : one), ["", 0.5]);
  return best[0];
}
