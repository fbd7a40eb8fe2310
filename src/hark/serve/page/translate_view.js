// The first view: type on the left, read on the right, as you type.

import { html, nothing, render } from "./vendor/lit-html.js";
import { copyButton } from "./copying.js";
import { detectLanguage } from "./detecting.js";
import { ACCEPTED } from "./files.js";
import * as history from "./history.js";
import { clearIcon, fileIcon } from "./icons.js";
import { languageBar } from "./language_bar.js";
import { Latest } from "./latest.js";
import { failureNote } from "./notes.js";
import { OutputText } from "./output_text.js";
import { sentencePanel } from "./sentence_panel.js";
import { SourceField } from "./source_field.js";
import { Translating } from "./translating.js";

const PAUSE = 220; // milliseconds without typing before a request
const LONG_PAUSE = 600; // for long texts, of which every request is work
const LONG = 1500; // characters
const NBEST = 4;
const TOO_LONG = 413; // the HTTP status

const EMPTY = { text: "", sentences: [], sourceWords: [], words: [], source: null, model: "" };

export class TranslateView {
  /** @param {import("./choice.js").Choice} choice the languages, shared with the document view */
  constructor(element, choice, { openFile, openDocument, openLook }) {
    Object.assign(this, { element, choice, openFile, openDocument, openLook });
    this.translating = new Translating();
    this.latest = new Latest();
    this.result = EMPTY;
    this.failure = null;
    this.busy = false;
    this.sentence = 0;
    this.said = "";
    this.shownTarget = null; // of the result
    this.shownForm = null; // the form of address that was asked for
    this.field = new SourceField({
      label: "Text to translate",
      placeholder: "Type or paste text, or drop a file",
      typed: () => this.typed(),
      pointed: (word) => this.pointAtSource(word),
      caret: (word) => this.pointAtSource(word, true),
    });
    this.output = new OutputText({
      pointed: (word) => this.pointAtOutput(word),
      chosen: (sentence, word) => this.chooseWord(sentence, word),
      entered: () => this.look(),
    });
    this.field.area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.translateNow();
    });
    this.draw();
  }

  /** The languages may have changed in the other view. */
  show() {
    this.draw();
    const changed = this.choice.target !== this.shownTarget || this.choice.formality !== this.shownForm;
    if (this.field.text.trim() && changed) this.languagesChanged();
  }

  // What the user does.

  typed() {
    this.said = "";
    if (!this.field.text.trim()) {
      this.latest.cancel();
      Object.assign(this, { result: EMPTY, failure: null, busy: false });
      this.choice.forget();
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
      const { target, formality } = this.choice;
      const result = await this.translating.translate({ text, source, target, nbest: NBEST, formality }, signal);
      if (signal.aborted) return;
      this.accept(text, result, target, formality);
    } catch (error) {
      if (signal.aborted) return;
      Object.assign(this, { failure: error, busy: false });
    }
    this.draw();
  }

  /**
   * The language of a text, or null if the server is to see to it: it keeps a text that it cannot translate. A text in
   * the target language turns the direction round.
   */
  async detect(text, signal) {
    const found = await detectLanguage(text, signal);
    if (found && !signal.aborted) this.choice.found(found);
    return this.choice.languages.offers(found, this.choice.target) ? found : null;
  }

  accept(text, result, target, formality) {
    Object.assign(this, { result, failure: null, busy: false, shownTarget: target, shownForm: formality });
    if (this.choice.source === null && result.source) this.choice.found(result.source);
    const doubtful = result.sentences.findIndex(({ warnings }) => warnings.length);
    this.sentence = Math.max(0, doubtful);
    this.field.mark(result.sourceWords);
    this.said = "Translated.";
    history.add({ text, translation: result.text, source: result.source, target });
  }

  // Words that light up.

  pointAtSource(word, choose = false) {
    const found = word === null ? null : this.result.sourceWords[word];
    this.field.lighting.show([], word);
    this.output.light(found?.ties ?? []);
    if (choose && found) this.choose(found.sentence);
  }

  pointAtOutput(word) {
    this.output.light([], word);
    this.field.lighting.show(word === null ? [] : this.result.words[word].ties);
  }

  /** For the keyboard and for fingers: also choose the sentence, and say what lights up. */
  chooseWord(sentence, word) {
    this.choose(sentence);
    if (word === null) return;
    this.pointAtOutput(word);
    const { ties, start, end } = this.result.words[word];
    const sources = this.field.words.length ? ties.map(({ at }) => this.field.words[at]) : [];
    const texts = sources.map((each) => this.field.text.slice(each.start, each.end));
    this.said = `${this.result.text.slice(start, end)}: ${texts.join(", ") || "no source word"}`;
    this.draw();
  }

  choose(sentence) {
    if (this.sentence === sentence) return;
    this.sentence = sentence;
    this.draw();
  }

  // Drawing.

  draw() {
    const { choice, result, field } = this;
    this.output.show(result, this.sentence, choice.target);
    const characters = field.text.length;
    const pane = html`
      ${languageBar(choice, { changed: () => this.languagesChanged(), swap: () => this.swap() })}
      <div class="panes">
        <section class="pane source" aria-label="Source">
          ${this.field.element}
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
        <section class="pane output ${this.busy ? "busy" : ""} ${this.failure ? "failed" : ""}" aria-label="Translation" aria-busy=${this.busy}>
          ${this.failure ? this.problem() : nothing}
          ${this.busy && !result.text ? html`<p class="prose waiting">Translating …</p>` : nothing} ${this.output.element}
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

  /** A failure; too long a text can be translated as a document instead. */
  problem() {
    if (this.failure.status !== TOO_LONG) return failureNote(this.failure, () => this.translateNow());
    const move = html`<button type="button" class="button" @click=${() => this.openDocument(this.field.text)}>Translate as a document</button>`;
    return failureNote(this.failure, null, move);
  }

  fileChosen({ target }) {
    const [file] = target.files;
    target.value = ""; // so that the same file can be chosen again
    if (file) this.openFile(file);
  }
}

const modelLine = ({ model }) => (model ? html`Model ${model}` : nothing);
