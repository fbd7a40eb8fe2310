// What the page remembers in this browser. Where storage is blocked (private windows), it forgets instead of failing.

const PREFIX = "hark.";

/** `place`: sessionStorage forgets when the tab is closed. */
export function load(name, otherwise, place = "localStorage") {
  try {
    const text = globalThis[place].getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function save(name, value, place = "localStorage") {
  try {
    globalThis[place].setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function erase(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // nothing was stored
  }
}
