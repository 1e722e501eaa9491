// Plots on a canvas with axes, and curves by uPlot; all plots share one clock.
import { short, ticks } from "./numbers.mjs";
import { ink } from "./colours.mjs";

export const MARGIN = { left: 76, right: 24, top: 8, bottom: 36 };

/** Creates an element with attributes and children; text is not parsed as HTML. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** The time that every time plot marks, in seconds; null: none. */
export const clock = {
  time: null,
  watchers: [],
  set(time) {
    this.time = time;
    for (const watch of this.watchers) watch(time);
  },
  watch(callback) {
    this.watchers.push(callback);
    callback(this.time);
  },
};

/** A mark of the clock inside `over`, whose width stands for the range that `range()` returns. */
export function addCursor(over, range) {
  const mark = element("div", { class: "cursor" });
  mark.hidden = true;
  over.append(mark);
  const place = (time) => {
    const [low, high] = range();
    mark.hidden = time === null || time < low || time > high;
    if (!mark.hidden) mark.style.left = `${(100 * (time - low)) / (high - low)}%`;
  };
  clock.watch(place);
  return () => place(clock.time);
}

const redraws = [];
/** Calls `draw` now, when the page changes its width, and when it turns dark or light. */
export function keepDrawn(host, draw) {
  let width = 0;
  const again = () => host.clientWidth > 0 && draw((width = host.clientWidth));
  redraws.push(again);
  new ResizeObserver(() => host.clientWidth !== width && again()).observe(host);
  again();
}
if (typeof matchMedia === "function") {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((r) => r()));
  addEventListener("beforeprint", () => redraws.forEach((r) => r()));
}

/** A canvas with axes. `options`: height, label, x and y ({low, high, label, format, at}), draw. */
export class Frame {
  constructor(host, options) {
    this.options = options;
    this.canvas = element("canvas", { role: "img", "aria-label": options.label });
    this.over = element("div", { class: "over" });
    this.box = element("div", { class: "frame" }, this.canvas, this.over);
    host.append(this.box);
    if (options.time) this.placeCursor = addCursor(this.over, () => [options.x.low, options.x.high]);
    keepDrawn(this.box, (width) => this.draw(width));
  }

  draw(width = this.box.clientWidth) {
    const { height, x, y, draw } = this.options;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    const area = {
      left: MARGIN.left,
      top: MARGIN.top,
      width: width - MARGIN.left - MARGIN.right,
      height: height - MARGIN.top - MARGIN.bottom,
    };
    area.x = (v) => area.left + ((v - x.low) / (x.high - x.low)) * area.width;
    area.y = (v) => area.top + area.height - ((v - y.low) / (y.high - y.low)) * area.height;
    this.area = area;
    g.save();
    g.beginPath();
    g.rect(area.left, area.top, area.width, area.height);
    g.clip();
    draw(g, area);
    g.restore();
    this.axes(g, area);
    if (this.placeCursor) this.placeCursor();
  }

  axes(g, area) {
    const { x, y } = this.options;
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = ink("text");
    g.strokeStyle = ink("line");
    g.lineWidth = 1;
    g.strokeRect(area.left - 0.5, area.top - 0.5, area.width + 1, area.height + 1);
    g.textAlign = "center";
    g.textBaseline = "top";
    let free = -Infinity;
    for (const at of x.at || ticks(x.low, x.high, area.width / 90)) {
      const text = (x.format || short)(at);
      const half = g.measureText(text).width / 2;
      const px = Math.min(area.left + area.width - half, Math.max(area.left + half, area.x(at)));
      if (px - half < free) continue;
      free = px + half + 8;
      g.fillRect(area.x(at), area.top + area.height, 1, 4);
      g.fillText(text, px, area.top + area.height + 6);
    }
    g.fillText(x.label, area.left + area.width / 2, area.top + area.height + 21);
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const at of (typeof y.at === "function" ? y.at() : y.at) || ticks(y.low, y.high, Math.max(1, area.height / 45))) {
      if (y.at === undefined || y.marks !== false) g.fillRect(area.left - 4, area.y(at), 4, 1);
      g.fillText((y.format || short)(at), area.left - 7, area.y(at), area.left - 26);
    }
    g.save();
    g.translate(9, area.top + area.height / 2);
    g.rotate(-Math.PI / 2);
    g.textAlign = "center";
    g.fillText(y.label, 0, 0, area.height + 20);
    g.restore();
  }
}

