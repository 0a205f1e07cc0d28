// Lines over time, drawn as SVG. Who does not see them reads the summary; who points, or uses the arrow keys, reads a moment.

import { clock } from "./format.js";
import { h, replace, setText, svg } from "./dom.js";

const HEIGHT = 190;
const INSET = { left: 58, right: 10, top: 10, bottom: 24 };

/**
 * series: `{ label, color: 1…5, of(point) }`; `show` writes a value, points have `at` in seconds. `set(points, from, to)` draws. On a
 * logarithmic scale (`isLog`), one long statement does not make all others a flat line.
 */
export function lineChart({ title, series, show, note, isBinary = false, isLog = false }) {
  const picture = svg("svg", { "aria-hidden": "true", class: "chart" });
  const readout = h("p", { class: "readout", "aria-live": "off" });
  const summary = h("p", { class: "unseen" });
  const legend = h("ul", { class: "legend" }, series.map((one) =>
    h("li", {}, h("span", { class: `swatch c${one.color}` }), one.label, h("output", {}))));
  const outputs = [...legend.querySelectorAll("output")];
  const plot = h("div", { class: "plot", tabindex: 0, role: "group", "aria-label": `${title}: left and right arrow keys read single moments` }, picture, readout);
  const element = h("figure", { class: "card chart-card" },
    h("figcaption", {}, h("h3", {}, title), note && h("span", { class: "muted" }, note)), plot, legend, summary);
  const cursor = svg("line", { class: "cursor", y1: INSET.top, y2: HEIGHT - INSET.bottom, visibility: "hidden" });
  let now = { points: [], from: 0, to: 1, least: 1, most: 10 };
  let at = null;
  let width = 560;

  const x = (time) => INSET.left + ((time - now.from) / (now.to - now.from || 1)) * (width - INSET.left - INSET.right);
  const level = (value) => (isLog ? Math.log(Math.max(value, now.least) / now.least) / Math.log(now.most / now.least) : value / now.most);
  const y = (value) => HEIGHT - INSET.bottom - level(value) * (HEIGHT - INSET.top - INSET.bottom);

  function draw() {
    const { points, from, to, most } = now;
    const parts = [];
    for (const value of isLog ? powers(now.least, most) : [0, most / 2, most]) {
      parts.push(svg("line", { class: "grid", x1: INSET.left, x2: width - INSET.right, y1: y(value), y2: y(value) }));
      parts.push(svg("text", { class: "axis", x: INSET.left - 8, y: y(value) + 4, "text-anchor": "end" }, value === 0 ? "0" : show(value)));
    }
    for (let tick = 0; tick <= 3; tick += 1) {
      const time = from + ((to - from) * tick) / 3;
      const anchor = tick === 0 ? "start" : tick === 3 ? "end" : "middle";
      parts.push(svg("text", { class: "axis", x: x(time), y: HEIGHT - 6, "text-anchor": anchor }, clock(time).slice(0, to - from > 900 ? 5 : 8)));
    }
    for (const one of series) {
      const lines = pieces(points, one.of);
      for (const piece of lines) {
        const path = piece.map(([time, value], number) => `${number ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
        if (one.isFilled) {
          const base = y(0);
          parts.push(svg("path", { class: `area c${one.color}`, d: `${path}L${x(piece.at(-1)[0]).toFixed(1)} ${base}L${x(piece[0][0]).toFixed(1)} ${base}Z` }));
        }
        parts.push(svg("path", { class: `line c${one.color}`, d: path }));
      }
    }
    replace(picture, parts, cursor);
  }

  function read(index) {
    const point = now.points[index];
    at = index;
    if (!point) return;
    cursor.setAttribute("x1", x(point.at));
    cursor.setAttribute("x2", x(point.at));
    cursor.setAttribute("visibility", "visible");
    const values = series.map((one) => `${one.label} ${show(one.of(point))}`);
    setText(readout, `${clock(point.at)}: ${values.join(", ")}`);
  }

  function leave() {
    at = null;
    cursor.setAttribute("visibility", "hidden");
    setText(readout, "");
    readout.setAttribute("aria-live", "off");
  }

  plot.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const share = (event.clientX - box.left - INSET.left) / (width - INSET.left - INSET.right);
    const time = now.from + share * (now.to - now.from);
    read(nearest(now.points, time));
  });
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("blur", leave);
  plot.addEventListener("keydown", (event) => {
    const last = now.points.length - 1;
    const before = at ?? last + 1;
    const to = { ArrowLeft: before - 1, ArrowRight: before + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    read(Math.min(Math.max(to, 0), last));
  });

  new ResizeObserver(() => {
    width = Math.max(plot.clientWidth, 200);
    draw();
  }).observe(plot);

  return {
    element,
    set(points, from, to) {
      const values = points.flatMap((point) => series.map((one) => one.of(point))).filter((value) => value !== null && value !== undefined);
      now = { points, from, to, ...(isLog ? decades(values) : { least: 0, most: niceMost(Math.max(0, ...values), isBinary) }) };
      draw();
      if (at !== null) read(Math.min(at, points.length - 1));
      const last = points.at(-1);
      series.forEach((one, number) => setText(outputs[number], last ? show(one.of(last)) : "–"));
      const texts = series.map((one) => {
        const own = points.map(one.of).filter((value) => value !== null && value !== undefined);
        return own.length ? `${one.label}: now ${show(last ? one.of(last) : null)}, at most ${show(Math.max(...own))}` : `${one.label}: none`;
      });
      setText(summary, `${title}. ${texts.join("; ")}.`);
    },
  };
}

/** Values in a row; a gap where there are none, or where the node was not there. */
function pieces(points, of) {
  const all = [];
  let piece = [];
  let before = null;
  const typical = points.length > 1 ? (points.at(-1).at - points[0].at) / (points.length - 1) : 1;
  for (const point of points) {
    const value = of(point);
    const isGap = value === null || value === undefined || (before !== null && point.at - before > typical * 5 + 2);
    if (isGap && piece.length) {
      all.push(piece);
      piece = [];
    }
    if (value !== null && value !== undefined) piece.push([point.at, value]);
    before = point.at;
  }
  if (piece.length) all.push(piece);
  return all.map((one) => (one.length === 1 ? [one[0], [one[0][0] + 0.5, one[0][1]]] : one));
}

function nearest(points, time) {
  let best = 0;
  points.forEach((point, index) => {
    if (Math.abs(point.at - time) < Math.abs(points[best].at - time)) best = index;
  });
  return best;
}

/** The powers of ten around values that are none or more. */
function decades(values) {
  const some = values.map((value) => Math.max(value, 1));
  const least = some.length ? Math.floor(Math.log10(Math.min(...some))) : 2;
  const most = some.length ? Math.ceil(Math.log10(Math.max(...some))) : 4;
  return { least: 10 ** least, most: 10 ** Math.max(most, least + 1) };
}

function powers(least, most) {
  const all = [];
  for (let value = least; value <= most * 1.01; value *= 10) all.push(value);
  return all;
}

/** The end of the scale: 1, 2 or 5 times a power of ten; of sizes, a power of two. */
function niceMost(value, isBinary) {
  if (value <= 0) return 1;
  if (isBinary) return 2 ** Math.ceil(Math.log2(value));
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((end) => end >= value);
}

/** How much of a whole is used, as a bar with its text. */
export function meter(label) {
  const fill = h("span", { class: "fill" });
  const bar = h("div", { class: "meter", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  return {
    element: bar,
    set(share, text) {
      const percent = Math.round(Math.min(Math.max(share, 0), 1) * 100);
      bar.setAttribute("aria-valuenow", percent);
      bar.setAttribute("aria-valuetext", text);
      fill.style.setProperty("width", `${percent}%`);
      fill.className = `fill${percent >= 90 ? " high" : ""}`;
    },
  };
}
