// The points of time that a person chooses for Compare: now, snapshots, and the newest commits.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { ago, number, opName, plain } from "./format.js";

const COMMITS = 60;
const TEXT_CHARS = 48;
const OTHER = "\u0000other";

const short = (text) => (text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS)}…` : text);

// A list of points, with a field for a point that the list lacks. `first` is the option for an empty value.
export class PointChoice {
  constructor(name, label, first) {
    this.first = first;
    this.select = h("select", { id: `compare-${name}`, on: { change: () => this.#chosen() } });
    this.text = h("input", { id: `compare-${name}-text`, type: "text", autocomplete: "off", spellcheck: "false", hidden: true, "aria-label": `${label}: a commit, snapshot or time`, placeholder: "seq:7, a snapshot, or a time" });
    this.element = h("div", { class: "field" }, h("label", { for: `compare-${name}`, text: label }), this.select, this.text);
    this.set("", []);
  }

  get value() { return this.select.value === OTHER ? this.text.value.trim() : this.select.value; }

  // Shows the choices, with `value` chosen.
  set(value, groups) {
    const known = groups.flatMap(({ points }) => points.map((point) => point.value));
    const option = ({ value: own, text }) => h("option", { value: own, text, selected: own === value });
    put(this.select, option({ value: "", text: this.first }),
      value && !known.includes(value) ? option({ value, text: plain(value) }) : null,
      ...groups.filter(({ points }) => points.length > 0).map(({ label, points }) => h("optgroup", { label }, ...points.map(option))),
      option({ value: OTHER, text: "Another point…" }));
    this.select.value = value;
    this.text.hidden = true;
  }

  #chosen() {
    this.text.hidden = this.select.value !== OTHER;
    if (!this.text.hidden) this.text.focus();
  }
}

// Reads the points that the lists offer.
export async function readPoints() {
  const [snapshots, commits] = await Promise.all([
    get("snapshots").catch(() => []),
    get("commits", { count: COMMITS }).then((read) => read.rows).catch(() => []),
  ]);
  return [
    { label: "Snapshots", points: snapshots.slice(0, 20).map((one) => ({ value: one.name ?? `seq:${one.seq}`, text: `${one.name ?? `commit ${number(one.seq)}`}, ${ago(one.time)}` })) },
    { label: "Commits, the newest first", points: commits.map((row) => ({ value: `seq:${row.seq}`, text: `${number(row.seq)}, ${ago(row.time)}: ${opName(row.op)} ${short(row.text?.gist ?? row.reason ?? "")}`.trim() })) },
  ];
}
