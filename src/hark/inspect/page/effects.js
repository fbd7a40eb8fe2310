// Measured effects: how what is written, or a text's tokens, change when a word is hidden or a head removed.

import { el, figure, percent, quoted, roving } from "./dom.js";

export class EffectsView {
  /** `measure` maps a change to its effect if the page is served; a page in a file has none. */
  constructor(look, store, shell, measure = null) {
    Object.assign(this, { look, store, shell, measure });
    this.element = el("div", { class: "view effects" });
  }

  get effects() {
    return this.look.head.effects;
  }

  async render() {
    if (!this.effects) {
      const unmasked = this.look.kinds.join() === "encoder" && !this.look.masks.length;
      const why = unmasked ? "the text has no mask, whose filler could change" : "it was made with --quick or --changes 0";
      this.element.replaceChildren(el("p", { class: "soft" }, `Nothing was measured for this page: ${why}.`));
      return;
    }
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.value : null;
    const { change } = this.store;
    const effect = await this.find(change);
    this.element.replaceChildren(el("div", { class: "left" }, this.words(effect), this.outcome(effect)), this.heads(effect));
    if (focused) this.element.querySelector(`[data-value="${focused}"]`)?.focus();
  }

  key(effect) {
    return effect.word !== undefined ? `word ${effect.word}` : `${effect.kind} ${effect.layer}:${effect.head}`;
  }

  async find(change) {
    const { words, heads } = this.effects;
    const all = [...words, ...heads];
    const known = all.find((effect) => this.key(effect) === change);
    if (known?.text || !change || !this.measure) return known ?? words[0] ?? heads[0];
    return this.measure(change);
  }

  loss(effect) {
    const sum = (each) => each.reduce((one, other) => one + other, 0);
    return sum(this.effects.logProbs) - sum(effect.logProbs);
  }

  words(chosen) {
    const { source, alone } = this.look;
    const text = el("p", { class: "text", dir: "auto" });
    const largest = Math.max(1e-6, ...this.effects.words.map((effect) => this.loss(effect)));
    const buttons = [];
    source.words.forEach((word, at) => {
      if (source.marks[source.wordOf.indexOf(at)]) return;
      if (at && source.spaced[at]) text.append(" ");
      const effect = this.effects.words.find((each) => each.word === at);
      if (!effect) {
        text.append(el("span", { class: "word", title: "not measured" }, word));
        return;
      }
      const on = effect === chosen;
      const state = { "aria-pressed": on, "data-value": this.key(effect), tabindex: on || !buttons.length ? 0 : -1 };
      const button = el("button", { type: "button", class: on ? "word tied here" : "word tied", ...state }, word);
      button.style.setProperty("--tie", `${Math.round((85 * Math.max(0, this.loss(effect))) / largest)}%`);
      button.addEventListener("click", () => this.store.set({ change: this.key(effect) }));
      buttons.push(button);
      text.append(button);
    });
    roving(text, () => buttons);
    const description = alone
      ? "Stronger colour means that what is expected elsewhere depends more on the word."
      : `Stronger colour means that the ${this.measuredText} depends more on the word.`;
    return el("section", {}, el("h3", {}, "Hide a word"), el("p", { class: "soft" }, description), text);
  }

  /** What the measured log-probabilities are of. */
  get measuredText() {
    if (!this.look.alone) return this.look.nouns.written;
    return this.look.masks.length ? "likeliest fillers" : "text";
  }

  nameOf(kind) {
    return this.look.alone ? "Head" : this.look.wordsOf(kind).name;
  }

