/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read whole small files, such as configuration and secrets, and tell whether a
 * file has changed.
 *
 * Ownership: the bytes are the caller's.
 * Threads: any.
 */
#ifndef BASE_FILE_SLURP_H
#define BASE_FILE_SLURP_H

#include "base/file.h"

/*
 * Append the whole file at path, or what a character device returns, to out.
 * For configuration and the like: no struct fs is asked. Returns ERR_TOOBIG
 * when it exceeds the maximum of out, and ERR_INVALID when path is a pipe or a
 * directory, so that nobody waits for a writer (docs/decisions.md, 76).
 */
NODISCARD int file_slurp(const char *path, struct buf *out, struct err *err);

/*
 * Append everything that can be read from path to out, waiting for the writer
 * of a pipe: for paths that a person gave on the command line. Returns
 * ERR_TOOBIG when that exceeds the maximum of out, or the errors of err_sys().
 */
NODISCARD int file_drain(const char *path, struct buf *out, struct err *err);

/*
 * Return the stamp of the file at path, following symbolic links; all members
 * are 0 when there is none.
 */
struct file_stamp file_stamp(const char *path);

#endif
