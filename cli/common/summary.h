/* The result of fit and jd: what summary.c and report.c share. */
#ifndef TLNMF_CLI_SUMMARY_H
#define TLNMF_CLI_SUMMARY_H

#include "cli/cli.h"

/* The result as a page of text. */
void cli_print_result(FILE *out, const cli_call *call, const cli_result *r);

#endif
