// session.js: who the person is by the token that they gave, and what the coordinator lets them do. The token stays in
// this tab's sessionStorage and goes out in a header that this page alone sets: never in a cookie, so that no other
// page can have the browser send it.
const KEPT_AS = "dtrain.token";

const listeners = new Set();
let access = {actions: "closed", may: {}};  // as /api/v1/access has it

export function authorization() {
  const token = sessionStorage.getItem(KEPT_AS);
  return token ? {Authorization: `Bearer ${token}`} : {};
}

export function currentAccess() { return access; }

// "all", "own" or "none": what the person may do with this method of the table of rights.
function reach(method) { return access.may?.[method] ?? "none"; }

export function mayChange(method, submittedBy) {
  return reach(method) === "all" || (reach(method) === "own" && submittedBy === access.name);
}

// Calls the listener at once and whenever what the person may do has changed, until the returned function is called.
export function onAccess(listener) {
  listeners.add(listener);
  listener(access);
  return () => listeners.delete(listener);
}

export async function readAccess() {
  try {
    const response = await fetch("/api/v1/access", {cache: "no-store", headers: authorization()});
    if (!response.ok) return access;  // it is asked for again
    const now = await response.json();
    if (!now.name) sessionStorage.removeItem(KEPT_AS);  // it holds no more
    if (JSON.stringify(now) === JSON.stringify(access)) return access;
    access = now;
    for (const listener of listeners) listener(access);
  } catch {
    // Nobody answers: the page says so anyway.
  }
  return access;
}

// What is wrong with the token, or null where it holds: then it is kept.
export async function signIn(token) {
  sessionStorage.setItem(KEPT_AS, token.trim());
  const found = await readAccess();
  return found.name ? null : found.reason ?? "the coordinator does not answer";
}

export function signOut() {
  sessionStorage.removeItem(KEPT_AS);
  return readAccess();
}
