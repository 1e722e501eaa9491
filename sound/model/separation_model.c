/* Models of a separation as records: the learnt arrays and the expected quality. */
#include "sound/model/separation_model.h"
#include "base/record.h"
#include "linalg/linalg.h"

#include <math.h>
#include <stdio.h>

/* The columns of `members`, one row per member. */
enum {
    WEIGHT,
    FRAME,
    HOP,
    SHIFTS,
    WINDOW, /* the index of the word among those of the option */
    TAPER,
    BETA,
    TRANSFORM, /* an index, too */
    METHOD,    /* an index, too */
    EPS,
    SCORE,
    COLUMNS
};

/* Makes a name such as "member.0.W". */
enum { NAME = 48 };
static const char *member_name(const char *prefix, const char *what, char name[NAME])
{
    snprintf(name, NAME, "%s.%s", prefix, what);
    return name;
}

/* ---- writing --------------------------------------------------------------------------------- */

static tlnmf_error put_integers(tlnmf_ctx *ctx, tlnmf_record *model, const tl_blend *blend)
{
    const tl_separator_info *info = &blend->info;
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"M", blend->member[0]->M},
                    {"K", blend->member[0]->K},
                    {"frame", info->frames.M},
                    {"hop", info->frames.hop},
                    {"shifts", info->frames.shifts},
                    {"sources", info->sources},
                    {"per_source", info->per_source},
                    {"outcome_code", info->outcome},
                    {"learn_frames", info->learn_frames},
                    {"band", info->band},
                    {"remixes", info->remixes},
                    {"candidates", info->candidates},
                    {"J", info->J}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        TRY(tlnmf_record_set_integer(ctx, model, integers[i].name, integers[i].value));
    return TLNMF_OK;
}

static tlnmf_error put_reals(tlnmf_ctx *ctx, tlnmf_record *model, const tl_blend *blend)
{
    const tl_separator_info *info = &blend->info;
    const struct {
        const char *name;
        double value;
    } reals[] = {{"taper", info->frames.taper},    {"beta", info->frames.beta}, {"eps", info->eps},
                 {"mean_power", info->mean_power}, {"score", info->score},      {"C", info->C}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        TRY(tlnmf_record_set_real(ctx, model, reals[i].name, reals[i].value));
    return TLNMF_OK;
}

static tlnmf_error put_texts(tlnmf_ctx *ctx, tlnmf_record *model, const tl_separator_info *info)
{
    char word[TL_WORD];
    TRY(tlnmf_record_set_text(ctx, model, "window",
                              tl_option_word(TL_TASK_LEARN, "window", info->frames.window, word)));
    TRY(tlnmf_record_set_text(ctx, model, "method",
                              tl_option_word(TL_TASK_LEARN, "method", info->method, word)));
    TRY(tlnmf_record_set_text(ctx, model, "transform",
                              tl_option_word(TL_TASK_LEARN, "transform", info->basis, word)));
    TRY(tl_record_refer_text(ctx, model, "outcome",
                             tlnmf_outcome_name((tlnmf_outcome)info->outcome)));
    TRY(tl_record_refer_text(ctx, model, "version", tlnmf_version()));
    char blas[TL_BLAS_NAME];
    tl_blas_name(blas);
    return tlnmf_record_set_text(ctx, model, "blas", blas);
}

/* The names of the sources: those of the labels, or source_1, source_2, .., which likely_names of
 * cli/cmd_separate.c foresees. */
static tlnmf_error put_names(tlnmf_ctx *ctx, tlnmf_record *model, const tlnmf_sound *sound,
                             int64_t sources)
{
    char text[TL_SOURCES_MAX][16];
    const char *name[TL_SOURCES_MAX];
    for (int64_t k = 0; k < sources; k++) {
        snprintf(text[k], sizeof text[k], "source_%d", (int)k + 1);
        name[k] = sound->sources > 0 ? sound->name[k] : text[k];
    }
    return tlnmf_record_set_texts(ctx, model, "names", name, (size_t)sources);
}

/* The fixed transform of a member, or the one that learning began with. */
static void fill_fixed(const tl_separator_info *info, double *Phi0)
{
    if (info->basis == TL_BASIS_DCT)
        tl_dct(info->frames.M, Phi0);
    else
        tl_dft(info->frames.M, Phi0);
}

/* Stores Q of (26). The learnt rows of Phi are Q times those of the fixed transform. */
static tlnmf_error put_turn(tlnmf_ctx *ctx, const tl_separator *s, const char *prefix,
                            tlnmf_record *model)
{
    char name[NAME];
    double *Q, *Phi0;
    int64_t M = s->M, band = s->info.band;
    void *memory;
    tl_slot table[] = {TL_SLOT(Phi0, M * M)};
    TRY(tl_record_new_array(ctx, model, member_name(prefix, "Q", name), 2, (int64_t[]){band, band},
                            &Q));
    TRY(TL_ARENA(ctx, "a fixed transform", table, &memory));
    fill_fixed(&s->info, Phi0);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, band, band, M, 1.0, s->Phi, M, Phi0, M, 0.0, Q, band);
    tl_release(&ctx->hooks, memory);
    return TLNMF_OK;
}

