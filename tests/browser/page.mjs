// Tries the page as a person would; see page.sh. Prints what it measured, and fails if the page does not hold a promise.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import puppeteer from "puppeteer-core";
import { daily, empty, hostile, large, poisoned } from "./page_stores.mjs";
import { TEXTS } from "./page_texts.mjs";

const [, , program, work, ...wanted] = process.argv;
const PARTS = ["decide", "find", "hostile", "large", "axe", "shots"];
const SIZES = [[1280, 800], [390, 844]];
const THEMES = ["light", "dark"];
const FIRST_PAINT_MS = 300;
const TASK_MS = 50;
const FIND_SECONDS = 60;

const browser = await puppeteer.launch({ executablePath: process.env.BROWSER, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const wait = (ms) => new Promise((resume) => { setTimeout(resume, ms); });
let failures = 0;

function check(holds, text) {
  console.log(`${holds ? "ok" : "FAILED"}: ${text}`);
  if (!holds) failures += 1;
}

// Opens a page, and collects what must not happen: other hosts, reports of the policy, errors, dialogs.
async function open(address, { size = SIZES[0], theme = "light" } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const bad = [];
  const { origin } = new URL(address);
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("data:")) bad.push(`request to ${request.url()}`);
    // A browser does not send the fragment.
    if (/token/.test(request.url().split("#")[0])) bad.push(`a token in ${request.url()}`);
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text()) || message.type() === "error") bad.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => bad.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { bad.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.evaluateOnNewDocument(() => {
    window.reports = [];
    addEventListener("securitypolicyviolation", (event) => window.reports.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.setViewport({ width: size[0], height: size[1], hasTouch: size[0] < 500 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(address, { waitUntil: "load" });
  return { page, bad, close: () => context.close() };
}

// Goes to a place by its address, and waits until nothing is loaded any more.
async function go(page, hash) {
  await page.evaluate((place) => { location.hash = `#/${place}`; }, hash);
  await settled(page);
}

async function settled(page) {
  await wait(150);
  await page.waitForFunction(() => !document.querySelector(".skeleton, .row.waiting, [aria-busy]"), { timeout: 20_000 });
  await wait(50);
}

// Returns what the screen shows: the text of each element in sight that matches, and where its middle is.
function inSight(page, selector) {
  return page.evaluate((wanted_) => [...document.querySelectorAll(wanted_)].map((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + Math.min(height / 2, 20)];
    const hit = document.elementFromPoint(x, y);
    return { text: element.innerText, x, y, seen: width > 0 && height > 0 && Boolean(hit) && (element.contains(hit) || hit.contains(element)) };
  }).filter((one) => one.seen), selector);
}

// Returns the boxes whose content is wider than they are, so that a person would have to scroll sideways.
function tooWide(page) {
  return page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".panel-body")]
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => `${box.className || "the page"} is ${box.scrollWidth - box.clientWidth} px too wide at ${innerWidth}`));
}

async function click(page, selector, matches) {
  const found = (await inSight(page, selector)).find((one) => matches(one.text));
  if (!found) throw new Error(`nothing in sight matches ${selector}`);
  await page.mouse.click(found.x, found.y);
  await settled(page);
  return found.text;
}

// Finds the session that made 12 of 300 facts false, with the mouse alone, by what the screen shows.
async function find() {
  const { store, guilty } = poisoned(program, work);
  const server = store.serve();
  const { page, bad, close } = await open(await server.address());
  const begun = Date.now();
  await settled(page);
  await click(page, "a, button", (text) => text.trim() === "Sessions");
  await click(page, "a", (text) => text.trim() === "To check first");
  // The row that says that it replaced the most of what others wrote.
  const replaced = (text) => Number(/replaced (\d+) versions? of others/.exec(text)?.[1] ?? 0);
  const rows = await inSight(page, ".row");
  const most = Math.max(...rows.map((row) => replaced(row.text)));
  check(most === 12 && rows.findIndex((row) => replaced(row.text) === most) === 0, `the first session in sight replaced ${most} versions of others`);
  await click(page, ".row", (text) => replaced(text) === most);
  const name = (await inSight(page, "aside h2"))[0]?.text;
  // Read every difference by scrolling with the wheel.
  const seen = new Set();
  const [middle] = await inSight(page, "aside .panel-body");
  await page.mouse.move(middle.x, 400);
  for (let step = 0; step < 80; step += 1) {
    for (const { text } of await inSight(page, "aside article.change")) if (/^~?\s*changed/.test(text)) seen.add(text.split("\n").find((line) => line.startsWith("facts/")));
    await page.mouse.wheel({ deltaY: 300 });
    await wait(30);
  }
  const seconds = (Date.now() - begun) / 1000;
  check(name === guilty, `the screen names the session ${name}`);
  check(seen.size === 12, `the screen shows ${seen.size} changed facts of it`);
  check(seconds < FIND_SECONDS, `found in ${seconds.toFixed(1)} s with the mouse alone`);
  await page.screenshot({ path: join(work, "find.png") });
  check(bad.length === 0, `nothing else happened ${bad.join("; ")}`);
  await close();
  await openAgain(server);
  server.end();
  await takeBack(store, guilty);
  await beginEmpty();
}

