// The built page in a headless Chromium, opened from disk: its rooms are used by clicks, keys and links, at three widths,
// light and dark, and it complains of nothing.
//
//   node page/browser.mjs FOLDER [PICTURES]
//
// FOLDER is a built page; pictures of it are written into PICTURES. CHROMIUM names the browser; without one the test says
// that it is skipped, with exit status 77. Needs no package: it speaks with the browser over a pipe.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const [folder, pictures] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node page/browser.mjs FOLDER [PICTURES]");
  process.exit(2);
}
const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const program = process.env.CHROMIUM ?? names.find((name) => spawnSync(name, ["--version"]).status === 0);
if (!program) {
  console.log("skipped: no chromium here (apt install chromium, or set CHROMIUM)");
  process.exit(77);
}

const profile = mkdtempSync(join(tmpdir(), "attnlab-page-"));
// No sandbox: CI runs as root, and the page is our own.
const browser = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
let [number, rest] = [0, ""];
const waiting = new Map();
const complaints = [];
browser.stdio[4].on("data", (data) => {
  const parts = (rest + data).split("\0");
  rest = parts.pop();
  for (const part of parts) take(JSON.parse(part));
});

function take({ id, result, error, method, params }) {
  if (id) {
    const { good, bad } = waiting.get(id);
    waiting.delete(id);
    return error ? bad(new Error(error.message)) : good(result);
  }
  if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  if (method === "Log.entryAdded" && params.entry.level === "error") complaints.push(params.entry.text);
  if (method === "Runtime.consoleAPICalled" && params.type === "error") complaints.push(JSON.stringify(params.args));
}

let session;
function send(method, params = {}) {
  const id = ++number;
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((good, bad) => waiting.set(id, { good, bad }));
}

/** Evaluates an expression in the page. */
async function look(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

/** Waits until an expression holds in the page. A limit against a hang alone. */
async function until(expression) {
  const end = Date.now() + 1000 * Number(process.env.ATTNLAB_TEST_SECONDS ?? 600);
  while (!(await look(expression))) {
    if (Date.now() > end) throw new Error(`never: ${expression}`);
    await new Promise((go) => setTimeout(go, 20));
  }
}

/** Opens the page at a link of its own, in a fresh document. */
async function open(hash) {
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url: `${pathToFileURL(resolve(folder, "index.html"))}${hash}` });
  await until("typeof attnlabPage === 'object' && attnlabPage.ready === true");
}

async function picture(name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
  writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, "base64"));
}

const width = (pixels) => send("Emulation.setDeviceMetricsOverride", { width: pixels, height: 900, deviceScaleFactor: 1, mobile: pixels < 500 });
const scheme = (value) => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
const key = async (name) => {
  for (const type of ["keyDown", "keyUp"]) await send("Input.dispatchKeyEvent", { type, key: name, code: name });
};
const text = (room, part) => look(`document.querySelector('#${room} [data-part="${part}"]').textContent`);
const idle = "!document.querySelector('[aria-busy]')";
/** Number of different colours of a canvas: an empty one has one. */
const painted = (room, part) => look(`(() => { const c = document.querySelector('#${room} [data-part="${part}"]');
  return new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size; })()`);

async function horizon(pixels, colour) {
  await open("#horizon&tokens=600&clusters=2&dim=64&delta=0.04&tau=0.55&eta=0.5&seed=3");
  await until(`${idle} && document.querySelector('#horizon [data-part="draw"]').textContent.includes("are exact")`);
  await until("/half of all draws keep to the theorem for \\d+ layers/.test(document.querySelector('#horizon [data-part=\"law\"]').textContent)");
  for (const part of ["broken", "snr", "attention"]) assert.ok((await painted("horizon", part)) > 2, part);
  await picture(`horizon-${pixels}-${colour}`);
  // A slider by keys: the law follows each step, the link all settings, the draw the last one.
  const law = await text("horizon", "law");
  await look(`document.querySelector('#horizon input[type="range"][aria-label^="δ"]').focus()`);
  for (let i = 0; i < 40; i += 1) await key("ArrowRight");
  await until(`${idle} && document.querySelector('#horizon [data-part="law"]').textContent !== ${JSON.stringify(law)}`);
  assert.ok(Number(await look("new URLSearchParams(location.hash).get('delta')")) > 0.04);
  assert.equal(await look("document.querySelector('#horizon [data-part=\"refusal\"]').hidden"), true);
  // What the library refuses is said, and goes away.
  await look(`(() => { const f = document.getElementById("field-horizon-tokens"); f.value = "601"; f.dispatchEvent(new Event("change")); })()`);
  await until("!document.querySelector('#horizon [data-part=\"refusal\"]').hidden");
  assert.match(await text("horizon", "refusal"), /tokens = 601: must be a positive multiple of clusters = 2/);
}

async function landscape(pixels, colour) {
  await open("#landscape&context=12&sigma=0.3&alpha=1&seed=2");
  await until("document.querySelector('#landscape [data-part=\"step\"]').textContent.includes('one step leads')");
  const canvas = `document.querySelector('#landscape [data-part="map"]')`;
  assert.ok((await painted("landscape", "map")) > 50);
  await picture(`landscape-${pixels}-${colour}`);
  await look(`${canvas}.scrollIntoView({ block: "center" })`);
  const box = await look(`(({ left, top, width }) => ({ left, top, width }))(${canvas}.getBoundingClientRect())`);
  for (const type of ["mousePressed", "mouseReleased"]) {
    await send("Input.dispatchMouseEvent", { type, x: box.left + 0.75 * box.width, y: box.top + 0.5 * box.width, button: "left", clickCount: 1 });
  }
  await until("Math.abs(new URLSearchParams(location.hash).get('x') - 0.8) < 0.02");
  await look(`${canvas}.focus()`);
  await key("ArrowUp");
  await until("Math.abs(new URLSearchParams(location.hash).get('y') - 0.05) < 0.02");
  await until(`/query \\(0\\.(79|8)/.test(document.querySelector('#landscape [data-part="step"]').textContent)`);
}

