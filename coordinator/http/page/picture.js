// picture.js: a drawing of trials on a canvas, by which a person points at a trial and opens it.
import {el, redrawing, replace} from "./dom.js";
import {number, plural} from "./format.js";
import {saveButtons, toSvg} from "./save.js";
import {colours, fit} from "./scales.js";

export const NEAR = 24;  // pixels within which the pointer finds an item
const RANKS = [["best", "orange: best"], ["good", "blue: best quarter"], ["rest", "grey: others"]];
// Drawing order by rank: the best on top.
export const orderOf = (item) => ["rest", "good", "best"].indexOf(item.colour);

// Returns the area inside the axes of a picture of this size.
export function areaOf(width, height) {
  return {left: 62, top: 20, width: Math.max(10, width - 78), height: Math.max(10, height - 54)};
}

// Returns the place of each item, which has x and y, in an area with these scales.
export function placesOf(items, area, x, y) {
  const place =
    (one) => [area.left + onAxis(x.to(one.x)) * area.width, area.top + (1 - onAxis(y.to(one.y))) * area.height];
  return new Map(items.map((one) => [one, place(one)]));
}

// Returns the item whose place is nearest to the pointer; null: none is near.
export function nearestOf(places, px, py) {
  let best = null;
  let least = NEAR;
  for (const [one, [x, y]] of places ?? []) {
    const distance = Math.hypot(x - px, y - py);
    if (distance < least) [least, best] = [distance, one];
  }
  return best;
}

// Clamps a value far from the others to the axis' end.
export const onAxis = (place) => Math.max(0, Math.min(1, place));
export function farWords(near, values) {
  const far = near ? values.filter((v) => v < near[0] || v > near[1]) : [];
  if (!far.length) return "";
  const [least, most] = [Math.min(...far), Math.max(...far)];
  return `; ${plural(far.length, "outlier")} at the edge, ${
    least === most ? `at ${number(least)}` : `from ${number(least)} to ${number(most)}`}`;
}

// A canvas that is redrawn when its size or the theme changes, with a tip for the item under the pointer. A picture has
// nearest(x, y), paint(context, width, height, colour), tipOf(item), which returns {place, lines}, and
// rows(): its values as a table, the head first.
export class Picture {
  // size: "", "low" or "small". ranks: what the colours of the items mean: [[colour, words], …].
  constructor(label, onOpen, size = "", ranks = RANKS) {
    this.ranks = ranks;
    this.label = label;
    this.onOpen = onOpen;
    this.items = [];
    this.ready = false;  // whether there is something to draw
    this.pointed = null;
    this.before = undefined;  // the item pointed at before a finger came down; undefined: a mouse
    this.canvas = el("canvas", {
      class: "over",
      role: "img",
      "aria-label": label,
      tabindex: 0,
      on: {
        pointermove: (event) => this.#point(this.#at(event)),
        pointerdown: (event) => {
          this.before = event.pointerType === "touch" ? this.pointed : undefined;
        },
        pointerleave: (event) => {
          if (event.pointerType !== "touch") this.#point(null);
        },
        click: (event) => this.#click(this.#at(event)),
        keydown: (event) => this.#key(event),
      }
    });
    this.tip = el("div", {class: "tip", hidden: true});
    this.box = el("div", {class: `plot ${size}`.trim()}, this.canvas, this.tip);
    this.caption = el("figcaption");
    this.element = el("figure", {}, this.box, this.caption, saveButtons(label, this));
    this.close = redrawing(this.box, () => this.draw());
  }

  draw() {
    this.tip.hidden = true;
    if (!this.ready) return;
    const {context, width, height} = fit(this.canvas);
    if (width === 0) return;
    this.say(this.paint(context, width, height, colours(this.box)));
    const tip = this.pointed && this.tipOf(this.pointed);
    if (tip) this.showTip(...tip.place, tip.lines);
  }

  // Returns the picture as an SVG file.
  svg() {
    const {clientWidth: width, clientHeight: height} = this.box;
    const colour = colours(this.box);
    const paint = (context) => this.paint(context, width, height, colour);
    return toSvg({width, height, colour, title: this.caption.textContent, paint});
  }

  // Draws these items. `options`: of this kind of picture.
  set(items, options) {
    this.options = options;
    this.show(items);
  }

  // Returns the items that can be pointed at.
  pointable() { return this.items; }

  // Draws these items, and keeps the item pointed at. Items are {key, name, colour, …}.
  show(items) {
    this.items = items;
    this.ready = true;
    if (this.pointed) this.pointed = items.find((one) => one.key === this.pointed.key) ?? null;
    this.draw();
  }

  #at(event) {
    const rect = this.canvas.getBoundingClientRect();
    return this.nearest(event.clientX - rect.left, event.clientY - rect.top);
  }

  // With a finger, the first tap points at an item and the second opens it.
  #click(item) {
    if (item && (this.before === undefined || this.before === item))
      this.onOpen(item);
    else
      this.#point(item);
  }

  #point(item) {
    if (item === this.pointed) return;
    this.pointed = item;
    this.draw();
  }

  #key(event) {
    const list = this.pointable();
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (step && list.length) {
      this.#point(list[(list.indexOf(this.pointed) + step + list.length) % list.length]);
      event.preventDefault();
    } else if (event.key === "Enter" && this.pointed) {
      this.onOpen(this.pointed);
    }
  }

  showTip(x, y, lines) {
    replace(this.tip, lines.map((line, i) => (i ? [el("br"), el("bdi", {}, line)] : el("strong", {}, line))));
    this.tip.hidden = false;
    const {clientWidth, clientHeight} = this.box;
    this.tip.style.left = `${Math.max(4, Math.min(x + 12, clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(4, Math.min(y + 12, clientHeight - this.tip.offsetHeight - 4))}px`;
  }

  say(words) {
    const ranks = new Set(this.pointable().map((one) => one.colour));
    const told =
      ranks.has("best") && ranks.size > 1 ? this.ranks.filter(([rank]) => ranks.has(rank)).map(([, name]) => name) : [];
    this.caption.textContent = [words, ...told].join("; ");
    this.canvas.setAttribute("aria-label", `${this.label}: ${words}. Arrow keys select a trial, Enter opens it.`);
  }
}
