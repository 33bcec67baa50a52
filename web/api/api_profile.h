/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/targets/profile: take a profile of a target now.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_PROFILE_H
#define WEB_API_API_PROFILE_H

#include "web/handler/context.h"

/* api_profile.c */
void api_targets_profile(void *ctx, struct request *r, struct answer *a);

#endif
