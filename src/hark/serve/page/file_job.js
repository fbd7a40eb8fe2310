// Translates a file on the server, which keeps its layout and gives back a file.

import { fetchFile, isAbort, upload } from "./api.js";

export class FileJob {
  /** @param {{file: File, source: string | null, target: string, changed: () => void}} options */
  constructor({ file, source, target, changed }) {
    Object.assign(this, { file, source, target, changed });
    /** @type {"running" | "done" | "cancelled" | "failed"} */
    this.state = "running";
    this.failure = null;
    /** @type {Blob | null} */
    this.content = null;
    this.name = ""; // of the translated file
    this.controller = null;
  }

  async run() {
    Object.assign(this, { state: "running", failure: null, controller: new AbortController() });
    const { signal } = this.controller;
    try {
      const values = { file: this.file, source: this.source ?? "auto", target: this.target };
      const { translatedFileUrl } = await upload("translate_file", values, signal);
      const last = new URL(translatedFileUrl).pathname.split("/").at(-1); // the host may be that of a proxy
      this.content = await fetchFile(`download_file/${last}`, signal);
      this.name = nameOf(this.file.name, decodeURIComponent(decodeURIComponent(last)), this.target);
      this.state = "done";
    } catch (error) {
      if (signal.aborted || isAbort(error)) this.state = "cancelled";
      else Object.assign(this, { state: "failed", failure: error });
    }
    this.changed();
  }

  cancel() {
    this.controller?.abort();
    this.state = "cancelled";
    this.changed();
  }
}

/** letter.docx becomes letter.de.docx; the ending is that of the answer, since a PDF becomes HTML. */
function nameOf(name, answer, target) {
  const [, stem] = /^(.*?)(\.[^.]*)?$/.exec(name);
  return `${stem}.${target}${/\.[^.]*$/.exec(answer)?.[0] ?? ""}`;
}
