// app.js: shows the view that the address names, and refreshes it. An address is "#/path?settings": it contains a
// person's settings, so that a reload and a link show the same.
import {ApiError} from "./api.js";
import {showCompare} from "./compare.js";
import {closeDialogs, openDialog} from "./dialog.js";
import {el, replace} from "./dom.js";
import {showExperiment} from "./experiment.js";
import {showExperiments} from "./experiments.js";
import {showFleet} from "./fleet.js";
import {clock} from "./format.js";
import {readAccess, signIn, signOut, watchAccess} from "./session.js";
import {showTrial} from "./trial.js";

const REFRESH_MS = 2000;
const REFRESH_MOST_MS = 15000;  // while there is no answer
const REFRESH_SHARE = 8;        // a slow answer is requested this much less often
const ACTED_MS = 1100;          // until an answer from before an act is replaced
const ACCESS_MS = 60000;        // permissions change seldom

const ROUTES = [
  [/^\/$/, "experiments", showExperiments],
  [/^\/experiments\/(\d+|last)$/, "experiments", showExperiment],
  [/^\/experiments\/(\d+|last)\/trials\/(\d+)$/, "experiments", showTrial],
  [/^\/fleet$/, "fleet", showFleet],
  [/^\/compare$/, "compare", showCompare],
];

const main = document.getElementById("main");
const live = document.getElementById("live");
const banner = document.getElementById("banner");

let view = null;  // {refresh(signal), close(), missing: the heading if the address names something that does not exist}
let shownPath = null;
let timer = 0;
let running = null;     // AbortController of the refresh in progress
let refreshing = null;  // the view being refreshed
let failures = 0;
let lastGood = null;

function parseAddress() {
  const hash = location.hash.slice(1) || "/";
  const mark = hash.indexOf("?");
  const path = mark < 0 ? hash : hash.slice(0, mark);
  return {path: path || "/", settings: Object.fromEntries(new URLSearchParams(mark < 0 ? "" : hash.slice(mark + 1)))};
}

// Puts a view's settings into its address without a new entry in the history.
function keepSettings(settings) {
  const {path, settings: had} = parseAddress();
  const all = new URLSearchParams();
  for (const [key, value] of Object.entries({...had, ...settings})) {
    if (value !== null && value !== undefined && value !== false) all.set(key, value === true ? "1" : String(value));
  }
  const query = all.toString();
  history.replaceState(null, "", `#${path}${query ? `?${query}` : ""}`);
}

function show() {
  const {path, settings} = parseAddress();
  running?.abort();
  view?.close();
  view = null;
  clearTimeout(timer);
  closeDialogs();
  const moved = shownPath !== null && shownPath !== path;
  shownPath = path;
  replace(main);
  for (const link of document.querySelectorAll("nav a")) link.removeAttribute("aria-current");
  for (const [pattern, name, open] of ROUTES) {
    const found = pattern.exec(path);
    if (!found) continue;
    document.querySelector(`nav a[data-view="${name}"]`)?.setAttribute("aria-current", "page");
    view = open({
      root: main,
      params: found.slice(1),
      settings,
      keep: keepSettings,
      title: (text) => {
        document.title = `${text} · dtrain`;
      }
    });
    if (moved) {
      main.focus();
      window.scrollTo(0, 0);
    }
    refresh();
    return;
  }
  replace(
    main, el("h1", {}, "No such view"),
    el(
      "p", {}, "The address ", el("bdi", {}, path), " is no view; see ", el("a", {href: "#/"}, "all experiments"),
      "."));
}

async function refresh() {
  clearTimeout(timer);
  if (!view || document.hidden || refreshing === view) return;
  const current = view;
  refreshing = current;
  running = new AbortController();
  const {signal} = running;
  const start = performance.now();
  try {
    await current.refresh(signal);
    if (current !== view) return;
    failures = 0;
    lastGood = new Date();
    banner.hidden = true;
    live.textContent = `live, ${clock(lastGood)}`;
  } catch (error) {
    if (current !== view || signal.aborted) return;
    if (error.status === 404 && current.missing) return showMissing(current.missing, error.message);
    ++failures;
    tellFailure(error);
    if (!(error instanceof ApiError)) console.error(error);
  } finally {
    if (refreshing === current) refreshing = null;
  }
  if (!view) return;
  const took = performance.now() - start;
  const pause = failures === 0 ? Math.max(REFRESH_MS, REFRESH_SHARE * took) : 1000 * 2 ** Math.min(failures - 1, 4);
  timer = setTimeout(refresh, Math.min(REFRESH_MOST_MS, pause));
}

// Shows that something does not exist, and stops asking for it.
function showMissing(heading, why) {
  view.close();
  view = null;
  banner.hidden = true;
  live.textContent = "";
  document.title = `${heading} · dtrain`;
  replace(
    main, el("h1", {}, heading),
    el("p", {}, el("bdi", {}, why), "; see ", el("a", {href: "#/"}, "all experiments"), "."));
}

// Shows the failure and keeps the view: nothing that a person looks at disappears because a coordinator restarts.
function tellFailure(error) {
  const of = lastGood ? `; the view shows the state of ${clock(lastGood)}` : "";
  const what = error instanceof ApiError ? error.message : `the page failed: ${error.message}`;
  banner.textContent = error.status === 404 ? what : `${what}${of}; trying again`;
  banner.hidden = false;
  live.textContent = "not live";
}

// Draws who is signed in, and how to sign in or out. Without tokens there is nothing to sign in with.
function drawSignIn(access) {
  const place = document.getElementById("who");
  if (access.actions !== "token") return replace(place);
  if (access.name) {
    return replace(
      place, el("span", {}, el("bdi", {}, access.name), `, ${access.role} `),
      el("button", {type: "button", on: {click: signOut}}, "Sign out"));
  }
  const open = () => openDialog({
    title: "Sign in to act",
    text: [
      "Enter a token from 'dtctl token create'. It is kept until this tab is closed, and sent only to this coordinator."
    ],
    fields: [{name: "token", label: "Token", type: "password", value: "", required: true}],
    button: "Sign in",
    run: async ({token}) => {
      const wrong = await signIn(token);
      if (wrong) throw new Error(wrong);
    }
  });
  replace(place, el("button", {type: "button", on: {click: open}}, "Sign in…"));
}

watchAccess(drawSignIn);
readAccess();
setInterval(() => {
  if (!document.hidden) readAccess();
}, ACCESS_MS);

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("visibilitychange", refresh);
window.addEventListener("online", refresh);
window.addEventListener("acted", () => setTimeout(refresh, ACTED_MS));
window.addEventListener("hashchange", show);
show();
