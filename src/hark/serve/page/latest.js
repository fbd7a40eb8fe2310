// Runs one task at a time, the latest: a new one aborts the one before, whose result is dropped.

import { isAbort } from "./api.js";

export class Latest {
  constructor() {
    this.timer = 0;
    this.controller = null;
  }

  /** Start a task after a pause without further calls. `task` takes an AbortSignal. */
  later(milliseconds, task) {
    this.cancel();
    this.timer = setTimeout(() => this.now(task), milliseconds);
  }

  /** Start a task at once. */
  async now(task) {
    this.cancel();
    const controller = (this.controller = new AbortController());
    try {
      await task(controller.signal);
    } catch (error) {
      if (!isAbort(error) && !controller.signal.aborted) throw error;
    } finally {
      if (this.controller === controller) this.controller = null;
    }
  }

  cancel() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.controller = null;
  }
}
