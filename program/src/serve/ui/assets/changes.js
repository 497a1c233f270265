// Differences: what changed in each item, in cards that are read in pages.

import { get } from "./api.js";
import { empty, failure, h, link, put, skeleton } from "./dom.js";
import { counted, counts, moment, nameOf, number } from "./format.js";
import { PointChoice, readPoints } from "./points.js";
import { badge, flags } from "./trust.js";

const SIGNS = { added: "+", changed: "~", removed: "−" };
const SINCE = { current: "still current", replaced: "replaced since", removed: "removed since", restored: "taken back" };

// Returns the numbers of a change, each with a sign.
export function countsOf(row) {
  const parts = counts(row);
  if (parts.length === 0) return h("span", { class: "counts muted", text: "no change" });
  return h("span", { class: "counts" }, ...parts.map(([name, sign, count]) =>
    h("span", { class: name, title: `${number(count)} ${name}` }, sign, number(count))));
}

// What a way back will do with an item.
const EFFECTS = { added: "will be added back", changed: "will be set back to an earlier version", removed: "will be removed" };

// Returns the words of a preview. A rollback also brings back versions that were erased.
export const effectOf = (row) => (row.new && !row.class_new ? "will return without its text, which was erased" : EFFECTS[row.change]);

// Returns the card of an item that differs, with the words of `status`.
export function card(row, place = {}, status = ({ since }) => SINCE[since] ?? "") {
  const { change } = row;
  const title = row.erased ? h("span", { class: "id", text: `${row.id.slice(0, 15)}… (erased)` })
    : link({ ...place, id: nameOf(row), commit: undefined, lane: undefined }, { class: "id" }, row.id);
  const classes = row.class_old && row.class_new && row.class_old !== row.class_new
    ? [badge(row.class_old), h("span", { class: "arrow", text: "to" }), badge(row.class_new)]
    : [badge(row.class_new ?? row.class_old)];
  return h("article", { class: `change ${change}` },
    h("header", {},
      h("span", { class: `sign ${change}` }, h("span", { "aria-hidden": "true", text: SIGNS[change] }), change),
      title, ...classes, ...flags(row.flags),
      h("span", { class: `since ${row.since}`, text: status(row) })),
    row.fields.length > 0 ? h("dl", { class: "fields" }, ...row.fields.flatMap(({ name, old, new: now }) =>
      [h("dt", { text: name }), h("dd", {}, old === null ? h("i", { text: "none" }) : h("del", { text: old }), " ", now === null ? h("i", { text: "none" }) : h("ins", { text: now }))])) : null,
    row.lines.length > 0 ? linesOf(row.lines) : null,
    row.cut ? h("p", { class: "muted", text: "The difference is longer." }) : null);
}

function linesOf(lines) {
  const tags = { "+": "ins", "-": "del" };
  return h("div", { class: "lines" }, ...lines.map(({ sign, text }, at) => sign === "@" ? h("hr", {})
    : h(tags[sign] ?? "span", { class: "line" }, h("span", { class: "mark", "aria-hidden": "true", text: sign }), ...emphasised(lines, at, sign, text))));
}

// Returns the text of a line. If one line replaces one line, the words that differ stand out.
function emphasised(lines, at, sign, text) {
  const other = sign === "-" ? lines[at + 1] : sign === "+" ? lines[at - 1] : undefined;
  const isPair = other && other.sign === (sign === "-" ? "+" : "-")
    && lines[at - (sign === "-" ? 1 : 2)]?.sign !== "-" && lines[at + (sign === "-" ? 2 : 1)]?.sign !== "+";
  if (!isPair) return [text || "\u00a0"];
  const [own, others] = [text, other.text].map((line) => line.split(/(?<=\s)|(?=\s)/u));
  const most = Math.min(own.length, others.length);
  let start = 0;
  while (start < most && own[start] === others[start]) start += 1;
  let end = 0;
  while (end < most - start && own[own.length - 1 - end] === others[others.length - 1 - end]) end += 1;
  const middle = own.slice(start, own.length - end).join("");
  // If most of the line differs, nothing stands out.
  if (middle === "" || middle.length > 0.75 * text.length) return [text || "\u00a0"];
  return [own.slice(0, start).join(""), h("b", { text: middle }), own.slice(own.length - end).join("")];
}

// Shows the differences that `asked` names, a page at a time.
export function changeCards(asked, place) {
  const cards = h("div", { class: "cards" });
  const more = h("div", { class: "more" });
  const element = h("section", { class: "changes", "aria-label": "Changes" }, cards, more);
  const load = async (start) => {
    put(more, skeleton(3));
    try {
      const read = await get("changes", { ...asked, start, count: 50 });
      element.dispatchEvent(new CustomEvent("read", { detail: read }));
      cards.append(...read.rows.map((row) => card(row, place)));
      const left = read.total - start - read.rows.length;
      put(more, left > 0 ? h("button", { type: "button", on: { click: () => load(start + read.rows.length) } }, `Show more (${number(left)} left)`)
        : read.total === 0 ? empty("No difference", "Nothing changed here, or what changed was taken back.") : null);
    } catch (error) {
      put(more, failure(error, () => load(start)));
    }
  };
  load(0);
  return element;
}

// The view that compares any two points of time.
export class CompareView {
  constructor(page) {
    this.page = page;
    this.from = new PointChoice("from", "From", "Choose a point");
    this.to = new PointChoice("to", "To", "Now");
    this.result = h("div", { class: "result scroll", tabindex: "0", role: "region", "aria-label": "Differences" });
    const form = h("form", { class: "compare-form", on: { submit: (event) => this.#submit(event) } },
      this.from.element, this.to.element, h("button", { type: "submit", class: "primary" }, "Compare"));
    this.element = h("div", { class: "view compare-view" }, h("div", { class: "heading" }, h("h1", { text: "Compare" })), form, this.result);
  }

  async show(place) {
    const same = this.place && this.place.from === place.from && this.place.to === place.to;
    this.place = place;
    if (same) return;
    await this.#choices();
    if (!place.from) {
      put(this.result, empty("Compare any two points", "Choose a snapshot or a commit from the lists above. Everything that differs is shown here."));
      return;
    }
    const about = h("div", { class: "about" });
    const cards = changeCards({ from: place.from, to: place.to }, { view: "compare", from: place.from, to: place.to });
    cards.addEventListener("read", ({ detail }) => {
      put(about, h("p", { class: "between" }, "From ", point(detail.from, place.from), " to ", point(detail.to, place.to)), countsOf(detail), h("span", { class: "muted", text: counted(detail.total, "item") }));
    });
    put(this.result, about, cards);
  }

  refresh() {
    if (this.place?.from && !this.place.to) {
      const { place } = this;
      this.place = null;
      this.show(place);
    } else {
      this.#choices();
    }
  }

  focus() { this.from.select.focus(); }

  stop() {}

  async #choices() {
    const points = await readPoints();
    this.from.set(this.place?.from ?? "", points);
    this.to.set(this.place?.to ?? "", points);
  }

  #submit(event) {
    event.preventDefault();
    this.page.go({ view: "compare", from: this.from.value, to: this.to.value });
  }
}

// A commit of a fork is in no timeline of another line.
function point(line, name) {
  if (name?.startsWith("fork:")) return name;
  return line ? link({ view: "timeline", commit: `seq:${line.seq}` }, { title: moment(line.time) }, `commit ${number(line.seq)}`) : "nothing";
}
