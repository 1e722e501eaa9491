/* Reads arrays from files, checks their shapes and converts them to data of the library. */
#include "cli/common/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads an array (`kind` "array") or a range of it. `full` is `spec`, perhaps with options of the
 * reader of text tables. A text table with empty cells is refused unless the input may have missing
 * values; `input` is NULL for other arrays. */
static int read_array(cli_call *call, const char *kind, const char *spec, const char *full,
                      const cli_input *input, tlnmf_record **record, cli_array *a)
{
    *record = NULL;
    int code = cli_read(call, kind, full, record);
    if (code == EXIT_INPUT)
        cli_advise(call, spec);
    TRY(code);
    const char *need = strcmp(kind, "array") == 0 ? "array" : "shape", *note;
    a->x = tlnmf_record_get_array(*record, "array", &a->rank, a->shape);
    const char *missing = tlnmf_record_get_text(*record, "missing");
    if (missing != NULL && (input == NULL || !input->missing))
        code = cli_fail(call->command, EXIT_INPUT, "%s: %s%s", spec, missing,
                        input == NULL                  ? ""
                        : cli_input_is(input, "power") ? "; --missing ignores missing powers"
                                                       : "; --missing skips frames that have a "
                                                         "missing value");
    else if (tlnmf_record_get_array(*record, need, NULL, NULL) == NULL)
        code =
            cli_fail(call->command, EXIT_INPUT, "%s: the reader process returned no array", spec);
    if (code != EXIT_DONE) {
        tlnmf_record_free(*record);
        *record = NULL;
        return code;
    }
    if ((note = tlnmf_record_get_text(*record, "note")) != NULL)
        cli_say(call->command, "%s: %s", spec, note);
    return EXIT_DONE;
}

/* The option of text tables that is given, or NULL. */
static const char *table_option(const cli_input *input)
{
    bool header = input->header != NULL && strcmp(input->header, "auto") != 0;
    bool index = input->index != NULL && strcmp(input->index, "auto") != 0;
    return header                   ? "header"
           : index                  ? "index"
           : input->columns != NULL ? "columns"
           : input->drop != NULL    ? "drop"
                                    : NULL;
}

int cli_table_spec(const cli_call *call, const cli_input *input, const char *spec, char **full)
{
    static const char *const others[] = {".npy", ".npz", ".h5", ".hdf", ".mat"};
    const char *const names[] = {"header", "index"};
    const char *const answers[] = {input->header, input->index};
    const char *list = input->columns != NULL ? input->columns : input->drop;
    const char *option = table_option(input);
    for (size_t i = 0; option != NULL && i < sizeof others / sizeof *others; i++)
        if (strstr(spec, others[i]) != NULL)
            return cli_fail(call->command, EXIT_USAGE, "--%s requires a text table; %s is not one",
                            option, spec);
    size_t size = strlen(spec) + 64 + (list != NULL ? strlen(list) : 0);
    if ((*full = malloc(size)) == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory");
    size_t used = (size_t)snprintf(*full, size, "%s", spec), bare = used;
    for (int i = 0; i < 2; i++)
        if (answers[i] != NULL && strcmp(answers[i], "auto") != 0)
            used += (size_t)snprintf(*full + used, size - used, "%c%s%s", used > bare ? ',' : ':',
                                     strcmp(answers[i], "no") == 0 ? "no-" : "", names[i]);
    if (list != NULL)
        snprintf(*full + used, size - used, "%c%s=%s", used > bare ? ',' : ':',
                 input->columns != NULL ? "columns" : "drop", list);
    return EXIT_DONE;
}

bool cli_input_is(const cli_input *input, const char *kind)
{
    return strcmp(input->kind != NULL ? input->kind : "auto", kind) == 0;
}

int cli_check_reading(const cli_call *call, cli_input *input)
{
    const int64_t most = 1000000000, usual = 2;
    if (input->dof_text != NULL && !cli_input_is(input, "power"))
        return cli_fail(call->command, EXIT_USAGE, "--dof requires --input power");
    if (input->block_text != NULL && input->moving_text != NULL)
        return cli_fail(call->command, EXIT_USAGE, "--block and --moving are mutually exclusive");
    if (input->columns != NULL && input->drop != NULL)
        return cli_fail(call->command, EXIT_USAGE, "--columns and --drop are mutually exclusive");
    const char *list = input->columns != NULL ? input->columns : input->drop;
    if (list != NULL && list[0] == '\0')
        return cli_fail(call->command, EXIT_USAGE, "--%s requires names or numbers of columns",
                        input->columns != NULL ? "columns" : "drop");
    if (!cli_integer(call, "block", input->block_text, 1, most, 0, &input->block) ||
        !cli_integer(call, "moving", input->moving_text, 1, most, 0, &input->moving) ||
        !cli_integer(call, "dof", input->dof_text, 1, most, usual, &input->dof))
        return EXIT_USAGE;
    return cli_check_axes(call, input->axes);
}

/* Reads the input of the command. */
static int read_input(cli_call *call, const cli_input *input, tlnmf_record **record, cli_array *a)
{
    char *full = NULL;
    TRY(cli_table_spec(call, input, input->spec, &full));
    int code = read_array(call, "array", input->spec, full, input, record, a);
    free(full);
    return code;
}

/* "(10, 50)" */
static const char *shape_text(const cli_array *a, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < a->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                                 (long long)a->shape[i]);
    if (used < size)
        snprintf(text + used, size - used, a->rank == 1 ? ",)" : ")");
    return text;
}

