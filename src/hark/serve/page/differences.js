// Word differences between two texts, to mark what changed.

const LONGEST = 400; // words; for longer texts the table of lengths would be too large to fill on every redraw

/**
 * The words of `text`, each with whether it is missing from `before` (longest common subsequence).
 * @returns {{text: string, changed: boolean}[]} pieces that join to `text`
 */
export function differences(before, text) {
  const [old, pieces] = [wordsOf(before), text.match(/\s+|\S+/g) ?? []];
  const words = pieces.map((piece, at) => ({ piece, at })).filter(({ piece }) => piece.trim());
  if (old.length > LONGEST || words.length > LONGEST) return [{ text, changed: false }];
  const kept = common(old, words.map(({ piece }) => piece));
  const same = new Set(words.filter((_, at) => kept.has(at)).map(({ at }) => at));
  return merged(pieces.map((piece, at) => ({ text: piece, changed: Boolean(piece.trim()) && !same.has(at) })));
}

const wordsOf = (text) => text.match(/\S+/g) ?? [];

/** Indices of the words of `two` that are part of a longest common subsequence with `one`. */
function common(one, two) {
  const width = two.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = two.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        one[i] === two[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const kept = new Set();
  for (let i = 0, j = 0; i < one.length && j < two.length; ) {
    if (one[i] === two[j]) [i, j] = [i + 1, (kept.add(j), j + 1)];
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return kept;
}

/** Join neighbours of the same kind; a space between two changed words counts as changed. */
function merged(pieces) {
  const result = [];
  pieces.forEach((piece, at) => {
    const between = !piece.text.trim() && pieces[at - 1]?.changed && pieces[at + 1]?.changed;
    const changed = piece.changed || Boolean(between);
    if (result.length && result.at(-1).changed === changed) result.at(-1).text += piece.text;
    else result.push({ text: piece.text, changed });
  });
  return result;
}
