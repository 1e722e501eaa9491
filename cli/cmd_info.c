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

static const char *devices;

static json_t *device_object(const tlnmf_record *device)
{
    if (tlnmf_get_integer(device, "available") == 0)
        return json_pack("{s: s, s: b, s: s}", "device", "gpu", "available", 0, "reason",
                         tlnmf_get_text(device, "reason"));
    return json_pack("{s: s, s: b, s: s, s: f, s: f}", "device", "gpu", "available", 1, "name",
                     tlnmf_get_text(device, "name"), "memory", tlnmf_get_real(device, "memory"),
                     "memory_free", tlnmf_get_real(device, "memory_free"));
}

/* What --device can be here. */
static int describe_devices(const cli_call *call)
{
    tlnmf_record *device;
    int code = EXIT_DONE;
    tlnmf_error error = tlnmf_device(call->ctx, &device);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    if (cli_common_values.json != NULL) {
        json_t *object = device_object(device);
        if (object == NULL)
            code = cli_fail(&cli_info, EXIT_INTERNAL, "no memory");
        else if (!cli_print_json(object))
            code = cli_fail(&cli_info, EXIT_OUTPUT, "standard output cannot be written");
        json_decref(object);
    } else if (tlnmf_get_integer(device, "available") != 0) {
        printf("cpu\ngpu: %s, %.1f GB, %.1f GB free\n", tlnmf_get_text(device, "name"),
               1e-9 * tlnmf_get_real(device, "memory"),
               1e-9 * tlnmf_get_real(device, "memory_free"));
    } else {
        printf("cpu\ngpu: none: %s\n", tlnmf_get_text(device, "reason"));
    }
    tlnmf_record_free(device);
    return code;
}

static int answer(const cli_call *call)
{
    if (devices != NULL)
        return call->operand_count == 0
                   ? describe_devices(call)
                   : cli_fail(&cli_info, EXIT_USAGE, "--devices takes no file");
    return call->operand_count == 1 ? describe(call)
                                    : cli_fail(&cli_info, EXIT_USAGE, "one file is needed");
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    if (cli_begin(&call, &cli_info, argc, argv, &code))
        code = answer(&call);
    cli_end(&call);
    return code;
}

static const cli_option options[] = {
    {"devices", NULL, "instead of a file: what --device can be on this machine", &devices},
};

const cli_command cli_info = {
    .name = "info",
    .usage = "info FILE",
    .purpose = "what is in a file: a model, or arrays with their types and shapes",
    .common = " json ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf info model.h5\n  tlnmf info data.npy --json\n  tlnmf info --devices\n",
    .run = run,
};
