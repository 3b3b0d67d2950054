// The degree of one node with five neighbors, as sliders change their distances and sigma.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("degree-figure");
  if (!place) return;
  const start = [0.2, 0.3, 0.5, 0.6, 0.9];
  const make = (tag, properties, parent) => {
    const node = Object.assign(document.createElement(tag), properties);
    parent.append(node);
    return node;
  };
  const slider = (text, min, max, value) => {
    const row = make("label", { style: "display:grid;grid-template-columns:7rem minmax(4rem,16rem) 7rem;gap:.5rem" }, place);
    make("span", { textContent: text }, row);
    const input = make("input", { type: "range", min, max, step: 0.01, value }, row);
    input.addEventListener("input", update);
    return { input, output: make("output", {}, row) };
  };
  const distances = start.map((value, i) => slider(`ρ′ to neighbor ${i + 1}`, 0, 1, value));
  const sigma = slider("σ", 0.05, 2, 0.2);
  make("p", { textContent: "At the right: the distance ρ′ → its penalty 1/f = exp(ρ′² / σ)." }, place);
  const result = make("p", { style: "font-weight:bold" }, place);
  function update() {
    const s2 = Number(sigma.input.value);
    let sum = 1; // the node itself, at distance 0
    for (const { input, output } of distances) {
      const penalty = Math.min(Math.exp(input.value ** 2 / s2), 1e12);
      output.textContent = `${Number(input.value).toFixed(2)} → ${penalty < 1e4 ? penalty.toFixed(2) : penalty.toExponential(1)}`;
      sum += penalty;
    }
    sigma.output.textContent = s2.toFixed(2);
    const n = distances.length + 1;
    const s = sum / n;
    result.textContent =
      `δ = ${n} + ${s.toFixed(2)} = ${(n + s).toFixed(2)}; plain degree: ${n}. ` +
      `Messages between two such nodes are weighted 1/δ = ${(1 / (n + s)).toFixed(3)} instead of ${(1 / n).toFixed(3)}.`;
  }
  update();
});
