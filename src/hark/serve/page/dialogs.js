// Modal dialogs. The browser handles focus, Escape and screen readers.

import { html, render } from "./vendor/lit-html.js";
import { clearIcon } from "./icons.js";

/**
 * Open a dialog. `content` is called with a function that closes it, and again on `redraw`.
 * @returns {{element: HTMLDialogElement, body: HTMLElement, redraw: () => void, close: () => void}}
 */
export function openDialog(title, content, kind = "") {
  const element = document.createElement("dialog");
  element.className = kind;
  element.setAttribute("aria-label", title);
  document.body.append(element);
  const close = () => element.close();
  const redraw = () =>
    render(
      html`
        <header>
          <h2>${title}</h2>
          <button type="button" class="button only-icon" aria-label="Close" title="Close" @click=${close}>${clearIcon}</button>
        </header>
        <div class="body">${content(close)}</div>
      `,
      element,
    );
  element.addEventListener("close", () => element.remove());
  element.addEventListener("click", (event) => event.target === element && close()); // the backdrop
  redraw();
  element.showModal();
  return { element, body: element.querySelector(".body"), redraw, close };
}

export const isOpen = () => document.querySelector("dialog[open]") !== null;
