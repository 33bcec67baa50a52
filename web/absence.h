/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absence: why a selector has found nothing. Most often a type or a label is
 * misspelt, which "not found" alone does not tell.
 */
#ifndef WEB_ABSENCE_H
#define WEB_ABSENCE_H

#include "model/selector.h"
#include "tsdb/querier.h"
#include "web/context.h"

/*
 * Sets ERR_NOTFOUND: "no profile of this selector WHEN", and the first of the
 * selector's matchers that no stored series fulfils at any time, if there is
 * one. Keeps the selection of q. Looks no further than the request's deadline.
 * Returns ERR_NOTFOUND.
 */
int absence_set(struct querier *q, const struct request *r,
		const struct selector *s, const char *when, struct err *err);

#endif
