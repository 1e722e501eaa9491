/* Comparisons of several K: scores from separate fits, means and errors by plain loops, errors. */
#include "unit/api/results_table.h"
#include "unit/api/small_ranks.h"

static tlnmf_record *compare(const world *w, const char *pairs, const int64_t *range,
                             const tlnmf_record *start)
{
    tlnmf_record *ranks;
    tlnmf_settings *settings = settings_of(w->ctx, pairs);
    assert_ok(w->ctx, tlnmf_compare_ranks(w->ctx, w->data, settings, range, start, &ranks));
    tlnmf_settings_free(settings);
    return ranks;
}

/* Realisations Y (count x M x frames), and how they are compared. */
typedef struct recipe {
    const double *Y;
    int64_t count, frames;
    int folds;
    const double *weights; /* or NULL */
    bool gaps;
    const tlnmf_record *start;
    double rounding; /* 0: the same bits */
    bool by_frames;
} recipe;

/* The realisations with s % folds == fold, or all others. */
static tlnmf_data *part_of(tlnmf_ctx *ctx, const recipe *r, int fold, bool others)
{
    int64_t size = M * r->frames, kept = 0;
    double *part = new_doubles(r->count * size);
    tlnmf_data *data;
    for (int64_t s = 0; s < r->count; s++)
        if ((s % r->folds == fold) != others)
            memcpy(part + kept++ * size, r->Y + s * size, (size_t)size * sizeof *part);
    const int64_t shape[3] = {kept, M, r->frames};
    assert_ok(ctx, r->gaps ? tlnmf_data_from_incomplete(ctx, part, shape, &data)
                           : tlnmf_data_from_realisations(ctx, part, shape, &data));
    free(part);
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, r->weights));
    return data;
}

/* The fold of frame n: in each five frames another, from a pseudo-random one on (splitmix64). */
static int fold_of_frame(int64_t n, int folds)
{
    uint64_t x = ((uint64_t)(n / folds) + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int)((int64_t)((x ^ (x >> 31)) % (uint64_t)folds) + n) % folds;
}

/* The frames of a fold, or all others. */
static tlnmf_data *frames_of(tlnmf_ctx *ctx, const recipe *r, int fold, bool others)
{
    double *part = new_doubles(r->count * M * r->frames), weights[N];
    int64_t kept = 0, at = 0;
    tlnmf_data *data;
    for (int64_t n = 0; n < r->frames; n++)
        if ((fold_of_frame(n, r->folds) == fold) != others)
            weights[kept++] = r->weights != NULL ? r->weights[n] : 1.0;
    for (int64_t i = 0; i < r->count * M * r->frames; i++)
        if ((fold_of_frame(i % r->frames, r->folds) == fold) != others)
            part[at++] = r->Y[i];
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, part, (int64_t[]){r->count, M, kept}, &data));
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, r->weights != NULL ? weights : NULL));
    free(part);
    return data;
}

/* The expected score of a fold, by two calls of the library. */
static double score_by_hand(tlnmf_ctx *ctx, const recipe *r, const char *pairs, int64_t K, int fold,
                            double eps)
{
    tlnmf_data *(*part)(tlnmf_ctx *, const recipe *, int, bool) =
        r->by_frames ? frames_of : part_of;
    tlnmf_data *train = part(ctx, r, fold, true), *test = part(ctx, r, fold, false);
    tlnmf_settings *settings = settings_of(ctx, pairs);
    tlnmf_record *model, *values;
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", K));
    assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "eps", eps));
    assert_ok(ctx, tlnmf_fit(ctx, train, settings, r->start, &model));
    double score = 0.0;
    if (r->by_frames) {
        tlnmf_settings *applying;
        assert_ok(ctx, tlnmf_settings_create(ctx, "apply", &applying));
        assert_ok(ctx, tlnmf_likelihood(ctx, model, test, applying, &values));
        score = -2.0 * tlnmf_record_get_real(values, "mean_log_likelihood") / M -
                1.8378770664093454836; /* log 2 pi */
        tlnmf_settings_free(applying);
    } else {
        assert_ok(ctx, tlnmf_evaluate(ctx, test, model, &values));
        score = tlnmf_record_get_real(values, "C") / (double)(M * r->frames);
    }
    tlnmf_record_free(values);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(train);
    tlnmf_data_free(test);
    return score;
}

