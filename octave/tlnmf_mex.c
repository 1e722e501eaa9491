/* The library for Octave and MATLAB, as one MEX function that tlnmf_fit.m, _jd.m and _apply.m call.
 *
 *   record = tlnmf_mex(task, Y, kind, options, given)
 *
 * task: "fit", "jd" or "apply". Y: dimensions reversed, so that its memory is in C order. kind:
 * "realisations", "incomplete", "covariances", "power DOF" or "power DOF missing" (roots of
 * powers). NaN marks missing frames of incomplete data, or missing powers. options: {name, value,
 * ..}. given: a struct, the start of a fit or the model to apply. A record becomes a struct; dots
 * and dashes of names become underscores. */
#include <mex.h>
#include <stdio.h>
#include <string.h>
#include <tlnmf/tlnmf.h>

enum { TASK, DATA, KIND, OPTIONS, GIVEN, INPUTS };

/* All objects of a call, so that one function can free them. */
typedef struct call {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *given, *result;
    char task[16], message[512];
} call;

static void call_free(call *c)
{
    tlnmf_record_free(c->result);
    tlnmf_record_free(c->given);
    tlnmf_settings_free(c->settings);
    tlnmf_data_free(c->data);
    tlnmf_ctx_free(c->ctx);
}

/* Ends the call unless `error` is TLNMF_OK; mexErrMsgIdAndTxt does not return. */
static void check(call *c, tlnmf_error error)
{
    char id[64];
    if (error == TLNMF_OK)
        return;
    snprintf(id, sizeof id, "tlnmf:%s", tlnmf_error_name(error));
    for (char *p = id; *p != '\0'; p++)
        *p = *p == ' ' ? '_' : *p;
    snprintf(c->message, sizeof c->message, "%s", tlnmf_message(c->ctx));
    call_free(c);
    mexErrMsgIdAndTxt(id, "%s", c->message);
}

static void refuse(call *c, const char *text)
{
    check(c, tlnmf_fail(c->ctx, TLNMF_ERR_ARGUMENT, text));
}

static void get_text(call *c, const mxArray *from, char *text, size_t size)
{
    if (!mxIsChar(from) || mxGetString(from, text, (mwSize)size) != 0)
        refuse(c, "names and words must be character arrays");
}

static void want_real(call *c, const mxArray *x)
{
    if (!mxIsDouble(x) || mxIsComplex(x) || mxIsSparse(x))
        refuse(c, "arrays must be real, full and of class double");
}

/* The dimensions in reverse, with leading ones if there are fewer than `rank`. */
static void get_shape(call *c, const mxArray *x, int rank, int64_t *shape)
{
    int count = (int)mxGetNumberOfDimensions(x);
    if (count > rank)
        refuse(c, "an array has too many dimensions");
    for (int i = 0; i < rank; i++)
        shape[rank - 1 - i] = i < count ? (int64_t)mxGetDimensions(x)[i] : 1;
}

/* Roots of powers with gaps: the entries that are NaN have a mask of 0. */
static void read_holed_powers(call *c, const mxArray *x, const int64_t shape[3])
{
    mxArray *copy = mxDuplicateArray(x); /* Octave frees it after an error */
    mxArray *mask = mxCreateDoubleMatrix((mwSize)shape[2], (mwSize)shape[1], mxREAL);
    int64_t missing;
    for (int64_t i = 0; i < shape[1] * shape[2]; i++)
        mxGetPr(mask)[i] = 1.0;
    check(c, tlnmf_fill_missing_powers(c->ctx, mxGetPr(copy), shape, mxGetPr(mask), &missing));
    check(c, tlnmf_data_from_realisations(c->ctx, mxGetPr(copy), shape, &c->data));
    if (missing > 0)
        check(c, tlnmf_data_set_mask(c->ctx, c->data, mxGetPr(mask)));
    mxDestroyArray(copy);
    mxDestroyArray(mask);
}

static void read_data(call *c, const mxArray *x, const mxArray *kind)
{
    int64_t shape[3];
    char word[32];
    want_real(c, x);
    get_shape(c, x, 3, shape);
    get_text(c, kind, word, sizeof word);
    if (strncmp(word, "power ", 6) == 0 && strstr(word, "missing") != NULL)
        read_holed_powers(c, x, shape);
    else if (strcmp(word, "incomplete") == 0)
        check(c, tlnmf_data_from_incomplete(c->ctx, mxGetPr(x), shape, &c->data));
    else if (strcmp(word, "covariances") == 0)
        check(c, tlnmf_data_from_covariances(c->ctx, mxGetPr(x), shape, &c->data));
    else
        check(c, tlnmf_data_from_realisations(c->ctx, mxGetPr(x), shape, &c->data));
    if (strncmp(word, "power ", 6) == 0)
        check(c, tlnmf_data_set_dof(c->ctx, c->data, strtoll(word + 6, NULL, 10)));
}

static void read_options(call *c, const mxArray *options)
{
    check(c, tlnmf_settings_create(c->ctx, c->task, &c->settings));
    if (!mxIsCell(options) || mxGetNumberOfElements(options) % 2 != 0)
        refuse(c, "options must be pairs of a name and a value");
    for (mwIndex i = 0; i < (mwIndex)mxGetNumberOfElements(options); i += 2) {
        const mxArray *value = mxGetCell(options, i + 1);
        char name[64], text[64];
        get_text(c, mxGetCell(options, i), name, sizeof name);
        if (mxIsChar(value))
            get_text(c, value, text, sizeof text);
        else if (mxGetNumberOfElements(value) == 1)
            snprintf(text, sizeof text, "%.17g", mxGetScalar(value));
        else
            refuse(c, "the value of an option must be a number or a word");
        check(c, tlnmf_settings_set_text(c->ctx, c->settings, name, text));
    }
}

