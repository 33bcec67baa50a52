/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the requests of one step of a refresh (see rest_source.h), page by
 * page.
 *
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_PAGE_H
#define DISCOVERY_REST_REST_PAGE_H

#include "discovery/rest/rest_source.h"

/* Return the step in progress. */
const struct rest_step *rest_step_of(const struct rest_run *r);

/*
 * Write to `q` the request for the first page of URL number r->url_number of
 * the step in progress. Returns false if the step has no URL of that number;
 * `q` must then not be sent.
 */
bool rest_page_first(struct rest_run *r, struct rest_request *q);

/*
 * Write to `q` the request for the next page of the step in progress; `root` is
 * the root of the current page. If there is no next page, q->url stays empty.
 * ERR_DENIED: the answer names a URL for the next page that is relative, or has
 * another scheme, host or port than the current request, so the credentials
 * must not be sent there.
 */
NODISCARD int rest_page_next(struct rest_run *r, const struct yaml_node *root,
			     struct rest_request *q, struct err *err);

#endif
