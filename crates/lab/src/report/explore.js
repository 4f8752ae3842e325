// Search, filters and orders of the claims and figures. The page can be read without this script.
const root = document.documentElement;
root.classList.add("script");
const find = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const bar = find("bar");
const cards = all(".claim[id]");
const figures = all("figure");
const papers = all("section.paper");
const home = new Map(cards.map((card) => [card, card.parentElement]));
const name = (card) => card.querySelector("summary code").textContent;

// Anchors are scrolled to below the bar.
const measure = () => bar && root.style.setProperty("--bar", bar.offsetHeight + "px");
addEventListener("resize", measure);
measure();

const texts = new Map();
const text = (element) => {
  if (!texts.has(element)) {
    const parts = element.querySelectorAll("summary code, .title, blockquote, .source, figcaption");
    texts.set(element, [...parts].map((part) => part.textContent).join(" ").toLowerCase());
  }
  return texts.get(element);
};
const chips = all(".chip");
const chosen = () => chips.find((chip) => chip.getAttribute("aria-pressed") === "true")?.dataset.verdict ?? "";
const inPlace = (section, place) => {
  const subjects = section?.dataset.subjects?.split("|") ?? [];
  return !place || section?.id === place || subjects.includes(place);
};

// Shows the claims with all words, of the verdict, and of the paper or subject; figures by words, or with a claim shown.
const filter = () => {
  const words = find("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [verdict, place] = [chosen(), find("place").value];
  const fits = (element) => words.every((word) => text(element).includes(word));
  let shown = 0;
  for (const card of cards) {
    const section = home.get(card).closest("section.paper");
    card.hidden = !(fits(card) && (!verdict || card.dataset.verdict === verdict) && inPlace(section, place));
    shown += !card.hidden;
  }
  for (const figure of figures) {
    const own = figure.dataset.claims.split(" ").filter(Boolean).some((i) => !cards[i]?.hidden);
    const section = figure.closest("section.paper");
    figure.hidden = !(inPlace(section, place) && (verdict ? own : fits(figure) || (words.length > 0 && own)));
  }
  for (const section of papers) section.hidden = ![...section.querySelectorAll(".claim, figure")].some((e) => !e.hidden);
  for (const part of [find("contents"), find("subjects")]) if (part) part.hidden = words.length > 0 || !!verdict || !!place;
  find("shown").textContent = shown === cards.length ? "" : `${shown} of ${cards.length} claims`;
};

// Puts the claims of all papers into one list, or back into their sections.
const list = document.createElement("section");
list.id = "ordered";
const order = () => {
  const by = find("order").value;
  const names = (a, b) => name(a).localeCompare(name(b), "en", { numeric: true });
  // An empty distance comes last: there is no promise to be far from.
  const far = (card) => (card.dataset.distance === "" ? -Infinity : Number(card.dataset.distance.replace("inf", "Infinity")));
  const orders = {
    "": (a, b) => a.dataset.order - b.dataset.order,
    name: names,
    verdict: (a, b) => a.dataset.rank - b.dataset.rank || names(a, b),
    distance: (a, b) => {
      const [x, y] = [far(a), far(b)];
      return x === y ? names(a, b) : y - x;
    },
  };
  const sorted = [...cards].sort(orders[by]);
  if (by) list.append(...sorted);
  else for (const card of sorted) home.get(card).append(card);
  if (by) papers[0]?.before(list);
  else list.remove();
  root.classList.toggle("ordered", by !== "");
};

find("words")?.addEventListener("input", filter);
find("place")?.addEventListener("change", filter);
find("order")?.addEventListener("change", order);
for (const chip of chips) {
  chip.addEventListener("click", () => {
    for (const other of chips) other.setAttribute("aria-pressed", String(other === chip));
    filter();
  });
}

// A link to a claim unfolds it, and shows it if it was filtered out.
const unfold = () => {
  const target = find(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]") && find("words")) {
    find("words").value = find("place").value = "";
    chips[0].click();
  }
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
// Folded claims are opened for paper.
addEventListener("beforeprint", () => all("details.claim").forEach((card) => (card.open = true)));

// Commands can be copied, and the numbers of a figure saved, where the browser allows it.
const button = (word, after, act) => {
  const made = document.createElement("button");
  made.className = "copy";
  made.textContent = word;
  made.addEventListener("click", act);
  after.after(made);
};
for (const code of all("code.command")) {
  button("copy", code, () => navigator.clipboard?.writeText(code.textContent));
}
for (const table of all("pre[data-name]")) {
  button("save", table.previousElementSibling.querySelector("code"), (event) => {
    event.preventDefault();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table.textContent], { type: "text/csv" }));
    link.download = table.dataset.name;
    link.click();
  });
}