/* The index after the last frame of this process. */
static int64_t part_end(const cli_call *call, int64_t N, int64_t whole)
{
    return cli_part_first((cli_part){call->part.rank + 1, call->part.size}, N, whole);
}

/* Reads the frames of this process: a part of this axis. If `whole` is 0, reads only the shape. */
static int read_part(cli_call *call, const cli_input *input, int axis, int64_t whole,
                     tlnmf_record **record, cli_array *a)
{
    static const double none[1];
    char kind[96];
    int64_t N = whole > 0 ? a->shape[axis] : 0, first = 0, count = 0;
    if (whole > 0) {
        first = cli_part_first(call->part, N, whole);
        count = part_end(call, N, whole) - first;
    }
    snprintf(kind, sizeof kind, "slice %d %lld %lld", axis, (long long)first, (long long)count);
    int code = read_array(call, kind, input->spec, input->spec, input, record, a);
    if (code != EXIT_DONE || count > 0)
        return code;
    int64_t rank[TLNMF_MAX_DIMENSIONS];
    const double *shape = tlnmf_record_get_array(*record, "shape", NULL, rank);
    a->rank = (int32_t)rank[0];
    a->x = none; /* no numbers */
    for (int i = 0; i < a->rank && i < TLNMF_MAX_DIMENSIONS; i++)
        a->shape[i] = i == axis && whole > 0 ? 0 : (int64_t)shape[i];
    return code;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Whether --input says that the array does not hold covariances. */
static bool is_data(const cli_input *input)
{
    return cli_input_is(input, "data") || cli_input_is(input, "power");
}

static bool has_square_slices(const cli_array *a)
{
    return a->rank == 3 && a->shape[1] == a->shape[2];
}

/* A matrix is read as data. If it is symmetric, it may have been meant as a covariance. */
static bool is_symmetric_matrix(const cli_array *a)
{
    const cli_array one = {.rank = 3, .shape = {1, a->shape[0], a->shape[1]}, .x = a->x};
    return a->rank == 2 && a->shape[0] > 1 && cli_covariance_axis(&one) == 0;
}

/* Refuses options that are for data only. */
static int refuse_options(const cli_call *call, const cli_input *input)
{
    const char *name = input->block > 0      ? "block"
                       : input->moving > 0   ? "moving"
                       : input->axes != NULL ? "axes"
                       : input->per_trial    ? "per-trial"
                       : input->missing      ? "missing"
                                             : NULL;
    if (name == NULL)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_USAGE, "--%s requires data, but %s has covariances", name,
                    input->spec);
}

