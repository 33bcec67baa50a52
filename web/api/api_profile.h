/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/targets/profile: take a profile of a target now.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_PROFILE_H
#define WEB_API_API_PROFILE_H

#include "web/api/context.h"

/*
 * Scrape the target that the selector `query` matches, store the profile, and
 * answer as /api/v1/query does. Blocks a pool thread until the target has
 * answered or the deadline has passed.
 */
void api_targets_profile(void *ctx, struct request *r, struct answer *a);

#endif
