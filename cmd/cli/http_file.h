/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file of --http.config.file: the options of the HTTP client of a
 * command.
 *
 * Ownership: the caller owns the configuration.
 * Threads: one thread at a time.
 */
#ifndef CMD_CLI_HTTP_FILE_H
#define CMD_CLI_HTTP_FILE_H

#include "client/transfer/http_config.h"

/*
 * Load the file. *out is NULL if `path` is NULL or empty; otherwise the caller
 * owns a reference. ERR_INVALID: the file has a mistake; only the first one is
 * reported. Errors of reading it are passed on.
 */
NODISCARD int http_file_load(const char *path, struct http_config **out,
			     struct err *err);

#endif
