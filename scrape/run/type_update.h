/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type updates: when the profile list of a target names other types than
 * before, the targets of its job are made again.
 *
 * Ownership: those of the scraper.
 * Threads: any; the scraper's locks.
 */
#ifndef SCRAPE_RUN_TYPE_UPDATE_H
#define SCRAPE_RUN_TYPE_UPDATE_H

#include "scrape/run/scraper.h"

/* finding.c: a target's index has said this; takes over the types. */
void type_update_add(struct scraper *s, struct target *index,
		     struct profile_list *types);

/* Have jobs made anew if indexes said something; how long until it may. */
int64_t type_update_start(struct scraper *s);

void type_update_free(struct scraper *s);

#endif
