// A scrolling viewport on a large drawing: only the visible part is drawn, so that a sentence of 512 tokens scrolls as
// smoothly as one of five. It is focusable, and passes pointer and key events to its owner.

import { el } from "./dom.js";
import { CanvasPen } from "./pen.js";

export class Stage {
  /** `owner` has `size() -> [width, height]`, `paint(pen, region)`, and optionally `point(x, y)`, `pick()`, `key(name)`. */
  constructor(owner, label, role = "application") {
    this.owner = owner;
    this.canvas = el("canvas", { "aria-hidden": true });
    this.space = el("div", { class: "space" }, this.canvas);
    this.element = el("div", { class: "stage", tabindex: 0, role, "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("pointermove", (event) => this.pointed(event));
    this.element.addEventListener("pointerdown", (event) => this.pointed(event));
    this.element.addEventListener("pointerleave", () => owner.point?.(-1, -1));
    this.element.addEventListener("click", () => owner.pick?.());
    this.element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !owner.key?.(event.key)) return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.theme && this.lay(this.theme)).observe(this.element);
  }

  pointed(event) {
    const box = this.element.getBoundingClientRect();
    this.owner.point?.(
      event.clientX - box.left - this.element.clientLeft + this.element.scrollLeft,
      event.clientY - box.top - this.element.clientTop + this.element.scrollTop,
    );
  }

  /** Update the layout after the size of the drawing may have changed. */
  lay(theme) {
    this.theme = theme;
    const [width, height] = this.owner.size(this.element.clientWidth);
    this.space.style.width = `${width}px`;
    this.space.style.height = `${height}px`;
    this.width = Math.min(width, this.element.clientWidth);
    this.height = Math.min(height, this.element.clientHeight);
    this.draw();
  }

  draw() {
    if (!this.theme || !this.width) return;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [this.width, this.height].map((x) => Math.ceil(x * scale));
    const { canvas } = this;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    const region = { x: this.element.scrollLeft, y: this.element.scrollTop, width: this.width, height: this.height };
    context.setTransform(scale, 0, 0, scale, -region.x * scale, -region.y * scale);
    this.owner.paint(new CanvasPen(context, this.theme), region);
  }

  /** Scroll a part of the drawing into view; `gutter` is the area covered at the left and top. */
  reveal(x, y, width, height, gutter = [0, 0]) {
    const { element } = this;
    const along = (start, length, from, size, covered) => {
      if (start - covered < from) return start - covered;
      return start + length > from + size ? start + length - size : from;
    };
    element.scrollLeft = along(x, width, element.scrollLeft, element.clientWidth, gutter[0]);
    element.scrollTop = along(y, height, element.scrollTop, element.clientHeight, gutter[1]);
  }

  /** The whole drawing, laid out for the available width, or wider if necessary. */
  picture(available) {
    const [width, height] = this.owner.size(available);
    const paint = (pen) => {
      this.owner.size(available);
      this.owner.paint(pen, { x: 0, y: 0, width, height });
      this.owner.size(this.element.clientWidth); // restore the layout on the screen
    };
    return { width, height, paint };
  }
}
