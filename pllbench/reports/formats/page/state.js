"use strict";
// What the page shows: its numbers, and the state that the address holds.

const data = JSON.parse(document.getElementById("data").textContent);

const DEFAULTS = { sort: "", find: "", family: "", ranked: "", hide: "", heat: "", against: "", theme: "" };

/**
 * The part and the state in the address: #part?key=value&...; keys with dots are what was chosen
 * for a figure.
 */
function readAddress() {
  const [part, query = ""] = location.hash.slice(1).split("?");
  const given = new URLSearchParams(query);
  const found = { part: part || "leaderboard" };
  for (const key of Object.keys(DEFAULTS)) found[key] = given.get(key) ?? DEFAULTS[key];
  found.choices = Object.fromEntries([...given].filter(([key]) => key.includes(".")));
  found.complete = location.hash.includes("?");
  return found;
}

let state = readAddress();

/** Change the state, put it into the address and show it. */
function setState(changes) {
  const moved = changes.part !== undefined && changes.part !== state.part;
  state = { ...state, ...changes };
  if (moved) history.pushState(null, "", stateAddress());
  else history.replaceState(null, "", stateAddress());
  show();
}

function stateAddress() {
  const kept = Object.keys(DEFAULTS).filter((key) => state[key] !== DEFAULTS[key]);
  const query = [...kept.map((key) => [key, state[key]]), ...Object.entries(state.choices)];
  return `#${state.part}?${new URLSearchParams(query)}`;
}

/** What was chosen for a figure is in the address as `section.figure.name`. */
function choiceKey(figure, name) {
  return `${figure.closest("section").id}.${figure.dataset.figure}.${name}`;
}

/** What was chosen for a figure by this name; undefined where nothing was. */
function chosen(figure, name) {
  return state.choices[choiceKey(figure, name)];
}

/** Choose a value for a figure, put it into the address and draw the figure anew. */
function choose(figure, name, value) {
  state.choices[choiceKey(figure, name)] = value;
  history.replaceState(null, "", stateAddress());
  drawFigure(figure);
}

/** The line that differences are taken from: the chosen one, else the first that is no reference. */
function chosenLine() {
  const chosen = data.lines.findIndex((line) => line.id === state.against);
  return chosen >= 0 ? chosen : Math.max(0, data.lines.findIndex((line) => !line.reference));
}

/** Runs of a line in a column; a reference has the same in all columns of a data set. */
const cells = new Map();
for (const cell of data.cells) {
  const { dataset } = data.columns[cell.column];
  const all = [...data.columns.keys()].filter((j) => data.columns[j].dataset === dataset);
  const places = data.lines[cell.line].reference ? all : [cell.column];
  for (const j of places) cells.set(`${cell.line} ${j}`, cell);
}

function cellOf(line, column) {
  return cells.get(`${line} ${column}`);
}

/** Lines with runs in at least one of the columns, by their places. */
function linesIn(columns) {
  return [...data.lines.keys()].filter((i) => columns.some((j) => cellOf(i, j)));
}

/** A column in words: the data set, where asked for, and what else it is. */
function columnTitle(column, withDataset) {
  const { dataset, title } = data.columns[column];
  const parts = withDataset ? [data.datasets[dataset].title, title] : [title || "accuracy"];
  return parts.filter(Boolean).join(", ");
}

let silence = 0;

/** Say what has been done, for a few seconds. */
function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => status.replaceChildren(), 5000);
}

/** An element with attributes and children. */
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