/* Stores W, the owners and gates of its columns, when gates are open, and Q if the transform was
 * learnt. */
tlnmf_error tl_separator_to_record(tlnmf_ctx *ctx, const tl_separator *s, const char *prefix,
                                   tlnmf_record *model)
{
    char name[NAME];
    double *columns, *notes;
    TRY(tlnmf_record_set_array(ctx, model, member_name(prefix, "W", name), s->W, 2,
                               (int64_t[]){s->rows, s->K}));
    TRY(tl_record_new_array(ctx, model, member_name(prefix, "columns", name), 2,
                            (int64_t[]){s->K, 2}, &columns));
    for (int64_t k = 0; k < s->K; k++) {
        columns[2 * k] = (double)s->owner[k];
        columns[2 * k + 1] = (double)s->gate[k];
    }
    if (s->opens > 0) {
        TRY(tl_record_new_array(ctx, model, member_name(prefix, "notes", name), 2,
                                (int64_t[]){s->opens, 3}, &notes));
        for (int64_t o = 0; o < s->opens; o++) {
            notes[3 * o] = (double)s->open[o].source;
            notes[3 * o + 1] = (double)s->open[o].start;
            notes[3 * o + 2] = (double)s->open[o].end;
        }
    }
    return s->info.method == TL_METHOD_NMF ? TLNMF_OK : put_turn(ctx, s, prefix, model);
}

static tlnmf_error put_members(tlnmf_ctx *ctx, const tl_blend *blend, tlnmf_record *model)
{
    char prefix[NAME];
    double *table;
    TRY(tl_record_new_array(ctx, model, "members", 2, (int64_t[]){blend->members, COLUMNS},
                            &table));
    for (int64_t i = 0; i < blend->members; i++) {
        const tl_separator_info *info = &blend->member[i]->info;
        double *row = table + i * COLUMNS;
        row[WEIGHT] = blend->weight[i];
        row[FRAME] = (double)info->frames.M;
        row[HOP] = (double)info->frames.hop;
        row[SHIFTS] = (double)info->frames.shifts;
        row[WINDOW] = info->frames.window;
        row[TAPER] = info->frames.taper;
        row[BETA] = info->frames.beta;
        row[TRANSFORM] = info->basis;
        row[METHOD] = info->method;
        row[EPS] = info->eps;
        row[SCORE] = info->score;
        snprintf(prefix, sizeof prefix, "member.%d", (int)i);
        TRY(tl_separator_to_record(ctx, blend->member[i], prefix, model));
    }
    return TLNMF_OK;
}

/* Stores the expected quality of each stem. */
static tlnmf_error put_verdict(tlnmf_ctx *ctx, const tl_blend *blend, tlnmf_record *model)
{
    const tl_verdict *v = &blend->verdict;
    const struct {
        const char *name;
        const double *value;
    } arrays_of[] = {{"agreement", v->agreement}, {"share", v->share},
                     {"overlap", v->overlap},     {"expected_sdr", v->expected},
                     {"expected_low", v->low},    {"expected_high", v->high}};
    for (size_t i = 0; i < sizeof arrays_of / sizeof *arrays_of; i++)
        TRY(tlnmf_record_set_array(ctx, model, arrays_of[i].name, arrays_of[i].value, 1,
                                   &blend->info.sources));
    TRY(tlnmf_record_set_real(ctx, model, "unexplained", v->unexplained));
    return tlnmf_record_set_real(ctx, model, "coverage", v->coverage);
}

