/* tlnmf_nearest: the name that the user probably meant. */
#include "support.h"

static void suggestions(void **state)
{
    (void)state;
    static const char *const names[] = {"k",     "J",         "eps",         "eps-rel",
                                        "tol",   "seed",      "threads",     "starts",
                                        "trace", "transform", "max-seconds", "method"};
    static const char *const expected[][2] = {
        {"K", "k"},
        {"j", "J"},
        {"eps_rel", "eps-rel"},
        {"epsrel", "eps-rel"},
        {"trasnform", "transform"},
        {"transfrom", "transform"},
        {"tranform", "transform"},
        {"thread", "threads"},
        {"max", "max-seconds"},
        {"methods", "method"},
        {"n_components", "k"},
        {"rank", "k"},
        {"max_iter", "J"},
        {"random_state", "seed"},
        {"n_jobs", "threads"},
        {"iterations", "J"},
        {"m", NULL},
        {"colour", NULL},
        {"", NULL},
        {"alpha-beta-gamma-delta-epsilon-zeta-eta-theta-iota-kappa-lambda-mu-nu", NULL}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *found = tlnmf_nearest(expected[i][0], names, sizeof names / sizeof *names);
        if (expected[i][1] == NULL)
            assert_null(found);
        else
            assert_string_equal(found, expected[i][1]);
    }
    /* a synonym counts only if its name is one of the names */
    assert_null(tlnmf_nearest("random_state", names, 5));
    assert_string_equal(tlnmf_nearest("sead", names, 6), "seed");
    static const char *const theirs[] = {"n_components", "max_iter"};
    assert_string_equal(tlnmf_nearest("k", theirs, 2), "n_components");
    assert_string_equal(tlnmf_nearest("J", theirs, 2), "max_iter");
    /* the shortest name that begins with the word; such a name before one that differs by a letter
     */
    static const char *const labels[] = {"labels-from", "table", "labels"};
    assert_string_equal(tlnmf_nearest("label", labels, 3), "labels");
    assert_string_equal(tlnmf_nearest("label", labels, 2), "labels-from");
    static const char *const near[] = {"lapel", "labels-from"};
    assert_string_equal(tlnmf_nearest("label", near, 2), "labels-from");
    assert_null(tlnmf_nearest("k", names, 0));
    assert_null(tlnmf_nearest(NULL, names, 1));
    assert_null(tlnmf_nearest("k", NULL, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(suggestions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