// Opens the page without a ticket, with a used one, in a new tab beside an open one, and after a reload.
async function openAgain(server) {
  const address = await server.address();
  const [bare, fragment] = address.split("#");
  const { page, close } = await open(bare);
  const isOpen = (tab) => tab.evaluate(() => !document.body.classList.contains("locked") && document.getElementById("live").classList.contains("on") && document.querySelectorAll(".row, .note").length > 0);
  await wait(600);
  const says = async (text) => (await inSight(page, "main .empty")).some((one) => one.text.includes(text));
  check(await says("newest address"), "without a ticket the page says which address opens it");
  await page.evaluate((hash) => { location.hash = hash; }, fragment);
  await wait(1000);
  await settled(page);
  check(await isOpen(page), "a printed address opens it in the same tab");
  const kept = await page.evaluate(() => [location.href, sessionStorage.getItem("treering-token")]);
  check(!/ticket|token/.test(kept[0]) && !address.includes(kept[1]), "neither the address of the tab nor the printed one has the token");
  await page.reload();
  await settled(page);
  check(await isOpen(page), "a reload keeps it open");
  const beside = await page.browserContext().newPage();
  await beside.goto(`${bare}#/timeline`);
  await wait(600);
  await settled(beside);
  check(await isOpen(beside), "a bookmark opens beside an open tab");
  await close();
  const again = await open(address);
  await wait(800);
  check((await inSight(again.page, "main .empty")).some((one) => one.text.includes("used before") && one.text.includes("newest address")), "a used address says what to do");
  await again.close();
}

const times = (text, part) => text.split(part).length - 1;

// Takes the session back with the mouse alone, after the preview, and undoes that for the next run.
async function takeBack(store, guilty) {
  const server = store.serve(["--write"]);
  const { page, close } = await open(await server.address());
  await settled(page);
  await click(page, "a", (text) => text.trim() === "Sessions");
  await click(page, "a", (text) => text.trim() === "To check first");
  await click(page, ".row", (text) => text.includes(guilty));
  await click(page, "aside button", (text) => text.startsWith("Take back"));
  const preview = (await inSight(page, "dialog"))[0].text;
  check(/12 changed/.test(preview) && /8 removed/.test(preview), "the preview says what will change");
  check(times(preview, "will be set back to an earlier version") === 12 && times(preview, "will be removed") === 8 && !/taken back/.test(preview), "the preview says of each object what will happen to it");
  check(/treering undo/.test(preview) && /a person/.test(preview), "the preview names the writer and the way back");
  store.put([{ id: "notes/meanwhile", kind: "note", content: `Somebody else at ${Date.now()}.` }], ["--session", "meanwhile"]);
  await click(page, "dialog button[type=submit]", () => true);
  const refused = (await inSight(page, "dialog"))[0].text;
  check(/nothing was changed/.test(refused), "a preview that is out of date changes nothing, and says so");
  await click(page, "dialog button", (text) => text === "Show the new preview");
  const active = () => page.evaluate(() => document.querySelector(".row.active strong")?.innerText);
  check(await active() === guilty, "the cursor is at the session");
  await click(page, "dialog button[type=submit]", () => true);
  await wait(800);
  await settled(page);
  const wayBack = (await inSight(page, ".toast code"))[0]?.text ?? "no command";
  const row = (await inSight(page, ".row")).find((one) => one.text.includes(guilty));
  check(!row || /nothing is left/.test(row.text), "after the confirmation nothing of the session is alive");
  check([guilty, undefined].includes(await active()), "the cursor is at no other session");
  const button = await page.evaluate(() => [...document.querySelectorAll("aside button.danger")].map((one) => one.disabled));
  check(button.length === 1 && button[0] && (await inSight(page, "aside")).some(({ text }) => text.includes("Nothing of it is left")), "the session offers nothing to take back");
  store.run(["remove", "notes/meanwhile", "--session", "cleanup"]);
  await go(page, "sessions?lane=cleanup");
  await click(page, "aside button", (text) => text.startsWith("Take back"));
  check(times((await inSight(page, "dialog"))[0].text, "will be added back") === 1, "the preview says that a removed object will be added back");
  await click(page, "dialog button", (text) => text === "Cancel");
  // The server dies in a revert.
  await go(page, "sessions?lane=day-1");
  await click(page, "aside button", (text) => text.startsWith("Take back"));
  server.kill();
  await wait(300);
  await click(page, "dialog button[type=submit]", () => true);
  const unknown = (await inSight(page, "dialog"))[0].text;
  check(/unknown whether/.test(unknown) && /timeline/.test(unknown), "after the end of the server the outcome is unknown");
  await click(page, "dialog button", (text) => text === "Cancel");
  check((await inSight(page, "#stale")).some(({ text }) => /out of date/.test(text)), "the page says that it is out of date");
  await close();
  check(/undone/.test(store.paste(wayBack)), `the way back of the answer works in any folder: ${wayBack}`);
}

