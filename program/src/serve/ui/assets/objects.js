// The view of the objects: the folders that the ids make, and the objects of one folder.

import { get } from "./api.js";
import { commandCode, empty, glyph, h, link, put } from "./dom.js";
import { ago, command, laneText, nameOf, number, plain } from "./format.js";
import { VirtualList } from "./list.js";
import { badge, flags } from "./trust.js";

// An id that the program made up, which says nothing to a person.
const MADE_UP = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

// Returns the children of the row of an object: its id and then its text, or the other way round if its id was made up.
export function objectRow(row, text = row.gist) {
  const id = h("span", { class: "id", text: row.id });
  const gist = h("span", { class: "gist", text: text || row.kind });
  return [
    badge(row.trust),
    MADE_UP.test(row.id) && text ? h("span", { class: "what text-first" }, gist, id) : h("span", { class: "what" }, id, gist),
    h("span", { class: "side-info" }, ...flags(row.flags), h("span", { class: "when", text: ago(row.updated) })),
  ];
}

export class ObjectsView {
  constructor(page) {
    this.page = page;
    this.folders = h("div", { class: "folders" });
    this.title = h("h1", { text: "Memory" });
    this.filters = h("div", { class: "filters", role: "group", "aria-label": "Filter" });
    this.list = new VirtualList({
      label: "Items",
      height: matchMedia("(max-width: 760px)").matches ? 84 : 60,
      keyOf: nameOf,
      className: "objects",
      draw: (row) => objectRow(row),
      opened: (row) => page.open({ id: nameOf(row) }),
      read: async (rows, signal) => {
        const { prefix, only, lane } = this.place;
        const read = await get("objects", { prefix, only, lane, ...rows }, signal);
        this.heading(read.total);
        return read;
      },
      empty: () => this.#nothing(),
    });
    this.element = h("div", { class: "view objects-view" },
      h("div", { class: "heading" }, this.title, this.filters),
      h("div", { class: "columns" }, h("nav", { class: "tree", "aria-label": "Folders" }, this.folders), this.list.element));
  }

  async show(place) {
    const is = (name) => (this.place?.[name] ?? "") === (place[name] ?? "");
    const moved = !this.place || !["prefix", "only", "lane"].every(is);
    this.place = place;
    if (moved) {
      this.#drawFilters();
      this.#drawFolders();
      await this.list.start(place.id && !place.only && !place.lane ? { around: place.id } : {});
    }
    this.list.select((row) => nameOf(row) === place.id);
  }

  refresh() {
    this.#drawFolders();
    return this.list.refresh();
  }

  focus() { this.list.box.focus(); }

  stop() { this.list.stop(); }

  heading(total) {
    const { prefix, lane } = this.place;
    const of = lane ? ` of ${laneText(lane)}` : prefix ? ` in ${plain(prefix)}` : "";
    put(this.title, "Memory", h("span", { class: "muted", text: `${of} ${number(total)}` }));
  }

  #nothing() {
    if (this.place.only || this.place.lane) {
      return empty("Nothing here", this.place.only === "flagged" ? "The scan flagged no item." : "No item is selected by this filter.", this.#link({ only: "", lane: "" }, {}, "Show all items"));
    }
    // The list may be read before the summary, which names the store.
    const how = h("p");
    this.page.ready.then(() => how.append(commandCode(command("remember 'The office is in Oslo'"))));
    return empty("The memory is empty", "Store something, and it appears here:", how);
  }

  #link(change, props, ...children) {
    const { view, prefix, only, lane } = { ...this.place, view: "objects", ...change };
    return link({ view, prefix, only, lane }, props, ...children);
  }

  #drawFilters() {
    const { only, lane } = this.place;
    const filter = (value, text) => this.#link({ only: value }, { class: "chip", "aria-current": (only ?? "") === value ? "true" : null }, text);
    put(this.filters, filter("", "All"), filter("untrusted", "Untrusted"), filter("flagged", "Flagged"),
      lane ? this.#link({ lane: "" }, { class: "chip on", "aria-label": `Stop showing only ${laneText(lane)}` }, `by ${laneText(lane)}`, glyph("close")) : null);
  }

  // Draws the folders from the top to the chosen one, and those in it.
  async #drawFolders() {
    const chosen = this.place.prefix ?? "";
    const levels = [""];
    for (let at = chosen.indexOf("/"); at >= 0; at = chosen.indexOf("/", at + 1)) levels.push(chosen.slice(0, at + 1));
    try {
      const read = await Promise.all(levels.map((prefix) => get("folders", { prefix })));
      if ((this.place.prefix ?? "") !== chosen) return;
      const draw = (depth) => {
        const level = read[depth];
        const items = level.folders.map((folder) => h("li", {},
          this.#link({ prefix: folder.prefix }, { class: "folder", title: folder.name, "aria-current": folder.prefix === chosen ? "true" : null },
            glyph("folder"), h("span", { class: "name", text: folder.name || "/" }), h("span", { class: "count", text: number(folder.objects) })),
          levels[depth + 1] === folder.prefix && read[depth + 1].folders.length > 0 ? draw(depth + 1) : null));
        return h("ul", {}, ...items, level.more ? h("li", { class: "muted", text: "and more" }) : null);
      };
      const all = this.#link({ prefix: "" }, { class: "folder", "aria-current": chosen === "" ? "true" : null },
        glyph("objects"), h("span", { class: "name", text: "All" }), h("span", { class: "count", text: number(read[0].total) }));
      put(this.folders, all, read[0].folders.length > 0 ? draw(0) : null);
    } catch {
      // The list of objects shows the same error.
      put(this.folders);
    }
  }
}
