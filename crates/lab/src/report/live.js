// Reloads a page that is written anew while runs go on, unless its reader is at work on it.
const live = byId("live");
for (const time of live.querySelectorAll("time")) time.textContent = new Date(time.dateTime).toLocaleString();
const reload = () => {
  const busy = document.activeElement === words || !getSelection().isCollapsed;
  if (busy) return wait();
  keepView();
  location.reload();
};
const wait = () => setTimeout(reload, 1000 * live.dataset.every);
wait();
