/* The table of names that records use, from results.def. */
#include "base/base.h"

#define RESULT(name, type, shape, where, help) {name, TLNMF_TYPE_##type, shape, where, help},
#define FIELD(name, type, field, where, help)  RESULT(name, type, "", where, help)
static const struct {
    const char *name;
    tlnmf_type type;
    const char *shape, *where, *help;
} results[] = {
#include "results.def"
};
#undef RESULT
#undef FIELD

enum { RESULTS = sizeof results / sizeof *results };

size_t tlnmf_result_count(void)
{
    return RESULTS;
}

const char *tlnmf_result_name(size_t index)
{
    return index < RESULTS ? results[index].name : NULL;
}

tlnmf_type tlnmf_result_type(size_t index)
{
    return index < RESULTS ? results[index].type : TLNMF_TYPE_NONE;
}

const char *tlnmf_result_shape(size_t index)
{
    return index < RESULTS ? results[index].shape : NULL;
}

const char *tlnmf_result_where(size_t index)
{
    return index < RESULTS ? results[index].where : NULL;
}

const char *tlnmf_result_help(size_t index)
{
    return index < RESULTS ? results[index].help : NULL;
}
