/* When the sources sound, from H: a label track, or notes with the pitch of their atoms. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096, HARMONICS = 8, LOWEST_KEY = 21, HIGHEST_KEY = 108 };

/* A source sounds where H is above this part of its largest: 20 dB below it. Shorter breaks than
 * so many frames are none, and neither are such sounds. */
static const double THRESHOLD = 1e-2;
enum { BREAK = 3, SHORTEST = 2 };

typedef struct stretch {
    double start, end, peak; /* seconds; of H */
} stretch;

/* ---- from H to stretches ----------------------------------------------------------------------
 */

static double level(const tlnmf_separator_info *info, const double *H, int64_t N, int64_t source,
                    int64_t n)
{
    double sum = 0.0;
    for (int64_t k = source * info->per_source; k < (source + 1) * info->per_source; k++)
        sum += H[k * N + n];
    return sum;
}

/* Frame n stands for the hop in its middle: where that begins. */
static double time_of(const tlnmf_frames *f, int64_t n, int rate, double end)
{
    double middle = (double)((n + 1) * f->hop) - 0.5 * (double)(f->M + f->hop);
    return fmin(end, fmax(0.0, (middle - 0.5 * (double)f->hop) / rate));
}

/* Up to N stretches of one source. */
static int64_t find_stretches(const tlnmf_separator_info *info, const double *H, int64_t N,
                              int64_t source, int rate, int64_t length, stretch *out)
{
    const tlnmf_frames *f = &info->frames;
    double most = 0.0, end = (double)length / rate;
    int64_t count = 0;
    for (int64_t n = 0; n < N; n++)
        most = fmax(most, level(info, H, N, source, n));
    int64_t last = -BREAK - 1, first = 0; /* frames of the stretch at hand */
    for (int64_t n = 0; n <= N + BREAK; n++) {
        double h = n < N ? level(info, H, N, source, n) : 0.0;
        if (h > THRESHOLD * most) {
            if (n - last > BREAK)
                out[count] = (stretch){time_of(f, first = n, rate, end), 0.0, 0.0};
            out[count].peak = fmax(out[count].peak, h);
            last = n;
        } else if (last >= 0 && n - last == BREAK) {
            out[count].end = time_of(f, last + 1, rate, end);
            count += last + 1 - first >= SHORTEST && out[count].end > out[count].start;
        }
    }
    return count;
}

/* ---- pitch ------------------------------------------------------------------------------------
 */

/* The power of a source's average sound at one frequency: sum_m w_m |sum_t Phi_mt e^(-2 pi i f
 * t)|^2, over the rows that hold most of it. */
static double power_at(const double *Phi, const double *w, int64_t M, double f)
{
    double sum = 0.0, step = 2.0 * 3.14159265358979323846 * f;
    for (int64_t m = 0; m < M; m++) {
        if (w[m] == 0.0)
            continue;
        double re = 0.0, im = 0.0, c = 1.0, s = 0.0, dc = cos(step), ds = sin(step);
        for (int64_t t = 0; t < M; t++) {
            re += c * Phi[m * M + t];
            im += s * Phi[m * M + t];
            double turned = c * dc - s * ds;
            s = s * dc + c * ds;
            c = turned;
        }
        sum += w[m] * (re * re + im * im);
    }
    return sum;
}

/* The weight of each row in a source, rows below 1 percent of the strongest left out. */
static void row_weights(const tlnmf_separator *separator, const tlnmf_separator_info *info,
                        int64_t source, double *w)
{
    int64_t M = info->frames.M, K = info->sources * info->per_source;
    const double *W = tlnmf_separator_W(separator);
    double most = 0.0;
    for (int64_t m = 0; m < M; m++) {
        w[m] = 0.0;
        for (int64_t k = source * info->per_source; k < (source + 1) * info->per_source; k++)
            w[m] += W[m * K + k];
        most = fmax(most, w[m]);
    }
    for (int64_t m = 0; m < M; m++)
        w[m] = w[m] < 1e-2 * most ? 0.0 : w[m];
}

/* The key whose harmonics hold the most: each weighted less than the one before, so that an octave
 * below, which has all of them too, does not win. */
