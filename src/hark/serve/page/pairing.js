// Puts the translations of paragraphs together: the text, its sentences, and which words belong to which.

import { toUtf16 } from "./codepoints.js";

/**
 * @typedef {{start: number, end: number, sentence: number, ties: {at: number, weight: number}[]}} Word
 * `ties` are the words of the other side that it is linked to, by index.
 * @typedef {{source: string, text: string, sourceStart: number, start: number, score: number | null, flags: string[],
 *   warnings: string[], alternatives: {text: string, score: number}[], firstWord: number, endWord: number}} Sentence
 * @typedef {{text: string, sentences: Sentence[], sourceWords: Word[], words: Word[]}} Paired
 */

/**
 * @param {{text: string, start: number, gap: boolean}[]} parts of the source
 * @param {Map<string, any>} translations the server's answer for the text of each part
 * @returns {Paired} all offsets are in UTF-16 and count from the start of the whole texts
 */
export function pair(parts, translations) {
  const paired = { text: "", sentences: [], sourceWords: [], words: [] };
  for (const part of parts) {
    const found = part.gap ? null : translations.get(part.text);
    if (found) add(paired, part, found);
    else paired.text += part.text;
  }
  return paired;
}

function add(paired, part, found) {
  const start = paired.text.length;
  const [source, target] = [toUtf16(part.text), toUtf16(found.text)];
  for (const each of found.sentences) {
    const sentence = {
      source: each.source,
      text: each.text,
      sourceStart: part.start + source(each.source_start),
      start: start + target(each.start),
      score: each.score,
      flags: each.flags ?? [],
      warnings: each.warnings ?? [],
      alternatives: each.alternatives ?? [],
    };
    const number = paired.sentences.push(sentence) - 1;
    const from = wordsOf(each.source, sentence.sourceStart, number, paired.sourceWords);
    const into = wordsOf(each.text, sentence.start, number, paired.words);
    Object.assign(sentence, { firstWord: into, endWord: paired.words.length });
    for (const [[s], [t], weight] of each.links ?? []) {
      const one = wordAt(paired.sourceWords, from, part.start + source(each.source_start + s));
      const other = wordAt(paired.words, into, start + target(each.start + t));
      if (one === null || other === null) continue;
      paired.sourceWords[one].ties.push({ at: other, weight });
      paired.words[other].ties.push({ at: one, weight });
    }
  }
  paired.text += found.text;
}

/** Append the words of a sentence; return the index of the first. */
function wordsOf(text, offset, sentence, words) {
  const first = words.length;
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    words.push({ start: offset + index, end: offset + index + word.length, sentence, ties: [] });
  }
  return first;
}

function wordAt(words, first, offset) {
  for (let at = first; at < words.length; at++) if (offset >= words[at].start && offset < words[at].end) return at;
  return null;
}
