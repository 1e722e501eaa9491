/* Calls every public function with hostile arguments: sizes that are negative, zero or too large to
 * address, NaN, infinity, long and non-UTF-8 texts, settings of other tasks and at the ends of
 * their ranges, and records in which each value in turn is missing or has another type or shape.
 * Each call returns an error with a message, or a valid object. No call crashes, hangs or allocates
 * without limit. Sizes of arrays that are merely wrong are not tested, because no function can
 * check them. tests/bindings/null_arguments.py tests NULL. */
#include "hostile.h"

#include <sys/resource.h>

/* ---- the calls ------------------------------------------------------------------------------- */

static int sum(double *y, int64_t count, void *user)
{
    (void)y, (void)count;
    return user != NULL;
}

static int broadcast(double *y, int64_t count, int32_t root, void *user)
{
    (void)y, (void)count, (void)root;
    return user != NULL;
}

static void do_piece(int64_t i, void *user)
{
    (void)i, (void)user;
}

static int keep_state(const tlnmf_record *saved, void *user)
{
    (void)user;
    if (state == NULL)
        state = copy(saved);
    return 0;
}

static tlnmf_comm *new_comm(void)
{
    void *user[] = {NULL, ctx}; /* with ctx every sum and broadcast fails */
    assert_ok(ctx, tlnmf_comm_create(ctx, 1, 0, sum, broadcast, ONE_OF(user), &now.comm));
    return now.comm;
}

static void contexts(void **unused)
{
    (void)unused;
    int32_t flag = 0;
    tlnmf_ctx *other;
    TEXT(tlnmf_version);
    TEXT(tlnmf_blas);
    TEXT(tlnmf_error_name, (tlnmf_error)number(0));
    TEXT(tlnmf_outcome_name, (tlnmf_outcome)number(0));
    for (begin("tlnmf_ctx_create"); next(); tlnmf_ctx_free(other))
        judge(tlnmf_ctx_create(&other), "");
    for (begin("tlnmf_ctx_create_with"); next(); tlnmf_ctx_free(other))
        judge(tlnmf_ctx_create_with(allocate, release, NULL, &other), "");
    USE(tlnmf_ctx_free, NULL);
    USE(tlnmf_ctx_set_log, ctx, NULL, NULL);
    USE(tlnmf_ctx_set_progress, ctx, stop_soon, NULL);
    TRY(tlnmf_ctx_set_threads, ctx, number(1));
    assert_ok(ctx, tlnmf_ctx_set_threads(ctx, 1));
    USE(tlnmf_ctx_set_gpu, ctx, number(0));
    tlnmf_ctx_set_gpu(ctx, 0);
    USE(tlnmf_stop_flag, model, &flag);
    TEXT(tlnmf_message, ctx);
    USE(tlnmf_last_error, ctx);
    USE(tlnmf_fail, ctx, (tlnmf_error)number(1), text("t"));
    USE(tlnmf_poll, ctx, text("read"), real(1.0), real(2.0));
    TRY(tlnmf_parallel, ctx, (int64_t)number(3) % 100, do_piece, NULL);
    TRY(tlnmf_comm_create, ctx, number(2), number(1), sum, broadcast, NULL,
        (tlnmf_comm **)out_of(&now.comm));
    USE(tlnmf_comm_free, NULL);
    USE(tlnmf_comm_agree, ctx, new_comm(), (tlnmf_error)number(0));
    for (begin("tlnmf_ctx_distribute_starts"); next();) {
        tlnmf_ctx_distribute_starts(ctx, new_comm());
        judge(tlnmf_fit(ctx, data(), settings_of("fit"), NULL, RECORD), tlnmf_message(ctx));
    }
    for (begin("tlnmf_ctx_distribute_frames"); next();) {
        tlnmf_ctx_distribute_frames(ctx, new_comm());
        judge(tlnmf_data_from_realisations(ctx, numbers(), shape(2, 4, 12), DATA),
              tlnmf_message(ctx));
    }
    TRY(tlnmf_device, ctx, RECORD);
    USE(tlnmf_io_cores);
}