static void say_covariances(const cli_call *call, const cli_input *input, int axis, int64_t frames)
{
    static const char *const orders[] = {"(N, M, M)", "(M, N, M)", "(M, M, N)"};
    bool guessed = cli_input_is(input, "auto");
    if (axis > 0 || (guessed && input->expects_data))
        cli_say(call->command,
                "%s: every slice is symmetric: read as covariances %s of %lld frames%s",
                input->spec, orders[axis], (long long)frames,
                guessed && cli_find_option(call->command, "input") != NULL
                    ? "; --input data reads them as realisations (S, M, N)"
                    : "");
}

/* Data from covariances (N, M, M), which were found along `axis` of the file's array. */
static int make_covariances(cli_call *call, const cli_input *input, const cli_array *a, int axis,
                            int64_t all_frames, tlnmf_data **out)
{
    TRY(refuse_options(call, input));
    say_covariances(call, input, axis, all_frames);
    return cli_check(call, tlnmf_data_from_covariances(call->ctx, a->x, a->shape, out),
                     input->spec);
}

/* `axis` counts the frames; negative: it is not known. */
static int from_covariances(cli_call *call, const cli_input *input, int axis, tlnmf_record *record,
                            cli_array *a, tlnmf_data **out)
{
    char shape[128];
    int64_t frames = a->shape[axis < 0 ? 0 : axis];
    if (axis < 0 && !has_square_slices(a))
        return cli_fail(call->command, EXIT_INPUT, "%s: shape %s: covariances are (N, M, M)",
                        input->spec, shape_text(a, shape, sizeof shape));
    TRY(cli_frames_first(call, input->spec, axis, record, a));
    int64_t first = cli_part_first(call->part, frames, 1);
    a->x += first * a->shape[1] * a->shape[2];
    a->shape[0] = part_end(call, frames, 1) - first;
    return make_covariances(call, input, a, axis < 0 ? 0 : axis, frames, out);
}

/* Replaces an array (.., N) by a copy of the frames of this process. Returns the copy; free() it.
 * NULL: no memory. */
static double *copy_own_frames(const cli_call *call, const cli_input *input, cli_array *a)
{
    int64_t N = a->shape[a->rank - 1], whole = input->block > 0 ? input->block : 1, rows = 1;
    int64_t first = cli_part_first(call->part, N, whole), count = part_end(call, N, whole) - first;
    for (int i = 0; i < a->rank - 1; i++)
        rows *= a->shape[i];
    double *own = malloc((size_t)(rows * count + 1) * sizeof *own); /* + 1: never of size 0 */
    for (int64_t i = 0; own != NULL && i < rows; i++)
        memcpy(own + i * count, a->x + i * N + first, (size_t)count * sizeof *own);
    a->shape[a->rank - 1] = count;
    a->x = own;
    return own;
}

static bool has_nan(const cli_array *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++)
        count *= a->shape[i];
    for (int64_t i = 0; i < count; i++)
        if (isnan(a->x[i]))
            return true;
    return false;
}

/* Data from an array in the order (S, M, N), as --block, --moving and --missing say. */
static int make_data(cli_call *call, const cli_input *input, const cli_array *a, tlnmf_data **out)
{
    const int64_t shape[3] = {a->rank == 3 ? a->shape[0] : 1, a->shape[a->rank - 2],
                              a->shape[a->rank - 1]};
    tlnmf_neighbours kind = input->block > 0 ? TLNMF_NEIGHBOURS_BLOCKS : TLNMF_NEIGHBOURS_MOVING;
    int64_t B = input->block + input->moving;
    tlnmf_error error;
    if (input->missing && B > 0)
        return cli_fail(call->command, EXIT_USAGE, "--missing and --%s are mutually exclusive",
                        input->block > 0 ? "block" : "moving");
    if (B > 0)
        error = tlnmf_data_from_neighbours(call->ctx, a->x, shape, kind, B, out);
    else if (input->missing && !cli_input_is(input, "power"))
        error = tlnmf_data_from_incomplete(call->ctx, a->x, shape, out);
    else
        error = tlnmf_data_from_realisations(call->ctx, a->x, shape, out);
    if (error == TLNMF_OK && input->keep != NULL)
        error = tlnmf_data_set_realisations(call->ctx, *out, a->x, shape);
    if (error == TLNMF_OK && cli_input_is(input, "power"))
        error = tlnmf_data_set_dof(call->ctx, *out, input->dof);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    if (error == TLNMF_ERR_DATA && !input->missing && has_nan(a))
        return cli_fail(call->command, EXIT_INPUT, "%s: %s; --missing %s", input->spec,
                        tlnmf_message(call->ctx),
                        cli_input_is(input, "power") ? "ignores powers that are NaN"
                                                     : "skips frames that have a NaN");
    return cli_fail_library(call, error, input->spec);
}

