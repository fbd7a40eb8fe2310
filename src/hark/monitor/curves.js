"use strict";
// Redraws the charts when the axis, scale, visible runs, window size or zoom changes.

const data = JSON.parse(document.getElementById("data").textContent);
const plots = [...document.querySelectorAll(".plot")];
const state = { axis: data.axis, log: false, hidden: new Set(), zoom: null };
const left = 54, right = 12, above = 8, bottom = 24;

// Number formats, the same as on the terminal.

function trim(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function short(value, digits = 3) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return trim(value.toExponential(1).replace("e", "×")).replace(/\.0×/, "×").replace("×", "e");
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return trim((value / unit).toPrecision(digits + 1)) + letter;
  }
  return trim(value.toPrecision(digits));
}

// Labels of an axis, with as many digits as it takes to make them distinct.
function labels(ticks) {
  for (let digits = 3; digits < 9; digits++) {
    const texts = ticks.map((tick) => short(tick, digits));
    if (new Set(texts).size === ticks.length) return texts;
  }
  return ticks.map((tick) => short(tick, 9));
}

function exact(value) {
  const size = Math.abs(value);
  if (size >= 1e4) return Math.round(value).toLocaleString("en");
  return size !== 0 && size < 1e-3 ? value.toExponential(3) : trim(value.toFixed(size >= 100 ? 1 : 4));
}

function clock(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0";
  const [size, name] = units[first];
  const whole = Math.floor(seconds / size + 1e-9);
  const rest = first + 1 < units.length ? Math.round((seconds - whole * size) / units[first + 1][0]) : 0;
  return `${whole} ${name}` + (rest ? ` ${rest} ${units[first + 1][1]}` : "");
}

function place(x) {
  if (state.axis === "time") return clock(x);
  return state.axis === "step" ? `step ${Math.round(x).toLocaleString("en")}` : `${short(x)} target tokens`;
}

// Ticks.

function nice(least, bases) {
  const size = 10 ** Math.floor(Math.log10(least));
  return (bases.find((base) => base * size >= least * 0.999) ?? 10) * size;
}

function linearTicks(low, high, most, step = nice((high - low) / most, [1, 2, 5, 10])) {
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
  return ticks;
}

function timeTicks(low, high, most) {
  const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const least = (high - low) / most;
  return linearTicks(low, high, most, steps.find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400);
}

