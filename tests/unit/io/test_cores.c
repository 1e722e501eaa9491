/* The cores that control groups allow, from files of both versions. */
#include "support.h"

#include "io/files.h"

#include <sys/stat.h>
#include <unistd.h>

enum { PATHS = 8, LENGTH = 64 };

/* A working folder and its files, which are removed in reverse order. */
typedef struct tree {
    char top[LENGTH], path[PATHS][LENGTH];
    int paths;
} tree;

static void enter_tree(tree *t)
{
    *t = (tree){.top = "cores.XXXXXX"};
    assert_non_null(mkdtemp(t->top));
    assert_int_equal(chdir(t->top), 0);
}

static void leave_tree(tree *t)
{
    while (t->paths > 0)
        assert_int_equal(remove(t->path[--t->paths]), 0);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rmdir(t->top), 0);
}

static void add_folder(tree *t, const char *name)
{
    snprintf(t->path[t->paths++], LENGTH, "%s", name);
    assert_int_equal(mkdir(name, 0700), 0);
}

static void add_file(tree *t, const char *name, const char *text)
{
    snprintf(t->path[t->paths++], LENGTH, "%s", name);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Version 2: "quota period" or "max period"; limits of parent groups also apply. */
static void version_2(void **state)
{
    (void)state;
    static const struct {
        const char *above, *own;
        int cores;
    } cases[] = {{"max 100000\n", "200000 100000\n", 2},    {"max 100000\n", "max 100000\n", 0},
                 {"150000 100000\n", "800000 100000\n", 2}, {"max 100000\n", "1000 100000\n", 1},
                 {"max 100000\n", "25000 10000\n", 3},      {"max 100000\n", "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree t;
        enter_tree(&t);
        add_file(&t, "self", "0::/a/b\n");
        add_folder(&t, "a");
        add_file(&t, "a/cpu.max", cases[i].above);
        add_folder(&t, "a/b");
        add_file(&t, "a/b/cpu.max", cases[i].own);
        assert_int_equal(io_cores_of_groups("self", "."), cases[i].cores);
        leave_tree(&t);
    }
}

/* Version 1: quota and period in two files; -1 means no limit. In a container the path is the
 * host's, and only the top folder exists. */
static void version_1(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *group, *quota;
        int cores;
    } cases[] = {{"cpu,cpuacct", "4:cpu,cpuacct:/\n", "400000\n", 4},
                 {"cpu", "9:memory:/m\n3:cpu,cpuacct:/docker/1\n", "150000\n", 2},
                 {"cpu", "3:cpu:/\n", "-1\n", 0},
                 {"cpu", "3:cpuset:/\n", "100000\n", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree t;
        enter_tree(&t);
        char name[LENGTH];
        add_file(&t, "self", cases[i].group);
        add_folder(&t, cases[i].folder);
        snprintf(name, sizeof name, "%s/cpu.cfs_quota_us", cases[i].folder);
        add_file(&t, name, cases[i].quota);
        snprintf(name, sizeof name, "%s/cpu.cfs_period_us", cases[i].folder);
        add_file(&t, name, "100000\n");
        assert_int_equal(io_cores_of_groups("self", "."), cases[i].cores);
        leave_tree(&t);
    }
}

/* Without files, or with invalid lines, there is no limit. */
static void without_groups(void **state)
{
    (void)state;
    assert_int_equal(io_cores_of_groups("no/such/file", "."), 0);
    tree t;
    enter_tree(&t);
    add_file(&t, "self", "nonsense\n0:\n::\n");
    assert_int_equal(io_cores_of_groups("self", "."), 0);
    leave_tree(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(without_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
