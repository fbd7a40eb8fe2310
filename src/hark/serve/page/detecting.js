// Finds the language of a text: by the server's detector, and, where that cannot tell, by trying the likely directions.

import { post } from "./api.js";

const GLANCE = 1000; // characters that are enough
const CLEAR = 3; // how much likelier than the second the best language must be, as in hark/text/detector.py
const SHORT = 60; // characters; longer texts that cannot be told are left to the server

// As in hark/decode/source_language.py: a model that copies a word does not know it, and one that has it in its table does.
const COPIED = 2;
const PHRASE = 5;

/**
 * @param {import("./choice.js").Choice} choice
 * @param {(source: string, target: string) => Promise<import("./pairing.js").Paired>} attempt
 * @returns {Promise<string | null>} null: unknown
 */
export async function detectLanguage(text, choice, attempt, signal) {
  const { detections } = await post("api/v1/detect", { text: text.slice(0, GLANCE) }, signal);
  const [best, second] = detections[0];
  if (best && best.confidence > CLEAR * (second?.confidence ?? 0)) return best.language;
  if (text.trim().length > SHORT || !/\p{L}/u.test(text)) return null;
  const { languages, target } = choice;
  const known = [target, languages.sourceFor(target, "en"), best?.language].filter((each) => languages.sources.includes(each));
  const likely = [...new Set(known)];
  const tried = await Promise.all(likely.map((language) => doubtOf(text, language, choice, attempt)));
  tried.sort((one, other) => one.doubt - other.doubt);
  return tried[0].language;
}

async function doubtOf(text, language, choice, attempt) {
  const target = choice.targetFor(language);
  if (!target) return { language, doubt: Infinity };
  const { text: translation, sentences } = await attempt(language, target);
  const [score, warnings, flags] = [
    sentences.reduce((sum, each) => sum + (each.score ?? 0), 0),
    sentences.flatMap((each) => each.warnings),
    sentences.flatMap((each) => each.flags),
  ];
  const copied = plain(translation) === plain(text) ? COPIED : 0;
  return { language, doubt: warnings.length + copied - (flags.includes("phrase") ? PHRASE : 0) - score };
}

const plain = (text) => text.replace(/[\s.!?]/g, "").toLowerCase();
