// The page: queues on the left, images in the middle, classes on the right, and the keys for all of it.
import { leave } from "./api.js";
import { AuditView } from "./audit.js";
import { make, message, percent, $ } from "./dom.js";
import { editClasses, exportDialog, find, help, save } from "./dialogs.js";
import { Gallery } from "./gallery.js";
import { keyOf, MANY, placeOf } from "./keys.js";
import { MapView } from "./map.js";
import { Single } from "./single.js";
import { changed, color, decide, details, onChange, refresh, said, store, undo } from "./store.js";
import { zoom } from "./zoom.js";

const LOOKS = { single: Single, gallery: Gallery, map: MapView, audit: AuditView };
const FEW = 12;  // more classes are shown in two columns, so that all of them can be seen
const LONG = 10;  // names with more characters take both columns
let view = null, current = "", shown = null;

// ---- Queues ----
async function openQueue(which) {
  const queue = store.state.queues.find((one) => one.name === which) ?? store.state.queues[0];
  view?.close();
  current = queue.name;
  store.selected.clear();
  $("about").replaceChildren(queue.about);
  const stage = make("div", { id: "stage" }); // a new element, so that late answers to an earlier view are drawn nowhere
  $("stage").replaceWith(stage);
  view = new (LOOKS[queue.look] ?? Single)(stage, queue, $("about"));
  view.onShow = (image) => { shown = image; drawClasses(); };
  shown = null;
  draw();
  await view.open();
  performance.mark("grande-ready");
}

function drawQueues() {
  const { queues } = store.state;
  $("queues").replaceChildren(...queues.map((queue) =>
    make("button", { type: "button", title: queue.about, "data-queue": queue.name, "aria-current": String(queue.name === current), on: { click: (event) => { event.currentTarget.blur(); openQueue(queue.name); } } },
      queue.title, make("span", { class: "n" }, queue.count === null ? "" : queue.count.toLocaleString("en")))));
  const choose = $("queue");
  choose.replaceChildren(...queues.map((queue) => {
    const option = make("option", { value: queue.name }, queue.count === null ? queue.title : `${queue.title} (${queue.count.toLocaleString("en")})`);
    option.selected = queue.name === current;
    return option;
  }));
}

// ---- Classes ----
function drawClasses() {
  const { classes } = store.state;
  const has = shown && !shown.rejected ? shown.label : null;
  const scroll = $("classes").scrollTop;
  $("classes").classList.toggle("many", classes.length > FEW);
  $("classes").replaceChildren(...classes.slice(0, 200).map((one, place) =>
    make("button", { type: "button", class: `${one.name === has ? "is" : ""} ${one.name.length > LONG ? "long" : ""}`.trim(), "data-label": one.name, on: { click: (event) => { event.currentTarget.blur(); label(one.name); } } },
      classes.length <= MANY && keyOf(place) ? make("kbd", {}, keyOf(place)) : null,
      make("bdi", {}, make("span", { class: "swatch", color: color(one.name) }), one.name),
      make("span", { class: "n" }, one.count.toLocaleString("en")))));
  $("classes").scrollTop = scroll;
  $("accept").disabled = !has;
  const n = store.selected.size;
  $("selection").hidden = !n;
  document.body.classList.toggle("selecting", n > 0);
  $("selection").textContent = n === 1 ? said("1 image is selected; Escape clears the selection.") : said(`${n} images are selected; Escape clears the selection.`);
}

function drawFacts() {
  const { state } = store;
  const parts = [make("span", {}, make("b", {}, state.n_given.toLocaleString("en")), said(` of ${state.n.toLocaleString("en")} images labelled by people`))];
  if (state.accuracy) {
    const [value, low, high] = state.accuracy;
    parts.push(make("span", { id: "accuracy" }, "Expected accuracy of the others ", make("b", {}, percent(value)), ` (${percent(low)} to ${percent(high)})`));
  } else if (state.note) parts.push(make("span", {}, state.note));
  const settled = state.n_given ? "The answer is up to date." : "";
  const answer = state.provisional ? "Provisional answer; training in full…" : state.training ? "Training…" : settled;
  parts.push(make("span", { id: "answer" }, answer));
  if (state.changed) parts.push(make("button", { type: "button", id: "changed", on: { click: () => openQueue("changed") } }, `${state.changed.toLocaleString("en")} labels changed`));
  for (const text of [state.problem, ...state.journal]) if (text) parts.push(make("span", { class: "warn" }, text));
  if (!state.has_pictures) parts.push(make("span", { class: "warn" }, "The folder of the images is not known: start with grande review IMAGES -o OUT."));
  $("facts").replaceChildren(...parts);
}

