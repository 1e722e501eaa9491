/* The n-th allocation of libtlnmf_io fails, for every n: each call must report it and leave no
 * file. Tests internal readers and writers and the public functions. Linked with --wrap for malloc,
 * calloc, realloc, strdup and strndup. */
#include "unit/io/test_api.h"
#include "unit/io/whole_sound.h"

#include <errno.h>

static int64_t left = -1; /* allocations until one fails; -1: none fails */

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

static bool write_array(tlnmf_ctx *ctx, const char *spec)
{
    return tlnmf_io_write_array(ctx, spec, numbers, 2, (int64_t[]){2, 3}) == TLNMF_OK;
}

static bool read_array(tlnmf_ctx *ctx, const char *spec)
{
    tlnmf_record *out;
    bool ok = tlnmf_io_read_array(ctx, spec, &out) == TLNMF_OK;

    tlnmf_record_free(out);
    return ok;
}

static bool read_missing(tlnmf_ctx *ctx, const char *spec)
{
    tlnmf_record *out;

    return tlnmf_io_read_array(ctx, spec, &out) == TLNMF_ERR_INPUT;
}

static bool describe_file(tlnmf_ctx *ctx, const char *path)
{
    tlnmf_record *out;
    bool ok = tlnmf_io_describe(ctx, path, &out) == TLNMF_OK;

    tlnmf_record_free(out);
    return ok;
}

static tlnmf_record *made_model; /* made beforehand */

static bool write_model(tlnmf_ctx *ctx, const char *path)
{
    return tlnmf_io_write_model(ctx, path, made_model) == TLNMF_OK;
}

static bool read_model(tlnmf_ctx *ctx, const char *path)
{
    tlnmf_record *out;
    bool ok = tlnmf_io_read_model(ctx, path, &out) == TLNMF_OK;

    tlnmf_record_free(out);
    return ok;
}

static bool write_sound(tlnmf_ctx *ctx, const char *path)
{
    const io_sound_info shape = {3, 2, 8000, 0};
    int64_t clipped;

    return write_whole(ctx, path, numbers, &shape, &clipped);
}

static bool read_sound(tlnmf_ctx *ctx, const char *path)
{
    whole_sound sound;
    bool ok = read_whole(ctx, path, &sound);

    free(sound.x);
    return ok;
}

static bool read_pipe(tlnmf_ctx *ctx, const char *path)
{
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);

    dup2(fd, STDIN_FILENO);
    bool ok = read_array(ctx, "-");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(fd);
    return ok;
}