/* Recomputes every number of a table from its scores, in plain loops. */
static void check_table(const tlnmf_record *ranks, int64_t low)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS], best = 0, sparing = -1;
    const double *score = tlnmf_record_get_array(ranks, "rank.scores", NULL, shape);
    int64_t count = shape[0], folds = shape[1];
    double mean[8];
    assert_int_equal(folds, tlnmf_record_get_integer(ranks, "rank_folds"));
    for (int64_t i = 0; i < count; i++) {
        mean[i] = 0.0;
        for (int64_t f = 0; f < folds; f++)
            mean[i] += score[i * folds + f] / (double)folds;
        best = mean[i] < mean[best] ? i : best;
    }
    for (int64_t i = 0; i < count; i++) {
        double gap = mean[i] - mean[best], square = 0.0;
        for (int64_t f = 0; f < folds; f++) {
            double off = score[i * folds + f] - score[best * folds + f] - gap;
            square += off * off;
        }
        double error = sqrt(square / (double)(folds * (folds - 1)));
        if (sparing < 0 && gap <= error)
            sparing = i;
        assert_true(array(ranks, "rank.k")[i] == (double)(low + i));
        assert_near(array(ranks, "rank.C_per_entry")[i], mean[i], 1e-12);
        assert_near(array(ranks, "rank.above_best")[i], gap, 1e-12);
        assert_near(array(ranks, "rank.standard_error")[i], error, 1e-12);
        assert_true(array(ranks, "rank.folds_done")[i] == (double)folds);
        assert_true(array(ranks, "rank.cut_short")[i] == 0.0);
    }
    assert_int_equal(tlnmf_record_get_integer(ranks, "k"), low + best);
    assert_int_equal(tlnmf_record_get_integer(ranks, "k_sparing"), low + sparing);
    assert_string_equal(tlnmf_record_get_text(ranks, "outcome"), "converged");
    expect_in_table(ranks, "ranks", "fit", (symbols){0, {{NULL, 0}}});
    expect_all_held("ranks", &ranks, 1, "");
}

static void check_by_hand(const world *w, const recipe *r, const char *pairs, const char *kind)
{
    const int64_t range[2] = {1, 3};
    tlnmf_record *ranks = compare(w, pairs, range, r->start);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_by"), kind);
    assert_int_equal(tlnmf_record_get_integer(ranks, "rank_realisations"), r->count);
    check_table(ranks, 1);
    for (int64_t K = 1; K <= 3; K++)
        for (int f = 0; f < r->folds; f++)
            assert_near(array(ranks, "rank.scores")[(K - 1) * r->folds + f],
                        score_by_hand(w->ctx, r, pairs, K, f, tlnmf_record_get_real(ranks, "eps")),
                        r->rounding);
    tlnmf_record_free(ranks);
}

static void scores_of_realisations_match_separate_fits(void **state)
{
    (void)state;
    static const char *const pairs[] = {"method=tl J=30", "method=jd", "method=auto J=30"};
    world w = create(3, 0, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_by_hand(&w, &(recipe){.Y = w.Y, .count = 3, .frames = N, .folds = 3}, pairs[i],
                      "realisations");
    destroy(&w);
}

/* Ten realisations and 40 frames: frames are held out, and their activations integrated out. */
static void scores_of_frames_match_separate_fits(void **state)
{
    (void)state;
    world w = create(10, 0, 0);
    recipe r = {
        .Y = w.Y, .count = 10, .frames = N, .folds = 5, .rounding = 1e-4, .by_frames = true};
    check_by_hand(&w, &r, "method=nmf transform=dct", "frames");
    check_by_hand(&w, &r, "method=jd", "frames");
    double weights[N];
    for (int n = 0; n < N; n++)
        weights[n] = 1.0 + (double)(n % 3);
    assert_ok(w.ctx, tlnmf_data_set_weights(w.ctx, w.data, weights));
    r.weights = weights;
    check_by_hand(&w, &r, "method=jd", "frames");
    destroy(&w);
}

/* Frames need many realisations and many frames. */
static void frames_are_held_out_if_there_are_many(void **state)
{
    (void)state;
    const int64_t range[2] = {1, 1};
    world w = create(10, 0, 0);
    tlnmf_data_free(w.data);
    double *y = new_doubles(10 * M * 39);
    for (int64_t i = 0; i < 10 * M * 39; i++)
        y[i] = w.Y[i];
    w.data = data_of(w.ctx, y, 10, M, 39);
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, y, (int64_t[]){10, M, 39}));
    tlnmf_record *ranks = compare(&w, "method=jd", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_by"), "realisations");
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_limits"),
                        "These data support this many components; the truth may have more");
    tlnmf_record_free(ranks);
    free(y);
    destroy(&w);
    w = create(3, 0, 0);
    ranks = compare(&w, "method=jd", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_limits"),
                        "Too few data: with 3 realisations the true number is rarely found; it may "
                        "be larger (docs/howto/components.md)");
    tlnmf_record_free(ranks);
    destroy(&w);
}

