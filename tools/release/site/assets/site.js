// The search, and the list of pages, which is folded on a phone. All pages are readable without this script.
"use strict";
const root = document.currentScript.dataset.root;
const field = document.getElementById("search");
const list = document.getElementById("found");
const most = 30;

if (matchMedia("(max-width: 48rem)").matches) document.querySelector("nav details").open = false;

let loading;
/** index has the words of all sections. A script loads it at the first search. */
const index = () => loading ??= new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = `${root}search.js`;
  script.onload = () => resolve(globalThis.searchIndex.map(([title, page, at, words]) => {
    return { title, page, at, head: title.toLowerCase(), words: ` ${words}` };
  }));
  script.onerror = reject;
  document.head.append(script);
});

/** find lists the sections that contain words with all the given beginnings; matches in the title come first. */
function find(sections, text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return [];
  const found = [];
  for (const section of sections) {
    let weight = 0;
    for (const word of words) {
      if (section.head === word) weight += 100;
      else if (section.head.includes(word)) weight += 10;
      else if (section.words.includes(` ${word} `) || section.words.endsWith(` ${word}`)) weight += 2;
      else if (section.words.includes(` ${word}`)) weight += 1;
      else { weight = 0; break; }
    }
    if (weight > 0) found.push({ section, weight });
  }
  return found.sort((a, b) => b.weight - a.weight).slice(0, most).map(({ section }) => section);
}

let chosen = 0;
const links = () => [...list.querySelectorAll("a")];

function choose(i) {
  const all = links();
  if (all.length === 0) return;
  chosen = (i + all.length) % all.length;
  all.forEach((a, n) => a.setAttribute("aria-selected", String(n === chosen)));
  all[chosen].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", all[chosen].id);
}

function close() {
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

async function show() {
  const text = field.value.trim();
  if (text === "") return close();
  const sections = await index();
  if (field.value.trim() !== text) return; // the query has changed meanwhile
  const found = find(sections, text);
  list.replaceChildren(...found.map((section, i) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const page = document.createElement("small");
    link.href = root + section.at;
    link.id = `found-${i}`;
    link.tabIndex = -1;
    link.setAttribute("role", "option");
    page.textContent = section.page;
    link.append(section.title, page);
    item.setAttribute("role", "presentation");
    item.append(link);
    return item;
  }));
  if (found.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing has all these words.";
    list.append(item);
  }
  list.hidden = false;
  field.setAttribute("aria-expanded", "true");
  choose(0);
}

field.addEventListener("input", show);
field.addEventListener("focus", () => { index(); show(); });
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen - 1);
  else if (event.key === "Enter") links()[chosen]?.click();
  else if (event.key === "Escape") { field.value = ""; close(); field.blur(); return; }
  else return;
  event.preventDefault();
});
list.addEventListener("click", close);
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
  event.preventDefault();
  field.focus();
});
