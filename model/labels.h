/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label sets: immutable, sorted by name, in the one encoding that WAL records,
 * range logs and memory share (docs/format/common.md).
 *
 * Ownership: reference counted; labels_ref() and labels_unref(). Text handed
 * out is borrowed from the set.
 * Threads: immutable, share freely.
 */
#ifndef MODEL_LABELS_H
#define MODEL_LABELS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

/* The label that holds the profile type. */
#define LABEL_NAME "__name__"

/* Reserved for tenants to come: refused from outside. */
#define LABEL_TENANT "__tenant__"

enum {
	LABELS_MAX = 128,             /* labels in a set */
	LABELS_BYTES_MAX = 64 * 1024, /* of its encoding */
	LABEL_NAME_MAX = 1024,
	LABEL_VALUE_MAX = LABELS_BYTES_MAX,
};

struct label {
	struct str name;
	struct str value;
};

/* For qsort() and bsearch(): by name. */
int label_by_name(const void *a, const void *b);

struct labels {
	_Atomic uint32_t refs;
	uint32_t len;
	uint64_t hash; /* hash_bytes() of data */
	uint8_t data[];
};

/* Checks order, limits and UTF-8: ERR_CORRUPT. The caller owns a reference. */
NODISCARD int labels_decode(struct bytes encoded, struct labels **out,
			    struct err *err);

struct labels *labels_ref(struct labels *ls);
void labels_unref(struct labels *ls);

static inline struct bytes labels_bytes(const struct labels *ls)
{
	return (struct bytes){ .ptr = ls->data, .len = ls->len };
}

/* Iterate in name order: while (labels_next(&it, &label)) … */
struct labels_iter {
	const uint8_t *pos;
	uint32_t left;
};

struct labels_iter labels_iter(const struct labels *ls);
bool labels_next(struct labels_iter *it, struct label *out);

/* The value of a name; empty when the set has no such label. */
struct str labels_get(const struct labels *ls, struct str name);

/* Order as Prometheus': by first differing name, then value. */
int labels_cmp(const struct labels *a, const struct labels *b);

/* {"name":"value",…} */
void labels_json(const struct labels *ls, struct json *j);

/* heap{job="app"}: a selector that matches exactly these labels. */
void labels_text(const struct labels *ls, struct buf *out);

/*
 * Builder: set and remove in any order, then make a set of it.
 * Ownership: the builder's arena owns copies of all text.
 */
struct labels_builder {
	struct arena arena;
	struct label *v;
	size_t count;
	size_t cap;
};

/* An empty value removes the label. */
void labels_set(struct labels_builder *b, struct str name, struct str value);
struct str labels_builder_get(const struct labels_builder *b, struct str name);
void labels_builder_fini(struct labels_builder *b);

/*
 * ERR_INVALID: no label at all, bad UTF-8, an empty name, over a limit.
 * ERR_DENIED: the reserved label. The caller owns a reference.
 */
NODISCARD int labels_build(struct labels_builder *b, struct labels **out,
			   struct err *err);

#endif
