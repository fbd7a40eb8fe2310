// Keyboard help, and what happens to the user's text.

import { html, nothing } from "./vendor/lit-html.js";
import { openDialog } from "./dialogs.js";
import { load, save } from "./stored.js";

/** Sections of keys, and what of the page they need. */
const KEYS = [
  ["Anywhere outside a text field", [
    ["?", "This help"],
    ["/", "Go to the text"],
    ["s", "Swap languages", "translates"],
    ["c", "Copy the translation, or the text that you write"],
    ["l", "Look inside the sentence", "translates"],
    ["h", "History", "translates"],
    ["d", "Dark or light"],
    ["1 2 3 4", "The tabs"],
  ]],
  ["In the text", [
    ["Ctrl Enter", "Translate now"],
    ["Esc", "Leave the field"],
  ], "translates"],
  ["In the text that you write", [
    ["Ctrl Enter", "The model goes on"],
    ["Esc", "Stop it"],
    ["Alt ↓", "Go to the likely tokens; ↑ ↓ choose, ← → go to other tokens, Esc leads back"],
    ["Ctrl Z", "Undo"],
  ], "writes"],
  ["In the translation", [
    ["← →", "From word to word; their source words light up"],
    ["Enter", "Look inside the sentence"],
  ], "translates"],
];
const offered = (entry) => entry.length < 3 || document.documentElement.dataset[entry[2]] === "true";

export const shortcutsOn = () => load("shortcuts", true);

export function openKeyboardHelp() {
  openDialog("Keyboard", () => html`
    ${KEYS.filter(offered).map(
      ([title, rows]) => html`
        <h3>${title}</h3>
        <dl class="keys">
          ${rows.filter(offered).map(([keys, text]) => html`<div><dt>${keys.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${text}</dd></div>`)}
        </dl>
      `,
    )}
    <label class="switch">
      <input type="checkbox" role="switch" .checked=${shortcutsOn()} @change=${(event) => save("shortcuts", event.target.checked)} />
      Single-key shortcuts
    </label>
  `);
}

export const isThisMachine = () => /^(localhost|127\.|\[::1\])/.test(location.hostname);

export function openPrivacy() {
  const local = isThisMachine();
  const where = local ? "this machine" : html`<b>${location.hostname}</b>`;
  openDialog(local ? "What stays on this machine: everything" : "Where your text goes", () => html`
    <ul class="facts">
      <li>The models run on ${where}. Your text goes to no other server.</li>
      <li>The page loads nothing from elsewhere, and the server never connects to the internet.</li>
      <li>The server does not store your text, nor write it to its log.</li>
      <li>Text is never part of an address, so it is not in your browser's list of visited pages.</li>
      <li>The history is kept in this browser only. You can erase it or switch it off.</li>
      <li>What you write with a model is kept in this tab until you close it.</li>
      ${local || location.protocol === "https:"
        ? nothing
        : html`<li>The connection to ${where} is not encrypted: others in your network could read along.</li>`}
    </ul>
  `);
}
