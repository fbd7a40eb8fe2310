// Failures, shown where they happened. What the user typed is never touched.

import { html, nothing } from "./vendor/lit-html.js";
import { key } from "./api.js";

/** @param {import("./api.js").Failure} failure */
export function failureNote(failure, retry, more = nothing) {
  return html`
    <div class="failure" role="alert">
      <p>${failure.message}</p>
      ${failure.needsKey ? keyForm(retry) : nothing}
      ${retry && !failure.needsKey ? html`<button type="button" class="button retry" @click=${retry}>Try again</button>` : nothing} ${more}
    </div>
  `;
}

function keyForm(retry) {
  const submit = (event) => {
    event.preventDefault();
    key.set(new FormData(event.target).get("key").trim());
    retry?.();
  };
  return html`
    <form class="key" @submit=${submit}>
      <label>API key <input name="key" type="password" autocomplete="off" required .value=${key.get()} /></label>
      <button class="button">Use this key</button>
      <small>It is kept in this browser.</small>
    </form>
  `;
}
