// Dialogs: find or add a class, edit classes, export, keys.
import { write } from "./api.js";
import { make, message, name, $ } from "./dom.js";
import { HELP } from "./keys.js";
import { store, decide, refresh, said } from "./store.js";

function open(title, ...content) {
  const dialog = $("dialog");
  const close = make("button", { type: "button", on: { click: () => dialog.close() } }, "Close");
  dialog.replaceChildren(make("h2", {}, title), ...content, make("div", { class: "end" }, close));
  dialog.onkeydown = (event) => event.stopPropagation();
  if (!dialog.open) dialog.showModal();
  return dialog;
}

export function help() {
  const rows = HELP.map(([key, text]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, said(text))));
  open("Keys", make("table", {}, make("tbody", {}, ...rows)));
}

// Type to find a class; Enter takes the first one, or makes a new class from what was typed if none is found.
export function find(take, start = "") {
  const input = make("input", { type: "text", "aria-label": "Class", maxlength: "200", autocomplete: "off", spellcheck: "false" });
  const list = make("div", { class: "list" });
  let first = null;
  const choose = (label) => { dialog.close(); take(label); };
  const fill = () => {
    const text = input.value.trim(), low = text.toLowerCase();
    const found = store.state.classes.map((one) => one.name).filter((one) => one.toLowerCase().includes(low));
    found.sort((a, b) => Number(!a.toLowerCase().startsWith(low)) - Number(!b.toLowerCase().startsWith(low)));
    const isNew = text && !store.state.classes.some((one) => one.name === text);
    const buttons = found.slice(0, 50).map((one) => make("button", { type: "button", on: { click: () => choose(one) } }, name(one)));
    if (isNew) buttons.push(make("button", { type: "button", on: { click: () => choose(text) } }, "New class: ", name(text)));
    first = found.length ? found[0] : isNew ? text : null;
    list.replaceChildren(...buttons);
  };
  input.addEventListener("input", fill);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && first !== null) { event.preventDefault(); choose(event.shiftKey ? input.value.trim() : first); }
  });
  const hint = make("p", { class: "quiet" }, "Enter takes the first class; Shift + Enter makes a new class from what you typed.");
  const dialog = open("Find or add a class", input, list, hint);
  input.value = start;
  fill();
  input.focus();
}

export function editClasses() {
  const rows = store.state.classes.map((one) => {
    const rename = make("button", { type: "button", on: { click: () => editOne(one.name) } }, "Rename or merge…");
    return make("div", { class: "row" }, make("bdi", {}, `${one.name} (${one.count})`), rename);
  });
  open("Classes", make("div", { class: "list" }, ...(rows.length ? rows : [make("p", { class: "quiet" }, "There are no classes yet.")])));
}

function editOne(old) {
  const input = make("input", { type: "text", "aria-label": "New name", maxlength: "200", autocomplete: "off" });
  input.value = old;
  const others = store.state.classes.map((one) => one.name).filter((one) => one !== old);
  const into = make("select", { "aria-label": "Merge into" }, ...others.map((one) => make("option", { value: one }, one)));
  const send = async (body) => {
    dialog.close();
    if (await decide({ old, ...body })) { message("Done. Undo takes it back.", 4); refresh(); }
  };
  const rename = make("button", { type: "button", on: { click: () => send({ kind: "rename", label: input.value }) } }, "Rename");
  const merge = make("button", { type: "button", on: { click: () => send({ kind: "merge", label: into.value }) } }, "Merge");
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") rename.click(); });
  const dialog = open(`Class ${old}`, input, make("div", { class: "row" }, rename),
    ...(others.length ? [make("div", { class: "row" }, said("Give all its images to "), into, merge)] : []));
  input.select(); // the dialog was open already, so the browser does not move the focus by itself
}

export function exportDialog() {
  const formats = store.state.exports ?? [];
  const choose = make("select", { "aria-label": "Format" }, ...formats.map((one) => make("option", { value: one }, one)));
  const button = make("button", { type: "button", on: { click: async () => { dialog.close(); await save(choose.value); } } }, "Write");
  const dialog = open("Export", make("p", { class: "row" }, "Save, and also write the labels for another tool: ", choose, button));
}

export async function save(format = "") {
  message("Writing…", 600);
  $("save").disabled = true;
  try {
    const { saved } = await write("save", { export: format });
    message(`Written to ${saved}.`, 5);
  } catch (error) {
    message(`Not written: ${error.message}`, 15);
  }
  $("save").disabled = false;
  refresh();
}