static void comparisons_use_weights_and_missing_frames(void **state)
{
    (void)state;
    double weights[N];
    world w = create(3, 0, 0);
    for (int n = 0; n < N; n++)
        weights[n] = 1.0 + (double)(n % 3);
    assert_ok(w.ctx, tlnmf_data_set_weights(w.ctx, w.data, weights));
    recipe r = {.Y = w.Y, .count = 3, .frames = N, .folds = 3, .weights = weights};
    r.rounding =
        1e-4; /* weights were divided by their mean, so fits stop at slightly different points */
    check_by_hand(&w, &r, "method=jd", "realisations");
    tlnmf_data_free(w.data);
    w.Y[3 * N + 5] = NAN; /* a frame of the first realisation */
    const int64_t shape[3] = {3, M, N};
    assert_ok(w.ctx, tlnmf_data_from_incomplete(w.ctx, w.Y, shape, &w.data));
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, w.Y, shape));
    r.weights = NULL;
    r.gaps = true;
    check_by_hand(&w, &r, "method=jd", "realisations");
    destroy(&w);
}

/* Blocks of B frames are S B realisations of N / B frames; a shorter last block is ignored. */
static void scores_of_blocks_match_separate_fits(void **state)
{
    (void)state;
    enum { B = 3, FRAMES = N / B };
    world w = create(2, B, 0);
    double *y = new_doubles(2 * B * M * FRAMES);
    for (int s = 0; s < 2; s++)
        for (int b = 0; b < B; b++)
            for (int m = 0; m < M; m++)
                for (int n = 0; n < FRAMES; n++)
                    y[((s * B + b) * M + m) * FRAMES + n] = w.Y[(s * M + m) * N + n * B + b];
    check_by_hand(&w, &(recipe){.Y = y, .count = 2 * B, .frames = FRAMES, .folds = 2 * B},
                  "method=jd", "neighbours");
    free(y);
    destroy(&w);
}

static void a_given_Phi_is_used(void **state)
{
    (void)state;
    double Phi[M * M];
    tlnmf_record *start;
    world w = create(3, 0, 0);
    assert_ok(w.ctx, tlnmf_record_create(w.ctx, &start));
    assert_ok(w.ctx, tlnmf_transform_matrix(w.ctx, "dft", M, Phi));
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, start, "Phi", Phi, 2, (int64_t[]){M, M}));
    check_by_hand(&w,
                  &(recipe){.Y = w.Y,
                            .count = 3,
                            .frames = N,
                            .folds = 5,
                            .start = start,
                            .rounding = 1e-4,
                            .by_frames = true},
                  "method=nmf", "frames");
    tlnmf_record_free(start);
    destroy(&w);
}

/* One realisation: neighbours and entries are held out, and one of the two decides. A fixed
 * transform: frames. Covariances and moving averages: only entries. */
static void one_realisation_has_two_tables(void **state)
{
    (void)state;
    const int64_t range[2] = {1, 3};
    world w = create(1, 0, 0);
    tlnmf_record *ranks = compare(&w, "method=jd", range, NULL);
    bool entries = strcmp(tlnmf_record_get_text(ranks, "rank_by"), "entries") == 0;
    const char *other = tlnmf_record_get_text(ranks, "other.rank_by");
    assert_string_equal(other, entries ? "neighbours" : "entries");
    int64_t near = tlnmf_record_get_integer(ranks, entries ? "other.k" : "k");
    assert_true(entries ==
                (near == 1)); /* neighbours decide if they support more than the fewest */
    check_table(ranks, 1);
    tlnmf_record_free(ranks);
    ranks = compare(&w, "method=nmf transform=dct", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_by"), "frames");
    assert_int_equal(tlnmf_record_type(ranks, "other.k"), TLNMF_TYPE_NONE);
    check_table(ranks, 1);
    tlnmf_record_free(ranks);
    assert_int_equal(tlnmf_data_set_realisations(w.ctx, w.data, w.Y, NULL), TLNMF_ERR_ARGUMENT);
    assert_true(w.data->Y == w.Y);                                            /* as before */
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, NULL, NULL)); /* removes them */
    ranks = compare(&w, "method=jd", NULL, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_by"), "entries");
    assert_int_equal(tlnmf_record_type(ranks, "other.k"), TLNMF_TYPE_NONE);
    check_table(ranks, 1);
    int64_t shape[TLNMF_MAX_DIMENSIONS]; /* without a range: 1 to 8, or fewer for small data */
    tlnmf_record_get_array(ranks, "rank.k", NULL, shape);
    assert_int_equal(shape[0], M);
    tlnmf_record_free(ranks);
    destroy(&w);
    w = create(1, 0, 3);
    ranks = compare(&w, "method=jd", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "rank_by"), "entries");
    check_table(ranks, 1);
    tlnmf_record_free(ranks);
    destroy(&w);
}

