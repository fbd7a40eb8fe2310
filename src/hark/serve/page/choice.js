// The chosen languages and form of address, shared by the views and remembered in this browser.

import { load, save } from "./stored.js";

export const FORMS = ["auto", "formal", "informal"];

export class Choice {
  /** @param {import("./languages.js").Languages} languages */
  constructor(languages) {
    this.languages = languages;
    const { source = null, target = null } = load("languages", {});
    /** @type {string | null} null: detect */
    this.source = languages.sources.includes(source) ? source : null;
    this.target = languages.targets.includes(target) ? target : preferred(languages);
    if (this.source && !languages.offers(this.source, this.target)) this.target = languages.targetFor(this.source, "en");
    /** @type {string | null} what was found for the current text */
    this.detected = null;
    /** @type {"auto" | "formal" | "informal"} */
    this.form = FORMS.includes(load("formality", "auto")) ? load("formality", "auto") : "auto";
    this.before = null; // the target before detection changed it
    this.insisted = false; // the user chose the target for the current text: detection leaves it
  }

  setSource(code) {
    const old = this.source ?? this.detected;
    this.source = code;
    this.detected = null;
    if (code && !this.languages.offers(code, this.target)) this.target = this.languages.targetFor(code, old, this.before, "en") ?? this.target;
    this.keep();
  }

  setTarget(code) {
    const old = this.target;
    this.target = code;
    this.before = null;
    this.insisted = this.detected !== null;
    const source = this.source ?? this.detected;
    if (source && !this.languages.offers(source, code)) {
      if (this.source) this.source = this.languages.sourceFor(code, old, "en");
    }
    this.keep();
  }

  setForm(form) {
    this.form = form;
    save("formality", form);
  }

  /** Whether the form of address can be chosen for these languages. */
  get hasForms() {
    return this.languages.offersForms(this.source ?? this.detected, this.target);
  }

  /** The form of address to ask the server for; null if it cannot be chosen. */
  get formality() {
    return this.hasForms ? this.form : null;
  }

  /** Exchange source and target; false if that is not on offer. */
  swap() {
    const source = this.source ?? this.detected ?? this.languages.sourceFor(this.target, "en");
    if (!source || !this.languages.offers(this.target, source)) return false;
    [this.source, this.target] = [this.target, source];
    this.detected = null;
    this.keep();
    return true;
  }

  /** Forget what was found for the text before. */
  forget() {
    this.detected = null;
    this.insisted = false;
  }

  /** A language was detected. If it is the target, translate into the other direction, unless the user chose it. */
  found(code) {
    this.detected = code;
    if (this.insisted) return;
    const target = this.targetFor(code);
    if (!target || target === this.target) return;
    this.before = this.target;
    this.target = target;
  }

  /** What a text in this language would be translated into. */
  targetFor(code) {
    return this.languages.offers(code, this.target) ? this.target : this.languages.targetFor(code, this.before, "en");
  }

  keep() {
    save("languages", { source: this.source, target: this.target });
  }
}

/** The first of the browser's languages that is on offer and not English, else what English is translated into. */
function preferred(languages) {
  const own = navigator.languages.map((each) => each.split("-")[0]);
  const { targets } = languages;
  return own.find((each) => each !== "en" && targets.includes(each)) ?? languages.targetFor("en") ?? targets[0];
}