/* Refuses square slices whose symmetry is a little off: they may be covariances or data. The first
 * axis begins with slice number `before` of the file. */
static int refuse_slices(const cli_call *call, const cli_input *input, const cli_array *a,
                         int64_t before)
{
    cli_asymmetry first = {0};
    if (!cli_input_is(input, "auto") || input->axes != NULL || input->per_trial ||
        !cli_near_covariances(a, !input->expects_data, &first) || isnan(first.off))
        return EXIT_DONE;
    const long long slice = first.axis == 0 ? first.n + before : first.n;
    return cli_fail(call->command, EXIT_INPUT,
                    "%s: slice %lld%s is not symmetric: entries (%lld, %lld) and (%lld, %lld) "
                    "differ by %.3g of %.3g. If these are covariances, make them symmetric: "
                    "(C + C') / 2. If they are data (S, M, N), use --input data",
                    input->spec, slice, first.axis == 2 ? " along the last axis" : "",
                    (long long)first.i, (long long)first.j, (long long)first.j, (long long)first.i,
                    first.off, first.most);
}

/* Names --axes if the shape fits another order better: frames should be more than their length. A
 * small last axis may count channels, or realisations as in MATLAB. */
static void suggest_axes(const cli_call *call, const cli_input *input, const cli_array *a)
{
    char shape[128], method[16];
    int64_t S = a->rank == 3 ? a->shape[0] : 1;
    int64_t M = a->shape[a->rank - 2], N = a->shape[a->rank - 1];
    bool is_fit = strcmp(call->command->name, "fit") == 0;
    bool keeps =
        is_fit && strcmp(tlnmf_settings_get_text(call->settings, "method", method, sizeof method),
                         "nmf") == 0;
    bool learns = is_fit ? !keeps : strcmp(call->command->name, "jd") == 0;
    if (!learns || N < 2 || !(M > 2 * N || (S > 2 * N && M > N)))
        return;
    cli_say(call->command, "%s: shape %s is read as %s. %s", input->spec,
            shape_text(a, shape, sizeof shape), a->rank == 3 ? "(S, M, N)" : "(M, N)",
            a->rank == 3 ? "If the last axis is channels, use --axes trials,time,channels. If it "
                           "is realisations (M x N x S), use --axes channels,time,trials"
                         : "If its rows are frames, use --axes time,channels");
}

static void warn_of_guess(const cli_call *call, const cli_input *input, const cli_array *a)
{
    bool guessed = cli_input_is(input, "auto");
    if (guessed && input->axes == NULL && is_symmetric_matrix(a))
        cli_warn(call->command,
                 "%s: symmetric, and read as data (M, N); a covariance has the shape (1, M, M)",
                 input->spec);
    if (!cli_input_is(input, "power") && input->axes == NULL && !input->per_trial)
        suggest_axes(call, input, a);
}

/* `a` has all frames or, with `is_part`, the frames of this process. */
static int from_realisations(cli_call *call, const cli_input *input, const cli_array *a,
                             bool is_part, tlnmf_data **out)
{
    cli_array here = *a;
    double *own = NULL;
    int code = EXIT_DONE;
    if (call->frames != NULL && !is_part) {
        own = copy_own_frames(call, input, &here);
        code = cli_agree(own != NULL ? EXIT_DONE
                                     : cli_fail(call->command, EXIT_INTERNAL, "no memory"));
    }
    if (code == EXIT_DONE)
        code = make_data(call, input, &here, out);
    free(own);
    const tlnmf_record *sizes = tlnmf_data_record(*out);
    double frames = tlnmf_record_get_real(sizes, "S") * tlnmf_record_get_real(sizes, "N");
    if (code == EXIT_DONE && input->missing && !cli_input_is(input, "power"))
        cli_say(call->command, "%s: %.0f of %.0f frames are missing", input->spec,
                tlnmf_record_get_real(sizes, "missing"), frames);
    return code;
}

