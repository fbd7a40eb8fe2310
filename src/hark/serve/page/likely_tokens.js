// The likeliest tokens at a place of a text, as a list of bars to choose from.

import { html, nothing } from "./vendor/lit-html.js";

const NO_TEXT = /^<\|.*\|>$|^<\/?[a-z_]{1,8}>$|^bytes:/; // the end of a text, or a part of a character
const SIGNS = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍" };
const NAMES = { "\n": "line end", "\t": "tab", " ": "space" };

/** Whether a token is a piece of text, which can be put into another. */
export const isText = (token) => !NO_TEXT.test(token);

export function percent(chance) {
  const value = 100 * chance;
  if (value > 99.9 && value < 100) return "> 99.9 %";
  if (value < 0.1) return "< 0.1 %";
  return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** A token with spaces and line ends made visible. */
export const shown = (token) => {
  const parts = token.split(/([ \n\t\r]+(?=[ \n\t\r]|$)|^[ \n\t\r]+)/);
  const signs = (part) => [...part].map((each) => SIGNS[each]).join("");
  return parts.map((part, at) => (at % 2 ? html`<i class="sign" aria-hidden="true">${signs(part)}</i>` : part));
};

const spoken = (token) => token.trim() || [...token].map((each) => NAMES[each] ?? "space").join(", ");

/**
 * @param {{likely: import("./manuscript.js").Likely[], own: string | null, ownChance: number | null, move: (by: number) => void,
 *   choose: (token: string, goOn: boolean) => void, leave: () => void}} options `own`: the token in the text
 */
export function likelyTokens({ likely, own, ownChance, choose, move, leave }) {
  const known = likely.some(({ text }) => text === own);
  const rows = own === null || known || ownChance === null ? likely : [...likely, { text: own, chance: ownChance }];
  const largest = Math.max(...rows.map(({ chance }) => chance), 1e-9);
  const keydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = [...event.currentTarget.querySelectorAll("button:not(:disabled)")];
    const at = buttons.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
    else if (event.key === "ArrowLeft") move(-1);
    else if (event.key === "ArrowRight") move(1);
    else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const row = ({ text, chance }, at) => html`
    <li>
      <button
        type="button"
        class="token ${text === own ? "own" : ""}"
        aria-label=${`${spoken(text)}, ${percent(chance)}${text === own ? ", in the text" : ""}`}
        aria-current=${text === own ? "true" : nothing}
        title=${isText(text) ? nothing : "Not a piece of text"}
        ?disabled=${!isText(text)}
        @click=${(event) => choose(text, !event.shiftKey)}
      >
        <span class="bar" .style=${`--own: ${(100 * chance) / largest}%`}></span>
        <span class="text" dir="auto">${shown(text)}</span>
        <span class="percent">${percent(chance)}</span>
      </button>
      ${at === likely.length - 1 && rows.length > likely.length ? html`<span class="gap" aria-hidden="true">⋮</span>` : nothing}
    </li>
  `;
  return html`<ol class="tokens" aria-label="Likely tokens, best first" @keydown=${keydown}>${rows.map(row)}</ol>`;
}
