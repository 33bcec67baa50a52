/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions that file.c and fs.c share. No other file includes this header.
 *
 * Ownership: as in file.h.
 * Threads: as in file.h.
 */
#ifndef BASE_FILE_PRIVATE_H
#define BASE_FILE_PRIVATE_H

#include "base/file.h"

/*
 * Return 0 when fd is a regular file or a character device, else set *err and
 * return the code `refusal`. Without this check, a directory would fail only at
 * the first read, and a pipe might block.
 */
NODISCARD int file_check_bytes(struct fs *fs, const char *path, int fd,
			       int refusal, struct err *err);

#endif
