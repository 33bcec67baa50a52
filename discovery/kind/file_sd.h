/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File discovery: target groups in files, which are read again when they
 * change.
 *
 * Ownership: the manager owns the provider.
 * Threads: the manager's loop; examine() may be called by any thread.
 */
#ifndef DISCOVERY_KIND_FILE_SD_H
#define DISCOVERY_KIND_FILE_SD_H

#include "discovery/provider/provider.h"

/* The provider of file_sd_configs. */
extern const struct provider_kind provider_file;

#endif
