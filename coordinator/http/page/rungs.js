// rungs.js: the rungs at which successive halving compares trials: how many reached a rung, how many continued, and the
// value that the next must beat. All of it comes from the coordinator.
import {el, replace} from "./dom.js";
import {number} from "./format.js";

function cellsOf(row, brackets) {
  const least = number(row.least_step), most = number(row.most_step);
  return [
    brackets ? row.bracket : null, row.rung, least === most ? most : `${least} to ${most}`, number(row.entered),
    number(row.went_on), number(row.entered - row.went_on - row.failed), number(row.failed), number(row.best),
    number(row.to_beat)
  ];
}

function table(experiment, brackets) {
  const head = [
    brackets ? "bracket" : null, "rung", "step", "reached", "continued", "stopped", "failed",
    `best ${experiment.metric}`, "value to beat"
  ];
  const line = (tag, cells, attributes) =>
    el("tr", {}, cells.map((cell) => (cell === null ? null : el(tag, {class: "number", ...attributes}, cell))));
  return el(
    "table", {}, el("caption", {}, "Rungs of the search"), el("thead", {}, line("th", head, {scope: "col"})),
    el("tbody", {}, experiment.rung_list.map((row) => line("td", cellsOf(row, brackets), {}))));
}

export class Rungs {
  constructor() { this.element = el("section", {"aria-label": "Rungs", hidden: true}); }

  draw(experiment) {
    this.element.hidden = experiment.rung_list.length === 0;
    if (this.element.hidden) return;
    const said = experiment.spec.search.asha ?? {};
    replace(
      this.element, el("h2", {}, "Rungs"),
      el(
        "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Rungs of the search"},
        table(experiment, said.brackets > 1)),
      el(
        "p", {class: "dim"},
        `Each trial is compared with the trials that reached the rung before it. One in ${
          said.eta} continues, and the best always does.`));
  }
}
