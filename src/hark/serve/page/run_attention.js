// Cross-attention of a sample at every checkpoint of a run: how the alignment of words emerges in training.

import { html, nothing } from "./vendor/lit-html.js";
import { get, isAbort } from "./api.js";
import { failureNote } from "./notes.js";

/** @typedef {{step: number, source: string[], target: string[], weights: number[][]}} StepAttention */

export class RunAttention {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {Map<string, StepAttention>} */
    this.known = new Map();
    this.wanted = null; // the sample that the user asked for
    this.chosen = null; // the step shown large
    this.failure = null;
    this.controller = null;
  }

  /** Compute one checkpoint after the other; each is shown when it is ready. */
  async ask(run, sentence, steps) {
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    Object.assign(this, { wanted: keyOf(run, sentence), chosen: null, failure: null });
    this.changed();
    try {
      for (const step of steps) {
        const key = keyOf(run, sentence, step);
        if (!this.known.has(key)) {
          const values = new URLSearchParams({ run, sentence, step });
          this.known.set(key, await get(`api/v1/runs/attention?${values}`, signal));
        }
        this.changed();
      }
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.failure = error;
      this.changed();
    }
  }

  panel(run, sentence, steps) {
    if (!steps.length) return nothing;
    const ask = () => this.ask(run, sentence, steps);
    if (this.wanted !== keyOf(run, sentence)) {
      const count = steps.length === 1 ? "the checkpoint" : `the ${steps.length} checkpoints`;
      return html`<button type="button" class="button attention" @click=${ask}>Show its cross-attention at ${count}</button>`;
    }
    const found = steps.map((step) => this.known.get(keyOf(run, sentence, step))).filter(Boolean);
    const shown = found.find(({ step }) => step === this.chosen) ?? found.at(-1);
    const choose = (step) => {
      this.chosen = step;
      this.changed();
    };
    return html`
      <section class="attention" aria-label="Cross-attention by checkpoint">
        <h3>Cross-attention by checkpoint</h3>
        <p class="soft">Where each word of the reference (rows) looks in the source (columns): the mean of the heads that usually align words.</p>
        ${this.failure ? failureNote(this.failure, ask) : nothing}
        <div class="thumbnails" aria-busy=${found.length < steps.length && !this.failure}>
          ${found.map((each) => thumbnail(each, each === shown, () => choose(each.step)))}
          ${found.length < steps.length && !this.failure ? html`<span class="soft" role="status">Reading step ${steps[found.length].toLocaleString("en")} …</span>` : nothing}
        </div>
        ${shown ? table(shown) : nothing}
      </section>
    `;
  }
}

const keyOf = (...parts) => JSON.stringify(parts);

function thumbnail({ step, weights, source }, chosen, choose) {
  const cells = weights.flatMap((row) => row.map((weight) => html`<i .style=${shade(weight)}></i>`));
  return html`
    <button type="button" class="thumbnail" aria-pressed=${chosen} @click=${choose}>
      <span class="cells" .style=${`--columns: ${source.length}`}>${cells}</span>
      <span>Step ${step.toLocaleString("en")}</span>
    </button>
  `;
}

function table({ step, source, target, weights }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Cross-attention at step ${step}">
      <table class="weights">
        <thead>
          <tr><td></td>${source.map((word) => html`<th scope="col"><span>${word}</span></th>`)}</tr>
        </thead>
        <tbody>
          ${weights.map(
            (row, at) => html`
              <tr>
                <th scope="row">${target[at]}</th>
                ${row.map((weight, to) => html`<td .style=${shade(weight)} title="${target[at]} → ${source[to]}: ${weight.toFixed(2)}">${weight >= 0.15 ? weight.toFixed(2) : ""}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

const shade = (weight) => `--weight: ${Math.round(100 * weight)}%`;
