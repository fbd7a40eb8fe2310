// The page: `mount(root, look)` builds all views inside an element. Used by the page in a file, notebooks and servers.

import { choice, el, keepingFocus, revealIn, roving, toggle } from "./dom.js";
import { Theme } from "./colour.js";
import { EffectsView } from "./effects.js";
import { GridView } from "./grid.js";
import { LinesView } from "./lines.js";
import { Look, capitalised } from "./look.js";
import { MatrixView } from "./matrix.js";
import { download, pictureOf, pngFile, svgFile } from "./picture.js";
import { PredictView } from "./predict.js";
import { SearchView } from "./search.js";
import { SentenceView } from "./sentence.js";
import { WhyView } from "./why.js";

const allViews = ({ source, written }) => [
  {
    name: "sentence",
    tab: capitalised(written),
    make: SentenceView,
    description: `Point at a word of the ${written} to see which words of the ${source} it came from. The model writes the ${written} from start to end, one token at a time, and can look at the whole ${source} at every step.`,
  },
  {
    name: "grid",
    tab: "All heads",
    make: GridView,
    description: "An attention head is one way of looking at words. The model has many, and each learnt its role by itself. Each thumbnail is one head: rows are the words that look, columns the words they look at; stronger colour means more weight. Click one to open it.",
  },
  {
    name: "lines",
    tab: "Lines",
    make: LinesView,
    description: "Lines connect each word on the left to the words on the right that it looks at. Stronger lines mean more weight. Each head has its own colour.",
  },
  {
    name: "matrix",
    tab: "Table",
    make: MatrixView,
    description: "The same weights as numbers. The word at the left of a row looks at the words above the columns; the weights of a row add up to 1, including start and end.",
  },
  {
    name: "why",
    tab: "Why",
    make: WhyView,
    description: "How one weight of the table is computed: equation 1 of the paper, step by step, with the numbers of this sentence.",
  },
  {
    name: "search",
    tab: "Search",
    make: SearchView,
    description: `The ${written} is written one token at a time. At each step the model gives a probability to every possible next token. Beam search keeps the few best hypotheses (the beam), extends them, and drops the rest. The bold path won.`,
  },
  {
    name: "effects",
    tab: "What if",
    make: EffectsView,
    description: "Attention shows where the model looked, not what made the difference. That can be measured: remove something and see what changes.",
  },
];

const OF_TWO_TEXTS = ["sentence", "search"];
/** What is expected in a text that is given: the first view of a model of one stack, else in place of the search. */
const PREDICTIONS = {
  name: "predict",
  tab: "Predictions",
  make: PredictView,
};
const DECODES =
  "A decoder reads a text from start to end, and at each place gives every possible next token a probability. Stronger colour means that the token that came was more expected. Point at one to see what else was.";
const FILLS =
  "An encoder sees the words on both sides. Each token was hidden in turn: stronger colour means that the model expects it where it stands. Point at one to see what else could stand there.";

const WRITES =
  "The output was given. At each place of it, the model gives every possible next token a probability. Stronger colour means that the token that came was more expected. Point at one to see what else was.";

function viewsOf(look) {
  const views = allViews(look.nouns);
  if (!look.alone) {
    const given = { ...PREDICTIONS, description: WRITES };
    return look.head.beam ? views : views.map((view) => (view.name === "search" ? given : view));
  }
  const description = look.kinds[0] === "decoder" ? DECODES : FILLS;
  const first = look.head.expected.some(Boolean) ? [{ ...PREDICTIONS, description }] : [];
  return [...first, ...views.filter(({ name }) => !OF_TWO_TEXTS.includes(name))];
}

const WHOLE_WORDS = "Merge the tokens of each word";
const START_AND_END = "Show the start and end tokens, which heads often look at when they have nothing to do";
const AVERAGE = "One set of lines: the mean of the selected heads";
const WITH_HEADS = ["lines", "matrix", "why"];
const WITH_WORDS = ["grid", "lines", "matrix"];

/** The state of the page. Views read and set it; every change triggers a redraw. */
class Store {
  constructor(initial, changed) {
    Object.assign(this, {
      view: "sentence",
      kind: "cross",
      layer: 0,
      heads: [],
      head: 0,
      mean: false,
      words: true,
      marks: true,
      mode: "needed",
      chosenWord: null,
      place: null,
      held: null,
      cell: null,
      lockedRow: null,
      why: null,
      step: null,
      beamRow: 0,
      change: null,
    });
    Object.assign(this, initial);
    this.changed = changed;
  }

  set(patch) {
    const other = ["kind", "words", "marks"].some((key) => key in patch && patch[key] !== this[key]);
    if (other) Object.assign(this, { held: null, cell: null, lockedRow: null, why: null });
    Object.assign(this, patch);
    this.changed(patch);
  }

