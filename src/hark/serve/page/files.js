// Files that are dropped or chosen: plain text, read in this browser.

import { Failure } from "./api.js";

export const ACCEPTED = ".txt,.md,.markdown,.text,text/plain,text/markdown";
export const TAKES = "Hark takes plain text files here (.txt, .md) of up to 2 MB.";
const LARGEST = 2 << 20;
const NAMES = /\.(txt|text|md|markdown)$/i;

/** @returns {Promise<{name: string, text: string}>} */
export async function readFile(file) {
  if (!NAMES.test(file.name) && !file.type.startsWith("text/plain")) {
    throw new Failure(`${file.name} is not a text file. ${TAKES}`);
  }
  if (file.size > LARGEST) throw new Failure(`${file.name} is too large. ${TAKES}`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, text: decode(bytes, file.name).replace(/\r\n?/g, "\n") };
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

/** Save a text as a file. */
export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
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
