// Opens the head views of `hark look` for a sentence.

import { html, nothing, render } from "./vendor/lit-html.js";
import { isAbort, post } from "./api.js";
import { openDialog } from "./dialogs.js";
import { failureNote } from "./notes.js";
import * as theme from "./theme.js";

const CHANGES = 3; // heads, and words, to translate again without
const OTHER = "The recording computes in full precision, and here it comes to another translation than the faster one on the page.";

/**
 * @param {{text: string, source: string | null, target: string}} sentence
 * @param {string} translation the one on the page
 */
export function openLook(sentence, translation) {
  const dialog = openDialog("Look inside", () => html``, "wide");
  const controller = new AbortController();
  dialog.element.addEventListener("close", () => controller.abort());
  const show = async () => {
    const working = html`<p class="working" role="status">Translating “${sentence.text}” once more, and recording every attention head …</p>`;
    render(working, dialog.body);
    try {
      const [answer, { mount }, { Look }] = await Promise.all([
        post("api/v1/look", { ...sentence, changes: CHANGES }, controller.signal),
        import("./look/main.js"),
        import("./look/look.js"),
        loadStyle(),
      ]);
      const root = document.createElement("div");
      root.id = "hark-look";
      const same = answer.head.shown === translation;
      render(html`${same ? nothing : html`<p class="other" role="note">${OTHER}</p>`}${root}`, dialog.body);
      await mount(root, Look.fromBase64(answer.head, answer.blocks), { theme });
    } catch (error) {
      if (isAbort(error)) return;
      render(failureNote(error, error.status === 501 ? null : show), dialog.body);
    }
  };
  show();
}

/** The component's own style sheet, once. */
function loadStyle() {
  const href = new URL("look/page.css", import.meta.url).href;
  if ([...document.styleSheets].some((each) => each.href === href)) return undefined;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  return new Promise((loaded, failed) => {
    link.onload = loaded;
    link.onerror = failed;
    document.head.append(link);
  });
}
