// The ways back: a revert and a rollback, each after a preview of what will change.

import { get, post } from "./api.js";
import { card, effectOf } from "./changes.js";
import { commandCode, failure, glyph, h, laneName, put, skeleton, toast } from "./dom.js";
import { command, counted, counts, number } from "./format.js";
import { writerIn } from "./trust.js";

// Returns whether a revert would change something. An error of the preview is shown when the person asks for it.
export async function isLeft(page, asked) {
  if (!page.summary?.writer) return true;
  const read = await post("revert", { ...asked, dry_run: true }).catch(() => null);
  return !read || counts(read).length > 0;
}

// Returns the buttons of the ways back, or the command for a page that has them.
export function offer(page, { lane, commit, text, rollback, left = true }) {
  if (!page.summary?.writer) return h("p", { class: "muted small" }, "This page only reads. To take changes back, start it with: ", commandCode(command("serve --ui --write")));
  const revert = h("button", { type: "button", class: "danger", disabled: !left, on: { click: () => dialog(page, new Revert({ lane, commit }, text)) } }, glyph("undo"), `Take back ${text}`);
  const back = rollback ? h("button", { type: "button", class: "danger", on: { click: () => dialog(page, new Rollback(rollback)) } }, glyph("undo"), `Roll back to ${rollback}`) : null;
  return h("p", { class: "actions" }, revert, back, left ? null : h("span", { class: "muted small", text: "Nothing of it is left to take back." }));
}

// Returns the command that takes back the newest change of the writer of the page.
const wayBack = ({ session, actor }) => command("undo", { session, actor: session ? null : actor });

// Returns an error of a preview or change with words that say what to do, and whether something was changed.
function explained(error) {
  if (error.code === "less_trusted") {
    return { message: error.message, hint: `If you are the person, end the server, and start it with: ${command("serve --ui --write", { trust: "direct_user" })}`, isLast: true };
  }
  if (error.code === "head_moved") {
    return { message: "Somebody committed after this preview, so nothing was changed.", hint: "Read the new preview, and confirm it.", label: "Show the new preview" };
  }
  if (error.code === "offline") {
    return {
      message: "The connection ended before the answer, so it is unknown whether the change was made.",
      hint: `Start the server again, and open its address. The newest commit in the timeline shows whether the change was made. Or run: ${command("log --limit 1")}`,
      label: "Look again",
    };
  }
  return error;
}

const lanesOf = (lanes) => (lanes.length > 0 ? lanes.flatMap(({ lane, lane_key: key }, at) => [at > 0 ? ", " : null, ...laneName(lane, key)]) : ["others"]);

const words = (read) => counts(read).map(([name, , count]) => `${number(count)} ${name}`).join(", ") || "nothing";

class Revert {
  constructor(asked, text) {
    this.asked = asked;
    this.title = `Take back ${text}`;
    this.done = `Taken back: ${text}`;
  }

  async preview() {
    const read = await post("revert", { ...this.asked, dry_run: true });
    const changes = read.added + read.changed + read.removed;
    this.nothing = changes === 0;
    return [
      h("p", {}, "Each object gets its newest version by anybody else, or is removed if there is none: ", h("strong", { text: words(read) }), "."),
      read.kept_total > 0 ? h("p", { class: "callout", text: `${counted(read.kept_total, "object")} stay, because others changed them later: ${read.kept.slice(0, 5).map((kept) => kept.id).join(", ")}` }) : null,
      read.derived_total > 0 ? h("p", { class: "callout warn", text: `${counted(read.derived_total, "object")} were derived from this and stay: ${read.derived.slice(0, 5).join(", ")}` }) : null,
      h("div", { class: "cards" }, ...read.rows.map((row) => card(row, { view: "objects" }, effectOf))),
      changes > read.rows.length ? h("p", { class: "muted", text: `and ${number(changes - read.rows.length)} more` }) : null,
    ];
  }

  confirm(head, reason) { return post("revert", { ...this.asked, head, reason }); }
}

class Rollback {
  constructor(to) {
    this.to = to;
    this.title = `Roll back to ${to}`;
    this.done = `Rolled back to ${to}`;
  }

  async preview() {
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

  confirm(head, reason) { return post("rollback", { to: this.to, all: this.all, head, reason }); }
}

function dialog(page, way) {
  const body = h("div", { class: "dialog-body scroll", tabindex: "0", role: "region", "aria-label": "Preview" }, skeleton(5));
  const reason = h("input", { id: "reason", type: "text", maxlength: "200", autocomplete: "off", placeholder: "why, for the log" });
  const close = () => { box.close(); box.remove(); };
  const cancel = h("button", { type: "button", on: { click: close } }, "Cancel");
  const yes = h("button", { type: "submit", class: "danger primary", disabled: true }, way.title);
  const writer = page.summary.writer;
  const form = h("form", { on: { submit: (event) => { event.preventDefault(); run(); } } },
    h("div", { class: "field" }, h("label", { for: "reason", text: "Reason" }), reason),
    h("p", { class: "muted small" }, `The change is a commit, written as ${writerIn(writer)}. To take it back: `, commandCode(wayBack(writer))),
    h("div", { class: "actions" }, cancel, yes));
  const box = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", on: { cancel: () => box.remove() } }, h("h2", { id: "dialog-title", text: way.title }), body, form);
  document.body.append(box);
  box.showModal();
  let head = null;
  const failed = (told) => put(body, failure(told, told.isLast ? null : preview, told.label));
  const preview = async () => {
    put(body, skeleton(5));
    yes.disabled = true;
    try {
      head = (await get("summary")).head.commit;
      put(body, ...await way.preview());
      yes.disabled = way.nothing;
      if (way.nothing) body.prepend(h("p", { class: "callout", text: "Nothing would change: nothing of it is left." }));
    } catch (error) {
      failed(error.code === "less_trusted" ? explained(error) : error);
    }
  };
  const run = async () => {
    yes.disabled = true;
    try {
      await way.confirm(head, reason.value.trim() || undefined);
      close();
      toast("good", `${way.done}. To take this back: `, commandCode(wayBack(writer)));
      page.refresh(true);
    } catch (error) {
      failed(explained(error));
    }
  };
  preview();
}
