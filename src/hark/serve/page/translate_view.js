// The first view: type on the left, read on the right, as you type.

import { html, nothing, render } from "./vendor/lit-html.js";
import { post } from "./api.js";
import { copyButton } from "./copying.js";
import { ACCEPTED } from "./files.js";
import * as history from "./history.js";
import { clearIcon, fileIcon } from "./icons.js";
import { languageBar } from "./language_bar.js";
import { Latest } from "./latest.js";
import { failureNote } from "./notes.js";
import { outputText, wordAfter } from "./output_text.js";
import { sentencePanel } from "./sentence_panel.js";
import { SourceField } from "./source_field.js";
import { Translating } from "./translating.js";

const PAUSE = 220; // milliseconds without typing before a request
const LONG_PAUSE = 600; // for long texts, of which every request is work
const LONG = 1500; // characters
const NBEST = 4;
const GLANCE = 1000; // characters that are enough to detect a language
const SURE = 0.6; // detection below this is left to the server, which tries both models

const EMPTY = { text: "", sentences: [], sourceWords: [], words: [], source: null, model: "" };
const NONE = { lit: new Map(), here: null };

export class TranslateView {
  /** @param {import("./choice.js").Choice} choice the languages, shared with the document view */
  constructor(element, choice, { openFile, openLook }) {
    Object.assign(this, { element, choice, openFile, openLook });
    this.translating = new Translating();
    this.latest = new Latest();
    this.result = EMPTY;
    this.failure = null;
    this.busy = false;
    this.sentence = 0;
    this.shown = NONE;
    this.said = "";
    this.shownTarget = null; // of the result
    this.fieldBox = document.createElement("div");
    this.field = new SourceField(this.fieldBox, {
      label: "Text to translate",
      placeholder: "Type or paste text, or drop a file",
      typed: () => this.typed(),
      pointed: (word) => this.pointAtSource(word),
    });
    this.field.area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.translateNow();
    });
    this.draw();
  }

  /** The languages may have changed in the other view. */
  show() {
    this.draw();
    if (this.field.text.trim() && this.choice.target !== this.shownTarget) this.languagesChanged();
  }

  // What the user does.

  typed() {
    this.shown = NONE;
    this.said = "";
    if (!this.field.text.trim()) {
      this.latest.cancel();
      Object.assign(this, { result: EMPTY, failure: null, busy: false });
      this.choice.detected = null;
      this.draw();
      return;
    }
    this.busy = true;
    this.draw();
    this.latest.later(this.field.text.length > LONG ? LONG_PAUSE : PAUSE, (signal) => this.translate(signal));
  }

  translateNow() {
    if (!this.field.text.trim()) return;
    this.busy = true;
    this.draw();
    this.latest.now((signal) => this.translate(signal));
  }

  /** Show another text, from the history. */
  open(text) {
    this.field.text = text;
    this.typed();
    this.translateNow();
  }

  clear() {
    this.field.text = "";
    this.typed();
    this.field.focus();
  }

  /** Exchange the languages; the translation becomes the text. */
  swap() {
    const { text } = this.result;
    if (!this.choice.swap()) return;
    if (text && !this.busy) this.field.text = text;
    this.languagesChanged();
  }

  languagesChanged() {
    this.result = { ...EMPTY };
    this.field.mark([]);
    this.shown = NONE;
    this.draw();
    this.translateNow();
  }

  copy() {
    this.element.querySelector(".output .copy")?.click();
  }

  look() {
    const sentence = this.result.sentences[this.sentence];
    if (!sentence) return;
    this.openLook({ text: sentence.source, source: this.result.source, target: this.choice.target }, sentence.text);
  }

  // The work.

  async translate(signal) {
    const text = this.field.text.toWellFormed(); // the server refuses half a surrogate pair
    try {
      const source = this.choice.source ?? (await this.detect(text, signal));
      const { target } = this.choice;
      const result = await this.translating.translate({ text, source, target, nbest: NBEST }, signal);
      if (signal.aborted) return;
      this.accept(text, result, target);
    } catch (error) {
      if (signal.aborted) return;
      Object.assign(this, { failure: error, busy: false });
    }
    this.draw();
  }

  /** The language of a text, or null if that is hard to tell. A text in the target language turns the direction round. */
  async detect(text, signal) {
    const { detections } = await post("api/v1/detect", { text: text.slice(0, GLANCE) }, signal);
    const [best] = detections[0];
    if (!best || best.confidence < SURE) return null;
    this.choice.found(best.language);
    return best.language;
  }

  accept(text, result, target) {
    Object.assign(this, { result, failure: null, busy: false, shown: NONE, shownTarget: target });
    if (this.choice.source === null && result.source) this.choice.found(result.source);
    const doubtful = result.sentences.findIndex(({ warnings }) => warnings.length);
    this.sentence = Math.max(0, doubtful);
    this.field.mark(result.sourceWords);
    this.said = "Translated.";
    history.add({ text, translation: result.text, source: result.source, target });
  }

  // Words that light up.

  pointAtSource(word) {
    if (word === null) return this.light(NONE);
    const { ties, sentence } = this.result.sourceWords[word];
    this.field.light(new Map(), word);
    this.light({ lit: weightsOf(ties), here: null }, false);
    this.choose(sentence);
  }

  pointAtOutput(word, spoken = false) {
    if (word === null) return this.light(NONE);
    const { ties, start, end } = this.result.words[word];
    this.field.light(weightsOf(ties));
    if (spoken) {
      const sources = ties.map(({ at }) => this.result.sourceWords[at]).map((each) => this.field.text.slice(each.start, each.end));
      this.said = `${this.result.text.slice(start, end)}: ${sources.join(", ") || "no source word"}`;
    }
    this.light({ lit: new Map(), here: word }, false);
  }

  light(shown, both = true) {
    this.shown = shown;
    if (both) this.field.light(new Map());
    this.draw();
  }

  choose(sentence) {
    if (this.sentence === sentence) return;
    this.sentence = sentence;
    this.draw();
  }

  outputKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") return this.look();
    if (event.key === "Escape") return this.pointAtOutput(null);
    const rightToLeft = getComputedStyle(event.currentTarget).direction === "rtl";
    const word = wordAfter(event.key, this.shown.here, this.result.words.length, rightToLeft);
    if (word === null) return;
    event.preventDefault();
    this.choose(this.result.words[word].sentence);
    this.pointAtOutput(word, true);
    event.currentTarget.querySelector(`[data-word="${word}"]`)?.scrollIntoView({ block: "nearest" });
  }

  // Drawing.

  draw() {
    const { choice, result, field } = this;
    const characters = field.text.length;
    const pane = html`
      ${languageBar(choice, { changed: () => this.languagesChanged(), swap: () => this.swap() })}
      <div class="panes">
        <section class="pane source" aria-label="Source">
          ${this.fieldBox}
          <div class="under">
            <label class="button file">
              ${fileIcon} Open a file
              <input type="file" accept=${ACCEPTED} @change=${(event) => this.fileChosen(event)} />
            </label>
            <span class="count" ?hidden=${!characters}>${characters.toLocaleString("en")} characters</span>
            <button type="button" class="button only-icon" aria-label="Clear" title="Clear" ?hidden=${!characters} @click=${() => this.clear()}>
              ${clearIcon}
            </button>
          </div>
        </section>
        <section class="pane output ${this.busy ? "busy" : ""}" aria-label="Translation" aria-busy=${this.busy}>
          ${this.failure ? failureNote(this.failure, () => this.translateNow()) : nothing}
          <div
            class="prose result ${this.failure ? "old" : ""}"
            tabindex=${result.text ? 0 : -1}
            role="textbox"
            aria-readonly="true"
            aria-multiline="true"
            aria-label="Translation. Arrow keys move from word to word."
            dir="auto"
            lang=${choice.target}
            @pointerover=${(event) => this.pointed(event)}
            @pointerleave=${() => this.pointAtOutput(null)}
            @click=${(event) => this.clicked(event)}
            @keydown=${(event) => this.outputKey(event)}
            @blur=${() => this.pointAtOutput(null)}
            >${outputText(result, { ...this.shown, sentence: this.sentence })}</div
          >
          <div class="under">
            <span class="count">${result.text && !this.busy ? modelLine(result) : nothing}</span>
            ${copyButton(() => result.text, "Copy the translation", !result.text)}
          </div>
        </section>
      </div>
      <p class="unseen" role="status" aria-live="polite">${this.said}</p>
      ${result.sentences.length
        ? sentencePanel(result, this.sentence, { look: () => this.look(), choose: (at) => this.choose(at) })
        : nothing}
    `;
    render(pane, this.element);
  }

  pointed({ target }) {
    const word = target.closest("[data-word]");
    this.pointAtOutput(word ? Number(word.dataset.word) : null);
  }

  /** A click or tap chooses the sentence, and holds the word for fingers, which cannot hover. */
  clicked({ target }) {
    const sentence = target.closest("[data-sentence]");
    if (sentence) this.choose(Number(sentence.dataset.sentence));
    const word = target.closest("[data-word]");
    if (word) this.pointAtOutput(Number(word.dataset.word), true);
  }

  fileChosen({ target }) {
    const [file] = target.files;
    target.value = ""; // so that the same file can be chosen again
    if (file) this.openFile(file);
  }
}

const modelLine = ({ model }) => (model ? html`Model ${model}` : nothing);

const weightsOf = (ties) => new Map(ties.map(({ at, weight }) => [at, weight]));
