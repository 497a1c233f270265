// The ways back: a revert and a rollback, each after a preview of what will change.

import { get, post } from "./api.js";
import { card, effectOf } from "./changes.js";
import { openDialog } from "./dialog.js";
import { commandCode, glyph, h, laneName } from "./dom.js";
import { command, counted, counts, number, pointName } from "./format.js";

// Returns whether a revert would change something. An error of the preview is shown when the person asks for it.
export async function isLeft(page, asked) {
  if (!page.summary?.writer) return true;
  const read = await post("revert", { ...asked, dry_run: true }).catch(() => null);
  return !read || counts(read).length > 0;
}

// Returns the buttons of the ways back, or the command for a page that has them.
export function offer(page, { lane, commit, text, rollback, left = true }) {
  if (!page.summary?.writer) return h("p", { class: "muted small" }, "This page only reads. To take changes back, start it with: ", commandCode(command("serve --ui --write")));
  const revert = h("button", { type: "button", class: "danger", disabled: !left, on: { click: () => openDialog(page, new Revert({ lane, commit }, text)) } }, glyph("undo"), `Take back ${text}`);
  const back = rollback ? h("button", { type: "button", class: "danger", on: { click: () => openDialog(page, new Rollback(rollback)) } }, glyph("undo"), `Roll back to ${pointName(rollback)}`) : null;
  return h("p", { class: "actions" }, revert, back, left ? null : h("span", { class: "muted small", text: "Nothing of it is left to take back." }));
}

const lanesOf = (lanes) => (lanes.length > 0 ? lanes.flatMap(({ lane, lane_key: key }, at) => [at > 0 ? ", " : null, ...laneName(lane, key)]) : ["others"]);

const words = (read) => counts(read).map(([name, , count]) => `${number(count)} ${name}`).join(", ") || "nothing";

// Returns the head that a preview is about. The server refuses the change if somebody commits meanwhile.
const seen = async () => (await get("summary")).head.commit;

class Revert {
  constructor(asked, text) {
    this.asked = asked;
    this.isBad = true;
    this.title = `Take back ${text}`;
    this.done = `Taken back: ${text}`;
  }

  async preview() {
    this.head = await seen();
    const read = await post("revert", { ...this.asked, dry_run: true });
    const changes = read.added + read.changed + read.removed;
    this.nothing = changes === 0;
    return [
      h("p", {}, "Each item gets its newest version by anybody else, or is removed if there is none: ", h("strong", { text: words(read) }), "."),
      read.kept_total > 0 ? h("p", { class: "callout", text: `${counted(read.kept_total, "item")} stay, because others changed them later: ${read.kept.slice(0, 5).map((kept) => kept.id).join(", ")}` }) : null,
      read.derived_total > 0 ? h("p", { class: "callout warn", text: `${counted(read.derived_total, "item")} were derived from this and stay: ${read.derived.slice(0, 5).join(", ")}` }) : null,
      h("div", { class: "cards" }, ...read.rows.map((row) => card(row, { view: "objects" }, effectOf))),
      changes > read.rows.length ? h("p", { class: "muted", text: `and ${number(changes - read.rows.length)} more` }) : null,
    ];
  }

  confirm(reason) { return post("revert", { ...this.asked, head: this.head, reason }); }
}

class Rollback {
  constructor(to) {
    this.to = to;
    this.isBad = true;
    this.title = `Roll back to ${pointName(to)}`;
    this.done = `Rolled back to ${pointName(to)}`;
  }

  async preview() {
    this.head = await seen();
    const read = await post("rollback", { to: this.to, dry_run: true });
    this.all = Boolean(read.needs);
    this.nothing = read.added + read.changed + read.removed === 0;
    const differences = await get("changes", { from: "@", to: this.to, count: 50 });
    return [
      h("p", {}, "The whole memory returns to this state: ", h("strong", { text: words(read) }), ". Snapshots stay."),
      this.all ? h("p", { class: "callout warn" }, glyph("warn"), h("span", {}, "This also takes back the work of ", ...lanesOf(read.lanes), ".")) : null,
      h("div", { class: "cards" }, ...differences.rows.map((row) => card(row, { view: "objects" }, effectOf))),
      differences.total > differences.rows.length ? h("p", { class: "muted", text: `and ${number(differences.total - differences.rows.length)} more` }) : null,
    ];
  }

  confirm(reason) { return post("rollback", { to: this.to, all: this.all, head: this.head, reason }); }
}