static void records(void **unused)
{
    (void)unused;
    const char *const list[] = {"a", "\xff", ""};
    static unsigned char bytes[1 << 16];
    size_t packed = sizeof bytes;
    assert_ok(ctx, tlnmf_record_pack(ctx, track, bytes, &packed));
    int32_t dimensions;
    int64_t dims[TLNMF_MAX_DIMENSIONS];
    double *array;
    TRY(tlnmf_record_create, ctx, RECORD);
    USE(tlnmf_record_free, NULL);
    USE(tlnmf_record_count, record(track));
    TEXT(tlnmf_record_name, record(track), index_of(1));
    USE(tlnmf_record_type, record(track), text("start"));
    USE(tlnmf_record_has, record(track), text("start"));
    USE(tlnmf_record_get_integer, record(track), text("start"));
    USE(tlnmf_record_get_real, record(track), text("start"));
    TEXT(tlnmf_record_get_text, record(track), text("start"));
    TEXT(tlnmf_record_get_text_at, record(track), text("name"), index_of(0));
    USE(tlnmf_record_get_array, record(track), text("start"), &dimensions, dims);
    TRY(tlnmf_record_set_integer, ctx, record(track), text("n"), size(3));
    TRY(tlnmf_record_set_real, ctx, record(track), text("n"), real(3.0));
    TRY(tlnmf_record_set_text, ctx, record(track), text("n"), text("t"));
    TRY(tlnmf_record_set_texts, ctx, record(track), text("n"), list, choose(2) == 0 ? 3 : 0);
    TRY(tlnmf_record_set_array, ctx, record(track), text("n"), numbers(), number(3),
        shape(2, 4, 12));
    TRY(tlnmf_record_new_array, ctx, record(track), text("n"), number(3), shape(2, 4, 12), &array);
    USE(tlnmf_record_remove, record(track), text("start"));
    TRY(tlnmf_record_pack, ctx, record(track), bytes, &packed);
    TRY(tlnmf_record_unpack, ctx, bytes, choose(2) == 0 ? packed : packed - 1, RECORD);
    USE(tlnmf_result_count);
    TEXT(tlnmf_result_name, index_of(0));
    USE(tlnmf_result_type, index_of(0));
    TEXT(tlnmf_result_shape, index_of(0));
    TEXT(tlnmf_result_where, index_of(0));
    TEXT(tlnmf_result_help, index_of(0));
    TRY(tlnmf_join_states, ctx, record(state), state);
    for (begin("tlnmf_ctx_set_resume"); next(); tlnmf_ctx_set_resume(ctx, NULL)) {
        tlnmf_ctx_set_resume(ctx, record(state));
        judge(tlnmf_fit(ctx, sets[0], settings_of("fit"), NULL, RECORD), tlnmf_message(ctx));
    }
    for (begin("tlnmf_ctx_set_checkpoint"); next();
         tlnmf_ctx_set_checkpoint(ctx, 0.0, NULL, NULL)) {
        tlnmf_ctx_set_checkpoint(ctx, real(0.0), keep_state, NULL);
        judge(tlnmf_fit(ctx, sets[0], settings_of("fit"), NULL, RECORD), tlnmf_message(ctx));
    }
    USE(tlnmf_ctx_set_iterate_after, ctx, real(600.0));
    tlnmf_ctx_set_iterate_after(ctx, 600.0);
}

static void options(void **unused)
{
    (void)unused;
    char buffer[64];
    double low, high;
    const char *const list[] = {"k", "", "\xff\xff", "seed"};
    TRY(tlnmf_settings_create, ctx, text("fit"), (tlnmf_settings **)out_of(&now.made_settings));
    TRY(tlnmf_settings_copy, ctx, settings("fit"), (tlnmf_settings **)out_of(&now.made_settings));
    USE(tlnmf_settings_free, NULL);
    TRY(tlnmf_settings_set_text, ctx, settings_of("fit"), text("J"), text("3"));
    TRY(tlnmf_settings_set_integer, ctx, settings_of("fit"), text("J"), size(3));
    TRY(tlnmf_settings_set_real, ctx, settings_of("fit"), text("tol"), real(0.5));
    TRY(tlnmf_settings_set_all, ctx, settings_of("fit"), text("k=3 trace"));
    TEXT(tlnmf_settings_get_text, settings_of("fit"), text("k"), buffer, (size_t)choose(64));
    USE(tlnmf_settings_get_integer, settings_of("fit"), text("k"));
    USE(tlnmf_settings_get_real, settings_of("fit"), text("k"));
    TRY(tlnmf_settings_check, ctx, settings("fit"));
    TEXT(tlnmf_task_name, index_of(0));
    TEXT(tlnmf_option_name, text("fit"), index_of(0));
    USE(tlnmf_option_kind_of, text("fit"), text("k"));
    TEXT(tlnmf_option_help, text("fit"), text("k"));
    TEXT(tlnmf_option_choices, text("fit"), text("method"));
    TEXT(tlnmf_option_default, text("fit"), text("k"), buffer, (size_t)choose(64));
    for (begin("tlnmf_option_range"); next();)
        judge(tlnmf_option_range(text("fit"), text("k"), &low, &high), "no context");
    TEXT(tlnmf_nearest, text("seeds"), list, (size_t)choose(5));
}

