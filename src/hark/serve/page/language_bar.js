// The choice of languages: from, swap, into; and of the form of address where a model can choose.

import { html, nothing } from "./vendor/lit-html.js";
import { FORMS } from "./choice.js";
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
      <div class="language">
        <label>
          <span class="unseen">Translate into</span>
          <select class="into" @change=${into} .value=${choice.target}>
            ${languages.targets.map((code) => html`<option value=${code} ?selected=${choice.target === code}>${nameOf(code)}</option>`)}
          </select>
        </label>
        ${choice.hasForms ? forms(choice, changed) : nothing}
      </div>
    </div>
  `;
}

const FORM_NAMES = { auto: "Automatic", formal: "Formal", informal: "Informal" };

function forms(choice, changed) {
  const chosen = (event) => {
    choice.setForm(event.target.value);
    changed();
  };
  return html`
    <label>
      <span class="unseen">Form of address</span>
      <select class="form" title="Form of address" @change=${chosen} .value=${choice.form}>
        ${FORMS.map((form) => html`<option value=${form} ?selected=${choice.form === form}>${FORM_NAMES[form]}</option>`)}
      </select>
    </label>
  `;
}
