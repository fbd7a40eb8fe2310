// A text that a person and a model write: who wrote what, what the model thought of its tokens, and how to undo.

const PAUSE = 1200; // milliseconds without typing after which undoing takes another step
const MOST = 200; // steps that can be undone

/**
 * @typedef {{start: number, end: number}} Part
 * @typedef {{text: string, chance: number}} Likely
 * @typedef {Part & Likely & {likely: Likely[]}} Token `chance`: null if the model expected nothing in its place
 */

export class Manuscript {
  constructor({ text = "", written = [] } = {}) {
    this.text = text;
    /** @type {Part[]} what the model wrote, in order and apart */
    this.written = written;
    /** @type {Token[]} those that are known, in order */
    this.tokens = [];
    this.past = [];
    this.future = [];
    this.typed = -Infinity; // when the user last did
  }

  /** What the user made of the text. */
  edit(text) {
    if (text === this.text) return;
    const now = performance.now();
    if (now - this.typed > PAUSE) this.keep();
    this.typed = now;
    this.future = [];
    const limit = Math.min(text.length, this.text.length);
    let start = 0;
    while (start < limit && text[start] === this.text[start]) start++;
    let same = 0; // at the end
    while (same < limit - start && text.at(-1 - same) === this.text.at(-1 - same)) same++;
    const [end, shift] = [this.text.length - same, text.length - this.text.length];
    const before = this.written.map((each) => ({ start: each.start, end: Math.min(each.end, start) }));
    const after = this.written.map((each) => ({ start: Math.max(each.start, end) + shift, end: each.end + shift }));
    this.set(text, [...before, ...after]);
  }

  /** The model wrote this at the end. */
  append(piece) {
    const start = this.text.length;
    const last = this.written.at(-1);
    const others = last?.end === start ? this.written.slice(0, -1) : this.written;
    this.set(this.text + piece, [...others, { start: last?.end === start ? last.start : start, end: start + piece.length }]);
  }

  /** Drop what follows. */
  cut(length) {
    this.set(this.text.slice(0, length), this.written.map(({ start, end }) => ({ start, end: Math.min(end, length) })));
  }

  /** Begin a step that can be undone. */
  keep() {
    this.past = [...this.past, this.state].slice(-MOST);
    this.future = [];
    this.typed = -Infinity;
  }

  undo() {
    this.go(this.past, this.future);
  }

  redo() {
    this.go(this.future, this.past);
  }

  go(from, to) {
    const state = from.pop();
    if (!state) return;
    to.push(this.state);
    this.typed = -Infinity;
    this.set(state.text, state.written);
  }

  get state() {
    return { text: this.text, written: this.written };
  }

  /** Another text. Tokens before the first change stay known: a model reads from left to right. */
  set(text, written) {
    const changed = this.tokens.findIndex(({ start, end }) => end > text.length || text.slice(start, end) !== this.text.slice(start, end));
    if (changed >= 0) this.tokens = this.tokens.slice(0, changed);
    this.text = text;
    this.written = written.filter(({ start, end }) => start < end);
  }

  /** Tokens of the text, or of its end. */
  learn(tokens) {
    const known = this.tokens.filter(({ end }) => end <= (tokens[0]?.start ?? 0));
    this.tokens = [...known, ...tokens];
  }

  isWritten(at) {
    return this.written.some(({ start, end }) => start <= at && at < end);
  }

  /** The place of the token at a caret, or -1. */
  tokenAt(caret) {
    return this.tokens.findIndex(({ start, end }) => start <= caret && caret < end);
  }

  /** Stretches of the text with one kind of background. */
  stretches() {
    const ends = new Set([0, this.text.length]);
    for (const { start, end } of [...this.written, ...this.tokens]) ends.add(start).add(end);
    const sorted = [...ends].sort((one, other) => one - other);
    let [part, token] = [0, 0];
    return sorted.slice(1).map((end, at) => {
      const start = sorted[at];
      while (this.written[part]?.end <= start) part++;
      while (this.tokens[token]?.end <= start) token++;
      const within = (each) => each !== undefined && each.start <= start;
      return { start, end, written: within(this.written[part]), token: within(this.tokens[token]) ? token : -1 };
    });
  }
}
