// Many images side by side: click or space selects, shift-click selects a range, a class key labels what is selected.
import { read } from "./api.js";
import { make, name, percent, $ } from "./dom.js";
import { zoom } from "./zoom.js";
import { store, details, color, changed } from "./store.js";

const PORTION = 60;

export class Gallery {
  constructor(stage, queue, about) {
    this.stage = stage;
    this.queue = queue;
    this.about = about;
    this.rows = [];
    this.at = 0;
    this.shown = PORTION;
    this.label = store.state.classes.find((one) => one.count)?.name ?? "";
    this.tiles = new Map();
  }

  get row() { return this.rows[this.at]; }
  get target() { return this.row === undefined ? [] : [this.row]; }

  async open() {
    if (this.queue.name === "class") this.choice();
    const { rows } = await read("queue", { name: this.queue.name, label: JSON.stringify(this.label) });
    this.rows = rows;
    this.at = Math.min(this.at, Math.max(0, rows.length - 1));
    await this.show();
  }

  choice() {
    const { classes } = store.state;
    const options = classes.map((one, place) => {
      const option = make("option", { value: place }, `${one.name} (${one.count})`);
      option.selected = one.name === this.label;
      return option;
    });
    const choose = make("select", { id: "gallery-class", "aria-label": "Class", on: { change: () => { this.label = classes[Number(choose.value)].name; this.at = 0; this.shown = PORTION; store.selected.clear(); choose.blur(); changed("selection"); this.open(); } } }, ...options);
    this.about.replaceChildren(this.queue.about, choose);
  }

  async update() {
    if (!this.rows.length) return this.open(); // what is shown stays where it is, but nothing may become something
    if (this.queue.name === "class") this.choice();
    return this.show();
  }

  async show() {
    const rows = this.rows.slice(0, this.shown);
    if (!rows.length) {
      this.stage.replaceChildren(make("p", { class: "empty" }, "There is nothing in this queue."));
      return;
    }
    const list = make("ul", { class: "gallery" });
    this.tiles.clear();
    rows.forEach((row, place) => {
      const text = make("span", { class: "text" });
      const tile = make("button", { type: "button", "aria-pressed": String(store.selected.has(row)), "data-row": row,
        on: { click: (event) => this.pick(place, event.shiftKey), dblclick: () => zoom(row), focus: () => { this.at = place; } } },
        make("img", { src: `/thumb/${row}`, alt: "", loading: "lazy" }), text);
      this.tiles.set(row, { tile, text });
      list.append(make("li", {}, tile));
    });
    const focused = this.stage.contains(document.activeElement);
    this.stage.replaceChildren(list);
    if (rows.length < this.rows.length)
      this.stage.append(make("button", { type: "button", class: "more", on: { click: () => { this.shown += PORTION; this.show(); } } }, `Show more (${this.rows.length - rows.length} left)`));
    if (focused) this.focus(this.at);
    $("near").replaceChildren();
    for (const image of await details(rows)) this.describe(image);
  }

  describe(image) {
    const found = image && this.tiles.get(image.row);
    if (!found) return;
    const left = this.queue.name === "class" && image.label !== this.label;
    found.tile.classList.toggle("left", left);
    const sure = image.given ? (image.provenance === "given" ? "given" : "✓") : percent(image.confidence);
    const before = image.before ? [name(image.before), " → "] : [];
    found.text.replaceChildren(
      make("span", {}, make("span", { class: "swatch", color: color(image.label) }), ...before, name(image.rejected ? "none" : image.label || "no label")),
      make("span", { class: "quiet" }, sure));
    found.tile.title = image.text || image.file;
    if (image.text) found.tile.querySelector("img").alt = image.text;
  }

  pick(place, range) {
    const row = this.rows[place];
    if (range && this.anchor !== undefined) {
      const [low, high] = [Math.min(place, this.anchor), Math.max(place, this.anchor)];
      for (const one of this.rows.slice(low, high + 1)) store.selected.add(one);
    } else if (!store.selected.delete(row)) store.selected.add(row);
    this.anchor = place;
    this.at = place;
    this.mark();
    changed("selection");
  }

  mark() {
    for (const [row, { tile }] of this.tiles) tile.setAttribute("aria-pressed", String(store.selected.has(row)));
  }

  select() { if (this.row !== undefined) this.pick(this.at, false); }

  focus(place) {
    this.at = Math.max(0, Math.min(this.tiles.size - 1, place));
    this.tiles.get(this.row)?.tile.focus();
  }

  async decided() { this.mark(); }
  async undone() { await this.show(); }

  key(event) {
    const tiles = [...this.tiles.values()].map((one) => one.tile.getBoundingClientRect().top);
    const columns = Math.max(1, tiles.filter((top) => top === tiles[0]).length);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (step) this.focus(this.at + step);
    return Boolean(step);
  }

  close() { $("near").replaceChildren(); }
}
