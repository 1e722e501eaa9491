/* tlnmf info: what is in a file. */
#include "cli/cli.h"

#include <string.h>

/* One line for a member whose value fits one; nested ones are indented. */
static void print_object(const json_t *object, int depth)
{
    char plain[CLI_PATH];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        printf("%*s%-18s ", 2 * depth, "", cli_plain(key, plain, sizeof plain));
        switch (json_typeof(value)) {
        case JSON_OBJECT:
            putchar('\n');
            print_object(value, depth + 1);
            break;
        case JSON_ARRAY:
            printf("%zu entries\n", json_array_size(value));
            break;
        case JSON_STRING:
            cli_put(stdout, json_string_value(value));
            putchar('\n');
            break;
        case JSON_INTEGER:
            printf("%lld\n", (long long)json_integer_value(value));
            break;
        case JSON_REAL:
            printf("%.12g\n", json_real_value(value));
            break;
        default:
            puts(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "none");
            break;
        }
    }
}

static void print_arrays(const json_t *arrays)
{
    char plain[CLI_PATH];
    size_t i;
    json_t *array;
    json_array_foreach((json_t *)(uintptr_t)arrays, i, array)
    {
        const json_t *shape = json_object_get(array, "shape");
        const char *name = json_string_value(json_object_get(array, "name"));
        printf("  %-18s %-8s (", cli_plain(name, plain, sizeof plain),
               json_string_value(json_object_get(array, "dtype")));
        for (size_t d = 0; d < json_array_size(shape); d++)
            printf("%s%lld", d == 0 ? "" : ", ",
                   (long long)json_integer_value(json_array_get(shape, d)));
        puts(json_array_size(shape) == 1 ? ",)" : ")");
    }
}

static void print_text(const json_t *object)
{
    cli_put(stdout, json_string_value(json_object_get(object, "file")));
    printf(": %s, %lld bytes\n", json_string_value(json_object_get(object, "format")),
           (long long)json_integer_value(json_object_get(object, "bytes")));
    print_arrays(json_object_get(object, "arrays"));
    const json_t *summary = json_object_get(object, "summary");
    if (summary != NULL)
        print_object(summary, 1);
}

static int describe(const cli_call *call)
{
    tlnmf_record *about;
    int code = cli_read(call, "describe", call->operands[0], &about);
    if (code != EXIT_DONE)
        return code;
    json_t *object = json_loads(tlnmf_get_text(about, "json"), 0, NULL);
    if (object == NULL)
        code = cli_fail(&cli_info, EXIT_INTERNAL, "no memory");
    else if (cli_common_values.json == NULL)
        print_text(object);
    else if (!cli_print_json(object))
        code = cli_fail(&cli_info, EXIT_OUTPUT, "standard output cannot be written");
    json_decref(object);
    tlnmf_record_free(about);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    if (cli_begin(&call, &cli_info, argc, argv, &code))
        code = call.operand_count == 1 ? describe(&call)
                                       : cli_fail(&cli_info, EXIT_USAGE, "one file is needed");
    cli_end(&call);
    return code;
}

const cli_command cli_info = {
    .name = "info",
    .usage = "info FILE",
    .purpose = "what is in a file: a model, or arrays with their types and shapes",
    .common = " json ",
    .examples = "  tlnmf info model.h5\n  tlnmf info data.npy --json\n",
    .run = run,
};
