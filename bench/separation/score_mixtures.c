/* Separates mixtures with known stems and prints scores: score [NAME=VALUE...] FOLDER...
 *
 * A folder holds mix.flac, labels.txt (start, end, name) and a NAME.flac for each source.
 * NAME=VALUE are settings of the task "learn"; blind=1 ignores the labels. Prints one line of JSON
 * per folder: the SI-SDR of each stem, the time, the model's own estimates, and the F-measure of
 * the onsets of its activations against the labels (within 50 ms, mean of the stems). */
#include <tlnmf/sound.h>

#include <math.h>
#include <sndfile.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SOURCES = 8, TEXT = 4096, LABELS = 1000 };

typedef struct folder {
    const char *path;
    char name[SOURCES][256];
    int sources;
    double *mix, *truth[SOURCES];
    double onset[SOURCES][LABELS]; /* of the labels, each time once */
    int onsets[SOURCES];
    int64_t length;
    double rate;
} folder;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* One channel of a sound file. */
static double *read_sound(const char *path, int64_t *length, double *rate)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    if (file == NULL || info.channels != 1)
        fail(path, "not a mono sound file");
    double *x = malloc(sizeof *x * (size_t)info.frames);
    if (x == NULL || sf_readf_double(file, x, info.frames) != info.frames)
        fail(path, "cannot be read");
    sf_close(file);
    *length = info.frames;
    *rate = info.samplerate;
    return x;
}

static void add_labels(tlnmf_ctx *ctx, tlnmf_sound *sound, folder *f, int blind)
{
    char path[TEXT], line[TEXT], name[256];
    double start, end;
    snprintf(path, sizeof path, "%s/labels.txt", f->path);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail(path, "cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        char *at = line, *after;
        start = strtod(at, &after);
        end = strtod(after, &at);
        at += strspn(at, " \t");
        at[strcspn(at, "\r\n")] = '\0';
        if (after == line || *at == '\0')
            continue;
        snprintf(name, sizeof name, "%.255s", at);
        int k = 0;
        while (k < f->sources && strcmp(f->name[k], name) != 0)
            k++;
        if (k == SOURCES)
            fail(path, "too many sources");
        if (k == f->sources)
            snprintf(f->name[f->sources++], sizeof f->name[0], "%s", name);
        bool known = false;
        for (int i = 0; i < f->onsets[k]; i++)
            known = known || f->onset[k][i] == start;
        if (!known && f->onsets[k] < LABELS)
            f->onset[k][f->onsets[k]++] = start;
        if (!blind && tlnmf_sound_add_label(ctx, sound, name, start, end) != TLNMF_OK)
            fail(path, tlnmf_message(ctx));
    }
    fclose(file);
}

static void read_truth(folder *f)
{
    for (int k = 0; k < f->sources; k++) {
        char path[TEXT];
        int64_t length;
        double rate;
        snprintf(path, sizeof path, "%s/%s.flac", f->path, f->name[k]);
        f->truth[k] = read_sound(path, &length, &rate);
        if (length != f->length)
            fail(path, "not as long as the mix");
    }
}

static double si_sdr(const double *r, const double *e, int64_t length)
{
    double re = 0.0, rr = 0.0, error = 0.0;
    for (int64_t t = 0; t < length; t++) {
        re += r[t] * e[t];
        rr += r[t] * r[t];
    }
    double a = re / rr;
    for (int64_t t = 0; t < length; t++)
        error += (e[t] - a * r[t]) * (e[t] - a * r[t]);
    return 10.0 * log10(a * a * rr / (error + 1e-30));
}

