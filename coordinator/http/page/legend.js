// legend.js: names of the curves with their parameters, and the meaning of rank colours. Shows the first of many names,
// and all on request. Pointing at a name highlights its curve.
import {el, replace} from "./dom.js";
import {colourOf} from "./scales.js";

const MOST = 12;  // names shown at first
const RANKS = {
  best: "best",
  good: "best quarter of these",
  rest: "others"
};

export class Legend {
  // Calls point(key) and leave(event) when a person points at a name.
  constructor({point, leave}) {
    this.point = point;
    this.leave = leave;
    this.all = false;
    this.element = el("ul", {class: "legend"});
  }

  #entry(one, colour) {
    const mark = el("span", {class: "mark", "aria-hidden": "true"});
    mark.style.background = colourOf(one.colour, colour);
    return el(
      "li", {
        on: {
          pointerenter: () => this.point(one.key),
          click: () => this.point(one.key),
          pointerleave: (event) => this.leave(event)
        }
      },
      mark, el("bdi", {}, one.name), one.short ? el("bdi", {class: "dim note", title: one.note}, one.short) : null);
  }

  // A single curve needs no legend.
  draw(series, colour) {
    const drawn = series.length > 1 ? series : [];
    const shown = this.all ? drawn : drawn.slice(0, MOST);
    const signature = JSON.stringify([shown.map((one) => [one.name, one.short, one.colour]), drawn.length, colour]);
    if (signature === this.signature) return;
    this.signature = signature;
    const ranks = Object.keys(RANKS).filter((rank) => drawn.some((one) => one.colour === rank));
    const more = drawn.length > MOST ? el(
                                         "li", {},
                                         el(
                                           "button", {
                                             type: "button",
                                             "data-focus": "names of curves",
                                             on: {
                                               click: () => {
                                                 this.all = !this.all;
                                                 this.draw(series, colour);
                                               }
                                             }
                                           },
                                           this.all ? "fewer names" : `all ${drawn.length} names`)) :
                                                      null;
    replace(
      this.element,
      ranks.length ? el("li", {class: "ranks"}, ranks.map((rank) => {
        const mark = el("span", {class: "mark", "aria-hidden": "true"});
        mark.style.background = colourOf(rank, colour);
        return [mark, el("span", {class: "dim"}, RANKS[rank])];
      })) :
                     null,
      shown.map((one) => this.#entry(one, colour)), more);
  }
}
