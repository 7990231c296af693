// time_axis.js: an axis of the time since an experiment was submitted.
const UNITS = [["days", 86400e3], ["hours", 3600e3], ["minutes", 60e3], ["seconds", 1e3]];
const UNIT_LEAST = 3;  // of a unit; a shorter time is shown in the next smaller unit

// Returns the axis' name, and the function that maps a time to a number on it. Times are texts; ends: all that are
// shown.
export function axisOfTime(submitted, ends) {
  const start = Date.parse(submitted);
  const after = (time) => Date.parse(time) - start;
  const last = Math.max(0, ...ends.map(after));
  const [unit, ms] = UNITS.find(([, size]) => last >= UNIT_LEAST * size) ?? UNITS.at(-1);
  return {unit: `${unit} after submission`, at: (time) => after(time) / ms};
}
