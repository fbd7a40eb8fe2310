// Offsets in code points, which the server counts, as offsets in UTF-16, which JavaScript counts.

/** @returns {(offset: number) => number} */
export function toUtf16(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => Math.min(offset, text.length);
  const starts = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) starts.push(at);
  starts.push(text.length);
  return (offset) => starts[Math.min(offset, starts.length - 1)];
}
