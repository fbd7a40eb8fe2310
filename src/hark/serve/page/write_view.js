// The view to write in: a manuscript that a model goes on with, and the likeliest tokens at any place of it.

import { html, nothing, render } from "./vendor/lit-html.js";
import { isAbort } from "./api.js";
import { Reader, writingModels } from "./continuing.js";
import { copyButton } from "./copying.js";
import { isOpen } from "./dialogs.js";
import { oncePerFrame } from "./frames.js";
import { againIcon, undoIcon } from "./icons.js";
import { isText, likelyTokens, shown } from "./likely_tokens.js";
import { Latest } from "./latest.js";
import { Manuscript } from "./manuscript.js";
import { failureNote } from "./notes.js";
import { load, save } from "./stored.js";
import { howToWrite, storedSettings } from "./write_settings.js";

const PAUSE = 350; // milliseconds that the caret stays before the text is read
const MOST_SAID = 400; // characters of what is said to screen readers
const RARE = [0.3, 0.1, 0.01, 0.001]; // probabilities below which a token is shaded more and more
const SESSION = "sessionStorage";

export class WriteView {
  constructor(element) {
    this.element = element;
    this.settings = storedSettings();
    this.manuscript = new Manuscript(load("draft", {}, SESSION));
    /** @type {Map<string, Reader> | null} by model; null: not known yet */
    this.readers = null;
    this.failure = null;
    this.writing = null; // what is being written: how many pieces, since when
    this.wrote = null; // what was written last
    this.last = null; // how the last continuation began, to do it again
    this.expected = null; // what comes next, and after which text
    this.reading = null; // what the model is reading
    this.latest = new Latest();
    this.said = "";
    this.caret = this.manuscript.text.length;
    this.field = makeField();
    [this.behind, this.area] = this.field.children;
    this.area.value = this.manuscript.text;
    this.soon = oncePerFrame(() => this.draw());
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("keydown", (event) => this.keydown(event));
    this.area.addEventListener("focus", () => this.follow());
    element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.goOn();
    });
    document.addEventListener("selectionchange", () => document.activeElement === this.area && this.follow());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.writing && !isOpen() && !element.hidden) this.stop();
    });
    addEventListener("pagehide", () => this.store());
    this.draw();
  }

  async show() {
    this.draw();
    if (!this.readers) await this.findModels();
  }

  focus() {
    this.area.focus();
  }

  /** Take the text of a file. */
  open({ text }) {
    this.stop();
    this.manuscript.keep();
    this.manuscript.set(text, []);
    this.forget();
    this.place(text.length);
    this.store();
  }

  async findModels() {
    this.failure = null;
    try {
      const models = await writingModels();
      this.readers = new Map(models.map((each) => [each.name, new Reader(each)]));
      if (!this.readers.has(this.settings.model)) this.settings.model = models[0]?.name ?? "";
    } catch (error) {
      this.failure = error;
    }
    this.draw();
  }

  copy() {
    this.element.querySelector(".under .copy").click();
  }

  get reader() {
    return this.readers?.get(this.settings.model) ?? null;
  }

  // What the user does.

  typed() {
    this.manuscript.edit(this.area.value);
    this.forget();
    this.follow();
    this.soon();
    clearTimeout(this.storing);
    this.storing = setTimeout(() => this.store(), 500);
  }

  /** What was found for the text before. */
  forget() {
    this.latest.cancel();
    Object.assign(this, { failure: null, last: null, wrote: null, reading: null });
  }

  store() {
    save("draft", this.manuscript.state, SESSION);
  }

  keydown(event) {
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (command && key === "z") this.change(event.shiftKey ? "redo" : "undo");
    else if (command && key === "y") this.change("redo");
    else if (event.altKey && key === "arrowdown") this.enterTokens();
    else if (key === "escape" && this.writing) this.stop();
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would also leave the field
  }

  change(way) {
    if (this.writing) return;
    this.manuscript[way]();
    this.forget();
    this.place(this.manuscript.text.length);
    this.store();
  }

  /** Go on at the end of the text. */
  goOn() {
    if (this.writing || !this.reader) return;
    this.manuscript.keep();
    this.write();
  }

  /** Write the last continuation once more. Another seed makes another text. */
  again() {
    if (this.writing || !this.last) return;
    const { length, token } = this.last;
    this.manuscript.keep();
    this.manuscript.cut(length);
    if (token) this.manuscript.append(token);
    this.write(token);
  }

  /** Take a token instead of the one at the caret and of all that follows. */
  choose(token, goOn) {
    if (this.writing || !isText(token)) return;
    const at = this.manuscript.tokens[this.here]?.start ?? this.manuscript.text.length;
    const text = at ? token : token.replace(/^ /, "");
    this.manuscript.keep();
    this.manuscript.cut(at);
    this.manuscript.append(text);
    this.place(this.manuscript.text.length);
    if (matchMedia("(pointer: fine)").matches) this.area.focus(); // fingers would call up the keyboard
    if (goOn) this.write(text);
    else {
      this.forget();
      this.store();
      this.find(true);
    }
  }

  stop() {
    this.writing?.controller.abort();
  }

  // The work.

  /** `token`: what was chosen just before, which belongs to the continuation. */
  async write(token = "") {
    const { manuscript, settings, reader } = this;
    const controller = new AbortController();
    const { signal } = controller;
    this.forget();
    const begin = manuscript.text.length;
    const writing = { controller, pieces: 0, first: 0, tokens: 0, seconds: 0 };
    Object.assign(this, { writing, last: { length: begin - token.length, token }, said: "Writing" });
    this.area.readOnly = true;
    this.draw();
    const heard = (piece) => {
      if (signal.aborted) return;
      writing.first ||= performance.now();
      writing.tokens = ++writing.pieces;
      writing.seconds = (performance.now() - writing.first) / 1000;
      manuscript.append(piece);
      this.soon();
    };
    const stop = settings.line ? ["\n"] : [];
    try {
      const done = await reader.write(manuscript.text.toWellFormed(), { ...settings, stop }, heard, signal);
      Object.assign(writing, done);
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) this.failure = error;
    }
    this.area.readOnly = false;
    const text = manuscript.text.slice(begin);
    if (manuscript.past.at(-1)?.text === manuscript.text) manuscript.past.pop(); // nothing to undo
    const wrote = text || !this.failure ? { ...writing, empty: !text, line: settings.line } : null;
    Object.assign(this, { writing: null, wrote, said: this.summary(text, writing) });
    this.place(manuscript.text.length);
    this.store();
    if (settings.shade && !this.failure) this.find();
  }

  summary(text, { tokens }) {
    if (this.failure) return "";
    const start = text.length > MOST_SAID ? `${text.slice(0, MOST_SAID)} …` : text;
    return text ? `Wrote ${tokens} tokens: ${start}` : "Nothing was written.";
  }

  /** Set the caret. */
  place(caret) {
    if (this.area.value !== this.manuscript.text) this.area.value = this.manuscript.text;
    this.area.setSelectionRange(caret, caret);
    this.caret = caret;
    this.draw();
  }

  /** The caret may have moved. On what a model wrote, the likeliest tokens are asked for. */
  follow() {
    const { selectionStart: caret, selectionEnd: end } = this.area;
    if (this.writing || caret === this.caret) return;
    this.caret = caret;
    this.soon();
    if (caret !== end || this.reading !== null) return;
    if (this.here < 0 && this.manuscript.isWritten(caret)) this.latest.later(PAUSE, (signal) => this.read(signal));
  }

  /** The place of the token at the caret among those that are known; -1: none, or the end of the text. */
  get here() {
    return this.manuscript.tokenAt(this.caret);
  }

  get atEnd() {
    return this.caret >= this.manuscript.text.length;
  }

  /** Find the likeliest tokens at the caret; `enter` the list then. */
  async find(enter = false) {
    if (this.writing || !this.reader) return;
    this.failure = null;
    if (this.atEnd && !this.settings.shade) await this.latest.now((signal) => this.expect(signal));
    else if (this.atEnd && enter) await this.latest.now((signal) => Promise.all([this.read(signal), this.expect(signal)]));
    else await this.latest.now((signal) => this.read(signal));
    if (enter) this.focusTokens();
  }

  async read(signal) {
    const { text } = this.manuscript;
    if (this.manuscript.tokens.at(-1)?.end === text.length) return;
    await this.ask(text, async () => {
      const tokens = await this.reader.score(text.toWellFormed(), signal);
      if (!signal.aborted) this.manuscript.learn(tokens);
    });
  }

  async expect(signal) {
    const { text } = this.manuscript;
    await this.ask(text, async () => {
      const likely = await this.reader.expect(text.toWellFormed(), signal);
      if (!signal.aborted) this.expected = { text, likely };
    });
  }

  async ask(text, work) {
    const reading = (this.reading = { text });
    this.draw();
    try {
      await work();
    } catch (error) {
      if (!isAbort(error)) this.failure = error;
    }
    if (this.reading === reading) this.reading = null;
    this.draw();
  }

  // The list of tokens.

  get list() {
    const token = this.manuscript.tokens[this.here];
    if (token) return token.likely.length ? { likely: token.likely, own: token.text, ownChance: token.chance } : null;
    const known = this.atEnd && this.expected?.text === this.manuscript.text;
    return known ? { likely: this.expected.likely, own: null, ownChance: null } : null;
  }

  enterTokens() {
    if (this.list) this.focusTokens();
    else this.find(true);
  }

  focusTokens() {
    const found = this.element.querySelector(".token.own") ?? this.element.querySelector(".token:not(:disabled)");
    found?.focus();
  }

  /** Go to another token from within the list. */
  async move(by) {
    await this.latest.now((signal) => this.read(signal));
    const { tokens, text } = this.manuscript;
    const at = (this.here < 0 ? tokens.length : this.here) + by;
    if (at < 0 || !tokens.length) return;
    this.place(tokens[at]?.start ?? text.length);
    this.enterTokens();
  }

  // Drawing.

  draw() {
    const { settings, readers, failure } = this;
    const { text } = this.manuscript;
    const following = this.writing && this.field.getBoundingClientRect().bottom < innerHeight + 60;
    if (this.area.value !== text) this.area.value = text;
    this.drawBehind();
    const changed = (values) => {
      Object.assign(settings, values);
      save("write", settings);
      if ("model" in values) Object.assign(this.manuscript, { tokens: [] });
      if ("model" in values) this.expected = null;
      if (values.shade && text) this.find();
      this.draw();
    };
    render(
      html`
        ${howToWrite(settings, readers ? [...readers.keys()] : [], changed)}
        <div class="panes writing">
          <section class="pane source" aria-label="Text" aria-busy=${this.writing !== null}>
            ${failure ? failureNote(failure, () => (readers ? this.retry() : this.findModels())) : nothing} ${this.field} ${this.under()}
          </section>
          ${this.panel()}
        </div>
        <p class="unseen" role="status" aria-live="polite">${this.said}</p>
      `,
      this.element,
    );
    if (following) this.element.querySelector(".under").scrollIntoView({ block: "nearest" });
  }

  retry() {
    if (this.last) this.write();
    else this.find();
  }

  drawBehind() {
    const { manuscript, here, settings } = this;
    const { text, tokens } = manuscript;
    const parts = manuscript.stretches().map(({ start, end, written, token }) => {
      const rare = settings.shade && token >= 0 ? rarity(tokens[token].chance) : 0;
      const kind = [written && !(settings.shade && token >= 0) && "written", rare && `rare${rare}`, token >= 0 && token === here && "here"];
      const name = kind.filter(Boolean).join(" ");
      return name ? html`<span class=${name}>${text.slice(start, end)}</span>` : text.slice(start, end);
    });
    render([...parts, "\u200b"], this.behind); // so that a last empty line has a height
  }

  under() {
    const { text, past } = this.manuscript;
    const go = this.writing ? () => this.stop() : () => this.goOn();
    const same = this.settings.temperature === 0;
    return html`
      <div class="under">
        <button type="button" class="main" ?disabled=${!this.reader} @click=${go} title=${this.writing ? "Esc" : "Ctrl Enter"}>
          ${this.writing ? "Stop" : "Continue"}
        </button>
        <button
          type="button"
          class="button again"
          ?disabled=${!this.last || same || this.writing !== null}
          title=${same ? "At temperature 0 it would be the same" : "Write the last part anew, with other choices"}
          @click=${() => this.again()}
        >
          ${againIcon} Again
        </button>
        <button type="button" class="button undo" title="Ctrl Z" ?disabled=${!past.length || this.writing !== null} @click=${() => this.change("undo")}>
          ${undoIcon} Undo
        </button>
        <span class="count">${this.measure()}</span>
        ${copyButton(() => this.manuscript.text, "Copy the text", !text)}
      </div>
    `;
  }

  /** Length and speed, and what the user should know. */
  measure() {
    const now = this.writing ?? this.wrote;
    const { text } = this.manuscript;
    if (this.writing && !now.tokens) return "the model is reading …";
    if (!now) return text ? `${text.length.toLocaleString("en")} characters` : nothing;
    const speed = now.seconds > 0 && now.tokens > 1 ? (now.tokens - 1) / now.seconds : null;
    const notes = [`${now.tokens} ${now.tokens === 1 ? "token" : "tokens"}`];
    if (speed) notes.push(`${speed < 10 ? speed.toFixed(1) : Math.round(speed)} tokens/s`);
    if (now.ended && now.empty && now.line) notes.push("the model would end the line here");
    else if (now.ended && !now.line) notes.push("the model ended the text here");
    if (now.unread) notes.push(`without the first ${now.unread.toLocaleString("en")} characters, which are too many for the model`);
    return notes.join(" · ");
  }

  panel() {
    const { list, reader, atEnd, reading, writing } = this;
    const token = this.manuscript.tokens[this.here];
    const title = atEnd ? "What comes next" : token ? html`Instead of <b>${shown(token.text)}</b>` : "Likely tokens";
    const options = { choose: (text, goOn) => this.choose(text, goOn), move: (by) => this.move(by), leave: () => this.area.focus() };
    const hint = list ? "Choose one, and the text goes on from it; with Shift, only it is taken." : this.advice(token);
    const busy = reading !== null && !list;
    return html`
      <section class="pane likely" aria-label="Likely tokens" aria-busy=${busy}>
        <div class="beside">
          <header>
            <h2>${title}</h2>
            ${list || busy || writing || !reader
              ? nothing
              : html`<button type="button" class="button" title="Alt ↓" @click=${() => this.find(true)}>Show</button>`}
          </header>
          ${busy ? html`<p class="soft">The model is reading …</p>` : list ? likelyTokens({ ...list, ...options }) : nothing}
          ${busy || writing ? nothing : html`<p class="hint">${hint}</p>`}
        </div>
      </section>
    `;
  }

  advice(token) {
    if (token) return "The model expects nothing before its first token.";
    if (this.atEnd) return "See which tokens the model finds likely before it writes.";
    return "Put the caret on a token, and see what the model finds likely in its place.";
  }
}

const rarity = (chance) => (chance === null ? 0 : RARE.filter((each) => chance < each).length);

function makeField() {
  const field = Object.assign(document.createElement("div"), { className: "field" });
  const behind = Object.assign(document.createElement("div"), { className: "behind prose", dir: "auto", ariaHidden: "true" });
  const area = Object.assign(document.createElement("textarea"), {
    className: "prose",
    dir: "auto",
    rows: 1,
    ariaLabel: "Your text",
    placeholder: "Write a beginning, and let the model go on",
    autocomplete: "off",
  });
  field.append(behind, area);
  return field;
}