// Opens an empty store, and stores something by the command that the page shows.
async function beginEmpty() {
  const store = empty(program, work);
  const server = store.serve();
  const { page, close } = await open(await server.address());
  await settled(page);
  // With its files at hand, the browser draws the list before the summary names the store.
  await page.reload();
  await settled(page);
  const command = (await inSight(page, "main code"))[0]?.text ?? "no command";
  store.paste(command);
  await page.waitForSelector(".note", { timeout: 10_000 }).catch(() => {});
  check((await inSight(page, "#group-learned")).length === 1, `an empty memory shows what its command stores: ${command}`);
  // A shell and the program may take such an id for a quote or an option.
  store.put([{ id: "--it's", kind: "note", content: "word ".repeat(25_000) }], []);
  await go(page, `objects?${new URLSearchParams({ id: "--it's" })}`);
  const texts = await page.$$eval("aside code", (found) => found.map((one) => one.textContent));
  const whole = texts.find((text) => text.startsWith("treering get")) ?? "no command";
  check(times(store.paste(whole), "word ") === 25_000, `the command of a long content prints all of it: ${whole}`);
  await close();
  server.end();
}

const ALLOWED = new Set("HTML HEAD META TITLE LINK SCRIPT BODY A HEADER DIV IMG STRONG SPAN NAV SECTION P FOOTER BUTTON FORM LABEL INPUT KBD MAIN ASIDE NOSCRIPT H1 H2 H3 UL OL LI DL DT DD TIME CODE B I INS DEL HR ARTICLE SELECT OPTGROUP OPTION BLOCKQUOTE FIELDSET LEGEND TEXTAREA DIALOG svg path circle rect".split(" "));

