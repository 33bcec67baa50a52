/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads whole small files, such as configuration and secrets, and decides
 * whether a file has changed.
 *
 * Threads: any.
 */
#ifndef BASE_FILE_SLURP_H
#define BASE_FILE_SLURP_H

#include "base/file.h"

/*
 * Append the whole file `path`, or all that a character device returns, to
 * `out`. Meant for files outside of the data directory, such as configuration,
 * so the hooks of struct fs are not called. Returns ERR_TOOBIG when the
 * contents exceed the maximum of `out`, and ERR_INVALID when `path` is a
 * directory or a pipe, so that no thread waits for the writer of a pipe
 * (docs/decisions.md, 76).
 */
NODISCARD int file_slurp(const char *path, struct buf *out, struct err *err);

/*
 * Append everything that can be read from a descriptor, which stays open; `path`
 * is for messages. Errors as file_slurp().
 */
NODISCARD int file_slurp_fd(int fd, const char *path, struct buf *out,
			    struct err *err);

/*
 * Append everything that can be read from `path` to `out`, waiting for the
 * writer of a pipe: for paths that a person gave on the command line. Returns
 * ERR_TOOBIG when the contents exceed the maximum of `out`, or the errors of
 * err_sys().
 */
NODISCARD int file_drain(const char *path, struct buf *out, struct err *err);

/*
 * Return the stamp of the file `path`, following symbolic links; all members
 * are 0 when there is no such file.
 */
struct file_stamp file_stamp(const char *path);

#endif
