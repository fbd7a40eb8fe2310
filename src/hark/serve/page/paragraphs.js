// Splits a text into paragraphs and the gaps between them, so that a change in one does not translate the others again.

// A blank line, or the end of a line too long to be a hard-wrapped one.
const GAP = /(\n(?:[^\S\n]*\n)+|(?<=[^\n]{150})\n)/;

/** @returns {{text: string, start: number, gap: boolean}[]} parts that join to the text */
export function partsOf(text) {
  const parts = [];
  let start = 0;
  for (const piece of text.split(GAP)) {
    if (piece) parts.push({ text: piece, start, gap: !piece.trim() });
    start += piece.length;
  }
  return parts;
}
