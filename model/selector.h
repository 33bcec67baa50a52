/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors: PromQL's vector selector, heap{job="app",env=~"x|y",pod!=""}.
 *
 * Label names and the profile type may be quoted ({"heap","a.b"="c"}). Values
 * are written "…" or '…' with Go's escapes, or `…` without escapes. At least
 * one matcher must refuse the empty value, so that no selector selects
 * everything by accident.
 *
 * Ownership: a selector owns its matchers and their text.
 * Threads: a selector belongs to one thread.
 */
#ifndef MODEL_SELECTOR_H
#define MODEL_SELECTOR_H

#include "base/arena.h"
#include "base/err.h"
#include "model/matcher.h"

enum {
	/* longest text of a selector, in bytes */
	SELECTOR_BYTES_MAX = 64 * 1024,
	SELECTOR_MATCHERS_MAX = 64 /* largest number of matchers */
};

/* A parsed selector: a series is selected if all matchers match its labels. */
struct selector {
	struct arena arena; /* owns all text */
	struct matcher *matchers;
	size_t count;
};

/*
 * Parse a selector; the caller frees *out with selector_fini(). ERR_INVALID:
 * the message is "1:7: parse error: …", with line and column counted from 1.
 */
NODISCARD int selector_parse(struct str text, struct selector *out,
			     struct err *err);

/*
 * The same, but the selector may select everything; an empty text is allowed, too.
 */
NODISCARD int selector_parse_any(struct str text, struct selector *out,
				 struct err *err);

/* Free a selector; the zero value is allowed. */
void selector_fini(struct selector *s);

#endif
