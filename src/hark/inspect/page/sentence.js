// The first view: the sentence and its translation, or input and output. Point at a word to see where it came from.

import { el, percent, quoted, roving } from "./dom.js";
import { CanvasPen } from "./pen.js";
import { Router } from "./route.js";

const SHOWN = 0.08; // minimum share to draw a line for

export class SentenceView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.links = el("canvas", { class: "links", "aria-hidden": true });
    this.source = this.makeText("source");
    this.written = this.makeText("written");
    this.pair = el("div", { class: "pair" }, this.source.element, this.written.element, this.links);
    this.links.paint = (pen, x, y) => this.paintLinks(pen, x, y);
    this.panel = el("div", { class: "panel", "aria-live": "polite" });
    this.element = el("div", { class: "view sentence" }, this.pair, this.panel);
    this.pointed = null;
    this.pair.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.drawLinks()).observe(this.pair);
  }

  makeText(side) {
    const spelling = this.look.head[side];
    const [source, target] = this.look.head.languages ?? [];
    const element = el("p", { class: `text ${side}`, dir: "auto", lang: side === "source" ? source : target });
    element.style.setProperty("--size", `${sizeOf(this.look.head)}px`);
    const words = [];
    spelling.words.forEach((text, at) => {
      if (spelling.marks[spelling.wordOf.indexOf(at)]) return;
      const kind = spelling.spaced[at] ? "word" : "word glued";
      const button = el("button", { type: "button", class: kind, tabindex: words.length ? -1 : 0 }, text);
      button.addEventListener("pointerenter", () => this.point({ side, at }));
      button.addEventListener("click", () => this.store.set({ chosenWord: { side, at } }));
      button.addEventListener("focus", () => this.store.set({ chosenWord: { side, at } }));
      if (words.length && spelling.spaced[at]) element.append(" ");
      element.append(button);
      words.push({ at, button });
    });
    roving(element, () => words.map(({ button }) => button));
    return { element, words, spelling };
  }

  get mode() {
    return this.look.head.effects ? this.store.mode : "looked";
  }

  async render() {
    if (!this.written.words.length || !this.source.words.length) {
      this.panel.replaceChildren(el("p", { class: "soft" }, "There are no words to connect: one of the two texts is empty."));
      return;
    }
    this.shares ??= await sharesOf(this.look); // which never change
    if (this.store.chosenWord === null) this.store.chosenWord = this.initialWord();
    this.show();
  }

  point(pointed) {
    if (pointed?.side === this.pointed?.side && pointed?.at === this.pointed?.at) return;
    this.pointed = pointed;
    if (this.shares) this.show();
  }

  get chosen() {
    return this.pointed ?? this.store.chosenWord;
  }

  /** How strongly a word is tied to each word of the other side. */
  ties(chosen, mode = this.mode) {
    const table = this.shares[mode];
    if (chosen.side === "written") return this.look.head.source.words.map((_, s) => table(chosen.at, s));
    return this.look.head.written.words.map((_, t) => table(t, chosen.at));
  }

  /** The initial choice: a word that came from one source word and moved far, to show that word order changes. */
  initialWord() {
    const { words } = this.written;
    const count = this.source.words.length;
    let best = { moved: -1, at: words[0]?.at ?? 0 };
    words.forEach(({ at, button }, place) => {
      if (!/\p{L}{4}/u.test(button.textContent)) return;
      const ties = this.ties({ side: "written", at });
      const strongest = this.source.words.reduce((one, other) => (ties[other.at] > ties[one.at] ? other : one));
      const from = this.source.words.indexOf(strongest);
      const alone = ties[strongest.at] ** 2 / Math.max(1e-9, this.source.words.reduce((sum, { at: s }) => sum + ties[s], 0));
      const moved = alone * Math.abs(from / count - place / words.length);
      if (moved > best.moved) best = { moved, at };
    });
    return { side: "written", at: best.at };
  }

  show() {
    const { chosen } = this;
    const ties = this.ties(chosen);
    for (const side of ["source", "written"]) {
      for (const { at, button } of this[side].words) {
        const here = chosen.side === side && chosen.at === at;
        const tie = chosen.side === side ? 0 : ties[at];
        button.classList.toggle("here", here);
        button.setAttribute("aria-pressed", here);
        button.style.setProperty("--tie", `${Math.round(100 * Math.min(1, tie))}%`);
        button.classList.toggle("tied", tie >= SHOWN);
      }
    }
    this.drawLinks();
    this.panel.replaceChildren(...this.explain(chosen, ties));
  }

  drawLinks() {
    const { theme } = this.shell;
    if (!this.shares || !this.links.clientWidth) return;
    const scale = window.devicePixelRatio || 1;
    this.links.width = Math.ceil(this.links.clientWidth * scale);
    this.links.height = Math.ceil(this.links.clientHeight * scale);
    const context = this.links.getContext("2d");
    context.scale(scale, scale);
    this.paintLinks(new CanvasPen(context, theme), 0, 0);
  }

  paintLinks(pen, x, y) {
    const { chosen } = this;
    const frame = this.links.getBoundingClientRect();
    const boxes = (side) =>
      this[side].words.map(({ at, button }) => {
        const { left, right, top, bottom } = button.getBoundingClientRect();
        const [dx, dy] = [x - frame.left, y - frame.top];
        return { at, left: left + dx, right: right + dx, top: top + dy, bottom: bottom + dy };
      });
    const [upper, lower] = [boxes("source"), boxes("written")];
    const [own, others] = chosen.side === "source" ? [upper, lower] : [lower, upper];
    const here = own.find(({ at }) => at === chosen.at);
    if (!here) return;
    const router = new Router(upper, lower, here);
    const ties = this.ties(chosen);
    for (const other of others) {
      const tie = ties[other.at];
      if (tie < SHOWN) continue;
      const points = chosen.side === "source" ? router.path(here, other) : router.path(other, here);
      pen.path(points, { stroke: pen.theme.accent, width: 1 + 3 * Math.min(1, tie), alpha: 0.25 + 0.65 * Math.min(1, tie) });
    }
  }

  explain(chosen, ties) {
    const { head } = this.look;
    const { side, at } = chosen;
    const text = head[side].words[at];
    const other = side === "written" ? "source" : "written";
    const rows = head[other].words
      .map((word, where) => ({ word, where, tie: ties[where], mark: head[other].marks[head[other].wordOf.indexOf(where)] }))
      .filter(({ mark, tie }) => !mark && tie >= 0.05)
      .sort((one, two) => two.tie - one.tie)
      .slice(0, 5);
    const looked = this.ties(chosen, "looked");
    const needed = head.effects ? this.ties(chosen, "needed") : null;
    const bar = (share) => {
      const fill = el("i");
      fill.style.width = `${100 * Math.min(1, share)}%`;
      return el("td", {}, el("span", { class: "bar" }, fill), el("span", { class: "figure" }, percent(share)));
    };
    const title = side === "written" ? `${quoted(text)} came from` : `${quoted(text)} went into`;
    const table = el(
      "table",
      { class: "ties" },
      el("thead", {}, el("tr", {}, el("th", {}, title), needed && el("th", {}, "needed"), el("th", {}, "looked at"))),
      el(
        "tbody",
        {},
        rows.map(({ word, where }) =>
          el("tr", {}, el("th", { scope: "row", dir: "auto" }, word), needed && bar(needed[where]), bar(looked[where])),
        ),
      ),
    );
    const about = `Needed: how much of its probability is lost when the ${this.look.nouns.source} word is hidden. Looked at: its share of the attention.`;
    const key = needed && el("p", { class: "soft key" }, about);
    return [el("div", { class: "account" }, rows.length ? [el("div", { class: "wide" }, table), key] : this.nothing(title, side)), this.lesson(chosen, rows)];
  }

  nothing(title, side) {
    const { mode } = this;
    const { source, written } = this.look.nouns;
    const why =
      mode === "looked"
        ? "Its attention is spread over many words."
        : side === "written"
          ? `It needed no single word of the ${source}: whichever one is hidden, the model still expects this word here.`
          : `No word of the ${written} needed it: with this word hidden, the model still expects every word that is there.`;
    return el("div", {}, el("h3", {}, title), el("p", { class: "soft" }, why));
  }

  /** A reminder that attention is not explanation, with the measured effect. */
  lesson(chosen, rows) {
    const { effects, source, written } = this.look.head;
    const description = "Attention shows where the model looked. It is not an explanation of what it wrote.";
    const parts = [el("p", {}, description)];
    const hidden = chosen.side === "source" ? chosen.at : rows[0]?.where;
    const effect = effects && effects.words.find(({ word }) => word === hidden);
    if (effect) {
      const at = chosen.side === "written" ? chosen.at : rows[0]?.where;
      const sentence = [`Measured: with ${quoted(source.words[hidden])} hidden`];
      if (at !== undefined) {
        const [before, after] = [effects.logProbs, effect.logProbs].map((each) => Math.exp(byWord(each, written)[at]));
        sentence.push(`, the probability of ${quoted(written.words[at])} changes from ${percent(before)} to ${percent(after)}`);
      }
      if (effect.text) {
        const same = effect.text === this.look.head.shown;
        sentence.push(same ? `; the ${this.look.nouns.written} stays the same.` : ", and the model writes: ");
        parts.push(el("p", {}, sentence.join(""), same ? null : el("q", { dir: "auto" }, quoted(effect.text))));
      } else {
        parts.push(el("p", {}, `${sentence.join("")}.`));
      }
    }
    return el("aside", { class: "lesson" }, parts);
  }
}

/** The font size: larger for short sentences, and small enough to keep each text on one line where possible. */
function sizeOf({ sentence, shown }) {
  const length = Math.max(sentence.length, shown.length);
  return length <= 76 ? 27 : length <= 94 ? 23 : length <= 400 ? 21 : 17;
}

/** The sums over the tokens of each word. */
function byWord(logProbs, { words, wordOf }) {
  const sums = new Array(words.length).fill(0);
  wordOf.forEach((word, at) => (sums[word] += logProbs[at]));
  return sums;
}

/** For each pair of words: the share of attention, and the share of probability lost when the source word is hidden. */
async function sharesOf(look) {
  const { effects, source, written } = look.head;
  const attention = await look.alignment();
  const width = source.words.length;
  const lost = new Map();
  const before = effects && byWord(effects.logProbs, written);
  for (const { word, logProbs } of effects?.words ?? []) {
    const after = byWord(logProbs, written);
    lost.set(word, after.map((each, at) => Math.max(0, 1 - Math.exp(each - before[at]))));
  }
  return {
    looked: (t, s) => attention[t * width + s],
    needed: (t, s) => lost.get(s)?.[t] ?? 0,
  };
}