tlnmf_error tl_blend_to_record(tlnmf_ctx *ctx, const tl_blend *blend, const tlnmf_sound *sound,
                               double power, tlnmf_record *model)
{
    TRY(put_integers(ctx, model, blend));
    TRY(put_reals(ctx, model, blend));
    TRY(put_texts(ctx, model, &blend->info));
    TRY(put_names(ctx, model, sound, blend->info.sources));
    TRY(tlnmf_record_set_real(ctx, model, "rate", sound->rate));
    TRY(tlnmf_record_set_real(ctx, model, "power", power));
    TRY(tlnmf_record_set_integer(ctx, model, "length", sound->sound.length));
    TRY(put_verdict(ctx, blend, model));
    return put_members(ctx, blend, model);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t integer_or(const tlnmf_record *record, const char *name, int64_t fallback)
{
    int64_t value = tlnmf_record_get_integer(record, name);
    return value == TLNMF_NO_INTEGER ? fallback : value;
}

/* Reads the fields of the whole model. Later checks refuse missing values. */
static tlnmf_error get_info(tlnmf_ctx *ctx, const tlnmf_record *model, tl_separator_info *info)
{
    const char *window = tlnmf_record_get_text(model, "window");
    const char *transform = tlnmf_record_get_text(model, "transform");
    if (window == NULL || transform == NULL || tlnmf_record_get_integer(model, "frame") < 2)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                       "this is not a separation model: it does not describe its frames");
    *info = (tl_separator_info){
        .frames = {.M = tlnmf_record_get_integer(model, "frame"),
                   .hop = integer_or(model, "hop", 0),
                   .shifts = integer_or(model, "shifts", 0),
                   .window = tl_option_choice(TL_TASK_LEARN, "window", window),
                   .taper = tlnmf_record_get_real(model, "taper"),
                   .beta = tlnmf_record_get_real(model, "beta")},
        .sources = integer_or(model, "sources", 0),
        .per_source = integer_or(model, "per_source", 0),
        .basis = tl_option_choice(TL_TASK_LEARN, "transform", transform),
        .method = tl_option_choice(TL_TASK_LEARN, "method", tlnmf_record_get_text(model, "method")),
        .eps = tlnmf_record_get_real(model, "eps"),
        .mean_power = tlnmf_record_get_real(model, "mean_power"),
        .score = tlnmf_record_get_real(model, "score"),
        .C = tlnmf_record_get_real(model, "C")};
    if (info->method < 0 || info->method > TL_METHOD_NMF)
        info->method = TL_METHOD_NMF;
    return tl_separator_check_sources(ctx, info, 0); /* 0: members differ in it */
}

/* The arrays of a member. */
typedef struct member_arrays {
    const double *W, *columns, *notes, *Q;
    int64_t rows, K, opens, band;
} member_arrays;

static tlnmf_error get_arrays(tlnmf_ctx *ctx, const tlnmf_record *model, const char *prefix,
                              const tl_separator_info *info, member_arrays *a)
{
    char name[NAME];
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0}, M = info->frames.M;
    int32_t rank = 0;
    *a = (member_arrays){
        .W = tlnmf_record_get_array(model, member_name(prefix, "W", name), &rank, shape)};
    bool spectral = info->basis == TL_BASIS_STFT && info->method == TL_METHOD_NMF;
    /* the STFT has one row per frequency, for cosine and sine; older models have two */
    a->rows = spectral && shape[0] == M / 2 + 1 ? M / 2 + 1 : M;
    a->K = rank == 2 ? shape[1] : 0;
    if (a->W == NULL || a->K < 1)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s", name);
    TRY(tl_record_expect(ctx, model, "the model", name, 2, (int64_t[]){a->rows, a->K}, &a->W));
    TRY(tl_record_expect(ctx, model, "the model", member_name(prefix, "columns", name), 2,
                         (int64_t[]){a->K, 2}, &a->columns));
    if (a->columns == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s", name);
    if (tlnmf_record_get_array(model, member_name(prefix, "notes", name), &rank, shape) != NULL) {
        a->opens = shape[0];
        TRY(tl_record_expect(ctx, model, "the model", name, 2, (int64_t[]){a->opens, 3},
                             &a->notes));
    }
    if (info->method == TL_METHOD_NMF)
        return TLNMF_OK;
    a->Q = tlnmf_record_get_array(model, member_name(prefix, "Q", name), &rank, shape);
    a->band = a->Q != NULL ? shape[0] : 0;
    if (a->Q == NULL || a->band < 1 || a->band > M)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s", name);
    return tl_record_expect(ctx, model, "the model", name, 2, (int64_t[]){a->band, a->band}, &a->Q);
}

