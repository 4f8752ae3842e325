// Every claim that the page offers, checked by few trials in WebAssembly and by the command: the verdicts must be equal,
// and the numbers up to rounding.
//
//   node page/test.mjs FOLDER ATTNLAB [PREFIX]
//
// FOLDER is a built page, ATTNLAB the command of the same sources. Needs no package.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, attnlab, prefix = ""] = process.argv.slice(2);
if (!folder || !attnlab) {
  console.error("usage: node page/test.mjs FOLDER ATTNLAB [PREFIX]");
  process.exit(2);
}
const source = (name) => readFileSync(join(folder, name), "utf8");
const { attnlabInstance, attnlabModule, ATTNLAB_WASM } = new Function(
  `${source("wasm.js")}${source("engine.js")}; return { attnlabInstance, attnlabModule, ATTNLAB_WASM };`,
)();
const module = await attnlabModule(ATTNLAB_WASM);
const call = (request) => attnlabInstance(module, () => {})(request);

/** Number of trials. Two, as in the tests of the library: a verdict, and more than one draw. */
const TRIALS = 2;
/**
 * Largest relative difference of two numbers. exp, log and the trigonometric functions differ in their last bit between
 * systems' libraries, sums are taken over vectors of two numbers here and of four or eight there, and a product is
 * rounded once or twice. What a claim reads off differences (slopes of remainders, 1e-7) keeps fewer digits, and the
 * interval of two trials is 13 times as wide as they are apart.
 */
const TOLERANCE = 1e-5;
/** Numbers below this are rounding itself, the difference of nearly equal ones. */
const ROUNDING = 1e-9;
/** A p-value near 0 changes by as much as its logarithm is large. */
const OF_P_VALUE = 0.01;
/** Claims on trained networks, in f32: rounding decides the way of a training, so that only the verdicts are compared. */
const TRAINED = ["joma.table1_gain", "joma.table1_excess"];
/** Claims on gradient flows: the step of the solver follows from estimates of its error, which are differences. */
const FLOWS = { "joma.theorem1_exp": 0.05, "lsa.limit": 0.05, "lsa.pl": 0.05 };
/** Fields that depend on the machine. */
const OF_MACHINE = new Set(["wall_s"]);

/** Lists where two values differ. */
function differences(a, b, path = "") {
  if (typeof a === "number" && typeof b === "number") {
    const [id] = Object.keys(FLOWS).filter((id) => path.startsWith(`${id}.witness.`));
    const tolerance = id ? FLOWS[id] : path.endsWith(".p_value") ? OF_P_VALUE : TOLERANCE;
    const close = Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b)) + ROUNDING;
    return close ? [] : [`${path}: ${a} here, ${b} by the command`];
  }
  if (a && b && typeof a === "object" && typeof b === "object") {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !OF_MACHINE.has(name));
    return names.flatMap((name) => differences(a[name], b[name], path ? `${path}.${name}` : name));
  }
  if (typeof a === "string" && typeof b === "string") {
    // Texts hold numbers too, with few digits.
    const number = /-?\d+(\.\d+)?(e-?\d+)?/g;
    const same = a.replace(number, "#") === b.replace(number, "#");
    const numbers = (text) => (text.match(number) ?? []).map(Number);
    const [x, y] = [numbers(a), numbers(b)];
    const close = (u, v) => Math.abs(u - v) <= 0.06 * Math.max(Math.abs(u), Math.abs(v)) + ROUNDING;
    return same && x.every((u, i) => close(u, y[i])) ? [] : [`${path}: "${a}" here, "${b}" by the command`];
  }
  return a === b ? [] : [`${path}: ${JSON.stringify(a)} here, ${JSON.stringify(b)} by the command`];
}

/** Checks by the command: the report, or the message of a refusal. */
function commanded(id) {
  const done = spawnSync(attnlab, ["check", id, "--trials", String(TRIALS), "--json"], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (done.stdout.trim()) return { report: JSON.parse(done.stdout) };
  return { refusal: done.stderr.trim() };
}

/** Checks here, with an instance of its own: what one check leaves cannot change another. */
function checked(id) {
  try {
    return call({ do: "check", id, trials: TRIALS });
  } catch (error) {
    return { refusal: error.message };
  }
}

const claims = call({ do: "catalogue" }).flatMap((room) => room.claims).filter(({ id }) => id.startsWith(prefix));
const listed = execFileSync(attnlab, ["list", "--json"], { encoding: "utf8" }).trim().split("\n").map(JSON.parse);
const faults = differences(claims, listed.filter(({ id }) => id.startsWith(prefix)), "list");
let [slowest, refused, large] = [[0, ""], 0, []];
for (const { id } of claims) {
  const start = performance.now();
  const here = checked(id);
  const taken = performance.now() - start;
  if (taken > slowest[0]) slowest = [taken, id];
  const there = commanded(id);
  if (here.refusal || there.refusal) {
    refused += 1;
    // A browser has 2 GB.
    if (/memory/.test(here.refusal) && !there.refusal) large.push(id);
    else if (!(here.refusal && there.refusal)) faults.push(`${id}: ${here.refusal ?? "checked"} here, ${there.refusal ?? "checked"} by the command`);
    continue;
  }
  const verdict = ({ claim, verdict, expected, parameters }) => ({ claim, verdict, expected, parameters });
  const compared = TRAINED.includes(id) ? verdict : (report) => report;
  faults.push(...differences(compared(here.report), compared(there.report), id));
}

// The rooms of the page, against the same numbers of the command.
const setting = { tokens: 600, clusters: 2, dim: 64, delta: 0.04, eta: 0.5, tau: 0.55, seed: 3 };
const flags = Object.entries(setting).flatMap(([name, value]) => [`--${name}`, String(value)]);
const horizon = JSON.parse(execFileSync(attnlab, ["horizon", ...flags, "--json"], { encoding: "utf8" }));
const drawn = call({ do: "horizon", ...setting });
for (const report of [horizon, drawn]) delete report.gflops;
const law = call({ do: "law", ...setting });
faults.push(...differences(law.exact_updates, horizon.predicted.exact_updates, "law"));
delete horizon.predicted;
faults.push(...differences(drawn, horizon, "horizon"));
const { layer, broken } = law.layers[2];
const { eta, seed, ...of_law } = setting;
const set = Object.entries({ ...of_law, theta: (1 + eta * setting.tau) ** layer });
const lambda = ["eval", "aot.horizon_lambda", ...set.flatMap(([name, value]) => ["--set", `${name}=${value}`]), "--json"];
const { value } = JSON.parse(execFileSync(attnlab, lambda, { encoding: "utf8" }));
faults.push(...differences(broken, 1 - Math.exp(-value), `law at layer ${layer}`));

for (const fault of faults) console.log(fault);
if (large.length) console.log(`too large for a browser at their defaults: ${large.join(", ")}`);
console.log(`${claims.length} claims, ${refused} refused, ${faults.length} differences; slowest here: ${slowest[1]}, ${(slowest[0] / 1000).toFixed(1)} s`);
process.exit(faults.length ? 1 : 0);
