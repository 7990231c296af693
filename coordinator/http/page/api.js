// api.js: /api/v1 for the views. An unchanged answer is the same object as before, so a view need not show it again.
import {authorization} from "./session.js";

const ANSWERS_KEPT = 200;
const PATIENCE_MS = 15000;
const PAGE_SIZE = 500;

const kept = new Map();  // by path, the last used at the end: {etag, data}

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;  // 0: no answer
  }
}

// Removes the prototypes of an answer's objects, so that they hold only their own names. People name parameters,
// metrics and labels, and a name may be "constructor" or "__proto__".
function bare(value) {
  if (value === null || typeof value !== "object") return value;
  for (const inner of Array.isArray(value) ? value : Object.values(Object.setPrototypeOf(value, null))) bare(inner);
  return value;
}

// Returns the answer of the call at this path under /api/v1/.
export async function get(path, signal) {
  const had = kept.get(path);
  let response;
  try {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    response = await fetch(`/api/v1/${path}`, {
      cache: "no-store",
      headers: {...authorization(), ...(had ? {"If-None-Match": had.etag} : {})},
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
    if (response.status === 304 && had) return had.data;
    const data = bare(await response.json());
    if (!response.ok) throw new ApiError(response.status, data.message ?? response.statusText);
    const etag = response.headers.get("ETag");
    kept.delete(path);
    if (etag) kept.set(path, {etag, data});
    if (kept.size > ANSWERS_KEPT) kept.delete(kept.keys().next().value);
    return data;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (signal?.aborted) throw error;
    throw new ApiError(0, "the coordinator does not answer");
  }
}

// Posts an act with these fields. Its error has the coordinator's own message.
export async function act(path, fields) {
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      method: "POST",
      cache: "no-store",
      headers: {...authorization(), "Content-Type": "application/json"},
      body: JSON.stringify(fields),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch { throw new ApiError(0, "the coordinator does not answer; it is unknown whether it has done this"); }
  const said = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, said.message ?? response.statusText);
  window.dispatchEvent(new Event("acted"));
  return said;
}

const lists = new Map();  // by path: {pages, items}

// Returns all items of a paged list; the same array while no page has changed.
export async function getAll(path, signal) {
  const pages = [];
  let token = null;
  do {
    const join = path.includes("?") ? "&" : "?";
    const page = await get(
      `${path}${join}page_size=${PAGE_SIZE}${token ? `&page_token=${encodeURIComponent(token)}` : ""}`, signal);
    pages.push(page);
    token = page.next_page_token;
  } while (token);
  const had = lists.get(path);
  if (had && had.pages.length === pages.length && had.pages.every((page, i) => page === pages[i])) return had.items;
  const items = pages.flatMap((page) => page.items);
  lists.set(path, {pages, items});
  return items;
}

// Returns curves of trials of one experiment, by trial number. Asks again while rows are still being read.
export async function getCurves(experiment, trials, metrics, points, signal) {
  const curves = new Map();
  const MOST = 100;  // trials in one call
  for (let first = 0; first < trials.length; first += MOST) {
    const some = trials.slice(first, first + MOST);
    const path = `experiments/${experiment}/curves?trial=${some.join(",")}&metric=` +
      `${metrics.map(encodeURIComponent).join(",")}&points=${points}`;
    let list = await get(path, signal);
    for (let tries = 0; tries < 50 && list.items.some((item) => !item.complete); ++tries)
      list = await get(path, signal);
    for (const item of list.items) curves.set(item.trial, item.metrics);
  }
  return curves;
}
