// Exports a view as SVG, or as PNG at twice the size. Pen drawings are drawn again; elements laid out by the browser
// (words, bars, cards) are read back from their positions.

import { CanvasPen, SvgPen } from "./pen.js";

const MARGIN = 24;
const LARGEST = 12000; // maximum side in pixels: browsers reject much larger canvases

export function svgFile({ width, height, paint }, theme) {
  const pen = new SvgPen(theme);
  const [outerWidth, outerHeight] = [width + 2 * MARGIN, height + 2 * MARGIN];
  pen.rect(0, 0, outerWidth, outerHeight, { fill: theme.paper });
  pen.parts.push(`<g transform="translate(${MARGIN} ${MARGIN})">`);
  paint(pen);
  pen.parts.push("</g>");
  return new Blob([pen.file(outerWidth, outerHeight)], { type: "image/svg+xml" });
}

export async function pngFile({ width, height, paint }, theme) {
  const [outerWidth, outerHeight] = [width + 2 * MARGIN, height + 2 * MARGIN];
  const scale = Math.min(2, LARGEST / Math.max(outerWidth, outerHeight));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(outerWidth * scale), Math.ceil(outerHeight * scale)];
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const pen = new CanvasPen(context, theme);
  pen.rect(0, 0, outerWidth, outerHeight, { fill: theme.paper });
  context.translate(MARGIN, MARGIN);
  paint(pen);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Elements as laid out on the screen, for a pen. An element with its own `paint` method draws itself. */
export function pictureOf(element) {
  const box = element.getBoundingClientRect();
  return {
    width: Math.ceil(box.width),
    height: Math.ceil(box.height),
    paint: (pen) => paintElement(pen, element, box.left, box.top),
  };
}

/** Convert a computed colour to hex and alpha, which every program can read. */
function plain(colour) {
  const numbers = (colour.match(/[\d.]+(?:e-?\d+)?%?/g) ?? []).map((each) => parseFloat(each) / (each.endsWith("%") ? 100 : 1));
  const [red, green, blue, alpha = 1] = numbers;
  const scale = colour.startsWith("color(") ? 255 : 1;
  const hex = [red, green, blue].map((each) => Math.round((each || 0) * scale).toString(16).padStart(2, "0"));
  return { colour: `#${hex.join("")}`, alpha: colour === "transparent" ? 0 : alpha };
}

function paintElement(pen, element, left, top) {
  const style = getComputedStyle(element);
  if (element.hidden || style.display === "none" || style.visibility === "hidden") return;
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left - left, box.top - top];
  if (element.paint) {
    element.paint(pen, x, y);
    return;
  }
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);
  const back = plain(style.backgroundColor);
  if (back.alpha) pen.rect(x, y, box.width, box.height, { fill: back.colour, alpha: back.alpha, radius });
  const all = ["Top", "Right", "Bottom", "Left"].map((side) => parseFloat(style[`border${side}Width`]));
  const [over, under] = [plain(style.borderTopColor), plain(style.borderBottomColor)];
  if (all.every((width) => width > 0) && over.alpha) {
    pen.rect(x + 0.5, y + 0.5, box.width - 1, box.height - 1, { stroke: over.colour, radius });
  } else {
    const edge = (where, width, colour) => pen.path([x, where, x + box.width, where], { stroke: colour, width });
    if (all[0] > 0 && over.alpha) edge(y + all[0] / 2, all[0], over.colour);
    if (all[2] > 0 && under.alpha) edge(y + box.height - all[2] / 2, all[2], under.colour);
  }
  if (element instanceof HTMLCanvasElement) {
    if (element.width) pen.image(element, x, y, box.width, box.height);
    return;
  }
  if (element instanceof HTMLSelectElement) {
    const size = parseFloat(style.fontSize);
    const options = { size, fill: plain(style.color).colour, family: style.fontFamily };
    const words = element.selectedOptions[0]?.text ?? "";
    pen.text(x + parseFloat(style.paddingLeft), y + box.height / 2 + 0.35 * size, words, options);
    return;
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) paintText(pen, child, style, left, top);
    else if (child.nodeType === Node.ELEMENT_NODE) paintElement(pen, child, left, top);
  }
}

function paintText(pen, node, style, left, top) {
  const size = parseFloat(style.fontSize);
  const options = {
    size,
    weight: Number(style.fontWeight),
    italic: style.fontStyle === "italic",
    fill: plain(style.color).colour,
    family: style.fontFamily,
  };
  const range = document.createRange();
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const shown = style.textTransform === "uppercase" ? word.toUpperCase() : word;
    if (box.width) pen.text(box.left - left, box.top - top + box.height / 2 + 0.36 * size, shown, options);
  }
}
