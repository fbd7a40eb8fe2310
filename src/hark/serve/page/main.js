// Starts the page: tabs, views, dialogs, keys.

import { html, nothing, render } from "./vendor/lit-html.js";
import { isThisMachine, openKeyboardHelp, openPrivacy, shortcutsOn } from "./about_dialogs.js";
import { Failure, get } from "./api.js";
import { Choice } from "./choice.js";
import { isOpen } from "./dialogs.js";
import { DocumentView } from "./document_view.js";
import { readFile, watchDrops } from "./files.js";
import { openHistory } from "./history_dialog.js";
import { helpIcon, historyIcon, moonIcon, sunIcon } from "./icons.js";
import { Languages } from "./languages.js";
import { openLook } from "./look_dialog.js";
import { failureNote } from "./notes.js";
import * as theme from "./theme.js";
import { TranslateView } from "./translate_view.js";
import { WriteView } from "./write_view.js";

const { dataset: offers } = document.documentElement;
const [translates, writes] = [offers.translates === "true", offers.writes === "true"];
const tabs = [
  ...(translates ? [{ name: "translate", title: "Translate" }, { name: "document", title: "Document" }] : []),
  ...(writes ? [{ name: "write", title: "Write" }] : []),
  ...(offers.runs === "true" ? [{ name: "runs", title: "Runs" }] : []),
];
const home = tabs[0]?.name ?? "translate"; // without any, its panel says what is missing
const panels = new Map([home, ...tabs.map(({ name }) => name)].map((name) => [name, document.getElementById(`panel-${name}`)]));
const views = new Map();
const state = { tab: home, failure: null };

const NOTHING = "This server has no model that translates or continues text. Programs may use its models by the API below.";

function show(tab) {
  views.get(state.tab)?.hide?.();
  state.tab = tab;
  history.replaceState(null, "", tab === home ? location.pathname : `#${tab}`); // the tab, never the text
  draw();
  views.get(tab)?.show?.();
  if (tab === "runs" && !views.has("runs")) openRuns();
}

/** The charts are loaded when they are first looked at. */
async function openRuns() {
  const { RunsView } = await import("./runs_view.js");
  if (views.has("runs")) return;
  views.set("runs", new RunsView(panels.get("runs")));
  if (state.tab === "runs") views.get("runs").show();
}

async function takeFiles([file, ...others]) {
  if (!file) return;
  state.failure = null;
  try {
    const read = await readFile(file);
    if (others.length) state.failure = { message: "One file at a time: only the first was taken." };
    const to = writes && (state.tab === "write" || !translates) ? "write" : "document";
    if (to === "write" && read.text === undefined) throw new Failure(`${read.name} is not plain text.`);
    if (!views.has(to)) return;
    show(to);
    views.get(to).open(read);
  } catch (error) {
    state.failure = error;
  }
  draw();
}

function tabKey(event) {
  const at = tabs.findIndex(({ name }) => name === state.tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  show(tabs[(to + tabs.length) % tabs.length].name);
  document.getElementById(`tab-${state.tab}`).focus();
}

function draw() {
  const dark = theme.current() === "dark";
  const iconButton = (label, icon, click, kind = "") => html`
    <button type="button" class="button only-icon ${kind}" aria-label=${label} title=${label} @click=${click}>${icon}</button>
  `;
  render(
    html`
      <a class="name" href="./" aria-label="Hark, start page">Hark</a>
      <div class="views" role="tablist" aria-label="Views" @keydown=${tabKey}>
        ${tabs.map(
          ({ name, title }) => html`
            <button
              type="button"
              role="tab"
              id="tab-${name}"
              aria-controls="panel-${name}"
              aria-selected=${name === state.tab}
              tabindex=${name === state.tab ? 0 : -1}
              @click=${() => show(name)}
            >
              ${title}
            </button>
          `,
        )}
      </div>
      <div class="tools">
        ${translates ? iconButton("History", historyIcon, openPast, "history") : nothing}
        ${iconButton(dark ? "Light colours" : "Dark colours", dark ? sunIcon : moonIcon, theme.toggle, "theme")}
        ${iconButton("Keyboard help", helpIcon, openKeyboardHelp, "help")}
      </div>
    `,
    document.getElementById("top"),
  );
  const dismiss = () => {
    state.failure = null;
    draw();
  };
  render(
    state.failure
      ? html`<div class="announcement">${failureNote(state.failure, null)}<button type="button" class="button" @click=${dismiss}>Dismiss</button></div>`
      : nothing,
    document.getElementById("announcement"),
  );
  for (const [name, panel] of panels) panel.hidden = name !== state.tab;
}

function openPast() {
  openHistory((entry) => {
    show("translate");
    const view = views.get("translate");
    view.choice.setTarget(entry.target);
    view.open(entry.text);
  });
}

function keydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isOpen()) return;
  const typing = event.target.closest?.("input, textarea, select");
  if (typing) {
    if (event.key === "Escape") typing.blur();
    return;
  }
  const translate = state.tab === "write" ? undefined : views.get("translate");
  const action = {
    "?": openKeyboardHelp,
    "/": () => panels.get(state.tab).querySelector("textarea")?.focus(),
    s: () => translate?.swap(),
    c: () => (translate ?? views.get("write"))?.copy(),
    l: () => translate?.look(),
    h: translates ? openPast : undefined,
    d: theme.toggle,
    ...Object.fromEntries(tabs.map(({ name }, at) => [at + 1, () => show(name)])),
  }[event.key];
  if (!action || !(shortcutsOn() || event.key === "?")) return;
  event.preventDefault();
  action();
}

function drawFooter() {
  const where = isThisMachine() ? "Everything stays on this machine" : "Where your text goes";
  render(
    html`
      <button type="button" class="link" @click=${openPrivacy}>${where}</button>
      <button type="button" class="link" @click=${openKeyboardHelp}>Keyboard</button>
      <a href="docs">API</a>
    `,
    document.getElementById("foot"),
  );
}

async function start() {
  if (!translates) {
    if (!tabs.length) render(html`<p class="nothing">${NOTHING}</p>`, panels.get("translate"));
    return;
  }
  try {
    const { languages } = await get("api/v1/languages");
    const choice = new Choice(new Languages(languages));
    const openDocument = (text) => {
      show("document");
      views.get("document").open({ name: "", text });
    };
    const actions = { openFile: (file) => takeFiles([file]), openDocument, openLook };
    views.set("translate", new TranslateView(panels.get("translate"), choice, actions));
    views.set("document", new DocumentView(panels.get("document"), choice, actions));
    if (state.tab === "translate") views.get("translate").field.focus();
  } catch (error) {
    render(failureNote(error, start), panels.get("translate"));
  }
}

if (writes) views.set("write", new WriteView(panels.get("write")));
addEventListener("keydown", keydown);
theme.onChange(draw);
watchDrops(takeFiles);
drawFooter();
const asked = location.hash.slice(1);
if (panels.has(asked)) show(asked);
else if (translates) draw();
else {
  show(home);
  views.get(home)?.focus?.();
}
start();
