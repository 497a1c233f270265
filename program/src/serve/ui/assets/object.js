// The panel of details: an item with its versions, a commit, or a session.

import { actions, restore } from "./acts.js";
import { get } from "./api.js";
import { changeCards, countsOf } from "./changes.js";
import { commandCode, empty, failure, glyph, h, laneName, link, put, skeleton } from "./dom.js";
import { ago, command, counted, goesBack, laneKey, laneOf, moment, nameOf, number, opName, plain, pointName, quoted, short } from "./format.js";
import { badge, flags, wordOf } from "./trust.js";
import { isLeft, offer } from "./ways_back.js";

// Fills the panel for a place, and returns whether it shows something.
export async function showPanel(panel, place, page) {
  const kind = ["id", "commit", "lane"].find((name) => place[name] && !(name === "lane" && place.view === "objects"));
  panel.hidden = !kind;
  document.body.classList.toggle("has-panel", Boolean(kind));
  if (!kind) return put(panel);
  const close = h("button", { type: "button", class: "close", "aria-label": "Close the details", on: { click: () => page.close() } }, glyph("close"));
  const body = h("div", { class: "panel-body scroll", tabindex: "0", role: "region", "aria-label": "Details" }, skeleton(6));
  put(panel, h("div", { class: "panel-bar" }, h("span", { class: "kind", text: { id: "Item", commit: "Commit", lane: "Session" }[kind] }), close), body);
  const asked = `${kind} ${place[kind]} ${place.at ?? ""}`;
  panel.dataset.asked = asked;
  panel.setAttribute("aria-busy", "true");
  try {
    const parts = await { id: objectParts, commit: commitParts, lane: sessionParts }[kind](place, page);
    if (panel.dataset.asked === asked) put(body, ...parts);
  } catch (error) {
    if (panel.dataset.asked === asked) put(body, failure(error, () => showPanel(panel, place, page)));
  }
  if (panel.dataset.asked === asked) panel.removeAttribute("aria-busy");
  return undefined;
}

const fact = (name, ...value) => [h("dt", { text: name }), h("dd", {}, ...value)];
const within = (place, change) => ({ view: place.view, lane: place.view === "objects" ? place.lane : undefined, of: place.of, prefix: place.prefix, only: place.only, q: place.q, from: place.from, to: place.to, order: place.order, ...change });
const laneLink = (place, row) => link(within(place, { view: place.view === "objects" ? "sessions" : place.view, prefix: "", only: "", lane: laneKey(row) }), { class: "lane-link" }, ...laneName(row.lane, row.lane_key));
const commitLink = (place, seq) => link(within(place, { commit: `seq:${seq}` }), {}, `commit ${number(seq)}`);