// Looks at hostile texts in every view: none may become more than text.
async function hostileTexts() {
  const store = hostile(program, work, TEXTS);
  const server = store.serve();
  const { page, bad, close } = await open(await server.address());
  await settled(page);
  const rows = await page.evaluate(async () => {
    const token = sessionStorage.getItem("treering-token");
    const read = await fetch("/ui/objects?count=200", { headers: { Authorization: `Bearer ${token}` } });
    return (await read.json()).rows;
  });
  const places = ["inbox", "objects", "objects?only=untrusted", "sessions", "timeline", "compare", "compare?from=seq:45&to=@", ...TEXTS.flatMap((text) => [`search?${new URLSearchParams({ q: text })}`, `compare?${new URLSearchParams({ from: text, to: text })}`])];
  for (const row of rows) places.push(`objects?${new URLSearchParams({ id: row.key ?? row.id })}`);
  for (let seq = 1; seq <= 47; seq += 1) places.push(`timeline?commit=seq:${seq}`);
  const sessions = await page.evaluate(async () => {
    const token = sessionStorage.getItem("treering-token");
    const read = await fetch("/ui/sessions?count=200", { headers: { Authorization: `Bearer ${token}` } });
    return (await read.json()).rows.map((one) => one.lane_key ?? one.lane);
  });
  for (const lane of sessions) places.push(`sessions?${new URLSearchParams({ lane })}`);
  // A hostile address, too.
  for (const text of TEXTS) places.push(`objects?${new URLSearchParams({ prefix: text, id: text })}`, `timeline?${new URLSearchParams({ of: text, commit: text })}`);
  let texts = 0;
  for (const place of places) {
    await page.evaluate((hash) => { location.hash = `#/${hash}`; }, place);
    await settled(page).catch(() => bad.push(`${place.slice(0, 60)} does not settle`));
    const found = await page.evaluate((allowed) => {
      const wrong = [];
      for (const element of document.querySelectorAll("*")) {
        if (!allowed.includes(element.tagName)) wrong.push(`element ${element.tagName}`);
        for (const { name, value } of element.attributes) {
          if (/^on/i.test(name)) wrong.push(`attribute ${name}`);
          if (/^(href|src|action)$/i.test(name) && !/^(#|\/assets\/)/.test(value)) wrong.push(`${name}=${value.slice(0, 40)}`);
        }
      }
      if (document.scripts.length !== 1 || document.images.length !== 1) wrong.push("a script or an image");
      if (window.taken !== undefined) wrong.push("a text ran");
      const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]/u;
      if (unseen.test(document.getElementById("main").textContent + document.getElementById("panel").textContent)) wrong.push("an invisible character");
      return { wrong, reports: window.reports, length: document.body.innerText.length };
    }, [...ALLOWED]);
    texts += found.length;
    for (const [width, height] of [...SIZES].reverse()) {
      await page.setViewport({ width, height, hasTouch: false });
      found.wrong.push(...await tooWide(page));
    }
    bad.push(...[...found.wrong, ...found.reports].map((what) => `${what} at ${place.slice(0, 60)}`));
  }
  // The server refuses what a hostile address names, which the browser logs.
  const real = [...new Set(bad)].filter((what) => !/status of (400|404|422)/.test(what));
  check(real.length === 0, `${TEXTS.length} hostile texts at ${places.length} places inject nothing (${texts} characters shown) ${real.slice(0, 5).join("; ")}`);
  check(places.length > 250, `${rows.length} objects and ${sessions.length} sessions were opened`);
  await close();
  server.end();
}

// Measures the first paint, and the longest task while a person scrolls.
async function largeStore() {
  const store = large(program, work);
  const begun = Date.now();
  const server = store.serve();
  console.log(`the server listens after ${Date.now() - begun} ms`);
  for (const run of ["cold", "warm"]) {
    const { page, bad, close } = await open(await server.address());
    await page.waitForSelector(".note", { timeout: 60_000 });
    const times = await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      rows: performance.now(),
    }));
    check(times.paint < FIRST_PAINT_MS, `${run}: first paint after ${times.paint.toFixed(0)} ms (rows at most ${times.rows.toFixed(0)} ms)`);
    if (run === "warm") {
      const summary = await page.evaluate(() => document.getElementById("head").innerText.replaceAll("\n", " "));
      console.log(`the page says: ${summary}`);
      for (const view of ["objects", "timeline", "sessions"]) await scroll(page, view);
    }
    check(bad.length === 0, `${run}: nothing else happened ${bad.join("; ")}`);
    await close();
  }
  server.end();
}

async function scroll(page, view) {
  await go(page, view);
  await page.evaluate(() => {
    window.tasks = [];
    window.frames = [];
    window.observer?.disconnect();
    window.observer = new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.tasks.push(entry.duration)));
    window.observer.observe({ type: "longtask" });
    let last = performance.now();
    const frame = (now) => {
      window.frames.push(now - last);
      last = now;
      window.framing = requestAnimationFrame(frame);
    };
    cancelAnimationFrame(window.framing);
    window.framing = requestAnimationFrame(frame);
  });
  const [box] = await inSight(page, ".list");
  await page.mouse.move(box.x, 400);
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel({ deltaY: 100 + step * 60 });
    await wait(16);
  }
  // The scroll bar jumps to any place.
  for (let step = 0; step < 20; step += 1) {
    await page.evaluate((part) => { const list = document.querySelector(".list"); list.scrollTop = list.scrollHeight * part; }, (step * 0.37) % 1);
    await wait(50);
  }
  await settled(page);
  const { tasks, frames, rows, total } = await page.evaluate(() => ({
    tasks: window.tasks, frames: window.frames, rows: document.querySelectorAll(".row").length, total: Number(document.querySelector(".row").getAttribute("aria-setsize")),
  }));
  const longest = Math.max(0, ...tasks);
  frames.sort((a, b) => a - b);
  check(longest < TASK_MS, `${view}: ${total} rows, ${rows} elements, longest task ${longest === 0 ? "under 50" : longest.toFixed(0)} ms, frames ${frames[Math.floor(frames.length / 2)].toFixed(1)} ms (99 %: ${frames[Math.floor(frames.length * 0.99)].toFixed(1)} ms)`);
}

