// Training runs of a folder: a list, curves of the chosen ones, and samples. Everything grows while training goes on.

import { oncePerFrame } from "./frames.js";
import { html, nothing, render } from "./vendor/lit-html.js";
import { get, isAbort, stream } from "./api.js";
import { CurveChart } from "./curve_chart.js";
import { failureNote } from "./notes.js";
import { duration, exact, short } from "./numbers.js";
import { RunAttention } from "./run_attention.js";
import { chartsOf } from "./run_curves.js";
import { samplesPanel } from "./run_samples.js";
import * as theme from "./theme.js";

const COLOURS = 8;
const AGAIN = 3000; // milliseconds before a broken stream is opened again

export class RunsView {
  constructor(element) {
    this.element = element;
    this.runs = null; // until the first list
    this.colours = new Map(); // of the chosen runs, by name
    this.data = new Map();
    this.charts = new Map();
    this.figures = Object.assign(document.createElement("div"), { className: "charts" });
    this.sampled = { run: null, sentence: 0, all: false };
    this.attention = new RunAttention(() => this.soon());
    this.failure = null;
    this.controller = null;
    this.soon = oncePerFrame(() => this.draw());
    theme.onChange(() => this.charts.forEach((chart) => chart.recolour()));
    this.draw();
  }

  show() {
    this.hide();
    this.controller = new AbortController();
    this.follow(this.controller.signal);
  }

  /** No stream while nobody looks. */
  hide() {
    this.controller?.abort();
    this.controller = null;
  }

