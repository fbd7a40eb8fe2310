// Translates a text by paragraphs: those already translated come from memory, the others in one request.

import { post } from "./api.js";
import { pair } from "./pairing.js";
import { partsOf } from "./paragraphs.js";

const REMEMBERED = 400; // paragraphs

export class Translating {
  constructor() {
    /** @type {Map<string, any>} */
    this.known = new Map();
  }

  /**
   * `formality`: auto, formal, informal; null if it cannot be chosen.
   * @param {{text: string, source: string | null, target: string, nbest: number, formality: string | null}} wanted
   * @returns {Promise<import("./pairing.js").Paired & {source: string, model: string}>}
   */
  async translate({ text, source, target, nbest, formality }, signal) {
    const parts = partsOf(text);
    const key = (part) => JSON.stringify([part, source, target, nbest, formality]);
    const texts = [...new Set(parts.filter(({ gap }) => !gap).map((part) => part.text))];
    const ask = async (some, how) => {
      const { translations } = await post("api/v1/translate", { text: some, source, target, nbest, align: true, ...how }, signal);
      translations.forEach((each, at) => this.remember(key(some[at]), each));
      return translations[0].formality;
    };
    const missing = texts.filter((each) => !this.known.has(key(each)));
    if (missing.length) {
      const form = await ask(missing, formality === "auto" ? { formality, context: text } : formality ? { formality } : {});
      // The text as a whole may have another form than when its other paragraphs were translated.
      const stale = texts.filter((each) => form && this.known.get(key(each)).formality !== form);
      if (stale.length) await ask(stale, { formality: form });
    }
    const found = new Map(texts.map((each) => [each, this.known.get(key(each))]));
    const first = found.values().next().value;
    return { ...pair(parts, found), source: first?.source ?? source, model: first?.model ?? "" };
  }

  /** Keep the most recent, so that a long session does not grow. */
  remember(key, translation) {
    this.known.delete(key);
    this.known.set(key, translation);
    while (this.known.size > REMEMBERED) this.known.delete(this.known.keys().next().value);
  }
}
