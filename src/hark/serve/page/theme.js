// Light or dark: the system's choice until the user makes one.

import { load, save } from "./stored.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function current() {
  return load("theme", null) ?? (system.matches ? "dark" : "light");
}

export function toggle() {
  const theme = current() === "dark" ? "light" : "dark";
  save("theme", theme);
  document.documentElement.dataset.theme = theme;
  announce();
}

/** Call `listener` with the name of the theme whenever it changes; returns a function that stops this. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce() {
  for (const each of listeners) each(current());
}

system.addEventListener("change", announce);
