/* What can be said of a recording without labels: how many sounds it takes to explain it. */
#include "separate/study.h"

#include <math.h>

/* One component that misfits by less than EXPLAINED explains a recording. Otherwise nothing tells
 * notes from sources without labels, and USUAL is a guess, which the result says. */
static const double EXPLAINED = 0.05;
enum { USUAL = 2 };

/* The mean misfit of NMF with K components and no other knowledge. Frames 20 dB below the mean
 * count as silent, a plain choice. */
static tlnmf_error fit(const tl_study *s, int64_t K, double *misfit)
{
    tl_dictionary d;
    double *of_frame, sum = 0.0, weight = 0.0;
    void *memory;
    tl_slot table[] = {TL_SLOT(of_frame, s->N)};
    TRY(TL_ARENA(s->ctx, "the misfit of frames", table, &memory));
    tlnmf_error error = tl_dictionary_spread(s, K, &d);
    if (error == TLNMF_OK) {
        error = tl_dictionary_misfit(s, &d, of_frame);
        tl_dictionary_free(&d);
    }
    double mean = s->mean_power * (double)s->rows;
    for (int64_t i = 0; error == TLNMF_OK && i < s->N; i++)
        if (s->power[i] > 1e-2 * mean) {
            sum += of_frame[i];
            weight += 1.0;
        }
    *misfit = weight > 0.0 ? sum / weight : NAN;
    tl_release(&s->ctx->hooks, memory);
    return error;
}

static tlnmf_error fit_all(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt,
                           tl_look *look)
{
    tl_study study;
    TRY(tl_study_create(ctx, scene, opt, TL_WINDOW_SINE, &study));
    tlnmf_error error = TLNMF_OK;
    for (int64_t K = 1; K <= TL_LOOK_MOST && K <= study.N && error == TLNMF_OK; K++) {
        error = fit(&study, K, &look->misfit[K]);
        tl_log(ctx, TLNMF_LOG_INFO, "%lld sound%s: a misfit of %.3f", (long long)K,
               K == 1 ? "" : "s", look->misfit[K]);
    }
    tl_study_free(&study);
    return error;
}

/* The least number of components that explain the recording, TL_LOOK_MOST + 1 if none does. */
static void count(tl_look *look)
{
    look->sounds = 1;
    while (look->sounds <= TL_LOOK_MOST && !(look->misfit[look->sounds] < EXPLAINED))
        look->sounds++;
    look->sure = look->sounds == 1;
    look->sources = look->sure ? 1 : USUAL;
}

typedef struct job {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_separate_options opt;
    tl_look *look;
} job;

static tlnmf_error work(void *self)
{
    job *j = self;
    tl_schedule always = {NULL, 0, 0, 1};
    tl_frames layout = j->opt.frames;
    tl_scene scene;
    layout.M *= j->opt.any_length ? 2 : 1;
    layout.hop *= j->opt.any_length ? 2 : 1;
    TRY(tl_scene_create(j->ctx, j->sound, &always, &layout, j->opt.learn_frames, &scene));
    tlnmf_error error = fit_all(j->ctx, &scene, &j->opt, j->look);
    tl_scene_free(&scene);
    if (error == TLNMF_OK)
        count(j->look);
    return error;
}

tlnmf_error tl_look_at(tlnmf_ctx *ctx, const tl_sound *sound, const tl_separate_options *opt,
                       tl_look *look)
{
    job j = {.ctx = ctx, .sound = sound, .opt = *opt, .look = look};
    *look = (tl_look){0};
    for (int i = 0; i <= TL_LOOK_MOST; i++)
        look->misfit[i] = NAN;
    j.opt.sources = 1;
    TRY(tl_sound_check(ctx, sound));
    return tl_separate_on_threads(opt->threads, work, &j);
}