/* V of rank 2 without noise at a fixed transform: two components predict the entries. */
static void entries_find_the_rank_of_V(void **state)
{
    (void)state;
    const int64_t range[2] = {1, 3};
    world w = create(1, 0, 0);
    tlnmf_data_free(w.data);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            w.Y[m * N + n] = sqrt((1.0 + m) * (1.0 + n % 5) + (double)(M - m) * (1.0 + n * 7 % 4));
    w.data = data_of(w.ctx, w.Y, 1, M, N); /* without realisations: entries */
    ;
    tlnmf_record *ranks = compare(&w, "method=nmf transform=identity eps=1e-3", range, NULL);
    assert_int_equal(tlnmf_record_get_integer(ranks, "k_sparing"), 2);
    assert_true(array(ranks, "rank.above_best")[0] > 1e-3);
    tlnmf_record_free(ranks);
    destroy(&w);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

/* Counts the fits by their progress records, and stops after some calls. */
typedef struct watcher {
    int left;
    int64_t k, fold, fits;
} watcher;

static int watch(const tlnmf_record *progress, void *user)
{
    watcher *at = user;
    int64_t k = tlnmf_record_get_integer(progress, "k"),
            fold = tlnmf_record_get_integer(progress, "fold");
    assert_string_equal(tlnmf_record_get_text(progress, "stage"), "ranks");
    assert_int_equal(tlnmf_record_get_integer(progress, "folds"), 3);
    assert_true(tlnmf_record_get_real(progress, "seconds") >= 0.0);
    expect_in_table(progress, "progress", "fit", (symbols){0, {{NULL, 0}}});
    expect_all_held("progress", &progress, 1, "");
    assert_true(fold > at->fold || (fold == at->fold && k >= at->k)); /* fold after fold */
    at->fits += fold != at->fold || k != at->k;
    at->fold = fold;
    at->k = k;
    return --at->left <= 0;
}

static void a_comparison_is_cancelled(void **state)
{
    (void)state;
    const int64_t range[2] = {1, 3};
    world w = create(3, 0, 0);
    watcher at = {.left = INT32_MAX};
    tlnmf_ctx_set_progress(w.ctx, watch, &at);
    tlnmf_record_free(compare(&w, "method=jd", range, NULL));
    assert_int_equal(at.fits, 9);
    int calls = INT32_MAX - at.left;
    for (int part = 1; part < 4; part++) {
        at = (watcher){.left = calls * part / 4};
        tlnmf_record *ranks = compare(&w, "method=jd", range, NULL);
        assert_int_equal(at.left, 0); /* not called again */
        assert_int_equal(tlnmf_record_get_integer(ranks, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
        int64_t done = tlnmf_record_get_integer(ranks, "rank_folds");
        assert_true(done >= part - 2 && done <= part + 1 && done < 3);
        assert_true((tlnmf_record_get_integer(ranks, "k") > 0) == (done > 0));
        assert_true(isnan(array(ranks, "rank.scores")[8]));
        tlnmf_record_free(ranks);
    }
    destroy(&w);
}

static int be_slow(const tlnmf_record *progress, void *user)
{
    struct timespec nap = {0, 2000000}; /* 2 ms */
    (void)progress;
    (void)user;
    nanosleep(&nap, NULL);
    return 0;
}

static void time_ends_it(void **state)
{
    (void)state;
    const int64_t range[2] = {1, 3};
    world w = create(4, 0, 0);
    tlnmf_ctx_set_progress(w.ctx, be_slow, NULL);
    tlnmf_record *ranks =
        compare(&w, "method=jd tol=0 grad-tol=0 J=100000 max-seconds=0.06", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "outcome"), "time");
    assert_int_equal(tlnmf_record_get_integer(ranks, "rank_folds"),
                     1); /* the first divides its time */
    for (int i = 0; i < 3; i++)
        assert_true(array(ranks, "rank.cut_short")[i] == 1.0);
    tlnmf_record_free(ranks);
    destroy(&w);
}

/* Held-out frames whose scores take longer than the limit: no fold is complete, no k is chosen. */
static void time_ends_the_scores_of_frames(void **state)
{
    (void)state;
    enum { LONG = 48, MANY = 4000 };
    const int64_t range[2] = {90, 91}, small[2] = {1, 2};
    world w = {.ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 32, 0);
    w.Y = new_normals(&rng, LONG * MANY);
    w.data = data_of(w.ctx, w.Y, 1, LONG, MANY);
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, w.Y, (int64_t[]){1, LONG, MANY}));
    tlnmf_record *ranks = compare(&w, "method=nmf threads=1 max-seconds=0.01", range, NULL);
    assert_string_equal(tlnmf_record_get_text(ranks, "outcome"), "time");
    assert_int_equal(tlnmf_record_get_integer(ranks, "rank_folds"), 0);
    assert_int_equal(tlnmf_record_get_integer(ranks, "k"), 0);
    tlnmf_record_free(ranks);
    destroy(&w);
    w = create(10, 0, 0); /* small data complete a fold in any time */
    ranks = compare(&w, "method=nmf max-seconds=0.001", small, NULL);
    assert_true(tlnmf_record_get_integer(ranks, "rank_folds") >= 1);
    assert_true(tlnmf_record_get_integer(ranks, "k") >= 1);
    tlnmf_record_free(ranks);
    destroy(&w);
}