async function check(pixels, colour) {
  await open("#check=aot.lemma1&seed=1&trials=5&dim=32");
  await look(`document.querySelector('#check [data-part="run"]').click()`);
  await until("document.querySelector('#check [data-part=\"result\"]').dataset.verdict");
  assert.match(await look("document.querySelector('#check .command').textContent"), /^attnlab check aot\.lemma1 --seed 1 --set dim=32 --trials 5$/);
  const report = JSON.parse(await look("document.querySelector('#check pre').textContent"));
  assert.deepEqual([report.claim, report.seed, report.trials, report.parameters.dim], ["aot.lemma1", 1, 5, 32]);
  await picture(`check-${pixels}-${colour}`);
  await look(`(() => { const f = document.getElementById("parameter-dim"); f.value = "-1"; document.querySelector('#check [data-part="run"]').click(); })()`);
  await until("!document.querySelector('#check [data-part=\"refusal\"]').hidden");
  assert.match(await text("check", "refusal"), /dim = -1/);
  // A search, and a claim by its link.
  await look(`(() => { const f = document.querySelector('#check [data-part="words"]'); f.value = "hopfield"; f.dispatchEvent(new Event("input")); })()`);
  assert.match(await text("check", "count"), /^[1-9]\d* of \d{3} claims$/);
  await look("location.hash = '#check=denoise.one_step_wins'");
  await until("document.querySelector('#check [data-part=\"source\"]').textContent.includes('Expected here')  && document.getElementById('parameter-sigma_z2')");
}

/** A long check is stopped, and the next one starts anew. */
async function stopped() {
  await open("#check=aot.horizon_law&seed=1&trials=100000");
  await look(`document.querySelector('#check [data-part="run"]').click()`);
  await until("document.querySelector('#check [data-part=\"progress\"]').textContent");
  await look(`document.querySelector('#check [data-part="stop"]').click()`);
  await until("!document.querySelector('#check [data-part=\"refusal\"]').hidden");
  assert.match(await text("check", "refusal"), /stopped/);
  await look(`(() => { document.getElementById("trials").value = "2"; document.querySelector('#check [data-part="run"]').click(); })()`);
  await until("document.querySelector('#check [data-part=\"result\"]').dataset.verdict");
}

/** Measures the first picture and the frames of the law while a slider moves, at N = 600, p = 64. They are told, not judged. */
async function speed() {
  await open("#horizon&tokens=600&dim=64");
  await until("document.querySelector('#horizon [data-part=\"law\"]').textContent.includes('half of all draws')");
  const first = await look("performance.now()");
  await until(idle);
  const count = 60;
  const time = await look(`(async () => {
    const range = document.querySelector('#horizon input[type="range"][aria-label^="δ"]');
    const { frames } = attnlabPage.rooms.horizon;
    const [start, before] = [performance.now(), frames.count];
    for (let i = 0; i < ${count}; i += 1) {
      const drawn = frames.count;
      range.value = Number(range.value) + 3;
      range.dispatchEvent(new Event("input"));
      while (frames.count === drawn) await new Promise((go) => setTimeout(go));
    }
    return (performance.now() - start) / (frames.count - before);
  })()`);
  const settled = await look(`(async () => {
    const { frames } = attnlabPage.rooms.horizon;
    const drawn = frames.count;
    document.querySelector('#horizon input[type="range"]').dispatchEvent(new Event("change"));
    while (frames.count === drawn) await new Promise((go) => setTimeout(go));
    return frames.last;
  })()`);
  console.log(`first picture within ${(first / 1000).toFixed(2)} s; the law follows a slider in ${time.toFixed(1)} ms, ` +
    `${(1000 / time).toFixed(0)} frames a second; in full it takes ${settled.toFixed(0)} ms`);
}

let status = 0;
try {
  const { targetInfos } = await send("Target.getTargets");
  const { targetId } = targetInfos.find(({ type }) => type === "page");
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  for (const pixels of [360, 768, 1400]) {
    for (const colour of ["light", "dark"]) {
      await width(pixels);
      await scheme(colour);
      for (const room of [horizon, landscape, check]) {
        await room(pixels, colour);
        const wide = await look("document.documentElement.scrollWidth");
        assert.ok(wide <= pixels, `${room.name} is ${wide} pixels wide in a window of ${pixels}`);
      }
      const ground = await look("getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]");
      assert.equal(ground < 128, colour === "dark");
    }
  }
  await stopped();
  await speed();
  assert.deepEqual(complaints, []);
  console.log("the page works at three widths, light and dark");
} catch (error) {
  console.error(error);
  for (const complaint of complaints) console.error(`the page: ${complaint}`);
  status = 1;
} finally {
  browser.kill();
  await new Promise((go) => browser.once("exit", go));
  rmSync(profile, { recursive: true, force: true });
}
process.exit(status);
