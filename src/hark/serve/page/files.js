// Files that are dropped or chosen: plain text is read in this browser, other documents are sent to the server.

import { Failure } from "./api.js";

const { formats, body } = document.documentElement.dataset;
export const ACCEPTED = [...formats.split(" "), "text/plain", "text/markdown"].join(",");
export const TAKES = "Hark takes text, Markdown, HTML, Word, PowerPoint, Excel, OpenDocument, PDF, EPUB, subtitles and more.";
const LARGEST_TEXT = 2 << 20;
const LARGEST = Number(body) - 4096; // the form around the file takes some bytes, too
const TEXTS = /\.(txt|text|md|markdown)$/i;

/** @returns {Promise<{name: string, text?: string, file?: File}>} the text of the file, or the file */
export async function readFile(file) {
  const { name, size, type } = file;
  const plain = TEXTS.test(name) || type.startsWith("text/plain");
  const known = formats.split(" ").includes(/\.[^.]*$/.exec(name.toLowerCase())?.[0]);
  if (!plain && !known) throw new Failure(`${name} cannot be translated. ${TAKES}`);
  const largest = plain && !(known && size > LARGEST_TEXT) ? LARGEST_TEXT : LARGEST;
  if (size > largest) throw new Failure(`${name} is too large: the limit is ${Math.floor(largest / (1 << 20))} MB.`);
  if (!plain || size > LARGEST_TEXT) return { name, file };
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name, text: decode(bytes, name).replace(/\r\n?/g, "\n") };
}

function decode(bytes, name) {
  const [first, second] = bytes;
  const wide = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  if (!wide && bytes.includes(0)) throw new Failure(`${name} is not a text file. ${TAKES}`);
  try {
    return new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    if (wide) throw new Failure(`${name} is not valid UTF-16.`);
    return new TextDecoder("windows-1252").decode(bytes); // what older programs on Windows write
  }
}

/** Save a text or a blob as a file. */
export function download(content, name) {
  const link = document.createElement("a");
  const blob = content instanceof Blob ? content : new Blob([content], { type: "text/plain;charset=utf-8" });
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Pass files that are dropped anywhere on the page to `take`; mark the page while one hovers over it. */
export function watchDrops(take) {
  const root = document.documentElement;
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    root.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) root.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    root.classList.remove("dropping");
    if (!withFiles(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}
