/* Whether a model fits the sound that it is applied to: how much of it the model does not explain.
 */
#include "cli/stems/stems.h"

#include <math.h>

/* A model is taken for the wrong one if more than MUCH of the power is unexplained, and more than
 * TIMES what it left of the recording that it was learnt from. docs/separation.md says on what
 * these were set. */
static const double MUCH = 0.35, TIMES = 2.0;

void cli_fit_describe(const cli_stems *stems, const tlnmf_record *model, const tlnmf_record *report,
                      json_t *summary)
{
    double now = tlnmf_get_real(report, "unexplained"), then = tlnmf_get_real(model, "unexplained");
    bool other = stems->model_path != NULL;
    json_object_set_new(summary, "unexplained", cli_real(now));
    if (!other)
        return;
    json_object_set_new(summary, "unexplained_learnt", cli_real(then));
    bool wrong = now > MUCH && !(now <= TIMES * then);
    json_object_set_new(summary, "fits", json_boolean(!wrong));
    if (wrong)
        cli_warn(stems->call->command,
                 "%s: the model does not explain %.0f %% of it: it holds other sources than the "
                 "model, or other notes",
                 stems->path, 100.0 * now);
}

void cli_fit_print(const tlnmf_record *model, const tlnmf_record *report)
{
    double now = tlnmf_get_real(report, "unexplained"), then = tlnmf_get_real(model, "unexplained");
    printf("  not explained %.1f %% of the power", 100.0 * now);
    if (isfinite(then))
        printf("; of the recording that it was learnt from %.1f %%", 100.0 * then);
    putchar('\n');
}
