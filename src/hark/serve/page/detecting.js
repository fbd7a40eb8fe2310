// Finds the language of a text, by the server: it chooses as `hark translate` does.

import { post } from "./api.js";

const GLANCE = 1000; // characters that are enough

/** @returns {Promise<string | null>} null: unknown */
export async function detectLanguage(text, signal) {
  const { detections } = await post("api/v1/detect", { text: text.slice(0, GLANCE) }, signal);
  return detections[0][0]?.language ?? null;
}
