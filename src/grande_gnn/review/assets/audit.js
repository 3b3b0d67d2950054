// The audit: images drawn at random, judged without seeing the predicted label.
import { read, write } from "./api.js";
import { make, message, name, percent, $ } from "./dom.js";
import { refresh, said, store } from "./store.js";
import { zoom } from "./zoom.js";

export class AuditView {
  constructor(stage, queue) {
    this.stage = stage;
    this.queue = queue;
    this.state = null;
    this.pictures = new Map();
    this.turn = 0; // grows with every question and every change
  }

  // The picture of a row; the next ones are fetched ahead of time.
  picture(row) {
    if (!this.pictures.has(row)) this.pictures.set(row, make("img", { src: `/picture/${row}`, alt: "", on: { click: () => zoom(row) } }));
    return this.pictures.get(row);
  }

  get target() { return this.state?.running && this.state.row !== null ? [this.state.row] : []; }

  // The server's state, or null if something was or is being judged meanwhile: the answer to that is the newer state.
  async ask() {
    const turn = ++this.turn;
    const state = await read("audit");
    return turn === this.turn && !this.isSending ? state : null;
  }

  async open() {
    const fresh = await this.ask();
    if (!fresh) return;
    this.state = fresh;
    this.show();
  }

  async update() {
    const fresh = await this.ask();
    if (!fresh) return;
    const same = this.state?.row === fresh.row && this.state?.running === fresh.running;
    this.state = fresh;
    if (same) this.showEstimate(); else this.show();
  }

  async act(body) {
    this.turn++;
    this.isSending = true;
    try {
      this.state = await write("audit", body);
    } catch (error) {
      message(`Not saved: ${error.message}`, 12);
      this.isSending = false;
      await this.open();
      return;
    }
    this.isSending = false;
    this.turn++;
    this.show();
    refresh();
  }

  async judge(label) {
    const [row] = this.target;
    if (row === undefined || this.isSending) return;
    await this.act({ action: "judge", row, label });
    store.own.length = 0;
  }

  show() {
    const { state } = this;
    $("near").replaceChildren();
    if (!state.running) return this.showStart();
    const parts = [];
    if (state.row === null) parts.push(make("p", { class: "empty" }, said("Every image of the audit is judged.")));
    else {
      const image = this.picture(state.row);
      state.ahead.forEach((row) => this.picture(row));
      const frame = make("div", { class: "shown" }, image);
      image.onerror = () => image.replaceWith(make("p", { class: "gone" }, said("This image cannot be shown. Choose “None of these”.")));
      parts.push(frame, make("div", { class: "caption" }, make("span", { class: "label" }, "Which class is it?"),
        make("span", { class: "quiet" }, "The predicted label is hidden until you have judged."),
        make("span", { class: "place" }, said(`image ${state.judged + 1} of the audit`))));
      this.stage.dataset.row = state.row;
    }
    this.estimate = make("div", { class: "estimate" });
    this.stage.replaceChildren(...parts, this.estimate);
    this.showEstimate();
  }

  showStart() {
    const { state } = this;
    this.estimate = make("div", { class: "estimate" });
    const begin = make("button", { type: "button", id: "audit-start", on: { click: () => this.act({ action: "start" }) } }, state.judged ? "Start another audit" : "Start an audit");
    this.stage.replaceChildren(make("div", { class: "text-block" },
      make("p", {}, said("The images of the audit are drawn when you start, before you see any of them. Judge as many as you like: with each one, the accuracy of all labels is known a little better.")),
      make("p", { class: "quiet" }, said("Judged images stay out of training until you end the audit; then they count as labels.")), begin), this.estimate);
    this.showEstimate();
  }

  showEstimate() {
    const { state } = this;
    if (!this.estimate) return;
    const parts = [];
    if (state.estimate) {
      const [value, low, high] = state.estimate;
      const text = `${state.running ? "After" : "Last audit, after"} ${state.judged} audited ${said(state.judged === 1 ? "image" : "images")}: `;
      parts.push(make("p", { id: "audit-estimate" }, text, make("b", {}, percent(value)), ` (${percent(low)} to ${percent(high)})`));
      if (state.running) parts.push(make("p", {}, state.more ? said(`About ${state.more.toLocaleString("en")} more images would narrow the interval to ± 3 points.`) : "The interval is within ± 3 points."));
    }
    if (state.last) {
      const [yours, ours] = state.last;
      parts.push(make("p", { id: "audit-last" }, said("The last image: you say "), name(yours || "none of these"), ", we said ", name(ours || "none"), yours === ours ? "." : " — wrong."));
    }
    for (const [label, value, low, high, n] of state.classes ?? [])
      parts.push(make("p", { class: "quiet" }, "Labelled ", name(label), `: ${percent(value)} right (${percent(low)} to ${percent(high)}, ${n} judged)`));
    if (state.estimate) parts.push(make("p", { class: "quiet" }, said(state.method)));
    if (state.running) parts.push(make("button", { type: "button", id: "audit-end", on: { click: () => this.act({ action: "end" }) } }, "End the audit"));
    this.estimate.replaceChildren(...parts);
  }

  select() {}
  async decided() {}
  async undone() { await this.open(); }
  key() { return false; }
  close() {}
}