/* Scores of the best order of the stems, found by exhaustive search, as there are few stems. */
static double best_order(const folder *f, const double *stems, int stems_count, int used, int k,
                         double *score)
{
    if (k == f->sources)
        return 0.0;
    double best = -INFINITY, rest[SOURCES];
    for (int i = 0; i < stems_count; i++) {
        if (used >> i & 1)
            continue;
        double s = si_sdr(f->truth[k], stems + i * f->length, f->length);
        double sum = s + best_order(f, stems, stems_count, used | 1 << i, k + 1, rest);
        if (sum > best) {
            best = sum;
            score[k] = s;
            for (int j = k + 1; j < f->sources; j++)
                score[j] = rest[j];
        }
    }
    return best;
}

/* Each label's onset is matched with one event of the source at most. */
static double onset_measure(const folder *f, int k, const tlnmf_record *events)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *source = tlnmf_record_get_array(events, "source", NULL, shape),
                 *begin = tlnmf_record_get_array(events, "begin", NULL, NULL);
    bool used[LABELS] = {false};
    double found = 0.0, hits = 0.0;
    for (int64_t e = 0; e < shape[0]; e++) {
        if ((int)source[e] != k)
            continue;
        int best = -1;
        for (int i = 0; i < f->onsets[k]; i++) {
            double off = fabs(f->onset[k][i] - begin[e]);
            if (!used[i] && off <= 0.05 && (best < 0 || off < fabs(f->onset[k][best] - begin[e])))
                best = i;
        }
        found += 1.0;
        if (best >= 0) {
            used[best] = true;
            hits += 1.0;
        }
    }
    return 2.0 * hits / (found + (double)f->onsets[k]);
}

static void print_onsets(tlnmf_ctx *ctx, const folder *f, const tlnmf_record *model,
                         const tlnmf_sound *sound, const tlnmf_record *report)
{
    tlnmf_record *events;
    double sum = 0.0;
    if (tlnmf_activations(ctx, model, sound, report, &events) != TLNMF_OK)
        fail(f->path, tlnmf_message(ctx));
    for (int k = 0; k < f->sources; k++)
        sum += onset_measure(f, k, events);
    printf(", \"onset_f\": %.4f", sum / f->sources);
    tlnmf_record_free(events);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.6g", name, value);
    else
        printf(", \"%s\": null", name);
}

static void print_array(const tlnmf_record *model, const char *name)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(model, name, NULL, shape);
    if (x == NULL)
        return;
    printf(", \"%s\": [", name);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        printf(isfinite(x[i]) ? "%s%.6g" : "%snull", i > 0 ? ", " : "", x[i]);
    printf("]");
}

/* Log lines go to stderr if LOG is set. */
static void log_line(tlnmf_log_level level, const char *message, void *user)
{
    (void)level;
    (void)user;
    fprintf(stderr, "  %s\n", message);
}

static void print_model(const tlnmf_record *model)
{
    static const char *const reals[] = {"score", "coverage"};
    static const char *const arrays[] = {"members", "expected_sdr", "expected_low", "expected_high",
                                         "share",   "overlap",      "agreement"};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        print_number(reals[i], tlnmf_record_get_real(model, reals[i]));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        print_array(model, arrays[i]);
    if (tlnmf_record_get_text(model, "reason") != NULL)
        printf(", \"reason\": \"%s\"", tlnmf_record_get_text(model, "reason"));
    size_t size = 0;
    tlnmf_ctx *ctx = NULL;
    if (tlnmf_ctx_create(&ctx) == TLNMF_OK &&
        tlnmf_record_pack(ctx, model, NULL, &size) == TLNMF_OK)
        print_number("bytes", (double)size);
    tlnmf_ctx_free(ctx);
}

