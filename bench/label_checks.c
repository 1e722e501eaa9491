/* The checks of labels without a separation, for bench/labels.py.
 * usage: label_checks SOUND LABELS.. ; for each file of labels prints the number of sources, those
 * without an estimate, and the caveats, separated by TABs. */
#include "sound/learn/course.h"

#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>

static void check(const tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "%s\n", tlnmf_message(ctx));
    exit(1);
}

static double *read_sound(const char *path, SF_INFO *info)
{
    SNDFILE *file = sf_open(path, SFM_READ, info);
    double *x =
        file == NULL ? NULL : malloc((size_t)info->frames * (size_t)info->channels * sizeof *x);
    if (x == NULL || sf_readf_double(file, x, info->frames) != info->frames) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    sf_close(file);
    return x;
}

/* Lines of start, TAB, end, TAB, name. */
static void read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_sound *sound)
{
    char line[512];
    FILE *file = fopen(path, "r");
    for (int64_t i = 1; file != NULL && fgets(line, sizeof line, file) != NULL; i++) {
        char *rest, *name;
        double start = strtod(line, &rest), end = strtod(rest, &name);
        if (rest == line || name == rest || *name != '\t')
            continue;
        name[strcspn(name, "\n")] = '\0';
        int64_t before = sound->span_count;
        check(ctx, tlnmf_sound_add_label(ctx, sound, name + 1, start, end));
        if (sound->span_count > before)
            sound->span[before].line = i;
    }
    if (file == NULL || sound->span_count == 0) {
        fprintf(stderr, "%s: no labels\n", path);
        exit(1);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    SF_INFO info = {0};
    tlnmf_ctx *ctx;
    if (argc < 3 || tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    double *x = read_sound(argv[1], &info);
    for (int i = 2; i < argc; i++) {
        tlnmf_sound *sound;
        tl_schedule schedule;
        tl_unlabelled found;
        tl_caveats caveats = {0};
        check(ctx,
              tlnmf_sound_from_array(ctx, x, info.frames, info.channels, info.samplerate, &sound));
        read_labels(ctx, argv[i], sound);
        check(ctx, tl_schedule_create(ctx, sound->span, sound->span_count,
                                      tl_samples(0.2, sound->rate), sound->sources, &schedule));
        check(ctx, tl_labels_look(ctx, sound, &schedule, false, &found, &caveats));
        uint64_t all = sound->sources < 64 ? ((uint64_t)1 << sound->sources) - 1 : ~(uint64_t)0;
        printf("%lld\t%d", (long long)sound->sources, __builtin_popcountll(caveats.sources & all));
        for (int64_t j = 0; j < caveats.count; j++)
            printf("\t%s", caveats.text[j]);
        putchar('\n');
        tl_unlabelled_free(&found);
        tl_schedule_free(&schedule);
        tlnmf_sound_free(sound);
    }
    free(x);
    tlnmf_ctx_free(ctx);
    return 0;
}
