// Icons as inline SVG, in the colour of the text.

import { html, svg } from "./vendor/lit-html.js";

const icon = (paths) =>
  html`<svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">${paths}</svg>`;

export const swapIcon = icon(svg`<path d="M4 7h11m-3-3 3 3-3 3M16 13H5m3 3-3-3 3-3" />`);
export const copyIcon = icon(svg`<rect x="7" y="7" width="9" height="9" rx="2" /><path d="M13 7V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v5a2 2 0 0 0 2 2h1" />`);
export const doneIcon = icon(svg`<path d="m4.5 10.5 4 4 7-8.5" />`);
export const clearIcon = icon(svg`<path d="m5.5 5.5 9 9m0-9-9 9" />`);
export const fileIcon = icon(svg`<path d="M11 3H6.5A1.5 1.5 0 0 0 5 4.5v11A1.5 1.5 0 0 0 6.5 17h7a1.5 1.5 0 0 0 1.5-1.5V7zm0 0v4h4" />`);
export const lookIcon = icon(svg`<path d="M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5z" /><circle cx="10" cy="10" r="2.2" />`);
export const historyIcon = icon(svg`<path d="M3.5 10a6.5 6.5 0 1 0 2-4.7M3.5 3.5v3h3M10 6.5V10l2.5 1.5" />`);
export const sunIcon = icon(svg`<circle cx="10" cy="10" r="3.3" /><path d="M10 2.5v1.5m0 12v1.5M2.5 10H4m12 0h1.5M4.7 4.7l1 1m8.6 8.6 1 1m0-10.6-1 1M5.7 14.3l-1 1" />`);
export const moonIcon = icon(svg`<path d="M16.5 11.8A6.8 6.8 0 0 1 8.2 3.5a6.8 6.8 0 1 0 8.3 8.3z" />`);
export const helpIcon = icon(svg`<path d="M7.3 7.5a2.7 2.7 0 1 1 4 2.3c-.9.5-1.3 1-1.3 2M10 14.6v.1" />`);
export const againIcon = icon(svg`<path d="M16.5 10a6.5 6.5 0 1 1-2-4.7M16.5 3.5v3h-3" />`);
export const undoIcon = icon(svg`<path d="M7 4 3.5 7.5 7 11M3.5 7.5h8a4.5 4.5 0 0 1 0 9H8" />`);
export const downloadIcon = icon(svg`<path d="M10 3.5v9m-3.5-3.5 3.5 3.5 3.5-3.5M4 16.5h12" />`);
