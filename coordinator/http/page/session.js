// session.js: identifies the person by their token, and knows what they may do. The token stays in this tab's
// sessionStorage and is sent in a header that only this page sets. A cookie would let another page make the browser
// send it.
const KEPT_AS = "dtrain.token";

const listeners = new Set();
let access = {actions: "closed", may: {}};  // as in /api/v1/access

export function authorization() {
  const token = sessionStorage.getItem(KEPT_AS);
  return token ? {Authorization: `Bearer ${token}`} : {};
}

// Returns "all", "own" or "none": what the person may do with this method of the table of rights.
function reach(method) { return access.may?.[method] ?? "none"; }

export function mayChange(method, submittedBy) {
  return reach(method) === "all" || (reach(method) === "own" && submittedBy === access.name);
}

export function mayCall(method) { return reach(method) !== "none"; }

// Calls the listener at once and whenever permissions change, until the returned function is called.
export function watchAccess(listener) {
  listeners.add(listener);
  listener(access);
  return () => listeners.delete(listener);
}

export async function readAccess() {
  try {
    const response = await fetch("/api/v1/access", {cache: "no-store", headers: authorization()});
    if (!response.ok) return access;  // requested again later
    const now = await response.json();
    if (!now.name) sessionStorage.removeItem(KEPT_AS);  // the token is no longer valid
    if (JSON.stringify(now) === JSON.stringify(access)) return access;
    access = now;
    for (const listener of listeners) listener(access);
  } catch {
    // The coordinator does not answer; the page shows that anyway.
  }
  return access;
}

// Returns what is wrong with the token, or null if it is valid. Keeps a valid token.
export async function signIn(token) {
  sessionStorage.setItem(KEPT_AS, token.trim());
  const found = await readAccess();
  return found.name ? null : found.reason ?? "the coordinator does not answer";
}

export function signOut() {
  sessionStorage.removeItem(KEPT_AS);
  return readAccess();
}