async function objectParts(place, page) {
  const { id, at } = place;
  let object;
  try {
    object = await get("object", { id, at });
  } catch (error) {
    if (error.code !== "not_found" && error.code !== "erased") throw error;
    const versions = await get("versions", { id }).catch(() => null);
    if (!versions) throw error;
    return [h("h2", { class: "id", text: plain(id) }), h("p", { class: "callout", text: "The memory no longer has this item. Its history is below." }), versionsOf(place, page, { id, digest: null }, versions)];
  }
  await page.ready;
  const { writer } = object;
  // The person acts on the present version alone.
  const item = { ...object, trust: object.origin };
  const canAct = page.summary?.writer && !at;
  const attributes = Object.entries(object.attributes).filter(([name]) => name !== "flags");
  return [
    object.parents.length > 0 ? h("p", { class: "crumbs" }, ...object.parents.flatMap((parent) => [link(within(place, { id: nameOf(parent) }), {}, parent.gist || parent.id), " / "])) : null,
    h("h2", { class: "id", text: object.id }),
    h("p", { class: "badges" }, badge(object.origin), h("span", { class: "badge plain", text: object.kind }), h("span", { class: "badge plain", text: object.scope }), ...flags(object.flags)),
    at ? h("p", { class: "callout" }, `This is how it was at ${pointName(at)}. `, link(within(place, { id: place.id }), {}, object.outdated ? "It has changed since" : "It is the same now")) : null,
    object.flags.length > 0 ? h("p", { class: "callout warn" }, glyph("warn"), `The scan flagged this text: ${object.flags.join(", ")}.`) : null,
    object.content_erased ? h("p", { class: "callout", text: "The content was erased." }) : null,
    object.content ? h("div", { class: "content", text: object.content, tabindex: "0", role: "region", "aria-label": "Content" }) : h("p", { class: "muted", text: "The item has no text." }),
    canAct ? h("p", { class: "actions acts" }, ...actions(page, item, { trusts: object.origin !== "direct_user" })) : null,
    object.cut ? h("p", { class: "muted" }, "The text is longer. ", ...(object.key ? [] : ["All of it: ", commandCode(`${command("get", { at })} -- ${quoted(object.id)}`)])) : null,
    h("dl", { class: "facts" },
      ...(writer ? fact("written by", laneLink(place, laneOf(writer)), writer.session && writer.actor ? ` (${writer.actor})` : "", " as ", h("b", { text: wordOf(writer.trust) })) : fact("written by", "a commit that was thinned")),
      ...(writer ? fact("in", commitLink(place, writer.seq), ` ${opName(writer.op)}, `, h("time", { datetime: writer.time, title: moment(writer.time), text: ago(writer.time) })) : []),
      ...(writer?.source ? fact("source", writer.source) : []),
      ...(writer?.reason ? fact("reason", writer.reason) : []),
      ...(object.tainted ? fact("session", "it read untrusted text before, so its words count as untrusted") : []),
      ...fact("created", h("time", { datetime: object.created, title: moment(object.created), text: object.created ? moment(object.created) : "unknown" })),
      ...(object.event_time ? fact("event", moment(object.event_time)) : []),
      ...(object.expires ? fact("expires", moment(object.expires)) : []),
      ...fact("digest", h("code", { title: object.digest, text: short(object.digest) }))),
    attributes.length > 0 ? h("section", {}, h("h3", { text: "Attributes" }), h("dl", { class: "facts" }, ...attributes.flatMap(([name, value]) => fact(name, value)))) : null,
    object.sources.length > 0 ? h("section", {}, h("h3", { text: "Derived from" }), h("ul", { class: "plain-list" }, ...object.sources.map((source) => h("li", {},
      source.id ? [badge(source.class), " ", link(within(place, { id: nameOf(source) }), { class: "id" }, source.id), h("span", { class: "gist", text: source.gist })] : h("span", { class: "muted", text: `a version that history no longer keeps (${short(source.digest)})` }))))) : null,
    object.children.length > 0 ? h("section", {}, h("h3", { text: `${counted(object.children_total, "child", "children")}` }), h("ul", { class: "plain-list" }, ...object.children.map((child) => h("li", {}, badge(child.trust), " ", link(within(place, { id: nameOf(child) }), { class: "id" }, child.id), h("span", { class: "gist", text: child.gist }))))) : null,
    versionsOf(place, page, object, await get("versions", { id, count: 20 })),
  ];
}

function versionsOf(place, page, item, first) {
  const id = nameOf(item);
  const list = h("ol", { class: "versions" });
  const more = h("div", { class: "more" });
  let shown = 0;
  const add = (read) => {
    shown += read.rows.length;
    list.append(...read.rows.map((row) => versionItem(place, page, item, row)));
    const next = async () => {
      try {
        add(await get("versions", { id, start: shown, count: 50 }));
      } catch (error) {
        put(more, failure(error, next));
      }
    };
    put(more, read.more ? h("button", { type: "button", on: { click: next } }, "Older versions") : null);
  };
  add(first);
  return h("section", {}, h("h3", { text: "History" }), list, more);
}

function versionItem(place, page, item, row) {
  const { version } = row;
  const id = nameOf(item);
  const canRestore = page.summary?.writer && version && !row.present && !place.at;
  const what = version ? link(within(place, { id, at: `seq:${row.seq}` }), { class: "gist" }, version.gist || "no text")
    : h("span", { class: "gist muted", text: row.erased ? "erased" : row.lost ? "lost to damage" : "removed" });
  return h("li", { class: row.present ? "present" : "" },
    h("div", { class: "who" },
      version ? badge(version.class) : null,
      row.session || row.actor ? laneLink(place, laneOf(row)) : h("span", { class: "muted", text: row.op ? "default" : "a thinned commit" }),
      h("span", { class: "muted" }, row.op ? `${opName(row.op)} in ` : "", commitLink(place, row.seq)),
      h("time", { datetime: row.time, title: moment(row.time), text: ago(row.time) })),
    what,
    row.class_before ? h("p", { class: "callout small" }, `it counted as ${wordOf(row.class_before)} before, and as ${wordOf(version.class)} since`) : null,
    row.first ? h("p", { class: "muted small", text: "first written here" }) : null,
    row.present ? h("p", { class: "muted small", text: "the present version" }) : null,
    canRestore ? h("button", { type: "button", class: "act", on: { click: () => restore(page, item, `seq:${row.seq}`) } }, glyph("undo"), "Restore this version") : null);
}