  heads(chosen) {
    const { heads, headsInAll } = this.effects;
    const largest = Math.max(1e-6, ...heads.map((effect) => Math.abs(this.loss(effect))));
    const buttons = heads.map((effect) => {
      const loss = this.loss(effect);
      const fill = el("i", { class: loss < 0 ? "below" : "above" });
      fill.style.width = `${(100 * Math.abs(loss)) / largest}%`;
      const on = effect === chosen;
      const button = el(
        "button",
        { type: "button", class: "headline", "aria-pressed": on, "data-value": this.key(effect), tabindex: on ? 0 : -1 },
        el("span", { class: "name" }, `${this.nameOf(effect.kind)} ${effect.layer + 1}:${effect.head + 1}`),
        el("span", { class: "bar" }, fill),
        el("span", { class: "figure" }, figure(-loss, 2).replace("−0.00", "0.00").replace(/^(?=[1-9]|0\.0*[1-9])/, "+")),
      );
      button.addEventListener("click", () => this.store.set({ change: this.key(effect) }));
      return button;
    });
    if (buttons.length && !buttons.some((button) => button.tabIndex === 0)) buttons[0].tabIndex = 0;
    const list = el("div", { class: "headlines", role: "group", "aria-label": "Heads" }, buttons);
    roving(list, () => buttons);
    list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const to = buttons[buttons.indexOf(document.activeElement) + by];
      if (!by || !to) return;
      event.preventDefault();
      to.focus();
    });
    const description = [
      `Change in the log-probability of the ${this.measuredText} when the head is removed.`,
      `Measured for the ${heads.length} of ${headsInAll} heads with the largest gradients.`,
      "Names are layer:head, counted from 1.",
    ].join(" ");
    return el("section", {}, el("h3", {}, "Remove a head"), el("p", { class: "soft" }, description), list);
  }

  outcome(effect) {
    const { head, source, written, alone, nouns } = this.look;
    const what =
      effect.word !== undefined
        ? `${quoted(source.words[effect.word])} hidden`
        : `head ${effect.layer + 1}:${effect.head + 1}${alone ? "" : ` (${this.nameOf(effect.kind)})`} removed`;
    const before = el("p", { class: "text small", dir: "auto" });
    written.words.forEach((word, at) => {
      if (written.marks[written.wordOf.indexOf(at)]) return;
      if (at && written.spaced[at]) before.append(" ");
      const sum = (each) => written.wordOf.reduce((total, which, token) => (which === at ? total + each[token] : total), 0);
      const [was, is] = [Math.exp(sum(this.effects.logProbs)), Math.exp(sum(effect.logProbs))];
      const span = el("span", { class: "word tied lost", title: `${percent(was)} → ${percent(is)}` }, word);
      span.style.setProperty("--tie", `${Math.round(100 * Math.max(0, 1 - is / was))}%`);
      before.append(span);
    });
    const lost = "Words that become less likely are highlighted.";
    if (!head.beam) {
      const own = " Each word still sees itself, so what follows right after a hidden word knows it.";
      const masked = alone && this.look.masks.length;
      const note = masked ? "Masks whose likeliest filler becomes less likely are highlighted." : lost + (alone ? own : "");
      const title = el("h3", {}, `With ${what}`);
      return el("section", { class: "outcome", "aria-live": "polite" }, title, before, el("p", { class: "soft" }, note));
    }
    const after = effect.text
      ? el("p", { class: "text small", dir: "auto" }, marked(head.shown, effect.text))
      : el("p", { class: "soft" }, `Not written again; raise hark look --changes for more ${nouns.written}s.`);
    const score = (value) => (value === null || value === undefined ? "" : `score ${figure(value, 2)}`);
    const half = (title, value, text, note) => {
      const over = el("p", { class: "over" }, title, el("span", { class: "figure" }, score(value)));
      return el("div", {}, over, text, note && el("p", { class: "soft" }, note));
    };
    return el(
      "section",
      { class: "outcome", "aria-live": "polite" },
      el("h3", {}, `With ${what}`),
      el(
        "div",
        { class: "two" },
        half("before", head.score, before, lost),
        half("after", effect.score, after, effect.text === head.shown && `The same ${nouns.written}.`),
      ),
    );
  }
}

/** The new text, with words marked that are not in a longest common subsequence with the old one. */
function marked(before, after) {
  const [one, other] = [before.split(" "), after.split(" ")];
  const length = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      length[i][j] = one[i] === other[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const parts = [];
  let i = 0;
  other.forEach((word, j) => {
    while (i < one.length && one[i] !== word && length[i + 1][j] >= length[i][j + 1]) i++;
    const kept = i < one.length && one[i] === word;
    if (kept) i++;
    parts.push(j ? " " : "", kept ? word : el("mark", {}, word));
  });
  return parts;
}