  open(kind, layer, head) {
    this.set({ view: "lines", kind, layer, heads: [head], head, mean: false });
  }
}

/**
 * `seams.measure`, if effects can be measured live, maps a change to its effect. `seams.theme`, if the view is part of a
 * page with its own colours, has `current()` and `onChange(listener)`; the view then has no header and footer.
 */
export function mount(root, look, seams = {}) {
  const { head } = look;
  const all = Array.from({ length: head.heads }, (_, at) => at);
  const offered = viewsOf(look);
  const { layer, heads } = head.alignment ?? { layer: 0, heads: [0] };
  const long = look.source.tokens.length > 48; // with all heads there would be too many lines to see
  const initial = { view: offered[0].name, layer, heads: long ? heads.slice(0, 1) : all, head: heads[0], ...head.open };
  const store = new Store(initial, () => draw());
  const shell = { theme: null };

  root.classList.add("hark-look");
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
  const description = el("p", { class: "says lead" });
  const caption = el("div", { class: "caption" });
  const tools = el("div", { class: "toolbar", role: "group", "aria-label": "Display options" });
  const stage = el("div", { class: "panels" });
  const saving = el("div", { class: "saving", role: "group", "aria-label": "Save this view" });
  const scheme = el("button", { type: "button", class: "quiet scheme" });
  scheme.addEventListener("click", () => retheme(shell.theme.dark ? "light" : "dark"));
  const does = look.alone ? `${look.kinds[0]} alone` : (head.languages?.join(" to ") ?? "text to text");
  const header = el(
    "header",
    {},
    el("p", { class: "over" }, "Hark · look inside"),
    el("p", { class: "model" }, `${head.model} · ${does}`),
    scheme,
  );
  const footer = el("footer", {}, "Made by ", el("code", {}, "hark look"), ". This file is self-contained; it makes no network requests.");
  root.append(
    ...(seams.theme ? [] : [header]),
    ...head.notes.map((note) => el("p", { class: "notice" }, `${note}.`)),
    el("nav", {}, tabs, saving),
    description,
    caption,
    tools,
    stage,
    ...(seams.theme ? [] : [footer]),
  );

  const views = new Map();
  for (const { name, tab, make } of offered) {
    const button = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}` }, tab);
    button.addEventListener("click", () => store.set({ view: name }));
    tabs.append(button);
    const view = new make(look, store, shell, seams.measure);
    const panel = el("div", { role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}`, hidden: true }, view.element);
    stage.append(panel);
    views.set(name, { view, panel, button });
  }
  roving(tabs, () => [...tabs.children], (button) => button.click());
  for (const [kind, make] of [["svg", svgFile], ["png", pngFile]]) {
    const format = kind.toUpperCase();
    const label = `Save this view as ${format}`;
    const button = el("button", { type: "button", class: "quiet", "aria-label": label }, format);
    button.addEventListener("click", async () => {
      const { view } = views.get(store.view);
      await view.complete?.();
      const picture = view.picture ? view.picture() : pictureOf(view.element);
      download(await make(picture, shell.theme), `hark-${store.view}.${kind}`);
    });
    saving.append(button);
  }

  function draw() {
    for (const [name, { panel, button }] of views) {
      const on = name === store.view;
      panel.hidden = !on;
      button.setAttribute("aria-selected", on);
      button.tabIndex = on ? 0 : -1;
    }
    description.textContent = offered.find(({ name }) => name === store.view).description;
    caption.replaceChildren(...captionOf(look, store));
    keepingFocus(tools, () => tools.replaceChildren(...toolsOf(look, store, shell, all)));
    tools.hidden = !tools.children.length;
    revealIn(tabs, views.get(store.view).button);
    for (const on of tools.querySelectorAll('.choice [aria-checked="true"]')) revealIn(on.parentElement, on);
    return render();
  }

  /** Render one at a time: unpacking is asynchronous, and the latest request must be drawn last. */
  const work = { running: false, again: false };
  async function render() {
    work.again = true;
    if (work.running) return;
    work.running = true;
    root.setAttribute("aria-busy", true);
    try {
      while (work.again) {
        work.again = false;
        await views.get(store.view).view.render();
      }
    } finally {
      work.running = false;
      root.setAttribute("aria-busy", false);
    }
  }

  function retheme(name) {
    root.dataset.theme = name;
    shell.theme = new Theme(root);
    scheme.textContent = shell.theme.dark ? "Light" : "Dark";
    scheme.setAttribute("aria-label", `Switch to ${shell.theme.dark ? "light" : "dark"} colours`);
    return draw();
  }

  if (seams.theme) {
    const stop = seams.theme.onChange((name) => (root.isConnected ? retheme(name) : stop()));
    return retheme(seams.theme.current());
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => retheme(dark.matches ? "dark" : "light"));
  return retheme(dark.matches ? "dark" : "light");
}

