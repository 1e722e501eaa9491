/* Settings by name, all from the one table in options.def. */
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION(name, field, type, low, high, fallback, unset, choices, help) \
    {name, #field, TLNMF_OPTION_##type, low, high, fallback, choices, help},
static const tlnmf_option_info options[] = {
#include "options.def"
};
#undef OPTION

#define OPTION(name, field, type, low, high, fallback, unset, choices, help) \
    {offsetof(tl_settings, field), unset},
static const struct {
    size_t offset;
    bool unset; /* the default means "not given" and is allowed outside the range */
} places[] = {
#include "options.def"
};
#undef OPTION

enum { COUNT = sizeof options / sizeof *options };

size_t tlnmf_option_count(void)
{
    return COUNT;
}

const tlnmf_option_info *tlnmf_option_at(size_t index)
{
    return index < COUNT ? &options[index] : NULL;
}

static size_t find(const char *name)
{
    size_t i = 0;
    while (i < COUNT && strcmp(options[i].name, name) != 0)
        i++;
    return i;
}

/* Numbers of every type pass through a double here, but for seeds, which need 64 bits. */
static double get_number(const tl_settings *settings, size_t i)
{
    const char *at = (const char *)settings + places[i].offset;
    switch (options[i].type) {
    case TLNMF_OPTION_INT:
        return (double)*(const int64_t *)(const void *)at;
    case TLNMF_OPTION_REAL:
        return *(const double *)(const void *)at;
    case TLNMF_OPTION_SEED:
        return (double)*(const uint64_t *)(const void *)at;
    default:
        return (double)*(const int32_t *)(const void *)at;
    }
}

static void put_number(tl_settings *settings, size_t i, double value)
{
    char *at = (char *)settings + places[i].offset;
    switch (options[i].type) {
    case TLNMF_OPTION_INT:
        *(int64_t *)(void *)at = (int64_t)value;
        break;
    case TLNMF_OPTION_REAL:
        *(double *)(void *)at = value;
        break;
    case TLNMF_OPTION_SEED:
        *(uint64_t *)(void *)at = (uint64_t)value;
        break;
    default:
        *(int32_t *)(void *)at = (int32_t)value;
        break;
    }
}

void tlnmf_settings_init(tl_settings *settings)
{
    *settings = (tl_settings){.struct_size = sizeof *settings};
    for (size_t i = 0; i < COUNT; i++)
        put_number(settings, i, options[i].fallback);
}

static tlnmf_error check_range(tlnmf_ctx *ctx, size_t i, double value)
{
    const tlnmf_option_info *option = &options[i];
    if (!(value >= option->low && value <= option->high)) /* NaN fails, too */
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %.10g is outside [%.10g, %.10g]", option->name,
                       value, option->low, option->high);
    return TLNMF_OK;
}

/* The place of `value` in "a|b|c". */
static tlnmf_error parse_choice(tlnmf_ctx *ctx, const tlnmf_option_info *option, const char *value,
                                double *number)
{
    size_t length = strlen(value);
    const char *at = option->choices;
    for (int index = 0; length > 0 && at != NULL; index++) {
        if (strncmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0')) {
            *number = index;
            return TLNMF_OK;
        }
        at = strchr(at, '|');
        at = at == NULL ? NULL : at + 1;
    }
    return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not one of %s", option->name, value,
                   option->choices);
}

static tlnmf_error parse_number(tlnmf_ctx *ctx, const tlnmf_option_info *option, const char *value,
                                double *number)
{
    char *end;
    *number = strtod(value, &end);
    if (end == value || *end != '\0')
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not a number", option->name, value);
    if (option->type != TLNMF_OPTION_REAL && isfinite(*number) && *number != floor(*number))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not a whole number", option->name, value);
    return TLNMF_OK;
}

static tlnmf_error parse_seed(tlnmf_ctx *ctx, const char *value, uint64_t *seed)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(value, &end, 10);
    if (value[strspn(value, "0123456789")] != '\0' || value[0] == '\0' || errno == ERANGE)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "seed = %s is not a whole number below 2^64", value);
    *seed = parsed;
    return TLNMF_OK;
}

tlnmf_error tlnmf_settings_set(tlnmf_ctx *ctx, tl_settings *settings, const char *name,
                               const char *value)
{
    size_t i = find(name);
    if (i == COUNT)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "there is no option named %s", name);
    if (options[i].type == TLNMF_OPTION_SEED)
        return parse_seed(ctx, value, (uint64_t *)(void *)((char *)settings + places[i].offset));
    double number = 0.0;
    if (options[i].type == TLNMF_OPTION_CHOICE)
        TRY(parse_choice(ctx, &options[i], value, &number));
    else
        TRY(parse_number(ctx, &options[i], value, &number));
    TRY(check_range(ctx, i, number));
    put_number(settings, i, number);
    return TLNMF_OK;
}

const char *tlnmf_settings_get(const tl_settings *settings, const char *name, char *buffer,
                               size_t size)
{
    size_t i = find(name);
    if (i == COUNT || size == 0)
        return NULL;
    double number = get_number(settings, i);
    if (options[i].type == TLNMF_OPTION_SEED) {
        snprintf(buffer, size, "%llu", (unsigned long long)settings->seed);
    } else if (options[i].type == TLNMF_OPTION_CHOICE) {
        const char *at = options[i].choices;
        for (int skip = (int)number; skip > 0 && at != NULL; skip--) {
            at = strchr(at, '|');
            at = at == NULL ? NULL : at + 1;
        }
        snprintf(buffer, size, "%.*s", at == NULL ? 0 : (int)strcspn(at, "|"),
                 at == NULL ? "" : at);
    } else {
        snprintf(buffer, size, "%.17g", number);
    }
    return buffer;
}

tlnmf_error tl_check_struct_size(tlnmf_ctx *ctx, const tl_settings *settings)
{
    if (settings->struct_size != sizeof *settings)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "the settings are from another version: use tlnmf_settings_init");
    return TLNMF_OK;
}

tlnmf_error tlnmf_settings_check(tlnmf_ctx *ctx, const tl_settings *settings)
{
    TRY(tl_check_struct_size(ctx, settings));
    for (size_t i = 0; i < COUNT; i++) {
        double value = get_number(settings, i);
        if (!(places[i].unset && value == options[i].fallback))
            TRY(check_range(ctx, i, value));
    }
    if (settings->stream == TLNMF_STREAM_NUMPY)
        TRY(tl_check_numpy_seed(ctx, settings->seed));
    if (settings->exchange && settings->method == TLNMF_METHOD_NMF)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "exchange is between tl and jd: method nmf has no use of it");
    bool learns_fast =
        settings->solver == TLNMF_SOLVER_FAST &&
        (settings->method == TLNMF_METHOD_TL || settings->method == TLNMF_METHOD_AUTO);
    if (settings->hops > 0 && !learns_fast)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "hops are for solver fast and methods tl and auto");
    if (settings->continuation &&
        (settings->solver != TLNMF_SOLVER_FAST || settings->method == TLNMF_METHOD_NMF))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "continuation is for solver fast and methods that learn a transform");
    if (settings->precision == TLNMF_PRECISION_MIXED &&
        (settings->solver != TLNMF_SOLVER_FAST || settings->method == TLNMF_METHOD_NMF))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "precision mixed is for solver fast and methods that learn a transform");
    if (settings->newton && (!learns_fast || settings->exchange))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "newton is for solver fast and methods tl and auto, without exchange");
    if (settings->certify && settings->method != TLNMF_METHOD_TL &&
        settings->method != TLNMF_METHOD_AUTO)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "certify is for method tl");
    return TLNMF_OK;
}