  async follow(signal) {
    while (!signal.aborted) {
      try {
        await this.read(signal);
      } catch (error) {
        if (signal.aborted || isAbort(error)) return;
        this.failure = error;
        this.soon();
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }

  async read(signal) {
    this.list((await get("api/v1/runs", signal)).runs);
    const asked = new URLSearchParams([...this.colours.keys()].map((name) => ["run", name]));
    for await (const { event, data } of stream(`api/v1/runs/watch?${asked}`, undefined, signal)) {
      this.failure = null;
      this.take(event, data);
      this.soon();
    }
  }

  take(event, data) {
    const run = this.data.get(data.run);
    if (event === "runs") this.list(data.runs, false);
    else if (event === "history") this.data.set(data.run, { ...data, samples: run?.samples ?? [], gone: null });
    else if (!run && event === "samples") this.data.set(data.run, { ...blank(), samples: data.samples });
    else if (!run) return;
    else if (event === "records") append(run, data);
    else if (event === "samples") run.samples = data.samples;
    else if (event === "gone") run.gone = data.message;
  }

  /** Take a new list; choose the latest run if none is chosen. Runs that vanished are dropped unless they are shown. */
  list(runs, anew = true) {
    this.runs = runs;
    if (!anew) return;
    const names = new Set(runs.map(({ name }) => name));
    for (const name of this.colours.keys()) {
      if (names.has(name)) continue;
      this.colours.delete(name);
      this.data.delete(name);
    }
    if (!this.colours.size && runs.length) this.colours.set(runs[0].name, this.freeColour());
    this.soon();
  }

  toggle(name) {
    if (this.colours.has(name)) {
      this.colours.delete(name);
      this.data.delete(name);
    } else this.colours.set(name, this.freeColour());
    this.soon();
    this.show(); // a new stream, of the runs that are chosen now
  }

  freeColour() {
    const used = [...this.colours.values()];
    const free = Array.from({ length: COLOURS }, (_, at) => at).find((each) => !used.includes(each));
    return free ?? this.colours.size % COLOURS;
  }

  // Drawing.

  draw() {
    render(
      html`
        ${this.failure ? failureNote(this.failure, () => this.show()) : nothing}
        ${this.runs === null ? html`<p class="working" role="status">Reading the runs …</p>` : this.runs.length ? this.table() : this.none()}
        ${this.problems()} ${this.figures} ${this.samples()}
      `,
      this.element,
    );
    this.drawCharts();
  }

  none() {
    return html`<p class="nothing">There are no runs in this folder yet. They appear here as soon as <code>hark train</code> starts one.</p>`;
  }

  table() {
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label="Runs">
        <table class="runs">
          <thead>
            <tr><th>Run</th><th>State</th><th>Step</th><th>Loss</th><th>Best on dev</th><th>Tokens/s</th><th>Time</th></tr>
          </thead>
          <tbody>${this.runs.map((run) => this.row(run))}</tbody>
        </table>
      </div>
    `;
  }

  row(run) {
    const colour = this.colours.get(run.name);
    const { best } = run;
    return html`
      <tr class=${colour === undefined ? "" : "on"}>
        <td>
          <label class="run">
            <input type="checkbox" .checked=${colour !== undefined} @change=${() => this.toggle(run.name)} />
            <i class="swatch" .style=${colour === undefined ? "" : `--own: var(--run${colour})`}></i>${run.name}
          </label>
        </td>
        <td class="state ${run.state}" title=${run.message}>${run.state}</td>
        <td>${run.step.toLocaleString("en")}${run.steps ? html` <small>of ${run.steps.toLocaleString("en")}</small>` : nothing}</td>
        <td>${run.loss === null ? "–" : run.loss.toFixed(3)}</td>
        <td>${best && best.value !== null ? html`${best.name} ${exact(best.value)} <small>at ${best.step.toLocaleString("en")}</small>` : "–"}</td>
        <td>${run.tokens_per_second === null ? "–" : short(run.tokens_per_second)}</td>
        <td>${duration(run.seconds)}</td>
      </tr>
    `;
  }

  /** One line for each thing that is wrong with a chosen run. */
  problems() {
    const lines = [...this.data].flatMap(([name, { gone, unreadable, overview }]) => [
      gone,
      unreadable ? `${name}: ${unreadable} ${unreadable === 1 ? "line" : "lines"} of metrics.jsonl could not be read and ${unreadable === 1 ? "is" : "are"} left out` : null,
      overview?.state === "failed" && overview.message ? `${name} failed: ${overview.message}` : null,
    ]);
    const found = lines.filter(Boolean);
    return found.length ? html`<ul class="problems">${found.map((line) => html`<li role="note">${line}</li>`)}</ul>` : nothing;
  }

  drawCharts() {
    const runs = [...this.colours]
      .filter(([name]) => this.data.get(name)?.train)
      .map(([name, colour]) => ({ name, colour: `--run${colour}`, ...this.data.get(name) }));
    const wanted = chartsOf(runs);
    for (const [title, chart] of this.charts) {
      if (wanted.some((each) => each.title === title)) continue;
      chart.element.remove();
      this.charts.delete(title);
    }
    wanted.forEach((each, at) => {
      if (!this.charts.has(each.title)) this.charts.set(each.title, new CurveChart(each));
      const chart = this.charts.get(each.title);
      if (this.figures.children[at] !== chart.element) this.figures.insertBefore(chart.element, this.figures.children[at] ?? null);
      chart.show(each.curves);
    });
  }

  samples() {
    const sampled = [...this.data].filter(([, { samples }]) => samples.length);
    if (!sampled.length) return nothing;
    const [name, { samples, checkpoints = [] }] = sampled.find(([each]) => each === this.sampled.run) ?? sampled[0];
    const changed = (values) => {
      Object.assign(this.sampled, values);
      this.draw();
    };
    const choose = html`
      <label class="language">
        <span class="unseen">Run</span>
        <select @change=${(event) => changed({ run: event.target.value, sentence: 0, all: false })} .value=${name}>
          ${sampled.map(([each]) => html`<option value=${each} ?selected=${each === name}>${each}</option>`)}
        </select>
      </label>
    `;
    return html`
      <section class="sampled" aria-label="Samples">
        <header><h2>Samples by step</h2>${sampled.length > 1 ? choose : nothing}</header>
        ${samplesPanel(samples, this.sampled, changed, this.attention.panel(name, this.sampled.sentence, checkpoints))}
      </section>
    `;
  }
}

const blank = () => ({ train: null, dev: [], samples: [], gone: null, unreadable: 0, overview: null });

/** Add new records to a run. Training logs no step twice, so they only ever follow. */
function append(run, { overview, unreadable, checkpoints, train, dev }) {
  Object.assign(run, { overview, unreadable, checkpoints });
  for (const [name, values] of Object.entries(train)) run.train[name] = [...run.train[name], ...values];
  const repeated = (each) => dev.some(({ step, set }) => step === each.step && set === each.set);
  run.dev = [...run.dev.filter((each) => !repeated(each)), ...dev];
}
