// What a person decides about one text: release, reject, trust, edit, forget, and restore of an earlier version.

import { get, post } from "./api.js";
import { card } from "./changes.js";
import { openDialog } from "./dialog.js";
import { glyph, h } from "./dom.js";
import { nameOf, number } from "./format.js";
import { badge, flags, wordOf } from "./trust.js";

// How long the person may pause while typing before the preview is made, in ms.
const TYPING_MS = 300;

const quote = (text) => h("blockquote", { class: "quote", text });

// Returns the review of a version: its whole text, what the scan found, and the fields that act.
function reviewed(review, fields = []) {
  return [
    h("p", { class: "badges" }, badge(review.trust), h("span", { class: "badge plain", text: review.kind }), h("span", { class: "badge plain", text: review.scope }), ...flags(review.flags)),
    quote(review.text || "no text"),
    review.invisible > 0 ? h("p", { class: "callout warn" }, glyph("warn"), `${number(review.invisible)} characters that nobody sees are written out.`) : null,
    ...fields,
  ];
}

const valueOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// Returns a field of a version that takes effect by itself.
function acting(act, choose) {
  const text = [h("b", { text: act.field }), ` = ${valueOf(act.value)}`, ...act.hides.map((one) => h("span", { class: "muted small block", text: `hides ${one.id}: ${one.text}` }))];
  if (!choose) return h("li", {}, ...text);
  return h("li", {}, h("label", { class: "choice" }, h("input", { type: "checkbox", value: act.field, on: { change: ({ target }) => choose(act.field, target.checked) } }), h("span", {}, ...text)));
}

// Decides about a change that the scan or a rule stopped.
class OfHeld {
  constructor(path, held, words) {
    Object.assign(this, { path, held, ...words });
  }

  async preview() {
    const { held } = await post(this.path, { name: this.held.name, dry_run: true });
    return [
      h("p", { text: this.text }),
      held.reason ? h("p", { class: "callout", text: `Why it waits: ${held.reason}.` }) : null,
      ...held.objects.flatMap(({ id, new: now, old }) => [
        h("h3", { class: "id", text: id }),
        ...(now ? reviewed(now, [now.acts.length > 0 ? h("ul", { class: "plain-list" }, ...now.acts.map((act) => acting(act))) : null]) : []),
        old ? h("p", { class: "muted", text: now ? "It replaces:" : "It removes:" }) : null,
        old ? quote(old.text) : null,
      ]),
    ];
  }

  confirm(reason) { return post(this.path, { name: this.held.name, reason }); }
}

export const release = (page, held) => openDialog(page, new OfHeld("release", held, {
  title: "Release this text", verb: "Release", done: "Released",
  text: "The text becomes part of the memory and keeps its trust. An untrusted text stays withheld from agents until you trust it.",
}));

export const reject = (page, held) => openDialog(page, new OfHeld("reject", held, {
  title: "Reject this text", verb: "Reject", done: "Rejected", isBad: true, isFinal: true,
  text: "The text is dropped from the quarantine, and never becomes part of the memory.",
}));

// Decides about the version of an item that the person sees.
class OfItem {
  constructor(path, item, words) {
    Object.assign(this, { path, item, ...words });
    this.asked = { id: nameOf(item), digest: item.digest };
  }

  async preview() {
    const read = await post(this.path, { ...this.asked, dry_run: true });
    return [h("p", { text: this.text }), ...this.shown(read)];
  }

  shown(read) {
    this.nothing = read.rows.length === 0;
    return [h("div", { class: "cards" }, ...read.rows.map((row) => card(row, { view: "objects" }, () => this.effect)))];
  }

  confirm(reason) { return post(this.path, { ...this.asked, reason }); }
}

export const forget = (page, item, after) => openDialog(page, new OfItem("forget", item, {
  title: "Forget this", verb: "Forget", done: "Forgotten", isBad: true, effect: "will be forgotten", after,
  text: "Agents no longer find it. History keeps it, so it can be restored.",
}));

export const restore = (page, item, at, after) => openDialog(page, Object.assign(new OfItem("restore", item, {
  title: "Restore this version", verb: "Restore", done: "Restored", effect: "will be restored", after,
  text: "The item gets the text and fields that it had then. The present version stays in the history.",
}), { asked: { id: nameOf(item), digest: item.digest ?? undefined, at } }));

