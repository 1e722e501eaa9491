/* Hostile arguments for tests/fault/test_hostile.c: their enumeration, the values, and the checks
 * of each call. */
#ifndef TLNMF_TESTS_HOSTILE_H
#define TLNMF_TESTS_HOSTILE_H

#include "unit/io/test_api.h"

#include "tlnmf/io.h"
#include "tlnmf/paper.h"

#include <math.h>
#include <time.h>

/* ---- the enumeration of arguments ------------------------------------------------------------ */

enum { MOST_ARGUMENTS = 10, MOST_FUNCTIONS = 256, OF_PAIR = 6, OF_SLOW = 60 };

/* Each argument of a call chooses one of its values by number. Number 0 is a good value. The first
 * call has good values only. Then the values i and j are hostile, or only one if i = j. */
static struct {
    const char *name;
    int at, arguments, i, j, count[MOST_ARGUMENTS], chosen[MOST_ARGUMENTS];
    bool is_first, is_slow; /* slow functions get fewer values, and no pairs */
    int64_t calls, accepted, all_calls, wrong;
} it;

static const char *called[MOST_FUNCTIONS];
static int functions;

static int choose(int count)
{
    assert_true(it.at < MOST_ARGUMENTS);
    it.count[it.at] = count;
    return it.chosen[it.at++];
}

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
#define ONE_OF(array) ((array)[choose(LENGTH(array))])

static void begin(const char *name)
{
    assert_true(functions < MOST_FUNCTIONS);
    called[functions++] = name;
    memset(&it.chosen, 0, sizeof it.chosen);
    it.name = name;
    it.is_first = true;
    it.i = it.j = 0;
    it.calls = it.accepted = 0;
    printf("%s", name);
    fflush(stdout);
    alarm(300); /* ends a call that hangs */
}

/* Tries every value of a single argument, and about OF_PAIR values of each argument of a pair. */
static bool increase(int argument)
{
    int count = it.count[argument];
    it.chosen[argument] += it.i != it.j ? 1 + count / OF_PAIR
                           : it.is_slow ? 1 + count / OF_SLOW
                                        : 1;
    if (it.chosen[argument] < it.count[argument])
        return true;
    it.chosen[argument] = 1;
    return false;
}