/* An array with named axes is data. Otherwise symmetric slices indicate covariances. */
static int from_array(cli_call *call, const cli_input *input, tlnmf_record *record, cli_array *a,
                      tlnmf_data **out)
{
    bool arranged = input->axes != NULL || input->per_trial;
    bool is_given = cli_input_is(input, "covariances"), guess = cli_input_is(input, "auto");
    int axis = arranged || a->rank != 3 || !(is_given || guess) ? -1 : cli_covariance_axis(a);
    if (is_given || axis >= 0)
        return from_covariances(call, input, axis, record, a, out);
    TRY(refuse_slices(call, input, a, 0));
    TRY(cli_arrange(call, input, record, a));
    warn_of_guess(call, input, a);
    if (cli_input_is(input, "power"))
        TRY(cli_take_roots(call, input, 0, record, a));
    TRY(from_realisations(call, input, a, false, out));
    return cli_mask_powers(call, input, record, *out);
}

static int check_rank(const cli_call *call, const cli_input *input, const cli_array *a)
{
    char shape[128];
    if (a->rank == 2 || a->rank == 3)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_INPUT,
                    "%s: shape %s: the array must be (M, N) or (S, M, N)", input->spec,
                    shape_text(a, shape, sizeof shape));
}

/* Whether the slices of all processes are symmetric. */
static bool all_symmetric(const cli_call *call, const cli_array *a)
{
    double others = a->shape[0] > 0 && cli_covariance_axis(a) != 0;
    cli_world.sum(&others, 1, call->frames_user);
    return others == 0.0;
}

/* Whether the shape shows which axis counts the frames: data (.., N), or slices (N, M, M) with N
 * other than M. */
static bool has_clear_frames(const cli_input *input, const cli_array *a)
{
    bool equal = a->rank == 3 && (a->shape[0] == a->shape[1] || a->shape[0] == a->shape[2]);
    if (a->rank != 3 || is_data(input))
        return !cli_input_is(input, "covariances");
    return !equal && (has_square_slices(a) || !cli_input_is(input, "covariances"));
}

/* Reads the frames of this process, along the last axis of data (.., N) or the first axis of
 * covariances. All processes make the same calls. */
static int read_own(cli_call *call, const cli_input *input, const cli_array *whole,
                    tlnmf_data **out)
{
    tlnmf_record *parts = NULL;
    cli_array a = *whole;
    int code = EXIT_DONE;
    bool is_given = cli_input_is(input, "covariances"), covariances = false;
    if (has_square_slices(whole) && !is_data(input)) {
        code = cli_agree(read_part(call, input, 0, 1, &parts, &a));
        covariances = code == EXIT_DONE && (is_given || all_symmetric(call, &a));
        if (code == EXIT_DONE && !covariances)
            code = cli_agree(
                refuse_slices(call, input, &a, cli_part_first(call->part, whole->shape[0], 1)));
        if (code == EXIT_DONE && !covariances)
            warn_of_guess(call, input, &a);
    }
    if (code == EXIT_DONE && covariances) {
        code = make_covariances(call, input, &a, 0, whole->shape[0], out);
    } else if (code == EXIT_DONE) {
        int64_t frames = whole->shape[whole->rank - 1], unit = input->block > 0 ? input->block : 1;
        tlnmf_record_free(parts);
        a = *whole;
        code = cli_agree(read_part(call, input, whole->rank - 1, unit, &parts, &a));
        if (code == EXIT_DONE && cli_input_is(input, "power"))
            code = cli_agree(
                cli_take_roots(call, input, cli_part_first(call->part, frames, unit), parts, &a));
        if (code == EXIT_DONE)
            code = from_realisations(call, input, &a, true, out);
    }
    tlnmf_record_free(parts);
    return code;
}

