// Trust: each class has a shape, a word and a colour, so that no class depends on its colour alone.

import { h, svg } from "./dom.js";
import { counted, number } from "./format.js";

// Filled shapes are trusted, outlines are not.
const CLASSES = {
  direct_user: { word: "person", shape: () => svg("circle", { cx: 8, cy: 8, r: 5.5 }) },
  host: { word: "host", shape: () => svg("path", { d: "M8 1.8L14.2 8 8 14.2 1.8 8z" }) },
  model: { word: "model", shape: () => svg("rect", { x: 2.8, y: 2.8, width: 10.4, height: 10.4, rx: 2 }) },
  tool_internal: { word: "internal tool", shape: () => svg("path", { d: "M5 2h6l3 6-3 6H5L2 8z" }) },
  tool_external: { word: "external tool", shape: () => svg("path", { d: "M8 2.5l6 11H2z" }) },
  document: { word: "document", shape: () => svg("path", { d: "M4 2h5l3 3v9H4zM9 2v3h3" }) },
  import: { word: "import", shape: () => svg("path", { d: "M2.5 6V2.5h11V6M8 5v8M4.8 10L8 13.2 11.2 10" }) },
};
const TRUSTED = ["direct_user", "host", "model", "tool_internal"];

export const isTrusted = (trust) => TRUSTED.includes(trust);
export const wordOf = (trust) => CLASSES[trust]?.word ?? "unknown";

// Returns the writer of the page in words: "a person", or "eve, a person".
export function writerIn({ actor, trust }) {
  const word = wordOf(trust);
  return `${actor ? `${actor}, ` : ""}${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;
}

function shape(trust) {
  const made = CLASSES[trust]?.shape() ?? svg("path", { d: "M4 8h8" });
  return svg("svg", { viewBox: "0 0 16 16", class: "shape", "aria-hidden": "true", focusable: "false" }, made);
}

// Returns the class of a text: a shape and a word. `trust` is null if the object was erased.
export function badge(trust, { bare = false } = {}) {
  if (!trust) return h("span", { class: "badge erased" }, shape(null), "erased");
  const trusted = isTrusted(trust);
  const word = [bare || trusted ? null : h("span", { class: "prefix", text: "untrusted: " }), wordOf(trust)];
  return h("span", { class: `badge ${trust} ${trusted ? "trusted" : "untrusted"}`, title: trusted ? "Agents read this text" : "Agents do not read this text until a person trusts it" }, shape(trust), h("span", {}, ...word));
}

// How many flags a row names. A writer may set any number of them, of any length.
const FLAGS_SHOWN = 2;

// Returns the flags of the scan, if there are any: the first ones, and the number of the others.
export function flags(list) {
  const all = list ?? [];
  const shown = all.slice(0, FLAGS_SHOWN).map((flag) => h("span", { class: "badge flag", title: "The scan matched this rule" },
    svg("svg", { viewBox: "0 0 16 16", class: "shape", "aria-hidden": "true" }, svg("path", { d: "M4 14V2.5h8L10 5.5l2 3H4" })), h("span", { class: "word", text: flag })));
  if (all.length > shown.length) shown.push(h("span", { class: "badge flag", text: `+${all.length - shown.length}` }));
  return shown;
}

// Returns the numbers of items by class, as a bar and a list of words.
export function overview(work, objects, linkOf) {
  if (!work) return [h("h2", { text: "Who said it" }), h("p", { class: "muted", text: "Reading the history" })];
  const total = Math.max(1, objects);
  const bar = svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "share", "aria-hidden": "true" });
  let at = 0;
  for (const { trust, objects: count } of work.classes) {
    const width = (100 * count) / total;
    bar.append(svg("rect", { x: at, y: 0, width: Math.max(width - 0.6, 0.8), height: 6, class: trust }));
    at += width;
  }
  const rows = work.classes.map(({ trust, objects: count }) =>
    h("li", {}, badge(trust, { bare: true }), h("span", { class: "count", text: number(count) })));
  const links = [
    work.untrusted > 0 ? linkOf("untrusted", counted(work.untrusted, "untrusted item")) : null,
    work.flagged > 0 ? linkOf("flagged", counted(work.flagged, "flagged item")) : null,
  ];
  return [h("h2", { text: "Who said it" }), bar, h("ul", { class: "classes" }, ...rows), ...links];
}
