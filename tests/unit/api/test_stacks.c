/* If OMP_STACKSIZE is too small, OpenMP's runtime cannot create a thread and aborts the process. No
 * call of the library makes it try. */
#include "unit/sound/duet.h"

#include "tlnmf/sound.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Large enough that BLAS and LAPACK would use threads. */
enum { S = 2, M = 160, N = 320, K = 3 };

static tlnmf_settings *settings_of(tlnmf_ctx *ctx, const char *task)
{
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, task, &settings));
    if (tlnmf_option_kind_of(task, "threads") != TLNMF_OPTION_UNKNOWN)
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "threads", 4));
    if (tlnmf_option_kind_of(task, "J") != TLNMF_OPTION_UNKNOWN)
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "J", 3));
    return settings;
}

static void fit_all(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    static const char *const methods[] = {"tl", "jd", "nmf"};
    tlnmf_record *model, *other;
    tlnmf_settings *fit = settings_of(ctx, "fit"), *apply = settings_of(ctx, "apply");
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, fit, "k", K));
    for (int i = 0; i < 6; i++) {
        assert_ok(ctx, tlnmf_settings_set_text(ctx, fit, "method", methods[i % 3]));
        assert_ok(ctx, tlnmf_settings_set_text(ctx, fit, "solver", i < 3 ? "fast" : "paper"));
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, fit, "starts", 1 + i % 2));
        assert_ok(ctx, tlnmf_fit(ctx, data, fit, NULL, &model));
        assert_ok(ctx, tlnmf_apply(ctx, model, data, apply, &other));
        tlnmf_record_free(other);
        assert_ok(ctx, tlnmf_evaluate(ctx, data, model, &other));
        tlnmf_record_free(other);
        assert_ok(ctx, tlnmf_atoms(ctx, model, 8000.0, 3, &other));
        tlnmf_record_free(other);
        tlnmf_record_free(model);
    }
    assert_ok(ctx, tlnmf_draw_start(ctx, data, fit, 0, &model));
    tlnmf_record_free(model);
    tlnmf_settings_free(apply);
    tlnmf_settings_free(fit);
}

static void diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    tlnmf_settings *jd = settings_of(ctx, "jd");
    tlnmf_record *model;
    double distance, angles[K];
    for (int whiten = 0; whiten < 2; whiten++) {
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, jd, "whiten", whiten));
        assert_ok(ctx, tlnmf_diagonalise(ctx, data, jd, NULL, &model));
        const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
        assert_ok(ctx, tlnmf_transform_distance(ctx, M, Phi, Phi, &distance));
        assert_ok(ctx, tlnmf_principal_angles(ctx, K, M, Phi, Phi, angles));
        tlnmf_record_free(model);
    }
    tlnmf_settings_free(jd);
}

static void separate_and_score(tlnmf_ctx *ctx)
{
    duet *d = new_duet(ctx);
    tlnmf_sound *sound;
    tlnmf_record *model, *report, *scores;
    tlnmf_settings *separate = settings_of(ctx, "learn"), *stems = settings_of(ctx, "separate"),
                   *score = settings_of(ctx, "score");
    double *out = new_doubles(2 * (int64_t)LENGTH);
    assert_ok(ctx, tlnmf_sound_from_array(ctx, d->mix, LENGTH, 1, RATE, &sound));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "a", 0.0, 1.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "b", 1.0, 2.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "a", 2.0, 3.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "b", 2.0, 3.0));
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, separate, &model));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, stems, out, &report));
    assert_ok(ctx, tlnmf_score(ctx, out, out, (int64_t[]){2, LENGTH, 1}, score, &scores));
    tlnmf_record_free(scores);
    tlnmf_record_free(report);
    tlnmf_record_free(model);
    tlnmf_sound_free(sound);
    tlnmf_settings_free(score);
    tlnmf_settings_free(stems);
    tlnmf_settings_free(separate);
    free(out);
    free(d);
}

static void call_everything(void)
{
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tlnmf_data *data, *near;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    data = data_of(ctx, Y, S, M, N);
    assert_ok(ctx, tlnmf_data_from_neighbours(ctx, Y, (int64_t[]){S, M, N}, TLNMF_NEIGHBOURS_BLOCKS,
                                              2 * M, &near));
    fit_all(ctx, data);
    diagonalise(ctx, near);
    tlnmf_data_free(near);
    tlnmf_data_free(data);
    free(Y);
    separate_and_score(ctx);
    tlnmf_ctx_free(ctx);
}

static int open_a_region(void)
{
    int threads = 0;
#pragma omp parallel num_threads(4) reduction(+ : threads)
    threads++;
    return threads == 4 ? 0 : 1;
}

/* Runs this program with an argument and a stack size. Returns its exit status, or minus the number
 * of the signal that ended it. */
static int run_with(const char *stack, const char *what)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (strcmp(what, "--region") == 0) { /* the message of the runtime */
            int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
            dup2(nothing, 2);
        }
        setenv("OMP_STACKSIZE", stack, 1);
        setenv("OMP_NUM_THREADS", "4", 1);
        execl("/proc/self/exe", "test_stacks", what, (char *)NULL);
        _exit(77);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void small_stacks_do_not_abort_the_host(void **state)
{
    (void)state;
    int ended = 0;
    static const char *const stacks[] = {"16k", "64k", "1M"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        ended += run_with(stacks[i], "--region") != 0;
    if (ended == 0)
        print_message("this OpenMP creates threads on any stack: the test shows nothing here\n");
    assert_int_equal(run_with("16k", "--calls"), 0);
    assert_int_equal(run_with("64k", "--calls"), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--region") == 0)
        return open_a_region();
    if (argc > 1 && strcmp(argv[1], "--calls") == 0) {
        call_everything();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_stacks_do_not_abort_the_host)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
