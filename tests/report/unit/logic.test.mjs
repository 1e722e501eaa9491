// The logic of the page's script, without a browser: node --test tests/report/unit
import assert from "node:assert/strict";
import test from "node:test";
import { bytesOf, decode, reduceToMax, rowOf } from "../../../report/assets/arrays.mjs";
import { clockTime, orderBy, short, ticks, toCsv } from "../../../report/assets/numbers.mjs";
import { fromOklab, heatColour, paint, sourceColour } from "../../../report/assets/colours.mjs";
import { audible, positionAt, selection } from "../../../report/assets/player.mjs";
import { panned, ranksOfTicks, rowsOfTicks, zoomed } from "../../../report/assets/look.mjs";
import { cosine, repeated } from "../../../report/assets/atoms.mjs";
import { wholeSteps } from "../../../report/assets/plot.mjs";
import { distances, linesOf, onOneAxis, ranked } from "../../../report/assets/convergence.mjs";
import { columnsCsv } from "../../../report/assets/main.mjs";

const pack = (type, array, shape) => ({ type, shape, data: Buffer.from(array.buffer).toString("base64") });

test("packed arrays are restored", () => {
  const x = new Float64Array([1, -2.5, NaN, 1e300, 0, 7]);
  const back = decode(pack("f64", x, [2, 3]));
  assert.deepEqual([...back], [...x]);
  assert.deepEqual([...rowOf(back, 1)], [1e300, 0, 7]);
  assert.deepEqual([...decode(pack("i8", new Int8Array([-127, 127]), [2]))], [-127, 127]);
  assert.equal(decode(undefined), null);
  assert.deepEqual([...bytesOf("AP8=")], [0, 255]);
});

test("reducing keeps the largest", () => {
  assert.deepEqual(reduceToMax(new Float32Array([1, 5, 2, 0, 9, 3]), 3), [5, 2, 9]);
  assert.deepEqual(reduceToMax(new Float32Array([1, 2]), 5), [1, 2]);
});

test("ticks are round, inside, and in order", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  for (const [low, high] of [[0, 3.3], [-118, -38], [1e-9, 3e-9], [0, 22050]]) {
    const t = ticks(low, high, 6);
    assert.ok(t.length >= 3 && t.length <= 13, `${low} ${high}: ${t}`);
    assert.ok(t.every((v, i) => v >= low - 1e-12 && v <= high * (1 + 1e-9) + 1e-12 && (i === 0 || v > t[i - 1])));
  }
  assert.deepEqual(ticks(2, 2, 5), [2]);
});

test("numbers are formatted for reading", () => {
  assert.equal(short(466.2112, 5), "466.21");
  assert.equal(short(0.000012), "1.2e-5");
  assert.equal(short(-12345678, 3), "-1.23e7");
  assert.equal(short(NaN), "none");
  assert.equal(short(null), "none");
  assert.equal(clockTime(75.32), "1:15.3");
  assert.equal(clockTime(59.99), "1:00.0");
  assert.equal(clockTime(-1), "0:00.0");
});

test("orders, with values that are not numbers last", () => {
  assert.deepEqual(orderBy([3, NaN, 1, 2]), [2, 3, 0, 1]);
  assert.deepEqual(orderBy([3, NaN, 1, 2], true), [0, 3, 2, 1]);
  assert.deepEqual(orderBy([1, 1, 1]), [0, 1, 2]);
});

test("CSV quotes texts and contains no formulas", () => {
  assert.equal(toCsv(["a", 'b"c'], [[1, "x,y"], [NaN, "=1+1"]]), 'a,"b""c"\r\n1,"x,y"\r\n,\'=1+1\r\n');
  const two = Object.assign(new Float64Array([1, 2, 3, 4]), { shape: [2, 2] });
  assert.equal(columnsCsv("t", (i) => i * 10, two), "t,component 1,component 2\r\n0,1,3\r\n10,2,4\r\n");
});

