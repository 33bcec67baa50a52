/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File discovery: target groups in files, which are read again when they
 * change.
 *
 * Ownership: the manager owns the provider.
 * Threads: the manager's loop; file_sd_check() may be called by any thread.
 */
#ifndef DISCOVERY_FILE_SD_H
#define DISCOVERY_FILE_SD_H

#include "discovery/discovery_config.h"
#include "discovery/provider.h"

/*
 * Reads all files of a file_sd_config and calls tell() with each mistake found;
 * for `everprof check config`.
 */
void file_sd_check(const struct discovery_config *c,
		   void (*tell)(void *ctx, const char *text), void *ctx);

/* The provider of file_sd_configs. */
extern const struct provider_kind provider_file;

#endif