static void fits(void **unused)
{
    (void)unused;
    double bytes;
    const int64_t ranges[][2] = {{1, 2}, {0, 1}, {2, 1}, {-3, -1}, {1, INT64_MAX}, {INT64_MIN, 1}};
    const char *const simple[] = {"k=2 J=3", "J=3",       "k=10000", "k=0",
                                  "\xff",    "k=2 k=3 k", "method="};
    for (begin("tlnmf_simple_fit"); next();)
        judge(tlnmf_simple_fit(numbers(), shape(2, 4, 12), ONE_OF(simple), message, RECORD),
              message);
    for (begin("tlnmf_simple_diagonalise"); next();)
        judge(tlnmf_simple_diagonalise(numbers(), shape(2, 4, 12), "J=3", message, RECORD),
              message);
    it.is_slow = true;
    for (begin("tlnmf_simple_apply"); next();)
        judge(tlnmf_simple_apply(record(model), numbers(), shape(2, 4, 12), "J=9", message, RECORD),
              message);
    it.is_slow = false;
    TRY(tlnmf_data_from_realisations, ctx, numbers(), shape(2, 4, 12), DATA);
    TRY(tlnmf_data_from_incomplete, ctx, numbers(), shape(2, 4, 12), DATA);
    const double square[] = {2.0, 1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 4.0},
                 not [] = {1.0, 9.0, 9.0, 1.0, NAN};
    const double *const covariances[] = {square, not, not +1};
    TRY(tlnmf_data_from_covariances, ctx, ONE_OF(covariances),
        choose(2) == 0 ? (int64_t[]){2, 2, 2} : shape(2, 2, 2), DATA);
    TRY(tlnmf_data_from_neighbours, ctx, numbers(), shape(2, 4, 12), (tlnmf_neighbours)number(1),
        size(2), DATA);
    TRY(tlnmf_data_set_weights, ctx, new_data(), numbers_like(ones));
    TRY(tlnmf_data_set_mask, ctx, new_data(), numbers_like(ones));
    TRY(tlnmf_data_set_dof, ctx, new_data(), size(2));
    TRY(tlnmf_data_set_realisations, ctx, new_data(), numbers(), shape(2, 4, 12));
    int64_t count = 0, *const missing[] = {NULL, &count};
    for (begin("tlnmf_fill_missing_powers"); next();) {
        memcpy(out, numbers(), sizeof x);
        memcpy(out + LENGTH(x), numbers_like(ones), sizeof ones);
        judge(
            tlnmf_fill_missing_powers(ctx, out, shape(2, 4, 12), out + LENGTH(x), ONE_OF(missing)),
            tlnmf_message(ctx));
    }
    USE(tlnmf_data_record, data());
    USE(tlnmf_data_free, NULL);
    TRY(tlnmf_fit, ctx, data(), settings("fit"), record(model), RECORD);
    it.is_slow = true;
    TRY(tlnmf_diagonalise, ctx, data(), settings("jd"), record(model), RECORD);
    it.is_slow = false;
    TRY(tlnmf_compare_ranks, ctx, data(), settings("fit"), ONE_OF(ranges), NULL, RECORD);
    TRY(tlnmf_apply, ctx, record(model), data(), settings("apply"), RECORD);
    TRY(tlnmf_likelihood, ctx, record(model), data(), settings("apply"), RECORD);
    TRY(tlnmf_applier_create, ctx, record(model), settings("apply"),
        (tlnmf_applier **)out_of(&now.made_applier));
    for (begin("tlnmf_applier_frame"); next();) {
        assert_ok(ctx, tlnmf_applier_create(ctx, model, settings_of("apply"), &now.applier));
        judge(tlnmf_applier_frame(ctx, now.applier, numbers(), out, out + 100), tlnmf_message(ctx));
    }
    USE(tlnmf_applier_free, NULL);
    TRY(tlnmf_evaluate, ctx, data(), record(model), RECORD);
    TRY(tlnmf_draw_start, ctx, data(), settings("fit"), size(0), RECORD);
    it.is_slow = true;
    USE(tlnmf_usual_starts, data(), settings("fit"), record(model));
    it.is_slow = false;
    TRY(tlnmf_memory, ctx, data(), settings("fit"), &bytes);
    TRY(tlnmf_transform_matrix, ctx, text("dct"), size(4), out);
    TRY(tlnmf_atoms, ctx, record(model), real(1000.0), size(2), RECORD);
}

