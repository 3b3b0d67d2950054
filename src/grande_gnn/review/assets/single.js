// One image at a time. The next pictures are fetched ahead of time.
import { read } from "./api.js";
import { make, name, percent, $ } from "./dom.js";
import { zoom } from "./zoom.js";
import { store, details, color, said } from "./store.js";

const AHEAD = 7;
const KEEP = AHEAD - 1; // the next images, which were fetched ahead, stay where they are when the queue is sorted again

export class Single {
  constructor(stage, queue) {
    this.stage = stage;
    this.queue = queue;
    this.rows = [];
    this.at = 0;
    this.pictures = new Map();
    this.left = new Set(); // decided here: they come back only if they are undone
  }

  get row() { return this.rows[this.at]; }
  get target() { return this.row === undefined ? [] : [this.row]; }

  async open() {
    this.rows = await this.fetchRows();
    this.at = 0;
    await this.show();
  }

  async fetchRows() {
    const { rows } = await read("queue", { name: this.queue.name });
    return rows.filter((row) => !this.left.has(row));
  }

  // The queue after new labels: the images at hand stay, the rest is sorted again.
  async update() {
    const fresh = await this.fetchRows();
    const seen = this.rows.slice(0, this.at + 1 + KEEP);
    const known = new Set(seen);
    this.rows = [...seen, ...fresh.filter((row) => !known.has(row))];
    await this.show();
  }

  picture(row) {
    let image = this.pictures.get(row);
    if (!image) {
      image = make("img", { src: `/picture/${row}`, alt: "", decoding: "async", fetchpriority: "high" });
      this.pictures.set(row, image);
      if (this.pictures.size > 60) this.pictures.delete(this.pictures.keys().next().value);
    }
    return image;
  }

  prefetch() {
    const next = this.rows.slice(this.at, this.at + AHEAD);
    next.forEach((row) => this.picture(row));
    return next.length ? details(next) : Promise.resolve([]);
  }

  async show() {
    const row = this.row;
    if (row === undefined) {
      const text = this.rows.length ? "You have finished this queue." : "There is nothing in this queue.";
      this.stage.replaceChildren(make("p", { class: "empty" }, text));
      $("near").replaceChildren();
      this.onShow?.(null);
      return;
    }
    const image = this.picture(row);
    const frame = make("div", { class: `shown${store.selected.has(row) ? " selected" : ""}` });
    image.onclick = () => zoom(row);
    image.onerror = () => image.replaceWith(make("p", { class: "gone" }, said("This image cannot be shown: it was moved, deleted or damaged.")));
    frame.append(image);
    const caption = make("div", { class: "caption" });
    this.stage.replaceChildren(frame, caption);
    performance.mark("shown");
    this.stage.dataset.row = row;
    const known = store.details.get(row);
    if (known) this.describe(known, caption);
    await this.prefetch();
    if (this.row === row) this.describe(store.details.get(row), caption);
  }

  describe(image, caption) {
    if (!image || !this.stage.isConnected) return;
    const parts = [];
    if (image.rejected) parts.push(make("span", { class: "label" }, "None of the classes"));
    else if (image.label) {
      const given = image.given ? ` (${image.provenance})` : ` ${percent(image.confidence)}`;
      parts.push(make("span", { class: "label" }, make("span", { class: "swatch", color: color(image.label) }), name(image.label)));
      parts.push(make("span", { class: "quiet" }, given.trim()));
      if (!image.given && image.runner_up) parts.push(make("span", { class: "quiet" }, "or ", name(image.runner_up)));
    } else parts.push(make("span", { class: "label quiet" }, "No label yet"));
    if (image.suggested) parts.push(make("span", { class: "warn" }, "looks like ", name(image.suggested)));
    if (image.flags && !image.suggested) parts.push(make("span", { class: "warn" }, image.flags.split(" ").map((flag) => flag.replaceAll("_", " ")).join(", ")));
    if (image.skipped) parts.push(make("span", { class: "quiet" }, "skipped"));
    parts.push(make("span", { class: "place" }, `${this.at + 1} of ${this.rows.length}`));
    parts.push(make("span", { class: "file" }, name(image.file)));
    if (image.text) this.picture(image.row).alt = image.text;
    caption.replaceChildren(...parts);
    this.neighbors(image);
    this.onShow?.(image);
  }

  neighbors(image) {
    const figures = image.near.map((other) =>
      make("figure", { class: other.known ? "known" : "" },
        other.text ? make("p", { dir: "auto" }, other.text)
          : make("img", { src: `/thumb/${other.row}`, alt: "", loading: "lazy", fetchpriority: "low", title: other.label }),
        make("figcaption", {}, make("span", { class: "swatch", color: color(other.label) }), name(other.label || "no label"))));
    $("near").replaceChildren(...(figures.length ? [make("h2", {}, "Most similar (bold: labelled by a person)"), make("div", { class: image.text ? "strip texts" : "strip" }, ...figures)] : []));
  }

  move(step) {
    this.at = Math.max(0, Math.min(this.rows.length, this.at + step));
    return this.show();
  }

  // After a decision: the next image.
  decided(rows) {
    rows.forEach((row) => this.left.add(row));
    return this.move(1);
  }

  async undone(rows) {
    rows.forEach((row) => this.left.delete(row));
    const place = rows.length ? this.rows.indexOf(rows[0]) : -1;
    if (place >= 0) this.at = place;
    else if (rows.length === 1) this.rows.splice(this.at, 0, rows[0]);
    await this.show();
  }

  select() {
    const row = this.row;
    if (row === undefined) return;
    if (!store.selected.delete(row)) { store.selected.add(row); this.move(1); } else this.show();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) this.move(step);
    return Boolean(step);
  }

  close() { $("near").replaceChildren(); }
}