function logTicks(low, high, most) {
  if (high / low < 8) return linearTicks(low, high, most);
  const ticks = [];
  const decades = Math.log10(high / low);
  const bases = decades > most ? [1] : decades > most / 3 ? [1, 3] : [1, 2, 5];
  const jump = Math.max(1, Math.ceil(decades / most));
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += jump) {
    for (const base of bases) {
      const tick = base * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

// Geometry.

function reach(curves) {
  return [0, Math.max(0, ...curves.map((curve) => curve[state.axis].at(-1) ?? 0)) || 1];
}

function heights(curves, [from, to], fromZero) {
  let low = fromZero && !state.log ? 0 : Infinity, high = -Infinity;
  for (const curve of curves) {
    const xs = curve[state.axis];
    curve.values.forEach((value, i) => {
      if (xs[i] >= from && xs[i] <= to && (!state.log || value > 0)) {
        low = Math.min(low, value); high = Math.max(high, value);
      }
    });
  }
  if (low > high) return [state.log ? 0.1 : 0, 1];
  if (low === high) return state.log ? [low / 2, high * 2] : low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  if (state.log) { const room = (high / low) ** 0.05; return [low / room, high * room]; }
  const room = (high - low) * 0.05;
  return [low >= 0 && low < high / 10 ? 0 : low - room, high + room];
}

function nearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
}

const visible = (chart) => chart.curves.filter((curve) => !state.hidden.has(curve.run));
const colour = (run) => `var(--run${run % 8})`;
// There are eight colours; a ninth run has the first colour with another stroke.
const stroke = (curve) => (curve.stroke + Math.floor(curve.run / 8)) % 4;

function element(parent, name, attributes, text) {
  const node = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
}

// Drawing.

function draw(index) {
  const chart = data.charts[index], plot = plots[index], svg = plot.querySelector("svg");
  const width = svg.clientWidth, height = svg.clientHeight;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const curves = visible(chart);
  const span = state.zoom ?? reach(data.charts.flatMap(visible));
  const [low, high] = heights(curves, span, chart.fromZero);
  const scale = state.log ? Math.log : (value) => value;
  const x = (value) => left + ((value - span[0]) / (span[1] - span[0])) * (width - left - right);
  const y = (value) => above + (1 - (scale(value) - scale(low)) / (scale(high) - scale(low))) * (height - above - bottom);
  plot.frame = { x, y, span, width, height };

  const levels = (state.log ? logTicks : linearTicks)(low, high, height > 260 ? 6 : 5);
  const names = labels(levels);
  levels.forEach((tick, at) => {
    element(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) });
    element(svg, "text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, names[at]);
  });
  const room = Math.max(2, Math.floor((width - left - right) / 75));
  for (const tick of (state.axis === "time" ? timeTicks : linearTicks)(...span, room)) {
    const label = state.axis === "time" ? clock(tick) : short(tick);
    const anchor = x(tick) > width - right - 20 ? "end" : "middle";
    element(svg, "text", { x: anchor === "end" ? width : x(tick), y: height - 6, "text-anchor": anchor }, label);
  }
  element(svg, "line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });

  const clip = element(svg, "clipPath", { id: `clip${index}` });
  const rim = state.zoom ? 0 : 7; // room for dots at the edge
  element(clip, "rect", { x: left - rim, y: 0, width: width - left - right + 2 * rim, height: height - bottom + rim });
  const layer = element(svg, "g", { "clip-path": `url(#clip${index})` });
  for (const curve of [...curves].sort((a, b) => b.faint - a.faint)) {
    const xs = curve[state.axis];
    let path = "", pen = "M";
    curve.values.forEach((value, i) => {
      if (state.log && value <= 0) { pen = "M"; return; }
      path += `${pen}${x(xs[i]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    });
    const style = `stroke:${colour(curve.run)}`;
    element(layer, "path", { class: `curve s${stroke(curve)}${curve.faint ? " faint" : ""}`, d: path, style });
    if (chart.dots && xs.length <= 60) {
      curve.values.forEach((value, i) => {
        if (!state.log || value > 0) element(layer, "circle", { cx: x(xs[i]), cy: y(value), r: 2.2, style: `fill:${colour(curve.run)}` });
      });
    }
    const best = curve.best === null ? -1 : curve.step.indexOf(curve.best);
    if (best >= 0) element(layer, "circle", { class: "best", cx: x(xs[best]), cy: y(curve.values[best]), r: 4.5, style });
  }
  plot.over = element(svg, "g", {});
}

function drawAll() {
  data.charts.forEach((_, index) => draw(index));
  document.querySelector(".all").hidden = state.zoom === null;
  leave();
}

// Hover: a vertical line in every chart, and a tooltip with the values of all runs in the one under the pointer.

function point(index, at) {
  plots.forEach((plot, i) => {
    const { x, y, span, height } = plot.frame;
    plot.over.replaceChildren();
    element(plot.over, "line", { class: "cross", x1: x(at), x2: x(at), y1: above, y2: height - bottom });
    const rows = [];
    for (const curve of visible(data.charts[i])) {
      const xs = curve[state.axis];
      if (!xs.length) continue;
      const n = nearest(xs, at);
      const slack = (span[1] - span[0]) / 50;
      if (at < xs[0] - slack || at > xs[xs.length - 1] + slack) continue;
      rows.push({ curve, value: curve.values[n], x: xs[n] });
      if (!curve.faint && xs[n] >= span[0] && xs[n] <= span[1] && (!state.log || curve.values[n] > 0)) {
        element(plot.over, "circle", { cx: x(xs[n]), cy: y(curve.values[n]), r: 3.5, style: `fill:${colour(curve.run)}` });
      }
    }
    const tip = plot.querySelector(".tip");
    tip.hidden = i !== index || !rows.length;
    if (!tip.hidden) fill(tip, plot, rows, at);
  });
}

function html(parent, name, className, text) {
  const node = document.createElement(name);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
}

function fill(tip, plot, rows, at) {
  tip.replaceChildren();
  const { x, width } = plot.frame;
  const own = rows.filter((row) => !row.curve.faint);
  html(tip, "div", "head", place(own.length === 1 ? own[0].x : at));
  for (const { curve, value, x: position } of own) {
    const row = html(tip, "div", "row");
    html(row, "i", "swatch").style.background = colour(curve.run);
    const name = html(row, "span", "", [data.runs[curve.run], curve.set].filter(Boolean).join(" · "));
    // A run that logged at other steps shows the step of its nearest value.
    if (own.length > 1 && position !== at && state.axis === "step") html(name, "small", "", `at ${position.toLocaleString("en")}`);
    const raw = rows.find((other) => other.curve.faint && other.curve.run === curve.run);
    const figure = html(row, "b", "", exact(value));
    if (raw) html(figure, "small", "", `raw ${exact(raw.value)}`);
  }
  const beside = x(at) + 14;
  const fits = beside + tip.offsetWidth < width;
  tip.style.transform = `translate(${Math.max(0, fits ? beside : x(at) - 14 - tip.offsetWidth)}px, 6px)`;
}

function leave() {
  for (const plot of plots) {
    plot.over?.replaceChildren();
    plot.querySelector(".tip").hidden = true;
  }
}

plots.forEach((plot, index) => {
  let start = null;
  const where = (event) => {
    const { span, width } = plot.frame;
    const share = (event.clientX - plot.getBoundingClientRect().left - left) / (width - left - right);
    return span[0] + Math.min(Math.max(share, 0), 1) * (span[1] - span[0]);
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) { start = where(event); plot.setPointerCapture(event.pointerId); }
    point(index, where(event));
  });
  plot.addEventListener("pointermove", (event) => {
    const at = where(event);
    point(index, at);
    if (start !== null) {
      const { x, height } = plot.frame;
      const [from, to] = [x(Math.min(start, at)), x(Math.max(start, at))];
      element(plot.over, "rect", { class: "range", x: from, width: to - from, y: above, height: height - above - bottom });
    }
  });
  plot.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const at = where(event), { x } = plot.frame;
    const range = [Math.min(start, at), Math.max(start, at)];
    start = null;
    if (x(range[1]) - x(range[0]) > 8) { state.zoom = range; drawAll(); }
  });
  plot.addEventListener("pointercancel", () => { start = null; leave(); });
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
  plot.addEventListener("dblclick", () => { state.zoom = null; drawAll(); });
});

// Controls.

function press(group, chosen) {
  for (const button of group) button.setAttribute("aria-pressed", String(button === chosen));
}

const axes = [...document.querySelectorAll("[data-axis]")], scales = [...document.querySelectorAll("[data-scale]")];
for (const button of axes) {
  button.addEventListener("click", () => { press(axes, button); state.axis = button.dataset.axis; state.zoom = null; drawAll(); });
}
for (const button of scales) {
  button.addEventListener("click", () => { press(scales, button); state.log = button.dataset.scale === "log"; drawAll(); });
}
for (const chip of document.querySelectorAll("[data-run]")) {
  chip.addEventListener("click", () => {
    const run = Number(chip.dataset.run);
    if (!state.hidden.delete(run)) state.hidden.add(run);
    chip.setAttribute("aria-pressed", String(!state.hidden.has(run)));
    drawAll();
  });
}
document.querySelector(".all").addEventListener("click", () => { state.zoom = null; drawAll(); });
new ResizeObserver(drawAll).observe(document.querySelector("main"));
drawAll();
