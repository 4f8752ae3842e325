"use strict";
// Room 2: the energy of which a layer of attention is one gradient step.

const LANDSCAPE = [
  { name: "context", symbol: "L", label: "clean tokens", min: 1, max: 60, step: 1, start: 12, whole: true },
  { name: "sigma", symbol: "σ", label: "noise of the query (standard deviation)", min: 0.05, max: 1, step: 0.01, start: 0.3 },
  { name: "beta", symbol: "β", label: "sharpness of attention", min: 0.1, max: 400, scale: "log", start: 11.1 },
  { name: "alpha", symbol: "α", label: "scale of its output", min: 0.2, max: 2, step: 0.05, start: 1 },
];

/** Points of the grid of energies, its half width, steps of a descent, and the distance of a step with the keys. */
const [SIDE, REACH, STEPS, KEY_STEP] = [96, 1.6, 60, 0.05];

/** Makes the room: `show(settings)` sets it by those of a link, `settings()` returns them. */
function landscapeRoom(engine, changed) {
  const room = document.getElementById("landscape");
  const part = (name) => room.querySelector(`[data-part="${name}"]`);
  const canvas = part("map");
  const seed = { symbol: "seed", label: "number of the context", min: 0, max: 100, step: 1, start: 0, whole: true, name: "seed" };
  const controls = [...LANDSCAPE, seed].map((spec) => slider({ ...spec, room: "landscape" }, (settled) => moved(spec.name, settled)));
  part("controls").append(...controls.map((control) => control.element));
  const control = (name) => controls.find((c) => c.name === name);
  const optimal = part("optimal");
  let [ground, descent, query, picture] = [];

  function read() {
    const value = Object.fromEntries(controls.map((c) => [c.name, c.read()]));
    const setting = { context: value.context, sigma_z2: value.sigma ** 2, alpha: value.alpha, seed: value.seed };
    if (!optimal.checked) setting.beta = value.beta;
    return { ...setting, side: SIDE, reach: REACH };
  }

  const ask = latest(async () => {
    try {
      const setting = read();
      ground = await engine.ask({ do: "landscape", ...setting });
      if (optimal.checked) control("beta").set(Number(ground.beta.toPrecision(4)));
      picture = undefined;
      query ??= ground.query;
      descent = await engine.ask({ do: "descent", ...setting, query, steps: STEPS });
      say(part("refusal"), null);
    } catch (error) {
      say(part("refusal"), error);
    }
    draw();
  });

  function moved(name, settled) {
    // A new context has a query of its own, and a slider of β is used to choose β.
    if (name === "seed" || name === "context" || name === "sigma") query = undefined;
    if (name === "beta") optimal.checked = false;
    ask();
    if (settled) changed();
  }

  const place = ([x, y], width) => [((x / REACH + 1) / 2) * width, ((1 - y / REACH) / 2) * width];

  /** Paints the energies as a picture of one pixel each: low is dark ground in bands of equal height. */
  function painted() {
    const small = new OffscreenCanvas(SIDE, SIDE);
    const image = new ImageData(SIDE, SIDE);
    const sorted = [...ground.energy].sort((a, b) => a - b);
    const [low, high] = [sorted[0], sorted[Math.floor(0.9 * sorted.length)]];
    ground.energy.forEach((energy, i) => {
      const height = Math.min((energy - low) / (high - low || 1), 1);
      const band = Math.round(24 * Math.sqrt(height)) / 24;
      // From a deep blue through white to a warm grey.
      const mix = (a, b, t) => a.map((x, c) => x + (b[c] - x) * t);
      const colour = band < 0.5 ? mix([0, 70, 120], [214, 232, 243], 2 * band) : mix([214, 232, 243], [246, 240, 230], 2 * band - 1);
      const pixel = 4 * ((SIDE - 1 - Math.floor(i / SIDE)) * SIDE + (i % SIDE));
      image.data.set([...colour, 255], pixel);
    });
    small.getContext("2d").putImageData(image, 0, 0);
    return small;
  }

  function draw() {
    if (!ground) return;
    const { context, width } = fitted(canvas, 1);
    picture ??= painted();
    context.imageSmoothingEnabled = true;
    context.drawImage(picture, 0, 0, width, width);
    // On the map, which is light in the dark too.
    const [ink, one, many, best] = ["#1d1d1f", "#a84600", "#00588f", "#00775a"];
    context.strokeStyle = "#5f5f58";
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.arc(width / 2, width / 2, width / 2 / REACH, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
    ground.context.forEach((token) => disc(context, place(token, width), 4, ink));
    for (const { state } of ground.minima) {
      disc(context, place(state, width), 9, null, "#fff");
      disc(context, place(state, width), 7, null, many);
    }
    if (!descent) return;
    const path = descent.path.map((state) => place(state, width));
    line(context, path.slice(1), many, 1.5, [3, 3]);
    path.slice(2, 12).forEach((state) => disc(context, state, 2, many));
    line(context, path.slice(0, 2), one, 3);
    disc(context, path[1], 6, one, "#fff");
    disc(context, path[0], 6, "#fff", ink);
    const [x, y] = place(descent.bayes, width);
    line(context, [[x - 6, y], [x + 6, y]], best, 3);
    line(context, [[x, y - 6], [x, y + 6]], best, 3);
    words();
  }

  function words() {
    const [, step] = descent.path;
    const pair = ([x, y]) => `(${digits(x, 3)}, ${digits(y, 3)})`;
    const retrieved = ground.minima.filter((m) => m.token !== null).length;
    part("minima").textContent =
      `The energy has ${ground.minima.length} ${ground.minima.length === 1 ? "minimum" : "minima"}; ${retrieved} of them ` +
      `${retrieved === 1 ? "is a token" : "are tokens"} of the context.`;
    part("step").textContent =
      `From the query ${pair(descent.path[0])}, one step leads to ${pair(step)}, ${digits(descent.from_bayes[0], 3)} away from the best ` +
      `guess ${pair(descent.bayes)}; descent to the end leads to ${pair(descent.end)}, ${digits(descent.from_bayes[1], 3)} away.`;
  }

  function askFrom(state) {
    query = state.map((x) => Math.min(Math.max(Number(x.toFixed(4)), -REACH), REACH));
    ask();
    changed();
  }

  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    askFrom([(2 * x - 1) * REACH, (1 - 2 * y) * REACH]);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || !query) return;
    event.preventDefault();
    askFrom(query.map((x, i) => x + KEY_STEP * step[i]));
  });
  optimal.addEventListener("change", () => moved("optimal", true));
  part("again").addEventListener("click", () => {
    control("seed").set((Number(control("seed").text()) || 0) + 1);
    moved("seed", true);
  });

  return {
    settings() {
      const own = Object.fromEntries(controls.map((c) => [c.name, c.text()]));
      if (optimal.checked) delete own.beta;
      return query ? { ...own, x: query[0], y: query[1] } : own;
    },
    redraw: draw,
    show(given) {
      controls.forEach((c) => c.name in given && c.set(given[c.name]));
      optimal.checked = !("beta" in given);
      const at = [given.x, given.y].map(Number);
      query = at.every(Number.isFinite) ? at : undefined;
      ask();
    },
  };
}