/** The description of a preset, and how its heads were found. */
function captionOf(look, store) {
  const { preset } = look.head;
  if (!preset || store.view !== "lines") return [];
  const found = preset.found.map(({ layer, head, about, weight, usual }) => {
    const name = `${layer + 1}:${head + 1}`;
    const button = el("button", { type: "button", class: "quiet", "aria-label": `Show head ${name} alone` }, name);
    const { held } = look.head.open;
    button.addEventListener("click", () => store.set({ kind: "encoder", layer, heads: [head], head, mean: false, held }));
    const gives = ` gives ${weight < 0.1 ? "only " : ""}${weight.toFixed(2)} ${about}`;
    return el("li", {}, button, `${gives}; its mean weight at the same distances is ${usual.toFixed(2)}.`);
  });
  const count = look.layers("encoder") * look.head.heads;
  const how = `After figure ${preset.figure} of the paper. Of the ${count} encoder heads, these give the most weight to those words, compared with their usual weight at the same distances.`;
  const back = el("button", { type: "button", class: "quiet" }, "Reset view");
  back.addEventListener("click", () => store.set({ words: true, marks: true, ...look.head.open }));
  return [el("h2", {}, preset.title), el("p", { class: "soft" }, how), el("ul", {}, found), back];
}

function toolsOf(look, store, shell, all) {
  const { view, kind, layer } = store;
  const found = [];
  const group = (label, ...inside) => el("div", { class: "tool" }, el("span", { class: "over" }, label), ...inside);
  if (view === "sentence" && look.head.effects) {
    const options = [
      { value: "needed", text: "What it needed (measured)" },
      { value: "looked", text: "Where it looked (attention)" },
    ];
    found.push(group("Show", choice("Meaning of the lines", options, store.mode, (mode) => store.set({ mode }))));
  }
  if (WITH_HEADS.includes(view)) {
    const kinds = look.kinds.map((value) => {
      const { name, description } = look.wordsOf(value);
      return { value, text: name, title: description };
    });
    const chooseKind = (to) => store.set({ kind: to, layer: Math.min(layer, look.layers(to) - 1) });
    const layers = Array.from({ length: look.layers(kind) }, (_, value) => ({ value, text: value + 1 }));
    found.push(
      ...(look.alone ? [] : [group("Attention", choice("Attention", kinds, kind, chooseKind))]),
      group("Layer", choice("Layer", layers, layer, (to) => store.set({ layer: to }))),
      view === "lines" ? group("Heads", headToggles(look, store, shell, all)) : group("Head", headChoice(look, store, shell, all)),
    );
  }
  if (WITH_WORDS.includes(view)) {
    const marked = !look.alone || look.source.marks.some(Boolean);
    found.push(
      el(
        "div",
        { class: "tool switches" },
        toggle("Whole words", store.words, (words) => store.set({ words }), WHOLE_WORDS),
        marked && toggle("Start and end", store.marks, (marks) => store.set({ marks }), START_AND_END),
      ),
    );
  }
  return found;
}

function headToggles(look, store, shell, all) {
  const group = el("div", { class: "chips", role: "group", "aria-label": "Heads shown" });
  for (const number of all) {
    const on = store.heads.includes(number);
    const state = { "aria-pressed": on, "aria-label": `Head ${number + 1}`, "data-value": `head ${number}` };
    const chip = el("button", { type: "button", class: "chip", ...state }, number + 1);
    chip.style.setProperty("--own", shell.theme.head(number, all.length));
    chip.addEventListener("click", () => {
      const heads = on ? store.heads.filter((each) => each !== number) : [...store.heads, number].sort((a, b) => a - b);
      store.set({ heads, ...(on ? {} : { head: number }) });
    });
    group.append(chip);
  }
  const everything = store.heads.length === all.length;
  const switchAll = el("button", { type: "button", class: "quiet", "data-value": "all heads" }, everything ? "None" : "All");
  switchAll.addEventListener("click", () => store.set({ heads: everything ? [] : all }));
  group.append(switchAll, toggle("Average", store.mean, (mean) => store.set({ mean }), AVERAGE));
  return group;
}

function headChoice(look, store, shell, all) {
  const options = all.map((value) => ({ value, text: value + 1, colour: shell.theme.head(value, all.length) }));
  if (store.view === "matrix") options.push({ value: "mean", text: "Average", title: "The mean of all heads in the layer" });
  return choice("Head", options, store.head, (head) => store.set({ head, ...(head === "mean" ? {} : { heads: [head] }) }));
}

/** The entry point of the page in a file: all data is in the document. */
export function open() {
  const head = JSON.parse(document.getElementById("hark-head").textContent);
  const look = Look.fromBase64(head, document.getElementById("hark-blocks").textContent);
  return mount(document.getElementById("hark-look"), look);
}
