// Elements of the page. Text goes in as text alone, so no stored text can become an element.

import { laneText } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

// Makes an element. `props`: class, text, on (events), data, and attributes by name. A child is an element or a text.
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

// Makes an element of a picture.
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name === "text") element.textContent = value;
    else if (name === "on") Object.entries(value).forEach(([event, run]) => element.addEventListener(event, run));
    else if (name === "data") Object.entries(value).forEach(([key, text]) => { element.dataset[key] = text; });
    else if (isPlain(name)) element.setAttribute(name, value === true ? "" : value);
    else throw new Error(`the attribute ${name} is not allowed`);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// An attribute that runs or loads nothing. A link is made by `link` alone.
function isPlain(name) {
  return !/^(on|style$|src|href$|action|formaction|srcdoc)/i.test(name);
}

// Makes a link to a place of this page.
export function link(place, props = {}, ...children) {
  const element = h("a", props, ...children);
  element.setAttribute("href", hashOf(place));
  return element;
}

// Returns the fragment of a place: { view, ...parameters }. The stroke says that it names no element of the page.
export function hashOf({ view, ...params }) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

// Empties an element and puts children into it.
export function put(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const GLYPHS = {
  inbox: ["M4 13l3-8h10l3 8v6H4z", "M4 13h5l1 3h4l1-3h5"],
  check: ["M5 12.5l4.5 4.5L19 7.5"],
  edit: ["M5 19l1-4L16 5l3 3L9 18z"],
  forget: ["M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13"],
  objects: ["M4 6h16M4 12h10M4 18h13"],
  sessions: ["M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.3 2.7-6 6-6s6 2.7 6 6", "M16 5.2a3.5 3.5 0 0 1 0 6.6M17.5 14.6c2.1.8 3.5 2.8 3.5 5.4"],
  timeline: ["M6 4v16", "M6 7h.01M6 12h.01M6 17h.01", "M11 7h9M11 12h6M11 17h8"],
  compare: ["M8 4v16M16 4v16", "M4 8l4-4 4 4", "M12 16l4 4 4-4"],
  search: ["M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14z", "M20 20l-4-4"],
  close: ["M6 6l12 12M18 6L6 18"],
  back: ["M15 5l-7 7 7 7"],
  right: ["M9 5l7 7-7 7"],
  undo: ["M8 5L4 9l4 4", "M4 9h10a6 6 0 0 1 0 12h-3"],
  warn: ["M12 4l9 16H3z", "M12 10v4M12 17h.01"],
  pin: ["M6 4h12v16l-6-4-6 4z"],
  folder: ["M3 6h6l2 2h10v11H3z"],
};

// Returns a small picture.
export function glyph(name, props = {}) {
  const lines = GLYPHS[name].map((d) => svg("path", { d }));
  return svg("svg", { viewBox: "0 0 24 24", class: `icon ${props.class ?? ""}`.trim(), "aria-hidden": "true", focusable: "false" }, ...lines);
}

// Shows a command. No line ends inside the name of an option.
export function commandCode(text) {
  return h("code", {}, ...text.split(/(--[a-z]+=?)/).map((part, at) => (at % 2 === 1 ? h("span", { class: "option", text: part }) : part)));
}

// Returns a state without content: what is missing, and what to do.
export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "title", text: title }), h("p", { text }), ...more);
}

// Returns bars where a text will be.
export function skeleton(lines = 4) {
  const bars = Array.from({ length: lines }, (_, at) => h("span", { class: `bar w${(at * 37) % 4}` }));
  return h("div", { class: "skeleton", role: "status", "aria-label": "Loading" }, ...bars);
}

// Shows an error in words, with the next step.
export function failure(error, again, label = "Try again") {
  return h("div", { class: "empty failed", role: "alert" },
    h("p", { class: "title", text: error.message ?? "Something failed" }),
    error.hint ? h("p", { text: error.hint }) : null,
    again ? h("button", { type: "button", on: { click: again } }, label) : null);
}

// Shows a sentence until a person had the time to read it.
export function toast(kind, ...parts) {
  const element = h("p", { class: `toast ${kind}` }, ...parts);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), 4000 + 120 * element.textContent.length);
}

// Returns the name of a lane. If it may look like another name, its number stands before it.
export function laneName(name, key) {
  return [key ? h("span", { class: "lane-number", title: "Another name may look like this one. The number belongs to this name alone." }, laneText(key)) : null, name];
}
