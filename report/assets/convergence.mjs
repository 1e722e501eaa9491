// The section of the run: objectives against iterations and time, every start, candidates.
import { decode, reduceToMax } from "./arrays.mjs";
import { short } from "./numbers.mjs";
import { ink, sourceColour } from "./colours.mjs";
import { choices, curves, element } from "./plot.mjs";

const TRANSFORMS = ["auto", "DCT", "DFT", "STFT"];

/** Groups the rows of a trace by start and stage: {key: {x, y}}; values that are not numbers are skipped. */
export function linesOf(trace, quantity, against) {
  const lines = new Map();
  const values = trace[quantity];
  const count = values ? values.length : 0;
  for (let i = 0; i < count; i++) {
    if (!Number.isFinite(values[i])) continue;
    const key = `${trace.start ? trace.start[i] : 0}.${trace.stage ? trace.stage[i] : 0}`;
    if (!lines.has(key)) lines.set(key, { x: [], y: [] });
    const line = lines.get(key);
    const x = against === "time" ? trace.seconds[i] : line.x.length + 1;
    line.x.push(x);
    line.y.push(values[i]);
  }
  return lines;
}

/** Several lines on one axis, as uPlot expects them: all x in order, null where a line has no point. */
export function onOneAxis(lines) {
  const all = [...new Set(lines.flatMap((l) => l.x))].sort((a, b) => a - b);
  const place = new Map(all.map((x, i) => [x, i]));
  return [all, ...lines.map((l) => {
    const y = new Array(all.length).fill(null);
    l.x.forEach((x, i) => (y[place.get(x)] = l.y[i]));
    return y;
  })];
}

/** Distance from the least value, for a logarithmic axis; the least itself has no logarithm. */
export function distances(lines) {
  const least = -reduceToMax(lines.flatMap((l) => l.y).map((y) => -y), 1)[0];
  return lines.map((l) => ({
    x: l.x.filter((_, i) => l.y[i] > least),
    y: l.y.filter((y) => y > least).map((y) => y - least),
  }));
}

const MOST_STARTS = 60;

class Traces {
  constructor(host, trace, starts) {
    this.trace = trace;
    this.starts = starts;
    this.quantity = ["C", "L", "I", "step", "gradient"].find((q) => this.has(q));
    this.against = "iteration";
    this.distance = false;
    const bar = element("div", { class: "bar" });
    const quantities = ["C", "L", "I", "gradient", "step"].filter((q) => this.has(q));
    bar.append(choices("Show", "quantity", quantities, (word) => this.set("quantity", word)));
    if (trace.seconds && reduceToMax(trace.seconds, 1)[0] > 0)
      bar.append(choices("Against", "against", ["iteration", "time"], (word) => this.set("against", word)));
    bar.append(choices("As", "as", ["value", "distance from the least"], (word) => this.set("distance", word !== "value")));
    this.box = element("div", {});
    host.append(bar, this.box);
    this.quantity = quantities[0];
    this.draw();
  }

  has(q) {
    return Boolean(this.trace[q]) && this.trace[q].some(Number.isFinite);
  }

  set(what, value) {
    this[what] = value;
    this.draw();
  }

  draw() {
    const kept = [...linesOf(this.trace, this.quantity, this.against).values()];
    const others = this.starts && this.starts.start ? [...linesOf(this.starts, this.quantity, this.against).values()].slice(0, MOST_STARTS) : [];
    let lines = [...(others.length > 1 ? others : []), ...kept];
    if (this.distance) lines = distances(lines);
    const thin = lines.length - kept.length;
    const positive = this.distance || this.quantity === "step" || this.quantity === "gradient";
    this.box.replaceChildren();
    curves(this.box, {
      height: 300,
      label: `${this.quantity} against ${this.against}`,
      legend: false,
      x: this.against === "time" ? "time (s)" : "iteration",
      y: this.distance ? `${this.quantity} - least` : this.quantity,
      yLog: positive && lines.some((l) => l.y.some((y) => y > 0)),
      series: lines.map((_, i) => (i >= thin ? { label: "kept", colour: () => sourceColour(0), width: 2 } : { label: `run ${i + 1}`, colour: () => ink("line"), width: 1 })),
      data: onOneAxis(lines),
    });
    const text = thin > 0 ? `The thick line is the run that was kept; the thin lines are the ${thin} runs of all starts.` : "";
    this.box.append(element("p", { class: "hint" }, text));
  }
}

const decibels = (x) => (x === null ? "not judged" : `${x.toFixed(1)} dB`);

/** The candidates of a separation, best first, each as [name, score, weight, reason]. */
export function ranked(candidates) {
  const worth = (c) => (c[1] === null ? -Infinity : c[1]);
  return [...candidates].sort((a, b) => b[2] - a[2] || worth(b) - worth(a));
}

function table(caption, head, rows) {
  const body = rows.map(([first, ...others]) => element("tr", {}, element("th", { scope: "row" }, first), ...others.map((text) => element("td", {}, text))));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head.map((h) => element("th", { scope: "col" }, h)))), element("tbody", {}, ...body)));
}

function drawCandidates(host, candidates, members) {
  if (candidates.length === 0 && members.length === 0) return;
  host.append(
    element("h3", {}, "Which candidates were compared"),
    element("p", {}, "Candidates differ in window, frame length, transform and dictionary. Each candidate separated remixes of passages of the recording. The best candidates were kept; the stems are the weighted mean of their results."));
  if (candidates.length > 0) {
    const rows = ranked(candidates).map(([what, score, weight, why]) => [what, decibels(score), weight > 0 ? short(weight) : "none", why]);
    host.append(table("Candidates of the separation", ["candidate", "SI-SDR on remixes", "weight", "why"], rows));
  } else {
    const rows = members.map((m, i) => [String(i + 1), short(m[0]), short(m[1], 6), short(m[2], 6), TRANSFORMS[m[3]] || "", decibels(m[4])]);
    host.append(table("Members of the separation", ["member", "weight", "frame", "hop", "transform", "SI-SDR on remixes"], rows));
  }
}

export function convergence(data) {
  const decodeAll = (packed) => Object.fromEntries(Object.entries(packed || {}).map(([name, value]) => [name, decode(value)]));
  const trace = decodeAll(data.trace);
  const host = document.getElementById("traces");
  if (trace.iteration && trace.iteration.length > 0) new Traces(host, trace, decodeAll(data.starts));
  drawCandidates(document.getElementById("candidates"), data.candidates, data.members);
}
