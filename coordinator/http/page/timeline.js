// timeline.js: when each trial ran: a bar from its first start to its end.
import {el} from "./dom.js";
import {duration, plural} from "./format.js";
import {areaOf, NEAR, orderOf, Picture} from "./picture.js";
import {colourOf, drawAxes, makeScale} from "./scales.js";
import {axisOfTime} from "./time_axis.js";

const STATES = [["best", "orange: best"], ["good", "blue: finished"], ["rest", "grey: others"]];
const BAR_MOST = 10;  // pixels
const BAR_SHARE = 0.7;
const FAILED = [3, 2];  // dashes
const TRIALS_LEAST = 2;

// Returns the largest number of bars at one time. A bar ends before another one begins at the same time.
export function mostAtOnce(items) {
  const changes = items.flatMap((one) => [[one.from, 1], [one.to, -1]]);
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0;
  let most = 0;
  for (const [, change] of changes) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

// An item is {key, name, note, state, colour, y, from, to, failed, going, took}. y: its number; from, to: on the time's
// axis; going: it has not ended; took: seconds.
// Its options are {unit, waiting}. waiting: number of trials that have not begun.
class Drawing extends Picture {
  rows() {
    const head = ["trial", "parameters", `from, ${this.options.unit}`, `to, ${this.options.unit}`, "going on"];
    return [head, ...this.items.map((one) => [one.name, one.note, one.from, one.to, one.going ? "yes" : "no"])];
  }

  paint(context, width, height, colour) {
    const {unit, waiting} = this.options;
    const area = areaOf(width, height);
    const numbers = this.items.map((one) => one.y);
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const x = makeScale(0, Math.max(...this.items.map((one) => one.to), 1), false);
    const y = makeScale(least - 0.5, most + 0.5, false);
    y.ticks = y.ticks.filter(Number.isInteger);
    drawAxes(context, area, x, y, {x: unit, y: "trial"}, colour);
    this.places = new Map();
    context.lineWidth = Math.max(1, Math.min(BAR_MOST, BAR_SHARE * area.height / (most - least + 1)));
    for (const one of [...this.items].sort((a, b) => orderOf(a) - orderOf(b))) {
      const place = {
        left: area.left + x.to(one.from) * area.width,
        right: area.left + x.to(one.to) * area.width,
        y: area.top + (1 - y.to(one.y)) * area.height
      };
      this.places.set(one, place);
      this.#bar(context, place, one, colour);
    }
    const late = waiting ? `; ${waiting} ${waiting === 1 ? "has" : "have"} not begun` : "";
    const failed = this.items.some((one) => one.failed) ? "; dashed: failed" : "";
    return `${plural(this.items.length, "trial")} over ${unit}; at most ${mostAtOnce(this.items)} at once${late}${
      failed}`;
  }

  // A bar of no length is a pixel.
  #bar(context, {left, right, y}, one, colour) {
    const path = context.path?.() ?? new Path2D();
    path.moveTo(left, y);
    path.lineTo(Math.max(right, left + 1), y);
    context.strokeStyle = one === this.pointed ? colour.text : colourOf(one.colour, colour);
    context.setLineDash(one.failed ? FAILED : []);
    context.stroke(path);
    context.setLineDash([]);
  }

  nearest(px, py) {
    let found = null;
    let least = NEAR;
    for (const [one, {left, right, y}] of this.places ?? []) {
      const distance = Math.hypot(Math.max(left - px, 0, px - right), y - py);
      if (distance < least) [least, found] = [distance, one];
    }
    return found;
  }

  tipOf(item) {
    const place = this.places.get(item);
    const took = `${item.state}, ${duration(item.took)}${item.going ? " until now" : ""}`;
    return place && {place: [place.right, place.y], lines: [item.name, took, ...(item.note ? [item.note] : [])]};
  }
}

export class Timeline {
  // onOpen(item) opens a trial.
  constructor({onOpen}) {
    this.drawing = new Drawing("Timeline", onOpen, "", STATES);
    this.element =
      el("section", {"aria-label": "Timeline", hidden: true}, el("h2", {}, "Timeline"), this.drawing.element);
  }

  // `notes`: returns a trial's parameters in words.
  set(experiment, trials, notes) {
    const begun = trials.filter((t) => t.started_at);
    this.element.hidden = begun.length < TRIALS_LEAST;
    if (this.element.hidden) return;
    const now = new Date().toISOString();
    const endOf = (t) => t.ended_at ?? experiment.ended_at ?? now;
    const {unit, at} = axisOfTime(experiment.submitted_at, begun.map(endOf));
    const items = begun.map((t) => ({
                              key: t.id,
                              name: t.id,
                              note: notes(t),
                              state: t.state,
                              colour: t.trial === experiment.best_trial ? "best" :
                                t.state === "finished"                  ? "good" :
                                                                          "rest",
                              y: t.trial,
                              from: at(t.started_at),
                              to: at(endOf(t)),
                              failed: t.state === "failed",
                              going: !t.ended_at,
                              took: (Date.parse(endOf(t)) - Date.parse(t.started_at)) / 1000
                            }));
    this.drawing.set(items, {unit, waiting: trials.length - begun.length});
  }

  close() { this.drawing.close(); }
}
