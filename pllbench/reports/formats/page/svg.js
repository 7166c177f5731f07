// Parts of figures, as SVG that takes its text colour from the page.

/** An SVG element with attributes and children. */
function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const DASHES = { "-": "none", "--": "6 3", "-.": "7 3 2 3", ":": "2 3" };

/** Corners of a star or polygon: `radii` in turn, the first at angle `start` (degrees, 0 is up). */
function polygon(count, radii, start = 0) {
  const corners = [...Array(count).keys()].map((i) => {
    const angle = ((start + (360 * i) / count) * Math.PI) / 180;
    const radius = radii[i % radii.length];
    return `${(radius * Math.sin(angle)).toFixed(2)},${(-radius * Math.cos(angle)).toFixed(2)}`;
  });
  return `M${corners.join("L")}Z`;
}

const PLUS = "M-1.5,-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z";

/** Paths of the markers, by their names in matplotlib. */
const MARKERS = {
  o: "M-3.8,0a3.8,3.8 0 1,0 7.6,0a3.8,3.8 0 1,0 -7.6,0",
  s: polygon(4, [4.8], 45),
  D: polygon(4, [4.8]),
  "^": polygon(3, [5]),
  ">": polygon(3, [5], 90),
  v: polygon(3, [5], 180),
  "<": polygon(3, [5], 270),
  P: PLUS,
  X: PLUS,
  "*": polygon(10, [5.6, 2.3]),
};

/** Colours that a dark page would swallow are taken from its text. */
const TEXT_COLOURS = { "#000000": "currentColor", "#595959": "var(--soft)" };

function colourOf(look) {
  return TEXT_COLOURS[look[0]] ?? look[0];
}

function marker(look, x, y, title) {
  const turn = look[1] === "X" ? " rotate(45)" : "";
  const node = svg("path", {
    d: MARKERS[look[1]] ?? MARKERS.s,
    transform: `translate(${x.toFixed(1)},${y.toFixed(1)})${turn}`,
    fill: colourOf(look),
    class: "marker",
  });
  if (title) node.append(svg("title", {}, title));
  return node;
}

/** A line through points [x, y]; where a point has no y, it is broken. */
function path(look, points, attributes = {}) {
  let pen = "M";
  const steps = points.map(([x, y]) => {
    const step = y === null ? "" : `${pen}${x.toFixed(1)},${y.toFixed(1)}`;
    pen = y === null ? "M" : "L";
    return step;
  });
  const dashes = DASHES[look[2]];
  const drawn = { d: steps.join(""), fill: "none", stroke: colourOf(look), "stroke-width": 1.6 };
  return svg("path", { ...drawn, "stroke-dasharray": dashes, ...attributes });
}

/** Round numbers from low to high, about `count` of them. */
function roundTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const ticks = [];
  for (let i = first; i <= last; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Powers of ten, with as many factors between them as make three ticks. */
function logTicks(low, high) {
  const powers = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p += 1) powers.push(10 ** p);
  const factors = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]].map((list) =>
    powers.flatMap((power) => list.map((factor) => Number((factor * power).toPrecision(6)))),
  );
  const inside = factors.map((ticks) => ticks.filter((tick) => tick >= low && tick <= high));
  return inside.find((ticks) => ticks.length >= 3) ?? inside.at(-1);
}

/** An empty diagram: its node, and functions from values to places; a `whole` axis has no ticks between integers. */
function frame({ width, height, x, y, title }) {
  const yTicks = roundTicks(y.low, y.high, 5);
  const longest = Math.max(0, ...yTicks.map((tick) => `${tick}`.length));
  const box = { left: Math.max(50, 7 * longest + 26), right: width - 14, top: title ? 26 : 10, bottom: height - 40 };
  const scale = (axis, from, to) => {
    const value = axis.log ? Math.log10 : Number;
    const [low, high] = [value(axis.low), value(axis.high)];
    return (v) => from + ((value(v) - low) / (high - low || 1)) * (to - from);
  };
  const [X, Y] = [scale(x, box.left, box.right), scale(y, box.bottom, box.top)];
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const few = Math.max(2, Math.floor((box.right - box.left) / 70));
  const xTicks = x.ticks ?? (x.log ? logTicks(x.low, x.high) : roundTicks(x.low, x.high, few));
  for (const tick of xTicks.filter((value) => !x.whole || Number.isInteger(value))) {
    node.append(
      svg("line", { x1: X(tick), x2: X(tick), y1: box.top, y2: box.bottom, class: "grid" }),
      svg("text", { x: X(tick), y: box.bottom + 16, "text-anchor": "middle" }, `${tick}`),
    );
  }
  for (const tick of yTicks) {
    node.append(
      svg("line", { x1: box.left, x2: box.right, y1: Y(tick), y2: Y(tick), class: "grid" }),
      svg("text", { x: box.left - 6, y: Y(tick) + 4, "text-anchor": "end" }, `${tick}`),
    );
  }
  const middle = (box.top + box.bottom) / 2;
  node.append(
    svg("path", { d: `M${box.left},${box.top}V${box.bottom}H${box.right}`, class: "axis" }),
    svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label),
    svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12,${middle}) rotate(-90)` }, y.label),
  );
  if (title) node.append(svg("text", { x: box.left, y: 16, class: "title" }, short(title, width / 7)));
  return { node, X, Y, box };
}

/** A text in at most so many letters; its direction does not touch what stands beside it. */
function short(text, letters) {
  const parts = [...text];
  const cut = `${parts.slice(0, Math.max(1, letters - 1)).join("")}…`;
  return `\u2068${parts.length > letters ? cut : text}\u2069`;
}

/** Bounds of values with a margin. */
function bounds(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low) * 0.06 || 1;
  return [low - margin, high + margin];
}

/** Rows of dots with intervals, one below the other; each row has label, look, mean, low, high. */
function dotRows({ width, rows, label, zero, title }) {
  const longest = Math.max(...rows.map((row) => [...row.label].length));
  const left = Math.min(width * 0.4, 7.2 * longest + 14);
  const top = title ? 24 : 4;
  const height = 20 * rows.length + 42 + top;
  const right = width - 14;
  const ends = rows.flatMap((row) => [row.low, row.high]);
  const [low, high] = bounds(zero ? [...ends, 0] : ends);
  const X = (v) => left + ((v - low) / (high - low)) * (right - left);
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const bottom = height - 38;
  for (const tick of roundTicks(low, high, Math.max(2, Math.floor((right - left) / 70)))) {
    node.append(
      svg("line", { x1: X(tick), x2: X(tick), y1: top, y2: bottom, class: "grid" }),
      svg("text", { x: X(tick), y: bottom + 16, "text-anchor": "middle" }, `${tick}`),
    );
  }
  if (zero) node.append(svg("line", { x1: X(0), x2: X(0), y1: top, y2: bottom, class: "axis" }));
  rows.forEach((row, i) => {
    const y = top + 14 + 20 * i;
    const stroke = { stroke: colourOf(row.look), "stroke-width": 1.6 };
    const name = svg("text", { x: left - 10, y: y + 4, "text-anchor": "end" });
    name.append(svg("title", {}, row.label), short(row.label, (left - 14) / 7));
    node.append(name, svg("line", { x1: X(row.low), x2: X(row.high), y1: y, y2: y, ...stroke }));
    node.append(marker(row.look, X(row.mean), y, row.title));
  });
  node.append(
    svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, label),
  );
  if (title) node.append(svg("text", { x: left, y: 16, class: "title" }, short(title, (right - left) / 7)));
  return node;
}
