// The paper's worked example: one node, its neighbors at their distances, and its degree as sliders change them.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("degree-figure");
  if (!place) return;
  const examples = { "Distant neighbors": [0.5, 0.6, 0.7, 0.8, 0.9], "Close neighbors": [0.1, 0.15, 0.2, 0.25, 0.3] };
  const center = 130, nearest = 30, furthest = 105; // pixels of the drawing
  const fill = (node, properties, parent) => {
    for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
    parent.append(node);
    return node;
  };
  const make = (tag, properties, parent) => fill(document.createElement(tag), properties, parent);
  const draw = (tag, properties, parent) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, parent);

  const buttons = make("p", {}, place);
  for (const [text, values] of Object.entries(examples)) {
    const button = make("button", { type: "button", style: "margin-right:.5rem;padding:.2rem .6rem;font:inherit" }, buttons);
    button.textContent = text;
    button.addEventListener("click", () => {
      values.forEach((value, i) => { distances[i].input.value = value; });
      update();
    });
  }
  const columns = make("div", { style: "display:flex;flex-wrap:wrap;gap:1rem;align-items:center" }, place);
  const picture = draw("svg", { viewBox: "10 10 240 240", width: 220, height: 220, "aria-hidden": "true" }, columns);
  const panel = make("div", {}, columns);
  const slider = (text, min, max, value) => {
    const row = make("label", { style: "display:grid;grid-template-columns:3.5rem minmax(4rem,12rem) 7rem;gap:.5rem;white-space:nowrap" }, panel);
    make("span", {}, row).textContent = text;
    const input = make("input", { type: "range", min, max, step: 0.01, value }, row);
    input.addEventListener("input", update);
    return { input, output: make("output", {}, row) };
  };
  const distances = Object.values(examples)[0].map((value, i) => {
    const line = draw("line", { x1: center, y1: center, stroke: "currentColor", "stroke-opacity": 0.6 }, picture);
    const dot = draw("circle", { r: 9, fill: "#0072b2" }, picture);
    const number = draw("text", { "text-anchor": "middle", "dominant-baseline": "central", "font-size": 11, fill: "#fff" }, picture);
    number.textContent = i + 1;
    return { ...slider(`ρ′ to ${i + 1}`, 0, 1, value), line, dot, number };
  });
  draw("circle", { cx: center, cy: center, r: 12, fill: "#d55e00" }, picture);
  const sigma = slider("σ", 0.05, 2, 0.2);
  make("p", {}, panel).textContent = "To the right of each slider: ρ′ → 1/f = exp(ρ′² / σ).";
  const result = make("p", { style: "font-weight:bold", "aria-live": "polite" }, place);

  function update() {
    const s2 = Number(sigma.input.value);
    let sum = 1; // the node itself, at distance 0
    distances.forEach(({ input, output, line, dot, number }, i) => {
      const rho = Number(input.value), penalty = Math.min(Math.exp(rho ** 2 / s2), 1e12);
      output.textContent = `${rho.toFixed(2)} → ${penalty < 1e4 ? penalty.toFixed(2) : penalty.toExponential(1)}`;
      sum += penalty;
      const angle = (2 * Math.PI * i) / distances.length - Math.PI / 2, length = nearest + (furthest - nearest) * rho;
      const x = center + length * Math.cos(angle), y = center + length * Math.sin(angle);
      for (const [node, a, b] of [[line, "x2", "y2"], [dot, "cx", "cy"], [number, "x", "y"]]) {
        node.setAttribute(a, x);
        node.setAttribute(b, y);
      }
    });
    sigma.output.textContent = s2.toFixed(2);
    const n = distances.length + 1, s = sum / n, short = (value) => (value < 1e4 ? value.toFixed(2) : value.toExponential(1));
    result.textContent =
      `δ = |N| + s = ${n} + ${short(s)} = ${short(n + s)}; the plain degree is ${n}. Messages between two such nodes are ` +
      `weighted 1/δ = ${(1 / (n + s)).toPrecision(2)} instead of ${(1 / n).toPrecision(2)}.`;
  }
  update();
});
