// Requests to the server. Changes are sent one after the other, in the order in which they were made.
let chain = Promise.resolve();

async function ask(path, options) {
  const answer = await fetch(path, { credentials: "same-origin", ...options });
  const text = await answer.text();
  let content = {};
  try { content = JSON.parse(text); } catch { content = { error: text }; }
  if (!answer.ok) throw new Error(content.error || `The server answered ${answer.status}.`);
  return content;
}

export const read = (path, query = {}) => {
  const text = new URLSearchParams(query).toString();
  return ask(`/api/${path}${text ? `?${text}` : ""}`);
};

const post = (path, body) =>
  ask(`/api/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const write = (path, body = {}) => {
  const mine = chain.then(() => post(path, body));
  chain = mine.catch(() => {});
  return mine;
};

// The page is being left: ask the server to write the files. If this message is lost, the decisions are still in the journal.
export const leave = () => {
  const body = new Blob(["{}"], { type: "application/json" });
  navigator.sendBeacon("/api/save", body);
};
