// Helpers for building elements. Text is always inserted as text, never parsed as HTML.

const PEEK = 30;

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A radio group: buttons side by side, one of which is on. Arrow keys move between them. */
export function choice(label, options, current, choose) {
  const group = el("div", { class: "choice", role: "radiogroup", "aria-label": label });
  const buttons = options.map(({ value, text, title, colour }) => {
    const on = value === current;
    const button = el(
      "button",
      { type: "button", role: "radio", "aria-checked": on, tabindex: on ? 0 : -1, title, "data-value": value },
      text,
    );
    if (colour) button.style.setProperty("--own", colour);
    button.addEventListener("click", () => choose(value));
    return button;
  });
  if (!options.some(({ value }) => value === current) && buttons.length) buttons[0].tabIndex = 0;
  group.append(...buttons);
  roving(group, () => buttons, (button) => button.click());
  return group;
}

/** A switch with a label. */
export function toggle(text, on, change, title) {
  const button = el("button", { type: "button", class: "toggle", role: "switch", "aria-checked": on, title }, text);
  button.addEventListener("click", () => change(!on));
  return button;
}

/** Roving tabindex: arrow keys, Home and End move the focus within a group, which is one Tab stop. */
export function roving(group, members, moved = () => {}) {
  group.addEventListener("keydown", (event) => {
    const all = members();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const forwards = getComputedStyle(group).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backwards = forwards === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const to = { [forwards]: at + 1, [backwards]: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, to))];
    for (const each of all) each.tabIndex = each === next ? 0 : -1;
    next.focus();
    moved(next);
  });
}

/** Scrolls a row horizontally so that a member is visible, and a little of the next. Does not scroll the page. */
export function revealIn(row, member) {
  const [frame, box] = [row.getBoundingClientRect(), member.getBoundingClientRect()];
  if (box.left - PEEK < frame.left) row.scrollLeft += box.left - PEEK - frame.left;
  else if (box.right + PEEK > frame.right) row.scrollLeft += box.right + PEEK - frame.right;
}

/** Restores the focus after a group is rebuilt: to the element with the same data-value. */
export function keepingFocus(container, remake) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const key = focused && focused.dataset.value;
  remake();
  if (focused && !container.contains(focused) && key !== undefined) {
    for (const node of container.querySelectorAll("[data-value]")) if (node.dataset.value === key) node.focus();
  }
}

/** Format a number with a real minus sign. */
export const figure = (number, decimals) => number.toFixed(decimals).replace("-", "−");
export const quoted = (text) => `“${text}”`;
export const percent = (share) => {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : value > 0 ? "<0.1" : "0"}\u202f%`;
};
