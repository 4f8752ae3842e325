// Search, filters and orders of the claims and figures. The page can be read without this script.
const root = document.documentElement;
root.classList.add("script");
const byId = (id) => document.getElementById(id);
const each = (selector) => [...document.querySelectorAll(selector)];
const bar = byId("bar");
const words = byId("words");
const cards = each(".claim[id]");
const figures = each("section.paper figure");
const papers = each("section.paper");
const home = new Map(cards.map((card) => [card, card.parentElement]));
const numbered = new Map(cards.map((card) => [card.dataset.order, card]));
const name = (card) => card.querySelector(".name code").textContent;

// Anchors are scrolled to below the bar.
const measure = () => root.style.setProperty("--bar", bar.offsetHeight + "px");
addEventListener("resize", measure);
measure();

const texts = new Map();
const text = (element) => {
  if (!texts.has(element)) {
    const parts = element.querySelectorAll(".name code, .title, blockquote, .source, figcaption");
    const searched = [element.dataset.statement ?? "", ...[...parts].map((part) => part.textContent)];
    texts.set(element, searched.join(" ").toLowerCase());
  }
  return texts.get(element);
};
const chips = each(".chip");
const inPlace = (section, place) =>
  !place || section.id === place || (section.dataset.subjects ?? "").split("|").includes(place);

// Shows the claims with all words, of the verdict, and of the paper or subject; figures by words, or with a claim shown.
const filter = () => {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const place = byId("place").value;
  const { verdict } = chips.find((chip) => chip.getAttribute("aria-pressed") === "true").dataset;
  const fits = (element) => wanted.every((word) => text(element).includes(word));
  for (const card of cards) {
    const section = home.get(card).closest("section.paper");
    card.hidden = !(fits(card) && (!verdict || card.dataset.verdict === verdict) && inPlace(section, place));
  }
  for (const figure of figures) {
    const claimed = figure.dataset.claims.split(" ").filter(Boolean).some((i) => !numbered.get(i).hidden);
    const suits = verdict ? claimed : fits(figure) || claimed;
    figure.hidden = !(suits && inPlace(figure.closest("section.paper"), place));
  }
  for (const section of papers) section.hidden = ![...section.querySelectorAll(".claim, figure")].some((e) => !e.hidden);
  for (const part of [byId("contents"), byId("index")]) if (part) part.hidden = wanted.length > 0 || !!verdict || !!place;
  const shown = cards.filter((card) => !card.hidden).length;
  byId("shown").textContent = shown === cards.length ? "" : `${shown} of ${cards.length} claims`;
};

// Puts the claims of all papers into one list, or back into their sections.
const list = document.createElement("section");
list.id = "ordered";
const order = () => {
  const by = byId("order").value;
  const names = (a, b) => name(a).localeCompare(name(b), "en", { numeric: true });
  // An empty distance comes last: there is no promise to be far from.
  const far = ({ dataset }) => (dataset.distance === "" ? -Infinity : Number(dataset.distance.replace("inf", "Infinity")));
  const orders = {
    "": (a, b) => a.dataset.order - b.dataset.order,
    name: names,
    verdict: (a, b) => a.dataset.rank - b.dataset.rank || names(a, b),
    distance: (a, b) => (far(a) === far(b) ? names(a, b) : far(b) - far(a)),
  };
  const sorted = [...cards].sort(orders[by]);
  for (const card of sorted) (by ? list : home.get(card)).append(card);
  if (by) papers[0].before(list);
  else list.remove();
  root.classList.toggle("ordered", by !== "");
};

if (words) {
  words.addEventListener("input", filter);
  byId("place").addEventListener("change", filter);
  byId("order").addEventListener("change", order);
}
for (const chip of chips) {
  chip.addEventListener("click", () => {
    for (const other of chips) other.setAttribute("aria-pressed", String(other === chip));
    filter();
  });
}

// A link to a claim unfolds it, and shows it if it was filtered out.
const unfold = () => {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (words && (target.closest("[hidden]") || target.closest(".ordered section.paper"))) {
    words.value = byId("place").value = byId("order").value = "";
    order();
    chips[0].click();
  }
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();

addEventListener("keydown", (event) => {
  if (!words || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === words) {
    words.value = "";
    filter();
    words.blur();
  }
  if (event.target.matches("input, select, pre")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (event.key === "/") {
    event.preventDefault();
    words.focus();
  } else if (step) {
    const rows = each(".claim[id]:not([hidden]) > :first-child");
    const place = rows.indexOf(document.activeElement.closest(".claim")?.firstElementChild);
    rows[place < 0 ? 0 : place + step]?.focus();
  }
});

// The view of a page outlives a reload: place, unfolded parts, scrolled parts and choices.
const parts = each("details, .wide");
const partName = (part) => {
  const owner = part.parentElement.closest("[id]");
  return part.id || `${owner.id} ${[...owner.querySelectorAll("details, .wide")].indexOf(part)}`;
};
const keepView = () => {
  const named = (of, value) => Object.fromEntries(parts.filter(of).map((part) => [partName(part), value(part)]));
  history.replaceState({
    top: scrollY,
    open: named((part) => part.open, () => true),
    left: named((part) => part.scrollLeft, (part) => part.scrollLeft),
    controls: words && [words, byId("place"), byId("order")].map((control) => control.value),
    chip: chips.findIndex((chip) => chip.getAttribute("aria-pressed") === "true"),
  }, "");
};
const view = history.state;
if (view) {
  if (words && view.controls) {
    [words.value, byId("place").value, byId("order").value] = view.controls;
    order();
    (chips[view.chip] ?? chips[0]).click();
  }
  for (const part of parts) {
    if (part.tagName === "DETAILS") part.open = view.open[partName(part)] ?? false;
    part.scrollLeft = view.left[partName(part)] ?? 0;
  }
  scrollTo(0, view.top);
  history.replaceState(null, "");
}

// Folded claims are opened for paper, and folded again.
let opened = [];
addEventListener("beforeprint", () => {
  opened = cards.filter((card) => !card.open);
  for (const card of opened) card.open = true;
});
addEventListener("afterprint", () => opened.forEach((card) => (card.open = false)));

// Commands can be copied, and the numbers of a figure saved.
const button = (word, act) => {
  const made = document.createElement("button");
  made.className = "copy";
  made.textContent = word;
  made.addEventListener("click", act);
  return made;
};
for (const code of each("code.command")) {
  code.after(button("copy", () => navigator.clipboard?.writeText(code.textContent)));
}
for (const table of each("pre[data-name]")) {
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table.textContent], { type: "text/csv" }));
    link.download = table.dataset.name;
    link.click();
  };
  table.before(button("save", save));
}