test("the lightness of the heat map's colours always increases, also without red or green cones", () => {
  const luminance = ([r, g, b]) => 0.2126 * (r / 255) ** 2.2 + 0.7152 * (g / 255) ** 2.2 + 0.0722 * (b / 255) ** 2.2;
  let last = -1;
  for (let i = 0; i <= 64; i++) {
    const now = luminance(heatColour(i / 64));
    assert.ok(now > last, `step ${i}`);
    last = now;
  }
  assert.deepEqual(fromOklab(1, 0, 0), [255, 255, 255]);
  assert.deepEqual(fromOklab(0, 0, 0), [0, 0, 0]);
  assert.equal(paint(new Uint8Array([0, 255]), 0).length, 8);
  assert.notEqual(sourceColour(0, false), sourceColour(1, false));
  assert.equal(sourceColour(6, true), sourceColour(0, true));
});

test("solo overrides mute", () => {
  assert.deepEqual(audible([{ mute: true }, { mute: false }]), [false, true]);
  assert.deepEqual(audible([{ mute: true, solo: true }, { mute: false, solo: false }]), [true, false]);
});

test("the position runs, wraps in a loop, and ends", () => {
  assert.equal(positionAt(1, 0.5, null, 3), 1.5);
  assert.equal(positionAt(1, 9, null, 3), 3);
  assert.equal(positionAt(1, -0.1, null, 3), 1);
  assert.ok(Math.abs(positionAt(1, 1.25, [1, 2], 3) - 1.25) < 1e-12);
  assert.equal(positionAt(2.5, 0.25, [1, 2], 3), 2.75); // already past the loop
  assert.deepEqual(selection(2, 1, 3), [1, 2]);
  assert.equal(selection(1, 1.001, 3), null);
});

test("zoom and pan stay inside", () => {
  assert.deepEqual(zoomed([0, 10], [0, 10], 0.5, 5), [2.5, 7.5]);
  assert.deepEqual(zoomed([2.5, 7.5], [0, 10], 4, 5), [0, 10]);
  assert.deepEqual(panned([2, 4], [0, 10], -5), [0, 2]);
  assert.deepEqual(panned([2, 4], [0, 10], 0.5), [3, 5]);
});

test("round frequencies on uneven rows", () => {
  assert.deepEqual(rowsOfTicks([0, 1, 2, 50, 99, 100], 0, 6, 2), [0, 3, 5]);
  assert.deepEqual(rowsOfTicks([5], 0, 1, 4), [0]);
});

test("steps of an axis that counts are whole and increase", () => {
  assert.deepEqual(wholeSteps.slice(0, 5), [1, 2, 5, 10, 20]);
  assert.ok(wholeSteps.every((step, i) => Number.isInteger(step) && (i === 0 || step > wholeSteps[i - 1])));
});

test("atoms as sound and as cosines", () => {
  const c = cosine(2, 100, 0, 800, 8);
  assert.ok(Math.abs(c[0] - 2) < 1e-12 && Math.abs(c[4] + 2) < 1e-12);
  const s = repeated(c, 8000);
  assert.equal(s.length, 8000);
  assert.equal(s[0], 0);
  assert.ok(Math.max(...s) <= 0.3 + 1e-6 && Math.max(...s) > 0.29);
});

test("traces with several starts and NaN", () => {
  const trace = { start: [0, 1, 0, 1], C: [5, NaN, 3, 4], seconds: [0.1, 0.2, 0.3, 0.4] };
  const lines = [...linesOf(trace, "C", "time").values()];
  assert.deepEqual(lines, [{ x: [0.1, 0.3], y: [5, 3] }, { x: [0.4], y: [4] }]);
  assert.deepEqual(onOneAxis(lines), [[0.1, 0.3, 0.4], [5, 3, null], [null, null, 4]]);
  assert.deepEqual(distances(lines), [{ x: [0.1], y: [2] }, { x: [0.4], y: [1] }]);
  assert.equal(linesOf(trace, "missing", "time").size, 0);
});

test("candidates: members by weight, then others by score, unscored ones last", () => {
  const all = [["a", 1, 0, ""], ["b", null, 0, ""], ["c", 5, 0.2, ""], ["d", 4, 0.8, ""], ["e", 9, 0, ""]];
  assert.deepEqual(ranked(all).map((c) => c[0]), ["d", "c", "e", "a", "b"]);
});

test("ranks are at the centres of their rows", () => {
  const at = ranksOfTicks(8, 8, 0, 8, 6);
  assert.ok(at.includes(7.5)); // rank 1, the top row
  assert.ok(at.every((v) => v % 1 === 0.5 && v > 0 && v < 8));
  assert.equal(new Set(at).size, at.length);
});
