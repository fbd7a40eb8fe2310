// A text that is given, and what the model expects at each place of it: the one that a model of one stack reads, or the
// output of another.

import { el, percent, quoted, roving } from "./dom.js";

const NEEDED = 0.05; // minimum share of the probability that is lost without a word, to list the word
const SHOWN = 6; // words before a place that its title repeats

export class PredictView {
  constructor(look, store, shell) {
    Object.assign(this, { look, store, shell });
    this.causal = look.kinds.includes("decoder");
    this.places = [];
    this.panel = el("div", { class: "panel", "aria-live": "polite" });
    this.element = el("div", { class: "view predict" }, this.makeText(), this.panel);
    this.pointed = null;
  }

  /** The text, with a button for each place of which something is expected. */
  makeText() {
    const { expected, given } = this.look.head;
    const text = this.look.written;
    const element = el("p", { class: "text small", dir: "auto" });
    const starts = new Set(text.words.map((_, word) => text.wordOf.indexOf(word)));
    const button = (at, label, words) => {
      const made = el("button", { type: "button", class: words, tabindex: this.places.length ? -1 : 0, "data-value": at }, label);
      made.style.setProperty("--tie", `${Math.round(100 * (expected[at].p ?? 0))}%`);
      made.addEventListener("pointerenter", () => this.point(at));
      made.addEventListener("click", () => this.store.set({ place: at }));
      made.addEventListener("focus", () => this.store.set({ place: at }));
      this.places.push({ at, button: made });
      return made;
    };
    let together = el("span", { class: "together" }); // what stands without a space between
    element.append(together);
    text.tokens.forEach((token, at) => {
      const mark = text.marks[at];
      if (at && starts.has(at) && text.spaced[text.wordOf[at]]) {
        together = el("span", { class: "together" });
        element.append(" ", together);
      }
      const label = mark ? `⟨${mark}⟩` : token;
      const classes = ["word", expected[at] && "tied", mark && "mark", at >= given && "own", expected[at]?.p === null && "mask"];
      const words = classes.filter(Boolean).join(" ");
      together.append(expected[at] ? button(at, label, words) : el("span", { class: words }, label));
      if (token.endsWith("↵")) {
        together = el("span", { class: "together" });
        element.append(el("br"), together);
      }
    });
    const next = text.tokens.length;
    if (expected[next]) element.append(" ", button(next, "…", "word next"));
    element.addEventListener("pointerleave", () => this.point(null));
    roving(element, () => this.places.map(({ button: each }) => each));
    return element;
  }

  async render() {
    this.store.place ??= this.initialPlace();
    this.show();
  }

  /** The initial choice: what comes next, the first mask, or what the model expected least. */
  initialPlace() {
    const { expected } = this.look.head;
    const [unknown] = this.places.filter(({ at }) => expected[at].p === null);
    const least = (one, other) => (expected[other.at].p < expected[one.at].p ? other : one);
    return (unknown ?? this.places.reduce(least)).at;
  }

  point(pointed) {
    if (pointed === this.pointed) return;
    this.pointed = pointed;
    this.show();
  }

  show() {
    const chosen = this.pointed ?? this.store.place;
    for (const { at, button } of this.places) {
      button.classList.toggle("here", at === chosen);
      button.setAttribute("aria-pressed", at === chosen);
    }
    this.panel.replaceChildren(this.candidates(chosen), this.account(chosen));
  }

  /** The text of a token as one reads it in a list. */
  label(index) {
    const text = this.look.head.tokens[index];
    if (text === "") return "⟨end⟩";
    return text.startsWith(" ") || !/^[\p{L}\p{N}]/u.test(text) ? text.trim() || "␣" : `·${text}`;
  }

