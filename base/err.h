/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a code that says what the caller should do, and one sentence for a
 * person.
 *
 * A function that can fail returns 0 or a negative ERR_* code and fills *err
 * with a sentence for a person. The code says what the caller should do; the
 * message says what happened. `err` may be NULL when the caller needs only the
 * code. The functions of this header allocate no memory and have no global
 * state.
 *
 * Ownership: an error is a plain value of the caller; messages are copied into
 * the error.
 * Threads: one thread per error.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/defs.h"

/*
 * Error codes, distinguished by what the caller should do. web/ maps these
 * codes to HTTP statuses.
 */
enum {
	ERR_INVALID = -1,       /* bad argument or input: never retry */
	ERR_CORRUPT = -2,       /* malformed bytes: skip or quarantine them */
	ERR_IO = -3,            /* the OS reported an error: see the message */
	ERR_NOTFOUND = -4,      /* no such series, profile or file */
	ERR_EXISTS = -5,        /* the name is taken already */
	ERR_TOOBIG = -6,        /* one item is larger than its limit */
	ERR_LIMIT = -7,         /* a configured limit is reached: shed load */
	ERR_NOSPACE = -8,       /* the disk is full: retry when there is room */
	ERR_BUSY = -9,          /* another process or job holds the resource */
	ERR_TIMEOUT = -10,      /* a deadline passed */
	ERR_DENIED = -11,       /* the user is known but not permitted */
	ERR_UNSUPPORTED = -12,  /* a format or version that we do not know */
	ERR_AGAIN = -13,        /* temporary: retry later */
	ERR_CLOSED = -14,       /* used after close or during shutdown */
	ERR_UNAUTHORIZED = -15, /* the request carries no valid credentials */
	ERR_MEDIA = -16,        /* a request's type or encoding is not known */
};

/* An error code and its message. `msg` is undefined while no error is set. */
struct err {
	int code;
	char msg[512];
};

/*
 * Set *err, unless it is NULL, and return code, so that callers write `return
 * err_set(...)`.
 */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/*
 * Set *err from errno: the message is the formatted text, ": " and the system's
 * text for errno. Sets and returns ERR_NOTFOUND for ENOENT, ERR_EXISTS for
 * EEXIST, ERR_NOSPACE for ENOSPC, EDQUOT and EFBIG, otherwise ERR_IO.
 */
int err_sys(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/*
 * Put a context, such as "open block 01F", and ": " before the message of *err,
 * replace the error's code by `code`, and return `code`.
 */
int err_wrap(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/*
 * Return the name of a code, a static string such as "corrupt"; "ok" for 0 and
 * "unknown" for a number that is no code.
 */
const char *err_name(int code);

#endif
