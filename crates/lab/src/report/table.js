// Sorts the table of verdicts by the column whose heading is clicked; again for the other way. Cells
// without a number come last either way.
const table = document.getElementById("verdicts");
const rows = table ? [...table.tBodies[0].rows] : [];
for (const button of document.querySelectorAll("#verdicts thead button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const column = heading.cellIndex;
    const way = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const value = (row) => row.cells[column].dataset.value;
    const text = (row) => row.cells[column].textContent.trim();
    const order = (a, b) => {
      if (value(a) === undefined) return way * text(a).localeCompare(text(b), "en", { numeric: true });
      if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
      return way * (parseFloat(value(a)) - parseFloat(value(b)));
    };
    table.tBodies[0].append(...rows.sort(order));
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
  });
}
// Filters rows, and the claims under the table, by words (all of them) and by verdict.
const field = document.getElementById("filter");
const chips = [...document.querySelectorAll(".chip")];
const filter = () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = chips.find((c) => c.getAttribute("aria-pressed") === "true")?.dataset.verdict ?? "";
  let shown = 0;
  for (const row of rows) {
    const card = document.getElementById("claim-" + row.dataset.claim);
    const text = row.textContent.toLowerCase();
    const fits = words.every((w) => text.includes(w)) && (!verdict || row.dataset.verdict === verdict);
    row.hidden = card.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
};
field?.addEventListener("input", filter);
for (const chip of chips) {
  chip.addEventListener("click", () => {
    for (const other of chips) other.setAttribute("aria-pressed", String(other === chip));
    filter();
  });
}
// Folded claims are opened for paper, and by a link from the table.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
