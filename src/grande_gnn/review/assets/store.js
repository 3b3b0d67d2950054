// What the page knows: the server's state, details of images, the selection, and this tab's own decisions.
import { read, write } from "./api.js";
import { message } from "./dom.js";

export const store = {
  state: null,
  details: new Map(), // row -> details, forgotten when the version changes
  selected: new Set(),
  own: [], // numbers of the decisions of this tab, for undo
  pending: 0, // decisions that the server has not confirmed yet
  listeners: new Set(),
};

// A sentence about images, reworded for what the samples are: images, texts or samples.
export const said = (sentence) => {
  const { things } = store.state;
  const one = things.slice(0, -1);
  if (one === "image") return sentence;
  return sentence.replace(/\ban image\b/g, `a ${one}`).replace(/\bimage(?=s?\b)/g, one);
};

export const changed = (what) => store.listeners.forEach((listener) => listener(what));
export const onChange = (listener) => store.listeners.add(listener);

let asking = null;
export async function refresh() {
  if (asking) return asking;
  asking = (async () => {
    try {
      const fresh = await read("state", { since: store.state?.version ?? 0 });
      if (fresh.n === undefined) {
        if (store.state && store.state.training !== fresh.training) {
          store.state.training = fresh.training;
          changed("training");
        }
        return;
      }
      const before = store.state;
      store.state = fresh;
      store.details.clear();
      changed(before ? "state" : "first");
    } catch (error) {
      message(`The server does not answer: is grande review still running? (${error.message})`, 3);
    } finally {
      asking = null;
    }
  })();
  return asking;
}

export async function details(rows) {
  const missing = rows.filter((row) => !store.details.has(row));
  for (let start = 0; start < missing.length; start += 100) {
    const { images, version } = await read("images", { rows: missing.slice(start, start + 100).join(",") });
    if (!store.state || version === store.state.version) for (const image of images) store.details.set(image.row, image);
    else for (const image of images) if (!store.details.has(image.row)) store.details.set(image.row, image);
  }
  return rows.map((row) => store.details.get(row));
}

export const color = (label) => {
  const found = store.state?.classes.find((one) => one.name === label);
  if (!found) return "var(--quiet)";
  return matchMedia("(prefers-color-scheme: dark)").matches ? found.dark : found.light;
};

// Sends a decision; resolves when the server has it on its disk.
export async function decide(body) {
  store.pending++;
  changed("status");
  try {
    const { id } = await write("decide", body);
    store.own.push(id);
    setTimeout(refresh, 60);
    return true;
  } catch (error) {
    message(`Not saved: ${error.message}`, 12);
    return false;
  } finally {
    store.pending--;
    changed("status");
  }
}

export async function undo() {
  try {
    const { undone, rows } = await write("undo", store.own.length ? { id: store.own.at(-1) } : {});
    store.own.pop();
    message(undone === null ? "There is nothing to undo." : "Undone.", 2);
    await refresh();
    changed("undo");
    return rows ?? [];
  } catch (error) {
    message(`Not undone: ${error.message}`, 12);
    return [];
  }
}
