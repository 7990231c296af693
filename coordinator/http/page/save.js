// save.js: saves a chart as an SVG file with its legend, and its values as a CSV file.
import {el} from "./dom.js";

const LINE = 17;  // pixels, of a line of the legend
const FREE_MS = 10000;

const escaped = (text) => String(text)
                            .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
                            // XML allows no control characters
                            .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
const places = (v) => Number(v.toFixed(2));

class SvgPath {
  d = "";
  moveTo(x, y) { this.d += `M${places(x)} ${places(y)}`; }
  lineTo(x, y) { this.d += `L${places(x)} ${places(y)}`; }
  closePath() { this.d += "Z"; }
}

// The part of a canvas' context that charts draw with; writes SVG.
class SvgContext {
  constructor() {
    this.parts = [];
    this.open = [];  // groups opened since each save()
    this.clips = 0;
    this.globalAlpha = 1;
    this.lineWidth = 1;
    this.dashes = [];
    this.measure = document.createElement("canvas").getContext("2d");
    this.beginPath();
  }

  path() { return new SvgPath(); }
  beginPath() { this.current = new SvgPath(); }
  moveTo(x, y) { this.current.moveTo(x, y); }
  lineTo(x, y) { this.current.lineTo(x, y); }
  rect(x, y, width, height) { this.current.d += `M${x} ${y}h${width}v${height}h${- width}Z`; }
  arc(x, y, r) {
    const [left, top] = [places(x - r), places(y)];
    this.current.d += `M${left} ${top}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${- 2 * r} 0Z`;
  }
  setLineDash(dashes) { this.dashes = dashes; }
  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  save() { this.open.push(0); }
  restore() { this.parts.push("</g>".repeat(this.open.pop())); }
  clip() {
    const id = `clip${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.current.d}"/></clipPath><g clip-path="url(#${id})">`);
    this.open[this.open.length - 1] += 1;
  }

  stroke(path = this.current) {
    const dashes = this.dashes.length ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    if (!path.d) return;
    this.parts.push(
      `<path d="${path.d}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"` +
      ` stroke-linejoin="bevel" opacity="${this.globalAlpha}"${dashes}/>`);
  }
  fill(path = this.current) {
    if (path.d)
      this.parts.push(`<path d="${path.d}" fill="${escaped(this.fillStyle)}" opacity="${this.globalAlpha}"/>`);
  }
  fillRect(x, y, width, height) {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }
  fillText(text, x, y) {
    const anchor = {center: "middle", right: "end"}[this.textAlign] ?? "start";
    const baseline = {top: "text-before-edge", middle: "central", bottom: "text-after-edge"}[this.textBaseline] ??
      "auto";
    this.parts.push(
      `<text x="${places(x)}" y="${places(y)}" fill="${escaped(this.fillStyle)}" text-anchor="${anchor}"` +
      ` dominant-baseline="${baseline}">${escaped(text)}</text>`);
  }
}

// Returns an SVG file. paint(context) draws the chart; legend: [[colour, text]].
export function toSvg({width, height, colour, title, legend = [], paint}) {
  const context = new SvgContext();
  paint(context);
  context.globalAlpha = 1;
  context.textAlign = "left";
  context.textBaseline = "middle";
  legend.forEach(([mark, text], i) => {
    const y = height + LINE * (i + 0.5);
    context.fillStyle = mark;
    context.fillRect(8, y - 2, 14, 4);
    context.fillStyle = colour.text;
    context.fillText(text, 28, y);
  });
  const all = height + (legend.length ? LINE * legend.length + 8 : 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${all}" viewBox="0 0 ${width} ${all}"` +
    ` font-family="system-ui, sans-serif" font-size="11"><title>${escaped(title)}</title>` +
    `<rect width="100%" height="100%" fill="${escaped(colour.ground)}"/>${context.parts.join("\n")}</svg>\n`;
}

// Returns rows as the text of a CSV file. A value that is no number is empty.
export function toCsv(rows) {
  const cell = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function download(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  el("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), FREE_MS);
}

// Returns buttons that save a chart: {svg(), rows()}.
export function saveButtons(label, chart) {
  const place = () => location.hash.slice(1).split("?")[0];
  const name = (end) => `${`${place()} ${label}`.replace(/[^A-Za-z0-9_.]+/g, "-").replace(/^-|-$/g, "")}.${end}`;
  const button = (word, press) =>
    el("button", {type: "button", "aria-label": `Save ${label} as ${word}`, on: {click: press}}, word);
  return el(
    "span", {class: "save"}, button("SVG", () => download(chart.svg(), "image/svg+xml", name("svg"))),
    button("CSV", () => download(toCsv(chart.rows()), "text/csv", name("csv"))));
}
