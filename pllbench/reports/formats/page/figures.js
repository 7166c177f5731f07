// The figures of the page; each function gives the nodes of one, drawn for a width.

const FIGURES = {
  ranks: drawRanks,
  pareto: drawPareto,
  accuracy: drawAccuracy,
  sweeps: drawSweeps,
  differences: drawDifferences,
  "line-differences": drawLineDifferences,
  tuning: drawTuning,
  curves: drawCurves,
  "line-curves": drawLineCurves,
};

const CURVES = {
  metric: null,
  class_noise: "Class noise rate (%)",
  pairwise_noise: "Pairwise noise rate (%)",
};

/** What the numbers of some columns are, at an axis. */
function quantityOf(columns) {
  const found = new Set(columns.map((j) => data.columns[j].quantity));
  return found.size === 1 ? [...found][0] : "Mean (%)";
}

/** What a curve shows in some columns, at an axis. */
function curveLabel(name, columns) {
  return CURVES[name] ?? quantityOf(columns);
}

/** Draw a figure anew, as wide as there is room. */
function drawFigure(figure) {
  const drawing = figure.querySelector(".drawing");
  const room = () => Math.max(260, Math.floor(drawing.clientWidth));
  const draw = (width) => drawing.replaceChildren(...FIGURES[figure.dataset.figure](figure, width));
  const before = room();
  draw(before);
  if (room() !== before) draw(room()); // a new legend takes room beside it
  const caption = figure.querySelector("figcaption").textContent;
  for (const node of drawing.querySelectorAll(":scope > svg")) {
    const title = node.querySelector(".title")?.textContent.concat(".");
    const numbers = node.dataset.numbers ?? "The numbers are in the tables.";
    const label = [title, caption, numbers].filter(Boolean).join(" ");
    node.setAttribute("aria-label", label);
  }
}

function columnsOf(figure) {
  return figure.dataset.columns.split(",").filter(Boolean).map(Number);
}

/** Value of the option that is chosen by its text, else of the first one. */
function choice(figure, name) {
  const select = figure.querySelector(`[data-choice=${name}]`);
  const text = chosen(figure, name);
  select.selectedIndex = Math.max(0, [...select.options].findIndex((option) => option.text === text));
  return select.value;
}

function nothing(text) {
  return [element("p", { class: "empty" }, text)];
}

/** The lines of the buttons that a figure has. */
const legends = new WeakMap();

/** The lines that are shown: those chosen, else of many the ten that rank best and the one compared with. */
function shownLines(figure, lines) {
  const text = chosen(figure, "lines");
  if (text === "all" || (text === undefined && lines.length <= 12)) return lines;
  if (text === undefined) return lines.filter((i, k) => k < 10 || i === chosenLine());
  const ids = text.split(".");
  return lines.filter((i) => ids.includes(data.lines[i].id));
}

/** The lines of a figure that are shown, and the buttons that show and hide them. */
function legend(figure, lines) {
  const known = legends.get(figure);
  if (!known || `${known.lines}` !== `${lines}`) {
    const list = element("div", { class: "legend", role: "group", "aria-label": "Lines shown" });
    if (lines.length > 2) list.append(...["all", "none"].map((word) => legendSwitch(figure, word)));
    const buttons = new Map(lines.map((i) => [i, legendButton(figure, i)]));
    list.append(...buttons.values());
    legends.set(figure, { lines, list, buttons });
    known?.list.remove();
    figure.append(list);
  }
  const shown = shownLines(figure, lines);
  for (const [i, button] of legends.get(figure).buttons) button.setAttribute("aria-pressed", shown.includes(i));
  return shown;
}

/** A button that shows all lines of a figure, or none. */
function legendSwitch(figure, word) {
  const button = element("button", { type: "button", class: "switch" }, word);
  button.addEventListener("click", () => choose(figure, "lines", word));
  return button;
}

function legendButton(figure, i) {
  const { look, label } = data.lines[i];
  const sample = svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true" });
  sample.append(path(look, [[0, 7], [30, 7]]));
  if (look[1]) sample.append(marker(look, 15, 7));
  const button = element("button", { type: "button", title: label }, sample, element("bdi", {}, label));
  button.addEventListener("click", () => {
    const { lines } = legends.get(figure);
    const shown = shownLines(figure, lines);
    const kept = shown.includes(i) ? shown.filter((other) => other !== i) : [...shown, i];
    choose(figure, "lines", kept.map((j) => data.lines[j].id).join(".") || "none");
  });
  return button;
}

/** Width of each of some panels, side by side where there is room. */
function panelWidth(width, count) {
  const across = Math.max(1, Math.min(count, Math.floor(width / 320)));
  return Math.floor((width - 8 * (across - 1)) / across);
}

