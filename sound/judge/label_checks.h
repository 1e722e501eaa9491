/* Checks of the labels of a recording, before anything is learnt. */
#ifndef TLNMF_SOUND_LABEL_CHECKS_H
#define TLNMF_SOUND_LABEL_CHECKS_H

#include "base/caveats.h"
#include "sound/signal/samples.h"

enum { TL_PLACE = 96, TL_QUOTED = 96 };
/* "duet.txt line 7, 2.4 s", or "2.4 s" if the label is not from a file. */
const char *tl_label_place(const tlnmf_sound *sound, const tl_span *label, char text[TL_PLACE]);
/* The name in quotes; a long one is cut. */
const char *tl_label_quote(const char *name, char text[TL_QUOTED]);

/* ---- names (label_names.c) ------------------------------------------------------------------- */

/* Whether two names look like one name that was mistyped: they differ in case or by one letter and
 * are not numbered ("violin 1", "violin 2"; "bird A", "bird B"; "a", "b"). */
bool tl_names_look_alike(const char *a, const char *b);
/* Adds the names that look alike; alike[k] has the bit of l if k and l do. */
void tl_check_names(const tlnmf_sound *sound, uint64_t alike[TL_SOURCES_MAX], tl_caveats *caveats);

/* ---- labels and sound (label_sounds.c) ------------------------------------------------------- */

/* Adds all doubts, except sound without a label. `unlabelled`: its fraction of the energy. Until a
 * stop. *shifted: the labels are late or early. */
tlnmf_error tl_check_labels(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                            double unlabelled, tl_caveats *caveats, bool *shifted);

/* ---- sources that are hardly ever alone (label_solos.c) -------------------------------------- */

/* If a source is alone for less than TL_SOLO_MS and another is not, warns and withholds all
 * estimates: the spectra of the first absorb parts of the others, and the remixes contain hardly
 * any of it. */
void tl_check_solos(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                    tl_caveats *caveats);

#endif
