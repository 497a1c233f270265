"use strict";
// The data contains the layout constants of the drawing.
const data = JSON.parse(document.getElementById("data").textContent);
const search = document.getElementById("search");
const found = document.getElementById("found");
const details = document.getElementById("details");
const legend = document.querySelector(".legend");
const pictures = new Map();

for (const picture of data.pictures) {
  const svg = document.getElementById(picture.name);
  const rows = picture.rows.map((row, number) => ({
    ...row,
    number,
    element: svg.querySelector(`[data-row="${number}"]`),
    closed: false,
    shown: true,
    y: data.top + number * data.row,
    searched: [row.name, row.text, ...row.tags, ...row.details.map((detail) => detail[1])].join("\n").toLowerCase(),
  }));
  for (const row of rows) {
    if (row.parent !== null) {
      rows[row.parent].element.classList.add("has-children");
      rows[row.parent].hasChildren = true;
    }
    row.element.addEventListener("click", (event) => {
      choose(row.number);
      if (event.target.tagName === "circle") toggle(row);
    });
  }
  pictures.set(picture.name, { svg, rows, chosen: null });
}

let current = null;

function show(name) {
  current = pictures.get(name) ?? pictures.get("tree");
  for (const [other, picture] of pictures) {
    const on = picture === current;
    picture.svg.toggleAttribute("hidden", !on);
    document.querySelector(`[data-picture="${other}"]`).setAttribute("aria-selected", String(on));
  }
  legend.hidden = current !== pictures.get("trie");
  find();
  describe();
}

// Shows a row if no row above it is closed. During a search, the row or a row below it must also match.
function layOut(wanted) {
  let y = data.top;
  for (const row of current.rows) {
    const parent = row.parent === null ? null : current.rows[row.parent];
    row.shown = (parent === null || (parent.shown && !parent.closed)) && (wanted === null || wanted.has(row.number));
    row.element.style.display = row.shown ? "" : "none";
    if (!row.shown) continue;
    row.y = y;
    y += data.row;
    const x = row.element.transform.baseVal[0].matrix.e;
    row.element.setAttribute("transform", `translate(${x} ${row.y})`);
    row.element.classList.toggle("closed", row.closed);
    const branch = row.element.querySelector(".branch");
    if (branch) branch.setAttribute("d", `M-${data.indent} -${row.y - parent.y - data.dot}V0H-${data.dot}`);
  }
  current.svg.setAttribute("height", String(y + data.row));
  current.svg.setAttribute("viewBox", `0 0 ${current.svg.getAttribute("width")} ${y + data.row}`);
  for (const arc of current.svg.querySelectorAll(".arc, .line")) arc.style.display = wanted === null ? "" : "none";
}

function find() {
  const text = search.value.trim().toLowerCase();
  let hits = 0;
  let wanted = null;
  if (text !== "") wanted = new Set();
  for (const row of current.rows) {
    const hit = wanted !== null && row.searched.includes(text);
    row.element.classList.toggle("hit", hit);
    if (!hit) continue;
    hits += 1;
    for (let at = row; at; at = at.parent === null ? null : current.rows[at.parent]) wanted.add(at.number);
  }
  found.textContent = wanted === null ? `${current.rows.length} rows` : `${hits} of ${current.rows.length} rows`;
  layOut(wanted);
}

function toggle(row) {
  if (!row.hasChildren) return;
  row.closed = !row.closed;
  find();
}

function choose(number) {
  current.chosen = number;
  describe();
  current.rows[number].element.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function describe() {
  for (const row of current.rows) row.element.classList.toggle("chosen", row.number === current.chosen);
  const row = current.rows[current.chosen];
  details.hidden = row === undefined;
  if (row === undefined) return;
  const list = document.createElement("dl");
  for (const [name, value] of row.details) list.append(element("dt", name), element("dd", value));
  details.replaceChildren(element("h2", row.name), element("p", [row.text, ...row.tags].filter(Boolean).join(", ")), list);
}

document.addEventListener("keydown", (event) => {
  if (event.target === search) {
    if (event.key === "Escape") {
      search.value = "";
      search.blur();
      find();
    }
    return;
  }
  const shown = current.rows.filter((row) => row.shown);
  const at = shown.findIndex((row) => row.number === current.chosen);
  const row = shown[at];
  if (event.key === "/") search.focus();
  else if (event.key === "ArrowDown" && at + 1 < shown.length) choose(shown[at + 1].number);
  else if (event.key === "ArrowUp" && at > 0) choose(shown[at - 1].number);
  else if (event.key === "ArrowLeft" && row && !row.closed) toggle(row);
  else if (event.key === "ArrowRight" && row && row.closed) toggle(row);
  else return;
  event.preventDefault();
});
search.addEventListener("input", find);
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => { location.hash = button.dataset.picture; });
}

// #history shows a diagram, #history/3 selects a row in the diagram, #tree?words searches for the words.
function follow() {
  const [place, words] = decodeURIComponent(location.hash.slice(1)).split("?");
  const [name, number] = place.split("/");
  if (words !== undefined) search.value = words;
  show(name);
  if (number !== undefined && current.rows[Number(number)]) choose(Number(number));
}
addEventListener("hashchange", follow);
follow();
