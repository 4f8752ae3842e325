"use strict";
// Room 1: the depth of Theorem 1 of the attention-only transformers.

/** Sliders of the room; the names are those of `attnlab horizon`. */
const HORIZON = [
  { name: "tokens", symbol: "N", label: "tokens", min: 60, max: 2400, step: 60, start: 600, whole: true },
  { name: "clusters", symbol: "K", label: "clusters and heads", min: 2, max: 6, step: 1, start: 2, whole: true },
  { name: "dim", symbol: "p", label: "dimension of a cluster", min: 8, max: 512, scale: "log", start: 64, whole: true },
  { name: "delta", symbol: "δ", label: "noise (standard deviation)", min: 0.005, max: 1, scale: "log", start: 0.04 },
  { name: "tau", symbol: "τ", label: "threshold of attention", min: 0.05, max: 0.95, step: 0.01, start: 0.55 },
  { name: "eta", symbol: "η", label: "size of a step", min: 0.05, max: 2, step: 0.05, start: 0.5 },
];

/** Layers of the network beyond the first that is not exact. */
const LAYERS_AFTER = 4;
/** Largest number of layers that the network runs, and of tokens whose attention is drawn. */
const [MOST_LAYERS, MOST_DRAWN] = [30, 1500];

/** Makes the room, with an engine for the law and one for draws: `show(settings)` sets it by those of a link, `settings()` returns them. */
function horizonRoom(engine, drawer, changed) {
  const room = document.getElementById("horizon");
  const part = (name) => room.querySelector(`[data-part="${name}"]`);
  const seed = { symbol: "seed", label: "number of the draw", min: 0, max: 100, step: 1, start: 0, whole: true, name: "seed" };
  const controls = [...HORIZON, seed].map((spec) => slider({ ...spec, room: "horizon" }, (settled) => moved(settled)));
  part("controls").append(...controls.map((control) => control.element));
  let [law, draw, layers, attention] = [];
  /** Refusals of the library, of the law and of the draw. */
  const refused = {};
  const refusal = (of, error) => {
    refused[of] = error;
    say(part("refusal"), refused.law ?? refused.draw);
  };

  const read = () => Object.fromEntries(controls.map((control) => [control.name, control.read()]));
  const settings = () => Object.fromEntries(controls.map((control) => [control.name, control.text()]));

  /** Frames of the law that were drawn, and the time of the last one in ms: a test reads them. */
  const frames = { count: 0, last: 0 };

  const askLaw = latest(async (settled) => {
    const started = performance.now();
    try {
      law = await engine.ask({ do: "law", ...read(), sketch: !settled });
      law.about = settled ? "" : "about ";
      refusal("law", null);
    } catch (error) {
      law = undefined;
      refusal("law", error);
    }
    drawLaw();
    frames.count += 1;
    frames.last = performance.now() - started;
  });

  const askDraw = latest(async () => {
    room.setAttribute("aria-busy", "true");
    [draw, layers, attention] = [];
    try {
      const setting = read();
      draw = await drawer.ask({ do: "horizon", ...setting });
      drawLaw();
      const exact = draw.exact_updates ?? 8;
      const head = draw.witness?.head ?? 0;
      const depth = Math.min(exact + LAYERS_AFTER, MOST_LAYERS);
      layers = await drawer.ask({ do: "layers", ...setting, layers: depth });
      drawLayers();
      if (setting.tokens <= MOST_DRAWN) attention = await drawer.ask({ do: "attention", ...setting, head, layer: exact });
      refusal("draw", null);
    } catch (error) {
      if (error.stopped) return;
      refusal("draw", error);
    }
    drawAll();
    room.removeAttribute("aria-busy");
  });

  function moved(settled) {
    askLaw(settled);
    if (!settled) return;
    askDraw();
    // What is under way is of settings that are gone.
    if (drawer.waiting.size) drawer.stop("newer settings");
    changed();
  }

  function drawAll() {
    drawLaw();
    drawLayers();
    drawAttention();
  }

  function drawLaw() {
    part("law").textContent = law
      ? `By the law, half of all draws keep to the theorem for ${law.about}${law.exact_updates[1]} layers; 5 % for ${law.exact_updates[0]} ` +
        `or fewer, 5 % for ${law.exact_updates[2]} or more.`
      : refused.law ? "The law says nothing at these settings." : "";
    const witness = draw?.witness;
    part("draw").textContent = !draw ? (refused.draw ? "" : "Drawing …") : !witness
      ? "This draw keeps to the theorem at every depth."
      : `In this draw ${witness.layer} ${witness.layer === 1 ? "layer is" : "layers are"} exact. In the next one, token ${witness.column} gives token ${witness.row} of ` +
        `cluster ${witness.head + 1} the weight ${digits(witness.weight)}, ${WAYS[witness.kind]}.`;
    const canvas = part("broken");
    if (!law) return canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    const first = law.layers[0].layer;
    const last = Math.max(law.layers.at(-1).layer, (draw?.exact_updates ?? 0) + 1);
    const plot = axes(canvas, { ratio: 0.52, x: [0, last], y: [0, 1], xLabel: "layer", yLabel: "share that has left",
      yTicks: [0, 0.25, 0.5, 0.75, 1], yText: (v) => `${100 * v} %` });
    const points = law.layers.map(({ layer, broken }) => [plot.toX(layer), plot.toY(broken)]);
    const before = first > 0 ? [[plot.toX(0), plot.toY(0)]] : [];
    line(plot.context, [...before, ...points], plot.colour.edge);
    points.forEach((point) => disc(plot.context, point, 3.5, plot.colour.edge));
    if (draw?.exact_updates != null) {
      const x = plot.toX(draw.exact_updates);
      line(plot.context, [[x, plot.top], [x, plot.bottom]], plot.colour.refuted, 2, [5, 4]);
      plot.context.fillStyle = plot.colour.refuted;
      plot.context.textAlign = x > (plot.left + plot.right) / 2 ? "right" : "left";
      plot.context.textBaseline = "top";
      plot.context.fillText(" this draw ", x, plot.top);
    }
  }

  function drawLayers() {
    const canvas = part("snr");
    if (!layers) return canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    const [measured, theorem] = [layers.snr, layers.theorem];
    const logs = [...measured, ...theorem].flat().filter((x) => x > 0).map(Math.log10);
    const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
    const yTicks = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const plot = axes(canvas, { ratio: 0.52, x: [0, measured.length - 1], y: [low, high], xLabel: "layer",
      yLabel: "signal-to-noise ratio", yTicks, yText: (v) => digits(10 ** v) });
    const curve = (rows, k) => rows.flatMap((row, l) => (row[k] > 0 ? [[plot.toX(l), plot.toY(Math.log10(row[k]))]] : []));
    measured[0].forEach((_, k) => line(plot.context, curve(theorem, k), plot.colour.quiet, 1.5, [4, 4]));
    measured[0].forEach((_, k) => {
      line(plot.context, curve(measured, k), plot.colour.edge);
      curve(measured, k).forEach((point) => disc(plot.context, point, 3, plot.colour.edge));
    });
  }

  function drawAttention() {
    const canvas = part("attention");
    const note = part("map-note");
    note.hidden = Boolean(attention) || !draw;
    if (!attention) return canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    const { context, width } = fitted(canvas, 1);
    const colour = colours();
    const tokens = draw.counts.reduce((a, b) => a + b);
    const place = (i) => (i / tokens) * width;
    const dot = Math.max(width / tokens, 1.2);
    context.fillStyle = colour.paper;
    context.fillRect(0, 0, width, width);
    const [from, to] = attention.cluster.map(place);
    context.fillStyle = colour.band;
    context.fillRect(from, from, to - from, to - from);
    context.fillStyle = colour.ink;
    for (const [key, column, weight] of attention.entries) {
      context.globalAlpha = 0.15 + 0.85 * weight;
      context.fillRect(place(column), place(key), dot, dot);
    }
    context.globalAlpha = 1;
    context.strokeStyle = colour.line;
    context.strokeRect(0.5, 0.5, width - 1, width - 1);
    if (!draw.witness) return;
    const [x, y] = [place(draw.witness.column) + dot / 2, place(draw.witness.row) + dot / 2];
    line(context, [[x, 0], [x, width]], colour.refuted, 1, [3, 3]);
    disc(context, [x, y], 7, null, colour.refuted);
  }

  part("again").addEventListener("click", () => {
    const control = controls.find((c) => c.name === "seed");
    control.set((Number(control.text()) || 0) + 1);
    moved(true);
  });

  return {
    settings,
    frames,
    redraw: drawAll,
    show(given) {
      controls.forEach((control) => control.name in given && control.set(given[control.name]));
      askLaw(true);
      askDraw();
    },
  };
}

/** The ways in which a column leaves the pattern, in words. */
const WAYS = {
  "captured": "more than τ, although it is of another cluster: it is captured, and amplified like signal from then on",
  "noise-kept": "more than τ, although neither is of that cluster: noise is amplified",
  "self-lost": "and so keeps τ or less for itself: it is lost",
  "distracted": "more than τ, as it should give only itself",
};
