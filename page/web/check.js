"use strict";
// Room 3: the check of any claim.

/** Reads a value as `--set name=value` does: JSON if it is, otherwise a word. */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Makes the room: `show(settings)` sets it by those of a link, `settings()` returns them. */
function checkRoom(engine, catalogue, changed) {
  const room = document.getElementById("check");
  const part = (name) => room.querySelector(`[data-part="${name}"]`);
  const [choice, words, form, run, stop, bar] = ["choice", "words", "parameters", "run", "stop", "bar"].map(part);
  const own = Object.fromEntries(["seed", "trials", "level", "beyond"].map((name) => [name, part(name)]));
  let [card, fields, result] = [undefined, new Map()];

  /** Lists the claims that have all words in id, title or statement. */
  function list() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (claim) => wanted.every((word) => `${claim.id} ${claim.title} ${claim.statement}`.toLowerCase().includes(word));
    const groups = catalogue.map(({ name, papers, claims }) => {
      const options = claims.filter(fits).map(({ id, title }) => make("option", { value: id }, `${id}: ${title.replaceAll("$", "")}`));
      return make("optgroup", { label: `${name}: ${papers[0] ?? ""}` }, ...options);
    });
    choice.replaceChildren(...groups.filter((group) => group.children.length));
    const count = choice.querySelectorAll("option").length;
    part("count").textContent = `${count} of ${catalogue.flatMap((r) => r.claims).length} claims`;
    if (card) choice.value = card.id;
  }

  async function open(id, given = {}) {
    try {
      card = await engine.ask({ do: "show", id });
    } catch (error) {
      say(part("refusal"), error);
      return;
    }
    say(part("refusal"), null);
    result = undefined;
    part("result").replaceChildren();
    choice.value = card.id;
    part("title").innerHTML = card.title_html;
    part("statement").innerHTML = card.statement_html;
    part("source").textContent = `${card.source}. Expected here: ${card.expected}.`;
    fields = new Map();
    form.replaceChildren(...card.parameters.map((parameter) => {
      const id = `parameter-${parameter.name}`;
      const shown = parameter.default === null ? "" : JSON.stringify(parameter.default).replace(/^"(.*)"$/, "$1");
      const field = make("input", { id, autocomplete: "off", spellcheck: "false", placeholder: shown, value: given[parameter.name] ?? "" });
      field.addEventListener("change", changed);
      fields.set(parameter.name, field);
      const formula = parameter.formula ? `${parameter.formula}; ` : "";
      return make("div", { class: "parameter" },
        make("label", { for: id }, make("code", {}, parameter.name), parameter.symbol ? ` ${parameter.symbol}` : ""),
        field, make("small", {}, `${parameter.doc} (${formula}${parameter.allowed})`));
    }));
    own.seed.value = given.seed ?? "0";
    own.trials.value = given.trials ?? "";
    own.trials.placeholder = card.trials ?? "";
    own.level.value = given.level ?? "";
    own.beyond.checked = given.beyond === "1";
    const seconds = (card.seconds ?? 0) * (card.trials ?? 0);
    part("time").textContent = seconds > 20
      ? `At the defaults this takes about ${seconds > 120 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds)} s`} on one core by the command, and longer here.`
      : "";
  }

  function request() {
    const set = {};
    for (const [name, field] of fields) if (field.value.trim() !== "") set[name] = valueOf(field.value.trim());
    const number = (name, requirement) => {
      const text = own[name].value.trim();
      if (text === "") return undefined;
      const value = Number(text);
      if (!Number.isFinite(value) || (name !== "level" && !(Number.isSafeInteger(value) && value >= 0))) {
        throw new Error(`${name} = ${text}: must be ${requirement}`);
      }
      return value;
    };
    const whole = "a whole number from 0 to 9007199254740991";
    return { do: "check", id: card.id, set, seed: number("seed", whole) ?? 0, trials: number("trials", whole),
      level: number("level", "a number in (0, 1)"), beyond_hypotheses: own.beyond.checked };
  }

  async function check() {
    if (!card || run.disabled) return;
    changed();
    result = undefined;
    say(part("refusal"), null);
    part("result").replaceChildren();
    let asked;
    try {
      asked = request();
    } catch (error) {
      return say(part("refusal"), error);
    }
    run.disabled = true;
    stop.hidden = bar.hidden = false;
    bar.removeAttribute("value");
    part("progress").textContent = "";
    try {
      result = await engine.ask(asked, (done, total) => {
        bar.max = total;
        bar.value = done;
        part("progress").textContent = `${done} of ${total}`;
      });
      show();
    } catch (error) {
      say(part("refusal"), error);
    }
    run.disabled = false;
    stop.hidden = bar.hidden = true;
    part("progress").textContent = "";
  }

  function show() {
    const holder = make("div");
    holder.innerHTML = result.card;
    const json = JSON.stringify(result.report, null, 2);
    part("result").replaceChildren(holder,
      make("details", {}, make("summary", {}, "JSON, as attnlab check --json prints it"), make("pre", { tabindex: 0 }, json)));
    part("result").setAttribute("data-verdict", result.report.verdict);
  }

  words.addEventListener("input", list);
  choice.addEventListener("change", async () => {
    await open(choice.value);
    changed();
  });
  Object.values(own).forEach((field) => field.addEventListener("change", changed));
  part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  stop.addEventListener("click", () => engine.stop("stopped, and nothing of it is kept"));
  list();

  return {
    settings() {
      if (!card) return {};
      const ownValues = { seed: own.seed.value, trials: own.trials.value, level: own.level.value, beyond: own.beyond.checked ? "1" : "" };
      const set = [...fields].map(([name, field]) => [name, field.value]);
      return Object.fromEntries([...Object.entries(ownValues), ...set].filter(([, value]) => value.trim() !== ""));
    },
    id: () => card?.id,
    redraw() {},
    async show(given) {
      await open(given.check || card?.id || catalogue[0].claims[0].id, given);
    },
  };
}
