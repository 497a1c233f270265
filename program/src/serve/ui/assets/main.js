// The page: its places, its head, and its keys. A place is the fragment of the address: #/view?parameters.

import { dropToken, follow, get, showFork, shownFork, takeToken } from "./api.js";
import { CompareView } from "./changes.js";
import { closeDialogs } from "./dialog.js";
import { empty, failure, glyph, h, hashOf, link, put } from "./dom.js";
import { ago, counted, moment, number, opName, rememberStore } from "./format.js";
import { InboxView, readInbox, waitingOf } from "./inbox.js";
import { showPanel } from "./object.js";
import { ObjectsView } from "./objects.js";
import { SearchView } from "./search.js";
import { SessionsView } from "./sessions.js";
import { TimelineView } from "./timeline.js";
import { overview, writerIn } from "./trust.js";

const VIEWS = { inbox: InboxView, objects: ObjectsView, sessions: SessionsView, timeline: TimelineView, compare: CompareView, search: SearchView };
const TITLES = { inbox: "Inbox", objects: "Memory", sessions: "Sessions", timeline: "Timeline", compare: "Compare", search: "Search" };
const PANELS = ["id", "commit", "lane", "at"];
const at = (id) => document.getElementById(id);

const page = {
  summary: null,
  place: { view: "inbox" },

  // Goes to a place.
  go(place) { location.hash = hashOf(place); },

  // Opens details beside the view.
  open(details) {
    const { view, prefix, only, q, from, to, order, of, lane } = page.place;
    const kept = view === "objects" ? { lane } : {};
    page.go({ view, prefix, only, q, from, to, order, of, ...kept, ...details });
  },

  close() {
    const place = Object.fromEntries(Object.entries(page.place).filter(([name]) => !PANELS.includes(name) || (name === "lane" && page.place.view === "objects")));
    page.go(place);
    page.shown?.focus();
  },

  // Shows how many things wait.
  showWaiting(count) {
    at("waiting").hidden = count === 0;
    put(at("waiting"), number(count), h("span", { class: "hidden", text: " waiting" }));
  },

  // Reads again what the page shows. The details stay as they are, unless the person changed something.
  async refresh(withPanel = false) {
    const panel = withPanel ? showPanel(at("panel"), page.place, page) : null;
    await Promise.all([showSummary(), page.shown?.refresh(), page.place.view === "inbox" ? null : countWaiting(), panel]);
  },
};

function readPlace() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { ...Object.fromEntries(new URLSearchParams(query ?? "")), view: Object.hasOwn(VIEWS, view) ? view : "inbox" };
}

// The inbox counts by itself what waits.
const countWaiting = () => readInbox(20).then((inbox) => page.showWaiting(waitingOf(inbox))).catch(() => {});