/* Reads the fields of a start or a model: Phi, W, H and eps. */
static void read_given(call *c, const mxArray *given)
{
    static const char *const arrays[] = {"Phi", "W", "H"};
    check(c, tlnmf_record_create(c->ctx, &c->given));
    for (int i = 0; mxIsStruct(given) && i < 3; i++) {
        const mxArray *x = mxGetField(given, 0, arrays[i]);
        int64_t shape[2];
        double *to;
        if (x == NULL || mxIsEmpty(x))
            continue;
        want_real(c, x);
        get_shape(c, x, 2, shape); /* {columns, rows} */
        const int64_t rows = shape[1], columns = shape[0];
        check(c, tlnmf_record_new_array(c->ctx, c->given, arrays[i], 2, (int64_t[]){rows, columns},
                                        &to));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < columns; k++)
                to[r * columns + k] = mxGetPr(x)[k * rows + r];
    }
    const mxArray *eps = mxIsStruct(given) ? mxGetField(given, 0, "eps") : NULL;
    if (eps != NULL)
        check(c, tlnmf_record_set_real(c->ctx, c->given, "eps", mxGetScalar(eps)));
}

/* Converts an array from C order to column order. */
static mxArray *from_array(const tlnmf_record *record, const char *name)
{
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(record, name, &rank, shape);
    if (rank > 2) { /* the same memory order, with the dimensions reversed */
        mwSize size[TLNMF_MAX_DIMENSIONS];
        for (int32_t i = 0; i < rank; i++)
            size[i] = (mwSize)shape[rank - 1 - i];
        mxArray *out = mxCreateNumericArray((mwSize)rank, size, mxDOUBLE_CLASS, mxREAL);
        memcpy(mxGetPr(out), x, mxGetNumberOfElements(out) * sizeof *x);
        return out;
    }
    mxArray *out = mxCreateDoubleMatrix((mwSize)shape[0], (mwSize)shape[1], mxREAL);
    for (int64_t r = 0; r < shape[0]; r++)
        for (int64_t k = 0; k < shape[1]; k++)
            mxGetPr(out)[k * shape[0] + r] = x[r * shape[1] + k];
    return out;
}

static mxArray *from_texts(const tlnmf_record *record, const char *name)
{
    size_t count = 0;
    while (tlnmf_record_get_text_at(record, name, count) != NULL)
        count++;
    mxArray *out = mxCreateCellMatrix(1, (mwSize)count);
    for (size_t i = 0; i < count; i++)
        mxSetCell(out, (mwIndex)i, mxCreateString(tlnmf_record_get_text_at(record, name, i)));
    return out;
}

static mxArray *from_record(const tlnmf_record *record)
{
    mxArray *out = mxCreateStructMatrix(1, 1, 0, NULL);
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(record, i)) != NULL; i++) {
        char field[64];
        mxArray *value = NULL;
        snprintf(field, sizeof field, "%s", name);
        for (char *p = field; *p != '\0'; p++)
            *p = *p == '.' || *p == '-' ? '_' : *p;
        switch (tlnmf_record_type(record, name)) {
        case TLNMF_TYPE_TEXT:
            value = mxCreateString(tlnmf_record_get_text(record, name));
            break;
        case TLNMF_TYPE_TEXTS:
            value = from_texts(record, name);
            break;
        case TLNMF_TYPE_ARRAY:
            value = from_array(record, name);
            break;
        default:
            value = mxCreateDoubleScalar(tlnmf_record_get_real(record, name));
            break;
        }
        mxAddField(out, field);
        mxSetField(out, 0, field, value);
    }
    return out;
}

/* Repeats the library's warnings about the data: cells of texts, or NULL. */
static void warn_of(const mxArray *caveats)
{
    size_t count = caveats == NULL ? 0 : mxGetNumberOfElements(caveats);
    for (size_t i = 0; i < count; i++) {
        char *text = mxArrayToString(mxGetCell(caveats, (mwIndex)i));
        mexWarnMsgIdAndTxt("tlnmf:data", "%s", text);
        mxFree(text);
    }
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    call c = {0};
    if (tlnmf_ctx_create(&c.ctx) != TLNMF_OK)
        mexErrMsgIdAndTxt("tlnmf:memory", "no memory for a context");
    if (nlhs > 1 || nrhs != INPUTS)
        refuse(&c, "call tlnmf_fit, tlnmf_jd or tlnmf_apply");
    get_text(&c, prhs[TASK], c.task, sizeof c.task);
    read_data(&c, prhs[DATA], prhs[KIND]);
    read_options(&c, prhs[OPTIONS]);
    read_given(&c, prhs[GIVEN]);
    if (strcmp(c.task, "fit") == 0)
        check(&c, tlnmf_fit(c.ctx, c.data, c.settings, c.given, &c.result));
    else if (strcmp(c.task, "jd") == 0)
        check(&c, tlnmf_diagonalise(c.ctx, c.data, c.settings, c.given, &c.result));
    else
        check(&c, tlnmf_apply(c.ctx, c.given, c.data, c.settings, &c.result));
    plhs[0] = from_record(c.result);
    call_free(&c);
    warn_of(mxGetField(plhs[0], 0, "caveats"));
}
