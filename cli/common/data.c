/* Arrays from files to what the library takes, with checks of their shapes. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads an array, `kind` "array", or a range of one; `words` on a table as text go to its reader
 * behind the spec (io.h), and are "" for none. */
static int read_worded(cli_call *call, const char *kind, const char *spec, const char *words,
                       tlnmf_record **record, cli_array *a)
{
    size_t size = strlen(spec) + strlen(words) + 2;
    char *full = malloc(size);
    *record = NULL;
    if (full == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory");
    snprintf(full, size, "%s%s%s", spec, words[0] != '\0' ? ":" : "", words);
    int code = cli_read(call, kind, full, record);
    free(full);
    if (code == EXIT_INPUT)
        cli_advise(call, spec, tlnmf_message(call->ctx));
    if (code == EXIT_DONE)
        a->x = tlnmf_get_array(*record, "array", &a->rank, a->shape);
    const char *need = strcmp(kind, "array") == 0 ? "array" : "shape";
    if (code == EXIT_DONE && tlnmf_get_array(*record, need, NULL, NULL) ==
                                 NULL) { /* another process has made the record */
        tlnmf_record_free(*record);
        *record = NULL;
        return cli_fail(call->command, EXIT_INPUT, "%s: its reader left no array", spec);
    }
    const char *note = code == EXIT_DONE ? tlnmf_get_text(*record, "note") : NULL;
    if (note != NULL)
        cli_say(call->command, "%s: %s", spec, note);
    return code;
}

static int read_array(cli_call *call, const char *spec, tlnmf_record **record, cli_array *a)
{
    return read_worded(call, "array", spec, "", record, a);
}

static const char *word_of(const char *answer, const char *yes, const char *no)
{
    if (answer == NULL || strcmp(answer, "auto") == 0)
        return "";
    return strcmp(answer, "yes") == 0 ? yes : no;
}

static bool has_words(const cli_input *input)
{
    return word_of(input->header, "header", "no-header")[0] != '\0' ||
           word_of(input->index, "index", "no-index")[0] != '\0';
}

/* The array that the command is about, as --header and --index say. */
static int read_input(cli_call *call, const cli_input *input, tlnmf_record **record, cli_array *a)
{
    static const char *const others[] = {".npy", ".npz", ".h5", ".hdf", ".mat"};
    const char *header = word_of(input->header, "header", "no-header");
    const char *index = word_of(input->index, "index", "no-index");
    char words[32];
    bool both = header[0] != '\0' && index[0] != '\0';
    snprintf(words, sizeof words, "%s%s%s", header, both ? "," : "", index);
    for (size_t i = 0; words[0] != '\0' && i < sizeof others / sizeof *others; i++)
        if (strstr(input->spec, others[i]) != NULL)
            return cli_fail(call->command, EXIT_USAGE, "--%s is for tables as text, %s is none",
                            header[0] != '\0' ? "header" : "index", input->spec);
    return read_worded(call, "array", input->spec, words, record, a);
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

/* The frames of this process alone: the part of this axis, or with `whole` = 0 only the shape. */
static int read_part(cli_call *call, const char *spec, int axis, int64_t whole,
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
    int code = read_worded(call, kind, spec, "", record, a);
    if (code != EXIT_DONE || count > 0)
        return code;
    int64_t rank[TLNMF_MAX_RANK];
    const double *shape = tlnmf_get_array(*record, "shape", NULL, rank);
    a->rank = (int32_t)rank[0];
    a->x = none; /* no numbers */
    for (int i = 0; i < a->rank && i < TLNMF_MAX_RANK; i++)
        a->shape[i] = i == axis && whole > 0 ? 0 : (int64_t)shape[i];
    return code;
}

/* ---- data ------------------------------------------------------------------------------------ */

static bool has_square_slices(const cli_array *a)
{
    return a->rank == 3 && a->shape[1] == a->shape[2];
}

/* A single matrix is data, but one that is symmetric may have been meant as a covariance. */
static bool is_symmetric_matrix(const cli_array *a)
{
    const cli_array one = {.rank = 3, .shape = {1, a->shape[0], a->shape[1]}, .x = a->x};
    return a->rank == 2 && a->shape[0] > 1 && cli_covariance_axis(&one) == 0;
}

/* Options that are for data alone. */
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
    return cli_fail(call->command, EXIT_USAGE, "--%s is for data, %s has covariances", name,
                    input->spec);
}

static bool has_option(const cli_command *command, const char *name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (strcmp(command->options[i].name, name) == 0)
            return true;
    return false;
}

static void say_covariances(const cli_call *call, const cli_input *input, int axis, int64_t frames)
{
    static const char *const orders[] = {"(N, M, M)", "(M, N, M)", "(M, M, N)"};
    bool guessed = strcmp(input->kind, "auto") == 0;
    if (axis > 0 || (guessed && input->expects_data))
        cli_say(call->command,
                "%s: every slice is symmetric: read as covariances %s of %lld frames%s",
                input->spec, orders[axis], (long long)frames,
                guessed && has_option(call->command, "input")
                    ? "; --input data reads them as realisations (S, M, N)"
                    : "");
}

/* `axis` counts the frames. */
static int from_covariances(cli_call *call, const cli_input *input, int axis, tlnmf_record *record,
                            cli_array *a, tlnmf_data **out)
{
    char shape[128];
    int code = refuse_options(call, input);
    if (code != EXIT_DONE)
        return code;
    if (axis < 0 && !has_square_slices(a))
        return cli_fail(call->command, EXIT_INPUT, "%s: shape %s: covariances are (N, M, M)",
                        input->spec, shape_text(a, shape, sizeof shape));
    say_covariances(call, input, axis < 0 ? 0 : axis, a->shape[axis < 0 ? 0 : axis]);
    code = cli_frames_first(call, input->spec, axis, record, a);
    if (code != EXIT_DONE)
        return code;
    int64_t first = cli_part_first(call->part, a->shape[0], 1),
            last = part_end(call, a->shape[0], 1);
    const int64_t own[3] = {last - first, a->shape[1], a->shape[2]};
    tlnmf_error error =
        tlnmf_data_from_covariances(call->ctx, a->x + first * a->shape[1] * a->shape[2], own, out);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, input->spec);
}