/* Frames of weight 0 are in no fold, so that no fold consists of them. */
static void frames_without_weight_are_in_no_fold(void **state)
{
    (void)state;
    enum { FRAMES = 60 };
    const int64_t range[2] = {1, 2};
    world w = {.ctx = new_ctx()}, part = {.ctx = new_ctx()};
    double weights[FRAMES];
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 33, 0);
    w.Y = new_normals(&rng, 10 * M * FRAMES);
    part.Y = new_normals(&rng, 10 * M * FRAMES);
    int64_t kept = 0;
    for (int n = 0; n < FRAMES; n++) {
        weights[n] = n % 4 == 1 ? 0.0 : 1.0;
        for (int i = 0; i < 10 * M && weights[n] > 0.0; i++)
            part.Y[i * 45 + kept] = w.Y[i * FRAMES + n];
        kept += weights[n] > 0.0;
    }
    assert_int_equal(kept, 45);
    w.data = data_of(w.ctx, w.Y, 10, M, FRAMES);
    part.data = data_of(part.ctx, part.Y, 10, M, 45);
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, w.Y, (int64_t[]){10, M, FRAMES}));
    assert_ok(w.ctx, tlnmf_data_set_weights(w.ctx, w.data, weights));
    assert_ok(part.ctx,
              tlnmf_data_set_realisations(part.ctx, part.data, part.Y, (int64_t[]){10, M, 45}));
    tlnmf_record *all = compare(&w, "method=nmf eps=0.01", range, NULL),
                 *some = compare(&part, "method=nmf eps=0.01", range, NULL);
    assert_string_equal(tlnmf_record_get_text(all, "rank_by"), "frames");
    for (int i = 0; i < 2 * 5; i++)
        assert_close(array(all, "rank.scores")[i], array(some, "rank.scores")[i], 1e-6);
    tlnmf_record_free(all);
    tlnmf_record_free(some);
    destroy(&w);
    destroy(&part);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refuse(const world *w, const int64_t *range, const tlnmf_record *start,
                   tlnmf_error error, const char *message)
{
    tlnmf_record *ranks = NULL;
    tlnmf_settings *settings = settings_of(w->ctx, "method=nmf");
    assert_int_equal(tlnmf_compare_ranks(w->ctx, w->data, settings, range, start, &ranks), error);
    assert_null(ranks);
    assert_string_equal(tlnmf_message(w->ctx), message);
    tlnmf_settings_free(settings);
}

