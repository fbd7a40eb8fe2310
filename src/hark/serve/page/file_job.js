// Translates a file on the server, which keeps its layout and gives back a file.

import { fetchFile, upload } from "./api.js";
import { Job } from "./job.js";

export class FileJob extends Job {
  /** @param {{file: File, source: string | null, target: string, formality: string | null, changed: () => void}} options */
  constructor({ file, source, target, formality, changed }) {
    super(changed);
    Object.assign(this, { file, source, target, formality });
    /** @type {Blob | null} */
    this.content = null;
    this.name = ""; // of the translated file
    /** @type {{segments: number, translated: number, kept: number, flagged: number,
     *   list: {number: number, source: string, text: string, warnings: string[]}[]} | null} */
    this.report = null;
  }

  async work(signal) {
    const values = { file: this.file, source: this.source ?? "auto", target: this.target, ...(this.formality ? { formality: this.formality } : {}) };
    const { translatedFileUrl, report } = await upload("translate_file", values, signal);
    const last = new URL(translatedFileUrl).pathname.split("/").at(-1); // the host may be that of a proxy
    this.content = await fetchFile(`download_file/${last}`, signal);
    this.report = report;
    this.name = nameOf(this.file.name, decodeURIComponent(decodeURIComponent(last)), this.target);
  }
}

/** letter.docx becomes letter.de.docx; the ending is that of the answer, since a PDF becomes HTML. */
function nameOf(name, answer, target) {
  const [, stem] = /^(.*?)(\.[^.]*)?$/.exec(name);
  return `${stem}.${target}${/\.[^.]*$/.exec(answer)?.[0] ?? ""}`;
}
