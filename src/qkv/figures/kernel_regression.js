// Kernel regression: the estimate at every place, and whom the query listens to. Point at the drawing to move the query.
function draw(kit, { bandwidth, query }, data) {
  const [left, right, top, floor] = [28, kit.width - 8, 10, 250];
  kit.height = floor + 30;
  const lowest = Math.min(...data.y, ...data.truth);
  const highest = Math.max(...data.y, ...data.truth);
  const x = kit.scale(data.low, data.high, left, right);
  const y = kit.scale(lowest, highest, floor, top);

  const weights = (place) => {
    const scores = data.x.map((one) => -((place - one) ** 2) / (2 * bandwidth ** 2));
    const most = Math.max(...scores);
    const raised = scores.map((score) => Math.exp(score - most));
    const sum = raised.reduce((total, power) => total + power, 0);
    return raised.map((power) => power / sum);
  };
  const estimate = (place) => weights(place).reduce((sum, weight, i) => sum + weight * data.y[i], 0);

  const ground = kit.rect(left, top, right - left, floor - top, { fill: "transparent" });
  kit.line([[left, floor], [right, floor]], { stroke: "var(--line)" });
  for (let tick = data.low; tick <= data.high; tick += 1) kit.text(x(tick), floor + 18, tick, { class: "quiet", "text-anchor": "middle" });
  const last = data.truth.length - 1;
  const places = data.truth.map((_, i) => data.low + ((data.high - data.low) * i) / last);
  kit.line(places.map((place, i) => [x(place), y(data.truth[i])]), { stroke: "var(--c5)", "stroke-width": 1.6, "stroke-dasharray": "3 4" });
  const fine = Array.from({ length: 301 }, (_, i) => data.low + ((data.high - data.low) * i) / 300);
  kit.line(fine.map((place) => [x(place), y(estimate(place))]), { stroke: "var(--c0)", "stroke-width": 2.4 });

  const shares = weights(query);
  data.x.forEach((place, i) => {
    const radius = 2.5 + 17 * Math.sqrt(shares[i]);
    kit.add("circle", { cx: x(place), cy: y(data.y[i]), r: radius.toFixed(1), fill: "var(--c1)", opacity: 0.55 });
  });
  kit.line([[x(query), top], [x(query), floor]], { stroke: "var(--ink)", "stroke-dasharray": "3 3" });
  kit.add("circle", { cx: x(query), cy: y(estimate(query)), r: 5, fill: "var(--c0)", stroke: "var(--ink)" });

  const svg = ground.ownerSVGElement;
  svg.onpointermove = (event) => {
    const box = svg.getBoundingClientRect();
    const place = data.low + ((event.clientX - box.left - left) / (right - left)) * (data.high - data.low);
    const input = svg.parentElement.querySelector("input[name=query]");
    const values = JSON.parse(input.dataset.values);
    const nearest = values.reduce((best, one, i) => (Math.abs(one - place) < Math.abs(values[best] - place) ? i : best), 0);
    if (Number(input.value) === nearest) return;
    input.value = nearest;
    input.dispatchEvent(new Event("input"));
  };

  const heard = shares.filter((share) => share > 0.01).length;
  const error = Math.sqrt(places.reduce((sum, place, i) => sum + (estimate(place) - data.truth[i]) ** 2, 0) / places.length);
  const points = heard === 1 ? "one point" : `${heard} points`;
  return `At ${query.toFixed(1)} the query hears ${points} with more than a hundredth of the weight each. The estimate is off by ${error.toFixed(2)} on average.`;
}
