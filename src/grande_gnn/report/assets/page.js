"use strict";
// The page without its map: theme, thumbnails, lists and tables.
const grande = (() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const n = data.files.length;
  root.classList.add("js");

  // ---- Theme: the system's setting until the reader chooses one ----
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const remembered = (value) => {
    try { return value ? localStorage.setItem("grande-theme", value) : localStorage.getItem("grande-theme"); }
    catch { return null; } // some browsers have no storage for local files
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkQuery.matches);
  const setTheme = (value) => {
    if (value) root.dataset.theme = value;
    $("theme").textContent = isDark() ? "Light" : "Dark";
    document.dispatchEvent(new Event("themechange"));
  };

  // ---- Thumbnails: cells of sprite sheets, decoded when first seen ----
  const perSheet = data.columns ** 2;
  const urls = [];
  const sheetUrl = (k) => {
    if (!urls[k]) {
      const text = atob($("sheet-" + k).textContent);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      urls[k] = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    }
    return urls[k];
  };
  const cellOf = (i) => {
    const sheet = Math.floor(i / perSheet), place = i % perSheet;
    const rows = Math.ceil(Math.min(perSheet, n - sheet * perSheet) / data.columns);
    return { sheet, rows, column: place % data.columns, row: Math.floor(place / data.columns) };
  };
  const paintThumb = (element) => {
    const { sheet, rows, column, row } = cellOf(Number(element.dataset.i));
    const style = element.style;
    style.backgroundImage = `url(${sheetUrl(sheet)})`;
    style.backgroundSize = `${data.columns * 100}% ${rows * 100}%`;
    style.backgroundPosition =
      `${(100 * column) / Math.max(1, data.columns - 1)}% ${(100 * row) / Math.max(1, rows - 1)}%`;
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      paintThumb(entry.target);
    }
  }, { rootMargin: "300px" });
  if (data.sheets) document.querySelectorAll(".thumb").forEach((element) => watcher.observe(element));

  // ---- Small builders; text is only ever inserted as text, never as HTML ----
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const percent = (permille) =>
    (permille >= 995 && permille < 1000 ? ">\u00a099" : Math.round(permille / 10)) + "\u00a0%";
  const name = (label) => (label < 0 ? "no label" : data.classes[label]);
  const swatch = (label) => {
    const dot = make("i", "swatch");
    dot.style.setProperty("--l", data.light[label]);
    dot.style.setProperty("--d", data.dark[label]);
    return dot;
  };
  const labelled = (label) =>
    make("span", "label", ...(label < 0 ? [] : [swatch(label)]), make("bdi", "", name(label)));
  const thumb = (i, className) => {
    const element = make("button", "thumb " + className);
    element.type = "button";
    element.dataset.i = i;
    element.title = data.files[i];
    element.setAttribute("aria-label", "Show on the map: " + data.files[i]);
    paintThumb(element);
    return element;
  };
  const excerpt = (i, className) => {
    const element = make("blockquote", "excerpt " + className, data.texts[i]);
    element.dataset.i = i;
    element.dir = "auto";
    return element;
  };
  const best = (i) => (data.given[i] >= 0 ? data.given[i] : data.label[i]);

  // ---- Long lists start short; tables are sorted by clicking on a heading ----
  for (const list of document.querySelectorAll(".cards")) {
    const hidden = [...list.children].slice(Number(list.dataset.first));
    if (hidden.length < 3) continue;
    hidden.forEach((card) => { card.hidden = true; });
    const button = make("button", "plain more", `Show ${hidden.length} more`);
    button.addEventListener("click", () => {
      hidden.forEach((card) => { card.hidden = false; });
      button.remove();
    });
    list.after(button);
  }
  for (const table of document.querySelectorAll(".sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", "", head.textContent.trim());
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const value = (row) => Number(row.cells[column].dataset.v);
        const rows = [...table.tBodies[0].rows].sort((a, b) => sign * (value(a) - value(b)));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        table.tBodies[0].append(...rows);
      });
    });
  }

  $("theme").addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
    remembered(root.dataset.theme);
  });
  darkQuery.addEventListener("change", () => setTheme());
  setTheme(remembered());

  return { data, n, root, $, isDark, cellOf, sheetUrl, thumb, excerpt, make, percent, name, swatch, labelled, best };
})();
