// The front page: what waits for the person, what was learned today, and what the memory says.

import { get } from "./api.js";
import { actions, forget, reject, release, resolve } from "./acts.js";
import { card } from "./changes.js";
import { commandCode, empty, failure, glyph, h, laneName, link, put, skeleton } from "./dom.js";
import { ago, command, counted, laneKey, laneOf, moment, nameOf, number, quoted } from "./format.js";
import { signs } from "./object.js";
import { badge, flags } from "./trust.js";

// The rows of a list before the person asks for more.
const SHORT = 8;
const SETTLED = "treering-settled";

// Returns the midnight of the person, as the server reads it.
function midnight() {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  return day.toISOString();
}

// Returns the inbox. `count` is the number of items of a list.
export const readInbox = (count) => get("inbox", { since: midnight(), count });

// The pairs of which the person said that both are right. Only this browser remembers them.
const settled = () => new Set(JSON.parse(localStorage.getItem(SETTLED) ?? "[]"));
const pairKey = ({ newer, older }) => `${newer.digest.slice(0, 16)} ${older.digest.slice(0, 16)}`;
const openPairs = (inbox) => inbox.conflicting.pairs.filter((pair) => !settled().has(pairKey(pair)));

// Returns the number of things that wait.
export const waitingOf = (inbox) => inbox.waiting - (inbox.conflicting.pairs.length - openPairs(inbox).length);

const SCOPES = { global: "About you and your work" };

// Returns a scope in words.
function scopeName(scope) {
  if (SCOPES[scope]) return SCOPES[scope];
  const [kind, name] = [scope.split(":")[0], scope.slice(scope.indexOf(":") + 1)];
  return { project: `Project ${name}`, agent: `Agent ${name}`, session: `Session ${name}` }[scope.includes(":") ? kind : ""] ?? scope;
}