static int write_stem(int64_t stem, int64_t first, int64_t count, const double *y, void *user)
{
    (void)stem, (void)first, (void)count, (void)y;
    return user != NULL;
}

static void close_nothing(void *user)
{
    (void)user;
}

static void sounds(void **unused)
{
    (void)unused;
    int64_t N;
    double value;
    void *user[] = {NULL, ctx};
    TRY(tlnmf_frames_count, ctx, settings("frames"), size(600), &N);
    TRY(tlnmf_frames_window, ctx, settings("frames"), out);
    TRY(tlnmf_frames_analyse, ctx, settings("frames"), numbers(), size(600), out);
    TRY(tlnmf_frames_synthesise, ctx, settings("frames"), numbers(), size(60), out);
    TRY(tlnmf_sound_create, ctx, size(600), size(1), real(1000.0), cannot_read, NULL, SOUND);
    TRY(tlnmf_sound_from_array, ctx, x, size(600), size(1), real(1000.0), SOUND);
    for (begin("tlnmf_sound_resample"); next();) {
        judge(tlnmf_sound_resample(ctx, recording, real(700.0), SOUND), tlnmf_message(ctx));
        if (now.made_sound != NULL)
            tlnmf_sound_read(ctx, now.made_sound, 0, 1, out);
    }
    TRY(tlnmf_sound_add_label, ctx, new_sound(), text("a"), real(0.1), real(0.3));
    TRY(tlnmf_sound_add_labels, ctx, new_sound(), record(track));
    USE(tlnmf_sound_record, sound());
    TRY(tlnmf_sound_read, ctx, sound(), size(2), size(5), out);
    TRY(tlnmf_sound_power, ctx, sound(), &value);
    USE(tlnmf_sound_free, NULL);
    USE(tlnmf_sound_notes, new_sound());
    USE(tlnmf_sound_own, new_sound(), close_nothing, NULL, NULL);
    TRY(tlnmf_learn_sources, ctx, sound(), settings("learn"), RECORD);
    TRY(tlnmf_learn_sources_memory, ctx, sound(), settings("learn"), &value);
    TRY(tlnmf_separate_plan, ctx, record(separation), sound(), settings("separate"), RECORD);
    TRY(tlnmf_separate, ctx, record(separation), sound(), settings("separate"), write_stem,
        ONE_OF(user), RECORD);
    it.is_slow = true;
    TRY(tlnmf_separate_array, ctx, record(separation), sound(), settings("separate"), out, RECORD);
    it.is_slow = false;
    TRY(tlnmf_activations, ctx, record(separation), sound(), report, RECORD);
    TRY(tlnmf_activations, ctx, separation, recording, record(report), RECORD);
    TRY(tlnmf_spectrogram, ctx, record(separation), sound(), size(1), size(3), RECORD);
    TRY(tlnmf_score, ctx, numbers(), x, shape(2, 300, 1), settings("score"), RECORD);
}

static void paper(void **unused)
{
    (void)unused;
    double Q, bound, Phi[12 * 12] = {0.0};
    TRY(tlnmf_simulate_gcm, ctx, settings("gcm"), RECORD);
    TRY(tlnmf_simulate_notes, ctx, numbers(), size(1), RECORD);
    TRY(tlnmf_random_phases, ctx, (uint64_t)size(3), (tlnmf_stream)number(0), size(5), out);
    TRY(tlnmf_theory_Q, ctx, data(), data(), numbers(), real(0.1), &Q);
    for (begin("tlnmf_theory_climb"); next();) {
        assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", 4, Phi));
        judge(tlnmf_theory_climb(ctx, data(), data(), real(0.1), size(3), Phi, &Q),
              tlnmf_message(ctx));
    }
    for (begin("tlnmf_theory_bound"); next(); count_call()) {
        bound = tlnmf_theory_bound(size(10), size(50), size(100), real(2.0));
        if (bound < 0.0)
            complain("a negative bound");
    }
    for (begin("tlnmf_theory_probability"); next(); count_call()) {
        bound = tlnmf_theory_probability(size(50), real(2.0));
        if (bound < 0.0 || bound > 1.0)
            complain("not a probability");
    }
    USE(tlnmf_theory_asymptote, size(10), size(50), size(100));
    TRY(tlnmf_transform_distance, ctx, size(4), Phi, Phi, &Q);
    TRY(tlnmf_principal_angles, ctx, size(2), size(4), Phi, Phi, out);
}

