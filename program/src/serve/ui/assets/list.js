// A list of any length, of which only the rows in sight are elements. Rows are read in pages.

import { h, put, failure } from "./dom.js";

const PAGE = 100;
const PAGES_KEPT = 24;
const AROUND = 8;
// How long rows may be drawn in one frame, in ms. The others follow in the next frame, so that scrolling never waits.
const DRAW_MS = 8;
// A browser cannot make elements of any height. A longer list scrolls faster than its rows.
const HEIGHT_MAX = 12_000_000;

let made = 0;

export class VirtualList {
  // `read(start, count, signal)` returns { total, start, rows }. `draw(row, at)` returns the children of a row. `keyOf(row)` is
  // the name of a row, by which the active row is found again after the rows moved.
  constructor({ label, height, read, draw, opened, empty, keyOf, className = "" }) {
    Object.assign(this, { label, height, read, draw, opened, keyOf, emptyState: empty });
    this.name = `list${(made += 1)}`;
    this.pages = new Map();
    this.rows = new Map();
    this.total = 0;
    this.active = -1;
    this.activeKey = null;
    this.selected = null;
    this.space = h("div", { class: "space", role: "presentation" });
    this.box = h("div", { class: `list ${className}`.trim(), tabindex: "0", on: { scroll: () => this.#plan(), keydown: (event) => this.#key(event), click: (event) => this.#click(event) } }, this.space);
    this.element = h("div", { class: "listing" }, this.box);
    this.watch = new ResizeObserver(() => this.#plan());
    this.watch.observe(this.box);
  }

  // Shows the list from its beginning, or around a place that the first page names.
  async start(first = {}) {
    this.#forget();
    this.#choose(-1);
    this.box.setAttribute("aria-busy", "true");
    const page = await this.#load(0, first);
    this.box.removeAttribute("aria-busy");
    if (!page) return null;
    this.#setTotal(page.total);
    if (page.place !== undefined) this.show(page.place, true);
    else this.box.scrollTop = 0;
    this.#clearRows();
    this.#draw();
    return page;
  }

  // Reads the rows in sight again, and keeps the place. `shift` rows were added at the top.
  async refresh(shift = 0) {
    const atTop = this.box.scrollTop < this.height / 2;
    this.#forget();
    this.active = -1;
    const start = Math.max(0, Math.floor(this.#first() / PAGE) * PAGE);
    const page = await this.#load(start / PAGE);
    if (!page) return;
    this.#setTotal(page.total);
    if (shift > 0 && !atTop) this.box.scrollTop += shift * this.height;
    this.#clearRows();
    this.#draw();
  }

  // Scrolls to a row, and makes it the active one.
  show(at, center = false) {
    this.#choose(at);
    const top = at * this.#step();
    const sight = this.box.clientHeight || 600;
    if (center) this.box.scrollTop = Math.max(0, top - sight / 2);
    else if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.height > this.box.scrollTop + sight) this.box.scrollTop = top + this.height - sight;
    this.#plan();
  }

  // Marks the row for which `is` holds.
  select(is) {
    this.selected = is;
    for (const [at, element] of this.rows) this.#mark(at, element);
  }

  stop() {
    this.watch.disconnect();
    this.aborter?.abort();
  }

  #step() {
    const sight = this.box.clientHeight || 600;
    const whole = this.total * this.height;
    if (whole <= HEIGHT_MAX || this.total < 2) return this.height;
    return (HEIGHT_MAX - sight) / (this.total - sight / this.height);
  }

  #first() {
    return Math.floor(this.box.scrollTop / this.#step());
  }

  #forget() {
    this.aborter?.abort();
    this.aborter = new AbortController();
    this.pages.clear();
  }

  #choose(at) {
    const row = this.rowAt(at);
    this.active = at;
    this.activeKey = row ? this.keyOf(row) : null;
  }

  // Makes the row active that was active before the rows moved.
  #followActive({ rows, start }) {
    if (this.active >= 0 || this.activeKey === null) return;
    const found = rows.findIndex((row) => this.keyOf(row) === this.activeKey);
    if (found >= 0) this.active = start + found;
  }

  #clearRows() {
    this.rows.forEach((element) => element.remove());
    this.rows.clear();
  }

