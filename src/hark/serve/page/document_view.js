// A whole document: its paragraphs, and their translations as they come; or a file that the server translates.

import { oncePerFrame } from "./frames.js";
import { html, nothing, render } from "./vendor/lit-html.js";
import { copyButton } from "./copying.js";
import { detectLanguage } from "./detecting.js";
import { DocumentJob } from "./document_job.js";
import { FileJob } from "./file_job.js";
import { ACCEPTED, TAKES, download } from "./files.js";
import { downloadIcon, fileIcon } from "./icons.js";
import { languageBar } from "./language_bar.js";
import { failureNote } from "./notes.js";


export class DocumentView {
  /** @param {import("./choice.js").Choice} choice */
  constructor(element, choice, { openFile }) {
    Object.assign(this, { element, choice, openFile });
    this.text = "";
    this.name = ""; // of the file, if the text is from one
    /** @type {File | null} */
    this.file = null; // that the server translates
    /** @type {DocumentJob | FileJob | null} */
    this.job = null;
    this.failure = null;
    this.soon = oncePerFrame(() => this.draw());
    this.draw();
  }

  /** The languages may have changed in the other view. */
  show() {
    this.draw();
  }

  /** Take a file or its text, and start. */
  open({ name, text = "", file = null }) {
    this.job?.cancel();
    Object.assign(this, { name, text, file, job: null, failure: null });
    this.start();
  }

  async start() {
    if (!this.text.trim() && !this.file) return;
    this.job?.cancel();
    this.failure = null;
    if (this.file) {
      const { source, target, formality } = this.choice;
      this.job = new FileJob({ file: this.file, source, target, formality, changed: () => this.soon() });
      this.draw();
      await this.job.run();
      return;
    }
    try {
      if (this.choice.source === null) await this.detect();
    } catch (error) {
      this.failure = error;
      this.draw();
      return;
    }
    const { target, formality } = this.choice;
    const { languages, detected } = this.choice;
    const source = this.choice.source ?? (languages.offers(detected, target) ? detected : null);
    this.job = new DocumentJob({ text: this.text, source, target, formality, changed: () => this.soon() });
    this.draw();
    await this.job.run();
  }

  async detect() {
    const found = await detectLanguage(this.text);
    if (found) this.choice.found(found);
  }

  edit() {
    this.job?.cancel();
    Object.assign(this, { job: null, file: null });
    this.draw();
    this.element.querySelector("textarea")?.focus();
  }

  save() {
    if (this.job instanceof FileJob) {
      download(this.job.content, this.job.name);
      return;
    }
    const [, stem, ending] = /^(.*?)(\.[^.]*)?$/.exec(this.name || "translation.txt");
    const tag = this.name ? `.${this.job.target}` : "";
    download(this.job.text, `${stem}${tag}${ending ?? ".txt"}`);
  }

  draw() {
    const changed = () => (this.job ? this.start() : this.draw());
    const swap = () => {
      if (this.choice.swap()) changed();
    };
    render(
      html`
        ${languageBar(this.choice, { changed, swap })}
        ${this.failure ? failureNote(this.failure, () => this.start()) : nothing}
        ${this.job instanceof FileJob ? this.fileProgress(this.job) : this.job ? this.progress(this.job) : this.editor()}
      `,
      this.element,
    );
  }

