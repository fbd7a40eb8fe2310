// What the page asks of models that continue text, by the API of OpenAI.

import { get, isAbort, post, stream } from "./api.js";
import { toUtf16 } from "./codepoints.js";

export const LIKELY = 10; // tokens to show in place of one
const GUESS = 3.2; // characters of a token, before the first answer
const SPARE = 0.95; // of the room in the model, because tokens differ in length
const SMALLER = 0.7; // of the text, if it was too long
const TOO_LONG = "context_length_exceeded";
const TOO_LARGE = 413; // the HTTP status

/** @returns {Promise<{name: string, positions: number | null}[]>} the models that continue text */
export async function writingModels() {
  return (await get("api/v1/models")).texts.filter(({ shape }) => shape === "decoder");
}

/** A model, and how much of a text it can read: what is sent is cut at the beginning. */
export class Reader {
  constructor({ name, positions }) {
    Object.assign(this, { name, positions });
    this.perToken = GUESS;
    this.most = Infinity; // characters that the server takes
  }

  /**
   * Go on with a text; `heard` is called with each piece.
   * @returns {Promise<{ended: boolean, tokens: number, unread: number}>} whether the model ended the text, how many tokens
   *   it wrote, and the characters at the beginning that it did not read
   */
  async write(text, { tokens, temperature, topP, stop }, heard, signal) {
    const values = { max_tokens: tokens, temperature, top_p: topP, stop: stop.length ? stop : null };
    return this.fitting(text, tokens, async (tail) => {
      let [ended, usage] = [false, null];
      const asked = { model: this.name, prompt: tail, ...values, stream: true, stream_options: { include_usage: true } };
      for await (const { data } of stream("v1/completions", asked, signal)) {
        for (const { text: piece, finish_reason: reason } of data.choices) {
          if (piece) heard(piece);
          if (reason) ended = reason === "stop";
        }
        usage = data.usage ?? usage;
      }
      this.learn(tail, usage.prompt_tokens);
      return { ended, tokens: usage.completion_tokens };
    });
  }

  /** The tokens of a text, with the likeliest in place of each. @returns {Promise<import("./manuscript.js").Token[]>} */
  async score(text, signal) {
    const { choices, start } = await this.fitting(text, 1, async (tail) => {
      const asked = { model: this.name, prompt: tail, echo: true, max_tokens: 0, logprobs: LIKELY };
      return { ...(await post("v1/completions", asked, signal)), start: text.length - tail.length };
    });
    return tokensOf(choices[0], start);
  }

  /** The likeliest tokens after a text. @returns {Promise<import("./manuscript.js").Likely[]>} */
  async expect(text, signal) {
    const { choices } = await this.fitting(text, 1, (tail) =>
      post("v1/completions", { model: this.name, prompt: tail, max_tokens: 1, temperature: 0, logprobs: LIKELY }, signal),
    );
    const { top_logprobs: likely } = choices[0].logprobs;
    return likely.length ? likeliest(likely[0]) : [];
  }

  /** Ask with as much of the end of a text as fits beside so many tokens. */
  async fitting(text, tokens, ask) {
    for (;;) {
      const tail = tailOf(text, Math.min(this.budget(tokens), this.most));
      try {
        return { ...(await ask(tail)), unread: text.length - tail.length };
      } catch (error) {
        const smaller = tail.length * SMALLER;
        if (isAbort(error) || tail.length < 2) throw error;
        else if (error.code === TOO_LONG && this.positions) this.perToken = smaller / (this.room(tokens) * SPARE);
        else if (error.status === TOO_LARGE) this.most = Math.floor(smaller);
        else throw error;
      }
    }
  }

  /** Characters that should fit beside so many tokens. */
  budget(tokens) {
    return this.positions === null ? Infinity : Math.floor(this.room(tokens) * this.perToken * SPARE);
  }

  room(tokens) {
    return Math.max(this.positions - tokens, this.positions / 2);
  }

  learn(text, tokens) {
    if (tokens > 20) this.perToken = text.length / tokens;
  }
}

/** The end of a text, at most so many characters, from the beginning of a paragraph or a word. */
export function tailOf(text, most) {
  if (text.length <= most) return text;
  const tail = text.slice(text.length - most);
  const paragraph = tail.indexOf("\n") + 1;
  if (paragraph && paragraph < most / 5) return tail.slice(paragraph);
  const word = /\s\S/u.exec(tail)?.index ?? 0;
  return (word < most / 5 ? tail.slice(word) : tail).replace(/^[\udc00-\udfff]/, "");
}

/** Tokens that are parts of one character are one token here. */
function tokensOf({ text, logprobs }, start) {
  const inText = toUtf16(text);
  const { tokens: names, token_logprobs: values, top_logprobs: likely, text_offset: offsets } = logprobs;
  const tokens = [];
  offsets.forEach((offset, at) => {
    const chance = values[at] === null ? null : Math.exp(values[at]);
    const [begin, last] = [start + inText(offset), tokens.at(-1)];
    const end = start + (at + 1 < offsets.length ? inText(offsets[at + 1]) : text.length);
    if (last && last.start === begin) Object.assign(last, { end, chance: last.chance === null ? null : last.chance * chance });
    else tokens.push({ start: begin, end, text: names[at], chance, likely: likely[at] ? likeliest(likely[at]) : [] });
  });
  return tokens;
}

const likeliest = (chances) =>
  Object.entries(chances)
    .map(([text, value]) => ({ text, chance: Math.exp(value) }))
    .sort((one, other) => other.chance - one.chance)
    .slice(0, LIKELY);