static int next_numbers(double *y, int64_t count, void *user)
{
    memset(y, 0, (size_t)count * sizeof *y);
    return user != NULL;
}

static void files(void **unused)
{
    (void)unused;
    void *user[] = {NULL, ctx};
    const char *const models[] = {"m.h5", "m.npz", "m.mat", "missing", "folder", "loop", "a.npy"};
    const char *const arrays[] = {
        "a.npy",      "a.npy:x", "m.h5:/W", "m.h5", "m.h5:", "m.npz:W",       "m.mat:W",
        "m.mat:\xff", "folder",  "loop",    "",     ":",     "a.npy:columns="};
    it.is_slow = true;
    TRY(tlnmf_io_write_array, ctx, path("a.npy"), numbers(), number(3), shape(2, 4, 12));
    TRY(tlnmf_io_write_model, ctx, path("m.h5"), record(model));
    TRY(tlnmf_io_write_model, ctx, path("m.npz"), record(model));
    TRY(tlnmf_io_write_model, ctx, path("m.mat"), record(model));
    TRY(tlnmf_io_write_model, ctx, path("s.npz"), record(separation));
    TRY(tlnmf_io_write_model_from, ctx, path("n.h5"), model, size(12), next_numbers, ONE_OF(user));
    for (int i = 0; i < 3; i++)
        assert_ok(ctx, tlnmf_io_write_model(ctx, models[i], model));
    TRY(tlnmf_io_read_array, ctx, ONE_OF(arrays), RECORD);
    TRY(tlnmf_io_read_slice, ctx, ONE_OF(arrays), number(0), size(1), size(1), RECORD);
    TRY(tlnmf_io_read_model, ctx, ONE_OF(models), RECORD);
    TRY(tlnmf_io_describe, ctx, ONE_OF(models), RECORD);
    TRY(tlnmf_io_writer_create, ctx, path("a.wav"), sound(),
        (tlnmf_io_writer **)out_of(&now.writer));
    for (begin("tlnmf_io_writer_append"); next();) {
        assert_ok(ctx, tlnmf_io_writer_create(ctx, "a.wav", recording, &now.writer));
        judge(tlnmf_io_writer_append(ctx, now.writer, numbers(), size(3)), tlnmf_message(ctx));
    }
    for (begin("tlnmf_io_writer_commit"); next(); now.writer = NULL) {
        assert_ok(ctx, tlnmf_io_writer_create(ctx, "a.wav", recording, &now.writer));
        tlnmf_io_writer_append(ctx, now.writer, numbers(), size(3));
        judge(tlnmf_io_writer_commit(ctx, now.writer), tlnmf_message(ctx));
    }
    assert_ok(ctx, tlnmf_io_writer_create(ctx, "a.wav", recording, &now.writer));
    check_record(tlnmf_io_writer_record(now.writer));
    USE(tlnmf_io_writer_record, now.writer);
    USE(tlnmf_io_writer_abort, NULL);
    TRY(tlnmf_io_open_sound, ctx, path("a.wav"), SOUND);
    TRY(tlnmf_io_write_labels, ctx, path("e.txt"), record(separation), events);
    TRY(tlnmf_io_write_labels, ctx, "e.txt", separation, record(events));
    TRY(tlnmf_io_read_labels, ctx, path("e.txt"), RECORD);
    TRY(tlnmf_io_write_midi, ctx, path("e.mid"), record(separation), events);
    TRY(tlnmf_io_write_midi, ctx, "e.mid", separation, record(events));
    TRY(tlnmf_io_write_report, ctx, path("p.html"), record(model), track, settings("report"));
    TRY(tlnmf_io_write_report, ctx, "p.html", separation, record(track), NULL);
    TRY(tlnmf_io_write_file, ctx, path("f"), x, choose(2) == 0 ? 100 : 0);
    TRY(tlnmf_io_write_record, ctx, path("r"), record(track));
    TRY(tlnmf_io_read_record, ctx, path("r"), RECORD);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Every function of the lists of exports has been called. */
static void all_functions(void **unused)
{
    (void)unused;
    const char *const maps[] = {SOURCES "/cmake/tlnmf.map", SOURCES "/cmake/tlnmf_io.map"};
    char line[256];
    int listed = 0;
    for (int m = 0; m < LENGTH(maps); m++) {
        FILE *file = fopen(maps[m], "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) != NULL) {
            char *name = line + strspn(line, " "), *end = strchr(name, ';');
            if (strncmp(name, "tlnmf_", 6) != 0 || end == NULL)
                continue;
            *end = '\0';
            int i = 0;
            while (i < functions && strcmp(called[i], name) != 0)
                i++;
            if (i == functions)
                fail_msg("%s: no call with hostile arguments", name);
            listed++;
        }
        fclose(file);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d functions, %lld calls, %ld MiB\n", listed, (long long)it.all_calls,
           usage.ru_maxrss / 1024);
    assert_int_equal(it.wrong, 0);
    assert_true(usage.ru_maxrss / 1024 < 1500); /* sanitizers keep freed memory */
}

static int prepare(void **unused)
{
    for (int i = 0; i < LENGTH(x); i++)
        ones[i] = 1.0, x[i] = sin(0.3 * i) + 0.3 * cos(1.1 * i * i);
    if (enter_directory(unused) != 0 || mkdir("folder", 0700) != 0 || symlink("loop", "loop") != 0)
        return -1;
    assert_int_equal(tlnmf_ctx_create_with(allocate, release, NULL, &ctx), TLNMF_OK);
    fclose(fopen("file", "w"));
    const double scale[] = {1.0, 0.0, 1e150, 1e-160};
    for (int i = 0; i < LENGTH(sets); i++) {
        double y[96];
        for (int n = 0; n < 96; n++)
            y[n] = i < LENGTH(scale) ? scale[i] * x[n] : x[n];
        y[5] = i == 4 ? NAN : y[5];
        const int64_t small[] = {1, 1, 1}, usual[] = {2, 4, 12}, other[] = {1, 12, 4};
        if (tlnmf_data_from_incomplete(ctx, y,
                                       i == 5   ? small
                                       : i == 6 ? other
                                                : usual,
                                       &sets[i]) != TLNMF_OK)
            assert_ok(ctx, tlnmf_data_from_realisations(ctx, x, usual, &sets[i]));
    }
    assert_ok(ctx, tlnmf_data_set_mask(ctx, sets[7],
                                       (double[48]){1.0, 1.0, [10] = 1.0, [20] = 1.0, [30] = 1.0}));
    assert_ok(ctx, tlnmf_data_set_weights(ctx, sets[8], (double[12]){[4] = 1e300}));
    tlnmf_ctx_set_checkpoint(ctx, 0.0, keep_state, NULL);
    assert_ok(ctx, tlnmf_fit(ctx, sets[0], settings_of("fit"), NULL, &model));
    tlnmf_ctx_set_checkpoint(ctx, 0.0, NULL, NULL);
    forget();
    recording = new_sound();
    now.sound = NULL;
    tlnmf_ctx_set_progress(ctx, stop_soon, NULL);
    assert_ok(ctx, tlnmf_record_create(ctx, &track));
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, track, "start", (double[]){0.0, 0.3}, 1, (int64_t[]){2}));
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, track, "end", (double[]){0.3, 0.6}, 1, (int64_t[]){2}));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, track, "name", (const char *[]){"a", "b"}, 2));
    assert_ok(ctx, tlnmf_sound_add_labels(ctx, recording, track));
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    assert_ok(ctx, tlnmf_learn_sources(ctx, recording, settings_of("learn"), &separation));
    forget();
    assert_ok(ctx, tlnmf_separate(ctx, separation, recording, settings_of("separate"), write_stem,
                                  NULL, &report));
    forget();
    assert_ok(ctx, tlnmf_activations(ctx, separation, recording, report, &events));
    assert_non_null(state);
    return 0;
}

static int finish(void **unused)
{
    forget();
    for (int i = 0; i < LENGTH(sets); i++)
        tlnmf_data_free(sets[i]);
    tlnmf_record *const all[] = {model, separation, report, events, track, state};
    for (int i = 0; i < LENGTH(all); i++)
        tlnmf_record_free(all[i]);
    tlnmf_sound_free(recording);
    tlnmf_ctx_free(ctx);
    return leave_directory(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts), cmocka_unit_test(records),       cmocka_unit_test(options),
        cmocka_unit_test(fits),     cmocka_unit_test(sounds),        cmocka_unit_test(paper),
        cmocka_unit_test(files),    cmocka_unit_test(all_functions),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
