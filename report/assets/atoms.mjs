// The section of the atoms: curves with their fitted cosines, a table that can be sorted, buttons that play.
import { decode, rowOf } from "./arrays.mjs";
import { orderBy, short } from "./numbers.mjs";
import { sourceColour } from "./colours.mjs";
import { curves, element } from "./plot.mjs";

const SHOWN = 6; // curves that are shown at first, and added by each click on "More curves"
const ROWS = 15; // rows of the table that are shown at first

/** The cosine that was fitted to an atom of M samples. */
export function cosine(amplitude, frequency, phase, rate, M) {
  const out = new Array(M);
  for (let m = 0; m < M; m++) out[m] = amplitude * Math.cos((2 * Math.PI * frequency * m) / rate + phase);
  return out;
}

/** An atom repeated for a second, faded in and out. */
export function repeated(curve, rate) {
  const length = Math.round(rate);
  const fade = Math.max(1, Math.round(0.02 * rate));
  const out = new Float32Array(length);
  const peak = Math.max(1e-300, ...curve.map(Math.abs));
  for (let i = 0; i < length; i++) {
    const edge = Math.min(1, i / fade, (length - 1 - i) / fade);
    out[i] = (0.3 * edge * curve[i % curve.length]) / peak;
  }
  return out;
}

let speaker = null;

function playCurve(curve, rate) {
  speaker = speaker || new AudioContext();
  speaker.resume();
  const audible = Math.min(192000, Math.max(3000, rate)); // rates that browsers support
  const sound = repeated(curve, audible);
  const buffer = speaker.createBuffer(1, sound.length, audible);
  buffer.copyToChannel(sound, 0);
  const source = speaker.createBufferSource();
  source.buffer = buffer;
  source.connect(speaker.destination);
  source.start();
}

class Atoms {
  constructor(data) {
    this.data = data;
    this.rate = data.rate > 0 ? data.rate : 1;
    for (const [name, value] of Object.entries(data.atoms)) this[name] = decode(value);
    this.count = this.row.length;
    this.host = document.getElementById("curves");
    this.drawn = 0;
    this.more = element("button", { type: "button", onclick: () => this.drawMore() }, "More curves");
    this.host.after(this.more);
    this.drawMore();
    this.makeTable();
  }

  curveOf(i) {
    return Array.from(rowOf(this.curve, i), (x) => (x * this.scale[i]) / 32767);
  }

  title(i) {
    if (this.data.unit === "") return `row ${this.row[i]}`;
    const hz = this.data.rate > 0 ? `${short(this.frequency[i], 5)} Hz` : `${short(this.frequency[i], 4)} cycles per sample`;
    return `row ${this.row[i]}: ${hz}, error ${this.error[i].toFixed(3)}`;
  }

  drawMore() {
    const last = Math.min(this.drawn + SHOWN, this.curve.shape[0]);
    const M = this.curve.shape[1];
    const x = Array.from({ length: M }, (_, m) => m);
    const fitted = this.data.unit !== "";
    for (; this.drawn < last; this.drawn++) {
      const i = this.drawn;
      const box = element("figure", { class: "atom" }, element("figcaption", {}, this.title(i)));
      this.host.append(box);
      curves(box, {
        height: 150, label: `Atom ${this.title(i)}`, legend: false, x: fitted ? "sample" : "position in the frame", xWhole: true, y: "",
        series: [
          { label: "atom", colour: () => sourceColour(0), width: 1.5 },
          { label: "cosine", colour: () => sourceColour(1), width: 1, dash: [4, 3] },
        ].slice(0, fitted ? 2 : 1),
        data: [x, this.curveOf(i), cosine(this.amplitude[i], this.frequency[i], this.phase[i], this.rate, M)].slice(0, fitted ? 3 : 2),
      });
      if (this.data.rate > 0)
        box.append(element("button", { type: "button", onclick: () => playCurve(this.curveOf(i), this.data.rate) }, `Play atom ${this.row[i]}`));
    }
    this.more.hidden = this.drawn >= this.curve.shape[0];
  }

  makeTable() {
    const table = document.getElementById("atom-table");
    const body = table.tBodies[0];
    this.rows = [...body.rows];
    const keys = this.data.rate > 0 ? ["row", "frequency", "key", "cents", "error", "energy"] : ["row", "frequency", "error", "energy"];
    if (this.data.unit === "") keys.splice(1, 2); // cosines do not fit
    this.all = this.rows.length <= ROWS;
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((cell, c) => {
      const button = element("button", { type: "button", onclick: () => this.sort(body, headers, c, keys[c]) }, cell.textContent);
      cell.replaceChildren(button);
    });
    if (this.data.rate > 0) {
      this.rows.forEach((row, i) => {
        if (i >= this.curve.shape[0]) return;
        row.classList.add("plays");
        row.addEventListener("click", () => playCurve(this.curveOf(i), this.data.rate));
      });
    }
    const more = element("button", { type: "button", onclick: () => {
      this.all = true;
      more.hidden = true;
      this.show(body, this.order);
    } }, `Show all ${this.rows.length} atoms`);
    more.hidden = this.all;
    document.getElementById("atom-more").append(more);
    const known = headers.length === keys.length; // the energy, by which they are sorted
    headers[known ? headers.length - 1 : 0].setAttribute("aria-sort", known ? "descending" : "ascending");
    this.show(body, this.rows.map((_, i) => i));
  }

  sort(body, headers, column, key) {
    const before = headers[column].getAttribute("aria-sort");
    const descending = before === "ascending";
    headers.forEach((h) => h.removeAttribute("aria-sort"));
    headers[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    this.show(body, orderBy(this[key], descending));
  }

  show(body, order) {
    this.order = order;
    body.append(...order.map((i) => this.rows[i]));
    order.forEach((i, place) => (this.rows[i].hidden = !this.all && place >= ROWS));
  }
}

export function atoms(data) {
  if (data.atoms && data.unit !== "row") return new Atoms(data);
  return null;
}