static bool advance(void)
{
    if (it.arguments == 0)
        return false;
    if (increase(it.j) || (it.i != it.j && increase(it.i)))
        return true;
    do {
        it.chosen[it.i] = it.chosen[it.j] = 0;
        if (++it.j >= it.arguments || it.is_slow)
            it.j = ++it.i;
        if (it.i == it.arguments)
            return false;
        it.chosen[it.i] = it.chosen[it.j] = 1;
    } while (it.count[it.i] < 2 || it.count[it.j] < 2);
    return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

static tlnmf_ctx *ctx;
/* What a call makes, and the objects that live as long as one call. */
static struct {
    tlnmf_record *record, *made;
    tlnmf_settings *settings, *made_settings;
    tlnmf_data *data, *made_data;
    tlnmf_sound *sound, *made_sound;
    tlnmf_applier *applier, *made_applier;
    tlnmf_comm *comm;
    tlnmf_io_writer *writer;
    void **out; /* where a call stores what it makes */
} now;

static tlnmf_record *model, *separation, *report, *events, *track, *state;
static tlnmf_data *sets[9];
static tlnmf_sound *recording;
static double x[4096], ones[4096], out[1 << 16];
static char message[TLNMF_MESSAGE_SIZE];
static struct timespec start_of_call;

/* Blocks of more than 64 MiB are refused: no test needs them. */
static void *allocate(size_t bytes, void *user)
{
    (void)user;
    return bytes > (size_t)64 << 20 ? NULL : malloc(bytes);
}

static void release(void *block, void *user)
{
    (void)user;
    free(block);
}

/* Ends a hostile call after 20 ms: its number of iterations or starts may take long. */
static int stop_soon(const tlnmf_record *progress, void *user)
{
    struct timespec t;
    (void)progress, (void)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double elapsed = (double)(t.tv_sec - start_of_call.tv_sec) +
                     1e-9 * (double)(t.tv_nsec - start_of_call.tv_nsec);
    return !it.is_first && elapsed > 0.02;
}

static void forget(void)
{
    tlnmf_record_free(now.record);
    tlnmf_record_free(now.made);
    tlnmf_settings_free(now.settings);
    tlnmf_settings_free(now.made_settings);
    tlnmf_data_free(now.data);
    tlnmf_data_free(now.made_data);
    tlnmf_applier_free(now.applier);
    tlnmf_applier_free(now.made_applier);
    tlnmf_sound_free(now.sound);
    tlnmf_sound_free(now.made_sound);
    tlnmf_ctx_distribute_starts(ctx, NULL);
    tlnmf_ctx_distribute_frames(ctx, NULL);
    tlnmf_comm_free(now.comm);
    tlnmf_io_writer_abort(now.writer);
    memset(&now, 0, sizeof now);
}

static bool next(void)
{
    forget();
    if (!it.is_first && !advance()) {
        printf(": %lld calls, %lld accepted\n", (long long)it.calls, (long long)it.accepted);
        return false;
    }
    it.at = 0;
    strcpy(message, "stale");
    tlnmf_fail(ctx, TLNMF_ERR_ARGUMENT, message);
    clock_gettime(CLOCK_MONOTONIC, &start_of_call);
    return true;
}

static void complain(const char *what)
{
    it.wrong++;
    printf("\n  %s", what);
    for (int i = 0; i < it.arguments; i++)
        printf(" %d", it.chosen[i]);
    printf(": %s\n", tlnmf_message(ctx));
}

static void check_record(const tlnmf_record *record)
{
    size_t size = 0;
    assert_ok(ctx, tlnmf_record_pack(ctx, record, NULL, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    tlnmf_record *again;
    assert_ok(ctx, tlnmf_record_pack(ctx, record, bytes, &size));
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, size, &again));
    if (tlnmf_record_has(record, "L") && isnan(tlnmf_record_get_real(record, "L")))
        complain("L is NaN");
    tlnmf_record_free(again);
    free(bytes);
}

static void count_call(void)
{
    it.arguments = it.at;
    it.is_first = false;
    it.calls++;
    it.all_calls++;
}

static void judge(tlnmf_error error, const char *text)
{
    bool good = it.is_first;
    count_call();
    it.accepted += error == TLNMF_OK;
    if (good && error != TLNMF_OK)
        complain("good arguments are refused");
    if ((int)error < 0 || error > TLNMF_ERR_OUTPUT)
        complain("not an error of the table");
    if (error != TLNMF_OK && (text[0] == '\0' || strcmp(text, "stale") == 0))
        complain("an error without a message");
    if (now.out != NULL &&
        (*now.out == (void *)&now || (error == TLNMF_OK) != (*now.out != NULL))) {
        complain(error == TLNMF_OK ? "no object" : "an object in spite of an error");
        *now.out = NULL;
    }
    if (now.made != NULL)
        check_record(now.made);
    if (now.out != NULL && *now.out == (void *)&now)
        *now.out = NULL;
}

static void use_text(const char *text)
{
    count_call();
    it.accepted += text != NULL && strlen(text) < 100000;
}

/* The call with each combination of arguments: functions that return an error, a text, or anything
 * else. */
#define TRY(function, ...)          \
    for (begin(#function); next();) \
    judge(function(__VA_ARGS__), tlnmf_message(ctx))
#define TEXT(function, ...) for (begin(#function); next(); use_text(function(__VA_ARGS__)))
#define USE(function, ...)                       \
    for (begin(#function); next(); count_call()) \
    function(__VA_ARGS__)

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t size(int64_t good)
{
    const int64_t values[] = {good, 0, -1, INT64_MIN, INT64_MAX, INT64_MAX / 8 + 1};
    return ONE_OF(values);
}

static size_t index_of(size_t good)
{
    const size_t values[] = {good, SIZE_MAX, SIZE_MAX / 8 + 1, 1000000};
    return ONE_OF(values);
}

static int32_t number(int32_t good)
{
    const int32_t values[] = {good, 0, -1, 5, 77, INT32_MIN, INT32_MAX};
    return ONE_OF(values);
}

static double real(double good)
{
    const double values[] = {good, 0.0, -1.0, NAN, INFINITY, -INFINITY, 1e308, 5e-324};
    return ONE_OF(values);
}

static const char *text(const char *good)
{
    static char long_text[20000];
    memset(long_text, 'a', sizeof long_text - 1);
    const char *values[] = {good, "",    long_text, "\xff\xfe\x80", "a\nb\tc", "%s%n%s", "=",
                            "k=", "nan", "Phi",     "seed",         "0 0 0",   "auto",   "1e400"};
    return ONE_OF(values);
}

/* A signal, data, weights or phases, with hostile numbers. */
static const double *numbers_like(const double *good)
{
    static double y[4096];
    const double values[] = {1.0, 0.0, -1.0, NAN, INFINITY, 1e308, 1e200, 5e-324, 1e-200};
    int kind = choose(2 * LENGTH(values));
    for (int i = 0; i < LENGTH(y); i++) /* of all numbers, or of the second */
        y[i] = kind < LENGTH(values) || i == 1 ? good[i] * values[kind % LENGTH(values)] : good[i];
    return y;
}

static const double *numbers(void)
{
    return numbers_like(x);
}

/* The good shape with one hostile axis, or one whose number of elements overflows. */
static const int64_t *shape(int64_t a, int64_t b, int64_t c)
{
    static int64_t now_shape[4];
    const int64_t axis[] = {0, -1, INT64_MIN, INT64_MAX, INT64_MAX / 8 + 1};
    const int64_t whole[][3] = {{INT64_C(1) << 32, INT64_C(1) << 32, 1},
                                {INT64_C(1) << 22, INT64_C(1) << 21, INT64_C(1) << 21},
                                {INT64_C(1) << 31, INT64_C(1) << 31, 4},
                                {1, 3037000500, 3037000500},
                                {-4, -1, 12}};
    int kind = choose(1 + 3 * LENGTH(axis) + LENGTH(whole));
    memcpy(now_shape, (int64_t[]){a, b, c, 1}, sizeof now_shape);
    if (kind > 3 * LENGTH(axis))
        memcpy(now_shape, whole[kind - 3 * LENGTH(axis) - 1], sizeof whole[0]);
    else if (kind > 0)
        now_shape[(kind - 1) % 3] = axis[(kind - 1) / 3];
    return now_shape;
}

static tlnmf_record *copy(const tlnmf_record *record)
{
    static unsigned char bytes[1 << 20];
    size_t count = sizeof bytes;
    tlnmf_record *other;
    assert_ok(ctx, tlnmf_record_pack(ctx, record, bytes, &count));
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, count, &other));
    return other;
}

/* The record with one value removed or replaced. */
static tlnmf_record *record(const tlnmf_record *good)
{
    enum { WAYS = 12 };
    static char long_text[9000];
    const char *const texts[] = {"", memset(long_text, 'b', sizeof long_text - 1)};
    const double bad[4] = {NAN, -1.0, INFINITY, 1e308};
    tlnmf_record *r = now.record = copy(good);
    int kind = choose(1 + WAYS * (int)tlnmf_record_count(good)) - 1;
    if (kind < 0)
        return r;
    const char *name = tlnmf_record_name(good, (size_t)(kind / WAYS));
    int64_t dims[4];
    int32_t dimensions;
    const double *array = tlnmf_record_get_array(good, name, &dimensions, dims);
    switch (kind % WAYS) {
    case 0:
        tlnmf_record_remove(r, name);
        break;
    case 1:
        tlnmf_record_set_integer(ctx, r, name, -1);
        break;
    case 2:
        tlnmf_record_set_integer(ctx, r, name, INT64_MAX);
        break;
    case 3:
        tlnmf_record_set_integer(ctx, r, name, 0);
        break;
    case 4:
        tlnmf_record_set_real(ctx, r, name, NAN);
        break;
    case 5:
        tlnmf_record_set_real(ctx, r, name, 1e300);
        break;
    case 6:
        tlnmf_record_set_text(ctx, r, name, long_text);
        break;
    case 7:
        tlnmf_record_set_texts(ctx, r, name, texts, 2);
        break;
    case 8:
        tlnmf_record_set_array(ctx, r, name, bad, 1, (int64_t[]){4});
        break;
    case 9:
        tlnmf_record_set_array(ctx, r, name, bad, 2, (int64_t[]){0, 7});
        break;
    case 10: /* the shape reversed */
        if (array != NULL)
            tlnmf_record_set_array(ctx, r, name, array, 4,
                                   (int64_t[]){dims[3], dims[2], dims[1], dims[0]});
        break;
    default: /* one number less */
        if (array != NULL && dims[0] > 1) {
            dims[0]--;
            tlnmf_record_set_array(ctx, r, name, array, dimensions, dims);
        }
    }
    return r;
}

/* Options that make the calls short. */
static const struct {
    const char *task, *options;
} tasks[] = {{"fit", "k=2 J=3 threads=1"},
             {"jd", "J=3 threads=1"},
             {"apply", "J=9 threads=1"},
             {"frames", "frame=16"},
             {"learn", "frame=16 method=nmf per-source=1 transform=dct window=sine threads=1"},
             {"separate", "keep-h threads=1"},
             {"score", "filter=3"},
             {"gcm", "m=4 n=5 kbar=2"},
             {"report", "atoms=2"}};

static tlnmf_settings *settings_of(const char *task)
{
    int i = 0;
    while (strcmp(tasks[i].task, task) != 0)
        i++;
    assert_ok(ctx, tlnmf_settings_create(ctx, task, &now.settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, now.settings, tasks[i].options));
    return now.settings;
}

static void set_number(const char *name, double value)
{
    if (value > 1e19) /* a seed */
        tlnmf_settings_set_text(ctx, now.settings, name, "18446744073709551615");
    else if (tlnmf_settings_set_real(ctx, now.settings, name, value) != TLNMF_OK)
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, now.settings, name, (int64_t)value));
}

/* The settings of another task, or with one option at an end of its range. Frames write to arrays
 * of ours, which are for small frames. */
static const tlnmf_settings *settings(const char *task)
{
    int options = 0, kind;
    while (strcmp(task, "frames") != 0 && tlnmf_option_name(task, (size_t)options) != NULL)
        options++;
    kind = choose(1 + LENGTH(tasks) + 2 * options);
    if (kind > 0 && kind <= LENGTH(tasks))
        return settings_of(tasks[kind - 1].task);
    settings_of(task);
    if (kind > 0) {
        double low, high;
        kind -= 1 + LENGTH(tasks);
        const char *name = tlnmf_option_name(task, (size_t)(kind / 2));
        assert_int_equal(tlnmf_option_range(task, name, &low, &high), TLNMF_OK);
        if (strcmp(name, "threads") != 0 || kind % 2 == 0) /* 1024 threads: another test */
            set_number(name, kind % 2 == 0 ? low : high);
    }
    return now.settings;
}

static const tlnmf_data *data(void)
{
    return ONE_OF(sets);
}

/* Data and sounds that a call may change. */
static tlnmf_data *new_data(void)
{
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, x, (int64_t[]){2, 4, 12}, &now.data));
    return now.data;
}

