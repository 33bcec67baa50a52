/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors: PromQL's vector selector, heap{job="app",env=~"x|y",pod!=""}.
 *
 * Label names and the profile type may be quoted ({"heap","a.b"="c"}); values
 * take "…", '…' with Go's escapes, or `…` as they are. At least one matcher
 * must not match the empty value, so that no selector means everything by
 * accident.
 *
 * Ownership: a selector owns its matchers. Threads: one thread.
 */
#ifndef MODEL_SELECTOR_H
#define MODEL_SELECTOR_H

#include "base/arena.h"
#include "base/err.h"
#include "model/matcher.h"

enum {
	SELECTOR_BYTES_MAX = 64 * 1024,
	SELECTOR_MATCHERS_MAX = 64
};

struct selector {
	struct arena arena;
	struct matcher *matchers;
	size_t count;
};

/* ERR_INVALID: "1:7: parse error: …", line and column counted from 1. */
NODISCARD int selector_parse(struct str text, struct selector *out,
			     struct err *err);

/* {0} is fine. */
void selector_fini(struct selector *s);

#endif
