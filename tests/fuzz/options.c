/* Options as text: a name, '=', a value. An accepted value reads back as a text that sets the same
 * value. The first byte selects the task. */
#include "tlnmf/tlnmf.h"

#include "fuzz.h"

#include <string.h>

enum { TEXT = 256 };

static void set(tlnmf_ctx *ctx, tlnmf_settings *settings, const char *name, const char *value)
{
    char read[TEXT], again[TEXT];
    if (tlnmf_settings_set_text(ctx, settings, name, value) != TLNMF_OK) {
        FUZZ_CHECK(tlnmf_message(ctx)[0] != '\0');
        return;
    }
    FUZZ_CHECK(tlnmf_settings_get_text(settings, name, read, sizeof read) != NULL);
    if (read[0] == '\0')
        return; /* not set, without a default */
    FUZZ_CHECK(tlnmf_settings_set_text(ctx, settings, name, read) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_settings_get_text(settings, name, again, sizeof again) != NULL);
    FUZZ_CHECK(strcmp(read, again) == 0);
}

/* Lines "name=value"; the bytes end with a NUL. */
static void set_all(tlnmf_ctx *ctx, tlnmf_settings *settings, char *text)
{
    char *rest = text, *line;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        char *equals = strchr(line, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        set(ctx, settings, line, equals + 1);
    }
    (void)tlnmf_settings_check(ctx, settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    tlnmf_settings *settings;
    size_t tasks = 0;
    while (tlnmf_task_name(tasks) != NULL)
        tasks++;
    if (size == 0 || tasks == 0)
        return 0;
    char *text = malloc(size);
    FUZZ_CHECK(text != NULL && tlnmf_ctx_create(&ctx) == TLNMF_OK);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    FUZZ_CHECK(tlnmf_settings_create(ctx, tlnmf_task_name(bytes[0] % tasks), &settings) ==
               TLNMF_OK);
    set_all(ctx, settings, text);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
    free(text);
    return 0;
}

/* All options of a task with their defaults. */
bool fuzz_seed(int number, const char *path)
{
    char text[8192], value[TEXT];
    const char *task = tlnmf_task_name((size_t)number), *name;
    if (task == NULL)
        return false;
    size_t size = 0;
    text[size++] = (char)number;
    for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s=%s\n", name,
                                 tlnmf_option_default(task, name, value, sizeof value));
    FUZZ_CHECK(size < sizeof text);
    fuzz_put(path, text, size);
    return true;
}
