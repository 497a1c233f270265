// The view of a search: hits by words, best first, and then objects that contain the text as it is.

import { get } from "./api.js";
import { empty, failure, h, put, skeleton } from "./dom.js";
import { counted, nameOf, number, plain } from "./format.js";
import { objectRow } from "./objects.js";

export class SearchView {
  constructor(page) {
    this.page = page;
    this.title = h("h1", { text: "Search" });
    this.hits = h("div", { class: "hits" });
    this.parts = h("div", { class: "hits" });
    this.results = h("div", { class: "result scroll", tabindex: "0", role: "region", "aria-label": "Results", on: { keydown: (event) => this.#key(event) } },
      h("h2", { text: "By words" }), this.hits, h("h2", { text: "With this text" }), this.parts);
    this.element = h("div", { class: "view search-view" }, h("div", { class: "heading" }, this.title), this.results);
  }

  async show(place) {
    const moved = this.place?.q !== place.q;
    this.place = place;
    if (moved) {
      put(this.title, "Search", h("span", { class: "muted", text: ` ${plain(place.q)}` }));
      if (!place.q) return put(this.results, empty("Nothing to search for", "Write words or a part of a text above."));
      put(this.results, h("h2", { text: "By words" }), this.hits, h("h2", { text: "With this text" }), this.parts);
      put(this.hits);
      put(this.parts);
      this.asked = { q: place.q };
      await Promise.all([this.#words(0), this.#part(0, 0)]);
    }
    this.#mark();
    return undefined;
  }

  refresh() {}

  focus() { (this.results.querySelector("button.hit") ?? this.results).focus(); }

  // Ends the search that goes on by itself.
  stop() { this.asked = null; }

  #mark() {
    for (const hit of this.results.querySelectorAll("button.hit")) hit.setAttribute("aria-pressed", String(hit.dataset.name === this.place?.id));
  }

  #hit(row, text) {
    const children = objectRow({ ...row, updated: row.updated ?? row.time, gist: text });
    // A neighbour of a match in a conversation may have none of the words.
    if (row.why?.length > 0 && !row.why.includes("contains words of the question")) children.push(h("span", { class: "why muted small", text: `found because: ${row.why[0]}` }));
    return h("button", { type: "button", class: "hit", data: { name: nameOf(row) }, "aria-pressed": "false", on: { click: () => this.page.open({ id: nameOf(row) }) } }, ...children);
  }

  async #words(start) {
    const { asked } = this;
    await this.#load(this.hits, () => get("search", { q: asked.q, start, count: 20 }), asked, (read, more) => {
      this.hits.append(...read.rows.map((row) => this.#hit(row, row.snippet)));
      if (read.rows.length === 0 && start === 0) more.append(h("p", { class: "muted", text: "No item has these words." }));
      if (read.more) more.append(h("button", { type: "button", on: { click: () => this.#words(start + 20) } }, "Show more"));
    });
  }

  async #part(from, shown) {
    const { asked } = this;
    await this.#load(this.parts, () => get("part", { q: asked.q, from, count: 50 }), asked, (read, more) => {
      this.parts.append(...read.rows.map((row) => this.#hit(row, row.excerpt)));
      const all = shown + read.rows.length;
      if (read.next !== null) {
        more.append(h("p", { class: "muted", text: `Searched ${number(read.searched)} of ${counted(read.total, "item")}.` }));
        // Goes on by itself until something is on the screen.
        if (all < 20) setTimeout(() => this.asked === asked && this.#part(read.next, all), 0);
        else more.append(h("button", { type: "button", on: { click: () => this.#part(read.next, 0) } }, "Search on"));
      } else if (all === 0) {
        more.append(h("p", { class: "muted", text: "No item contains this text." }));
      }
    });
  }

  // Shows what `read` returns, unless another search began meanwhile.
  async #load(box, read, asked, shown) {
    box.querySelector(".more")?.remove();
    const more = h("div", { class: "more" }, skeleton(2));
    box.append(more);
    const found = await read().catch((error) => ({ error }));
    if (this.asked !== asked) return;
    put(more, found.error ? failure(found.error) : null);
    if (!found.error) shown(found, more);
    box.append(more);
    this.#mark();
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const hits = [...this.results.querySelectorAll("button.hit")];
    const next = hits[hits.indexOf(document.activeElement) + step];
    if (next) {
      next.focus();
      event.preventDefault();
    }
  }
}
