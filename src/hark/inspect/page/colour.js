// Colours as numbers, because canvases and exported pictures cannot use the style sheet.

const clamp = (x) => Math.min(1, Math.max(0, x));

function gamma(x) {
  return x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
}

function linear(x) {
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
}

/** Convert OKLab, which is perceptually uniform (Ottosson, 2020), to sRGB between 0 and 1. */
function rgbOfOklab([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(clamp(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)),
    gamma(clamp(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)),
    gamma(clamp(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)),
  ];
}

function oklabOfRgb(rgb) {
  const [r, g, b] = rgb.map(linear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

const hex = (rgb) => "#" + rgb.map((x) => Math.round(255 * x).toString(16).padStart(2, "0")).join("");
const rgbOfHex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);

/** The colour of a head: evenly spaced hues of equal lightness. */
export function headColour(number, count, dark) {
  const hue = ((190 + (360 * number) / Math.max(count, 1)) * Math.PI) / 180;
  const [lightness, chroma] = dark ? [0.76, 0.115] : [0.56, 0.125];
  return hex(rgbOfOklab([lightness, chroma * Math.cos(hue), chroma * Math.sin(hue)]));
}

/** A gradient of 256 colours through the given ones, as bytes. */
export function ramp(...colours) {
  const stops = colours.map((each) => oklabOfRgb(rgbOfHex(each)));
  return Array.from({ length: 256 }, (_, at) => {
    const where = (at / 255) * (stops.length - 1);
    const from = Math.min(stops.length - 2, Math.floor(where));
    const mixed = stops[from].map((x, axis) => x + (where - from) * (stops[from + 1][axis] - x));
    return rgbOfOklab(mixed).map((x) => Math.round(255 * x));
  });
}

export const hexOfBytes = (bytes) => hex(bytes.map((x) => x / 255));

/** The style sheet's colours and font in the current colour scheme, for canvases and pictures. */
export class Theme {
  constructor(root) {
    const style = getComputedStyle(root);
    const read = (name) => style.getPropertyValue(name).trim();
    for (const name of ["paper", "card", "ink", "soft", "faint", "line", "accent", "mark", "minus"]) {
      this[name] = read(`--${name}`);
    }
    this.font = read("--sans");
    this.dark = root.dataset.theme === "dark";
    this.ramp = ramp(this.card, this.dark ? "#1f6f69" : "#63aaa3", this.dark ? "#8fe3d8" : "#0b4843");
    this.signed = ramp(this.minus, this.card, this.accent);
  }

  /** The colour of a share between 0 and 1; small shares are boosted to stay visible. */
  shade(share) {
    return this.ramp[Math.round(255 * clamp(share) ** 0.6)];
  }

  /** A readable text colour on that shade: ink, or the colour of the card. */
  onShade(share) {
    const [r, g, b] = this.shade(share);
    return (0.299 * r + 0.587 * g + 0.114 * b > 128) === this.dark ? this.card : this.ink;
  }

  head(number, count) {
    return headColour(number, count, this.dark);
  }
}