/* The frames of this process, of an array (.., N), which is returned; free() it. NULL: no memory.
 */
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
        return cli_fail(call->command, EXIT_USAGE, "--missing and --%s: one of them",
                        input->block > 0 ? "block" : "moving");
    if (B > 0)
        error = tlnmf_data_from_neighbours(call->ctx, a->x, shape, kind, B, out);
    else if (input->missing)
        error = tlnmf_data_from_incomplete(call->ctx, a->x, shape, out);
    else
        error = tlnmf_data_from_realisations(call->ctx, a->x, shape, out);
    if (error == TLNMF_OK && input->keep != NULL)
        error = tlnmf_data_set_realisations(call->ctx, *out, a->x, shape);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    if (error == TLNMF_ERR_DATA && !input->missing && has_nan(a))
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: %s; --missing leaves out frames that have a NaN", input->spec,
                        tlnmf_message(call->ctx));
    return cli_fail_library(call, error, input->spec);
}

/* A stack of square slices may be covariances whose symmetry is a little off. */
static void warn_of_slices(const cli_call *call, const cli_input *input, const cli_array *a)
{
    cli_asymmetry first = {0};
    int axis = cli_covariance_axis_nearly(a, &first);
    if (axis < 0 && !input->expects_data && cli_find_asymmetry(a, &first))
        axis = 0;
    if (axis < 0)
        return;
    cli_warn(call->command,
             "%s: slice %lld%s is not symmetric (entries (%lld, %lld) and (%lld, %lld) differ by "
             "%.3g of %.3g): taken as data (S, M, N); --input covariances says otherwise",
             input->spec, (long long)first.n, axis == 2 ? " along the last axis" : "",
             (long long)first.i, (long long)first.j, (long long)first.j, (long long)first.i,
             first.off, first.most);
}

