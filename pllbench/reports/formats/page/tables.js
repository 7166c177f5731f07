// Tables: sorted by their headers, copied as text; the leaderboard also filtered and coloured.

/** What a cell of a table says, without its note. */
function cellText(cell) {
  const nodes = [...cell.childNodes].filter((node) => node.nodeName !== "SMALL");
  return nodes.map((node) => node.textContent).join("").trim();
}

function headerParts(header) {
  return [...header.querySelectorAll("span")].map((part) => part.textContent);
}

/** The number that a cell begins with; NaN without one. */
function leadingNumber(text) {
  return parseFloat(text.replaceAll(",", ""));
}

/** Order of two texts: by number where both have one, and empty ones last whatever the sign. */
function compareTexts(a, b, sign) {
  const [x, y] = [leadingNumber(a), leadingNumber(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) {
    const [empty, other] = [!a || a === "--", !b || b === "--"];
    if (empty !== other) return empty ? 1 : -1;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return sign * a.localeCompare(b);
  }
  return sign * (x - y);
}

/** Order the rows of a table; `order` is column and `a` or `d`, empty for the order they came in. */
function sortTable(table, order) {
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => a.dataset.place - b.dataset.place);
  const column = parseInt(order, 10);
  const sign = order.endsWith("d") ? -1 : 1;
  const texts = new Map(rows.map((row) => [row, spread(row)[column]?.text ?? ""]));
  if (order) rows.sort((a, b) => compareTexts(texts.get(a), texts.get(b), sign));
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((header, j) => {
    const here = order && j === column;
    header.setAttribute("aria-sort", !here ? "none" : sign < 0 ? "descending" : "ascending");
  });
}

/** The cells of a row, one a column: a cell that spans several is repeated. */
function spread(row) {
  return [...row.cells].flatMap((cell) =>
    Array(cell.colSpan).fill({
      text: cellText(cell),
      note: cell.querySelector("small")?.textContent ?? "",
      mark: cell.className,
    }),
  );
}

/** The next order after a click on a header: best first, the other way round, as it came. */
function nextOrder(order, column, table) {
  const texts = [...table.tBodies[0].rows].map((row) => spread(row)[column]?.text ?? "");
  const accuracy = texts.some((text) => /[±[]/.test(text)); // or a difference with its interval
  const orders = accuracy || headerParts(table.tHead.rows[0].cells[column]).length > 1 ? ["d", "a"] : ["a", "d"];
  const now = parseInt(order, 10) === column ? orders.indexOf(order.at(-1)) + 1 : 0;
  return now < 2 ? `${column}${orders[now]}` : "";
}

/** Make the headers of a table buttons that sort it, and put the ways to copy it above. */
function enhanceTable(holder) {
  const table = holder.querySelector("table");
  const ranking = table.id === "ranking";
  [...table.tBodies[0].rows].forEach((row, i) => (row.dataset.place = i));
  [...table.tHead.rows[0].cells].forEach((header, j) => {
    const button = element("button", { type: "button" }, ...header.childNodes);
    header.append(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const order = nextOrder(ranking ? state.sort : table.dataset.order ?? "", j, table);
      if (ranking) return setState({ sort: order });
      table.dataset.order = order;
      sortTable(table, order);
    });
  });
  const label = `Copy ${holder.dataset.name} as`;
  const copy = element("div", { class: "copy", role: "group", "aria-label": label }, "Copy as ");
  for (const form of Object.keys(FORMS)) {
    const button = element("button", { type: "button" }, form);
    button.addEventListener("click", () => copyText(FORMS[form](readTable(table)), form));
    copy.append(button);
  }
  holder.prepend(copy);
}

/** What is visible of a table: parts of headers, rows of cells, number of label columns. */
function readTable(table) {
  const shown = [...table.tHead.rows[0].cells].map((header) => !header.hidden);
  const visible = (list) => list.filter((_, j) => shown[j]);
  const labels = parseInt(table.className.match(/labels-(\d+)/)[1], 10);
  return {
    headers: visible([...table.tHead.rows[0].cells].map(headerParts)),
    rows: [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => visible(spread(row))),
    labels: visible(shown.map((_, j) => j < labels)).filter(Boolean).length,
  };
}

