// Further figures: curves over epochs, accuracy and time, average ranks.

/** The curves of a line in a column. */
function curvesOf(line, column) {
  const cell = cellOf(line, column);
  const found = (curves) => curves.line === line && curves.column === cell.column;
  return cell ? data.curves.cells.find(found) : undefined;
}

/** One curve of several lines in a column, [line, curves] each, over the epochs. */
function curvePanel(found, name, column, { width, title }) {
  const drawn = found.filter(([, curves]) => curves?.[name]);
  if (!drawn.length) return null;
  const equal = new Set(drawn.map(([, curves]) => curves.length)).size === 1;
  const series = drawn.map(([i, curves]) => {
    const { mean: middle, std: half } = curves[name];
    const epochs = data.curves.epochs[curves.length];
    return epochs
      .map((epoch, k) => ({
        x: equal ? epoch : (100 * epoch) / curves.length,
        mean: middle[k] === null ? null : middle[k] / 100,
        half: half && half[k] !== null ? half[k] / 100 : 0,
      }))
      .concat({ i });
  });
  const points = series.flatMap((one) => one.slice(0, -1)).filter((point) => point.mean !== null);
  if (!points.length) return null;
  const last = Math.max(...points.map((point) => point.x));
  const settled = points.filter((point) => point.x > last / 20);
  const ends = (name === "metric" ? settled : points).flatMap((p) => [p.mean - p.half, p.mean + p.half]);
  let [low, high] = bounds(ends);
  if (name !== "metric") low = 0;
  const x = { low: 0, high: last, whole: true, label: equal ? "epoch" : "share of the epochs (%)" };
  const y = { low, high, label: curveLabel(name, [column]) };
  const { node, X, Y, box } = frame({ width, height: 300, x, y, title });
  const clip = `clip-${(clips += 1)}`;
  const area = { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top };
  node.prepend(svg("clipPath", { id: clip }, svg("rect", area)));
  const inside = svg("g", { "clip-path": `url(#${clip})` });
  series.forEach((one, k) => {
    const { look } = data.lines[one.at(-1).i];
    const known = one.slice(0, -1).filter((point) => point.mean !== null);
    const edge = (point, sign) => `${X(point.x).toFixed(1)},${Y(point.mean + sign * point.half).toFixed(1)}`;
    const band = [...known.map((p) => edge(p, 1)), ...[...known].reverse().map((p) => edge(p, -1))];
    inside.append(svg("path", { d: `M${band.join("L")}Z`, class: "band", fill: colourOf(look) }));
    inside.append(path(look, known.map((point) => [X(point.x), Y(point.mean)])));
    const every = Math.max(1, Math.floor(known.length / 5));
    const start = Math.floor((every * k) / series.length);
    known.filter((_, n) => look[1] && n % every === start).forEach((point) => inside.append(marker(look, X(point.x), Y(point.mean))));
  });
  node.append(inside);
  const lasts = series.map((one) => {
    const end = one.slice(0, -1).findLast((point) => point.mean !== null);
    return end ? `${data.lines[one.at(-1).i].label} ${end.mean.toFixed(2)}` : "";
  });
  node.dataset.numbers = `${y.label} at the end: ${lasts.filter(Boolean).join(", ")}.`;
  return node;
}

let clips = 0;

function drawCurves(figure, width) {
  const columns = columnsOf(figure);
  const column = Number(choice(figure, "column"));
  const shown = legend(figure, linesIn(columns));
  const found = shown.map((i) => [i, curvesOf(i, column)]);
  const node = curvePanel(found, choice(figure, "curve"), column, { width: Math.min(width, 760) });
  return node ? [node] : nothing("No line shown here has this curve.");
}

function drawLineCurves(figure, width) {
  const own = Number(figure.dataset.place);
  const column = Number(choice(figure, "column"));
  const found = [[own, curvesOf(own, column)]];
  const names = Object.keys(CURVES).filter((name) => found[0][1]?.[name]);
  const each = panelWidth(width, names.length);
  const nodes = names.map((name) => curvePanel(found, name, column, { width: Math.min(each, 760) }));
  return nodes.some(Boolean) ? nodes.filter(Boolean) : nothing("Its runs have no curves here.");
}

/** Mean accuracy and seconds of a line over data sets, each the mean of its columns; or null. */
function levels(line, datasets) {
  const found = datasets.map((dataset) => {
    const own = [...data.columns.keys()].filter((j) => data.columns[j].dataset === dataset);
    const here = own.map((j) => cellOf(line, j));
    if (!here.every(Boolean)) return null;
    return [mean(here.map((c) => mean(c.values))), mean(here.map((c) => mean(c.seconds)))];
  });
  if (!found.length || !found.every(Boolean)) return null;
  return { y: mean(found.map(([y]) => y)), x: mean(found.map(([, x]) => x)) };
}

