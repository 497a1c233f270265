// The dialogs of changes: each shows what will change, and changes it after the person confirmed it.

import { commandCode, failure, h, put, skeleton, link, toast } from "./dom.js";
import { command } from "./format.js";
import { writerIn } from "./trust.js";

// Returns the command that takes back the newest change of the writer of the page.
const wayBack = ({ session, actor }) => command("undo", { session, actor: session ? null : actor });

// Closes every dialog, because the person went to another place.
export function closeDialogs() {
  for (const box of document.querySelectorAll("dialog")) {
    box.close();
    box.remove();
  }
}

// Returns an error of a preview or change with words that say what to do, and whether it is final.
function explained(error) {
  if (error.code === "less_trusted" || error.code === "not_a_person") {
    return { message: error.message, hint: `If you are the person, end the server, and start it with: ${command("serve --ui --write", { trust: "direct_user" })}`, isLast: true };
  }
  if (error.code === "head_moved") {
    return { message: "Somebody committed after this preview, so nothing was changed.", hint: "Read the new preview, and confirm it.", label: "Show the new preview" };
  }
  if (error.code === "changed") {
    return { message: "This item changed after you opened it, so nothing was changed.", hint: "Close this, and look at it again.", isLast: true };
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

// Opens a dialog. `way` has: title, verb (of the button), done (for the message), isBad (whether it takes something away),
// `fields()` (more fields), `preview()` (returns what will change; sets `nothing`), `confirm(reason)` (makes the change), and
// `isFinal` (whether no commit is made, so that nothing takes it back).
export function openDialog(page, way) {
  closeDialogs();
  const body = h("div", { class: "dialog-body scroll", tabindex: "0", role: "region", "aria-label": "Preview" }, skeleton(5));
  const reason = h("input", { id: "reason", type: "text", maxlength: "200", autocomplete: "off", placeholder: "why, for the log" });
  const close = () => { box.close(); box.remove(); };
  const yes = h("button", { type: "submit", class: way.isBad ? "danger primary" : "primary", disabled: true }, way.verb ?? way.title);
  const { writer } = page.summary;
  const form = h("form", { on: { submit: (event) => { event.preventDefault(); run(); } } },
    way.isFinal ? h("p", { class: "muted small", text: "This makes no commit, and nothing brings the text back." })
      : [h("div", { class: "field" }, h("label", { for: "reason", text: "Reason (optional)" }), reason),
        h("p", { class: "muted small" }, `The change is one commit, written as ${writerIn(writer)}. To take it back: `, commandCode(wayBack(writer)))],
    h("div", { class: "actions" }, h("button", { type: "button", autofocus: !way.isLive, on: { click: close } }, "Cancel"), yes));
  const box = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", on: { cancel: () => box.remove() } },
    h("h2", { id: "dialog-title", text: way.title }), ...(way.fields?.(() => preview()) ?? []), body, form);
  document.body.append(box);
  box.showModal();
  let asked = 0;
  const failed = (told) => put(body, failure(told, told.isLast ? null : preview, told.label));
  const preview = async () => {
    const own = (asked += 1);
    yes.disabled = true;
    if (!way.isLive) put(body, skeleton(5));
    try {
      const parts = await way.preview();
      if (own !== asked) return;
      put(body, ...parts);
      yes.disabled = Boolean(way.nothing);
      if (way.nothing) body.prepend(h("p", { class: "callout", text: way.nothing === true ? "Nothing would change: nothing of it is left." : way.nothing }));
    } catch (error) {
      if (own === asked) failed(["less_trusted", "not_a_person", "changed"].includes(error.code) ? explained(error) : error);
    }
  };
  const run = async () => {
    yes.disabled = true;
    try {
      const made = await way.confirm(reason.value.trim() || undefined);
      close();
      const seq = made?.seq ?? made?.commit?.seq;
      toast("good", `${way.done}. `, way.isFinal ? null : h("span", {}, "To take this back: ", commandCode(wayBack(writer))), seq ? link({ view: "timeline", commit: `seq:${seq}` }, {}, "Look at it") : null);
      way.after?.();
      page.refresh(true);
    } catch (error) {
      failed(explained(error));
    }
  };
  preview();
}