async function showPlace() {
  const place = readPlace();
  closeDialogs();
  if (page.place.view !== place.view || !page.shown) {
    page.shown?.stop();
    page.shown = new VIEWS[place.view](page);
    put(at("main"), page.shown.element);
  }
  page.place = place;
  document.title = `${TITLES[place.view]} - Treering`;
  for (const tab of at("tabs").children) {
    if (tab.dataset.view === place.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  at("query").value = place.view === "search" ? place.q ?? "" : "";
  await Promise.all([page.shown.show(place), showPanel(at("panel"), place, page)]).catch((error) => put(at("main"), failure(error, showPlace)));
}

async function showSummary() {
  let summary;
  try {
    summary = await get("summary");
  } catch (error) {
    if (error.status === 401) return showLocked();
    if (error.code === "no_fork" && shownFork()) return showFork(null);
    return put(at("head"), h("p", { class: "muted", text: error.message }));
  }
  page.summary = summary;
  rememberStore(summary.store);
  const { head } = summary;
  const seq = `seq:${head.seq}`;
  at("store").textContent = summary.store?.split("/").slice(-2).join("/") ?? "in memory";
  at("store").title = summary.store ?? "";
  put(at("head"),
    h("p", { class: "big" }, h("strong", { text: number(summary.objects) }), summary.objects === 1 ? " item" : " items"),
    h("p", {}, link({ view: "timeline", commit: seq }, {}, `commit ${number(head.seq)}`), ` ${opName(head.op)} `, h("time", { datetime: head.time, title: moment(head.time), text: ago(head.time) })),
    h("p", { class: "muted", text: `${counted(summary.commits, "commit")}, ${counted(summary.snapshots, "snapshot")}` }),
    ...forkChoice(summary),
    ...summary.warnings.map((warning) => h("p", { class: "callout warn", text: warning })));
  put(at("trusts"), ...overview(summary.work, summary.objects, (only, text) => link({ view: "objects", only }, { class: "look" }, text)));
  put(at("mode"), summary.writer ? h("span", { class: "badge writes" }, `writes as ${writerIn(summary.writer)}`) : "read-only");
  if (!summary.work) setTimeout(showSummary, 700);
  return undefined;
}

// Lets the person choose the line that the page shows, and compare a fork with the present state.
function forkChoice({ fork, served, forks }) {
  const others = forks.filter(({ name }) => name !== served);
  if (!others.length) return [];
  const option = (value, text) => h("option", { value, text, selected: (shownFork() ?? "") === value });
  const select = h("select", { id: "fork", "aria-label": "Fork" }, option("", served ?? "main line"),
    ...others.map(({ name, commits }) => option(name, `${name}: ${counted(commits, "commit")}`)));
  select.addEventListener("change", () => showFork(select.value));
  const links = fork ? [] : forks.filter(({ commits }) => commits > 0).slice(0, 5);
  return [h("p", { class: "forks" }, select), ...links.map(({ name }) => h("p", {}, link({ view: "compare", from: "@", to: `fork:${name}` }, {}, `what ${name} changes`)))];
}

// Says how to open the page. `why` is the answer to the ticket of the address, if it had one.
function showLocked(why = {}) {
  dropToken();
  put(at("main"), empty(why.message ?? "This tab cannot read the memory", why.hint ?? "Open the newest address that treering serve --ui printed. It opens the page once; then the next address is printed."));
  document.body.classList.add("locked");
  showLive(false);
  at("stale").hidden = true;
}

function showLive(isLive) {
  at("live").className = isLive ? "live on" : "live off";
  at("live").querySelector(".word").textContent = isLive ? "Live" : "Not connected";
  const wasStale = !at("stale").hidden;
  at("stale").hidden = isLive;
  if (!isLive && !wasStale) at("stale").textContent = `Not connected since ${new Date().toLocaleTimeString()}: what you see may be out of date.`;
  if (isLive && wasStale) page.refresh(true);
}

// A head that moved shows at once; a burst of commits shows once in a while.
function moved(name) {
  if (name !== "head" || page.moving) return;
  page.moving = setTimeout(async () => {
    page.moving = null;
    at("live").classList.add("beat");
    setTimeout(() => at("live").classList.remove("beat"), 600);
    await page.refresh();
  }, 150);
}

const THEMES = { auto: "system", light: "light", dark: "dark" };

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  put(at("theme"), h("span", { class: "prefix", text: "Theme: " }), THEMES[theme]);
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  localStorage.setItem("treering-theme", next);
  showTheme(next);
}

function keys(event) {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    at("query").focus();
    at("query").select();
    event.preventDefault();
  } else if (event.key === "Escape" && !event.target.closest("dialog")) {
    if (event.target === at("query")) page.shown?.focus();
    else if (!at("panel").hidden) page.close();
  }
}

async function start() {
  for (const place of document.querySelectorAll("[data-glyph]")) place.append(glyph(place.dataset.glyph));
  const theme = localStorage.getItem("treering-theme") ?? "";
  showTheme(Object.hasOwn(THEMES, theme) ? theme : "auto");
  at("theme").addEventListener("click", nextTheme);
  at("find").addEventListener("submit", (event) => {
    event.preventDefault();
    page.go({ view: "search", q: at("query").value.trim() });
  });
  at("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") page.shown?.focus();
  });
  at("skip").addEventListener("click", (event) => {
    event.preventDefault();
    page.shown?.focus();
  });
  document.addEventListener("keydown", keys);
  const locked = await takeToken();
  addEventListener("hashchange", async () => {
    // A printed address, opened in a tab that has the page: it begins anew.
    if (!location.hash.startsWith("#ticket=")) return showPlace();
    const why = await takeToken();
    return why ? showLocked(why) : location.reload();
  });
  if (locked) return showLocked(locked);
  page.ready = showSummary();
  showPlace();
  if (page.place.view !== "inbox") countWaiting();
  let seen = null;
  follow((name, data) => {
    const now = `${data.root}${data.seq}${shownFork() ? data.forks : ""}`;
    const isNews = seen !== null && seen !== now;
    seen = now;
    if (isNews) moved(name);
  }, showLive).then(() => showLocked());
  // Ages grow while nothing happens.
  setInterval(showSummary, 60_000);
  return undefined;
}

start();
