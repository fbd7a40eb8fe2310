// Calls to the server. Every failure becomes a `Failure` with one line that can be shown to the user.

import { eventsOf } from "./sse.js";
import { load, save } from "./stored.js";

export class Failure extends Error {
  /**
   * @param {string} message one line for the user
   * @param {number} status the HTTP status; 0 if there was no answer
   * @param {number | null} retryAfter seconds to wait, if the server said so
   * @param {string | null} code what programs may look for
   */
  constructor(message, status = 0, retryAfter = null, code = null) {
    super(message);
    Object.assign(this, { status, retryAfter, code });
  }

  /** Whether the server asks for an API key. */
  get needsKey() {
    return this.status === 401 || this.status === 403;
  }
}

export const isAbort = (error) => error?.name === "AbortError";

export const key = {
  get: () => load("key", ""),
  set: (value) => save("key", value),
};

/** @returns {Promise<any>} the JSON of the answer */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/** @returns {Promise<any>} the JSON of the answer */
export async function post(path, values, signal) {
  return (await request(path, { method: "POST", body: JSON.stringify(values), signal })).json();
}

/** Send a form with a file. @returns {Promise<any>} the JSON of the answer */
export async function upload(path, values, signal) {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  if (key.get()) form.set("api_key", key.get());
  const answer = await (await request(path, { method: "POST", body: form, signal })).json();
  if (answer.error) throw failureOf(answer, 0, null); // a long answer begins before its end is known
  return answer;
}

/** @returns {Promise<Blob>} the content of a file */
export async function fetchFile(path, signal) {
  return (await request(path, { signal }, "*/*")).blob();
}

/** The events of a stream. Without `values`, the request is a GET. */
export async function* stream(path, values, signal) {
  const options = values === undefined ? { signal } : { method: "POST", body: JSON.stringify(values), signal };
  const response = await request(path, options, "text/event-stream");
  for await (const event of reading(eventsOf(response.body))) {
    if (event.event === "error" || event.data.error) throw failureOf(event.data, 0, null);
    yield event;
  }
}

/** A connection that breaks off is a failure with a readable line, too. */
async function* reading(events) {
  try {
    yield* events;
  } catch (error) {
    if (isAbort(error) || error instanceof Failure) throw error;
    throw new Failure("The connection to the server broke off.");
  }
}

async function request(path, options, accept = "application/json") {
  const headers = { Accept: accept };
  if (typeof options.body === "string") headers["Content-Type"] = "application/json";
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Failure("The server does not answer. Is hark serve still running?");
  }
  if (response.ok) return response;
  const wait = Number(response.headers.get("Retry-After")) || null;
  throw failureOf(await response.json().catch(() => null), response.status, wait);
}

function failureOf(answer, status, wait) {
  const error = answer?.error ?? answer;
  const message = typeof error === "string" ? error : error?.message;
  return new Failure(sentence(message ?? `The server answered with error ${status}.`), error?.status ?? status, wait, error?.code ?? null);
}

/** The server's messages start in lower case and end without a full stop; here they stand as sentences. */
function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