/* Where the stems go, if WRITE names a folder. */
static void run(tlnmf_ctx *ctx, const char *path, const tlnmf_settings *settings, int blind)
{
    static folder f; /* too large for the stack */
    memset(&f, 0, sizeof f);
    f.path = path;
    tlnmf_sound *sound;
    tlnmf_settings *run_settings, *own;
    tlnmf_record *model, *report, *plan;
    char file[TEXT];
    snprintf(file, sizeof file, "%s/mix.flac", path);
    f.mix = read_sound(file, &f.length, &f.rate);
    if (tlnmf_sound_from_array(ctx, f.mix, f.length, 1, f.rate, &sound) != TLNMF_OK)
        fail(path, tlnmf_message(ctx));
    add_labels(ctx, sound, &f, blind);
    read_truth(&f);
    if (tlnmf_settings_copy(ctx, settings, &own) != TLNMF_OK)
        fail(path, tlnmf_message(ctx));
    if (blind == 2 && tlnmf_settings_set_integer(ctx, own, "k", f.sources) != TLNMF_OK)
        fail(path, tlnmf_message(ctx));
    double began = seconds();
    if (tlnmf_learn_sources(ctx, sound, own, &model) != TLNMF_OK ||
        tlnmf_settings_create(ctx, "separate", &run_settings) != TLNMF_OK ||
        tlnmf_settings_set_integer(ctx, run_settings, "threads",
                                   tlnmf_settings_get_integer(settings, "threads")) != TLNMF_OK ||
        tlnmf_settings_set_integer(ctx, run_settings, "keep-h", 1) != TLNMF_OK ||
        tlnmf_separate_plan(ctx, model, sound, run_settings, &plan) != TLNMF_OK)
        fail(path, tlnmf_message(ctx));
    double learnt = seconds();
    int count = (int)tlnmf_record_get_integer(plan, "stems");
    double *stems = malloc(sizeof *stems * (size_t)(count * f.length)), score[SOURCES], sum = 0.0;
    if (stems == NULL ||
        tlnmf_separate_array(ctx, model, sound, run_settings, stems, &report) != TLNMF_OK)
        fail(path, tlnmf_message(ctx));
    double ended = seconds();
    if (blind && count >= f.sources)
        best_order(&f, stems, count, 0, 0, score);
    for (int k = 0; k < f.sources; k++) {
        if (!blind)
            score[k] = si_sdr(f.truth[k], stems + k * f.length, f.length);
        else if (count < f.sources)
            score[k] = NAN;
        sum += score[k];
    }
    printf("{\"case\": \"%s\", \"si_sdr\": [", path);
    for (int k = 0; k < f.sources; k++)
        printf(isfinite(score[k]) ? "%s%.4f" : "%snull", k > 0 ? ", " : "", score[k]);
    printf("], \"sources\": %d, \"stems\": %d", f.sources, count);
    print_number("db", sum / f.sources);
    print_number("learn_s", learnt - began);
    print_number("stems_s", ended - learnt);
    print_model(model);
    if (!blind)
        print_onsets(ctx, &f, model, sound, report);
    printf("}\n");
    fflush(stdout);
    tlnmf_record_free(model);
    tlnmf_record_free(plan);
    tlnmf_record_free(report);
    tlnmf_settings_free(run_settings);
    tlnmf_settings_free(own);
    tlnmf_sound_free(sound);
    for (int k = 0; k < SOURCES; k++)
        free(f.truth[k]);
    free(f.mix);
    free(stems);
}

int main(int argc, char **argv)
{
    tlnmf_ctx *ctx;
    tlnmf_settings *settings;
    int blind = 0;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK ||
        tlnmf_settings_create(ctx, "learn", &settings) != TLNMF_OK)
        fail("score", "no memory");
    if (getenv("LOG") != NULL)
        tlnmf_ctx_set_log(ctx, log_line, NULL);
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals == NULL) {
            run(ctx, argv[i], settings, blind);
            continue;
        }
        *equals = '\0';
        if (strcmp(argv[i], "blind") == 0)
            blind = (int)strtol(equals + 1, NULL,
                                10); /* 1: k as given; 2: k is the number of sources */
        else if (tlnmf_settings_set_text(ctx, settings, argv[i], equals + 1) != TLNMF_OK)
            fail(argv[i], tlnmf_message(ctx));
    }
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
    return 0;
}
