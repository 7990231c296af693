// field.js: a field of values between points, and its areas above a value. Pure.
//
// The value at a place is the mean of all points' values, weighted by 1 / (d² + S²)^1.5, where d is the distance to the
// point (Shepard's inverse distance weighting, 1968). Both axes have the length 1, so distances are shares of an axis.
// S keeps the weight of a point finite, so that points at one place count as their mean. A place further than REACH
// from every point has no value. Cost: (GRID + 1)² × POINTS_MOST weights, some 0.9 million.
export const GRID = 40;  // cells in each direction
export const POINTS_MOST = 500;
const SOFT = 0.02;   // S
const REACH = 0.25;  // shares of an axis

// Returns at most POINTS_MOST of the points, evenly among them.
function thinned(points) {
  const every = Math.ceil(points.length / POINTS_MOST);
  return points.filter((_, i) => i % every === 0);
}

// Returns the value at (x, y), or NaN. points: [{x, y, value}], x and y from 0 to 1.
export function valueAt(points, x, y) {
  let weights = 0;
  let sum = 0;
  let least = Infinity;
  for (const one of points) {
    const square = (one.x - x) ** 2 + (one.y - y) ** 2;
    if (square < least) least = square;
    const weight = (square + SOFT * SOFT) ** -1.5;
    weights += weight;
    sum += weight * one.value;
  }
  return least <= REACH * REACH ? sum / weights : NaN;
}

// Returns the values at the corners of the cells, row by row from y = 0: (GRID + 1)² of them.
export function fieldOf(points) {
  const some = thinned(points);
  const side = GRID + 1;
  return Float64Array.from(
    {length: side * side}, (_, i) => valueAt(some, (i % side) / GRID, Math.floor(i / side) / GRID));
}

// Adds the part of a cell where the value is at least `level` to a path. corners: [[x, y, value], …] around the cell.
function addPart(corners, level, path) {
  const out = [];
  corners.forEach(([x, y, v], i) => {
    const [nextX, nextY, next] = corners[(i + 1) % corners.length];
    if (v >= level) out.push([x, y]);
    if ((v >= level) === (next >= level)) return;
    const share = (level - v) / (next - v);
    out.push([x + (nextX - x) * share, y + (nextY - y) * share]);
  });
  addPolygon(out, path);
}

function addPolygon(points, path) {
  points.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
  if (points.length) path.closePath();
}

// Adds the area where the field is at least `level` to a path. place(x, y) returns the place of two shares of the axes.
// Neighbours in a row that are complete become one rectangle.
export function traceArea(field, level, place, path) {
  const side = GRID + 1;
  const corner = (i, j) => [...place(i / GRID, j / GRID), field[j * side + i]];
  for (let j = 0; j < GRID; ++j) {
    let from = -1;  // first cell of the complete ones
    const end = (to) => {
      if (from >= 0) addPolygon([corner(from, j), corner(to, j), corner(to, j + 1), corner(from, j + 1)], path);
      from = -1;
    };
    for (let i = 0; i < GRID; ++i) {
      const corners = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
      const values = corners.map(([, , v]) => v);
      if (values.every((v) => v >= level)) {
        if (from < 0) from = i;
        continue;
      }
      end(i);
      if (!values.some(Number.isNaN) && values.some((v) => v > level)) addPart(corners, level, path);
    }
    end(GRID);
  }
}
