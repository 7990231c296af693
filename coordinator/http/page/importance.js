// importance.js: the parameters that an experiment's results depend on, as in dtctl importance.
import {get} from "./api.js";
import {el, replace} from "./dom.js";
import {percent} from "./format.js";

const ASK_MS = 30000;  // it changes with each ended trial, and is not computed more often than this
const PAIRS_SHOWN = 5;
const PAIR_LEAST = 0.02;

export class Importance {
  constructor() {
    this.element = el("section", {"aria-label": "Importance", hidden: true});
    this.asked = -Infinity;
  }

  async refresh(experiment, signal) {
    const now = performance.now();
    if (experiment.finished === 0 || now - this.asked < ASK_MS) return;
    const list = await get(`experiments/${experiment.experiment}/importance`, signal);
    this.asked = now;
    if (list === this.shown) return;
    this.shown = list;
    this.element.hidden = false;
    replace(
      this.element, el("h3", {}, `Importance of parameters for ${list.metric || "the result"}`),
      list.items.length ? this.#table(list.items) : null, el("p", {class: "dim"}, list.note));
  }

  #table(items) {
    const pairs = items.filter((one) => one.parameters.length > 1 && one.share >= PAIR_LEAST).slice(0, PAIRS_SHOWN);
    const rows = [...items.filter((one) => one.parameters.length === 1), ...pairs];
    const most = Math.max(...rows.map((one) => one.share), 1e-9);
    return el(
      "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Importance of parameters"},
      el(
        "table", {}, el("caption", {}, "Importance of parameters"),
        el(
          "thead", {},
          el(
            "tr", {}, el("th", {scope: "col"}, "Parameter"), el("th", {scope: "col", class: "number"}, "Share"),
            el("th", {scope: "col", class: "number"}, "±"), el("th", {scope: "col"}, ""))),
        el("tbody", {}, rows.map((one) => this.#row(one, most)))));
  }

  #row(one, most) {
    const name = one.parameters.join(" × ");
    return el(
      "tr", {},
      el("th", {scope: "row", class: one.parameters.length > 1 ? "dim" : null}, el("bdi", {title: name}, name)),
      el("td", {class: "number"}, percent(one.share)), el("td", {class: "number dim"}, percent(one.deviation)),
      el("td", {class: "bar"}, el("progress", {max: most, value: one.share, "aria-label": `share of ${name}`})));
  }
}
