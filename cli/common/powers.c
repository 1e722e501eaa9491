/* --input power: powers become their square roots; missing powers become a mask. */
#include "cli/common/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_identity(const tlnmf_record *model)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, shape);
    bool is = Phi != NULL && shape[0] == shape[1];
    for (int64_t i = 0; is && i < shape[0] * shape[1]; i++)
        is = Phi[i] == (i % (shape[0] + 1) == 0 ? 1.0 : 0.0);
    return is;
}

int cli_inherit_powers(const cli_call *call, const tlnmf_record *model, const char *spec)
{
    cli_input *input = &cli_asked.input;
    const char *kind = tlnmf_record_get_text(model, "given.input");
    const char *dof = tlnmf_record_get_text(model, "given.dof");
    if (cli_input_is(input, "auto") && kind != NULL && strcmp(kind, "power") == 0) {
        input->kind = "power";
        cli_say(call->command, "%s: read as powers V, as the data of the model", spec);
    }
    if (!cli_input_is(input, "power"))
        return EXIT_DONE;
    if (!has_identity(model))
        return cli_fail(call->command, EXIT_USAGE,
                        "--input power requires a model whose transform is the identity");
    const int64_t most = 1000000000;
    bool usable = dof != NULL && dof[strspn(dof, "0123456789")] == '\0' &&
                  strtoll(dof, NULL, 10) > 0 && strtoll(dof, NULL, 10) <= most;
    if (input->dof_text == NULL && usable)
        input->dof_text = dof;
    return EXIT_DONE;
}

bool cli_masks_powers(const cli_input *input)
{
    return cli_input_is(input, "power") && input->block == 0 && input->moving == 0;
}

/* Fills missing powers of the roots, and writes their mask, times --mask, into the record. */
static int fill_missing(cli_call *call, const cli_input *input, tlnmf_record *record,
                        const int64_t shape[3], double *roots)
{
    int64_t size[2] = {shape[1], shape[2]}, missing = 0;
    double *mask;
    TRY(cli_read_matrix(call, input->mask, "mask", size[0], size[1], record));
    const double *given = tlnmf_record_get_array(record, "mask", NULL, NULL);
    TRY(cli_check(call, tlnmf_record_new_array(call->ctx, record, "entries", 2, size, &mask),
                  NULL));
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        mask[i] = given != NULL ? given[i] : 1.0;
    TRY(cli_check(
        call,
        tlnmf_fill_missing_powers(call->ctx, roots, shape, mask, input->missing ? &missing : NULL),
        input->spec));
    int64_t powers = shape[0] * shape[1] * shape[2];
    if (input->missing)
        cli_say(call->command, "%s: %lld of %lld powers are missing", input->spec,
                (long long)missing, (long long)powers);
    if (missing == 0 && given == NULL)
        tlnmf_record_remove(record, "entries");
    return EXIT_DONE;
}

int cli_take_roots(cli_call *call, const cli_input *input, int64_t before, tlnmf_record *record,
                   cli_array *a)
{
    int64_t count = 1, N = a->shape[a->rank - 1], M = a->shape[a->rank - 2];
    double *y;
    for (int i = 0; i < a->rank; i++)
        count *= a->shape[i];
    tlnmf_error error = tlnmf_record_new_array(call->ctx, record, "roots", a->rank, a->shape, &y);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, input->spec);
    for (int64_t i = 0; i < count; i++) {
        if (a->x[i] < 0.0) {
            const long long row = i / N % M, frame = before + i % N;
            return cli_fail(call->command, EXIT_INPUT,
                            "%s: row %lld, frame %lld is %g: powers must not be negative",
                            input->spec, row, frame, a->x[i]);
        }
        y[i] = sqrt(a->x[i]);
    }
    a->x = y;
    const int64_t shape[3] = {a->rank == 3 ? a->shape[0] : 1, M, N};
    bool masked = cli_masks_powers(input) && (input->missing || input->mask != NULL);
    return masked ? fill_missing(call, input, record, shape, y) : EXIT_DONE;
}

int cli_mask_powers(const cli_call *call, const cli_input *input, const tlnmf_record *record,
                    tlnmf_data *data)
{
    const double *mask = tlnmf_record_get_array(record, "entries", NULL, NULL);
    if (!cli_masks_powers(input) || mask == NULL)
        return EXIT_DONE;
    return cli_check(call, tlnmf_data_set_mask(call->ctx, data, mask),
                     input->mask != NULL ? input->mask : input->spec);
}
