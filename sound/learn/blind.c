/* How many sounds explain a recording without labels. */
#include "sound/learn/course.h"
#include "sound/learn/dictionary.h"

#include <math.h>

static const double EXPLAINED = 0.05; /* components that misfit by less explain a recording */

/* The mean misfit of NMF with K components and no other knowledge. Frames 20 dB below the mean
 * count as silent (chosen arbitrarily). */
static tlnmf_error fit(const tl_study *s, int64_t K, double *misfit)
{
    tl_dictionary d = {.memory = NULL};
    double *of_frame, sum = 0.0, weight = 0.0;
    void *memory;
    tl_slot table[] = {TL_SLOT(of_frame, s->N)};
    TRY(TL_ARENA(s->ctx, "the misfit of frames", table, &memory));
    tlnmf_error error = tl_dictionary_spread(s, K, &d);
    if (error == TLNMF_OK)
        error = tl_dictionary_misfit(s, &d, of_frame);
    tl_dictionary_free(&d);
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

typedef struct blind_job {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_learn_options opt;
    tl_look *look;
} blind_job;

static tlnmf_error fit_all(void *self)
{
    const blind_job *j = self;
    double *misfit = j->look->misfit;
    tl_schedule always = {.sources = 1};
    tl_frames layout = j->opt.frames;
    tl_scene scene;
    tl_study study = {.memory = NULL};
    layout.M *= j->opt.any_length ? 2 : 1;
    layout.hop *= j->opt.any_length ? 2 : 1;
    TRY(tl_scene_create(j->ctx, j->sound, &always, &layout, j->opt.set.learn_frames, &scene));
    tlnmf_error error = tl_study_create(j->ctx, &scene, &j->opt, TL_WINDOW_SINE, &study);
    for (int64_t K = 1; K <= TL_LOOK_MOST && K <= study.N && error == TLNMF_OK; K++) {
        error = fit(&study, K, &misfit[K]);
        tl_log(j->ctx, TLNMF_LOG_INFO, "%lld sound%s: a misfit of %.3f", (long long)K,
               K == 1 ? "" : "s", misfit[K]);
    }
    tl_study_free(&study);
    tl_scene_free(&scene);
    return error;
}

tlnmf_error tl_look_at(tlnmf_ctx *ctx, const tl_sound *sound, const tl_learn_options *opt,
                       tl_look *look)
{
    blind_job j = {.ctx = ctx, .sound = sound, .opt = *opt, .look = look};
    for (int i = 0; i <= TL_LOOK_MOST; i++)
        look->misfit[i] = NAN;
    j.opt.sources = 1;
    TRY(tl_with_threads(tl_thread_count(opt->set.threads), fit_all, &j));
    look->sounds = 1;
    while (look->sounds <= TL_LOOK_MOST && !(look->misfit[look->sounds] < EXPLAINED))
        look->sounds++;
    return TLNMF_OK;
}