static tlnmf_sound *new_sound(void)
{
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, 600, 1, 1000.0, &now.sound));
    return now.sound;
}

/* Sounds: good, without labels, silent, of NaN, shorter than a frame, of two channels, and one that
 * cannot be read. */
static int cannot_read(int64_t first, int64_t count, double *y, void *user)
{
    (void)first, (void)count, (void)y, (void)user;
    return 1;
}

static const tlnmf_sound *sound(void)
{
    static const double silent[600], nan_at_end[600] = {[599] = NAN};
    const double *samples[] = {x, x, silent, nan_at_end, x, x};
    int kind = choose(1 + LENGTH(samples));
    if (kind == 0)
        return recording;
    if (kind == LENGTH(samples))
        assert_ok(ctx, tlnmf_sound_create(ctx, 600, 1, 1000.0, cannot_read, NULL, &now.sound));
    else
        assert_ok(ctx, tlnmf_sound_from_array(ctx, samples[kind], kind == 4 ? 3 : 600,
                                              kind == 5 ? 2 : 1, 1000.0, &now.sound));
    return now.sound;
}

/* A new name in the folder of the test, and names that cannot be written or read. */
static const char *path(const char *good)
{
    static char long_name[300];
    memset(long_name, 'n', sizeof long_name - 1);
    const char *values[] = {good,   "",      "missing/a.h5", "folder",    long_name,
                            "loop", "a:b:c", "/dev/full",    "file/a.h5", "folder/\xff\xfe\n"};
    return ONE_OF(values);
}

/* *result is not NULL before the call, so that a failure must set it. */
static void *out_of(void *result)
{
    now.out = result;
    *now.out = &now;
    return result;
}

#define RECORD ((tlnmf_record **)out_of(&now.made))
#define DATA   ((tlnmf_data **)out_of(&now.made_data))
#define SOUND  ((tlnmf_sound **)out_of(&now.made_sound))

#endif
