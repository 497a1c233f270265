// The view of the sessions: who changed how much, and what a person should look at first.

import { get } from "./api.js";
import { empty, h, laneName, link, put, svg } from "./dom.js";
import { ago, counted, laneKey, number } from "./format.js";
import { VirtualList } from "./list.js";
import { signs } from "./object.js";
import { badge } from "./trust.js";

const ORDERS = [["", "Newest"], ["signs", "To check first"], ["changes", "Most changes"], ["alive", "Most still there"]];

// Returns a bar that grows with the number of changes. Its parts: what is still there and trusted, what is untrusted, and what is gone.
function shareOf(row) {
  const width = Math.min(100, 4 * Math.sqrt(row.changes));
  const total = Math.max(1, row.written);
  const parts = [["kept", row.alive - row.alive_untrusted], ["suspect", row.alive_untrusted], ["gone", Math.max(0, row.written - row.alive)]];
  let at = 0;
  const rects = parts.map(([name, count]) => {
    const rect = svg("rect", { class: name, x: at, y: 0, width: (width * Math.max(0, count)) / total, height: 5 });
    at += (width * Math.max(0, count)) / total;
    return rect;
  });
  return svg("svg", { class: "work", viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true" }, ...rects);
}

export class SessionsView {
  constructor(page) {
    this.page = page;
    this.title = h("h1", { text: "Sessions" });
    this.orders = h("div", { class: "filters", role: "group", "aria-label": "Order" });
    this.list = new VirtualList({
      label: "Sessions",
      height: matchMedia("(max-width: 760px)").matches ? 124 : 104,
      keyOf: laneKey,
      className: "sessions",
      draw: (row) => this.#row(row),
      opened: (row) => page.open({ lane: laneKey(row) }),
      read: async (rows, signal) => {
        const read = await get("sessions", { order: this.place.order || "recent", ...rows }, signal);
        put(this.title, "Sessions", h("span", { class: "muted", text: ` ${number(read.total)}` }));
        return read;
      },
      empty: () => empty("No sessions", "Nobody committed yet."),
    });
    this.element = h("div", { class: "view sessions-view" }, h("div", { class: "heading" }, this.title, this.orders), this.list.element);
  }

  async show(place) {
    const moved = !this.place || this.place.order !== place.order;
    this.place = place;
    if (moved) {
      put(this.orders, ...ORDERS.map(([order, text]) => link({ view: "sessions", order, lane: place.lane }, { class: "chip", "aria-current": (place.order ?? "") === order ? "true" : null }, text)));
      await this.list.start();
    }
    this.list.select((row) => laneKey(row) === place.lane);
  }

  refresh() { return this.list.refresh(); }

  focus() { this.list.box.focus(); }

  stop() { this.list.stop(); }

  #row(row) {
    const others = row.alive - row.alive_untrusted;
    return [
      h("span", { class: "session-head" },
        badge(row.trust, { bare: true }),
        h("strong", { title: row.lane }, ...laneName(row.lane, row.lane_key)),
        row.tainted ? h("span", { class: "badge untrusted", title: "What it wrote after that counts as untrusted" }, "read untrusted text") : null,
        h("span", { class: "when", text: ago(row.last) })),
      shareOf(row),
      h("span", { class: "session-numbers muted" },
        `${counted(row.commits, "commit")}, ${counted(row.changes, "change")}, wrote ${counted(row.written, "version")}, `,
        row.alive > 0 ? `${number(row.alive)} still there` : "nothing is left", others > 0 && row.alive_untrusted > 0 ? ` (${number(row.alive_untrusted)} untrusted)` : ""),
      signs(row) ?? h("p", { class: "signs muted", text: "nothing suspicious" }),
    ];
  }
}
