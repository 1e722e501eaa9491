/* Atomic writing of files: links, modes, devices; and reading whole files. */
#include "unit/io/test_io.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static void assert_holds(const char *path, const char *text)
{
    size_t size;
    unsigned char *bytes = get_file(path, &size);

    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void publish(const char *path, const char *text)
{

    if (!io_publish(test_context(), path, text, strlen(text)))
        fail_msg("%s", tlnmf_message(test_context()));
    assert_holds(path, text);
}

static void assert_refused(const char *path, const char *text)
{

    assert_false(io_publish(test_context(), path, "new", 3));
    assert_string_equal(tlnmf_message(test_context()), text);
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
}

static int empty_directory(void **state)
{
    (void)state;
    remove_files(0);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* ---- successful writes -------------------------------------------------------------------- */

static void test_new_and_old(void **state)
{
    mode_t mask = umask(027);

    (void)state;
    publish("x", "first");
    assert_int_equal(mode_of("x"), 0640);
    chmod("x", 0600);
    publish("x", "second, longer");
    assert_int_equal(mode_of("x"), 0600);
    publish("x", "");
    publish("./x", "third");
    umask(mask);
    assert_int_equal(count_files(), 1);
}

static void test_long_name(void **state)
{
    char name[256];

    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    publish(name, "text");
    assert_int_equal(count_files(), 1);
}

/* The target of the link is written; the link remains a link. */
static void test_links(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mkdir("sub", 0777), 0);
    publish("sub/target", "old");
    assert_int_equal(symlink("sub/target", "link"), 0);
    assert_int_equal(symlink("link", "chain"), 0);
    publish("chain", "new");
    assert_holds("sub/target", "new");
    assert_int_equal(symlink("fresh", "sub/dangling"), 0);
    publish("sub/dangling", "made");
    assert_holds("sub/fresh", "made");
    assert_int_equal(lstat("chain", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat("sub/dangling", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(count_files(), 3);

    assert_int_equal(symlink("round", "round"), 0);
    assert_refused("round", "round: cannot write: Too many levels of symbolic links");
}

static void test_pipe(void **state)
{
    struct stat st;
    int status;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(io_publish(test_context(), "pipe", "through", 7) ? 0 : 1);
    }
    assert_holds("pipe", "through");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lstat("pipe", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void test_standard_output(void **state)
{
    int saved = dup(STDOUT_FILENO), fd = open("out", O_WRONLY | O_CREAT, 0600);

    (void)state;
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    bool ok = io_publish(test_context(), "-", "shown", 5);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_true(ok);
    assert_holds("out", "shown");
}

/* ---- failures ----------------------------------------------------------------------------- */

static void test_full_device(void **state)
{
    struct stat st;

    (void)state;
    assert_refused("/dev/full", "/dev/full: cannot write: No space left on device");
    assert_int_equal(symlink("/dev/full", "x.npy"), 0);
    assert_refused("x.npy", "x.npy: cannot write: No space left on device");
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(count_files(), 1);
}

static void test_wrong_places(void **state)
{
    (void)state;
    assert_refused("out/x.npy", "out/x.npy: cannot write: No such file or directory (directory out "
                                "does not exist)");
    assert_refused("a/b/x", "a/b/x: cannot write: No such file or directory (directory a/b does "
                            "not exist)");
    assert_refused("", ": cannot write: No such file or directory");
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_refused("sub", "sub: cannot write: Is a directory");
    publish("file", "text");
    assert_refused("file/x", "file/x: cannot write: Not a directory");
}

static void test_no_permission(void **state)
{
    (void)state;
    assert_int_equal(mkdir("closed", 0777), 0);
    publish("closed/x", "old");
    publish("locked", "old");
    chmod("locked", 0400);
    chmod("closed", 0500);
    if (access("closed", W_OK) == 0) /* root may write anywhere */
        skip();
    assert_refused("closed/x", "closed/x: cannot write: Permission denied");
    assert_refused("closed/new", "closed/new: cannot write: Permission denied");
    assert_refused("locked", "locked: cannot write: Permission denied");
    chmod("closed", 0700);
    assert_holds("closed/x", "old");
    assert_holds("locked", "old");
}

/* The limit allows only half of the bytes. If SIGXFSZ is ignored, the write fails; otherwise the
 * signal kills the process. A child process writes, so that the limit does not affect the test. */
static int publish_beyond_limit(bool killed)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        static char bytes[200000];
        struct rlimit limit = {100000, 100000};
        signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (io_publish(test_context(), "x", bytes, sizeof bytes))
            _exit(1);
        _exit(strcmp(tlnmf_message(test_context()), "x: cannot write: File too large") ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_failed_write(void **state)
{
    (void)state;
    publish("x", "old");
    assert_int_equal(publish_beyond_limit(false), 0);
    assert_holds("x", "old");
    assert_int_equal(count_files(), 1);
}

static void test_killed_write(void **state)
{
    (void)state;
    publish("x", "old");
    int status = publish_beyond_limit(true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_holds("x", "old");
    publish("x", "new"); /* files of a killed process do not block the next write */
}

/* ---- reading whole files ------------------------------------------------------------------ */

static void test_slurp(void **state)
{
    enum { SIZE = 300000 };
    unsigned char *bytes, *want = malloc(SIZE);
    size_t size;

    (void)state;
    assert_non_null(want);
    for (int i = 0; i < SIZE; i++)
        want[i] = (unsigned char)(i * 7);
    put_file("x", want, SIZE);
    bytes = get_file("x", &size);
    assert_int_equal(size, SIZE);
    assert_memory_equal(bytes, want, SIZE);
    free(bytes);
    free(want);
    put_file("x", "", 0);
    bytes = get_file("x", &size);
    assert_non_null(bytes);
    assert_int_equal(size, 0);
    free(bytes);

    assert_false(io_slurp(test_context(), "missing", &bytes, &size));
    assert_string_equal(tlnmf_message(test_context()), "missing: No such file or directory");
    assert_false(io_slurp(test_context(), ".", &bytes, &size));
    assert_string_equal(tlnmf_message(test_context()), ".: Is a directory");
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
    assert_null(bytes);
}

static void test_long_text(void **state)
{
    char name[2000];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(io_publish(test_context(), name, "", 0));
    assert_int_equal(strlen(tlnmf_message(test_context())), 511);
    assert_string_equal(tlnmf_message(test_context()) + 507, "n...");
    assert_false(io_publish(NULL, name, "", 0));
}

#define TEST(name) cmocka_unit_test_teardown(name, empty_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new_and_old),  TEST(test_long_name),       TEST(test_links),
        TEST(test_pipe),         TEST(test_standard_output), TEST(test_full_device),
        TEST(test_wrong_places), TEST(test_no_permission),   TEST(test_failed_write),
        TEST(test_killed_write), TEST(test_slurp),           TEST(test_long_text),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