export class InboxView {
  constructor(page) {
    this.page = page;
    this.limits = {};
    this.title = h("h1", { text: "Inbox" });
    this.lead = h("p", { class: "lead muted" });
    this.body = h("div", { class: "inbox-body" }, skeleton(8));
    this.element = h("div", { class: "view inbox scroll", on: { keydown: (event) => this.#key(event) } },
      h("div", { class: "inbox-column" }, h("div", { class: "inbox-head" }, this.title, this.lead), this.body));
  }

  async show(place) {
    const isFirst = !this.place;
    this.place = place;
    if (isFirst) await this.#load();
    this.#mark();
  }

  refresh() { return this.#load(); }

  focus() { (this.body.querySelector("a.open, button") ?? this.title).focus(); }

  stop() { this.isStopped = true; }

  async #load() {
    let inbox;
    try {
      const none = () => ({ rows: [] });
      const [read, sessions, conflicts] = await Promise.all([readInbox(this.count ?? 20), get("sessions", { order: "signs", count: 3 }).catch(none), get("conflicts").catch(none), this.page.ready]);
      inbox = read;
      this.conflicts = conflicts.rows;
      this.sessions = sessions.rows.filter((row) => row.alive > 0 && (row.replaced_others > 0 || row.alive_flagged > 0));
    } catch (error) {
      return put(this.body, failure(error, () => this.#load()));
    }
    if (this.isStopped) return undefined;
    this.inbox = inbox;
    this.#draw();
    return undefined;
  }

  #draw() {
    const { inbox, page } = this;
    const [waits, sessions] = [waitingOf(inbox), this.sessions.length];
    page.showWaiting(waits);
    const focused = document.activeElement?.dataset?.name;
    const isEmpty = page.summary?.objects === 0 && inbox.quarantined.total === 0;
    const words = [waits === 0 ? "Nothing waits for you." : `${counted(waits, "thing waits", "things wait")} for your decision.`, sessions > 0 ? `${counted(sessions, "session")} to check.` : ""];
    this.lead.textContent = isEmpty ? "" : words.join(" ");
    const parts = isEmpty ? [this.#begin()] : [this.#waiting(waits + sessions), this.#learned(), this.#says()];
    put(this.body, ...parts);
    this.#mark();
    if (focused) [...this.body.querySelectorAll("a.open")].find((one) => one.dataset.name === focused)?.focus({ preventScroll: true });
  }

  #begin() {
    return empty("The memory is empty", "Store something, and it appears here:", h("p", {}, commandCode(command("remember 'The office is in Oslo'"))),
      h("p", { text: "An agent that is set up by treering install stores what it learns by itself." }));
  }

  get canWrite() { return Boolean(this.page.summary?.writer); }

  #waiting(waits) {
    const { inbox } = this;
    if (waits === 0) {
      return h("section", { class: "group", "aria-label": "Waiting" }, h("div", { class: "calm" }, glyph("check"), h("div", {},
        h("p", { class: "title", text: "All decided" }),
        h("p", { class: "muted", text: "Texts that look like an attack, texts from the web, and facts that contradict each other would wait here." }))));
    }
    const groups = [
      this.#group("held", "Stopped by the scan", "Not part of the memory until you release them.", inbox.quarantined.total, inbox.quarantined.items.map((held) => this.#held(held))),
      this.#group("conflicts", "Changed on both sides", "A merge found these changed on both sides. One version is shown until you decide.", this.conflicts.length, this.conflicts.map((conflict) => this.#conflict(conflict))),
      this.#group("disputes", "Do not agree", "Two facts of which only one can be true.", openPairs(inbox).length, openPairs(inbox).map((pair) => this.#dispute(pair))),
      this.#group("sessions", "Sessions to check", "They changed what others wrote, or wrote something suspicious.", this.sessions.length, this.sessions.map((row) => this.#session(row))),
      this.#group("withheld", "Not trusted yet", "From the web, files and tools. Agents do not read them until you trust them.", inbox.withheld.total, inbox.withheld.items.map((item) => this.#note(item, { trusts: true })), { only: "untrusted" }),
      this.#group("flagged", "Suspicious", "The scan found something in these texts.", inbox.flagged.total, inbox.flagged.items.map((item) => this.#note(item, { trusts: true })), { only: "flagged" }),
    ];
    const how = this.canWrite ? null : h("p", { class: "callout read-only" }, "This page only reads. To decide here, start it with: ", commandCode(command("serve --ui --write")));
    return [how, ...groups];
  }

  // Returns a group, or nothing if it has no rows. Only its first rows are shown until the person asks for more.
  #group(name, title, text, total, rows, more) {
    if (total === 0) return null;
    const limit = this.limits[name] ?? SHORT;
    const shown = rows.slice(0, limit);
    const rest = total - shown.length;
    const next = () => {
      this.limits[name] = limit + 20;
      if (rows.length < this.limits[name] && rows.length < total) {
        this.count = 200;
        this.#load();
      } else {
        this.#draw();
      }
    };
    return h("section", { class: "group", "aria-labelledby": `group-${name}` },
      h("div", { class: "group-head" }, h("h2", { id: `group-${name}` }, title, h("span", { class: "count", text: number(total) })), h("p", { class: "muted small", text })),
      h("ul", { class: "notes" }, ...shown.map((row) => h("li", {}, row))),
      rest > 0 ? h("p", { class: "more" }, rows.length >= 200 && limit >= 200 && more ? link({ view: "objects", ...more }, { class: "button" }, `All ${number(total)}`)
        : h("button", { type: "button", on: { click: next } }, `Show more (${number(rest)} left)`)) : null);
  }

  #what(item) {
    const name = nameOf(item);
    return [
      h("p", { class: "note-text" }, link({ view: "inbox", id: name }, { class: "open", data: { name } }, item.text || "no text")),
      h("p", { class: "note-about" },
        badge(item.trust), h("span", { class: "id", text: item.id }), item.kind === "fact" ? null : h("span", { text: item.kind }),
        ...this.#maker(item), ...flags(item.flags)),
    ];
  }

  // Returns who wrote a text, and when.
  #maker(row) {
    return [
      row.session || row.actor ? h("span", { class: "lane" }, "by ", ...laneName(laneOf(row).lane, laneOf(row).lane_key)) : null,
      row.time ? h("time", { datetime: row.time, title: moment(row.time), text: ago(row.time) }) : null,
    ];
  }

  // Returns the command that decides about an item without the page.
  #by(words, item) { return item.key ? null : h("p", { class: "by muted small" }, commandCode(command(`${words} -- ${quoted(item.id)}`))); }

  #note(item, options = {}) {
    return h("article", { class: "note" },
      h("div", { class: "what-said" }, ...this.#what(item), !this.canWrite && options.trusts ? this.#by("promote --dry-run", item) : null),
      this.canWrite ? h("div", { class: "acts" }, ...actions(this.page, item, options)) : null);
  }

