/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a step of a refresh, page by page.
 *
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_PAGE_H
#define DISCOVERY_REST_REST_PAGE_H

#include "discovery/rest/rest_source.h"

/* Return the step in progress. */
const struct rest_step *rest_step_of(const struct rest_run *r);

/*
 * Write the request for the first page of URL r->url_number of the step in
 * progress. Returns false if the step has no more URLs.
 */
bool rest_page_first(struct rest_run *r, struct rest_request *q);

/*
 * Write the request for the next page. `root` is the answer with the current
 * page. If there is no next page, q->url stays empty. ERR_DENIED: the next page
 * would be on another server.
 */
NODISCARD int rest_page_next(struct rest_run *r, const struct yaml_node *root,
			     struct rest_request *q, struct err *err);

#endif
