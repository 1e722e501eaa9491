/* A check of the labels: sources that are hardly ever alone. docs/measurements/separation.md has
 * the data. */
#include "sound/judge/label_checks.h"

#include <stdio.h>

enum { STEP_MS = 10 };

/* Steps in which each source is labelled and no other may sound. */
static void find_solos(const tlnmf_sound *sound, const tl_schedule *schedule,
                       int64_t solo[TL_SOURCES_MAX])
{
    int64_t hop = tl_max(1, tl_samples(STEP_MS / 1000.0, sound->rate));
    for (int64_t k = 0; k < TL_SOURCES_MAX; k++)
        solo[k] = 0;
    for (int64_t t = hop / 2; t < sound->sound.length; t += hop) {
        uint64_t labelled = tl_schedule_within(schedule, t, t + 1, 0);
        if (__builtin_popcountll(labelled) == 1 &&
            tl_schedule_within(schedule, t, t + 1, schedule->release) == labelled)
            solo[__builtin_ctzll(labelled)]++;
    }
}

void tl_check_solos(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                    tl_caveats *caveats)
{
    const int64_t least = TL_SOLO_MS / STEP_MS;
    int64_t solo[TL_SOURCES_MAX];
    char name[TL_QUOTED], seconds[48];
    int64_t rarest = -1;
    bool others = false; /* else no source has spectra from solos */
    find_solos(sound, schedule, solo);
    for (int64_t k = 0; k < sound->sources; k++) {
        bool rare = solo[k] < least, doubted = caveats->sources >> k & 1; /* a wrong name: why */
        others = others || !rare;
        if (rare && !doubted && (rarest < 0 || solo[k] < solo[rarest]))
            rarest = k;
    }
    if (rarest < 0 || !others)
        return;
    if (solo[rarest] > 0)
        snprintf(seconds, sizeof seconds, "alone for only %.2g s",
                 (double)(solo[rarest] * STEP_MS) / 1000.0);
    else
        snprintf(seconds, sizeof seconds, "never alone");
    caveats->sources = ~(uint64_t)0;
    tl_caveats_warn(
        ctx, caveats,
        "%s is %s, so its sound cannot be learnt and the quality cannot be estimated: "
        "record %.2g s or more of it alone before the mixture, and label it; or correct "
        "the name if it is misspelt",
        tl_label_quote(sound->name[rarest], name), seconds, TL_SOLO_MS / 1000.0);
}