async function commitParts(place, page) {
  const read = await get("commits", { around: place.commit, count: 100 });
  const row = read.rows[read.place - read.start];
  if (!row) return [empty("No such commit", "Retention may have thinned it.")];
  const revision = `seq:${row.seq}`;
  await page.ready;
  return [
    h("h2", {}, `Commit ${number(row.seq)} `, h("span", { class: "muted", text: opName(row.op) })),
    h("p", { class: "badges" }, badge(row.trust), laneLink(place, row), countsOf(row)),
    row.snapshots.length > 0 ? h("p", { class: "badges" }, ...row.snapshots.map((name) => h("span", { class: "badge tag" }, glyph("pin"), name))) : null,
    h("dl", { class: "facts" },
      ...fact("time", h("time", { datetime: row.time, text: moment(row.time) }), ` (${ago(row.time)})`),
      ...(row.actor ? fact("actor", row.actor) : []),
      ...(row.target_seq !== null ? fact(goesBack(row.op) ? "goes back to" : "target", commitLink(place, row.target_seq)) : []),
      ...(row.reason ? fact("reason", row.reason) : row.reason_erased ? fact("reason", "erased") : []),
      ...(row.source ? fact("source", row.source) : row.source_erased ? fact("source", "erased") : []),
      ...fact("digest", h("code", { title: row.commit, text: short(row.commit) }))),
    h("p", { class: "actions" },
      place.view === "timeline" ? null : link({ view: "timeline", commit: revision }, { class: "button" }, "Show in the timeline"),
      link({ view: "compare", from: revision }, { class: "button" }, "Compare with now")),
    offer(page, { commit: revision, text: `commit ${number(row.seq)}`, rollback: revision }),
    h("h3", { text: "What it changed" }),
    changeCards({ commit: revision }, within(place, {})),
  ];
}

async function sessionParts(place, page) {
  const { rows: [row] } = await get("sessions", { lane: place.lane });
  const lane = laneKey(row);
  await page.ready;
  // A session of which nothing is left may still have removed some.
  const left = row.alive > 0 || await isLeft(page, { lane });
  return [
    h("h2", {}, ...laneName(row.lane, row.lane_key)),
    h("p", { class: "badges" }, badge(row.trust), row.tainted ? h("span", { class: "badge untrusted", title: "What it wrote after that counts as untrusted" }, "read untrusted text") : null, countsOfSession(row)),
    signs(row),
    h("dl", { class: "facts" },
      ...fact("commits", number(row.commits)),
      ...fact("from", h("time", { datetime: row.first, text: moment(row.first) })),
      ...fact("to", h("time", { datetime: row.last, text: moment(row.last) })),
      ...(row.actors.length > 0 ? fact("actors", row.actors.join(", ")) : []),
      ...fact("wrote", counted(row.written, "version"), row.written_untrusted > 0 ? `, ${number(row.written_untrusted)} untrusted` : "", row.written_flagged > 0 ? `, ${number(row.written_flagged)} flagged` : ""),
      ...fact("still there", counted(row.alive, "item"), row.alive_untrusted > 0 ? `, ${number(row.alive_untrusted)} untrusted` : "")),
    h("p", { class: "actions" },
      link({ view: "timeline", of: lane }, { class: "button" }, "Its commits"),
      row.alive > 0 ? link({ view: "objects", lane }, { class: "button" }, "Its items") : null),
    offer(page, { lane, text: `session ${row.lane}`, left }),
    h("h3", { text: "Everything it changed" }),
    changeCards({ lane }, within(place, {})),
  ];
}

function countsOfSession(row) {
  return h("span", { class: "muted", text: counted(row.changes, "change") });
}

// Returns what a person should look at, in words.
export function signs(row) {
  const [documents, untrusted] = [row.alive_documents, row.alive_untrusted - row.alive_documents];
  const found = [
    row.replaced_others > 0 ? `replaced ${counted(row.replaced_others, "version")} of others` : null,
    row.alive_flagged > 0 ? counted(row.alive_flagged, "suspicious text") : null,
    untrusted > 0 ? counted(untrusted, "untrusted text") : null,
    documents > 0 ? `${counted(documents, "part")} of documents` : null,
  ].filter(Boolean);
  if (found.length === 0) return null;
  // Nothing is left of a session that removed nothing and of which nothing is alive.
  const isGone = row.alive === 0 && row.changes === row.written;
  return h("p", { class: "signs" }, ...found.map((text) => h("span", { class: isGone ? "badge sign gone" : "badge sign" }, isGone ? null : glyph("warn"), text)));
}