function drawPareto(figure, width) {
  const chosen = choice(figure, "dataset");
  const ranked = new Set(data.columns.filter((c) => c.ranked).map((c) => c.dataset));
  const all = ranked.size ? [...ranked] : [...data.datasets.keys()];
  const datasets = chosen === "" ? all : [Number(chosen)];
  const rivals = [...data.lines.keys()].filter((i) => !data.lines[i].reference);
  const timed = rivals.map((i) => ({ i, ...levels(i, datasets) })).filter((point) => point.x > 0);
  const shown = new Set(legend(figure, timed.map((point) => point.i)));
  const points = timed.filter((point) => shown.has(point.i));
  if (!points.length) return nothing("No line shown here has runs on all of it.");
  const front = points.filter((p) => !points.some((o) => (o.x < p.x && o.y >= p.y) || (o.x <= p.x && o.y > p.y)));
  front.sort((a, b) => a.x - b.x);
  const times = points.map((point) => point.x);
  const [low, high] = bounds(points.map((point) => point.y));
  const label = quantityOf([...data.columns.keys()].filter((j) => datasets.includes(data.columns[j].dataset)));
  const x = { low: Math.min(...times) / 1.4, high: Math.max(...times) * 1.4, log: true, label: "Seconds of a run" };
  const { node, X, Y } = frame({ width: Math.min(width, 760), height: 360, x, y: { low, high, label } });
  const edge = front.map((point) => [X(point.x), Y(point.y)]);
  node.append(path(["currentColor", "", ":"], edge, { class: "front" }));
  for (const point of points) {
    const { look, label } = data.lines[point.i];
    const title = `${label}: ${point.y.toFixed(2)} % in ${point.x.toFixed(1)} s`;
    node.append(marker(look, X(point.x), Y(point.y), title));
  }
  for (const point of front) {
    const { label } = data.lines[point.i];
    const right = X(point.x) < 0.6 * Math.min(width, 760);
    const place = { x: X(point.x) + (right ? 9 : -9), y: Y(point.y) - 8, "text-anchor": right ? "start" : "end" };
    node.append(svg("text", place, short(label, 24)));
  }
  return [node];
}

/** The critical-difference diagram: lines on both sides of an axis, bars over tie groups. */
function drawRanks(figure, full) {
  const { ranks } = data;
  if (!ranks) return nothing("No ranks: two methods must have all their runs on one data set.");
  const width = Math.min(full, 900);
  const count = ranks.lines.length;
  const labels = ranks.lines.map((i) => data.lines[i].label);
  const longest = Math.max(...labels.map((label) => [...label].length));
  const margin = Math.min(0.36 * width, 7 * longest + 72);
  const X = (rank) => margin + ((rank - 1) / Math.max(1, count - 1)) * (width - 2 * margin);
  const bars = ranks.groups.filter(([low, high]) => high > low || ranks.averages.filter((a) => a === low).length > 1);
  const axis = 58;
  const first = axis + 22 + 8 * bars.length;
  const half = Math.ceil(count / 2);
  const height = first + 19 * half + 6;
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });
  node.append(line(X(1), axis, X(count), axis, "axis"));
  const every = Math.ceil(count / Math.max(2, (width - 2 * margin) / 34));
  for (let rank = 1; rank <= count; rank += 1) {
    node.append(line(X(rank), axis - 5, X(rank), axis, "axis"));
    if ((rank - 1) % every === 0) {
      node.append(svg("text", { x: X(rank), y: axis - 10, "text-anchor": "middle" }, `${rank}`));
    }
  }
  const wide = Math.min(1 + ranks.distance, count);
  node.append(line(X(1), 24, X(wide), 24, "axis"), line(X(1), 20, X(1), 28, "axis"));
  if (wide < count) node.append(line(X(wide), 20, X(wide), 28, "axis"));
  const name = `CD = ${ranks.distance.toFixed(2)}${wide < count ? "" : " (wider than the axis)"}`;
  node.append(svg("text", { x: X(1), y: 14 }, name));
  bars.forEach(([low, high], i) => {
    node.append(line(X(low) - 3, axis + 10 + 8 * i, X(high) + 3, axis + 10 + 8 * i, "bar"));
  });
  ranks.lines.forEach((i, k) => {
    const left = k < half;
    const y = first + 19 * (left ? k : count - 1 - k);
    const [x, edge] = [X(ranks.averages[k]), left ? margin - 14 : width - margin + 14];
    const steps = `M${x.toFixed(1)},${axis}V${y}H${edge}`;
    node.append(svg("path", { d: steps, class: "leader" }), marker(data.lines[i].look, edge, y));
    const text = short(labels[k], (margin - 66) / 6.8);
    const average = ranks.averages[k].toFixed(2);
    const place = { x: left ? edge - 9 : edge + 9, y: y + 4, "text-anchor": left ? "end" : "start" };
    const shownText = svg("text", place, left ? `${text}  ${average}` : `${average}  ${text}`);
    shownText.append(svg("title", {}, labels[k]));
    node.append(shownText);
  });
  return [node];
}
