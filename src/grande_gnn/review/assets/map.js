// The map: similar images lie close together; a line drawn around some of them selects them.
import { read } from "./api.js";
import { make, $ } from "./dom.js";
import { store, color, changed, said } from "./store.js";

const PAD = 16, NEAR = 12, MAX_PICKED = 120;

export class MapView {
  constructor(stage, queue) {
    this.stage = stage;
    this.queue = queue;
    this.data = { rows: [], xy: [], label: [], known: [], classes: [] };
    this.line = [];
    this.cursor = null;
  }

  get target() { return []; }

  async open() {
    this.stage.replaceChildren(make("p", { class: "empty" }, "The map is being drawn; this takes some seconds the first time."));
    this.data = await read("map");
    this.canvas = make("canvas", { tabindex: "0", "aria-label": said("Map: arrows move the cursor, space selects the images near it") });
    this.picked = make("div", { class: "picked" });
    const box = make("div", { class: "map" }, this.canvas);
    const n = this.data.rows.length;
    const note = n < this.data.n ? [make("p", { class: "quiet" }, said(`${n} of ${this.data.n} images, drawn at random.`))] : [];
    this.stage.replaceChildren(box, ...note, this.picked);
    this.listen();
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(box);
    this.draw();
  }

  async update() { this.data = await read("map"); this.draw(); }
  show() { this.draw(); this.showPicked(); }
  mark() { this.show(); }

  place(i) {
    return [PAD + (this.data.xy[2 * i] / 9999) * (this.width - 2 * PAD), PAD + (1 - this.data.xy[2 * i + 1] / 9999) * (this.height - 2 * PAD)];
  }

  draw() {
    if (!this.canvas?.isConnected) return;
    const scale = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    const brush = this.canvas.getContext("2d");
    brush.scale(scale, scale);
    const text = getComputedStyle(document.body).color, gray = getComputedStyle(this.picked).color;
    const colors = this.data.classes.map((one) => color(one));
    const radius = Math.max(1.8, Math.min(5, Math.sqrt((this.width * this.height) / Math.max(1, this.data.rows.length)) / 6));
    this.data.rows.forEach((row, i) => {
      const [x, y] = this.place(i), chosen = store.selected.has(row);
      brush.fillStyle = this.data.label[i] < 0 ? gray : colors[this.data.label[i]];
      brush.globalAlpha = store.selected.size && !chosen ? 0.35 : 0.9;
      brush.beginPath();
      brush.arc(x, y, radius * (this.data.known[i] ? 1.5 : 1), 0, 7);
      brush.fill();
      if (chosen || this.data.known[i]) { brush.globalAlpha = 1; brush.lineWidth = chosen ? 2 : 1; brush.strokeStyle = text; brush.stroke(); }
    });
    brush.globalAlpha = 1;
    brush.strokeStyle = text;
    brush.lineWidth = 1.5;
    if (this.line.length > 1) {
      brush.beginPath();
      this.line.forEach(([x, y], i) => (i ? brush.lineTo(x, y) : brush.moveTo(x, y)));
      brush.closePath();
      brush.stroke();
    }
    if (this.cursor) {
      brush.beginPath();
      brush.arc(...this.cursor, 10, 0, 7);
      brush.stroke();
    }
  }

  listen() {
    const spot = (event) => { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.line = [spot(event)];
      this.adding = event.shiftKey;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.line.length) return;
      this.line.push(spot(event));
      this.draw();
    });
    this.canvas.addEventListener("pointerup", () => {
      const line = this.line;
      this.line = [];
      if (!this.adding) store.selected.clear();
      if (line.length < 4) this.near(line[0] ?? [0, 0], 1, 14);
      else this.data.rows.forEach((row, i) => { if (inside(this.place(i), line)) store.selected.add(row); });
      this.chosen();
    });
  }

  near(spot, count, reach = Infinity) {
    const far = this.data.rows.map((row, i) => [Math.hypot(this.place(i)[0] - spot[0], this.place(i)[1] - spot[1]), row]);
    far.sort((a, b) => a[0] - b[0]);
    for (const [distance, row] of far.slice(0, count)) if (distance <= reach) store.selected.add(row);
  }

  chosen() { this.show(); changed("selection"); }

  showPicked() {
    const rows = [...store.selected].slice(0, MAX_PICKED);
    this.picked.replaceChildren(...rows.map((row) => make("img", { src: `/thumb/${row}`, alt: "", loading: "lazy" })));
  }

  select() { if (this.cursor) this.near(this.cursor, NEAR); this.chosen(); }

  key(event) {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return false;
    const [x, y] = this.cursor ?? [this.width / 2, this.height / 2];
    const clamp = (value, most) => Math.max(0, Math.min(most, value));
    this.cursor = [clamp(x + 14 * step[0], this.width), clamp(y + 14 * step[1], this.height)];
    this.draw();
    return true;
  }

  async decided() { this.show(); }
  async undone() { await this.update(); }
  close() { this.sizes?.disconnect(); $("near").replaceChildren(); }
}

// Whether a point lies inside the line, by the crossings of a ray (even-odd rule).
function inside([x, y], line) {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [ax, ay] = line[i], [bx, by] = line[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
