// Lights up words in a text without drawing it again: a long text has thousands of them.

export class Lighting {
  /** @param {HTMLElement} container words are its elements with `data-word`, numbered in order */
  constructor(container) {
    this.container = container;
    this.words = null; // read when first needed
    this.on = [];
  }

  /** Call after the container was drawn again. */
  reset() {
    this.clear();
    this.words = null;
  }

  /**
   * @param {{at: number, weight: number}[]} ties words to tint by weight, 0 to 1
   * @param {number | null} here the word that is pointed at
   */
  show(ties, here = null) {
    this.clear();
    for (const { at, weight } of ties) {
      const word = this.word(at);
      word?.classList.add("tied");
      word?.style.setProperty("--tie", `${Math.round(100 * Math.min(1, weight))}%`);
    }
    if (here !== null) this.word(here)?.classList.add("here");
  }

  clear() {
    for (const word of this.on) {
      word.classList.remove("tied", "here");
      word.style.removeProperty("--tie");
    }
    this.on = [];
  }

  word(at) {
    this.words ??= this.container.querySelectorAll("[data-word]");
    const word = this.words[at];
    if (word) this.on.push(word);
    return word;
  }
}