const VIEWS = (guilty) => ["inbox", "inbox?id=facts/boiler/000", "objects", "objects?only=untrusted", "objects?id=facts/boiler/000", "sessions", `sessions?lane=${guilty}`, "timeline", "timeline?commit=seq:12", "compare", "compare?from=before-the-review", "search?q=key", "search?q=nothing-has-this", "objects?only=flagged"];

// Does with the mouse alone what a person does in the inbox: corrects a wrong fact, releases a text, and takes a bad session
// back, each in under a minute.
async function decide() {
  const store = daily(program, work);
  const reading = store.serve();
  const reader = await open(await reading.address());
  await settled(reader.page);
  const commands = await reader.page.$$eval("main code", (found) => found.map((one) => one.textContent));
  check(commands.some((text) => /serve --ui --write/.test(text)) && commands.some((text) => /quarantine --release/.test(text)), "without --write the inbox names the commands");
  check((await reader.page.$$("main button.act")).length === 0, "without --write the inbox offers no decision");
  await reader.close();
  reading.end();
  const server = store.serve(["--write"]);
  const { page, bad, close } = await open(await server.address());
  await settled(page);
  const timed = async (what, work_) => {
    const begun = Date.now();
    await work_();
    const seconds = (Date.now() - begun) / 1000;
    check(seconds < FIND_SECONDS, `${what} in ${seconds.toFixed(1)} s with the mouse alone`);
  };
  const scrollTo = (text) => page.evaluate((wanted_) => [...document.querySelectorAll(".note")].find((one) => one.innerText.includes(wanted_))?.scrollIntoView({ block: "center" }), text);
  // Clicks a button of the note with this text.
  const on = async (text, label) => {
    await scrollTo(text);
    await wait(50);
    const place = await page.evaluate((wanted_, name) => {
      const note = [...document.querySelectorAll(".note")].find((one) => one.innerText.includes(wanted_));
      const box = [...(note?.querySelectorAll("button, a") ?? [])].find((one) => one.innerText.trim() === name)?.getBoundingClientRect();
      return box && { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    }, text, label);
    if (!place) throw new Error(`no ${label} at ${text}`);
    await page.mouse.click(place.x, place.y);
    await settled(page);
  };
  const confirm = async () => {
    await page.waitForFunction(() => document.querySelector("dialog button[type=submit]")?.disabled === false, { timeout: 10_000 });
    await click(page, "dialog button[type=submit]", () => true);
    await wait(400);
    await settled(page);
  };
  await timed("a wrong fact was corrected", async () => {
    await on("The office is on the moon.", "Edit");
    await page.click("#new-text", { count: 3 });
    await page.keyboard.type("The office is in Bergen.");
    await wait(600);
    await settled(page);
    check((await inSight(page, "dialog"))[0].text.includes("will be replaced"), "the difference is shown before the change");
    await confirm();
  });
  check(/in Bergen/.test(store.run(["get", "facts/office"])), "the fact is corrected");
  await timed("a quarantined text was released", async () => {
    await on("previous instructions", "Release");
    check(/Why it waits/.test((await inSight(page, "dialog"))[0].text), "the preview says why the text waits");
    await confirm();
  });
  check(!/rejected/.test(store.run(["quarantine", "--all-scopes"])), "the quarantine is empty");
  await timed("a bad session was taken back", async () => {
    await on("replaced 3 versions of others", "See what it changed");
    await click(page, "aside button", (text) => text.startsWith("Take back"));
    await confirm();
  });
  check(/seven rooms/.test(store.run(["get", "facts/rooms"])), "the session is taken back");
  // A dialog closes when the person goes elsewhere, and the search field empties.
  await go(page, "inbox");
  await on("Prices of scrap", "Trust");
  check((await page.$$("dialog[open]")).length === 1, "a decision opens a dialog");
  await page.evaluate(() => history.back());
  await settled(page);
  check((await page.$$("dialog")).length === 0, "a dialog closes on navigation");
  await page.type("#query", "office");
  await page.keyboard.press("Enter");
  await settled(page);
  await click(page, "nav a", (text) => text.startsWith("Inbox"));
  check(await page.$eval("#query", (field) => field.value) === "", "the search field empties when its list is left");
  // The keyboard reaches the notes, and the focus is seen.
  await page.focus("#main");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement.closest("p, button") ?? document.activeElement).outlineStyle);
  check(outline !== "none", "the focus in the inbox is seen");
  check(bad.length === 0, `nothing else happened ${bad.join("; ")}`);
  await close();
  server.end();
}

