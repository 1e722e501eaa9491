// Pages of figures: the paper's beside ours, one panel a picture.
import { ink, sourceColour } from "./colours.mjs";
import { onOneAxis } from "./convergence.mjs";
import { curves, element } from "./plot.mjs";

/** The points of a series that its axes can show, in the order of x. */
export function shownPoints(series, xLog, yLog) {
  const points = series.x
    .map((x, i) => [x, series.y[i]])
    .filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!xLog || x > 0) && (!yLog || y > 0))
    .sort((a, b) => a[0] - b[0]);
  return { x: points.map((p) => p[0]), y: points.map((p) => p[1]) };
}

/** The colour of each series: what was published has that of ours, orders O(..) none. */
export function coloursOf(labels) {
  const published = ", published";
  const found = [];
  let next = 0;
  labels.forEach((label, i) => {
    const ours = label.endsWith(published) ? labels.findIndex((other, j) => j < i && other.endsWith(label.slice(0, -published.length))) : -1;
    if (label.startsWith("O(")) found.push(null);
    else found.push(ours >= 0 ? found[ours] : next++);
  });
  return found;
}

function drawPanel(host, panel) {
  const figure = element("figure", { class: "panel" }, element("figcaption", {}, panel.title));
  host.append(figure);
  const labels = panel.series.map((s, i) => s.label || `series ${i + 1}`);
  const colours = coloursOf(labels);
  const lines = panel.series.map((s) => shownPoints(s, panel.xLog, panel.yLog));
  curves(figure, {
    height: 280,
    label: `${panel.title}: ${panel.y} against ${panel.x}`,
    x: panel.x,
    y: panel.y,
    xLog: panel.xLog,
    yLog: panel.yLog,
    series: panel.series.map((s, i) => ({ label: labels[i], colour: () => (colours[i] === null ? ink("text") : sourceColour(colours[i])), points: s.points, dash: s.dashed ? [5, 4] : undefined })),
    data: onOneAxis(lines),
  });
}

export function figures(data) {
  data.figures.forEach((figure, i) => {
    const host = document.getElementById(`figure-${i}`);
    figure.panels.forEach((panel) => drawPanel(host, panel));
  });
}
