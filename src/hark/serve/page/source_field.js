// The field to type in. A copy of the text lies behind it, in which words can light up; it also sets the height.

import { html, render } from "./vendor/lit-html.js";
import { Lighting } from "./lighting.js";

export class SourceField {
  /**
   * @param {{label: string, placeholder: string, typed: () => void, pointed: (word: number | null) => void,
   *   caret: (word: number | null) => void}} options `pointed` by the mouse, `caret` for the keyboard and fingers
   */
  constructor({ label, placeholder, typed, pointed, caret }) {
    this.element = Object.assign(document.createElement("div"), { className: "field" });
    this.behind = Object.assign(document.createElement("div"), { className: "behind prose", dir: "auto", ariaHidden: "true" });
    this.area = Object.assign(document.createElement("textarea"), {
      className: "prose",
      dir: "auto",
      placeholder,
      ariaLabel: label,
      rows: 1,
      autocomplete: "off", // browsers would keep the text and fill it in again
    });
    this.element.append(this.behind, this.area);
    this.lighting = new Lighting(this.behind);
    /** @type {import("./pairing.js").Word[]} */
    this.words = [];
    this.under = null; // the word under the pointer or at the caret
    const follow = () => this.point(this.wordAtCaret(), caret);
    this.area.addEventListener("input", () => {
      this.mark([]);
      typed();
    });
    this.area.addEventListener("pointermove", (event) => event.pointerType === "mouse" && this.point(this.wordUnder(event), pointed));
    this.area.addEventListener("pointerleave", () => this.point(null, pointed));
    this.area.addEventListener("focus", follow);
    this.area.addEventListener("blur", () => this.point(null, pointed));
    document.addEventListener("selectionchange", () => document.activeElement === this.area && follow());
    this.mark([]);
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

  /** Draw the copy with these words, which belong to the current text. */
  mark(words) {
    this.words = words;
    this.under = null;
    const { text } = this;
    const parts = [];
    let at = 0;
    words.forEach(({ start, end }, number) => {
      parts.push(text.slice(at, start), html`<span class="word" data-word=${number}>${text.slice(start, end)}</span>`);
      at = end;
    });
    parts.push(text.slice(at), "\u200b"); // so that a last empty line has a height
    render(parts, this.behind);
    this.lighting.reset();
  }

  wordUnder({ clientX, clientY }) {
    const found = document.elementsFromPoint(clientX, clientY).find((each) => each.parentElement === this.behind);
    return found?.dataset.word === undefined ? null : Number(found.dataset.word);
  }

  wordAtCaret() {
    const { selectionStart, selectionEnd } = this.area;
    if (selectionStart !== selectionEnd) return null;
    const at = this.words.findIndex(({ start, end }) => selectionStart >= start && selectionStart <= end);
    return at < 0 ? null : at;
  }

  point(word, report) {
    if (word === this.under) return;
    this.under = word;
    report(word);
  }
}
