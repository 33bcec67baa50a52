/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the API in JSON, for the query commands.
 *
 * Ownership: the caller frees the answer with json_decref().
 * Threads: one thread.
 */
#ifndef CMD_CLI_QUERY_JSON_H
#define CMD_CLI_QUERY_JSON_H

#include <jansson.h>

#include "cmd/cli/api_client.h"

/*
 * Send the request and return the member "data" of the answer, which lives as
 * long as *root. The caller calls json_decref(*root) in any case. Warnings of
 * the API are printed.
 */
NODISCARD int query_ask(struct query *q, json_t **root, json_t **data,
			struct err *err);

/*
 * Release the request and the answer, report the error if there is one, and
 * return the exit code.
 */
int query_finish(struct query *q, json_t *root, int rc, const struct err *err);

/* Append a JSON object of labels as a selector, heap{job="app"}. */
void query_labels_text(json_t *labels, struct buf *out);

/* Print a JSON object of labels as a selector. */
void query_print_labels(json_t *labels);

#endif
