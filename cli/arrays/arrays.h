/* Commands on arrays: what is theirs alone. */
#ifndef TLNMF_CLI_ARRAYS_H
#define TLNMF_CLI_ARRAYS_H

#include "cli/cli.h"

/* Whether an operand of `apply` names an array rather than a sound: by its extension, and where
 * it has none by whether the model is one of a separation. */
bool cli_is_array(const char *spec, const tlnmf_record *model);

/* `apply` to arrays. The call's `also` settings are of task "apply". */
int cli_apply_arrays(cli_call *call, const tlnmf_record *model, const cli_input *input);

#endif
