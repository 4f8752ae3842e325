"use strict";
// The page: rooms by the address, `#horizon&tokens=600`, `#landscape&sigma=0.3`, `#check=aot.lemma1&seed=1`.

/** Rooms and readiness of the page, for a test. */
const attnlabPage = {};

(async () => {
  const status = document.getElementById("status");
  if (typeof DecompressionStream === "undefined" || typeof WebAssembly === "undefined") {
    status.textContent = "This browser is too old for the page: it needs WebAssembly and DecompressionStream (2023).";
    return;
  }
  const module = attnlabModule(ATTNLAB_WASM);
  // Long checks and draws leave the sliders free.
  const [quick, drawer, long] = [new Engine(module), new Engine(module), new Engine(module)];
  let catalogue;
  try {
    catalogue = await quick.ask({ do: "catalogue" });
  } catch (error) {
    status.textContent = `The library does not start here: ${error.message}`;
    return;
  }
  status.hidden = true;

  let current;
  const rooms = {
    horizon: horizonRoom(quick, drawer, () => write()),
    landscape: landscapeRoom(quick, () => write()),
    check: checkRoom(long, catalogue, () => write()),
  };

  /** Reads the address: name of the room, settings. */
  function address() {
    const [first, ...pairs] = location.hash.slice(1).split("&");
    const [name, id] = first.split("=");
    const given = Object.fromEntries(new URLSearchParams(pairs.join("&")));
    if (name === "check" && id) given.check = decodeURIComponent(id);
    return [name in rooms ? name : "horizon", given];
  }

  /** Writes the settings of the room into the address, without a step in the history. */
  function write() {
    const first = current === "check" ? `check=${encodeURIComponent(rooms.check.id() ?? "")}` : current;
    const settings = new URLSearchParams(rooms[current].settings()).toString();
    history.replaceState(null, "", `#${first}${settings && "&"}${settings}`);
  }

  async function go() {
    const [name, given] = address();
    current = name;
    for (const room of Object.keys(rooms)) document.getElementById(room).hidden = room !== name;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    await rooms[name].show(given);
  }

  const redraw = () => rooms[current].redraw();
  addEventListener("hashchange", go);
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      write();
      try {
        await navigator.clipboard.writeText(location.href);
        button.textContent = "copied";
      } catch {
        button.textContent = "the link is in the address bar";
      }
      setTimeout(() => (button.textContent = "copy the link"), 2000);
    });
  }
  await go();
  Object.assign(attnlabPage, { rooms, ready: true });
})();
