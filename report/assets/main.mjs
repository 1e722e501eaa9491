// Fills the page: reads its data, draws its sections, adds its downloads.
import { decode, rowOf } from "./arrays.mjs";
import { toCsv } from "./numbers.mjs";
import { element } from "./plot.mjs";
import { listen } from "./listen.mjs";
import { look } from "./look.mjs";
import { atoms } from "./atoms.mjs";
import { convergence } from "./convergence.mjs";

function download(name, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** One row of numbers per position, one column per component. */
export function columnsCsv(first, x, array) {
  const header = [first, ...Array.from({ length: array.shape[0] }, (_, k) => `component ${k + 1}`)];
  const rows = Array.from({ length: array.shape[1] }, (_, i) => [x(i), ...Array.from({ length: array.shape[0] }, (_, k) => rowOf(array, k)[i])]);
  return toCsv(header, rows);
}

function offerDownloads(data) {
  const host = document.getElementById("downloads");
  const button = (name, make) => host.append(element("button", { type: "button", onclick: () => download(name, make()) }, `Download ${name}`));
  const W = decode(data.W);
  const H = decode(data.H);
  const at = (i, count) => (data.hop > 0 ? data.first + (data.hop * data.N * i) / count : (data.N * i) / count);
  if (W) {
    const f = decode(data.frequencies);
    button("W.csv", () => columnsCsv(data.unit === "" ? "rank" : data.unit === "row" ? "row" : "frequency", (i) => f[Math.floor((i * f.length) / W.shape[1])], W));
  }
  if (H) button("H.csv", () => columnsCsv(data.hop > 0 ? "time" : "frame", (i) => at(i, H.shape[1]), H));
  if (data.atoms) {
    const names = ["row", "energy", "frequency", "amplitude", "phase", "error", "key", "cents"];
    const columns = names.map((name) => decode(data.atoms[name]));
    button("atoms.csv", () => toCsv(names, Array.from(columns[0], (_, i) => columns.map((c) => c[i]))));
  }
}

function offerCopy() {
  const code = document.getElementById("repeat");
  if (!code) return;
  const button = element("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  } }, "Copy");
  code.after(" ", button);
}

if (typeof document !== "undefined") {
  const data = JSON.parse(document.getElementById("data").textContent);
  const player = listen(data);
  look(data);
  atoms(data);
  convergence(data);
  offerDownloads(data);
  offerCopy();
  window.tlnmfPage = { player }; // for tests and debugging
  document.documentElement.dataset.ready = "true";
}
