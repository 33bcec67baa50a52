/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the result of a command to a file or to standard output.
 *
 * Text for people is written with control characters escaped, whatever the
 * output is. Everything else is written byte for byte, except to a terminal.
 *
 * Ownership: an output owns its descriptor and borrows its path.
 * Threads: one thread at a time.
 */
#ifndef CMD_CLI_OUTPUT_H
#define CMD_CLI_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"

/* A file that is written from its beginning to its end. */
struct output {
	const char *path;
	int fd; /* -1: not open */
};

/*
 * Open a file to replace its content; it is created if it is missing. It may be
 * anything that can be written, such as a pipe or /dev/null.
 */
NODISCARD int output_open(struct output *o, const char *path, struct err *err);

/* Write the next bytes. */
NODISCARD int output_write(struct output *o, struct bytes b, struct err *err);

/* Close the file, unless it is closed. */
NODISCARD int output_close(struct output *o, struct err *err);

/*
 * Check, before the work is done, whether `path` can be opened for writing, as
 * far as permissions tell. Nothing is created.
 */
NODISCARD int output_check(const char *path, struct err *err);

/*
 * ERR_INVALID: the name of an output promises another format than `what`, the
 * format in words, such as a picture that everprof does not write. `is_svg`:
 * the output is an SVG.
 */
NODISCARD int output_check_name(const char *path, bool is_svg, const char *what,
				struct err *err);

/*
 * Replace the content of the file `path` with `b`; "-" is standard output,
 * whose write errors main() reports. Errors of opening and writing the file are
 * passed on. `for_people`: the bytes are text for people.
 */
NODISCARD int output_save(const char *path, bool for_people, struct bytes b,
			  struct err *err);

#endif
