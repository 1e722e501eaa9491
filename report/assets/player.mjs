// Stems played together, sample by sample, through Web Audio.

/** The audible tracks: the solo tracks if there are any, otherwise all tracks that are not muted. */
export function audible(tracks) {
  const solo = tracks.some((t) => t.solo);
  return tracks.map((t) => (solo ? t.solo : !t.mute));
}

/** The position of the playback `elapsed` seconds after it started at `offset`. */
export function positionAt(offset, elapsed, loop, duration) {
  const at = offset + Math.max(0, elapsed);
  if (loop && offset < loop[1] && at >= loop[1]) return loop[0] + ((at - loop[0]) % (loop[1] - loop[0]));
  return Math.min(at, duration);
}

/** A selection in order, or null if it is too short to be heard. */
export function selection(a, b, duration) {
  const low = Math.max(0, Math.min(a, b));
  const high = Math.min(duration, Math.max(a, b));
  return high - low >= 0.02 ? [low, high] : null;
}

export class Player {
  /** `tracks`: [{name, bytes}], bytes() being a sound file. */
  constructor(tracks, duration) {
    this.tracks = tracks.map((t) => ({ ...t, mute: false, solo: false, buffer: null, gain: null, source: null }));
    this.duration = duration;
    this.offset = 0;
    this.loop = null;
    this.volume = 1;
    this.playing = false;
    this.watchers = [];
  }

  changed() {
    for (const watch of this.watchers) watch(this);
  }

  /** Decodes the sound and builds the graph: a source and a gain for each track, one volume. */
  async connect(context, destination = context.destination) {
    this.context = context;
    this.master = context.createGain();
    this.master.gain.value = this.volume;
    this.master.connect(destination);
    await Promise.all(
      this.tracks.map(async (t) => {
        t.buffer = t.buffer || (await context.decodeAudioData(t.bytes().buffer));
        t.gain = context.createGain();
        t.gain.connect(this.master);
      }),
    );
    this.mix();
  }

  async load() {
    this.loading = this.loading || this.connect(new AudioContext());
    return this.loading;
  }

  mix() {
    audible(this.tracks).forEach((on, i) => {
      if (this.tracks[i].gain) this.tracks[i].gain.gain.value = on ? 1 : 0;
    });
  }

  /** Starts every track at the same sample, by one clock. */
  start(when = this.context.currentTime + 0.02) {
    this.startedAt = when;
    for (const t of this.tracks) {
      t.source = this.context.createBufferSource();
      t.source.buffer = t.buffer;
      if (this.loop) {
        t.source.loop = true;
        [t.source.loopStart, t.source.loopEnd] = this.loop;
      }
      t.source.connect(t.gain);
      t.source.start(when, this.offset);
    }
  }

  halt() {
    for (const t of this.tracks) {
      if (t.source) t.source.stop();
      t.source = null;
    }
  }

  get time() {
    if (!this.playing) return this.offset;
    return positionAt(this.offset, this.context.currentTime - this.startedAt, this.loop, this.duration);
  }

  async play() {
    if (this.playing) return;
    await this.load();
    if (this.context.state === "suspended") await this.context.resume();
    if (this.offset >= this.duration - 0.01) this.offset = this.loop ? this.loop[0] : 0;
    this.start();
    this.playing = true;
    this.changed();
  }

  pause() {
    if (!this.playing) return;
    this.offset = this.time;
    this.playing = false;
    this.halt();
    this.changed();
  }

  /** Called by the drawing loop: the end of the sound ends the playback. */
  tick() {
    if (this.playing && !this.loop && this.time >= this.duration) {
      this.pause();
      this.offset = 0;
      this.changed();
    }
  }

  /** Continues from the current position after a change. */
  restart(at = this.time) {
    const playing = this.playing;
    if (playing) this.halt();
    this.offset = Math.min(this.duration, Math.max(0, at));
    if (playing) this.start();
    this.changed();
  }

  seek(time) {
    this.restart(time);
  }

  setLoop(range) {
    const at = this.time;
    this.loop = range;
    this.restart(range && (at < range[0] || at >= range[1]) ? range[0] : at);
  }

  setMute(i, on) {
    this.tracks[i].mute = on;
    this.mix();
    this.changed();
  }

  setSolo(i, on) {
    this.tracks[i].solo = on;
    this.mix();
    this.changed();
  }

  /** Plays all tracks, as in the recording. */
  hearAll() {
    for (const t of this.tracks) t.mute = t.solo = false;
    this.mix();
    this.changed();
  }

  setVolume(volume) {
    this.volume = volume;
    if (this.master) this.master.gain.value = volume;
    this.changed();
  }
}