// Runs axe-core on every view, in both themes and sizes.
async function axe() {
  const { store, guilty } = poisoned(program, work);
  const source = readFileSync(join(work, "node_modules/axe-core/axe.min.js"), "utf8");
  const server = store.serve(["--write"]);
  let found = 0;
  let runs = 0;
  for (const size of SIZES) {
    for (const theme of THEMES) {
      const { page, close } = await open(await server.address(), { size, theme });
      await settled(page);
      await page.evaluate(source);
      for (const view of VIEWS(guilty)) {
        await go(page, view);
        found += await axeHere(page, `${size[0]} ${theme} ${view}`);
        runs += 1;
      }
      await go(page, `sessions?lane=${guilty}`);
      await page.evaluate(() => document.querySelector("aside button.danger").click());
      await settled(page);
      found += await axeHere(page, `${size[0]} ${theme} dialog`);
      runs += 1;
      await close();
    }
  }
  server.end();
  const inbox = await axeInbox(source);
  found += inbox.found;
  runs += inbox.runs;
  check(found === 0, `axe-core reports ${found} violations in ${runs} runs`);
}

// Runs axe-core on the inbox with something in each of its groups, and on each dialog of a decision.
async function axeInbox(source) {
  const server = daily(program, work).serve(["--write"]);
  let [found, runs] = [0, 0];
  for (const size of SIZES) {
    for (const theme of THEMES) {
      const { page, bad, close } = await open(await server.address(), { size, theme });
      await settled(page);
      await page.evaluate(source);
      for (const label of [null, "Release", "Reject", "Trust", "Edit", "Forget"]) {
        if (label) {
          await page.evaluate((name) => [...document.querySelectorAll(".note button")].find((one) => one.innerText.trim() === name).click(), label);
          await settled(page);
        }
        found += await axeHere(page, `${size[0]} ${theme} inbox ${label ?? ""}`);
        runs += 1;
        await page.screenshot({ path: join(work, `inbox-${label ?? "whole"}-${size[0]}-${theme}.png`) });
        bad.push(...await tooWide(page));
        if (label) await page.evaluate(() => document.querySelector("dialog button[type=button]").click());
      }
      check(bad.length === 0, `the inbox at ${size[0]} pixels, ${theme} ${bad.join("; ")}`);
      await close();
    }
  }
  server.end();
  return { found, runs };
}

async function axeHere(page, where) {
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, nodes } of violations) {
    console.log(`axe: ${id} at ${where}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary.split("\n")[1] ?? ""}`).join(" | ")}`);
  }
  return violations.length;
}

// Saves screenshots of every view.
async function shots() {
  const { store, guilty } = poisoned(program, work);
  const server = store.serve();
  for (const size of SIZES) {
    for (const theme of THEMES) {
      const { page, bad, close } = await open(await server.address(), { size, theme });
      await settled(page);
      for (const view of VIEWS(guilty)) {
        await go(page, view);
        const name = view.replaceAll(/[^a-z]+/g, "-");
        await page.screenshot({ path: join(work, `${name}-${size[0]}-${theme}.png`) });
        bad.push(...(await tooWide(page)).map((what) => `${what} at ${view}`));
      }
      check(bad.length === 0, `screenshots at ${size[0]} pixels, ${theme} ${bad.join("; ")}`);
      await close();
    }
  }
  server.end();
}

const parts = { decide, find, hostile: hostileTexts, large: largeStore, axe, shots };
for (const part of wanted.length > 0 ? wanted : PARTS) {
  console.log(`== ${part}`);
  await parts[part]();
}
await browser.close();
console.log(`screenshots: ${work}`);
process.exit(failures === 0 ? 0 : 1);
