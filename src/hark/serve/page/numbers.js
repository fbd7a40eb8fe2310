// Number formats, the same as in `hark plot` and on the terminal.

const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

export function short(value, digits = 3) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return value.toExponential(1).replace(".0e", "e");
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return trim((value / unit).toPrecision(digits + 1)) + letter;
  }
  return trim(value.toPrecision(digits));
}

export function exact(value) {
  const size = Math.abs(value);
  if (size >= 1e4) return Math.round(value).toLocaleString("en");
  return size !== 0 && size < 1e-3 ? value.toExponential(3) : trim(value.toFixed(size >= 100 ? 1 : 4));
}

export function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, name] = units[first];
  const whole = Math.floor(seconds / size);
  const rest = first + 1 < units.length ? Math.floor((seconds - whole * size) / units[first + 1][0]) : 0;
  return `${whole} ${name}${rest ? ` ${rest} ${units[first + 1][1]}` : ""}`;
}