  /** The token at a place, as the list of candidates shows it. */
  labelAt(at) {
    const { tokens, marks, wordOf, spaced } = this.look.written;
    if (marks[at]) return `⟨${marks[at]}⟩`;
    const begins = at === 0 || (wordOf[at] !== wordOf[at - 1] && spaced[wordOf[at]]);
    return begins || !/^[\p{L}\p{N}]/u.test(tokens[at]) ? tokens[at] : `·${tokens[at]}`;
  }

  candidates(at) {
    const { likely, p } = this.look.head.expected[at];
    const came = p === null ? null : this.labelAt(at);
    const bar = (share) => {
      const fill = el("i");
      fill.style.width = `${100 * share}%`;
      return el("td", {}, el("span", { class: "bar" }, fill), el("span", { class: "figure" }, percent(share)));
    };
    const row = (label, share, here) =>
      el("tr", { class: here ? "here" : null }, el("th", { scope: "row", dir: "auto" }, label), bar(share));
    const { rank } = this.look.head.expected[at];
    const rows = likely.map(([token, share], which) => row(this.label(token), share, rank === which + 1));
    if (came !== null && rank > likely.length) rows.push(row(came, p, true));
    const title = this.causal ? this.before(at) : p === null ? "Could stand here" : "Could stand here instead";
    return el("div", { class: "account wide" }, el("h3", {}, title), el("table", { class: "ties" }, el("tbody", {}, rows)));
  }

  /** The end of the text before a place. */
  before(at) {
    if (!at) return "At the beginning";
    const { tokens, wordOf, spaced, marks } = this.look.written;
    const first = Math.max(0, wordOf[at - 1] - SHOWN + 1);
    const start = wordOf.indexOf(first);
    const shown = tokens.slice(start, at).map((token, number) => {
      const [place, word] = [start + number, wordOf[start + number]];
      const begins = number && word !== wordOf[place - 1] && spaced[word];
      return (begins ? " " : "") + (marks[place] ? `⟨${marks[place]}⟩` : token);
    });
    return `After ${quoted((first ? "… " : "") + shown.join(""))}`;
  }

  /** What came, and the words that it needed. */
  account(at) {
    const { alone, nouns } = this.look;
    const { expected, effects, given } = this.look.head;
    const { p, rank } = expected[at];
    const parts = [];
    if (p !== null) {
      const text = `The ${alone ? "text" : nouns.written} ${this.causal ? "goes on with" : "has"} `;
      const own = at >= given ? "The model wrote " : text;
      const place = rank === 1 ? "the likeliest token" : `number ${rank.toLocaleString("en")} in likelihood`;
      parts.push(el("p", {}, own, el("b", {}, quoted(this.labelAt(at))), `: ${place}, with a probability of ${percent(p)}.`));
    } else {
      parts.push(el("p", {}, this.causal ? "The text ends here; this is what could come next." : "A mask stands here."));
    }
    const scored = effects && effects.logProbs[at]; // 0: not measured
    const needed = scored ? this.needed(at) : [];
    if (needed.length) {
      const listed = needed.map(({ word, lost }) => el("li", {}, `${quoted(this.look.source.words[word])}: `, el("b", {}, percent(lost))));
      const loses = p === null ? "The likeliest token loses" : "It loses";
      const hidden = alone ? "when no other word may look at" : `with one of these words of the ${nouns.source} hidden:`;
      parts.push(el("p", {}, `${loses} this share of its probability ${hidden}`), el("ul", {}, listed));
    } else if (scored) {
      const single = alone ? "word that other words looked at" : `word of the ${nouns.source}`;
      parts.push(el("p", {}, `It needed no single ${single}: whichever is hidden, it stays as likely.`));
    }
    return el("aside", { class: "lesson" }, parts);
  }

  needed(at) {
    const { effects } = this.look.head;
    return effects.words
      .map(({ word, logProbs }) => ({ word, lost: 1 - Math.exp(logProbs[at] - effects.logProbs[at]) }))
      .filter(({ lost }) => lost >= NEEDED)
      .sort((one, two) => two.lost - one.lost)
      .slice(0, SHOWN);
  }
}
