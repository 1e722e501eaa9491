/* The results of fit, jd and apply: what the files that print them share. */
#ifndef TLNMF_CLI_SUMMARY_H
#define TLNMF_CLI_SUMMARY_H

#include "cli/cli.h"

/* The result as a page of text. */
void cli_print_result(FILE *out, const cli_call *call, const cli_result *r);
/* The same, and with --explain a sentence on each of its numbers. */
void cli_print_explained(FILE *out, const cli_call *call, const cli_result *r);
/* The sentences on all numbers that there are. */
void cli_explain_all(FILE *out);
/* Its first line: what the data are. */
void cli_print_data(FILE *out, const char *input, const tlnmf_record *data, int64_t columns);
/* What the certificate means, or why there is none. */
const char *cli_certificate_words(const tlnmf_record *model);
/* Where eps comes from: given, given share (eps-rel), model (of --init) or default. */
const char *cli_eps_from(const cli_call *call, const cli_result *r);
/* Why a run stopped. */
const char *cli_stop_words(const tlnmf_record *model);
/* What --eps-check found, as text and, if it was not interrupted, as JSON (floor.c). */
void cli_print_eps_check(FILE *out, const tlnmf_record *model);
json_t *cli_eps_check_json(const tlnmf_record *model);

/* `file`, M, N, columns, mean_power and S of the data. */
json_t *cli_data_json(const char *input, const tlnmf_record *data, int64_t columns);

#endif
