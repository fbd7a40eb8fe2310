// How the model writes: which one, how much, how daring. Remembered in this browser.

import { html } from "./vendor/lit-html.js";
import { load } from "./stored.js";

const FIRST = { model: "", tokens: 60, temperature: 0.8, topP: 0.95, line: false, shade: false };
const MOST_TOKENS = 4096;

/** @returns {typeof FIRST} the stored settings; those that are missing or damaged are as at first */
export function storedSettings() {
  const stored = load("write", {});
  return Object.fromEntries(
    Object.entries(FIRST).map(([name, value]) => [name, typeof stored?.[name] === typeof value ? stored[name] : value]),
  );
}

const within = (value, low, high, otherwise) => (Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise);

/** @param {(values: object) => void} changed */
export function howToWrite(settings, models, changed) {
  const tokens = ({ target }) => {
    target.value = Math.round(within(target.valueAsNumber, 1, MOST_TOKENS, settings.tokens));
    changed({ tokens: Number(target.value) });
  };
  const slider = (name, label, most, title) => html`
    <label title=${title}>
      ${label}
      <input type="range" min=${name === "topP" ? 0.05 : 0} max=${most} step="0.05" .value=${String(settings[name])}
        @input=${({ target }) => changed({ [name]: target.valueAsNumber })} />
      <output>${settings[name].toFixed(2)}</output>
    </label>
  `;
  const toggle = (name, label, title) => html`
    <label class="switch" title=${title}>
      <input type="checkbox" role="switch" .checked=${settings[name]} @change=${({ target }) => changed({ [name]: target.checked })} /> ${label}
    </label>
  `;
  return html`
    <div class="how" role="group" aria-label="How to write">
      <label class="language">
        <span class="unseen">Model</span>
        <select class="model" @change=${({ target }) => changed({ model: target.value })} .value=${settings.model}>
          ${models.map((name) => html`<option value=${name} ?selected=${name === settings.model}>${name}</option>`)}
        </select>
      </label>
      <label>Tokens <input type="number" min="1" max=${MOST_TOKENS} .value=${String(settings.tokens)} @change=${tokens} /></label>
      ${slider("temperature", "Temperature", 1.5, "0: always the likeliest token; higher: more surprising")}
      ${slider("topP", "Top-p", 1, "Choose among the likeliest tokens that together have this probability")}
      ${toggle("line", "Stop at line end", "Write to the end of the line only")}
      ${toggle("shade", "Shade surprises", "Colour each token by how unlikely the model found it")}
    </div>
  `;
}
