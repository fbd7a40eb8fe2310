// The translation, in which words light up, with warnings at their sentences. Arrow keys move from word to word.

import { html, nothing, render } from "./vendor/lit-html.js";
import { Lighting } from "./lighting.js";

const LABEL = "Translation. Arrow keys move from word to word.";

export class OutputText {
  /**
   * @param {{pointed: (word: number | null) => void, chosen: (sentence: number, word: number | null) => void,
   *   entered: () => void}} options `pointed` by the mouse, `chosen` by a click, a tap or an arrow key
   */
  constructor({ pointed, chosen, entered }) {
    Object.assign(this, { pointed, chosen, entered });
    this.element = document.createElement("div");
    Object.assign(this.element, { className: "prose result", dir: "auto", ariaLabel: LABEL, role: "textbox", ariaReadOnly: "true", ariaMultiLine: "true" });
    this.lighting = new Lighting(this.element);
    this.paired = null;
    this.here = null;
    this.element.addEventListener("pointerover", ({ target }) => this.pointed(numberOf(target, "word")));
    this.element.addEventListener("pointerleave", () => this.pointed(null));
    this.element.addEventListener("blur", () => this.pointed(null));
    this.element.addEventListener("click", ({ target }) => this.clicked(target));
    this.element.addEventListener("keydown", (event) => this.keydown(event));
  }

  /**
   * @param {import("./pairing.js").Paired} paired
   * @param {number} sentence the chosen one
   */
  show(paired, sentence, language) {
    this.element.lang = language;
    if (paired === this.paired && sentence === this.sentence) return;
    Object.assign(this, { paired, sentence, here: null });
    this.element.tabIndex = paired.text ? 0 : -1;
    render(textOf(paired, sentence), this.element);
    this.lighting.reset();
  }

  /** Light up words; see `Lighting.show`. */
  light(ties, here = null) {
    this.here = here;
    this.lighting.show(ties, here);
  }

  /** A click or tap chooses the sentence and holds the word, for fingers, which cannot hover. */
  clicked(target) {
    const sentence = numberOf(target, "sentence");
    if (sentence !== null) this.chosen(sentence, numberOf(target, "word"));
  }

  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") this.entered();
    else if (event.key === "Escape") this.pointed(null);
    else {
      const word = this.wordAfter(event.key);
      if (word === null) return;
      event.preventDefault();
      this.chosen(this.paired.words[word].sentence, word);
      this.element.querySelector(`[data-word="${word}"]`).scrollIntoView({ block: "nearest" });
    }
  }

  /** The word that an arrow key leads to, or null if the key is another. */
  wordAfter(key) {
    const count = this.paired.words.length;
    const forwards = getComputedStyle(this.element).direction === "rtl" ? -1 : 1;
    const by = { ArrowRight: forwards, ArrowLeft: -forwards, ArrowDown: 1, ArrowUp: -1 }[key];
    if (!count) return null;
    if (key === "Home") return 0;
    if (key === "End") return count - 1;
    if (by === undefined) return null;
    return this.here === null ? 0 : Math.min(count - 1, Math.max(0, this.here + by));
  }
}

function numberOf(target, name) {
  const found = target.closest(`[data-${name}]`);
  return found ? Number(found.dataset[name]) : null;
}

function textOf(paired, chosen) {
  const several = paired.sentences.length > 1;
  const parts = [];
  let at = 0;
  paired.sentences.forEach((each, number) => {
    parts.push(paired.text.slice(at, each.start));
    const kind = ["sentence", several && number === chosen && "chosen", each.warnings.length && "doubtful"];
    parts.push(
      html`<span class=${kind.filter(Boolean).join(" ")} data-sentence=${number}>${wordsIn(paired, each)}</span>${each.warnings.length ? warning(each.warnings) : nothing}`,
    );
    at = each.start + each.text.length;
  });
  parts.push(paired.text.slice(at));
  return parts;
}

function wordsIn(paired, sentence) {
  const parts = [];
  let at = sentence.start;
  for (let number = sentence.firstWord; number < sentence.endWord; number++) {
    const { start, end } = paired.words[number];
    parts.push(paired.text.slice(at, start), html`<span class="word" data-word=${number}>${paired.text.slice(start, end)}</span>`);
    at = end;
  }
  parts.push(paired.text.slice(at, sentence.start + sentence.text.length));
  return parts;
}

const warning = (warnings) => html`<span class="warning" role="note" dir="ltr" lang="en">${warnings.join("; ")}</span>`;
