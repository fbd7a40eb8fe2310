// One chart of training curves, drawn by uPlot. The pointer is shared by all charts; the caption shows the values there.

import uPlot from "./vendor/uplot.js";
import { exact, short } from "./numbers.js";

const HEIGHT = 200;
const DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3]]; // several dev sets of a run share its colour

/**
 * @typedef {{name: string, colour: string, xs: number[], ys: (number | null)[], faint?: boolean, dots?: boolean,
 *   stroke?: number}} Curve
 * `colour` is the name of a custom property.
 */

export class CurveChart {
  /** @param {{title: string, note: string, fromZero?: boolean}} about */
  constructor({ title, note, fromZero = false }) {
    this.fromZero = fromZero;
    this.element = document.createElement("figure");
    this.element.setAttribute("aria-label", title);
    const caption = this.element.appendChild(document.createElement("figcaption"));
    caption.appendChild(document.createElement("b")).textContent = title;
    this.readout = caption.appendChild(document.createElement("span"));
    this.note = this.readout.textContent = note;
    this.frame = this.element.appendChild(document.createElement("div"));
    this.curves = [];
    this.plot = null;
    new ResizeObserver(() => this.resize()).observe(this.frame);
  }

  /** @param {Curve[]} curves */
  show(curves) {
    const shape = (all) => JSON.stringify(all.map(({ name, colour, faint, dots, stroke }) => [name, colour, faint, dots, stroke]));
    const same = this.plot && shape(curves) === shape(this.curves);
    this.curves = curves;
    const data = curves.length ? uPlot.join(curves.map(({ xs, ys }) => [xs, ys])) : [[]];
    if (same) this.plot.setData(data, this.plot.scales.x.min === this.reach?.[0] && this.plot.scales.x.max === this.reach?.[1]);
    else this.make(data);
    this.reach = [data[0][0], data[0].at(-1)];
    this.describe();
  }

  /** Draw again in the current colours. */
  recolour() {
    if (this.plot) this.make(this.plot.data);
  }

  make(data) {
    const { left = -1, top = -1 } = this.plot?.cursor ?? {};
    this.plot?.destroy();
    const paint = painter(this.frame);
    const axis = { stroke: paint("--soft"), grid: { stroke: paint("--line"), width: 1 }, ticks: { show: false }, font: `11px ${fontOf(this.frame)}` };
    const options = {
      width: this.frame.clientWidth || 480,
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: "hark-runs" }, points: { size: 6 }, y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (_, low, high) => [low ?? 0, high ?? 1] }, y: { range: (_, low, high) => this.range(low, high) } },
      axes: [
        { ...axis, grid: { show: false }, size: 28, space: 70, values: (_, ticks) => ticks.map((each) => short(each)) },
        { ...axis, size: 52, values: (_, ticks) => ticks.map((each) => short(each)) },
      ],
      series: [
        {},
        ...this.curves.map(({ colour, faint, dots, stroke = 0 }) => ({
          stroke: paint(colour, faint ? 0.28 : 1),
          width: faint ? 1 : 1.75,
          dash: DASHES[stroke % DASHES.length],
          spanGaps: true,
          points: { show: Boolean(dots), size: 5, fill: paint(colour), stroke: paint(colour) },
        })),
      ],
      hooks: { setCursor: [() => this.describe()] },
    };
    this.plot = new uPlot(options, data, this.frame);
    if (left >= 0) this.plot.setCursor({ left, top }, false); // the pointer has not moved
  }

  range(low, high) {
    if (low === null || low === undefined || high === null || high === undefined) return [0, 1];
    if (low === high) return low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
    const room = 0.06 * (high - low);
    return [this.fromZero ? 0 : low - room, high + room];
  }

  resize() {
    if (this.plot && this.frame.clientWidth) this.plot.setSize({ width: this.frame.clientWidth, height: HEIGHT });
  }

  /** The values at the pointer, in words. */
  describe() {
    const left = this.plot?.cursor.left ?? -1;
    if (left < 0 || !this.curves.length) {
      this.readout.textContent = this.note;
      return;
    }
    const x = this.plot.posToVal(left, "x");
    const solid = this.curves.filter(({ faint }) => !faint);
    const found = solid.map((curve) => ({ curve, at: nearest(curve, x) })).filter(({ at }) => at >= 0);
    const several = solid.length > 1;
    const parts = found.map(({ curve, at }) => `${several ? `${curve.name} ` : ""}${exact(curve.ys[at])}`);
    const step = found.length ? Math.round(found[0].curve.xs[found[0].at]) : Math.round(x);
    this.readout.textContent = `step ${step.toLocaleString("en")}: ${parts.join(", ")}`;
  }
}

function nearest({ xs, ys }, x) {
  let best = -1;
  for (let at = 0; at < xs.length; at++) {
    if (ys[at] === null) continue;
    if (best < 0 || Math.abs(xs[at] - x) < Math.abs(xs[best] - x)) best = at;
  }
  return best;
}

const fontOf = (element) => getComputedStyle(element).fontFamily;

/** A canvas cannot read custom properties: resolve them with an element. */
function painter(parent) {
  return (name, alpha = 1) => {
    const probe = parent.appendChild(document.createElement("i"));
    probe.style.color = `color-mix(in srgb, var(${name}) ${100 * alpha}%, transparent)`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