/** Groups of columns that one panel shows: of one data set, candidate process and metric. */
function panels(columns) {
  const groups = new Map();
  for (const j of columns) {
    const { dataset, candidates, q, quantity } = data.columns[j];
    const key = `${dataset} ${candidates} ${q === null} ${quantity}`;
    groups.set(key, [...(groups.get(key) ?? []), j]);
  }
  return [...groups.values()];
}

/** Mean and ends of the error bar of a cell. */
function spreadOf(cell) {
  const [middle, half] = [mean(cell.values), std(cell.values) ?? 0];
  return { mean: middle, low: middle - half, high: middle + half };
}

/** Accuracy against q: a line each, references as levels; lines in `faded` are pale. */
function sweepPanel(columns, lines, { width, title, faded = new Set() }) {
  const rates = columns.map((j) => data.columns[j].q);
  const gaps = rates.slice(1).map((q, i) => q - rates[i]);
  const gap = gaps.length ? Math.min(...gaps) : 0.2;
  const drawn = lines.map((i) => ({ i, points: columns.map((j, k) => [k, cellOf(i, j)]).filter(([, cell]) => cell) }));
  const ends = drawn.flatMap(({ points }) => points.map(([, cell]) => spreadOf(cell)));
  if (!ends.length) return null;
  const [low, high] = bounds(ends.flatMap((end) => [end.low, end.high]));
  const x = { low: rates[0] - gap / 2, high: rates.at(-1) + gap / 2, ticks: rates, label: "q" };
  const { node, X, Y, box } = frame({ width, height: 300, x, y: { low, high, label: quantityOf(columns) }, title });
  const rivals = lines.filter((i) => !data.lines[i].reference);
  const step = Math.min(0.03 * (x.high - x.low), (0.4 * gap) / Math.max(1, rivals.length));
  for (const { i, points } of drawn) {
    const { look, reference, label } = data.lines[i];
    const group = svg("g", faded.has(i) ? { class: "faded" } : {});
    const pale = faded.has(i) ? ["currentColor", "", look[2]] : look;
    if (reference && points.length) {
      const end = spreadOf(points[0][1]);
      const bar = { x: box.left, width: box.right - box.left, y: Y(end.high), height: Y(end.low) - Y(end.high) };
      group.append(svg("rect", { ...bar, class: "band", fill: colourOf(look) }));
      group.append(path(pale, [[box.left, Y(end.mean)], [box.right, Y(end.mean)]]));
    } else {
      const shift = faded.size ? 0 : step * (rivals.indexOf(i) - (rivals.length - 1) / 2);
      const places = points.map(([k, cell]) => ({ ...spreadOf(cell), x: X(rates[k] + shift), cell, k }));
      group.append(path(pale, places.map((p) => [p.x, Y(p.mean)])));
      for (const p of faded.has(i) ? [] : places) {
        group.append(path(look, [[p.x, Y(p.low)], [p.x, Y(p.high)]], { "stroke-dasharray": "none", "stroke-width": 1 }));
        group.append(marker(look, p.x, Y(p.mean), `${label}, q = ${rates[p.k]}: ${p.mean.toFixed(2)}`));
      }
    }
    node.append(group);
  }
  return node;
}

/** Whether some columns are rates to draw accuracy against: more than one. */
function sweeps(columns) {
  return columns.length > 1 && columns.every((j) => data.columns[j].q !== null);
}

/** Accuracies of one column, a row a line. */
function dotPanel(column, lines, { width, title }) {
  const rows = lines
    .filter((i) => cellOf(i, column))
    .map((i) => {
      const end = spreadOf(cellOf(i, column));
      return { ...data.lines[i], ...end, title: `${data.lines[i].label}: ${end.mean.toFixed(2)}` };
    });
  return rows.length ? dotRows({ width, rows, label: quantityOf([column]), title }) : null;
}

function drawAccuracy(figure, width) {
  const columns = columnsOf(figure);
  const groups = panels(columns);
  const lines = linesIn(columns);
  const swept = groups.filter(sweeps);
  const shown = swept.length ? legend(figure, lines) : lines;
  const each = panelWidth(width, swept.length);
  const nodes = groups.flatMap((group) => {
    const title = groups.length > 1 ? data.columns[group[0]].candidates ?? "" : "";
    if (sweeps(group)) return [sweepPanel(group, shown, { width: Math.min(each, 760), title })];
    const dots = (j) => ({ width: Math.min(width, 900), title: columns.length > 1 ? columnTitle(j, false) : "" });
    return group.map((j) => dotPanel(j, shown, dots(j)));
  });
  const found = nodes.filter(Boolean);
  return found.length ? found : nothing("Nothing is shown: choose lines below.");
}

