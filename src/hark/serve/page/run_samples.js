// Sentences translated during training, by step, with what changed since the step before.

import { html, nothing } from "./vendor/lit-html.js";
import { differences } from "./differences.js";

const FEW = 8;

/**
 * @param {{source: string, reference: string, translations: {step: number, text: string}[]}[]} samples
 * @param {{sentence: number, all: boolean}} shown
 */
export function samplesPanel(samples, shown, changed, below) {
  const sample = samples[Math.min(shown.sentence, samples.length - 1)];
  const steps = sample.translations.map((each, at) => ({ ...each, before: sample.translations[at - 1]?.text ?? null })).reverse();
  const visible = shown.all ? steps : steps.slice(0, FEW);
  return html`
    <div class="samples">
      <label class="language">
        <span class="unseen">Sentence</span>
        <select @change=${(event) => changed({ sentence: Number(event.target.value), all: false })} .value=${String(shown.sentence)}>
          ${samples.map(({ source }, at) => html`<option value=${at} ?selected=${at === shown.sentence}>${clipped(source)}</option>`)}
        </select>
      </label>
      <dl class="sample">
        <dt>Source</dt>
        <dd class="prose small" dir="auto">${sample.source}</dd>
        <dt>Reference</dt>
        <dd class="prose small" dir="auto">${sample.reference}</dd>
        ${visible.map(
          ({ step, text, before }) => html`
            <dt>Step ${step.toLocaleString("en")}</dt>
            <dd class="prose small translation" dir="auto">${before === null ? text : marked(before, text)}</dd>
          `,
        )}
      </dl>
      ${steps.length > visible.length
        ? html`<button type="button" class="button" @click=${() => changed({ all: true })}>Show all ${steps.length} steps</button>`
        : nothing}
      ${below}
    </div>
  `;
}

const marked = (before, text) => differences(before, text).map((part) => (part.changed ? html`<mark>${part.text}</mark>` : part.text));
const clipped = (text) => (text.length > 70 ? `${text.slice(0, 69)}…` : text);
