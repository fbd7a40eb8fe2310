// Below the panes: the chosen sentence, how it was handled, and other translations of it.

import { html, nothing } from "./vendor/lit-html.js";
import { copyButton } from "./copying.js";
import { differences } from "./differences.js";
import { lookIcon } from "./icons.js";

/** How a sentence was handled. Faults are not here: they come with a warning from the server. */
const HANDLED = {
  copied: "Copied: nothing to translate",
  phrase: "From the phrase table",
  split: "Translated in parts, because it is long",
  tidied: "Typing errors were corrected first",
  recased: "Translated in lower case, then put back into capitals",
  retried: "Decoded again, because the first attempt was faulty",
  repaired: "Text that the model lost was restored",
  untranslated: "Not translated: the source was kept",
};
const SCORE = "Log-probability with length penalty: closer to 0 is more confident";

/** @param {import("./pairing.js").Paired} paired */
export function sentencePanel(paired, number, { look, choose }) {
  const count = paired.sentences.length;
  const sentence = paired.sentences[Math.min(number, count - 1)];
  const handled = sentence.flags.map((flag) => HANDLED[flag]).filter(Boolean);
  return html`
    <section class="about" aria-label="About this sentence">
      <header>
        ${count > 1 ? stepper(number, count, choose) : html`<h2>This sentence</h2>`}
        ${handled.map((text) => html`<span class="handled">${text}</span>`)}
        <button type="button" class="button look" @click=${look}>${lookIcon} Look inside</button>
      </header>
      ${sentence.alternatives.length ? candidates(sentence) : nothing}
    </section>
  `;
}

const candidates = ({ text, score, alternatives }) => html`
  <ol class="candidates" aria-label="Translations, best first">
    ${candidate(text, text, score, true)} ${alternatives.map((each) => candidate(text, each.text, each.score, false))}
  </ol>
`;

function stepper(number, count, choose) {
  const go = (to, label, sign) => html`
    <button type="button" class="button only-icon" aria-label=${label} ?disabled=${to < 0 || to >= count} @click=${() => choose(to)}>${sign}</button>
  `;
  return html`
    <h2>Sentence ${number + 1} <span class="soft">of ${count}</span></h2>
    <span class="stepper">${go(number - 1, "Previous sentence", "‹")}${go(number + 1, "Next sentence", "›")}</span>
  `;
}

function candidate(best, text, score, first) {
  const words = first ? text : differences(best, text).map((part) => (part.changed ? html`<mark>${part.text}</mark>` : part.text));
  return html`
    <li class=${first ? "best" : ""}>
      <span class="prose" dir="auto">${words}</span>
      <span class="score" title=${SCORE}>${score === null || score === undefined ? nothing : score.toFixed(2).replace("-", "−")}</span>
      ${copyButton(() => text, "Copy this translation")}
    </li>
  `;
}
