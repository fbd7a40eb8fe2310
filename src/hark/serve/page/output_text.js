// The translation, in which words light up, with warnings at their sentences. Arrow keys move from word to word.

import { html, nothing } from "./vendor/lit-html.js";
import { tieOf } from "./source_field.js";

/**
 * @param {import("./pairing.js").Paired} paired
 * @param {{lit: Map<number, number>, here: number | null, sentence: number}} shown
 */
export function outputText(paired, { lit, here, sentence }) {
  const several = paired.sentences.length > 1;
  const parts = [];
  let at = 0;
  paired.sentences.forEach((each, number) => {
    const end = each.start + each.text.length;
    parts.push(paired.text.slice(at, each.start));
    const kind = ["sentence", several && number === sentence && "chosen", each.warnings.length && "doubtful"];
    parts.push(
      html`<span class=${kind.filter(Boolean).join(" ")} data-sentence=${number}
        >${wordsIn(paired, number, each.start, end, lit, here)}</span
      >${each.warnings.length ? warning(each.warnings) : nothing}`,
    );
    at = end;
  });
  parts.push(paired.text.slice(at));
  return parts;
}

function wordsIn(paired, sentence, start, end, lit, here) {
  const parts = [];
  let at = start;
  paired.words.forEach((word, number) => {
    if (word.sentence !== sentence) return;
    parts.push(paired.text.slice(at, word.start));
    const weight = lit.get(number);
    const kind = number === here ? "word here" : weight === undefined ? "word" : "word tied";
    parts.push(
      html`<span class=${kind} data-word=${number} .style=${tieOf(weight)}>${paired.text.slice(word.start, word.end)}</span>`,
    );
    at = word.end;
  });
  parts.push(paired.text.slice(at, end));
  return parts;
}

const warning = (warnings) => html`<span class="warning" role="note" dir="ltr" lang="en">${warnings.join("; ")}</span>`;

/** The word that an arrow key leads to, or null if the key is another. */
export function wordAfter(key, here, count, rightToLeft) {
  const by = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1, ArrowDown: 1, ArrowUp: -1 }[key];
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (by === undefined || !count) return null;
  return here === null ? 0 : Math.min(count - 1, Math.max(0, here + by));
}
