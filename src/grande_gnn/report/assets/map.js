// The map: dots or pictures on a canvas, the image under the pointer, filters and legend.
(() => {
  const { n, root, $, isDark, cellOf, sheetUrl, thumb, excerpt, make, percent, name, swatch, labelled, best } = grande;
  const hasTexts = grande.data.texts.length > 0;
  const thing = grande.data.things.slice(0, -1);
  const canvas = $("canvas");
  if (!canvas) return;
  const data = { ...grande.data, ...JSON.parse($("map-data").textContent) };
  const brush = canvas.getContext("2d");
  const stage = canvas.parentElement;
  const UNREACHED = 1, FAR = 2, SUSPICIOUS = 4, PAD = 18;
  const filters = {
    all: () => true,
    given: (i) => data.given[i] >= 0,
    unsure: (i) => data.given[i] < 0 && data.label[i] >= 0 && data.confidence[i] < 500,
    suspicious: (i) => data.flags[i] & SUSPICIOUS,
    far: (i) => data.flags[i] & FAR,
    unreached: (i) => data.flags[i] & UNREACHED,
  };
  const state = { zoom: 1, x: 0, y: 0, single: -1, hover: -1, pinned: -1 };
  let width = 0, height = 0, active = new Uint8Array(n).fill(1), queued = false;

  // Screen position: base position in the box, then zoom and shift.
  const screenX = (i) => (PAD + (data.xy[2 * i] / 9999) * (width - 2 * PAD)) * state.zoom + state.x;
  const screenY = (i) => (PAD + (1 - data.xy[2 * i + 1] / 9999) * (height - 2 * PAD)) * state.zoom + state.y;
  const radius = () =>
    Math.max(1.6, Math.min(4.5, Math.sqrt((width * height) / n) / 6)) * Math.min(2, Math.sqrt(state.zoom));

  // Spatial index: images sorted by the cell of a fixed grid over the map, so that a search near the pointer visits few of them.
  const GRID = 64;
  const gridCell = (value) => Math.min(GRID - 1, Math.floor((value / 10000) * GRID));
  const cellStart = new Int32Array(GRID * GRID + 1), byCell = new Int32Array(n);
  const cellIndex = (i) => gridCell(data.xy[2 * i + 1]) * GRID + gridCell(data.xy[2 * i]);
  for (let i = 0; i < n; i++) cellStart[cellIndex(i) + 1]++;
  for (let c = 0; c < GRID * GRID; c++) cellStart[c + 1] += cellStart[c];
  const next = cellStart.slice();
  for (let i = 0; i < n; i++) byCell[next[cellIndex(i)]++] = i;

  const nearest = (px, py, reach) => {
    if ($("pictures")?.checked) return tiles.get(tileAt(px, py)) ?? -1;
    const dataX = (x) => (((x - state.x) / state.zoom - PAD) / (width - 2 * PAD)) * 9999;
    const dataY = (y) => (1 - ((y - state.y) / state.zoom - PAD) / (height - 2 * PAD)) * 9999;
    const clamp = (value) => gridCell(Math.max(0, value));
    const left = clamp(dataX(px - reach)), right = clamp(dataX(px + reach));
    const low = clamp(dataY(py + reach)), high = clamp(dataY(py - reach));
    let found = -1, closest = reach * reach;
    for (let row = low; row <= high; row++) {
      const end = cellStart[row * GRID + right + 1];
      for (let k = cellStart[row * GRID + left]; k < end; k++) {
        const i = byCell[k], dx = screenX(i) - px, dy = screenY(i) - py, d = dx * dx + dy * dy;
        if (active[i] && d <= closest) { closest = d; found = i; }
      }
    }
    return found;
  };

  const css = (variable) => getComputedStyle(root).getPropertyValue(variable).trim();
  const byLabel = () => $("color").value === "label";
  const step = (i) => (best(i) < 0 ? -1 : Math.min(4, Math.floor(data.confidence[i] / 200)));
  const keyColor = (key) =>
    key < 0 ? css("--quiet") : byLabel() ? data[isDark() ? "dark" : "light"][key] : css("--sure-" + key);

  const clear = (on) => {
    const scale = devicePixelRatio || 1;
    on.setTransform(scale, 0, 0, scale, 0, 0);
    on.clearRect(0, 0, width, height);
  };
  const inView = (x, y) => x > -9 && y > -9 && x < width + 9 && y < height + 9;
  const circles = (on, images, size) => {
    on.beginPath();
    for (const i of images) {
      const x = screenX(i), y = screenY(i);
      if (!inView(x, y)) continue;
      on.moveTo(x + size, y);
      on.arc(x, y, size, 0, 7);
    }
  };
  const dots = (images, size, color) => {
    layerBrush.fillStyle = color;
    if (size >= 2.4 || n <= 5000) {
      circles(layerBrush, images, size);
      return layerBrush.fill();
    }
    const side = 1.8 * size; // many tiny squares look like many tiny circles and are drawn three times as fast
    for (const i of images) {
      const x = screenX(i), y = screenY(i);
      if (inView(x, y)) layerBrush.fillRect(x - side / 2, y - side / 2, side, side);
    }
  };
  const rings = (on, images, size, line) => {
    on.strokeStyle = css("--text");
    on.lineWidth = line;
    circles(on, images, size);
    on.stroke();
  };

  // All images are drawn once, on a layer of their own; pointing at one only adds a ring above it.
  const layer = document.createElement("canvas"), layerBrush = layer.getContext("2d");
  let stale = true;
  function drawAll() {
    stale = false;
    const size = radius(), key = byLabel() ? best : step, faint = [], groups = new Map();
    clear(layerBrush);
    for (let i = 0; i < n; i++) {
      if (!active[i]) { faint.push(i); continue; }
      const k = key(i);
      if (!groups.has(k)) groups.set(k, []);
      groups.get(k).push(i);
    }
    dots(faint, size * 0.8, css("--line"));
    if ($("pictures")?.checked) return drawPictures(key);
    for (const [k, images] of groups) dots(images, size, keyColor(k));
    const given = [...Array(n).keys()].filter((i) => active[i] && data.given[i] >= 0);
    rings(layerBrush, given, size + 0.8, size < 2.5 ? 0.5 : 1);
  }
  function draw() {
    queued = false;
    if (!width) return; // not laid out yet
    if (stale) drawAll();
    clear(brush);
    brush.drawImage(layer, 0, 0, width, height);
    const i = state.pinned, size = radius();
    if (i >= 0) {
      brush.strokeStyle = css("--text");
      brush.lineWidth = 1;
      brush.beginPath();
      for (const j of data.near[i]) {
        brush.moveTo(screenX(i), screenY(i));
        brush.lineTo(screenX(j), screenY(j));
      }
      brush.stroke();
      rings(brush, [i], size + 4, 2.5);
    }
    if (state.hover >= 0) rings(brush, [state.hover], size + 3, 2);
  }
  const refresh = () => {
    if (!queued) requestAnimationFrame(draw);
    queued = true;
  };
  const redraw = () => {
    stale = true;
    refresh();
  };
  document.addEventListener("themechange", redraw);

  // At most one picture in each square of the screen, so that none covers another.
  const sheetImages = [];
  const sheetImage = (k) => {
    if (!sheetImages[k]) {
      sheetImages[k] = new Image();
      sheetImages[k].onload = redraw;
      sheetImages[k].src = sheetUrl(k);
    }
    return sheetImages[k];
  };
  let tiles = new Map(), pitchX = 1, pitchY = 1;
  const tileAt = (x, y) => Math.floor(y / pitchY) * 1000 + Math.floor(x / pitchX);
  function drawPictures(key) {
    pitchX = width / Math.max(1, Math.floor(width / 46));
    pitchY = height / Math.max(1, Math.floor(height / 46));
    const side = Math.min(pitchX, pitchY) - 6;
    tiles = new Map();
    for (let i = 0; i < n; i++) {
      const x = screenX(i), y = screenY(i), tile = tileAt(x, y);
      if (!active[i] || x < 0 || y < 0 || x >= width || y >= height || tiles.has(tile)) continue;
      tiles.set(tile, i);
      const cell = cellOf(i), image = sheetImage(cell.sheet);
      const left = (Math.floor(x / pitchX) + 0.5) * pitchX - side / 2, top = (Math.floor(y / pitchY) + 0.5) * pitchY - side / 2;
      layerBrush.fillStyle = keyColor(key(i));
      layerBrush.fillRect(left - 2, top - 2, side + 4, side + 4);
      if (image.complete && image.naturalWidth)
        layerBrush.drawImage(image, cell.column * data.cell, cell.row * data.cell, data.cell, data.cell, left, top, side, side);
    }
  }

  // ---- The image under the pointer, and the image that was clicked ----
  const tip = $("tip"), inspector = $("inspector");
  function hover(i, px, py) {
    if (i !== state.hover) {
      state.hover = i;
      tip.hidden = i < 0;
      if (i >= 0) {
        const line = make("div", "", labelled(best(i)), " ", make("span", "number", data.given[i] >= 0 ? "given" : percent(data.confidence[i])));
        tip.classList.toggle("wide", hasTexts);
        tip.replaceChildren(...(data.sheets ? [thumb(i, "")] : []), ...(hasTexts ? [excerpt(i, "")] : []), line);
      }
      refresh();
    }
    if (i < 0) return;
    const right = px + 16 + tip.offsetWidth > width ? px - 16 - tip.offsetWidth : px + 16;
    tip.style.left = Math.max(4, Math.min(right, width - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(py - 40, height - tip.offsetHeight - 4)) + "px";
  }
  function pin(i) {
    state.pinned = i;
    refresh();
    if (i < 0) {
      inspector.replaceChildren(make("p", "quiet", data.things === "images"
        ? "Click or tap an image on the map, or a thumbnail anywhere on this page, to see it here with the images most similar to it."
        : `Click or tap a ${thing} on the map${hasTexts ? ", or a text anywhere on this page," : ""} to see it here with the ${data.things} most similar to it.`));
      return;
    }
    const facts = make("dl", "");
    const fact = (term, ...value) => facts.append(make("dt", "", term), make("dd", "", ...value));
    fact("Label", labelled(data.label[i]));
    if (data.given[i] >= 0) fact("Given", labelled(data.given[i]));
    if (data.label[i] >= 0) fact("Confidence", percent(data.confidence[i]));
    if (data.runner[i] >= 0)
      fact("Runner-up", labelled(data.runner[i]), " ", make("span", "number", percent(Math.max(0, data.confidence[i] - data.margin[i]))));
    const doubt = data.suggested[i];
    if (doubt) fact("Suggested", doubt[0] + " ", make("span", "number", percent(doubt[1])));
    const flags = [[UNREACHED, "not reached by a label"], [FAR, "out of distribution"], [SUSPICIOUS, "suspicious label"]];
    const raised = flags.filter(([bit]) => data.flags[i] & bit).map(([, word]) => word);
    if (raised.length) fact("Flags", raised.join(", "));
    fact(data.things === "images" ? "File" : "Name", original(i));
    inspector.replaceChildren(...(data.sheets ? [thumb(i, "main")] : []), ...(hasTexts ? [excerpt(i, "main")] : []), facts);
    if (data.near[i].length && !data.sheets) {
      const list = make("ul", "alike");
      for (const j of data.near[i]) {
        const item = make("li", "excerpt", ...(best(j) < 0 ? [] : [swatch(best(j)), " "]), hasTexts ? data.texts[j].slice(0, 90) : make("bdi", "", data.files[j]));
        item.dataset.i = j;
        item.dir = "auto";
        list.append(item);
      }
      inspector.append(make("p", "quiet", "Most similar"), list);
    }
    if (data.near[i].length && data.sheets) {
      const strip = make("div", "strip");
      for (const j of data.near[i]) {
        const picture = thumb(j, "small");
        picture.title = name(best(j));
        strip.append(make("span", "tagged", picture, ...(best(j) < 0 ? [] : [swatch(best(j))])));
      }
      inspector.append(make("p", "quiet", "Most similar"), strip);
    }
  }
  const original = (i) => {
    const text = make("bdi", "", data.files[i]);
    if (!data.root) return text;
    const link = make("a", "", text);
    const path = (data.root + "/" + data.files[i]).replace(/\p{Surrogate}/gu, "\ufffd");
    link.href = path.split("/").map(encodeURIComponent).join("/");
    link.target = "_blank";
    return link;
  };

  // ---- Pointer, wheel, keys, buttons ----
  function zoomBy(factor, px = width / 2, py = height / 2) {
    const zoom = Math.max(1, Math.min(60, state.zoom * factor)), ratio = zoom / state.zoom;
    state.x = px - (px - state.x) * ratio;
    state.y = py - (py - state.y) * ratio;
    state.zoom = zoom;
    move(0, 0);
  }
  function move(dx, dy) {
    state.x = Math.min(0, Math.max(width * (1 - state.zoom), state.x + dx));
    state.y = Math.min(0, Math.max(height * (1 - state.zoom), state.y + dy));
    canvas.style.touchAction = state.zoom > 1 ? "none" : "pan-y"; // a finger scrolls the page as long as the map is not zoomed
    hover(-1);
    redraw();
  }
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const down = new Map();
  let travelled = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return { distance: Math.hypot(a[0] - b[0], a[1] - b[1]), x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (down.size === 0) travelled = 0;
    down.set(event.pointerId, spot(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = spot(event), before = down.get(event.pointerId);
    if (!before) return hover(nearest(px, py, 14), px, py);
    const pinch = down.size === 2 ? spread() : null;
    down.set(event.pointerId, [px, py]);
    travelled += Math.hypot(px - before[0], py - before[1]);
    if (pinch) {
      const now = spread();
      zoomBy(now.distance / Math.max(1, pinch.distance), now.x, now.y);
    } else if (travelled > 5) {
      canvas.classList.add("moving");
      move(px - before[0], py - before[1]);
    }
  });
  const up = (event) => {
    const [px, py] = spot(event);
    if (event.type === "pointerup" && travelled <= 5 && down.size === 1) {
      const found = nearest(px, py, event.pointerType === "touch" ? 24 : 14);
      pin(found);
      hover(found, px, py);
    }
    down.delete(event.pointerId);
    canvas.classList.remove("moving");
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hover(-1); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the plain wheel scrolls the page
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 200), ...spot(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoomBy(2, ...spot(event)));
  canvas.addEventListener("keydown", (event) => {
    const keys = { "+": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: () => zoomBy(0),
      ArrowLeft: () => move(40, 0), ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40),
      Escape: () => pin(-1) };
    if (!keys[event.key] || (event.key.startsWith("Arrow") && state.zoom === 1)) return;
    event.preventDefault();
    keys[event.key]();
  });
  $("closer").addEventListener("click", () => zoomBy(1.6));
  $("farther").addEventListener("click", () => zoomBy(1 / 1.6));
  $("whole").addEventListener("click", () => zoomBy(0));

  // ---- Filters and legend ----
  function filter() {
    const keep = filters[$("show").value];
    for (let i = 0; i < n; i++) active[i] = keep(i) && (state.single < 0 || best(i) === state.single) ? 1 : 0;
    hover(-1);
    redraw();
  }
  const totals = new Array(data.classes.length).fill(0);
  for (let i = 0; i < n; i++) if (best(i) >= 0) totals[best(i)]++;
  totals.forEach((total, label) => {
    const button = make("button", "", labelled(label), make("span", "number", total.toLocaleString("en")));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      state.single = state.single === label ? -1 : label;
      [...$("legend").children].forEach((other, k) => other.setAttribute("aria-pressed", String(k === state.single)));
      filter();
    });
    $("legend").append(button);
  });
  $("show").addEventListener("change", filter);
  $("color").addEventListener("change", () => {
    $("scale").hidden = byLabel();
    redraw();
  });
  $("pictures")?.addEventListener("change", redraw);

  // A click on any thumbnail shows its place on the map; the browser's Back button returns to the list.
  document.addEventListener("click", (event) => {
    const picture = event.target.closest?.(".thumb, .excerpt[data-i]");
    if (!picture) return;
    const i = Number(picture.dataset.i);
    pin(i);
    if (!picture.closest("#map")) {
      if (location.hash === "#map") $("map").scrollIntoView();
      else location.hash = "map";
    }
  });

  new ResizeObserver(() => {
    const scale = devicePixelRatio || 1, ratio = [stage.clientWidth / (width || 1), stage.clientHeight / (height || 1)];
    if (width) { state.x *= ratio[0]; state.y *= ratio[1]; }
    width = stage.clientWidth;
    height = stage.clientHeight;
    canvas.width = layer.width = width * scale;
    canvas.height = layer.height = height * scale;
    stale = true;
    draw();
    performance.mark("grande-ready");
  }).observe(stage);
  pin(-1);
})();
