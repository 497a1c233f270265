// Numbers, times and names for people.

const NUMBERS = new Intl.NumberFormat("en");
const MOMENT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const UNITS = [["y", 31536000], ["mo", 2592000], ["d", 86400], ["h", 3600], ["min", 60]];

export const number = (value) => NUMBERS.format(value);

// "1 object", "2 objects"
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

// "3 min ago"
export function ago(time) {
  if (!time) return "";
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (seconds < 45) return seconds < -60 ? "in the future" : "now";
  const unit = UNITS.find(([, length]) => seconds >= length) ?? ["min", 60];
  return `${Math.max(1, Math.floor(seconds / unit[1]))} ${unit[0]} ago`;
}

// The whole time.
export const moment = (time) => (time ? MOMENT.format(new Date(time)) : "");

// "seq:7" as people say it.
export const pointName = (revision) => plain(revision ?? "").replace(/^seq:/, "commit ");

export const short = (digest) => (digest ?? "").slice(0, 8);

// "+3 ~1 -0" as parts with their meaning.
export function counts({ added = 0, changed = 0, removed = 0 }) {
  return [["added", "+", added], ["changed", "~", changed], ["removed", "−", removed]].filter(([, , count]) => count > 0);
}

// Escapes the invisible characters of a text of the address. The server escapes every text of its answers.
export function plain(text = "") {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

// Returns the name under which the server finds an object: its id, or a stand-in if the id cannot be shown.
export const nameOf = (row) => row.key ?? row.id;

// Returns the name under which the server finds a lane.
export const laneKey = (row) => row.lane_key ?? row.lane;

// Returns the lane of the writer of a commit as a row.
export function laneOf(line) {
  if (line.session) return { lane: line.session, lane_key: line.session_key };
  return { lane: line.actor ?? "default", lane_key: line.actor_key };
}

// Returns a short number for the key of a lane, or its name.
export const laneText = (key) => (key?.startsWith("~") ? `#${key.slice(1, 17)}` : plain(key));

let store = null;

// Remembers the store of this page, for its commands.
export function rememberStore(folder) { store = folder; }

// Quotes a text for a shell.
export const quoted = (text) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// Returns a command of the program that finds the store from any folder. An option without a value is left out.
export function command(words, options = {}) {
  const given = Object.entries({ ...options, store }).filter(([, value]) => value);
  return [`treering ${words}`, ...given.map(([name, value]) => `--${name}=${quoted(value)}`)].join(" ");
}

const OPS = { put: "stored", remember: "remembered", note: "noted", ingest: "read files", remove: "removed", learn: "learned", prompt: "asked", session: "conversation", promote: "trusted", release: "released", decay: "shortened", expire: "set an end", unforget: "restored", import: "imported", guard: "checked change", init: "created", rollback: "rolled back", undo: "undone", redo: "redone", revert: "taken back", restore: "restored", erase: "erased", forget: "forgotten" };

export const opName = (op) => OPS[op] ?? op;

// Whether a commit goes back to what was before.
export const goesBack = (op) => ["rollback", "undo", "redo", "revert", "restore"].includes(op);
