// The field to type in. A copy of the text lies behind it, in which words can light up; it also sets the height.

import { html, render } from "./vendor/lit-html.js";

export class SourceField {
  /**
   * @param {HTMLElement} element the container
   * @param {{label: string, placeholder: string, typed: () => void, pointed: (word: number | null) => void}} options
   */
  constructor(element, { label, placeholder, typed, pointed }) {
    element.classList.add("field");
    this.behind = document.createElement("div");
    this.behind.className = "behind prose";
    this.behind.dir = "auto";
    this.behind.ariaHidden = "true";
    this.area = document.createElement("textarea");
    Object.assign(this.area, { className: "prose", dir: "auto", placeholder, spellcheck: true, ariaLabel: label, rows: 1 });
    this.area.autocomplete = "off"; // browsers would keep the text and fill it in again
    element.append(this.behind, this.area);
    this.words = [];
    this.lit = new Map();
    this.pointed = pointed;
    this.hovered = null;
    this.area.addEventListener("input", () => {
      this.mark([]);
      typed();
    });
    this.area.addEventListener("pointermove", (event) => event.pointerType === "mouse" && this.point(this.wordUnder(event)));
    this.area.addEventListener("pointerleave", () => this.point(null));
    document.addEventListener("selectionchange", () => this.followCaret());
    this.area.addEventListener("focus", () => this.followCaret());
    this.area.addEventListener("blur", () => this.point(null));
    this.draw();
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.mark([]);
  }

  focus() {
    this.area.focus();
  }

  /** Show these words as targets of the pointer; the text must be the one that they were made for. */
  mark(words) {
    this.words = words;
    this.lit = new Map();
    this.hovered = null;
    this.draw();
  }

  /** Light up words: a map from index to weight, 0 to 1, and the one that is pointed at. */
  light(lit, here = null) {
    this.lit = lit;
    this.here = here;
    this.draw();
  }

  draw() {
    const { text } = this;
    const parts = [];
    let at = 0;
    this.words.forEach(({ start, end }, number) => {
      parts.push(text.slice(at, start));
      const weight = this.lit.get(number);
      const kind = number === this.here ? "word here" : weight === undefined ? "word" : "word tied";
      parts.push(html`<span class=${kind} data-word=${number} .style=${tieOf(weight)}>${text.slice(start, end)}</span>`);
      at = end;
    });
    parts.push(text.slice(at), "\u200b"); // so that a last empty line has a height
    render(parts, this.behind);
  }

  wordUnder({ clientX, clientY }) {
    const found = document.elementsFromPoint(clientX, clientY).find((each) => each.parentElement === this.behind);
    return found?.dataset.word === undefined ? null : Number(found.dataset.word);
  }

  /** The word at the caret counts as pointed at, for the keyboard and for fingers. */
  followCaret() {
    if (document.activeElement !== this.area || this.area.selectionStart !== this.area.selectionEnd) return;
    const caret = this.area.selectionStart;
    const at = this.words.findIndex(({ start, end }) => caret >= start && caret <= end);
    this.point(at < 0 ? null : at);
  }

  point(word) {
    if (word === this.hovered) return;
    this.hovered = word;
    this.pointed(word);
  }
}

/** The strength of a link as a custom property, for the style sheet. */
export const tieOf = (weight) => (weight === undefined ? "" : `--tie: ${Math.round(100 * Math.min(1, weight))}%`);
