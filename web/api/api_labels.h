/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of /api/v1/series, labels, label values and profile_types: lists of
 * stored series, labels and profile types, in Prometheus' format.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_LABELS_H
#define WEB_API_API_LABELS_H

#include "web/api/context.h"

/* GET /api/v1/series: the labels of all series that match[] selects. */
void api_series(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/labels: the names of all labels. */
void api_labels(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/label/NAME/values: all values of one label. */
void api_label_values(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/profile_types: profile types with their sample types. */
void api_profile_types(void *ctx, struct request *r, struct answer *a);

#endif
