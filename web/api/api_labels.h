/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/series, labels, label values and profile_types.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_LABELS_H
#define WEB_API_API_LABELS_H

#include "web/handler/context.h"

/* api_labels.c */
void api_series(void *ctx, struct request *r, struct answer *a);

void api_labels(void *ctx, struct request *r, struct answer *a);

void api_label_values(void *ctx, struct request *r, struct answer *a);

void api_profile_types(void *ctx, struct request *r, struct answer *a);

#endif