static int find_key(const tlnmf_separator *separator, const tlnmf_separator_info *info,
                    int64_t source, int rate, double *w)
{
    int best = 60;
    double most = -1.0;
    row_weights(separator, info, source, w);
    for (int key = LOWEST_KEY; key <= HIGHEST_KEY; key++) {
        double f0 = 440.0 * pow(2.0, (key - 69) / 12.0) / rate, sum = 0.0, weight = 1.0;
        for (int h = 1; h <= HARMONICS && f0 * h < 0.5; h++, weight *= 0.7)
            sum +=
                weight * sqrt(power_at(tlnmf_separator_Phi(separator), w, info->frames.M, f0 * h));
        if (sum > most) {
            most = sum;
            best = key;
        }
    }
    return best;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* All stretches of all sources, `each` places a source. */
typedef struct activity {
    int64_t each, *count;
    stretch *part;
} activity;

static bool write_labels(const char *path, const cli_cast *cast, const activity *a, io_error *err)
{
    int64_t total = 0;
    for (int64_t k = 0; k < cast->sources; k++)
        total += a->count[k];
    io_labels labels = {0, calloc((size_t)total + 1, sizeof *labels.label)};
    if (labels.label == NULL)
        return io_fail(err, IO_NO_MEMORY, "%s: out of memory", path);
    for (int64_t k = 0; k < cast->sources; k++)
        for (int64_t i = 0; i < a->count[k]; i++) {
            const stretch *s = &a->part[k * a->each + i];
            labels.label[labels.count++] = (io_label){s->start, s->end, cast->name[k]};
        }
    bool done = io_labels_write(path, &labels, err);
    free(labels.label); /* the names are the cast's */
    return done;
}

static bool write_midi(const char *path, const tlnmf_separator *separator, const cli_cast *cast,
                       const activity *a, int rate, io_error *err)
{
    tlnmf_separator_info info;
    tlnmf_separator_describe(separator, &info);
    io_midi_track *track = calloc((size_t)cast->sources, sizeof *track);
    io_note *note = calloc((size_t)(cast->sources * a->each), sizeof *note);
    double *w = calloc((size_t)info.frames.M, sizeof *w);
    bool done = track != NULL && note != NULL && w != NULL;
    for (int64_t k = 0; done && k < cast->sources; k++) {
        int key = find_key(separator, &info, k, rate, w);
        double most = 1e-300;
        for (int64_t i = 0; i < a->count[k]; i++)
            most = fmax(most, a->part[k * a->each + i].peak);
        for (int64_t i = 0; i < a->count[k]; i++) {
            const stretch *s = &a->part[k * a->each + i];
            note[k * a->each + i] =
                (io_note){s->start, s->end, key, (int)fmax(1.0, 127.0 * sqrt(s->peak / most))};
        }
        track[k] = (io_midi_track){cast->name[k],
                                   (int)(k % 15 < 9 ? k % 15 : k % 15 + 1) /* 9 is the drums' */,
                                   a->count[k], note + k * a->each};
    }
    done = done ? io_midi_write(path, 120.0, track, cast->sources, err)
                : io_fail(err, IO_NO_MEMORY, "%s: out of memory", path);
    free(track);
    free(note);
    free(w);
    return done;
}

bool cli_activations_write(const tlnmf_separator *separator, const cli_cast *cast,
                           const cli_stems *stems, const double *H, int64_t N, int rate,
                           int64_t length, char *path, size_t path_size, io_error *err)
{
    tlnmf_separator_info info;
    tlnmf_separator_describe(separator, &info);
    bool midi = strcmp(stems->activations, "midi") == 0;
    int size =
        snprintf(path, path_size, "%s/activations.%s", stems->directory, midi ? "mid" : "txt");
    if (size < 0 || (size_t)size >= path_size)
        return io_fail(err, IO_NO_OUTPUT, "%s: the name is too long", stems->directory);
    activity a = {.each = N + 1, .count = calloc((size_t)cast->sources, sizeof *a.count)};
    a.part = calloc((size_t)(cast->sources * a.each), sizeof *a.part);
    bool done = a.count != NULL && a.part != NULL;
    if (!done)
        io_set_error(err, IO_NO_MEMORY, "%s: out of memory", path);
    for (int64_t k = 0; done && k < cast->sources; k++)
        a.count[k] = find_stretches(&info, H, N, k, rate, length, a.part + k * a.each);
    if (done)
        done = midi ? write_midi(path, separator, cast, &a, rate, err)
                    : write_labels(path, cast, &a, err);
    free(a.count);
    free(a.part);
    return done;
}