static tlnmf_error check_arrays(tlnmf_ctx *ctx, const tl_separator_info *info,
                                const member_arrays *a)
{
    for (int64_t i = 0; i < a->rows * a->K; i++)
        if (!(a->W[i] >= 0.0 && a->W[i] <= 1e100)) /* its products must not overflow */
            return tl_fail(ctx, TLNMF_ERR_DATA, "W = %g is outside [0, 1e+100]", a->W[i]);
    for (int64_t k = 0; a->columns != NULL && k < a->K; k++)
        if (!(a->columns[2 * k] >= 0.0 && a->columns[2 * k] < (double)info->sources))
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "column %lld belongs to source %g, but there are only %lld sources",
                           (long long)k, a->columns[2 * k], (long long)info->sources);
        else if (!(a->columns[2 * k + 1] < 9e15))
            return tl_fail(ctx, TLNMF_ERR_DATA, "the gate of column %lld is damaged", (long long)k);
    for (int64_t i = 0; i < 3 * a->opens; i++)
        if (!(a->notes[i] >= 0.0 && a->notes[i] < 9e15))
            return tl_fail(ctx, TLNMF_ERR_DATA, "the notes of a member are damaged");
    if (a->Q != NULL)
        TRY(tl_check_orthogonal(ctx, "Q", a->band, a->Q));
    if (!(info->eps >= 1e-300 && info->eps <= 1e300))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", info->eps);
    if (info->basis < TL_BASIS_DCT || info->basis > TL_BASIS_STFT)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "transform = %d is not valid in a separation model",
                       (int)info->basis);
    return tl_frames_check(ctx, &info->frames);
}

static void fill_member(const tl_separator_info *info, const member_arrays *a, tl_separator *s)
{
    s->info = *info;
    s->info.outcome = TLNMF_OUTCOME_NOT_RUN;
    tl_copy(s->W, a->W, a->rows * a->K);
    for (int64_t k = 0; k < a->K; k++) {
        s->owner[k] = a->columns != NULL ? (int64_t)a->columns[2 * k] : k / info->per_source;
        if (a->columns != NULL && a->columns[2 * k + 1] >= 0.0)
            s->gate[k] = (int64_t)a->columns[2 * k + 1];
    }
    for (int64_t i = 0; i < a->opens; i++)
        s->open[i] = (tl_span){.start = (int64_t)a->notes[3 * i + 1],
                               .end = (int64_t)a->notes[3 * i + 2],
                               .source = (int64_t)a->notes[3 * i]};
    s->info.band = a->band;
}

/* Phi = diag(Q, I) Phi0, (26). */
static tlnmf_error fill_transform(tlnmf_ctx *ctx, const member_arrays *a, tl_separator *s)
{
    double *Phi0;
    void *memory;
    if (s->Phi == NULL)
        return TLNMF_OK;
    fill_fixed(&s->info, s->Phi);
    if (a->Q == NULL)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(Phi0, a->band * s->M)};
    TRY(TL_ARENA(ctx, "a fixed transform", table, &memory));
    tl_copy(Phi0, s->Phi, a->band * s->M);
    tl_gemm(TL_PLAIN, TL_PLAIN, a->band, s->M, a->band, 1.0, a->Q, a->band, Phi0, s->M, 0.0, s->Phi,
            s->M);
    tl_release(&ctx->hooks, memory);
    return TLNMF_OK;
}

tlnmf_error tl_separator_from_record(tlnmf_ctx *ctx, const tlnmf_record *model, const char *prefix,
                                     const tl_separator_info *info, tl_separator **out)
{
    member_arrays a;
    TRY(get_arrays(ctx, model, prefix, info, &a));
    TRY(check_arrays(ctx, info, &a));
    TRY(tl_check_size(ctx, "M", info->frames.M));
    tl_separator_shape shape = {
        .M = info->frames.M, .K = a.K, .opens = a.opens, .spectral = a.rows != info->frames.M};
    TRY(tl_separator_new(ctx, &shape, out));
    fill_member(info, &a, *out);
    return fill_transform(ctx, &a, *out);
}

