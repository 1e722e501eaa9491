/* tlnmf info: shows the contents of a file. */
#include "cli/common/arrays.h"

#include <stdlib.h>
#include <string.h>

/* A name in a column of at least 18 characters. */
static void print_name(const char *name)
{
    cli_put(stdout, name);
    printf("%*s ", strlen(name) < 18 ? 18 - (int)strlen(name) : 0, "");
}

/* The values of a summary that are printed without -v. */
static const char brief[] = " command method k outcome C L labels repeat ";

/* One line per member; nested objects are indented. Without -v only the values of `brief`. */
static void print_object(const json_t *object, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (cli_asked.verbose == NULL && !cli_has_word(brief, key))
            continue;
        printf("%*s", 2 * depth, "");
        print_name(key);
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
    size_t i;
    json_t *array;
    json_array_foreach((json_t *)(uintptr_t)arrays, i, array)
    {
        const json_t *shape = json_object_get(array, "shape");
        fputs("  ", stdout);
        print_name(json_string_value(json_object_get(array, "name")));
        printf("%-8s (", json_string_value(json_object_get(array, "dtype")));
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
    if (summary != NULL) {
        json_object_del((json_t *)(uintptr_t)summary, "record"); /* for programs: --json has it */
        print_object(summary, 1);
    }
}

static int describe(const cli_call *call)
{
    tlnmf_record *about;
    char *full;
    TRY(cli_table_spec(call, &cli_asked.input, call->operands[0], &full));
    int code = cli_read(call, "describe", full, &about);
    free(full);
    if (code != EXIT_DONE)
        return code;
    json_t *object = json_loads(tlnmf_record_get_text(about, "json"), 0, NULL);
    if (object == NULL)
        code = cli_fail(&cli_info, EXIT_INTERNAL, "no memory");
    else if (cli_asked.json == NULL)
        print_text(object);
    else
        cli_print_json(object);
    json_decref(object);
    tlnmf_record_free(about);
    return code;
}

static const char *devices;

/* The values of --device on this machine. */
static int describe_devices(const cli_call *call)
{
    tlnmf_record *device;
    tlnmf_error error = tlnmf_device(call->ctx, &device);
    bool available = tlnmf_record_get_integer(device, "available") == 1;
    if (error == TLNMF_OK && cli_asked.json != NULL) {
        json_t *object = json_pack("{s: s, s: b}", "device", "gpu", "available", available);
        cli_put_values(object, device, available ? "name memory memory_free" : "reason");
        cli_print_json(object);
        json_decref(object);
    } else if (error == TLNMF_OK && available) {
        printf("cpu\ngpu: %s, %.1f GB, %.1f GB free\n", tlnmf_record_get_text(device, "name"),
               1e-9 * tlnmf_record_get_real(device, "memory"),
               1e-9 * tlnmf_record_get_real(device, "memory_free"));
    } else if (error == TLNMF_OK) {
        printf("cpu\ngpu: none: %s\n", tlnmf_record_get_text(device, "reason"));
    }
    tlnmf_record_free(device);
    return cli_check(call, error, NULL);
}

static int run(cli_call *call)
{
    if (devices != NULL)
        return call->operand_count == 0
                   ? describe_devices(call)
                   : cli_fail(&cli_info, EXIT_USAGE, "--devices and a file are mutually exclusive");
    TRY(cli_check_operands(call, 1, "a file"));
    TRY(cli_check_reading(call, &cli_asked.input));
    return describe(call);
}

static const cli_option options[] = {
    {"devices", NULL, "instead of a file: list the devices of this machine, as values of --device",
     &devices, GROUP_INPUT, 0},
    {0},
};

const cli_command cli_info = {
    .name = "info",
    .usage = "info FILE",
    .purpose = "show the contents of a file: a model, or arrays with their types and shapes",
    .options = options,
    .shared = " header index columns drop json v ",
    .reads = true,
    .examples = "  tlnmf info model.h5 -v\n  tlnmf info data.npy --json\n  tlnmf info --devices\n",
    .run = run,
};