/* The number of files stays the same when the call fails: no temporary remains. */
static void exhaust(bool (*call)(tlnmf_ctx *ctx, const char *), const char *path)
{
    tlnmf_ctx *ctx = test_context();
    bool injected = true;

    for (int64_t n = 0; injected; n++) {
        left = -1;
        int before = count_files();
        left = n;
        bool ok = call(ctx, path);
        injected = left < 0;
        left = -1;
        if (!injected && !ok)
            fail_msg("%s: %s", path, tlnmf_message(ctx));
        if (!ok) {
            /* jansson reports a failed allocation of a string as a syntax error */
            if (!strstr(tlnmf_message(ctx), "summary is not JSON")) {
                assert_int_equal(tlnmf_last_error(ctx), TLNMF_ERR_MEMORY);
                assert_non_null(strstr(tlnmf_message(ctx), "memory"));
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
    exhaust(describe_file, "x.npy");
    exhaust(write_array, "x.h5:/a/b/Y");
    exhaust(read_array, "x.h5");
    exhaust(read_pipe, "x.h5");
    exhaust(read_missing, "x.h5:/Z");
    exhaust(describe_file, "x.h5");
}

static void test_models(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = test_context();
    assert_int_equal(tlnmf_record_create(ctx, &made_model), TLNMF_OK);
    tlnmf_record_set_array(ctx, made_model, "Phi", numbers, 2, (int64_t[]){1, 1});
    tlnmf_record_set_array(ctx, made_model, "W", numbers, 2, (int64_t[]){1, 3});
    tlnmf_record_set_array(ctx, made_model, "H", numbers, 2, (int64_t[]){3, 2});
    tlnmf_record_set_array(ctx, made_model, "trace.C", numbers, 1, (int64_t[]){4});
    tlnmf_record_set_array(ctx, made_model, "energy", numbers, 1, (int64_t[]){1});
    tlnmf_record_set_integer(ctx, made_model, "seed", 1);
    tlnmf_record_set_real(ctx, made_model, "other.C", 2.0);
    tlnmf_record_set_text(ctx, made_model, "summary", "{\"options\": {\"method\": \"tl\"}}");
    static const char *const paths[] = {"m.h5", "m.npz"};
    for (int i = 0; i < 2; i++) {
        exhaust(write_model, paths[i]);
        exhaust(read_model, paths[i]);
        exhaust(describe_file, paths[i]);
    }
    tlnmf_record_free(made_model);
}

static void test_sound(void **state)
{
    (void)state;
    exhaust(write_sound, "x.wav");
    exhaust(write_sound, "x.flac");
    assert_int_equal(symlink("/dev/null", "null.wav"), 0); /* assembled in memory */
    exhaust(write_sound, "null.wav");
    exhaust(read_sound, "x.wav");
    exhaust(read_sound, "x.flac");
}

/* ---- the public functions ---------------------------------------------------------------- */

static tlnmf_error api_array(tlnmf_ctx *ctx, const char *spec)
{
    tlnmf_record *out;
    tlnmf_error error = tlnmf_io_write_array(ctx, spec, numbers, 2, (int64_t[]){2, 3});

    if (error == TLNMF_OK) {
        error = tlnmf_io_read_array(ctx, spec, &out);
        tlnmf_record_free(out);
    }
    if (error == TLNMF_OK) {
        error = tlnmf_io_describe(ctx, spec, &out);
        tlnmf_record_free(out);
    }
    return error;
}

static tlnmf_error fill_model(tlnmf_ctx *ctx, tlnmf_record *model, const char *text)
{
    static const char *const names[] = {"low", "high"};
    tlnmf_error error = tlnmf_record_set_array(ctx, model, "Phi", numbers, 2, (int64_t[]){1, 1});

    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(ctx, model, "names", names, 2);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_text(ctx, model, "option.k", "2");
    if (error == TLNMF_OK && text)
        error = tlnmf_record_set_text(ctx, model, "summary", text);
    return error;
}

static tlnmf_error model_round_trip(tlnmf_ctx *ctx, const char *path, const char *text)
{
    tlnmf_record *model, *back = NULL;
    tlnmf_error error = tlnmf_record_create(ctx, &model);

    if (error == TLNMF_OK)
        error = fill_model(ctx, model, text);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_model(ctx, path, model);
    if (error == TLNMF_OK)
        error = tlnmf_io_read_model(ctx, path, &back);
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    return error;
}

static tlnmf_error api_model(tlnmf_ctx *ctx, const char *path)
{
    return model_round_trip(ctx, path, NULL);
}

static tlnmf_error api_summary(tlnmf_ctx *ctx, const char *path)
{
    return model_round_trip(ctx, path, "{\"separation\": {\"names\": [\"x\"], \"hop\": 2}}");
}

static tlnmf_error api_sound(tlnmf_ctx *ctx, const char *path)
{
    tlnmf_sound *memory = NULL, *file = NULL;
    tlnmf_io_writer *writer = NULL;
    double x[6];
    tlnmf_error error = tlnmf_sound_from_array(ctx, numbers, 3, 2, 8000, &memory);

    if (error == TLNMF_OK)
        error = tlnmf_io_writer_create(ctx, path, memory, &writer);
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_append(ctx, writer, numbers, 3);
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_commit(ctx, writer);
    else
        tlnmf_io_writer_abort(writer);
    if (error == TLNMF_OK)
        error = tlnmf_io_open_sound(ctx, path, &file);
    if (error == TLNMF_OK)
        error = tlnmf_sound_read(ctx, file, 0, 3, x);
    tlnmf_sound_free(file);
    tlnmf_sound_free(memory);
    return error;
}

static tlnmf_error fill_events(tlnmf_ctx *ctx, tlnmf_record *events)
{
    static const char *const columns[] = {"source", "begin", "end", "level", "key"};
    static const double zeros[2] = {0, 0};
    tlnmf_error error = TLNMF_OK;

    for (int i = 0; i < 5 && error == TLNMF_OK; i++)
        error = tlnmf_record_set_array(ctx, events, columns[i], zeros, 1, (int64_t[]){2});
    return error;
}

static tlnmf_error api_events(tlnmf_ctx *ctx, const char *path)
{
    tlnmf_record *events = NULL, *model = NULL, *track = NULL, *safe = NULL;
    tlnmf_error error = tlnmf_record_create(ctx, &events);

    if (error == TLNMF_OK)
        error = fill_events(ctx, events);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, &model);
    if (error == TLNMF_OK)
        error = fill_model(ctx, model, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_midi(ctx, path, model, events);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_labels(ctx, path, model, events);
    if (error == TLNMF_OK)
        error = tlnmf_io_read_labels(ctx, path, &track);
    if (error == TLNMF_OK)
        error = tlnmf_io_safe_names(ctx, model, &safe);
    tlnmf_record_free(safe);
    tlnmf_record_free(track);
    tlnmf_record_free(model);
    tlnmf_record_free(events);
    return error;
}

/* The file is removed before each try, so that a leftover temporary file is detected. */
static void exhaust_api(tlnmf_error (*call)(tlnmf_ctx *, const char *), const char *path)
{
    bool injected = true;

    for (int64_t n = 0; injected; n++) {
        tlnmf_ctx *ctx = new_context();
        unlink(path);
        int before = count_files();
        left = n;
        tlnmf_error error = call(ctx, path);
        injected = left < 0;
        left = -1;
        if (!injected)
            assert_ok(ctx, error);
        else if (error != TLNMF_OK && !strstr(tlnmf_message(ctx), "not JSON"))
            assert_int_equal(error, TLNMF_ERR_MEMORY);
        if (error != TLNMF_OK)
            assert_string_not_equal(tlnmf_message(ctx), "");
        assert_true(count_files() <= before + 1);
        unlink(path);
        assert_int_equal(count_files(), before);
        tlnmf_ctx_free(ctx);
    }
}

static void test_api(void **state)
{
    (void)state;
    exhaust_api(api_array, "api.npy");
    exhaust_api(api_array, "api.h5");
    exhaust_api(api_model, "api.h5");
    exhaust_api(api_summary, "api.h5");
    exhaust_api(api_sound, "api.wav");
    exhaust_api(api_sound, "api.flac");
    exhaust_api(api_events, "api.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_api),
    };

    /* jansson must also use the failing allocator. */
    json_set_alloc_funcs(__wrap_malloc, free);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