/* A model of one member with its Phi and W, as versions before 0.2 wrote it. */
static tlnmf_error get_single(tlnmf_ctx *ctx, const tlnmf_record *model,
                              const tl_separator_info *info, tl_separator **out)
{
    int64_t M = info->frames.M;
    member_arrays a = {.rows = M, .K = info->sources * info->per_source};
    const double *Phi = NULL;
    if (a.K < 1)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "per_source = 0: the model has no components");
    TRY(tl_record_expect(ctx, model, "the model", "Phi", 2, (int64_t[]){M, M}, &Phi));
    TRY(tl_record_expect(ctx, model, "the model", "W", 2, (int64_t[]){M, a.K}, &a.W));
    if (Phi == NULL || a.W == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s", Phi == NULL ? "Phi" : "W");
    TRY(check_arrays(ctx, info, &a));
    TRY(tl_check_size(ctx, "M", M));
    TRY(tl_check_orthogonal(ctx, "Phi", M, Phi));
    TRY(tl_separator_new(ctx, &(tl_separator_shape){.M = M, .K = a.K}, out));
    fill_member(info, &a, *out);
    tl_copy((*out)->Phi, Phi, M * M);
    return TLNMF_OK;
}

static tl_separator_info row_info(const tl_separator_info *whole, const double *row)
{
    tl_separator_info info = *whole;
    info.frames = (tl_frames){.M = (int64_t)row[FRAME],
                              .hop = (int64_t)row[HOP],
                              .shifts = (int64_t)row[SHIFTS],
                              .window = (int32_t)row[WINDOW],
                              .taper = row[TAPER],
                              .beta = row[BETA]};
    info.basis = (int32_t)row[TRANSFORM];
    info.method = (int32_t)row[METHOD];
    info.eps = row[EPS];
    info.score = row[SCORE];
    return info;
}

static tlnmf_error get_members(tlnmf_ctx *ctx, const tlnmf_record *model,
                               const tl_separator_info *whole, tl_blend *blend)
{
    char prefix[NAME];
    const double *table;
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    if (tlnmf_record_get_array(model, "members", NULL, shape) == NULL) {
        blend->weight[0] = 1.0;
        TRY(get_single(ctx, model, whole, &blend->member[0]));
        blend->members = 1;
        return TLNMF_OK;
    }
    if (shape[0] < 1 || shape[0] > TL_MEMBERS_MAX)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "the model has %lld members, outside [1, %d]",
                       (long long)shape[0], TL_MEMBERS_MAX);
    TRY(tl_record_expect(ctx, model, "the model", "members", 2, (int64_t[]){shape[0], COLUMNS},
                         &table));
    for (int64_t i = 0; i < shape[0]; i++) {
        const double *row = table + i * COLUMNS;
        bool valid = row[EPS] > 0.0 && isfinite(row[EPS]); /* scales with the squared samples */
        for (int c = 0; c < EPS; c++) {
            bool choice = c == WINDOW || c == TRANSFORM || c == METHOD;
            valid = valid && row[c] >= 0.0 && row[c] < (choice ? 1e3 : 1e15);
        }
        if (!valid)
            return tl_fail(ctx, TLNMF_ERR_DATA, "the table of members is damaged");
        tl_separator_info info = row_info(whole, row);
        blend->weight[i] = row[WEIGHT];
        snprintf(prefix, sizeof prefix, "member.%d", (int)i);
        TRY(tl_separator_from_record(ctx, model, prefix, &info, &blend->member[i]));
        blend->members++;
    }
    return TLNMF_OK;
}

tlnmf_error tl_blend_from_record(tlnmf_ctx *ctx, const tlnmf_record *model, tl_blend **out)
{
    tl_separator_info info = {.outcome = TLNMF_OUTCOME_NOT_RUN};
    tl_blend *blend;
    *out = NULL;
    TRY(get_info(ctx, model, &info));
    TRY(tl_blend_new(ctx, &blend));
    blend->info = info;
    tlnmf_error error = get_members(ctx, model, &info, blend);
    if (error != TLNMF_OK)
        tl_blend_free(blend);
    else
        *out = blend;
    return error;
}
