// The section "Look": V and W H as heat maps with a common scale, W and H as curves.
import { decode, reduceToMax, rowOf } from "./arrays.mjs";
import { short, ticks } from "./numbers.mjs";
import { paint, sourceColour } from "./colours.mjs";
import { Frame, choices, curves, element } from "./plot.mjs";

const STEP = 0.4; // dB per level, as in report/reduce.c

/** Draws a picture of levels on a new canvas. */
function toCanvas(levels, range) {
  const [rows, columns] = levels.shape;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const image = new ImageData(paint(levels, Math.max(0, 255 - range / STEP)), columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** The part of a range that a zoom shows, limited to the range. */
export function zoomed(range, whole, factor, centre) {
  const width = Math.min(whole[1] - whole[0], (range[1] - range[0]) * factor);
  const share = (centre - range[0]) / (range[1] - range[0]);
  const low = Math.min(whole[1] - width, Math.max(whole[0], centre - share * width));
  return [low, low + width];
}

/** A part moved by a share of its width, limited to the whole range. */
export function panned(range, whole, share) {
  const width = range[1] - range[0];
  const low = Math.min(whole[1] - width, Math.max(whole[0], range[0] + share * width));
  return [low, low + width];
}

/** The first rows at or above round frequencies between low and high. */
export function rowsOfTicks(frequencies, low, high, count) {
  const first = Math.max(0, Math.floor(low));
  const last = Math.min(frequencies.length, Math.ceil(high)) - 1;
  const rows = ticks(frequencies[first], frequencies[last], count).map((f) => frequencies.findIndex((x) => x >= f * (1 - 1e-9)));
  return [...new Set(rows)].filter((r) => r >= first && r <= last);
}

/** Positions of round ranks by energy, at the centres of their rows; rank 1 is at the top of `rows` rows. */
export function ranksOfTicks(rows, M, low, high, count) {
  const of = M / rows;
  const ranks = ticks((rows - high) * of + 0.5, (rows - low) * of + 0.5, count).map(Math.round);
  if (high >= rows) ranks.push(1);
  return [...new Set(ranks)].filter((r) => r >= 1 && r <= M).map((r) => rows - (r - 0.5) / of);
}

/** The label of an axis of rows: their frequencies or numbers, or if they have none, their rank. */
export function rowAxis(data) {
  if (data.unit === "") return "rank by energy";
  return data.unit === "row" ? "row" : `frequency (${data.unit})`;
}

/** Two heat maps that share scale and zoom. */
class HeatMaps {
  constructor(host, data) {
    this.data = data;
    this.order = data.unit === "" ? "byEnergy" : "byFrequency";
    this.range = 80;
    this.frames = [];
    this.time = data.hop > 0;
    this.wholeX = this.time ? [data.first, data.first + data.hop * data.N] : [0, data.N];
    this.prepare();
    const bar = element("div", { class: "bar" });
    const orders = data.unit === "" ? [] : [data.unit === "row" ? "row" : "frequency", "energy"];
    if (orders.length > 0) bar.append(
      choices("Rows by", "order", orders, (word) => {
        this.order = word === "energy" ? "byEnergy" : "byFrequency";
        this.prepare();
        this.zoom([...this.wholeX], [...this.wholeY]);
      }),
    );
    bar.append(
      choices("Range", "range", ["80 dB", "60 dB", "40 dB", "100 dB"], (word) => {
        this.range = parseInt(word, 10);
        this.prepare();
        this.redraw();
      }),
      element("button", { type: "button", id: "whole", onclick: () => this.zoom([...this.wholeX], [...this.wholeY]) }, "Whole picture"),
    );
    this.readout = element("output", { class: "readout", id: "readout" }, "Point at a picture for values.");
    this.scale = element("div", { class: "scale" });
    host.append(bar, this.readout);
    for (const [name, title] of [["V", "V = |\u03a6Y|\u00b2, the data"], ["WH", "W H, the model"]])
      if (data.byFrequency[name]) this.add(host, name, title);
    host.append(this.scale);
    this.drawScale();
    host.append(element("p", { class: "hint", id: "zoom-help" }, "Drag to zoom in; double-click to show all. Keyboard: + and - zoom, arrow keys move, 0 shows all."));
  }

  prepare() {
    const packed = this.data[this.order];
    this.top = packed.top;
    this.rows = packed.rows;
    this.levels = { V: decode(packed.V), WH: decode(packed.WH) };
    this.wholeY = [0, packed.rows.length];
    this.images = {};
    for (const name of ["V", "WH"]) if (this.levels[name]) this.images[name] = toCanvas(this.levels[name], this.range);
    if (!this.x) {
      this.x = { low: this.wholeX[0], high: this.wholeX[1], label: this.time ? "time (s)" : "frame" };
      this.y = { low: 0, high: packed.rows.length, label: "", format: (v) => this.rowName(v), at: () => this.rowTicks() };
    }
    this.y.label = this.order === "byEnergy" ? "rank by energy" : rowAxis(this.data);
    if (this.scale) this.drawScale();
  }

  /** Rows of round frequencies; by energy, of round ranks. */
  rowTicks() {
    const { low, high } = this.y;
    if (this.order === "byEnergy") return ranksOfTicks(this.rows.length, this.data.M, low, high, 6);
    return rowsOfTicks(this.rows.map((r) => r[1]), low, high, 6).map((r) => r + 0.5);
  }

  rowName(v) {
    const row = Math.min(this.rows.length - 1, Math.max(0, Math.floor(v)));
    if (this.order === "byEnergy") return String(Math.round(((this.rows.length - v) * this.data.M) / this.rows.length + 0.5));
    return short(this.rows[row][1], this.data.unit === "cycles per sample" ? 2 : 3);
  }

  add(host, name, title) {
    const figure = element("figure", {}, element("figcaption", {}, title));
    host.append(figure);
    const frame = new Frame(figure, {
      height: 300,
      label: `Heat map of ${title}`,
      time: this.time,
      x: this.x,
      y: this.y,
      draw: (g, area) => this.drawImage(g, area, this.images[name]),
    });
    this.frames.push(frame);
    this.makeZoomable(frame, name, title);
  }

  drawImage(g, area, image) {
    const columns = image.width / (this.wholeX[1] - this.wholeX[0]);
    const sx = (this.x.low - this.wholeX[0]) * columns;
    const sw = (this.x.high - this.x.low) * columns;
    g.imageSmoothingEnabled = false;
    g.translate(0, 2 * area.top + area.height);
    g.scale(1, -1); // row 0 is at the bottom
    g.drawImage(image, sx, this.y.low, sw, this.y.high - this.y.low, area.left, area.top, area.width, area.height);
  }

  redraw() {
    this.frames.forEach((f) => f.draw());
  }

  zoom(x, y) {
    [this.x.low, this.x.high] = x;
    [this.y.low, this.y.high] = y;
    this.redraw();
  }

  /** Value under a point of the plot, 0..1 from its lower left corner. */
  say(name, u, v) {
    const levels = this.levels[name];
    const x = this.x.low + u * (this.x.high - this.x.low);
    const y = this.y.low + v * (this.y.high - this.y.low);
    const row = Math.min(levels.shape[0] - 1, Math.floor(y));
    const share = (x - this.wholeX[0]) / (this.wholeX[1] - this.wholeX[0]);
    const column = Math.min(levels.shape[1] - 1, Math.floor(share * levels.shape[1]));
    const { unit } = this.data;
    const frequency = unit === "" || unit === "row" ? "" : `, ${short(this.rows[row][1], 5)} ${unit}`;
    const value = (which) => {
      if (!this.levels[which]) return "";
      const level = this.levels[which][row * levels.shape[1] + column];
      return `, ${which === "WH" ? "W H" : "V"} ${level === 0 ? "below" : ""} ${(this.top - (255 - level) * STEP).toFixed(1)} dB`;
    };
    this.readout.textContent =
      `${this.time ? `${short(x, 4)} s` : `frame ${Math.floor(x)}`}, row ${this.rows[row][0]}` +
      `${frequency}${value("V")}${value("WH")}`;
  }

  makeZoomable(frame, name, title) {
    const over = frame.over;
    over.setAttribute("tabindex", "0");
    over.setAttribute("role", "group");
    over.setAttribute("aria-label", `${title}: zoom`);
    over.setAttribute("aria-describedby", "zoom-help");
    const at = (e) => {
      const box = over.getBoundingClientRect();
      return [Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)), Math.min(1, Math.max(0, 1 - (e.clientY - box.top) / box.height))];
    };
    let from = null;
    over.addEventListener("pointermove", (e) => this.say(name, ...at(e)));
    over.addEventListener("pointerdown", (e) => (from = at(e)));
    over.addEventListener("pointerup", (e) => {
      const to = at(e);
      if (from && Math.abs(to[0] - from[0]) > 0.02 && Math.abs(to[1] - from[1]) > 0.02) {
        const part = (axis, i) => [from[i], to[i]].sort((a, b) => a - b).map((p) => axis.low + p * (axis.high - axis.low));
        this.zoom(part(this.x, 0), part(this.y, 1));
      }
      from = null;
    });
    over.addEventListener("dblclick", () => this.zoom([...this.wholeX], [...this.wholeY]));
    over.addEventListener("keydown", (e) => this.key(e));
  }

  key(e) {
    let x = [this.x.low, this.x.high];
    let y = [this.y.low, this.y.high];
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[e.key];
    const move = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, 0.2], ArrowDown: [0, -0.2] }[e.key];
    if (factor) {
      x = zoomed(x, this.wholeX, factor, (x[0] + x[1]) / 2);
      y = zoomed(y, this.wholeY, factor, (y[0] + y[1]) / 2);
    } else if (move) {
      x = panned(x, this.wholeX, move[0]);
      y = panned(y, this.wholeY, move[1]);
    } else if (e.key === "0") {
      x = [...this.wholeX];
      y = [...this.wholeY];
    } else return;
    e.preventDefault();
    this.zoom(x, y);
  }

  drawScale() {
    const canvas = element("canvas", { class: "gradient", role: "img", "aria-label": `Colours from ${short(this.top - this.range)} to ${short(this.top)} dB` });
    const steps = new Uint8Array(256).map((_, i) => i);
    canvas.width = 256;
    canvas.height = 1;
    canvas.getContext("2d").putImageData(new ImageData(paint(steps, 0), 256, 1), 0, 0);
    this.scale.replaceChildren(`${(this.top - this.range).toFixed(0)} dB`, canvas, `${this.top.toFixed(0)} dB`);
  }
}

