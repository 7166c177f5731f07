// The controls of the page, and what they show.

/** The parts that are shown: one, an index with nothing else, or all. */
function showPart(moved) {
  const parts = [...document.querySelectorAll("[data-part]")];
  const known = state.part === "all" || parts.some((part) => part.id === state.part);
  const shown = known ? state.part : "leaderboard";
  for (const part of parts) part.hidden = shown !== "all" && part.id !== shown;
  const section = document.getElementById(shown);
  const group = section?.dataset.part || shown;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.hash === `#${group}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!moved) return;
  if (section) section.querySelector("h2").focus({ preventScroll: true });
  window.scrollTo(0, section ? section.offsetTop - 8 : 0);
}

function drawFigures() {
  for (const figure of document.querySelectorAll("figure")) {
    if (!figure.closest("[hidden]")) drawFigure(figure);
  }
}

/** Show the state. */
function show(moved = false) {
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  else delete document.documentElement.dataset.theme;
  document.getElementById("against").value = data.lines[chosenLine()]?.id ?? "";
  document.getElementById("find").value = state.find;
  document.getElementById("family").value = state.family;
  document.getElementById("theme").value = state.theme;
  for (const box of ["ranked", "heat"]) document.getElementById(box).checked = Boolean(state[box]);
  const hidden = state.hide.split("|");
  for (const box of document.querySelectorAll("#columns input")) {
    box.checked = !hidden.includes(box.value);
  }
  showPart(moved);
  showLeaderboard();
  drawFigures();
}

/** Fill a select with options of value and text. */
function fill(select, options) {
  select.append(...options.map(([value, text]) => element("option", { value }, text)));
}

/** The choices of a figure: which column, curve or data set. */
function fillChoices(figure) {
  for (const select of figure.querySelectorAll("[data-choice]")) {
    const onLine = figure.dataset.figure.startsWith("line-") || figure.dataset.figure === "tuning";
    if (select.dataset.choice === "column") {
      const tuning = figure.dataset.figure === "tuning";
      const columns = columnsOf(figure).filter((j) => !tuning || tunedRows(j).length);
      fill(select, columns.map((j) => [j, columnTitle(j, onLine)]));
    } else if (select.dataset.choice === "curve") {
      const there = (name) => data.curves.cells.some((curves) => curves[name]);
      const names = Object.keys(CURVES).filter(there);
      fill(select, names.map((name) => [name, curveLabel(name, columnsOf(figure))]));
    } else {
      fill(select, [["", data.columns.some((c) => c.ranked) ? "all ranked data sets" : "all data sets"], ...data.datasets.map(({ title }, i) => [i, title])]);
    }
    select.addEventListener("change", () => choose(figure, select.dataset.choice, select.selectedOptions[0].text));
  }
}

function fillControls() {
  const rivals = data.lines.filter((line) => !line.reference);
  fill(document.getElementById("against"), rivals.map((line) => [line.id, line.label]));
  const families = [...new Set(data.lines.map((line) => line.family))].sort();
  fill(document.getElementById("family"), families.map((name) => [name, name]));
  const groups = [...new Set(columnGroups(document.getElementById("ranking")))].slice(1);
  const list = document.querySelector("#columns fieldset");
  for (const name of groups) {
    const box = element("input", { type: "checkbox", value: name });
    box.addEventListener("change", () => {
      const boxes = [...list.querySelectorAll("input")];
      setState({ hide: boxes.filter((one) => !one.checked).map((one) => one.value).join("|") });
    });
    list.append(element("label", {}, box, " ", name));
  }
}

function listen() {
  const on = (id, event, change) => {
    const node = document.getElementById(id);
    node.addEventListener(event, () => setState(change(node)));
  };
  on("against", "change", (node) => ({ against: node.value }));
  on("theme", "change", (node) => ({ theme: node.value }));
  on("find", "input", (node) => ({ find: node.value }));
  on("family", "change", (node) => ({ family: node.value }));
  for (const box of ["ranked", "heat"]) on(box, "change", (node) => ({ [box]: node.checked ? "on" : "" }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link) return;
    event.preventDefault();
    setState({ part: link.hash.slice(1) });
    showPart(true);
  });
  window.addEventListener("popstate", () => {
    const found = readAddress();
    state = found.complete ? found : { ...state, part: found.part };
    show(true);
  });
  const main = document.querySelector("main");
  let [width, waiting] = [main.clientWidth, 0];
  new ResizeObserver(() => {
    if (main.clientWidth === width) return;
    width = main.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawFigures, 100);
  }).observe(main);
}

document.querySelectorAll(".table").forEach(enhanceTable);
document.querySelectorAll("figure").forEach(fillChoices);
fillControls();
listen();
show(location.hash !== "");
