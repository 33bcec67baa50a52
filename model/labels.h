/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label sets: immutable sets of names and values, sorted by name. They are
 * encoded in the same way in WAL records, in the logs of head blocks and in
 * memory (docs/format/common.md).
 *
 * Ownership: label sets are reference counted (labels_ref(), labels_unref()).
 * Text that a function returns is borrowed from the set.
 * Threads: a set is immutable and may be shared freely.
 */
#ifndef MODEL_LABELS_H
#define MODEL_LABELS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/table.h"

/* The name of the label that holds the profile type. */
#define LABEL_NAME "__name__"

/* Reserved for future multi-tenancy: labels_build() refuses this label. */
#define LABEL_TENANT "__tenant__"

/*
 * A label that says by the value "false" that the values of the series count
 * what happened since the profile before, also if the profiles have no
 * duration. Its name is Pyroscope's, and means: compute no difference.
 */
#define LABEL_DELTA "__delta__"

/*
 * The label that tells profiles of a program from each other that have the same name
 * and time, and only other sample types.
 */
#define LABEL_PART "__part__"

/*
 * Prefix of labels of targets, before they are stored, that are parameters of
 * the URL. A parameter may be a token, so their values are not shown.
 */
#define LABEL_PARAM "__param_"

enum {
	LABELS_MAX = 128,             /* largest number of labels in one set */
	LABELS_BYTES_MAX = 64 * 1024, /* longest encoded set, in bytes */
	LABEL_NAME_MAX = 1024,
	LABEL_VALUE_MAX = LABELS_BYTES_MAX,
};

/* One label: its name and its value, both borrowed. */
struct label {
	struct str name;
	struct str value;
};

/* Compare two struct label by name, for qsort() and bsearch(). */
int label_by_name(const void *a, const void *b);

/* A label set. `data` is its encoding: one block of memory without pointers. */
struct labels {
	_Atomic uint32_t refs; /* number of references to the set */
	uint32_t len;          /* length of `data`, in bytes */
	uint64_t hash; /* hash_key() of data; it differs between processes */
	uint8_t data[];
};

/*
 * Make a set from its encoding. ERR_CORRUPT: the bytes are not a valid set
 * (labels out of order, a limit exceeded, text that is not UTF-8). The caller
 * owns a reference to *out.
 */
NODISCARD int labels_decode(struct bytes encoded, struct labels **out,
			    struct err *err);

/* Take another reference and return the set. */
struct labels *labels_ref(struct labels *ls);

/* Drop a reference; the last one frees the set. NULL is a no-op. */
void labels_unref(struct labels *ls);

/*
 * Return the first 8 bytes of the SHA-256 digest of a set. Unlike `hash`, it is
 * the same in each process, and nobody can choose two sets for which it is the
 * same without trying some 2^32.
 */
uint64_t labels_digest(const struct labels *ls);

/* Return the encoding of a set, borrowed from the set. */
static inline struct bytes labels_bytes(const struct labels *ls)
{
	return (struct bytes){ .ptr = ls->data, .len = ls->len };
}

/*
 * An iterator: a position in a set. Usage: while (labels_next(&it, &label)) …
 */
struct labels_iter {
	const uint8_t *pos;
	uint32_t left;
};

/* Start an iteration in name order. The set must outlive the iterator. */
struct labels_iter labels_iter(const struct labels *ls);

/* Store the next label in *out; return false at the end. */
bool labels_next(struct labels_iter *it, struct label *out);

/* Return the value of a label, or the empty string if the set lacks it. */
struct str labels_get(const struct labels *ls, struct str name);

/*
 * Compare two sets as Prometheus does: the first label that differs decides,
 * by its name or, if the names are equal, by its value. A prefix of a set sorts
 * before the set.
 */
int labels_cmp(const struct labels *a, const struct labels *b);

/* Write a set as a JSON object: {"name":"value",…} */
void labels_json(const struct labels *ls, struct json *j);

/*
 * Append a set in the form of a selector that requires all of its labels, for
 * example heap{job="app"}.
 */
void labels_text(const struct labels *ls, struct buf *out);

/*
 * A label set under construction: labels are set and removed in any order, then
 * labels_build() makes an immutable set. The zero value is an empty builder.
 * Its arena owns copies of all text.
 */
struct labels_builder {
	struct arena arena;
	struct label *v;
	size_t count;
	size_t cap;
	struct table by_name; /* indexes in `v`; empty while there are few */
};

/*
 * Set a label, replacing an earlier value. An empty value removes the label.
 */
void labels_set(struct labels_builder *b, struct str name, struct str value);

/* Set all labels of a label set. */
void labels_set_all(struct labels_builder *b, const struct labels *labels);

/* Return the value of a label, borrowed from the builder; empty if not set. */
struct str labels_builder_get(const struct labels_builder *b, struct str name);

/* Free the builder's memory and leave an empty builder. */
void labels_builder_fini(struct labels_builder *b);

/*
 * Make a label set from the builder's labels; the caller owns a reference to
 * *out. Sorts the builder's labels, otherwise leaves the builder as it is.
 * ERR_INVALID: there is no label, text is not UTF-8, a name is empty, or a
 * limit is exceeded. ERR_DENIED: the reserved label LABEL_TENANT is set.
 */
NODISCARD int labels_build(struct labels_builder *b, struct labels **out,
			   struct err *err);

#endif
