// Requests to the server of this page. The token goes into a header, and is in no address: the printed address has a ticket,
// which the server exchanges for the token once. So the history of the browser keeps nothing that opens the page.

const KEY = "treering-token";

// How long another tab may take to hand on its token.
const TAB_MS = 300;

// The fork that this tab shows; null for the line that the server serves.
const FORK = "treering-fork";
export const shownFork = () => sessionStorage.getItem(FORK);

// Shows a fork, or the line that the server serves. The page begins anew, because all that it shows is of one line.
export function showFork(name) {
  if (name) sessionStorage.setItem(FORK, name);
  else sessionStorage.removeItem(FORK);
  location.reload();
}

const token = () => sessionStorage.getItem(KEY);
// A tab that has the page hands the token to a new tab of the same browser, so a bookmark opens, too.
const tabs = new BroadcastChannel(KEY);
tabs.addEventListener("message", ({ data }) => { if (data === "ask" && token()) tabs.postMessage({ token: token() }); });

// Gets the token of this tab, and returns why it has none: `null` if it has one.
export async function takeToken() {
  const ticket = /^#ticket=([0-9A-Za-z_-]+)$/.exec(location.hash)?.[1];
  let why = {};
  if (ticket) {
    history.replaceState(null, "", location.pathname);
    try {
      const found = await post("open", {}, ticket);
      sessionStorage.setItem(KEY, found.token);
    } catch (error) {
      why = error;
    }
  }
  if (!token()) await askTabs();
  return token() ? null : why;
}

// Forgets a token that the server does not accept.
export function dropToken() { sessionStorage.removeItem(KEY); }

function askTabs() {
  return new Promise((resume) => {
    const end = () => {
      tabs.removeEventListener("message", hear);
      resume();
    };
    // Another new tab may ask meanwhile, so only a token ends the wait.
    const hear = ({ data }) => {
      if (!data.token) return;
      sessionStorage.setItem(KEY, data.token);
      end();
    };
    tabs.addEventListener("message", hear);
    tabs.postMessage("ask");
    setTimeout(end, TAB_MS);
  });
}

// An answer with an error status, in words.
export class Refused extends Error {
  constructor(status, { code = "failed", message = "the server answered with an error", hint = null, ids = [] }) {
    super(message);
    Object.assign(this, { status, code, hint, ids });
  }
}

async function send(path, options = {}) {
  const headers = { Authorization: `Bearer ${token() ?? ""}`, ...options.headers };
  try {
    return await fetch(`/ui/${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "offline", message: "The server does not answer.", hint: "Start the server again, and open the address that it prints." });
  }
}

async function read(response) {
  const document = await response.json().catch(() => ({}));
  if (response.status === 401) throw new Refused(401, { code: "unauthorized", message: "This tab belongs to a server that ended.", hint: "Open the newest address that treering serve --ui printed." });
  if (!response.ok) throw new Refused(response.status, document.error ?? {});
  return document;
}

// Reads something. Parameters that are undefined or empty are left out.
export async function get(path, params = {}, signal) {
  const kept = Object.entries({ ...params, fork: shownFork() }).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return read(await send(`${path}${query ? `?${query}` : ""}`, { signal }));
}

// Previews or makes a change, or exchanges a ticket.
export async function post(path, document, ticket) {
  const headers = { "Content-Type": "application/json", ...(ticket ? { Authorization: `Bearer ${ticket}` } : {}) };
  const fork = shownFork() && !ticket ? `?${new URLSearchParams({ fork: shownFork() })}` : "";
  return read(await send(`${path}${fork}`, { method: "POST", headers, body: JSON.stringify(document) }));
}

// Calls `heard(name, data)` for each event of the server, and `changed(isLive)` when the connection opens or ends. Returns
// when the server does not accept the token.
export async function follow(heard, changed) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
    try {
      const response = await send("events");
      if (!response.ok) throw new Refused(response.status, {});
      changed(true);
      pause = 500;
      await readEvents(response.body, heard);
    } catch (error) {
      if (error.status === 401) return changed(false);
    }
    changed(false);
    await new Promise((resume) => { setTimeout(resume, pause); });
  }
}

async function readEvents(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const name = /^event: (.*)$/m.exec(event);
      const data = /^data: (.*)$/m.exec(event);
      if (name && data) heard(name[1], JSON.parse(data[1]));
    }
  }
}
