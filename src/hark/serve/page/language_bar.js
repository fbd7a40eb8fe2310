// The choice of languages: from, swap, into.

import { html } from "./vendor/lit-html.js";
import { swapIcon } from "./icons.js";
import { nameOf } from "./languages.js";

/** @param {import("./choice.js").Choice} choice */
export function languageBar(choice, { changed, swap }) {
  const { languages } = choice;
  const detect = choice.detected ? `${nameOf(choice.detected)} (detected)` : "Detect language";
  const from = (event) => {
    choice.setSource(event.target.value || null);
    changed();
  };
  const into = (event) => {
    choice.setTarget(event.target.value);
    changed();
  };
  return html`
    <div class="languages">
      <label class="language">
        <span class="unseen">Translate from</span>
        <select class="from" @change=${from} .value=${choice.source ?? ""}>
          <option value="" ?selected=${choice.source === null}>${detect}</option>
          ${languages.sources.map((code) => html`<option value=${code} ?selected=${choice.source === code}>${nameOf(code)}</option>`)}
        </select>
      </label>
      <button type="button" class="swap" aria-label="Swap languages" title="Swap languages" @click=${swap}>${swapIcon}</button>
      <label class="language">
        <span class="unseen">Translate into</span>
        <select class="into" @change=${into} .value=${choice.target}>
          ${languages.targets.map((code) => html`<option value=${code} ?selected=${choice.target === code}>${nameOf(code)}</option>`)}
        </select>
      </label>
    </div>
  `;
}