function componentName(data, k) {
  const source = data.sources.length > 0 ? data.sources[data.owners[k]] : "";
  const number = data.owners.slice(0, k + 1).filter((o) => o === data.owners[k]).length;
  if (!source) return `component ${k + 1}`;
  return data.K > data.sources.length ? `${source} ${number}` : source;
}

const MANY = 12; // with more components, the legend would not be readable

function drawFactors(host, data) {
  const series = (array) =>
    Array.from({ length: array.shape[0] }, (_, k) => ({ label: componentName(data, k), colour: () => sourceColour(data.owners[k]), width: 1.5 }));
  const W = decode(data.W);
  if (W) {
    const f = decode(data.frequencies);
    const columns = W.shape[1];
    const x = Array.from({ length: columns }, (_, i) => f[Math.floor((i * f.length) / columns)] + i * 1e-9);
    const counts = data.unit === "" || data.unit === "row";
    host.append(element("h3", {}, counts ? "W: power per row" : "W: the spectra of the components"));
    const floor = reduceToMax(W, 1)[0] * 1e-8;
    curves(host, {
      height: 240, label: `Columns of W against ${rowAxis(data)}`, legend: data.K <= MANY, yLog: true,
      x: rowAxis(data), xWhole: counts, y: "power",
      series: series(W), data: [x, ...Array.from({ length: W.shape[0] }, (_, k) => Array.from(rowOf(W, k), (w) => Math.max(w, floor)))],
    });
  }
  const H = decode(data.H);
  if (H) {
    const columns = Math.min(1200, H.shape[1]);
    const time = data.hop > 0;
    const x = Array.from({ length: columns }, (_, i) => (time ? data.first + (data.hop * data.N * (i + 0.5)) / columns : (data.N * i) / columns));
    host.append(element("h3", {}, time ? "H: when the components sound" : "H: activations"));
    curves(host, {
      height: 220, label: "Rows of H against time", legend: data.K <= MANY, time,
      x: time ? "time (s)" : "frame", xWhole: !time, y: "activation",
      series: series(H), data: [x, ...Array.from({ length: H.shape[0] }, (_, k) => reduceToMax(rowOf(H, k), columns))],
    });
  }
  if (data.K > MANY && data.sources.length > 0) {
    host.append(element("ul", { class: "legend" }, ...data.sources.map((name, s) => {
      const mark = element("span", { class: "swatch" });
      mark.style.background = sourceColour(s);
      return element("li", {}, mark, name);
    })));
  }
}

export function look(data) {
  const host = document.getElementById("pictures");
  const any = data.byFrequency && data.byFrequency.rows;
  if (any) new HeatMaps(host, data);
  else host.append(element("p", {}, "The model has no activations and no data to show."));
  drawFactors(document.getElementById("factors"), data);
}
