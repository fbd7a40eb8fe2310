// Something that takes long, can be cancelled, and tells the view whenever it changes.

import { isAbort } from "./api.js";

export class Job {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {"running" | "done" | "cancelled" | "failed"} */
    this.state = "running";
    this.failure = null;
    this.controller = null;
  }

  async run() {
    Object.assign(this, { state: "running", failure: null, controller: new AbortController() });
    const { signal } = this.controller;
    try {
      await this.work(signal);
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