// Decides about a conflict of a merge: takes one side.
export const resolve = (page, conflict, side) => openDialog(page, Object.assign(new OfItem("resolve", conflict, {
  title: side.name === "removed" ? "Remove the item" : "Take this version", verb: side.name === "removed" ? "Remove" : "Take it", done: "Decided", effect: "will be replaced",
  text: side.present ? "The memory shows this version already. The conflict is closed, and the other versions stay in the history." : "The item gets this version. The other versions stay in the history.",
  shown(read) { return [h("div", { class: "cards" }, ...read.rows.map((row) => card(row, { view: "objects" }, () => this.effect)))]; },
}), { asked: { id: nameOf(conflict), digest: conflict.digest, present: conflict.present, take: side.name } }));

class Trust extends OfItem {
  shown({ review }) {
    const keep = new Set();
    this.asked.keep = [];
    const choose = (field, on) => {
      if (on) keep.add(field);
      else keep.delete(field);
      this.asked.keep = [...keep];
    };
    this.nothing = review.trust === "direct_user" ? "A person said this, so it is trusted already." : false;
    return reviewed(review, [review.acts.length > 0 ? h("fieldset", { class: "acting" },
      h("legend", { text: "These fields take effect by themselves. Choose those to keep; the others are dropped:" }),
      h("ul", { class: "plain-list" }, ...review.acts.map((act) => acting(act, choose)))) : null]);
  }
}

export const trust = (page, item, after) => openDialog(page, new Trust("promote", item, {
  title: "Trust this text", verb: "Trust it", done: "Trusted", after,
  text: "From now on, agents read this as if you had said it. Read the whole text first.",
}));

class Edit extends OfItem {
  constructor(item, content, after) {
    super("edit", item, { title: "Correct this text", verb: "Save", done: "Corrected", after, effect: "will be replaced", isLive: true });
    this.area = h("textarea", { id: "new-text", rows: "4", spellcheck: "true", autofocus: true });
    this.area.value = content;
  }

  fields(again) {
    let waiting = null;
    this.area.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(again, TYPING_MS);
    });
    return [h("div", { class: "field" }, h("label", { for: "new-text", text: "Text" }), this.area)];
  }

  async preview() {
    this.asked.text = this.area.value;
    if (!this.area.value.trim()) {
      this.nothing = "A text is needed. To remove the item, forget it.";
      return [];
    }
    const read = await post("edit", { ...this.asked, dry_run: true });
    const isSame = read.rows.every((row) => row.lines.every(({ sign }) => sign === " "));
    this.nothing = isSame ? "Change the text above, and the difference is shown here." : false;
    if (read.stopped) this.nothing = `The scan would stop this text (${read.rules.join(", ")}). Write it as a plain fact.`;
    const lost = this.item.trust && !["direct_user", "host", "model", "tool_internal"].includes(this.item.trust);
    return [
      isSame ? null : h("div", { class: "cards" }, ...read.rows.map((row) => card({ ...row, flags: read.rules }, { view: "objects" }, () => this.effect))),
      lost ? h("p", { class: "muted small", text: `The corrected text stays untrusted (${wordOf(this.item.trust)}), because it may repeat the old one. Trust it afterwards.` }) : null,
    ];
  }
}

// Opens the editor of a text. A list shows only the beginning of a long text, so the whole text is read first.
export async function edit(page, item, after) {
  const whole = await get("object", { id: nameOf(item) }).catch(() => null);
  if (!whole || whole.cut) return page.open({ id: nameOf(item) });
  return openDialog(page, new Edit({ ...item, digest: item.digest ?? whole.digest }, whole.content ?? "", after));
}

// Returns the buttons for an item that the page may change.
export function actions(page, item, { trusts = false, after } = {}) {
  const button = (name, text, run, kind = "") => h("button", { type: "button", class: `act ${kind}`.trim(), on: { click: () => run(page, item, after) } }, glyph(name), text);
  return [
    trusts ? button("check", "Trust", trust) : null,
    button("edit", "Edit", edit),
    button("forget", "Forget", forget, "quiet"),
  ];
}