  editor() {
    const typed = (event) => {
      Object.assign(this, { text: event.target.value, name: "" });
      this.draw();
    };
    const keydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.start();
    };
    const chosen = ({ target }) => {
      const [file] = target.files;
      target.value = "";
      if (file) this.openFile(file);
    };
    return html`
      <div class="panes whole">
        <section class="pane">
          <textarea
            class="prose small document"
            dir="auto"
            autocomplete="off"
            aria-label="Document to translate"
            placeholder="Paste a whole document, or drop a file anywhere on this page"
            .value=${this.text}
            @input=${typed}
            @keydown=${keydown}
          ></textarea>
          <div class="under">
            <label class="button file">${fileIcon} Open a file<input type="file" accept=${ACCEPTED} @change=${chosen} /></label>
            <span class="count">${TAKES}</span>
            <button type="button" class="main" ?disabled=${!this.text.trim()} @click=${() => this.start()}>Translate</button>
          </div>
        </section>
      </div>
    `;
  }

  fileProgress(job) {
    const { state } = job;
    const again = () => {
      job.run();
      this.draw();
    };
    const status = { running: "translating, its layout is kept", done: "translated", cancelled: "cancelled", failed: "not translated" }[state];
    return html`
      <div class="job">
        <div class="bar">
          ${state === "running" ? html`<progress aria-label="The file is being translated"></progress>` : nothing}
          <span class="status" role="status">${this.name}: ${status}</span>
          <span class="actions">
            ${state === "running" ? html`<button type="button" class="button cancel" @click=${() => job.cancel()}>Cancel</button>` : nothing}
            ${state === "cancelled" ? html`<button type="button" class="button" @click=${again}>Translate again</button>` : nothing}
            ${state === "running" ? nothing : html`<button type="button" class="button edit" @click=${() => this.edit()}>Close</button>`}
            <button type="button" class="button download" ?disabled=${state !== "done"} @click=${() => this.save()}>${downloadIcon} Download</button>
          </span>
        </div>
        ${job.failure ? failureNote(job.failure, again) : nothing} ${state === "done" ? this.summary(job) : nothing}
      </div>
    `;
  }

  /** What became of the segments of a file, and those to check. */
  summary(job) {
    const { segments, translated, kept, flagged, list } = job.report;
    const number = (count) => count.toLocaleString("en");
    const counts = `${number(segments)} ${segments === 1 ? "segment" : "segments"}: ${number(translated)} translated, ${number(kept)} kept, ${number(flagged)} flagged.`;
    const which = list.length < flagged ? `The first ${number(list.length)} flagged segments` : "Flagged segments";
    return html`
      <p class="summary">${counts}${flagged ? " Check the flagged ones:" : ""}</p>
      ${
        list.length
          ? html`<div class="rows" aria-label=${which}>
              ${list.map(({ source, text, warnings }) => this.row({ text: source, translation: text, sentences: [], warnings }, job))}
            </div>`
          : nothing
      }
    `;
  }

  progress(job) {
    const { finished, paragraphs, state } = job;
    const again = () => {
      job.run();
      this.draw();
    };
    return html`
      <div class="job">
        <div class="bar">
          <progress max=${paragraphs.length} value=${finished} aria-label="Paragraphs translated"></progress>
          <span class="status" role="status">${statusLine(job, this.name)}</span>
          <span class="actions">
            ${state === "running" ? html`<button type="button" class="button cancel" @click=${() => job.cancel()}>Cancel</button>` : nothing}
            ${state === "cancelled" ? html`<button type="button" class="button" @click=${again}>Continue</button>` : nothing}
            ${state === "running" ? nothing : html`<button type="button" class="button edit" @click=${() => this.edit()}>Edit the text</button>`}
            <button type="button" class="button download" ?disabled=${!finished} @click=${() => this.save()}>${downloadIcon} Download</button>
            ${copyButton(() => job.text, "Copy the whole translation", !finished)}
          </span>
        </div>
        ${job.failure ? failureNote(job.failure, again) : nothing}
        <div class="rows" aria-label="Paragraphs and their translations" aria-busy=${state === "running"}>
          ${paragraphs.map((row) => this.row(row, job))}
        </div>
      </div>
    `;
  }

  row(row, job) {
    const begun = row.sentences.filter(Boolean);
    const done = row.translation !== null;
    return html`
      <article class="row ${done ? "done" : begun.length ? "begun" : "waiting"}">
        <p class="prose small from" dir="auto">${row.text.trim()}</p>
        <div class="into">
          <p class="prose small" dir="auto" lang=${job.target}>${done ? row.translation.trim() : begun.join(" ")}</p>
          ${row.warnings.map((each) => html`<span class="warning" role="note">${each}</span>`)}
        </div>
        ${copyButton(() => row.translation ?? "", "Copy this paragraph", !done)}
      </article>
    `;
  }
}

function statusLine({ state, finished, paragraphs, waiting }, name) {
  const count = `${finished.toLocaleString("en")} of ${paragraphs.length.toLocaleString("en")} ${paragraphs.length === 1 ? "paragraph" : "paragraphs"}`;
  const of = name ? `${name}: ` : "";
  if (waiting) return `${of}${count}. The server is busy; continuing in ${waiting} s`;
  return `${of}${count}${state === "cancelled" ? ", cancelled" : state === "failed" ? ", stopped" : ""}`;
}
