/* The choice between candidates: the one with the largest score is kept. */
#include "unit/sound/duet.h"

enum { MOST = 32 };

/* One line of the log for each candidate. */
typedef struct tried {
    bool learnt;
    char basis[8], window[16];
    long long M, per_source;
    double score, C;
} tried;

typedef struct diary {
    int count;
    tried list[MOST];
} diary;

/* The text after these words, which must occur. */
static char *after(const char *text, const char *words)
{
    char *found = strstr(text, words);
    if (found == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, text);
    return found + strlen(words);
}

/* A log hook. Lines are like "fixed DCT, sine window, frames of 882, 1 per source: 12.36 dB on
 * remixes, C = -12.5". */
static void note_candidate(tlnmf_log_level level, const char *message, void *user)
{
    (void)level;
    diary *d = user;
    bool learnt = strncmp(message, "learnt from ", 12) == 0;
    if (!learnt && strncmp(message, "fixed ", 6) != 0)
        return; /* a line of the descent */
    assert_true(d->count < MOST);
    tried *t = &d->list[d->count++];
    const char *basis = message + (learnt ? 12 : 6), *window = after(message, ", ");
    char *end;
    t->learnt = learnt;
    snprintf(t->basis, sizeof t->basis, "%.*s", (int)strcspn(basis, ","), basis);
    snprintf(t->window, sizeof t->window, "%.*s", (int)strcspn(window, " "), window);
    t->M = strtoll(after(message, "frames of "), &end, 10);
    t->per_source = strtoll(end + 2, &end, 10);
    t->score = strtod(after(end, ": "), &end);
    t->C = strtod(after(end, "C = "), &end);
    assert_int_equal(*end, '\0');
}

/* Learns with a context that keeps the diary, and returns the separator. */
static tl_separator *learn_noted(const tl_learn_options *opt, bool guided, diary *d)
{
    tlnmf_ctx *ctx = new_ctx(), *plain = new_ctx();
    tlnmf_ctx_set_log(ctx, note_candidate, d);
    *d = (diary){0};
    duet *notes = new_duet(plain);
    tl_separator *separator = learn(ctx, notes->mix, 1, guided, opt);
    free(notes);
    tlnmf_ctx_free(plain);
    tlnmf_ctx_free(ctx);
    return separator;
}

/* The line of the diary that belongs to the separator. */
static int find_kept(const diary *d, const tl_separator *separator)
{
    static const char *const bases[] = {"auto", "DCT", "DFT", "STFT"};
    const tl_separator_info *info = &separator->info;
    int found = -1;
    for (int i = 0; i < d->count; i++) {
        const tried *t = &d->list[i];
        if (t->learnt == (info->method != TL_METHOD_NMF) && t->M == separator->M &&
            t->per_source == info->per_source && strcmp(t->basis, bases[info->basis]) == 0 &&
            strcmp(t->window, tl_window_name((tl_window)info->frames.window)) == 0 &&
            fabs(t->C - info->C) <= 1e-7 * fabs(info->C)) {
            assert_int_equal(found, -1);
            found = i;
        }
    }
    assert_true(found >= 0);
    return found;
}

static void check_choice(const tl_learn_options *opt)
{
    diary d;
    tl_separator *separator = learn_noted(opt, true, &d);
    const tl_separator_info *info = &separator->info;
    assert_int_equal(info->candidates, d.count);
    int kept = find_kept(&d, separator), retimed = d.count;
    assert_near(info->score, d.list[kept].score, 0.005001); /* the log has two digits */
    if (info->method != TL_METHOD_NMF && opt->any_J)
        retimed -= 2; /* the last two: half and twice the iterations */
    for (int i = 0; i < d.count; i++)
        assert_true(d.list[i].score <= d.list[kept].score + 0.01);
    if (kept >= retimed)
        assert_int_equal(info->J, kept == retimed ? opt->J / 2 : 2 * opt->J);
    else
        assert_int_equal(info->J, info->method == TL_METHOD_NMF ? 0 : opt->J);
    tl_separator_free(separator);
}

static void the_best_is_kept(void **state)
{
    (void)state;
    tl_learn_options opt = note_options();
    opt.frames.shifts = 2;
    check_choice(&opt);
    opt.set.method = TL_METHOD_NMF;
    check_choice(&opt);
    opt.set.method = TL_METHOD_JD;
    opt.J = 4;
    check_choice(&opt);
    opt.set.method = TL_METHOD_AUTO;
    opt.frames.M = 100;
    opt.frames.hop = 50;
    opt.any_J = 0;
    opt.J = 1;
    check_choice(&opt);
}

/* Candidates vary only in settings that the options do not fix. */
static void options_narrow_the_choice(void **state)
{
    (void)state;
    diary d;
    tl_learn_options opt = note_options();
    opt.frames.shifts = 2;
    opt.J = 2;
    opt.any_J = opt.any_window = opt.any_length = 0;
    opt.set.basis = TL_BASIS_DFT;
    opt.set.per_source = 2;
    tl_separator_free(learn_noted(&opt, true, &d));
    assert_int_equal(d.count, 2); /* fixed and learnt */
    for (int i = 0; i < d.count; i++) {
        assert_string_equal(d.list[i].basis, "DFT");
        assert_string_equal(d.list[i].window, "tukey");
        assert_int_equal(d.list[i].M, 200);
        assert_int_equal(d.list[i].per_source, 2);
        assert_int_equal(d.list[i].learnt, i == 1);
    }
    opt.set.per_source = 0;
    tl_separator *blind = learn_noted(&opt, false, &d);
    assert_int_equal(d.count, 1); /* there are no remixes to score */
    assert_true(d.list[0].learnt && isnan(blind->info.score));
    assert_int_equal(blind->info.remixes, 0);
    tl_separator_free(blind);
}

/* Every candidate is reported with its score and the weight of the member; rejected candidates have
 * no weight, but a reason. With many choices there is one member, with dictionaries there are
 * several. */
static void all_candidates_are_reported(void **state)
{
    (void)state;
    static const int32_t methods[] = {TL_METHOD_NMF, TL_METHOD_AUTO};
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    arrays a = {.x = d->mix, .channels = 1};
    tl_sound sound = {LENGTH, 1, read_array, &a};
    for (int i = 0; i < 2; i++) {
        tl_learn_options opt = note_options();
        tl_blend *blend;
        opt.set.method = methods[i];
        assert_ok(ctx, tl_blend_learn(ctx, &sound, NOTES, 4, &opt, NULL, NULL, &blend));
        assert_int_equal(blend->trials, blend->info.candidates);
        double best = -INFINITY, total = 0.0;
        int64_t kept = 0;
        for (int64_t t = 0; t < blend->trials; t++) {
            const tl_trial *trial = &blend->trial[t];
            bool in = trial->weight > 0.0;
            kept += in;
            total += trial->weight;
            best = in ? fmax(best, trial->score) : best;
            assert_true(strncmp(trial->why, in ? "kept" : "refused", 4) == 0);
            assert_non_null(strstr(trial->what, "window, frames of "));
        }
        assert_int_equal(kept, blend->members);
        assert_true(best == blend->info.score);
        assert_near(total, 1.0, 1e-2); /* weights below a thousandth are omitted */
        tl_blend_free(blend);
    }
    free(d);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(options_narrow_the_choice),
        cmocka_unit_test(all_candidates_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
