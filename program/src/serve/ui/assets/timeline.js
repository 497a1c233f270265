// The view of the commits, newest first, with a line for each lane.

import { get } from "./api.js";
import { countsOf } from "./changes.js";
import { empty, glyph, h, laneName, link, put, svg } from "./dom.js";
import { ago, goesBack, laneKey, laneText, number, opName } from "./format.js";
import { VirtualList } from "./list.js";
import { badge } from "./trust.js";

const NARROW = matchMedia("(max-width: 760px)").matches;
const HEIGHT = NARROW ? 98 : 52;
// Lanes beyond these share the last column.
const COLUMNS = 6;
const WIDTH = 14;

export class TimelineView {
  constructor(page) {
    this.page = page;
    this.columns = [];
    this.title = h("h1", { text: "Timeline" });
    this.filters = h("div", { class: "filters" });
    this.list = new VirtualList({
      label: "Commits, newest first",
      height: HEIGHT,
      keyOf: (row) => row.seq,
      className: "timeline",
      draw: (row) => this.#row(row),
      opened: (row) => page.open({ commit: `seq:${row.seq}` }),
      read: async (rows, signal) => {
        const { count, start, around } = rows;
        const asked = { lane: this.place.of, of: this.pinned, start, count };
        // The list may lack the commit of the details: a filter hides it, or it does not exist. The list then begins at its top.
        const read = await get("commits", { ...asked, around }, signal).catch((error) => (around && [400, 404].includes(error.status) ? get("commits", asked, signal) : Promise.reject(error)));
        this.pinned = read.total;
        this.#heading(read.total);
        return read;
      },
      empty: () => empty("No commits", "This session made no commit that history keeps."),
    });
    this.element = h("div", { class: "view timeline-view" }, h("div", { class: "heading" }, this.title, this.filters), this.list.element);
  }

  async show(place) {
    const moved = !this.place || this.place.of !== place.of;
    this.place = place;
    if (moved) {
      this.pinned = undefined;
      put(this.filters, place.of ? link({ view: "timeline", commit: place.commit }, { class: "chip on", "aria-label": `Stop showing only ${laneText(place.of)}` }, `by ${laneText(place.of)}`, glyph("close")) : null);
      await this.list.start(place.commit ? { around: place.commit } : {});
    } else if (place.commit && !this.#isInSight(place.commit)) {
      const read = await get("commits", { lane: place.of, of: this.pinned, around: place.commit, count: 1 }).catch(() => null);
      if (read?.place !== undefined) this.list.show(read.place, true);
    }
    this.list.select((row) => `seq:${row.seq}` === place.commit);
  }

  async refresh() {
    const before = this.list.total;
    this.pinned = undefined;
    this.columns = [];
    const known = await get("commits", { lane: this.place.of, count: 1 }).catch(() => null);
    if (known) await this.list.refresh(Math.max(0, known.total - before));
  }

  focus() { this.list.box.focus(); }

  stop() { this.list.stop(); }

  #isInSight(commit) {
    const row = this.list.rowAt(this.list.active);
    return row && `seq:${row.seq}` === commit;
  }

  #heading(total) {
    put(this.title, "Timeline", h("span", { class: "muted", text: `${this.place.of ? ` of ${laneText(this.place.of)}` : ""} ${number(total)}` }));
  }

  // Returns the column of the lane of a row: the first one that no other lane uses from its first to its last commit.
  #column(row) {
    const known = this.columns.find((column) => column.lanes.has(laneKey(row)));
    if (known) return this.columns.indexOf(known);
    const [first, last] = row.lane_span ?? [row.seq, row.seq];
    const isFree = (column) => column.spans.every(([low, high]) => last < low || first > high);
    let at = this.columns.findIndex(isFree);
    if (at < 0) at = this.columns.length < COLUMNS ? this.columns.push({ lanes: new Set(), spans: [] }) - 1 : COLUMNS - 1;
    this.columns[at].lanes.add(laneKey(row));
    this.list.box.style.setProperty("--rails", `${this.columns.length * WIDTH}px`);
    this.columns[at].spans.push([first, last]);
    return at;
  }

  #graph(row) {
    const own = this.#column(row);
    const x = (column) => WIDTH / 2 + column * WIDTH;
    const picture = svg("svg", { class: "graph", viewBox: `0 0 ${COLUMNS * WIDTH} ${HEIGHT}`, width: COLUMNS * WIDTH, height: HEIGHT, "aria-hidden": "true" });
    this.columns.forEach(({ spans }, column) => {
      // A line goes on above the commit if the lane has a later one, and below it if the lane has an earlier one.
      const above = spans.some(([low, high]) => low <= row.seq && row.seq < high);
      const below = spans.some(([low, high]) => low < row.seq && row.seq <= high);
      if (above || below) picture.append(svg("path", { class: `rail c${column}`, d: `M${x(column)} ${above ? 0 : HEIGHT / 2}V${below ? HEIGHT : HEIGHT / 2}` }));
    });
    const [cx, cy] = [x(own), HEIGHT / 2];
    if (goesBack(row.op)) picture.append(svg("path", { class: `mark back c${own}`, d: `M${cx + 4} ${cy - 5}L${cx - 5} ${cy}l9 5z` }));
    else if (row.snapshots.length > 0) picture.append(svg("path", { class: `mark c${own}`, d: `M${cx} ${cy - 7}L${cx + 7} ${cy} ${cx} ${cy + 7} ${cx - 7} ${cy}z` }));
    else picture.append(svg("circle", { class: `mark c${own}`, cx, cy, r: 4.5 }));
    return picture;
  }

  // Returns the text that changed, and how many others did.
  #text({ text, ...row }) {
    if (!text) return h("span", { class: "gist muted", text: row.reason ? "" : "no text" });
    const others = row.added + row.changed + row.removed - 1;
    const tag = text.change === "removed" ? "del" : "span";
    return h("span", { class: "gist", title: text.id }, h(tag, { text: text.gist }), others > 0 ? h("span", { class: "muted", text: ` and ${number(others)} more` }) : null);
  }

  #row(row) {
    const op = row.target_seq !== null && goesBack(row.op) ? `${opName(row.op)} ${row.op === "rollback" ? "to" : ""} ${number(row.target_seq)}`.replace("  ", " ") : opName(row.op);
    const tags = row.snapshots.map((name) => h("span", { class: "badge tag" }, glyph("pin"), name));
    return [
      this.#graph(row),
      h("span", { class: "seq", text: NARROW ? `commit ${number(row.seq)}` : number(row.seq) }),
      h("span", { class: goesBack(row.op) ? "op back" : "op", text: op }),
      h("span", { class: "lane", title: row.lane }, ...laneName(row.lane, row.lane_key), " ", ...(NARROW ? tags : [])),
      badge(row.trust, { bare: true }),
      countsOf(row),
      h("span", { class: "said" }, this.#text(row),
        h("span", { class: "reason" }, ...(NARROW ? [] : tags), row.thinned > 0 ? h("span", { text: `${number(row.thinned)} thinned before ` }) : null, row.reason ?? "")),
      h("span", { class: "when", text: ago(row.time) }),
    ];
  }
}
