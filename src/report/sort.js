
// Sorts the table of verdicts by the column whose heading is clicked; again for the other way.
for (const button of document.querySelectorAll("#verdicts thead button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const column = [...heading.parentElement.children].indexOf(heading);
    const way = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = (row) => row.children[column].dataset.value ?? row.children[column].textContent.trim();
    const body = document.querySelector("#verdicts tbody");
    const order = (a, b) => way * key(a).localeCompare(key(b), "en", { numeric: true });
    const number = (a, b) => way * (parseFloat(key(a)) - parseFloat(key(b)));
    const rows = [...body.rows];
    const numeric = rows.every((row) => row.children[column].dataset.value !== undefined);
    body.append(...rows.sort(numeric ? number : order));
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
  });
}
// Folded claims are opened for paper, and by a link from the table.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
const unfold = () => { const d = document.getElementById(location.hash.slice(1)); if (d?.tagName === "DETAILS") d.open = true; };
addEventListener("hashchange", unfold);
unfold();
