// The section "Listen": waveforms with players, then labels and activations.
import { bytesOf, decode, reduceToMax, rowOf } from "./arrays.mjs";
import { clockTime } from "./numbers.mjs";
import { ink, sourceColour } from "./colours.mjs";
import { Frame, clock, element } from "./plot.mjs";
import { Player, selection } from "./player.mjs";

/** The sound that the page holds as the source of an <audio> element. */
function soundOf(track) {
  const audio = track.querySelector("audio");
  return audio && (() => bytesOf(audio.getAttribute("src").split(",")[1]));
}

function drawWave(low, high, colour) {
  return (g, area) => {
    const step = area.width / low.length;
    g.fillStyle = colour();
    for (let i = 0; i < low.length; i++) {
      const top = area.y(high[i] / 127);
      g.fillRect(area.left + i * step, top - 0.5, Math.max(step, 0.75), area.y(low[i] / 127) - top + 1);
    }
  };
}

/** A click or the arrow keys seek; a drag selects a part to loop. */
function makeSeekable(frame, name, seconds, player) {
  const over = frame.over;
  const at = (event) => {
    const box = over.getBoundingClientRect();
    return (Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * seconds);
  };
  over.setAttribute("role", "slider");
  over.setAttribute("tabindex", "0");
  over.setAttribute("aria-label", `Position in ${name}`);
  over.setAttribute("aria-valuemin", "0");
  over.setAttribute("aria-valuemax", seconds.toFixed(2));
  let from = null;
  over.addEventListener("pointerdown", (e) => {
    from = at(e);
    over.setPointerCapture(e.pointerId);
  });
  over.addEventListener("pointerup", (e) => {
    if (from === null) return;
    const range = Math.abs(at(e) - from) * (over.clientWidth / seconds) > 5 ? selection(from, at(e), seconds) : null;
    if (range) player.setLoop(range);
    else player.seek(at(e));
    from = null;
  });
  over.addEventListener("keydown", (e) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (e.key in steps) player.seek(player.time + (steps[e.key] * seconds) / 100);
    else if (e.key === "Home") player.seek(0);
    else if (e.key === "End") player.seek(seconds);
    else return;
    e.preventDefault();
  });
  const region = element("div", { class: "loop" });
  region.hidden = true;
  over.append(region);
  const show = () => {
    over.setAttribute("aria-valuenow", player.time.toFixed(2));
    over.setAttribute("aria-valuetext", clockTime(player.time));
    region.hidden = !player.loop;
    if (player.loop) {
      region.style.left = `${(100 * player.loop[0]) / seconds}%`;
      region.style.width = `${(100 * (player.loop[1] - player.loop[0])) / seconds}%`;
    }
  };
  player.watchers.push(show);
  show();
}

function toggle(text, label, isOn, set, player) {
  const button = element("button", { type: "button", "aria-label": label, onclick: () => set(!isOn()) }, text);
  const show = () => button.setAttribute("aria-pressed", String(isOn()));
  player.watchers.push(show);
  show();
  return button;
}

