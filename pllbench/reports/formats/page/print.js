// On paper nothing scrolls: a table that is wider than the page is printed in parts.

const PAPER = { width: 1020, letter: 5.4, bold: 6.4, padding: 9 }; // pixels of A4 landscape at 7 pt

/** Width that a column takes on paper: of its longest cell, or the longest word of its header. */
function paperWidth(table, column) {
  const words = headerParts(table.tHead.rows[0].cells[column]).flatMap((part) => part.split(/[\s,]+/));
  const cells = [...table.tBodies[0].rows].filter((row) => !row.hidden && row.cells.length > column);
  const texts = cells.map((row) => row.cells[column]).filter((cell) => cell.colSpan === 1);
  const longest = (strings, most) => Math.min(most, Math.max(0, ...strings.map((text) => text.length)));
  const inside = PAPER.letter * longest(texts.map((cell) => cell.textContent), 30);
  return Math.max(inside, PAPER.bold * longest(words, 15)) + PAPER.padding;
}

/** The columns of each part: those of labels in all, the others spread over as few as have room. */
function paperParts(table) {
  const headers = [...table.tHead.rows[0].cells];
  const shown = [...headers.keys()].filter((j) => !headers[j].hidden);
  const { labels } = readTable(table);
  const widths = new Map(shown.map((j) => [j, paperWidth(table, j)]));
  const head = shown.slice(0, labels);
  const total = (columns) => columns.reduce((sum, j) => sum + widths.get(j), 0);
  const others = shown.slice(labels);
  const most = PAPER.width - total(head);
  const even = total(others) / Math.ceil(total(others) / most) + Math.max(...others.map((j) => widths.get(j)));
  const parts = [];
  let room = 0;
  for (const j of others) {
    if (widths.get(j) > room) {
      parts.push([...head]);
      room = Math.min(most, even);
    }
    parts.at(-1).push(j);
    room -= widths.get(j);
  }
  return parts;
}

/** A copy of a table with some of its columns; a cell that spans several spans those that stay. */
function copyColumns(table, columns) {
  const copy = table.cloneNode(true);
  copy.removeAttribute("id");
  for (const row of copy.rows) {
    let column = 0;
    for (const cell of [...row.cells]) {
      const own = [...Array(cell.colSpan).keys()].map((k) => column + k);
      column += cell.colSpan;
      const kept = own.filter((j) => columns.includes(j)).length;
      if (!kept) cell.remove();
      else if (kept === 1) cell.removeAttribute("colspan");
      else cell.colSpan = kept;
    }
  }
  return copy;
}

function splitTables() {
  for (const table of document.querySelectorAll(".scroll > table")) {
    if (table.closest("[hidden]")) continue;
    const parts = paperParts(table);
    if (parts.length < 2) continue;
    table.after(...parts.map((columns) => copyColumns(table, columns)));
    table.hidden = true;
  }
}

function joinTables() {
  for (const table of document.querySelectorAll(".scroll > table[hidden]")) {
    table.parentElement.replaceChildren(table);
    table.hidden = false;
  }
}

window.addEventListener("beforeprint", splitTables);
window.addEventListener("afterprint", joinTables);
