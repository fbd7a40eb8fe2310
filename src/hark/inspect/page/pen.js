// One drawing interface with two back ends: a canvas, for the screen and PNG, and SVG.
//
// Text is set on its baseline. `align` is left, right or center; `turn` is in degrees around the text's origin.

export class CanvasPen {
  constructor(context, theme) {
    this.context = context;
    this.theme = theme;
  }

  rect(x, y, width, height, { fill, stroke, alpha = 1, radius = 0 } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.beginPath();
    if (radius) context.roundRect(x, y, width, height, radius);
    else context.rect(x, y, width, height);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = 1;
      context.stroke();
    }
  }

  /** A straight line, or joined cubic curves: the first point, then two control points and an end point for each. */
  path(points, { stroke, width = 1, alpha = 1, dash = [] } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(points[0], points[1]);
    if (points.length === 4) context.lineTo(points[2], points[3]);
    else for (let at = 2; at < points.length; at += 6) context.bezierCurveTo(...points.slice(at, at + 6));
    context.stroke();
    context.setLineDash([]);
  }

  text(x, y, words, { size = 14, weight = 400, italic = false, fill, alpha = 1, align = "left", turn = 0, family } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.fillStyle = fill || this.theme.ink;
    context.font = fontOf(this.theme, size, weight, italic, family);
    context.textAlign = align;
    const shown = isolated(words);
    if (!turn) {
      context.fillText(shown, x, y);
      return;
    }
    context.save();
    context.translate(x, y);
    context.rotate((turn * Math.PI) / 180);
    context.fillText(shown, 0, 0);
    context.restore();
  }

  image(canvas, x, y, width, height) {
    this.context.globalAlpha = 1;
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(canvas, x, y, width, height);
  }
}

export class SvgPen {
  constructor(theme) {
    this.theme = theme;
    this.parts = [];
  }

  rect(x, y, width, height, { fill, stroke, alpha = 1, radius = 0 } = {}) {
    if (width <= 0 || height <= 0) return;
    this.add("rect", { x, y, width, height, rx: radius || null, fill: fill || "none", stroke, opacity: opaque(alpha) });
  }

  path(points, { stroke, width = 1, alpha = 1, dash = [] } = {}) {
    const [x, y, ...rest] = points.map(short);
    const d = `M${x} ${y}${rest.length === 2 ? "L" : "C"}${rest.join(" ")}`;
    const dashes = dash.length ? dash.join(" ") : null;
    this.add("path", { d, fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dashes, opacity: opaque(alpha) });
  }

  text(x, y, words, { size = 14, weight = 400, italic = false, fill, alpha = 1, align = "left", turn = 0, family } = {}) {
    const attributes = {
      x,
      y,
      fill: fill || this.theme.ink,
      "font-family": family || this.theme.font,
      "font-size": size,
      "font-weight": weight === 400 ? null : weight,
      "font-style": italic ? "italic" : null,
      "text-anchor": { left: null, center: "middle", right: "end" }[align],
      opacity: opaque(alpha),
      transform: turn ? `rotate(${turn} ${short(x)} ${short(y)})` : null,
    };
    this.add("text", attributes, isolated(words));
  }

  image(canvas, x, y, width, height) {
    const href = canvas.toDataURL("image/png");
    this.add("image", { x, y, width, height, href, preserveAspectRatio: "none", style: "image-rendering:pixelated" });
  }

  add(tag, attributes, words) {
    const pairs = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
    const written = pairs.map(([name, value]) => ` ${name}="${escaped(typeof value === "number" ? short(value) : value)}"`);
    const open = `<${tag}${written.join("")}`;
    this.parts.push(words === undefined ? `${open}/>` : `${open}>${escaped(words)}</${tag}>`);
  }

  file(width, height) {
    const size = `width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

const fromTheRight = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
/** Isolate right-to-left text, so that punctuation around it is on the correct side. */
const isolated = (words) => (fromTheRight.test(words) ? `\u2067${words}\u2069` : words);
const short = (number) => String(Math.round(number * 100) / 100);
const opaque = (alpha) => (alpha === 1 ? null : Math.round(alpha * 1000) / 1000);
const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Escape text for XML, and replace the characters that XML does not allow. */
const escaped = (value) =>
  String(value)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replace(/[&<>"]/g, (each) => entities[each]);

function fontOf(theme, size, weight, italic, family) {
  return `${italic ? "italic " : ""}${weight} ${size}px ${family || theme.font}`;
}

const measuring = { context: null, widths: new Map() };

/** The width of a text in the page's font. */
export function widthOf(theme, words, size = 14, weight = 400) {
  const key = `${size} ${weight} ${words}`;
  let width = measuring.widths.get(key);
  if (width === undefined) {
    measuring.context ??= document.createElement("canvas").getContext("2d");
    measuring.context.font = fontOf(theme, size, weight, false);
    width = measuring.context.measureText(words).width;
    measuring.widths.set(key, width);
  }
  return width;
}
