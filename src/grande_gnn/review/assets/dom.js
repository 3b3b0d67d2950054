// Elements are built from text only, never from HTML: file and class names may hold anything.
export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (name === "color") element.style.background = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const name = (text) => make("bdi", {}, text);
export const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)}\u00a0%`;

let timer = 0;
export function message(text, seconds = 6) {
  clearTimeout(timer);
  $("message").textContent = text;
  $("message").hidden = !text;
  if (text) timer = setTimeout(() => message(""), seconds * 1000);
}
