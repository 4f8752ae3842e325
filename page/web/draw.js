"use strict";
// Pictures and controls that the rooms share.

/** Makes an element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Writes a number with so many significant digits, as a reader expects it. */
function digits(x, count = 4) {
  if (x === null || x === undefined) return "none";
  if (Number.isInteger(x)) return String(x);
  const size = Math.abs(x);
  return size >= 1e5 || (size < 1e-4 && size > 0) ? x.toExponential(count - 1) : String(Number(x.toPrecision(count)));
}

/** Colours of the page as it is now, light or dark. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: named("ink"), paper: named("paper"), line: named("line"), quiet: named("quiet"), edge: named("edge"),
    band: named("band"), refuted: named("refuted"), supported: named("supported") };
}

/** Fits a canvas to its place and the pixels of the screen; returns its context and size in CSS pixels. */
function fitted(canvas, ratio) {
  const width = Math.max(canvas.clientWidth, 1);
  const height = Math.round(width * ratio);
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return { context, width, height };
}

/** Axes of a plot over layers: returns the functions from numbers to places. */
function axes(canvas, { ratio, x, y, xLabel, yLabel, yTicks, yText = digits }) {
  const { context, width, height } = fitted(canvas, ratio);
  const colour = colours();
  const [left, right, top, bottom] = [66, 12, 10, 40];
  const toX = (v) => left + ((v - x[0]) / (x[1] - x[0] || 1)) * (width - left - right);
  const toY = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - top - bottom);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  for (const tick of yTicks) {
    context.strokeStyle = colour.line;
    context.beginPath();
    context.moveTo(left, toY(tick));
    context.lineTo(width - right, toY(tick));
    context.stroke();
    context.fillStyle = colour.quiet;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(yText(tick), left - 6, toY(tick));
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const step = Math.max(1, Math.ceil((x[1] - x[0]) / Math.max(2, (width - left) / 34)));
  for (let v = Math.ceil(x[0]); v <= x[1]; v += step) context.fillText(v, toX(v), height - bottom + 6);
  context.fillStyle = colour.ink;
  context.fillText(xLabel, (left + width - right) / 2, height - 17);
  context.save();
  context.translate(9, (top + height - bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "middle";
  context.fillText(yLabel, 0, 0);
  context.restore();
  return { context, colour, toX, toY, left, right: width - right, top, bottom: height - bottom };
}

/** Draws a line through points. */
function line(context, points, colour, width = 2, dash = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
  context.setLineDash([]);
}

/** Draws a disc. */
function disc(context, [x, y], radius, fill, edge) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (edge) {
    context.strokeStyle = edge;
    context.lineWidth = 2;
    context.stroke();
  }
}

/** Scales of sliders: from the place of a slider, 0 to 1000, to the value, and back. */
const SCALES = {
  linear: {
    value: ({ min, max, step }, place) => {
      const x = Math.round((min + ((max - min) * place) / 1000) / step) * step;
      return Number(Math.min(Math.max(x, min), max).toPrecision(12));
    },
    place: ({ min, max }, value) => (1000 * (value - min)) / (max - min),
  },
  log: {
    value: ({ min, max, whole }, place) => {
      const x = min * (max / min) ** (place / 1000);
      return whole ? Math.round(x) : Number(x.toPrecision(3));
    },
    place: ({ min, max }, value) => (1000 * Math.log(value / min)) / Math.log(max / min),
  },
};

/**
 * Makes a slider with a field beside it, for numbers that a slider does not reach.
 * `moved(settled)` is told of every move; `settled` is false while the slider is held.
 */
function slider(spec, moved) {
  const scale = SCALES[spec.scale ?? "linear"];
  const id = `field-${spec.room}-${spec.name}`;
  const range = make("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": `${spec.symbol}: ${spec.label}` });
  const field = make("input", { type: "text", inputmode: "decimal", id, size: 7, autocomplete: "off" });
  const element = make("div", { class: "slider" },
    make("label", { for: id }, make("i", {}, spec.symbol), ` ${spec.label}`), range, field);
  const control = { element, name: spec.name, text: () => field.value };
  control.read = () => {
    const value = field.value.trim() === "" ? NaN : Number(field.value);
    if (!Number.isFinite(value)) throw new Error(`${spec.symbol} = ${field.value}: must be a number. Write one such as ${spec.start}`);
    if (spec.whole && !Number.isSafeInteger(value)) throw new Error(`${spec.symbol} = ${field.value}: must be a whole number. Write one such as ${spec.start}`);
    return value;
  };
  control.set = (value) => {
    field.value = value;
    range.value = Math.min(1000, Math.max(0, scale.place(spec, Number(value)) || 0));
  };
  const slide = (settled) => {
    field.value = scale.value(spec, Number(range.value));
    moved(settled);
  };
  range.addEventListener("input", () => slide(false));
  range.addEventListener("change", () => slide(true));
  field.addEventListener("change", () => {
    control.set(field.value);
    moved(true);
  });
  control.set(spec.start);
  return control;
}

/** Shows what the library refuses, or takes it away. */
function say(element, error) {
  element.textContent = error ? error.message : "";
  element.hidden = !error;
}
