// The image at full resolution: fitted to the window, or pixel by pixel after a click or Enter.
import { make, $ } from "./dom.js";

export function zoom(row) {
  const dialog = $("zoom");
  const image = make("img", { src: `/full/${row}`, alt: "", tabindex: "0" });
  const toggle = () => dialog.classList.toggle("real");
  image.addEventListener("click", toggle);
  const close = make("button", { type: "button", on: { click: () => dialog.close() } }, "Close");
  dialog.classList.remove("real");
  dialog.replaceChildren(close, image);
  dialog.onkeydown = (event) => {
    if (event.key === "z") dialog.close();
    if (event.key === "Enter" && event.target === image) toggle();
    event.stopPropagation();
  };
  dialog.showModal();
}