function toMarkdown({ headers, rows, labels }) {
  const escape = (text) => text.replace(/([\\`*_[\]<>#|~$&])/g, "\\$1");
  const marks = { best: ["**", "**"], second: ["<ins>", "</ins>"] };
  const line = (texts) => `| ${texts.join(" | ")} |`;
  const text = (cell) => {
    const [before, after] = marks[cell.mark] ?? ["", ""];
    return before + escape(cell.text) + after + (cell.note && ` (${escape(cell.note)})`);
  };
  const alignment = headers.map((_, j) => (j < labels ? ":--" : "--:"));
  const lines = [headers.map((parts) => escape(parts.join(", "))), alignment];
  return [...lines, ...rows.map((row) => row.map(text))].map(line).join("\n") + "\n";
}

function toCsv({ headers, rows }) {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [headers.map((parts) => parts.join(" ")), ...rows.map((r) => r.map((c) => c.text))];
  return lines.map((line) => line.map(quote).join(",")).join("\n") + "\n";
}

const LATEX = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "&": "\\&", "%": "\\%", $: "\\$", "#": "\\#",
  _: "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}",
  ">": "\\textgreater{}", "|": "\\textbar{}", '"': "''", "±": "$\\pm$", "↑": "$\\uparrow$",
  "↓": "$\\downarrow$",
};

/** A tabular environment for booktabs. */
function toLatex({ headers, rows, labels }) {
  const escape = (text) => text.replace(/[\\{}&%$#_~^<>|"±↑↓]/g, (char) => LATEX[char]);
  const marks = { best: "\\textbf", second: "\\underline" };
  const text = (cell) => {
    const plain = escape(cell.text) + (cell.note && ` (${escape(cell.note)})`);
    return marks[cell.mark] ? `${marks[cell.mark]}{${plain}}` : plain;
  };
  const line = (texts) => `${texts.join(" & ")} \\\\`;
  return [
    `\\begin{tabular}{${headers.map((_, j) => (j < labels ? "l" : "r")).join("")}}`,
    "\\toprule",
    line(headers.map((parts) => escape(parts.join(", ")))),
    "\\midrule",
    ...rows.map((row) => line(row.map(text))),
    "\\bottomrule",
    "\\end{tabular}",
    "",
  ].join("\n");
}

const FORMS = { Markdown: toMarkdown, LaTeX: toLatex, CSV: toCsv };

/** Put text on the clipboard; where that is not permitted, show it to be copied by hand. */
async function copyText(text, form) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied as ${form}.`);
  } catch {
    const dialog = document.getElementById("text");
    const area = dialog.querySelector("textarea");
    area.value = text;
    dialog.showModal();
    area.select();
  }
}

/** The groups of columns that can be hidden together: a data set, or a column of its own. */
function columnGroups(table) {
  const headers = [...table.tHead.rows[0].cells].map(headerParts);
  return headers.map((parts) => parts[0]);
}

/** Show the rows and columns of the leaderboard that the state asks for, in its order. */
function showLeaderboard() {
  const table = document.getElementById("ranking");
  const hidden = new Set(state.hide.split("|").filter(Boolean));
  const groups = columnGroups(table);
  const find = state.find.toLowerCase();
  sortTable(table, state.sort);
  for (const row of table.rows) {
    [...row.cells].forEach((cell, j) => (cell.hidden = j > 0 && hidden.has(groups[j])));
  }
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const line = data.lines[row.dataset.place];
    const found = line.label.toLowerCase().includes(find) || line.name.toLowerCase().includes(find);
    const kin = state.family === "" || line.family === state.family;
    row.hidden = !(found && kin && (!state.ranked || line.rank !== null));
    row.classList.toggle("chosen", Number(row.dataset.place) === chosenLine());
    shown += !row.hidden;
  }
  showHeat(table);
  const filtered = state.find || state.family || state.ranked;
  document.getElementById("count").textContent = filtered ? `${shown} of ${data.lines.length} rows` : "";
}

/** Colour accuracies by where they lie between the lowest and the highest of their column. */
function showHeat(table) {
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  [...table.tHead.rows[0].cells].forEach((header, j) => {
    const column = rows.map((row) => row.cells[j]);
    const numbers = column.map((cell) => leadingNumber(cell.textContent));
    const known = numbers.filter((number) => !Number.isNaN(number));
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const coloured = state.heat && headerParts(header).length > 1 && high > low;
    column.forEach((cell, i) => {
      const on = coloured && !Number.isNaN(numbers[i]);
      cell.classList.toggle("heat", Boolean(on));
      if (on) cell.style.setProperty("--heat", ((numbers[i] - low) / (high - low)).toFixed(3));
    });
  });
}
