// The list of past translations, with its switch.

import { html, nothing } from "./vendor/lit-html.js";
import { openDialog } from "./dialogs.js";
import * as history from "./history.js";
import { clearIcon } from "./icons.js";
import { nameOf } from "./languages.js";

/** @param {(entry: import("./history.js").Past) => void} choose */
export function openHistory(choose) {
  const dialog = openDialog("History", (close) => {
    const past = history.entries();
    const then = (change) => () => {
      change();
      dialog.redraw();
    };
    const pick = (entry) => () => {
      close();
      choose(entry);
    };
    return html`
      <p class="soft">Kept in this browser only. The server remembers nothing.</p>
      <div class="switches">
        <label class="switch">
          <input type="checkbox" role="switch" .checked=${history.isOn()} @change=${(event) => then(() => history.switchTo(event.target.checked))()} />
          Keep a history
        </label>
        <button type="button" class="button erase" ?disabled=${!past.length} @click=${then(history.eraseAll)}>Erase all</button>
      </div>
      ${past.length
        ? html`<ul class="past">${past.map((entry) => row(entry, pick(entry), then(() => history.remove(entry))))}</ul>`
        : html`<p class="nothing">${history.isOn() ? "Nothing yet." : "The history is off and empty."}</p>`}
    `;
  });
}

function row(entry, pick, remove) {
  return html`
    <li>
      <button type="button" class="entry" @click=${pick}>
        <span class="over">${entry.source ? `${nameOf(entry.source)} to ` : nothing}${nameOf(entry.target)}</span>
        <span class="prose small" dir="auto">${entry.text}</span>
        <span class="prose small soft" dir="auto">${entry.translation}</span>
      </button>
      <button type="button" class="button only-icon" aria-label="Erase this entry" title="Erase" @click=${remove}>${clearIcon}</button>
    </li>
  `;
}