static void invalid_comparisons_are_refused(void **state)
{
    (void)state;
    static const int64_t fine[2] = {1, 2}, none[2] = {0, 2}, reverse[2] = {3, 2},
                         many[2] = {1, 10001};
    double mask[M * N], x[M * M] = {0};
    world w = create(2, 0, 0);
    refuse(&w, none, NULL, TLNMF_ERR_OPTION, "k from 0 to 2 is not a range within [1, 10000]");
    refuse(&w, reverse, NULL, TLNMF_ERR_OPTION, "k from 3 to 2 is not a range within [1, 10000]");
    refuse(&w, many, NULL, TLNMF_ERR_OPTION, "k from 1 to 10001 is not a range within [1, 10000]");
    for (int i = 0; i < M * N; i++)
        mask[i] = 1.0;
    assert_ok(w.ctx, tlnmf_data_set_mask(w.ctx, w.data, mask));
    refuse(&w, fine, NULL, TLNMF_ERR_OPTION,
           "several k cannot be compared if powers are missing or masked: pass one k");
    assert_ok(w.ctx, tlnmf_data_set_mask(w.ctx, w.data, NULL));
    tlnmf_record *start;
    assert_ok(w.ctx, tlnmf_record_create(w.ctx, &start));
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, start, "Phi", x, 1, (int64_t[]){M}));
    refuse(&w, fine, start, TLNMF_ERR_SHAPE, "the start: Phi has the shape (4), not (4, 4)");
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, start, "W", x, 2, (int64_t[]){M, 1}));
    refuse(&w, fine, start, TLNMF_ERR_OPTION, "to compare several k, a start may hold Phi only");
    tlnmf_record_remove(start, "W");
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, start, "phi", x, 2, (int64_t[]){M, M}));
    refuse(&w, fine, start, TLNMF_ERR_ARGUMENT, "the start: unknown name phi; did you mean Phi?");
    tlnmf_record_free(start);
    const int64_t longer[3] = {2, M + 1, N}, fewer[3] = {2, M, N - 1}, more[3] = {3, M, N},
                  empty[3] = {0, M, N};
    const int64_t *const wrong[] = {longer, fewer, more, empty};
    for (int i = 0; i < 4; i++)
        assert_int_equal(tlnmf_data_set_realisations(w.ctx, w.data, x, wrong[i]), TLNMF_ERR_SHAPE);
    assert_string_equal(tlnmf_message(w.ctx), "2 realisations of 41 frames of length 4 cannot "
                                              "come from an array (0, 4, 41)");
    assert_true(w.data->Y == w.Y); /* as before */
    tlnmf_data_free(w.data);
    w.data = data_of(w.ctx, w.Y, 1, M, 9);
    refuse(&w, fine, NULL, TLNMF_ERR_DATA,
           "comparing several k holds out entries of V, which requires at least 10 frames: use a "
           "single k");
    tlnmf_data_free(w.data);
    w.data = data_of(w.ctx, w.Y, 1, M, N);
    for (int n = 9; n < N; n++)
        mask[n] = 0.0;
    assert_ok(w.ctx, tlnmf_data_set_weights(w.ctx, w.data, mask));
    refuse(&w, fine, NULL, TLNMF_ERR_DATA,
           "comparing several k holds out entries of V, which requires at least 10 frames that "
           "have a weight: use a single k");
    tlnmf_settings *other;
    tlnmf_record *ranks;
    assert_ok(w.ctx, tlnmf_settings_create(w.ctx, "jd", &other));
    assert_int_equal(tlnmf_compare_ranks(w.ctx, w.data, other, fine, NULL, &ranks),
                     TLNMF_ERR_ARGUMENT);
    tlnmf_settings_free(other);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_of_realisations_match_separate_fits),
        cmocka_unit_test(scores_of_frames_match_separate_fits),
        cmocka_unit_test(frames_are_held_out_if_there_are_many),
        cmocka_unit_test(comparisons_use_weights_and_missing_frames),
        cmocka_unit_test(scores_of_blocks_match_separate_fits),
        cmocka_unit_test(a_given_Phi_is_used),
        cmocka_unit_test(one_realisation_has_two_tables),
        cmocka_unit_test(entries_find_the_rank_of_V),
        cmocka_unit_test(a_comparison_is_cancelled),
        cmocka_unit_test(time_ends_it),
        cmocka_unit_test(time_ends_the_scores_of_frames),
        cmocka_unit_test(frames_without_weight_are_in_no_fold),
        cmocka_unit_test(invalid_comparisons_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
