// Requests to the server of this page. The token goes into a header, and never into an address.

const KEY = "treering-token";

// Takes the token out of the address, so that it is in no history and no bookmark.
export function takeToken() {
  const found = /^#token=([0-9A-Za-z_-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) !== null;
}

// An answer with an error status, in words.
export class Refused extends Error {
  constructor(status, { code = "failed", message = "the server answered with an error", hint = null, ids = [] }) {
    super(message);
    Object.assign(this, { status, code, hint, ids });
  }
}

async function send(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, ...options.headers };
  try {
    return await fetch(`/ui/${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "offline", message: "The server does not answer.", hint: "Start treering serve --ui again, and open the address that it prints." });
  }
}

async function read(response) {
  const document = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, document.error ?? {});
  return document;
}

// Reads something. Parameters that are undefined or empty are left out.
export async function get(path, params = {}, signal) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return read(await send(`${path}${query ? `?${query}` : ""}`, { signal }));
}

// Previews or makes a change.
export async function post(path, document) {
  return read(await send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) }));
}

// Calls `heard(name, data)` for each event of the server, and `changed(isLive)` when the connection opens or ends.
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
