/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP value: attributes of resources and samples. Texts and whole numbers stay what
 * they are; values of other kinds become texts of at most 64 KiB
 * (docs/integrations.md).
 *
 * Ownership: texts are borrowed from the message, or are in the arena.
 * Threads: pure functions.
 */
#ifndef CONVERT_OTLP_OTLP_VALUE_H
#define CONVERT_OTLP_OTLP_VALUE_H

#include "base/arena.h"
#include "convert/otlp/otlp_tables.h"

/* Values may be in one another up to this depth. */
#define OTLP_DEPTH_MAX 16

/* An attribute. */
struct otlp_attribute {
	struct str key;
	bool is_number;
	struct str text;
	int64_t number;
	struct str unit; /* of a number; may be empty */
};

/*
 * Read an attribute of the dictionary, the message KeyValueAndUnit. ERR_INVALID: it
 * is malformed, deeper than OTLP_DEPTH_MAX, or too long as a text.
 */
NODISCARD int otlp_value_read_entry(const struct otlp_tables *t,
				    struct bytes entry, struct arena *arena,
				    struct otlp_attribute *out,
				    struct err *err);

/* Return the key of an attribute of the dictionary. */
struct str otlp_value_key(const struct otlp_tables *t, struct bytes entry);

/* The same for an attribute of a resource, the message KeyValue. */
NODISCARD int otlp_value_read_pair(const struct otlp_tables *t,
				   struct bytes pair, struct arena *arena,
				   struct otlp_attribute *out, struct err *err);

#endif
