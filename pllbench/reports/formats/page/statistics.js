// Means, and differences that are paired over seeds: as `pllbench table --tests` has them.

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Sample standard deviation; null for a single value. */
function std(values) {
  if (values.length < 2) return null;
  const middle = mean(values);
  const squares = values.map((value) => (value - middle) ** 2);
  return Math.sqrt(squares.reduce((sum, value) => sum + value, 0) / (values.length - 1));
}

/** Difference of two cells of one budget with its 95 % interval, or a note why there is none. */
function difference(ours, theirs) {
  if (!ours || !theirs) return { note: "no runs of the chosen method" };
  if (ours.budget !== theirs.budget) return { note: "other budget" };
  return pairedDifference(ours, theirs);
}

/** Difference of two cells over their seeds with its 95 % interval, or a note why there is none. */
function pairedDifference(ours, theirs) {
  if (!ours.complete || !theirs.complete) return { note: "runs are missing" };
  if (ours.sets !== theirs.sets) return { note: "other candidate sets" };
  if (`${ours.seeds}` !== `${theirs.seeds}`) return { note: "other seeds" };
  const differences = ours.values.map((value, i) => value - theirs.values[i]);
  const n = differences.length;
  if (n < 2) return { note: "n = 1" };
  const middle = mean(differences);
  const margin = (data.quantiles[n] * std(differences)) / Math.sqrt(n);
  return { n, mean: middle, low: middle - margin, high: middle + margin };
}

function signed(value) {
  const text = Math.abs(value).toFixed(2);
  return (value < 0 && Number(text) !== 0 ? "-" : "+") + text;
}

/** `+1.30 [+0.09, +2.51]`, or the note. */
function differenceText({ note, mean: middle, low, high }) {
  return note || `${signed(middle)} [${signed(low)}, ${signed(high)}]`;
}