/* Reads the shape. If it shows which axis counts the frames, reads only the frames of this process
 * and sets *done. */
static int try_own(cli_call *call, const cli_input *input, bool *done, tlnmf_data **out)
{
    tlnmf_record *record = NULL;
    cli_array whole = {0};
    int code = read_part(call, input, 0, 0, &record, &whole);
    if (code == EXIT_DONE)
        code = check_rank(call, input, &whole);
    code = cli_agree(code);
    tlnmf_record_free(record);
    *done = code != EXIT_DONE || has_clear_frames(input, &whole);
    return code == EXIT_DONE && *done ? read_own(call, input, &whole, out) : code;
}

int cli_read_data(cli_call *call, const cli_input *input, tlnmf_data **out)
{
    tlnmf_record *record = NULL;
    cli_array a = {0};
    bool done = false;
    *out = NULL;
    if (call->frames != NULL && input->axes == NULL && !input->per_trial &&
        table_option(input) == NULL)
        TRY(try_own(call, input, &done, out));
    if (done)
        return EXIT_DONE;
    int code = read_input(call, input, &record, &a);
    if (code == EXIT_DONE)
        code = check_rank(call, input, &a);
    if (call->frames != NULL) /* all processes continue, or none */
        code = cli_agree(code);
    if (code == EXIT_DONE)
        code = from_array(call, input, record, &a, out);
    if (input->keep != NULL)
        *input->keep = record;
    else
        tlnmf_record_free(record);
    return code;
}

/* ---- starts and weights ---------------------------------------------------------------------- */

/* Reads an array of this shape. */
static int read_shape(cli_call *call, const char *spec, const char *what, const cli_array *wanted,
                      tlnmf_record **record, cli_array *a)
{
    char shape[128], needed[128];
    TRY(read_array(call, "array", spec, spec, NULL, record, a));
    bool fits = a->rank == wanted->rank;
    for (int i = 0; fits && i < a->rank; i++)
        fits = a->shape[i] == wanted->shape[i];
    if (fits)
        return EXIT_DONE;
    tlnmf_record_free(*record);
    return cli_fail(call->command, EXIT_INPUT, "%s: shape %s, but %s must be %s", spec,
                    shape_text(a, shape, sizeof shape), what,
                    shape_text(wanted, needed, sizeof needed));
}

int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, tlnmf_record *start)
{
    const cli_array wanted = {2, {rows, columns}, NULL};
    tlnmf_record *record;
    cli_array a = {0};
    if (spec == NULL)
        return EXIT_DONE;
    TRY(read_shape(call, spec, name, &wanted, &record, &a));
    tlnmf_error error = tlnmf_record_set_array(call->ctx, start, name, a.x, a.rank, a.shape);
    tlnmf_record_free(record);
    return cli_check(call, error, NULL);
}

int cli_read_weights(cli_call *call, const cli_input *input, tlnmf_data *data)
{
    int64_t M = tlnmf_record_get_integer(tlnmf_data_record(data), "M");
    int64_t N = tlnmf_record_get_integer(tlnmf_data_record(data), "N");
    const struct {
        const char *spec, *name;
        cli_array shape;
        tlnmf_error (*set)(tlnmf_ctx *, tlnmf_data *, const double *);
    } kinds[] = {{input->weights, "weights", {1, {N}, NULL}, tlnmf_data_set_weights},
                 {input->mask, "the mask", {2, {M, N}, NULL}, tlnmf_data_set_mask}};
    for (int i = 0; i < 2; i++) {
        tlnmf_record *record;
        cli_array a = {0};
        if (kinds[i].spec == NULL || (i == 1 && cli_masks_powers(input)))
            continue;
        TRY(read_shape(call, kinds[i].spec, kinds[i].name, &kinds[i].shape, &record, &a));
        tlnmf_error error = kinds[i].set(call->ctx, data, a.x);
        tlnmf_record_free(record);
        TRY(cli_check(call, error, kinds[i].spec));
    }
    return EXIT_DONE;
}
