// Translates a whole document, paragraph by paragraph, through the server's stream of events.

import { Failure, stream } from "./api.js";
import { Job } from "./job.js";
import { partsOf } from "./paragraphs.js";

const PARAGRAPHS = 12; // in a request
const CHARACTERS = 4000; // in a request, unless a single paragraph is longer
const CONTEXT = 50_000; // characters from which the form of address is chosen
const BUSY = [429, 503];
const LONGEST_WAIT = 30; // seconds

/**
 * @typedef {{text: string, gap: boolean, translation: string | null, sentences: string[], of: number,
 *   warnings: string[]}} Row
 */

export class DocumentJob extends Job {
  /** @param {{text: string, source: string | null, target: string, formality: string | null, changed: () => void}} options */
  constructor({ text, source, target, formality, changed }) {
    super(changed);
    Object.assign(this, { source, target, formality });
    this.context = formality === "auto" ? { context: text.slice(0, CONTEXT) } : {}; // until it has chosen a form
    /** @type {Row[]} */
    this.rows = partsOf(text).map((part) => ({
      text: part.text,
      gap: part.gap,
      translation: part.gap ? part.text : null,
      sentences: [],
      of: 0,
      warnings: [],
    }));
    this.waiting = 0; // seconds until the next attempt
  }

  get paragraphs() {
    return this.rows.filter((row) => !row.gap);
  }

  get finished() {
    return this.paragraphs.filter((row) => row.translation !== null).length;
  }

  /** The translation so far; what is missing is left out. */
  get text() {
    const last = this.rows.findLastIndex((row) => !row.gap && row.translation !== null);
    return this.rows.slice(0, last + 1).map((row) => row.translation ?? "").join("");
  }

  /** Translate what is missing. */
  async work(signal) {
    for (let batch = this.next(); batch.length; batch = this.next()) await this.translate(batch, signal);
  }

  /** The next paragraphs without a translation. */
  next() {
    const batch = [];
    let characters = 0;
    for (const row of this.rows) {
      if (row.translation !== null) continue;
      if (batch.length && (batch.length === PARAGRAPHS || characters + row.text.length > CHARACTERS)) break;
      batch.push(row);
      characters += row.text.length;
    }
    return batch;
  }

  /** The form of address to ask for. */
  get address() {
    return this.formality ? { formality: this.formality, ...this.context } : {};
  }

  async translate(batch, signal) {
    try {
      await this.read(batch, signal);
    } catch (error) {
      if (signal.aborted || !BUSY.includes(error.status)) throw error;
      await this.wait(Math.min(LONGEST_WAIT, error.retryAfter ?? 2), signal);
    }
  }

  async read(batch, signal) {
    const text = batch.map((row) => row.text);
    const values = { text, source: this.source, target: this.target, bulk: true, stream: true, ...this.address }; // typing comes first
    for (const row of batch) Object.assign(row, { sentences: [], of: 0 });
    for await (const { event, data } of stream("api/v1/translate", values, signal)) {
      if (event === "sentence") {
        const row = batch[data.index];
        row.sentences[data.sentence] = data.text;
        row.of = data.of;
      } else if (event === "text") {
        Object.assign(batch[data.index], { translation: data.text, warnings: data.warnings ?? [] });
        if (data.formality) Object.assign(this, { formality: data.formality, context: {} });
      }
      this.changed();
    }
    if (batch.some((row) => row.translation === null)) throw new Failure("The server ended the translation early.");
  }

  /** Wait out a busy server. */
  async wait(seconds, signal) {
    this.waiting = seconds;
    this.changed();
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
    this.waiting = 0;
  }
}