function drawStatus() {
  $("status").textContent = store.pending ? "Saving…" : store.state?.n_decided ? "Every decision is saved." : "";
  $("status").dataset.pending = store.pending;
}

function draw() {
  const { state } = store;
  $("title").textContent = state.title;
  document.title = `Review ${state.title}`;
  $("undo").disabled = !state.can_undo;
  $("save").classList.toggle("due", !state.is_written);
  $("export").hidden = !state.exports?.length;
  drawQueues();
  drawClasses();
  drawFacts();
  drawStatus();
}

// ---- Decisions ----
async function send(kind, extra = {}) {
  if (view.judge) return kind === "skip" ? message(said("In an audit every image is judged: choose a class, or none of these."), 5) : view.judge(kind === "none" ? "" : extra.label);
  const rows = store.selected.size ? [...store.selected] : view.target;
  if (!rows.length) return message(said("Select some images first."), 3);
  store.selected.clear();
  const saved = decide({ kind, rows, ...extra });
  changed("selection");
  const moved = view.decided(rows);
  if (!(await saved)) await view.undone(rows);
  await moved;
}
const label = (text) => send("label", { label: text });

async function accept() {
  const [row] = store.selected.size ? [] : view.target;
  if (row === undefined) return;
  const image = shown?.row === row ? shown : (await details([row]))[0]; // what the user sees, even if it is changing
  if (image?.label) label(image.label);
}

async function takeBack() {
  const rows = await undo();
  await view?.undone(rows);
}

// ---- Keys ----
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !store.state || !view) return;
  if (event.target.closest?.("input, select, textarea, dialog")) return;
  const onButton = event.target.closest?.("button");
  const actions = {
    Enter: () => accept(), " ": () => { view.select(); changed("selection"); }, n: () => send("none"), s: () => send("skip"), u: takeBack,
    z: () => view.target.length && zoom(view.target[0]), "/": () => find(label), "?": help,
    Escape: () => { store.selected.clear(); view.mark?.(); view.show?.(); changed("selection"); },
  };
  if (view.key(event)) return event.preventDefault();
  if (event.key === "Enter" && onButton && !onButton.closest(".gallery")) return;
  if (event.key === " " && onButton && !onButton.closest(".gallery")) return;
  const action = actions[event.key] ?? (event.key.length === 1 ? actions[event.key.toLowerCase()] : undefined);
  const { classes } = store.state;
  if (action) action();
  else if (event.key.length !== 1) return;
  else if (classes.length > MANY) find(label, event.key);
  else if (classes[placeOf(event.key)]) label(classes[placeOf(event.key)].name);
  else return;
  event.preventDefault();
}

// ---- Start ----
document.addEventListener("keydown", onKey);
$("queue").addEventListener("change", () => { $("queue").blur(); openQueue($("queue").value); });
const click = (id, call) => $(id).addEventListener("click", (event) => { event.currentTarget.blur(); call(); });
click("undo", takeBack);
click("edit", editClasses);
click("export", exportDialog);
click("save", () => save());
click("help", help);
click("accept", accept);
click("none", () => send("none"));
click("skip", () => send("skip"));
click("find", () => find(label));
addEventListener("pagehide", () => { if (store.state && !store.state.is_written) leave(); });

onChange(async (what) => {
  if (what === "status") return drawStatus();
  if (what === "training") return drawFacts();
  if (what === "selection") return drawClasses();
  if (what === "first") return openQueue(store.state.queues[0].name);
  draw();
  if (what === "state") await view?.update();
});

async function poll() {
  await refresh();
  const wait = store.state?.provisional || store.state?.training ? 300 : document.hidden ? 5000 : 1000;
  setTimeout(poll, wait);
}
poll();

