// Buttons that copy a text.

import { html } from "./vendor/lit-html.js";
import { copyIcon, doneIcon } from "./icons.js";

/** @param {() => string} text */
export function copyButton(text, label, disabled = false) {
  return html`
    <button type="button" class="button only-icon copy" aria-label=${label} title=${label} ?disabled=${disabled} @click=${(event) => copy(event.currentTarget, text())}>
      <span class="before">${copyIcon}</span><span class="after">${doneIcon}</span>
    </button>
  `;
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByHand(text); // over plain HTTP from another machine, browsers offer no clipboard
  }
  button.classList.add("done");
  button.addEventListener("blur", () => button.classList.remove("done"), { once: true });
  setTimeout(() => button.classList.remove("done"), 1500);
}

function copyByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
