/* The n-th allocation of io/ fails, for every n: each call must report it and leave nothing behind.
 * Linked with --wrap for malloc, calloc, realloc, strdup and strndup. */
#include "unit/io/test_io.h"

#include <errno.h>

static int64_t left = -1; /* allocations until one fails; -1: none will */

static bool refuse(void)
{
    if (left < 0 || left-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refuse() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return refuse() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return refuse() ? NULL : __real_strndup(text, size);
}

/* ---- the calls ---------------------------------------------------------------------------- */

static double numbers[6] = {1, 2, 3, 4, 5, 6};

static bool write_array(const char *spec, io_error *err)
{
    io_array array = {.ndim = 2, .dim = {2, 3}, .x = numbers};

    return io_array_write(spec, &array, err);
}

static bool read_array(const char *spec, io_error *err)
{
    io_array array;
    bool ok = io_array_read(spec, &array, err);

    io_array_free(&array);
    return ok;
}

static bool read_missing(const char *spec, io_error *err)
{
    io_array array;

    return !io_array_read(spec, &array, err) && err->fault == IO_BAD_INPUT;
}

static bool describe(const char *path, io_error *err)
{
    json_t *told = io_describe(path, err);

    json_decref(told);
    return told != NULL;
}

static json_t *summary;

static bool write_model(const char *path, io_error *err)
{
    io_trace_row trace[1] = {{0, 1, 2, 3, 4, 5}};
    io_model model = {.M = 1, .N = 2, .K = 3, .Phi = numbers, .W = numbers, .H = numbers};

    model.trace_length = 1;
    model.trace = trace;
    model.summary = summary;
    return io_model_write(path, &model, err);
}

static bool read_model(const char *path, io_error *err)
{
    io_model model;
    bool ok = io_model_read(path, &model, err);

    io_model_free(&model);
    return ok;
}

static bool write_audio(const char *path, io_error *err)
{
    return io_audio_write(path, numbers, 3, 2, 8000, NULL, err);
}

static bool read_audio(const char *path, io_error *err)
{
    io_audio audio;
    bool ok = io_audio_read(path, &audio, err);

    io_audio_free(&audio);
    return ok;
}

static bool read_labels(const char *path, io_error *err)
{
    io_labels labels;
    bool ok = io_labels_read(path, &labels, err);

    io_labels_free(&labels);
    return ok;
}

static bool write_labels(const char *path, io_error *err)
{
    io_label label[] = {{0, 1, "one"}, {1, 2, "two"}};
    io_labels labels = {2, label};

    return io_labels_write(path, &labels, err);
}

static bool name_stems(const char *name, io_error *err)
{
    const char *const names[] = {name, name, ""};
    char *stems[3];
    bool ok = io_safe_stems(names, 3, stems, err);

    for (int i = 0; i < 3; i++)
        free(stems[i]);
    return ok;
}

static bool write_midi(const char *path, io_error *err)
{
    const io_note notes[] = {{0, 1, 60, 1}, {1, 2, 61, 1}};
    const io_midi_track track = {"piano", 0, 2, notes};

    return io_midi_write(path, 120, &track, 1, err);
}

static bool read_pipe(const char *path, io_error *err)
{
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);

    dup2(fd, STDIN_FILENO);
    bool ok = read_array("-", err);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(fd);
    return ok;
}

/* The number of files stays the same when the call fails: no temporary remains. */
static void exhaust(bool (*call)(const char *, io_error *), const char *path)
{
    bool injected = true;

    for (int64_t n = 0; injected; n++) {
        io_error err = {0};
        left = -1;
        int before = count_files();
        left = n;
        bool ok = call(path, &err);
        injected = left < 0;
        left = -1;
        if (!injected && !ok)
            fail_msg("%s: %s", path, err.text);
        if (!ok) {
            /* jansson takes a string it has no memory for as bad syntax */
            if (!strstr(err.text, "/summary is not JSON")) {
                assert_int_equal(err.fault, IO_NO_MEMORY);
                assert_non_null(strstr(err.text, "out of memory"));
            }
            assert_int_equal(count_files(), before);
        }
    }
}

static void test_arrays(void **state)
{
    (void)state;
    exhaust(write_array, "x.npy");
    exhaust(read_array, "x.npy");
    exhaust(read_pipe, "x.npy");
    exhaust(describe, "x.npy");
    exhaust(write_array, "x.h5:/a/b/Y");
    exhaust(read_array, "x.h5");
    exhaust(read_pipe, "x.h5");
    exhaust(read_missing, "x.h5:/Z");
    exhaust(describe, "x.h5");
}

static void test_models(void **state)
{
    (void)state;
    summary = json_pack("{s:i, s:{s:s}}", "seed", 1, "options", "method", "tl");
    assert_non_null(summary);
    exhaust(write_model, "m.h5");
    exhaust(read_model, "m.h5");
    exhaust(describe, "m.h5");
    json_decref(summary);
}

static void test_audio(void **state)
{
    (void)state;
    exhaust(write_audio, "x.wav");
    exhaust(write_audio, "x.flac");
    assert_int_equal(symlink("/dev/null", "null.wav"), 0); /* put together in memory */
    exhaust(write_audio, "null.wav");
    exhaust(read_audio, "x.wav");
    exhaust(read_audio, "x.flac");
}

static void test_labels(void **state)
{
    (void)state;
    exhaust(write_labels, "x.txt");
    exhaust(read_labels, "x.txt");
    exhaust(name_stems, "piano");
    exhaust(write_midi, "x.mid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_audio),
        cmocka_unit_test(test_labels),
    };

    /* jansson must run out of memory too; cmocka comes with none of its own. */
    json_set_alloc_funcs(__wrap_malloc, free);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
