/* Compares a record with the table of results: names, types and shapes. */
#ifndef TLNMF_TESTS_RESULTS_TABLE_H
#define TLNMF_TESTS_RESULTS_TABLE_H

#include "support.h"

/* The values of the letters of a shape in one record: given ones, and others (rows, events) at
 * their first occurrence. */
enum { MOST_SYMBOLS = 12 };
typedef struct symbols {
    int count;
    struct {
        const char *name;
        int64_t value;
    } of[MOST_SYMBOLS];
} symbols;

/* Whether `where`, a list of words, contains this word. */
static inline bool is_among(const char *where, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = where; (at = strstr(at, word)) != NULL; at += length)
        if ((at == where || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The row of the table for a name in a kind of record; SIZE_MAX if it is missing. */
static inline size_t find_result(const char *name, const char *kind)
{
    for (size_t i = 0; i < tlnmf_result_count(); i++)
        if (strcmp(tlnmf_result_name(i), name) == 0 && is_among(tlnmf_result_where(i), kind))
            return i;
    return SIZE_MAX;
}

/* One part of a shape text: a number, a letter, or a letter + 1. */
static inline void expect_dimension(symbols *s, const char *part, const char *name, int64_t found)
{
    size_t length = strcspn(part, " ");
    int64_t more = strcmp(part + length, " + 1") == 0 ? 1 : 0;
    assert_true(part[length] == '\0' || more == 1);
    if (part[0] >= '0' && part[0] <= '9') {
        assert_int_equal(found, strtoll(part, NULL, 10));
        return;
    }
    for (int i = 0; i < s->count; i++)
        if (strlen(s->of[i].name) == length && strncmp(s->of[i].name, part, length) == 0) {
            if (s->of[i].value + more != found)
                fail_msg("%s: %s is %lld, not %lld", name, part, (long long)found,
                         (long long)(s->of[i].value + more));
            return;
        }
    assert_true(s->count < MOST_SYMBOLS);
    static char names[MOST_SYMBOLS][16];
    snprintf(names[s->count], sizeof names[0], "%.*s", (int)length, part);
    s->of[s->count].name = names[s->count];
    s->of[s->count++].value = found - more;
}

static inline void expect_shape(symbols *s, const tlnmf_record *record, const char *name,
                                const char *shape_text)
{
    char text[64], *rest;
    int32_t rank, parts = 0;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    assert_non_null(tlnmf_record_get_array(record, name, &rank, shape));
    snprintf(text, sizeof text, "%s", shape_text);
    for (char *part = strtok_r(text, ",", &rest); part != NULL;
         part = strtok_r(NULL, ",", &rest), parts++) {
        assert_true(parts < rank);
        expect_dimension(s, part, name, shape[parts]);
    }
    assert_int_equal(parts, rank);
}

/* Every name of the record is a row of the table for this kind of record, with its type and shape;
 * names `option.x` are texts of options of the task. */
static inline void expect_in_table(const tlnmf_record *record, const char *kind, const char *task,
                                   symbols s)
{
    symbols others = s; /* the other result of an exchange has its own trace */
    assert_true(tlnmf_record_count(record) > 0);
    for (size_t i = 0; i < tlnmf_record_count(record); i++) {
        const char *name = tlnmf_record_name(record, i), *plain = name;
        tlnmf_type type = tlnmf_record_type(record, name);
        if (strncmp(name, "option.", 7) == 0) {
            assert_int_equal(type, TLNMF_TYPE_TEXT);
            assert_non_null(tlnmf_option_help(task, name + 7));
            continue;
        }
        if (strncmp(name, "other.", 6) == 0)
            plain += 6;
        if (strncmp(name, "member.", 7) == 0) /* of a separation: documented as member.N. */
            continue;
        size_t row = find_result(plain, kind);
        if (row == SIZE_MAX)
            fail_msg("the table knows no \"%s\" of a record \"%s\"", plain, kind);
        if (tlnmf_result_type(row) != type)
            fail_msg("%s of %s has type %d, the table says %d", name, kind, (int)type,
                     (int)tlnmf_result_type(row));
        if (type == TLNMF_TYPE_ARRAY)
            expect_shape(plain == name ? &s : &others, record, name, tlnmf_result_shape(row));
        else
            assert_string_equal(tlnmf_result_shape(row), "");
    }
}

/* Every row of the table for this kind of record occurs in one of the records, except for the names
 * in the last argument (separated by spaces). */
static inline void expect_all_held(const char *kind, const tlnmf_record *const *records,
                                   size_t count, const char *exempt)
{
    for (size_t i = 0; i < tlnmf_result_count(); i++) {
        const char *name = tlnmf_result_name(i);
        bool held = !is_among(tlnmf_result_where(i), kind) || is_among(exempt, name);
        for (size_t r = 0; r < count; r++)
            held = held || tlnmf_record_type(records[r], name) == tlnmf_result_type(i);
        if (!held)
            fail_msg("no record \"%s\" holds the \"%s\" of the table", kind, name);
    }
}

#endif
