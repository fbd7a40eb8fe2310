// Past translations, kept in this browser only.

import { erase, load, save } from "./stored.js";

const MOST = 60;
const LONGEST = 5000; // characters

/** @typedef {{text: string, translation: string, source: string, target: string, time: number}} Past */

export const isOn = () => load("history.on", true);

/** @returns {Past[]} the latest first */
export const entries = () => load("history", []);

export function switchTo(on) {
  save("history.on", on);
  if (!on) erase("history");
}

export function eraseAll() {
  erase("history");
}

export function remove(entry) {
  save("history", entries().filter((each) => each.time !== entry.time));
}

/** Add a translation. One that continues the latest replaces it: typing a sentence leaves one entry. */
export function add(entry) {
  if (!isOn() || entry.text.length > LONGEST || !entry.text.trim()) return;
  const [latest, ...others] = entries();
  const same = latest && latest.target === entry.target && continues(latest.text, entry.text);
  const rest = (same || !latest ? others : [latest, ...others]).filter((each) => !equal(each, entry));
  save("history", [{ ...entry, time: Date.now() }, ...rest].slice(0, MOST));
}

const equal = (one, other) => one.text === other.text && one.target === other.target;

/** Whether the second text is the first with something typed or deleted at its end. */
function continues(one, other) {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short.trim().slice(0, -1)) && short.trim().length > 0.4 * long.length;
}