function drawSweeps(figure, width) {
  const own = Number(figure.dataset.place);
  const groups = panels(columnsOf(figure)).filter(sweeps);
  return groups.map((group) => {
    const { dataset, candidates } = data.columns[group[0]];
    const same = data.columns.filter((c) => c.dataset === dataset && c.candidates !== null);
    const several = new Set(same.map((c) => c.candidates)).size > 1;
    const title = data.datasets[dataset].title + (several ? `, ${candidates}` : "");
    const others = linesIn(group).filter((i) => i !== own);
    const faded = new Set(others);
    return sweepPanel(group, [...others, own], { width: Math.min(panelWidth(width, groups.length), 760), title, faded });
  });
}

/** Rows of differences of lines, each in a column, from the chosen line in the same column. */
function differenceRows(pairs, labelOf) {
  const against = chosenLine();
  return pairs
    .filter(([i, j]) => i !== against && cellOf(i, j))
    .map(([i, j]) => {
      const found = difference(cellOf(i, j), cellOf(against, j));
      return { label: labelOf(i, j), look: data.lines[i].look, title: differenceText(found), ...found };
    });
}

function differencePanel(rows, width) {
  const known = rows.filter((row) => !row.note);
  const label = "Difference (percentage points)";
  if (!known.length) {
    const { label: chosen } = data.lines[chosenLine()];
    return nothing(`None is paired with ${chosen}: that needs two runs of both on equal candidate sets.`);
  }
  return [dotRows({ width: Math.min(width, 900), rows: known, label, zero: true })];
}

function drawDifferences(figure, width) {
  const columns = columnsOf(figure);
  const column = Number(choice(figure, "column"));
  const lines = linesIn(columns).filter((i) => !data.lines[i].reference);
  const rows = differenceRows(lines.map((i) => [i, column]), (i) => data.lines[i].label);
  const headers = ["Method", ...columns.map((j) => columnTitle(j, false))];
  const others = columns.some((j) => cellOf(chosenLine(), j)) ? lines.filter((i) => i !== chosenLine()) : [];
  const body = others.map((i) => [
    data.lines[i].label,
    ...columns.map((j) => (cellOf(i, j) ? differenceText(difference(cellOf(i, j), cellOf(chosenLine(), j))) : "--")),
  ]);
  showDifferenceTable(figure, headers, body);
  return differencePanel(rows, width);
}

function drawLineDifferences(figure, width) {
  const own = Number(figure.dataset.place);
  const columns = columnsOf(figure);
  const rows = differenceRows(columns.map((j) => [own, j]), (_, j) => columnTitle(j, true));
  const body = rows.map((row) => [row.label, differenceText(row), String(row.n ?? "")]);
  showDifferenceTable(figure, ["Of", "Difference", "n"], body);
  if (own === chosenLine()) return nothing("This is the chosen method: choose another one above.");
  if (data.lines[own].reference) return nothing("It learns from true labels, and is not compared.");
  return differencePanel(rows, width);
}

/** Tuned lines against the same ones with default settings, in a column. */
function tunedRows(j) {
  return data.lines
    .map((line, i) => ({ i, line, default: data.lines[line.untuned] }))
    .filter(({ i, line }) => line.untuned !== null && cellOf(i, j) && cellOf(line.untuned, j))
    .map(({ i, line, default: plain }) => {
      const found = pairedDifference(cellOf(i, j), cellOf(line.untuned, j));
      return { label: plain.label, look: plain.look, title: differenceText(found), ...found };
    })
    .filter((row) => !row.note);
}

/** What tuning is worth in a column. */
function drawTuning(figure, width) {
  const rows = tunedRows(Number(choice(figure, "column")));
  if (!rows.length) return nothing("No tuned row here is paired with the same one with default settings.");
  const label = "Tuned - default (percentage points)";
  return [dotRows({ width: Math.min(width, 900), rows, label, zero: true })];
}

/** A table of the numbers of a figure of differences below it. */
function showDifferenceTable(figure, headers, rows) {
  const about = figure.closest("section").querySelector("h2").textContent;
  const name = `Differences from ${data.lines[chosenLine()].label}: ${about}`;
  const next = figure.nextElementSibling;
  if (next?.classList.contains("table")) {
    if (next.dataset.name === name) return;
    next.remove();
  }
  if (!rows.length) return;
  const cell = (text, j) => element(j ? "td" : "th", j ? {} : { scope: "row" }, element("bdi", {}, text));
  const head = headers.map((text) => element("th", { scope: "col" }, element("span", {}, text)));
  const table = element(
    "table",
    { class: "labels-1" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))),
  );
  const scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, table);
  const holder = element("div", { class: "table" }, scroll);
  holder.dataset.name = name;
  figure.after(holder);
  enhanceTable(holder);
}