  #held(held) {
    const name = held.name.replace("rejected/", "");
    const acts = () => h("div", { class: "acts" },
      h("button", { type: "button", class: "act", disabled: held.ids_total === 0, on: { click: () => release(this.page, held) } }, glyph("check"), "Release"),
      h("button", { type: "button", class: "act quiet", on: { click: () => reject(this.page, held) } }, glyph("close"), "Reject"));
    return h("article", { class: "note" },
      h("div", { class: "what-said" },
        h("p", { class: "note-text", text: held.preview || "Its text cannot be read any more." }),
        h("p", { class: "note-about" }, held.trust ? badge(held.trust) : null, held.reason ? h("span", { text: held.reason }) : null, ...this.#maker(held)),
        this.canWrite ? null : h("p", { class: "by muted small" }, commandCode(command(`quarantine --release ${quoted(name)}`)))),
      this.canWrite ? acts() : null);
  }

  #dispute(pair) {
    const side = (item, other) => h("div", { class: "side" }, ...this.#what(item),
      this.canWrite ? h("div", { class: "acts" }, h("button", { type: "button", class: "act", on: { click: () => forget(this.page, other) } }, glyph("check"), "Keep this one"), ...actions(this.page, item).slice(1, 2)) : this.#by("forget", other));
    const both = () => {
      localStorage.setItem(SETTLED, JSON.stringify([...settled(), pairKey(pair)].slice(-500)));
      this.#draw();
    };
    return h("article", { class: "note dispute" }, side(pair.newer, pair.older), side(pair.older, pair.newer),
      this.canWrite ? h("div", { class: "acts" }, h("button", { type: "button", class: "act quiet", title: "This browser does not show the pair again", on: { click: both } }, "Both are right")) : null);
  }

  // Shows each side as its difference to the version from which all sides come.
  #conflict(conflict) {
    const side = (one) => h("div", { class: "side" },
      h("p", { class: "note-about" }, one.trust ? badge(one.trust) : null, one.present ? h("span", { text: "shown at present" }) : null, ...this.#maker(one)),
      h("div", { class: "cards" }, card(one.change, { view: "inbox" }, () => (one.name === "removed" ? "was removed" : ""))),
      this.canWrite ? h("div", { class: "acts" }, h("button", { type: "button", class: "act", on: { click: () => resolve(this.page, conflict, one) } }, glyph("check"), one.name === "removed" ? "Remove it" : "Take this one")) : null);
    return h("article", { class: "note dispute" },
      h("p", { class: "note-text" }, link({ view: "inbox", id: nameOf(conflict) }, { class: "open", data: { name: nameOf(conflict) } }, conflict.id), ` differs in ${conflict.fields.join(", ")}`),
      ...conflict.sides.map(side), this.canWrite ? null : this.#by("resolve --take DIGEST", conflict));
  }

  #session(row) {
    return h("article", { class: "note" },
      h("div", { class: "what-said" },
        h("p", { class: "note-text" }, link({ view: "inbox", lane: laneKey(row) }, { class: "open", data: { name: laneKey(row) } }, ...laneName(row.lane, row.lane_key))),
        signs(row),
        h("p", { class: "note-about" }, badge(row.trust), h("span", { text: counted(row.changes, "change") }), h("time", { datetime: row.last, title: moment(row.last), text: ago(row.last) }))),
      h("div", { class: "acts" }, link({ view: "inbox", lane: laneKey(row) }, { class: "button act" }, glyph("right"), "See what it changed")));
  }

  #learned() {
    const { learned } = this.inbox;
    if (learned.total > 0) return this.#group("learned", "Learned today", "The newest first.", learned.total, learned.items.map((item) => this.#note(item)));
    return h("section", { class: "group", "aria-labelledby": "group-learned" }, h("div", { class: "group-head" }, h("h2", { id: "group-learned", text: "Learned today" }), h("p", { class: "muted small", text: "Nothing yet. What you or an agent stores today appears here." })));
  }

  #says() {
    if (this.inbox.says.length === 0) return null;
    return [
      h("h2", { class: "says-title", text: "What the memory says" }),
      h("p", { class: "muted small", text: "This is what an agent reads at the start of a session. A wrong fact is corrected here." }),
      ...this.inbox.says.map(({ scope, items }, at) => this.#group(`says-${at}`, scopeName(scope), "", items.length, items.map((item) => this.#note(item)))),
    ];
  }

  #mark() {
    const open = this.place?.id ?? this.place?.lane;
    for (const one of this.body.querySelectorAll("a.open")) {
      if (one.dataset.name === open) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.closest("textarea, input")) return;
    const all = [...this.body.querySelectorAll("a.open")];
    const here = event.target.closest("article")?.querySelector("a.open");
    const next = all[all.indexOf(here) + step];
    if (!next) return;
    next.focus();
    next.closest("article").scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
}
