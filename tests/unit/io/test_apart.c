/* Reading in a helper process: limits, the protocol, and helpers that fail. */
#include "io/reader.h"
#include "unit/io/test_io.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* This program is its own helper: `TEST --read KIND SPEC` behaves as KIND and SPEC specify. */
static const char self[] = "/proc/self/exe";

static tlnmf_ctx *ctx;

/* ---- the helper's side ----------------------------------------------------------------------- */

static void leave_bytes(const char *bytes)
{
    if (write(IO_APART_FILE, bytes, strlen(bytes)) < 0)
        _exit(9);
}

static int misbehave(const char *kind, const char *spec)
{
    if (strcmp(spec, "crash.h5") == 0) {
        signal(SIGSEGV, SIG_DFL); /* instead of a sanitizer's handler */
        raise(SIGSEGV);
    }
    if (strcmp(spec, "sleep.h5") == 0)
        for (;;)
            pause();
    if (strcmp(spec, "spin.h5") == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){1, 2}); /* the program's limit is 5 s */
        for (volatile unsigned i = 0;; i = i + 1)
            ;
    }
    if (strcmp(spec, "nothing.h5") == 0)
        return 0;
    if (strcmp(spec, "garbage.h5") == 0) {
        leave_bytes("tlnmfrec, but damaged from here on");
        return 0;
    }
    if (strcmp(spec, "liar.h5") == 0) {
        leave_bytes("no record of an error, either");
        return 1;
    }
    if (strcmp(spec, "code.h5") == 0)
        return 77;
    return tlnmf_io_serve(kind, spec);
}

/* ---- the client's side ----------------------------------------------------------------------- */

static void refused(const char *spec, const char *text)
{
    tlnmf_record *record = (tlnmf_record *)&ctx; /* must become NULL */
    assert_int_equal(tlnmf_io_read_apart(ctx, self, "array", spec, &record), TLNMF_ERR_INPUT);
    assert_null(record);
    assert_string_equal(tlnmf_message(ctx), text);
}

/* Files that only look like HDF5, so that a reader is started. */
static void make_foreign(const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("\x89HDF\r\n\x1a\n", f);
    fclose(f);
}

static void test_broken_readers(void **state)
{
    static const struct {
        const char *file, *text;
    } cases[] = {
        {"crash.h5", "crash.h5: damaged: it ended the reader process with signal 11"},
        {"spin.h5",
         "spin.h5: reading it exceeds the time or memory limit for a file of this size; it may be "
         "damaged"},
        {"nothing.h5", "nothing.h5: the reader process returned nothing"},
        {"garbage.h5", "garbage.h5: the reader process returned a damaged record"},
        {"liar.h5", "liar.h5: the reader process returned a damaged record"},
        {"code.h5", "code.h5: the reader process exited with code 77"},
        {"real.h5", "real.h5: a damaged or unfinished HDF5 file"}, /* the reader's own message */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_foreign(cases[i].file);
        refused(cases[i].file, cases[i].text);
    }
}

static int third_time(const tlnmf_record *progress, void *user)
{
    assert_string_equal(tlnmf_record_get_text(progress, "stage"), "read");
    return ++*(int *)user >= 3;
}

static void test_stop(void **state)
{
    tlnmf_record *record;
    int asked = 0;
    (void)state;
    make_foreign("sleep.h5");
    tlnmf_ctx_set_progress(ctx, third_time, &asked);
    assert_int_equal(tlnmf_io_read_apart(ctx, self, "array", "sleep.h5", &record),
                     TLNMF_ERR_CALLBACK);
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    assert_int_equal(asked, 3);
    assert_string_equal(tlnmf_message(ctx), "sleep.h5: reading was interrupted");
}

/* The helper, the direct call and the fallback return the same record, bit for bit. */
static void test_same(void **state)
{
    static const char *const helpers[] = {self, NULL, "/no/such/program"};
    double x[6] = {1.0, -0.0, 1e-310, 3.5, -7.25, 1e300};
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    (void)state;
    assert_int_equal(tlnmf_io_write_array(ctx, "x.h5:/Y", x, 2, (int64_t[]){2, 3}), TLNMF_OK);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        tlnmf_record *record;
        assert_int_equal(tlnmf_io_read_apart(ctx, helpers[i], "array", "x.h5:/Y", &record),
                         TLNMF_OK);
        const double *y = tlnmf_record_get_array(record, "array", &rank, shape);
        assert_true(rank == 2 && shape[0] == 2 && shape[1] == 3);
        assert_memory_equal(x, y, sizeof x);
        tlnmf_record_free(record);
    }
    tlnmf_record *record;
    assert_int_equal(tlnmf_io_read_apart(ctx, self, "describe", "x.h5", &record), TLNMF_OK);
    assert_non_null(strstr(tlnmf_record_get_text(record, "json"), "float64"));
    tlnmf_record_free(record);
    assert_int_equal(tlnmf_io_read_apart(ctx, self, "sound", "x.h5", &record), TLNMF_ERR_ARGUMENT);
}

/* Operations that a confined process must not do. */
static int try_calls(void)
{
    if (!io_confine(1000))
        return 0; /* no filter on this system, or a sanitizer */
    int file = open("written", O_WRONLY | O_CREAT, 0600);
    int why = errno;
    if (file >= 0)
        close(file);
    if (file >= 0 || why != EPERM)
        return 1;
    int line = socket(AF_INET, SOCK_STREAM, 0);
    why = errno;
    if (line >= 0)
        close(line);
    if (line >= 0 || why != EPERM)
        return 2;
    if (fork() >= 0)
        return 3;
    if (kill(getppid(), 0) == 0)
        return 4;
    if (unlink("x.h5") == 0)
        return 5;
    file = open("x.h5", O_RDONLY);
    if (file >= 0)
        close(file);
    if (file < 0)
        return 6;
    volatile size_t size = (size_t)3 << 30; /* volatile: 32-bit compilers warn of this constant */
    void *volatile large = malloc(size);    /* volatile: a compiler may drop the pair */
    bool refused_memory = large == NULL;
    free(large);
    return refused_memory ? 0 : 7;
}

static void test_limits(void **state)
{
    int status;
    (void)state;
    make_foreign("x.h5");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(try_calls());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_readers),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_limits),
    };
    if (argc == 4 && strcmp(argv[1], "--read") == 0)
        return misbehave(argv[2], argv[3]);
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, enter_directory, leave_directory);
    tlnmf_ctx_free(ctx);
    return failed;
}