/** Play, position, loop, volume. */
function makeTransport(host, player, seconds) {
  const play = element("button", { type: "button", class: "play", onclick: () => (player.playing ? player.pause() : player.play()) });
  const time = element("output", { class: "time", "aria-live": "off" });
  let mark = 0;
  const volume = element("input", { type: "range", min: "0", max: "1", step: "0.01", value: "1", oninput: () => player.setVolume(Number(volume.value)) });
  const all = element("button", { type: "button", onclick: () => player.hearAll() }, "Mixture");
  const loopFrom = element("button", { type: "button", onclick: () => (mark = player.time) }, "Loop from here");
  const loopTo = element("button", { type: "button", onclick: () => player.setLoop(selection(mark, player.time, seconds)) }, "to here");
  const loopOff = element("button", { type: "button", onclick: () => player.setLoop(null) }, "No loop");
  host.append(play, time, all, loopFrom, loopTo, loopOff, element("label", {}, "Volume ", volume));
  host.append(
    element("p", { class: "hint" }, "Space plays and pauses. Click a waveform or use the arrow keys to seek; drag over a waveform to loop a part."),
  );
  const show = () => {
    play.textContent = player.playing ? "Pause" : "Play";
    loopOff.disabled = !player.loop;
    time.textContent = `${clockTime(player.time)} / ${clockTime(seconds)}`;
  };
  player.watchers.push(show);
  show();
  document.addEventListener("keydown", (e) => {
    const busy = e.target.closest("button, input, select, textarea, a, audio, summary");
    if (e.key !== " " || busy || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    play.click();
  });
  const frame = () => {
    player.tick();
    if (player.playing) {
      clock.set(player.time);
      time.textContent = `${clockTime(player.time)} / ${clockTime(seconds)}`;
    }
    requestAnimationFrame(frame);
  };
  player.watchers.push(() => clock.set(player.time));
  requestAnimationFrame(frame);
}

/** When each source is active: H of its components, and the labels. */
function drawTimeline(host, data, seconds) {
  const H = decode(data.H);
  const names = data.sources;
  if (names.length === 0 || (!H && data.labels.length === 0)) return;
  const columns = 800;
  const levels = names.map(() => new Float64Array(columns));
  if (H) {
    data.owners.forEach((source, k) => {
      reduceToMax(rowOf(H, k), columns).forEach((h, i) => (levels[source][i] += h));
    });
  }
  const most = Math.max(1e-300, ...levels.map((row) => Math.max(...row)));
  const span = H ? [data.first, data.first + data.hop * data.N] : [0, seconds];
  const count = Math.min(columns, H ? H.shape[1] : 0);
  new Frame(host, {
    height: 44 + 34 * names.length,
    label: `When ${names.join(", ")} sound: activations as areas, labels as bars`,
    time: true,
    x: { low: 0, high: seconds, label: "time (s)" },
    y: { low: -names.length, high: 0, label: "", at: names.map((_, i) => -i - 0.5), marks: false, format: (v) => String(Math.round(0.5 - v)) },
    draw(g, area) {
      names.forEach((_, s) => {
        g.fillStyle = sourceColour(s);
        g.globalAlpha = 0.35;
        for (const [from, to, name] of data.labels)
          if (name.trim() === names[s]) g.fillRect(area.x(from), area.y(-s - 0.08), Math.max(2, area.x(to) - area.x(from)), 6);
        g.globalAlpha = 0.9;
        g.beginPath();
        g.moveTo(area.x(span[0]), area.y(-s - 1));
        for (let i = 0; i < count; i++) {
          const x = span[0] + ((i + 0.5) / count) * (span[1] - span[0]);
          g.lineTo(area.x(x), area.y(-s - 1 + 0.75 * Math.sqrt(levels[s][i] / most)));
        }
        g.lineTo(area.x(span[1]), area.y(-s - 1));
        g.fill();
        g.globalAlpha = 1;
      });
      g.strokeStyle = ink("grid");
      names.forEach((_, s) => g.strokeRect(area.left, area.y(-s), area.width, 0));
    },
  });
  const list = element("ol", { class: "legend" });
  names.forEach((name, s) => {
    const mark = element("span", { class: "swatch" });
    mark.style.background = sourceColour(s);
    list.append(element("li", {}, mark, name));
  });
  host.append(list);
}

export function listen(data) {
  const host = document.getElementById("tracks");
  if (!host) return null;
  const { tracks, seconds } = data.sound;
  const hosts = [...host.querySelectorAll(".track")];
  const sounding = tracks.map((t, i) => i).filter((i) => tracks[i].sound);
  const player = new Player(sounding.map((i) => ({ name: tracks[i].name, bytes: soundOf(hosts[i]) })), seconds);
  const usable = sounding.length > 0 && typeof AudioContext !== "undefined";
  if (usable) makeTransport(document.getElementById("transport"), player, seconds);
  const peak = Math.max(0.05, ...tracks.map((t) => t.peak));
  tracks.forEach((track, i) => {
    const number = data.sound.whole ? i - 1 : i;
    const colour = () => (number < 0 ? ink("text-soft") : sourceColour(number));
    const audio = hosts[i].querySelector("audio");
    if (usable && audio) {
      const k = sounding.indexOf(i);
      const state = player.tracks[k];
      audio.remove();
      hosts[i].querySelector("h3").append(
        toggle("Mute", `Mute ${track.name}`, () => state.mute, (on) => player.setMute(k, on), player),
        toggle("Solo", `Solo ${track.name}`, () => state.solo, (on) => player.setSolo(k, on), player),
      );
    }
    if (hosts[i].querySelector(".missing") || !(seconds > 0)) return;
    const frame = new Frame(hosts[i], {
      height: 116,
      label: `Waveform of ${track.name}`,
      time: true,
      x: { low: 0, high: seconds, label: "time (s)" },
      y: { low: -peak, high: peak, label: "level", at: [-peak, 0, peak], format: (v) => v.toFixed(2) },
      draw: drawWave(decode(track.low), decode(track.high), colour),
    });
    if (usable) makeSeekable(frame, track.name, seconds, player);
  });
  if (seconds > 0) drawTimeline(document.getElementById("timeline"), data, seconds);
  return player;
}