static void warn_of_guess(const cli_call *call, const cli_input *input, const cli_array *a)
{
    bool guessed = strcmp(input->kind, "auto") == 0;
    if (guessed && input->axes == NULL && is_symmetric_matrix(a))
        cli_warn(call->command,
                 "%s: symmetric, and read as data (M, N); a covariance has the shape (1, M, M)",
                 input->spec);
    if (guessed && input->axes == NULL && !input->per_trial)
        warn_of_slices(call, input, a);
}

/* `a` has all frames, or with `is_part` those of this process. */
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
    double frames = tlnmf_get_real(sizes, "S") * tlnmf_get_real(sizes, "N");
    if (code == EXIT_DONE && input->missing)
        cli_say(call->command, "%s: %.0f of %.0f frames are missing", input->spec,
                tlnmf_get_real(sizes, "missing"), frames);
    return code;
}

/* Named axes are those of data; else symmetry may tell covariances. */
static int from_array(cli_call *call, const cli_input *input, tlnmf_record *record, cli_array *a,
                      tlnmf_data **out)
{
    bool arranged = input->axes != NULL || input->per_trial;
    bool told = strcmp(input->kind, "covariances") == 0, guess = strcmp(input->kind, "auto") == 0;
    int axis = arranged || a->rank != 3 || !(told || guess) ? -1 : cli_covariance_axis(a);
    if (told || axis >= 0)
        return from_covariances(call, input, axis, record, a, out);
    int code = cli_arrange(call, input, record, a);
    if (code == EXIT_DONE)
        warn_of_guess(call, input, a);
    return code == EXIT_DONE ? from_realisations(call, input, a, false, out) : code;
}

static int check_rank(const cli_call *call, const cli_input *input, const cli_array *a)
{
    char shape[128];
    if (a->rank == 2 || a->rank == 3)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_INPUT,
                    "%s: shape %s: an array (M, N) or (S, M, N) is needed", input->spec,
                    shape_text(a, shape, sizeof shape));
}

/* Whether the slices of all processes are symmetric. */
static bool all_symmetric(const cli_call *call, const cli_array *a)
{
    double others = a->shape[0] > 0 && cli_covariance_axis(a) != 0;
    cli_machines_values.sum(&others, 1, call->frames_user);
    return others == 0.0;
}

/* Whether its frames can be told from its shape: data (.., N), or slices (N, M, M), N not M. */
static bool has_clear_frames(const cli_input *input, const cli_array *a)
{
    bool equal = a->rank == 3 && (a->shape[0] == a->shape[1] || a->shape[0] == a->shape[2]);
    if (a->rank != 3 || strcmp(input->kind, "data") == 0)
        return strcmp(input->kind, "covariances") != 0;
    return !equal && (has_square_slices(a) || strcmp(input->kind, "covariances") != 0);
}

static int covariances_here(cli_call *call, const cli_input *input, const cli_array *a,
                            int64_t frames, tlnmf_data **out)
{
    int code = refuse_options(call, input);
    if (code != EXIT_DONE)
        return code;
    say_covariances(call, input, 0, frames);
    tlnmf_error error = tlnmf_data_from_covariances(call->ctx, a->x, a->shape, out);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, input->spec);
}

/* Each process reads its own frames: of (.., N) the last axis, of covariances the first. All
 * processes make the same calls. */
static int read_own(cli_call *call, const cli_input *input, const cli_array *whole,
                    tlnmf_data **out)
{
    tlnmf_record *parts = NULL;
    cli_array a = *whole;
    int code = EXIT_DONE;
    bool told = strcmp(input->kind, "covariances") == 0, covariances = false;
    if (has_square_slices(whole) && strcmp(input->kind, "data") != 0) {
        code = cli_agree(read_part(call, input->spec, 0, 1, &parts, &a));
        covariances = code == EXIT_DONE && (told || all_symmetric(call, &a));
        if (code == EXIT_DONE && !covariances)
            warn_of_guess(call, input, &a);
    }
    if (code == EXIT_DONE && covariances) {
        code = covariances_here(call, input, &a, whole->shape[0], out);
    } else if (code == EXIT_DONE) {
        tlnmf_record_free(parts);
        a = *whole;
        code = cli_agree(read_part(call, input->spec, whole->rank - 1,
                                   input->block > 0 ? input->block : 1, &parts, &a));
        if (code == EXIT_DONE)
            code = from_realisations(call, input, &a, true, out);
    }
    tlnmf_record_free(parts);
    return code;
}

