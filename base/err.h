/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors.
 *
 * A function that can fail returns 0 or a negative ERR_* code and fills *err
 * with a sentence for a person. The code says what the caller should do; the
 * message says what happened. err may be NULL when the caller needs only the
 * code. Nothing here allocates, and no state is global.
 *
 * Ownership: an error is a plain value of the caller; messages are copied into
 * it.
 * Threads: one thread an error.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/defs.h"

enum {
	ERR_INVALID = -1,      /* bad argument or input: never retry */
	ERR_CORRUPT = -2,      /* bytes break their format: skip, quarantine */
	ERR_IO = -3,           /* the OS refused: its text is in the message */
	ERR_NOTFOUND = -4,     /* no such series, profile, file */
	ERR_EXISTS = -5,       /* something else is there already */
	ERR_TOOBIG = -6,       /* one thing is larger than its limit */
	ERR_LIMIT = -7,        /* a configured bound was hit: shed load */
	ERR_NOSPACE = -8,      /* the disk is full: later, when there is room */
	ERR_BUSY = -9,         /* somebody else holds it */
	ERR_TIMEOUT = -10,     /* a deadline passed */
	ERR_DENIED = -11,      /* not allowed */
	ERR_UNSUPPORTED = -12, /* a format or version that we do not know */
	ERR_AGAIN = -13,       /* temporary: retry later */
	ERR_CLOSED = -14,      /* used after close or during shutdown */
	ERR_UNAUTHORIZED = -15, /* nobody knows who asks */
};

struct err {
	int code;
	char msg[512];
};

/* Set *err and return code, so that callers write `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/*
 * Set the code that errno stands for (ERR_NOTFOUND for ENOENT, ERR_NOSPACE for
 * ENOSPC, EDQUOT and EFBIG, else ERR_IO), appending ": " and errno's text.
 */
int err_sys(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* Prefix context ("open block 01F: ") to a set error and return its code. */
int err_wrap(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/* A static string such as "corrupt"; "ok" for 0, "unknown" otherwise. */
const char *err_name(int code);

#endif
