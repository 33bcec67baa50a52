/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names of the error codes, indexed by the negated code. */
static const char *const names[] = {
	[-ERR_INVALID] = "invalid",
	[-ERR_CORRUPT] = "corrupt",
	[-ERR_IO] = "io",
	[-ERR_NOTFOUND] = "not found",
	[-ERR_EXISTS] = "exists",
	[-ERR_TOOBIG] = "too large",
	[-ERR_LIMIT] = "limit exceeded",
	[-ERR_NOSPACE] = "no space",
	[-ERR_BUSY] = "busy",
	[-ERR_TIMEOUT] = "timeout",
	[-ERR_DENIED] = "denied",
	[-ERR_UNSUPPORTED] = "unsupported",
	[-ERR_AGAIN] = "try again",
	[-ERR_CLOSED] = "closed",
	[-ERR_UNAUTHORIZED] = "unauthorized",
	[-ERR_MEDIA] = "unsupported media type",
};

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

/*
 * Return the error code for an errno. Only numbers to which callers react in a
 * special way have a code of their own; all others become ERR_IO.
 */
static int code_of_errno(int number)
{
	switch (number) {
	case ENOENT:
		return ERR_NOTFOUND;
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* a write beyond RLIMIT_FSIZE */
		return ERR_NOSPACE;
	case EEXIST:
		return ERR_EXISTS;
	default:
		return ERR_IO;
	}
}

/* errno is saved first, because vsnprintf() may change it. */
int err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	char what[sizeof(err->msg)];
	char why[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	/* The caller's text is cut so that errno's text always fits. */
	return err_set(err, code_of_errno(saved), "%.400s: %s", what,
		       strerror_r(saved, why, sizeof(why)));
}

/* The old message is copied first, because err_set() overwrites it. */
int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char prefix[160];
	char old[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	memcpy(old, err->msg, sizeof(old));
	return err_set(err, code, "%s: %.340s", prefix, old);
}

/* The code may be any number, such as one that was read from a file. */
const char *err_name(int code)
{
	if (!code)
		return "ok";
	if (code > 0 || code <= -(int)ARRAY_SIZE(names) || !names[-code])
		return "unknown";
	return names[-code];
}