/* Reads the shape, and then the frames of this process, if they can be told: *done. */
static int try_own(cli_call *call, const cli_input *input, bool *done, tlnmf_data **out)
{
    tlnmf_record *record = NULL;
    cli_array whole = {0};
    int code = read_part(call, input->spec, 0, 0, &record, &whole);
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
    *out = NULL;
    bool done = false;
    int code = EXIT_DONE;
    if (call->frames != NULL && input->axes == NULL && !input->per_trial && !has_words(input))
        code = try_own(call, input, &done, out);
    if (code != EXIT_DONE || done)
        return code;
    code = read_input(call, input, &record, &a);
    if (code != EXIT_DONE)
        return call->frames != NULL ? cli_agree(code) : code;
    code = check_rank(call, input, &a);
    if (call->frames != NULL) /* all processes go on, or none */
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

int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, tlnmf_record *start)
{
    tlnmf_record *record;
    cli_array a = {0};
    char shape[128];
    if (spec == NULL)
        return EXIT_DONE;
    int code = read_array(call, spec, &record, &a);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = TLNMF_OK;
    if (a.rank != 2 || a.shape[0] != rows || a.shape[1] != columns)
        code = cli_fail(call->command, EXIT_INPUT, "%s: shape %s, but %s must be (%lld, %lld)",
                        spec, shape_text(&a, shape, sizeof shape), name, (long long)rows,
                        (long long)columns);
    else
        error = tlnmf_set_array(call->ctx, start, name, a.x, a.rank, a.shape);
    tlnmf_record_free(record);
    return error == TLNMF_OK ? code : cli_fail_library(call, error, NULL);
}

/* Reads an array of this shape; a rank of 1 has the shape (columns,). */
static int read_shape(cli_call *call, const char *spec, const char *what, const cli_array *wanted,
                      tlnmf_record **record, cli_array *a)
{
    char shape[128], needed[128];
    int code = read_array(call, spec, record, a);
    bool fits = code == EXIT_DONE && a->rank == wanted->rank;
    for (int i = 0; fits && i < a->rank; i++)
        fits = a->shape[i] == wanted->shape[i];
    if (code != EXIT_DONE || fits)
        return code;
    code = cli_fail(call->command, EXIT_INPUT, "%s: shape %s, but %s must be %s", spec,
                    shape_text(a, shape, sizeof shape), what,
                    shape_text(wanted, needed, sizeof needed));
    tlnmf_record_free(*record);
    return code;
}

int cli_read_weights(cli_call *call, const cli_input *input, tlnmf_data *data)
{
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    int64_t N = tlnmf_get_integer(tlnmf_data_record(data), "N");
    const struct {
        const char *spec, *name;
        cli_array shape;
        tlnmf_error (*set)(tlnmf_ctx *, tlnmf_data *, const double *);
    } kinds[] = {{input->weights, "weights", {1, {N}, NULL}, tlnmf_data_set_weights},
                 {input->mask, "the mask", {2, {M, N}, NULL}, tlnmf_data_set_mask}};
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < 2; i++) {
        tlnmf_record *record;
        cli_array a = {0};
        if (kinds[i].spec == NULL)
            continue;
        code = read_shape(call, kinds[i].spec, kinds[i].name, &kinds[i].shape, &record, &a);
        if (code != EXIT_DONE)
            return code;
        tlnmf_error error = kinds[i].set(call->ctx, data, a.x);
        tlnmf_record_free(record);
        code = error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, kinds[i].spec);
    }
    return code;
}
