// arrange.js: puts the pictures of a search in their order.
import {el} from "./dom.js";
import {inLayout} from "./layout.js";

// Returns elements for these parts in the order of layout.js: those with the names in `wide` take the full width, the
// others stand side by side. parts: elements by the name of a picture.
export function arranged(parts, wide) {
  const rows = [];
  for (const part of inLayout(parts)) {
    const full = wide.some((name) => parts[name] === part);
    if (full)
      rows.push(part);
    else if (rows.at(-1)?.className === "columns")
      rows.at(-1).append(part);
    else
      rows.push(el("div", {class: "columns"}, part));
  }
  return rows;
}