  #setTotal(total) {
    this.total = total;
    this.space.style.height = `${Math.min(total * this.height, HEIGHT_MAX)}px`;
    if (total === 0) {
      this.box.removeAttribute("role");
      this.#clearRows();
      put(this.element, this.box, this.emptyState());
      this.box.hidden = true;
      return;
    }
    this.box.hidden = false;
    this.box.setAttribute("role", "listbox");
    this.box.setAttribute("aria-label", this.label);
    if (this.element.childNodes.length > 1) put(this.element, this.box);
  }

  async #load(page, more = {}) {
    const known = this.pages.get(page);
    if (known) return known;
    const { signal } = this.aborter;
    const reading = this.read({ start: page * PAGE, count: PAGE, ...more }, signal).catch((error) => {
      if (error.name === "AbortError" || signal.aborted) return null;
      this.pages.delete(page);
      this.box.hidden = true;
      put(this.element, this.box, failure(error, () => this.start()));
      return null;
    });
    if (!("around" in more)) this.pages.set(page, reading);
    const read = await reading;
    // The list shows something else by now.
    if (signal.aborted) return null;
    if (read) this.#followActive(read);
    if (read && "around" in more && read.start % PAGE === 0) this.pages.set(read.start / PAGE, read);
    else if (read && !("around" in more)) this.pages.set(page, read);
    if (this.pages.size > PAGES_KEPT) this.pages.delete(this.pages.keys().next().value);
    return read;
  }

  // Draws in the next frame, so that scrolling waits for nothing.
  #plan() {
    if (this.planned) return;
    this.planned = requestAnimationFrame(() => {
      this.planned = null;
      this.#draw();
    });
  }

  #draw() {
    if (this.total === 0) return;
    const sight = Math.ceil((this.box.clientHeight || 600) / this.height);
    const low = Math.max(0, this.#first() - AROUND);
    const high = Math.min(this.total, this.#first() + sight + AROUND);
    for (const [at, element] of this.rows) {
      if (at < low || at >= high) {
        element.remove();
        this.rows.delete(at);
      }
    }
    const begun = performance.now();
    const added = document.createDocumentFragment();
    for (let at = low; at < high; at += 1) {
      const element = this.rows.get(at);
      if (!element) added.append(this.#row(at));
      else if (element.classList.contains("waiting") && this.rowAt(at)) this.#write(at, element);
      if (performance.now() - begun > DRAW_MS) {
        this.#plan();
        break;
      }
    }
    this.space.append(added);
    if (this.#step() !== this.height) this.rows.forEach((element, at) => this.#place(at, element));
    const pages = [];
    for (let page = Math.floor(low / PAGE); page <= Math.floor((high - 1) / PAGE); page += 1) pages.push(page);
    if (pages.some((page) => !this.pages.has(page))) {
      clearTimeout(this.waiting);
      // A fast scroll passes over pages that nobody looks at.
      this.waiting = setTimeout(() => pages.forEach((page) => this.#fill(page)), 40);
    }
    this.#activate();
  }

  async #fill(page) {
    const read = await this.#load(page);
    if (!read) return;
    if (read.total !== this.total) this.#setTotal(read.total);
    this.#plan();
  }

  #row(at) {
    const element = h("div", { class: "row", role: "option", id: `${this.name}-${at}`, data: { at } });
    element.style.height = `${this.height}px`;
    this.#place(at, element);
    this.rows.set(at, element);
    this.#write(at, element);
    return element;
  }

  // Puts a row where it belongs. Above the limit of the height, this changes with the place of the scroll bar.
  #place(at, element) {
    const first = this.box.scrollTop / this.#step();
    const top = this.#step() === this.height ? at * this.height : this.box.scrollTop + (at - first) * this.height;
    element.style.transform = `translateY(${top}px)`;
  }

  #write(at, element) {
    const row = this.rowAt(at);
    element.classList.toggle("waiting", !row);
    element.setAttribute("aria-setsize", this.total);
    element.setAttribute("aria-posinset", at + 1);
    put(element, ...(row ? this.draw(row, at) : [h("span", { class: "bar" }, "\u00a0")]));
    this.#mark(at, element);
  }

  #mark(at, element) {
    const row = this.rowAt(at);
    const selected = Boolean(row && this.selected?.(row));
    element.setAttribute("aria-selected", String(selected));
    element.classList.toggle("active", at === this.active);
  }

  rowAt(at) {
    const page = this.pages.get(Math.floor(at / PAGE));
    return page?.rows?.[at - page.start];
  }

  #activate() {
    if (this.activeKey === null) this.#choose(this.active);
    const element = this.rows.get(this.active);
    if (element) this.box.setAttribute("aria-activedescendant", element.id);
    else this.box.removeAttribute("aria-activedescendant");
    for (const [at, row] of this.rows) row.classList.toggle("active", at === this.active);
  }

  #key(event) {
    const sight = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: sight, PageUp: -sight, Home: -this.total, End: this.total };
    if (event.key === "Enter" && this.active >= 0) {
      const row = this.rowAt(this.active);
      if (row) this.opened(row);
    } else if (event.key in moves) {
      const from = this.active < 0 ? this.#first() - Math.sign(moves[event.key]) : this.active;
      this.show(Math.min(this.total - 1, Math.max(0, from + moves[event.key])));
      this.#activate();
    } else {
      return;
    }
    event.preventDefault();
  }

  #click(event) {
    const element = event.target.closest(".row");
    const row = element && this.rowAt(Number(element.dataset.at));
    if (!row) return;
    this.#choose(Number(element.dataset.at));
    this.#activate();
    this.opened(row);
  }
}
