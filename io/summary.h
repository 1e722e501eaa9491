/* The summary of a model: values of a record as a JSON object, and back. */
#ifndef TLNMF_IO_SUMMARY_H
#define TLNMF_IO_SUMMARY_H

#include "api.h"

/* The record's text `summary`, or, if it has none, an object made from its integers, reals, texts
 * and lists of texts. A name with dots becomes nested objects, `option.x` being options.x; a real
 * that is not finite becomes null. */
tlnmf_error io_summary_from(tlnmf_ctx *ctx, const tlnmf_record *record, json_t **out);

/* The other way: numbers, texts and lists of texts of the object become values of the record. Those
 * of the member `separation`, which the program writes, get the names that tlnmf_stems reads. Keys
 * that cannot name a value are left out. */
tlnmf_error io_summary_to(tlnmf_ctx *ctx, const json_t *summary, tlnmf_record *record);

#endif
