/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery from files, read again when they change.
 *
 * Ownership: the manager owns the provider.
 * Threads: the manager's.
 */
#ifndef DISCOVERY_FILE_SD_H
#define DISCOVERY_FILE_SD_H

#include "discovery/discovery_config.h"
#include "discovery/provider.h"

/* Call tell with what is wrong with the files of a file_sd_config now. */
void file_sd_check(const struct discovery_config *c,
		   void (*tell)(void *ctx, const char *text), void *ctx);

extern const struct provider_kind provider_file;

#endif