/** Width of the texts of a vertical axis; all plots against time have the same margin. */
function widthOf(u, texts) {
  const longest = Math.max(0, ...(texts || []).map((text) => text.length));
  return Math.max(MARGIN.left - 18, 7 * longest + 12);
}

/** Grid, marks and texts of a logarithmic axis at powers of ten alone, and at every second or third
 * of them where there are many. */
function onlyDecades(axis) {
  const keep = (u, at) => {
    const powers = at.map((v) => (v > 0 ? Math.log10(v) : NaN));
    const whole = powers.filter((p) => Math.abs(p - Math.round(p)) < 1e-9);
    if (whole.length < 2) return at;
    const step = Math.ceil(whole.length / 8);
    return at.map((v, i) => (Math.abs(powers[i] - Math.round(powers[i])) < 1e-9 && Math.round(powers[i]) % step === 0 ? v : null));
  };
  axis.filter = keep;
  axis.grid = { ...axis.grid, filter: keep };
  axis.ticks = { ...axis.ticks, filter: keep };
}

/** Steps between the ticks of an axis of numbers that count. */
export const wholeSteps = Array.from({ length: 24 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

/** Curves by uPlot. `options`: height, label, x and y labels, log, xWhole (x counts), series
 * [{label, colour, ..}], data. */
export function curves(host, options) {
  const box = element("div", { class: "curves", role: "img", "aria-label": options.label });
  host.append(box);
  let chart = null;
  keepDrawn(box, (width) => {
    if (chart) chart.destroy();
    const axis = (label, size) => ({
      label,
      size,
      labelSize: 18,
      labelFont: "12px system-ui, sans-serif",
      font: "12px system-ui, sans-serif",
      stroke: ink("text"),
      grid: { stroke: ink("grid"), width: 1 },
      ticks: { stroke: ink("line"), width: 1, size: 4 },
      values: (u, at) => at.map((v) => (v === null ? "" : short(v, 7))),
    });
    const xAxis = axis(options.x, 26);
    const yAxis = axis(options.y, options.time ? MARGIN.left - 18 : widthOf);
    if (options.xLog) onlyDecades(xAxis);
    if (options.xWhole) xAxis.incrs = wholeSteps;
    if (options.yLog) onlyDecades(yAxis);
    chart = new uPlot(
      {
        width,
        height: options.height,
        padding: [10, MARGIN.right, 0, 0],
        legend: { show: options.legend !== false },
        cursor: { drag: { x: true, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false, distr: options.xLog ? 3 : 1, range: options.xRange },
          y: { distr: options.yLog ? 3 : 1 },
        },
        axes: [xAxis, yAxis],
        series: [
          { label: options.x, value: (u, v) => (v === null ? "\u2013" : short(v, 6)) },
          ...options.series.map((s) => ({
            label: s.label,
            stroke: typeof s.colour === "function" ? s.colour() : s.colour,
            width: s.width || 1.5,
            dash: s.dash,
            paths: s.points ? () => null : undefined,
            points: { show: Boolean(s.points), size: 8, width: 1.5 },
            spanGaps: true,
            value: (u, v) => (v === null ? "\u2013" : short(v, 6)),
          })),
        ],
      },
      options.data,
      box,
    );
    if (options.time) {
      const u = chart;
      addCursor(u.over, () => [u.scales.x.min, u.scales.x.max]);
    }
  });
  return box;
}

/** A group of radio buttons; `choose` is called with the word that is chosen. */
export function choices(label, name, words, choose) {
  const group = element("fieldset", { class: "choices" }, element("legend", {}, label));
  words.forEach((word, i) => {
    const input = element("input", { type: "radio", name, value: word, onchange: () => choose(word) });
    input.checked = i === 0;
    group.append(element("label", {}, input, ` ${word}`));
  });
  return group;
}
