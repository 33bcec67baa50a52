/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML in, on libyaml: a tree with positions, and a strict decoder driven by
 * tables of fields, which reports every error at once as
 * "file:line:col: sentence".
 *
 * Bounds: 10 MB of text, 64 levels, 500 000 nodes after aliases.
 *
 * Ownership: a yaml owns its nodes and all text that decoding hands out, and
 * must outlive what was decoded.
 * Threads: one thread at a time.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define YAML_TEXT_MAX  (10 * MIB)
#define YAML_DEPTH_MAX 64
#define YAML_NODES_MAX 500000

enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP
};

struct yaml_node {
	enum yaml_kind kind;
	bool secret;   /* yaml_secret() decoded it: never shown */
	bool ignored;  /* a key whose value nobody decodes: not shown either */
	bool quoted;   /* a scalar in quotes is text, whatever it looks like */
	unsigned line; /* from 1 */
	unsigned column;     /* from 1 */
	unsigned first_line; /* of a key that stands before in its map, or 0 */
	struct str text;     /* of a scalar, NUL behind it */
	/* Of a list: its items. Of a map: key, value, key, value. */
	struct yaml_node **items;
	size_t count;
	size_t weight; /* nodes below, with aliases written out */
};

struct yaml {
	const char *file; /* for messages; borrowed */
	struct arena arena;
	struct yaml_node *root; /* NULL: nothing but comments */
	struct buf errors;      /* lines */
	size_t error_count;
	struct buf warnings; /* lines */
};

/*
 * Parse text. Syntax errors are added to y->errors, like all others. Call
 * yaml_fini() whatever happens.
 */
void yaml_parse(struct yaml *y, const char *file, struct bytes text);

void yaml_fini(struct yaml *y);

/* An empty tree, for who makes one. */
void yaml_begin(struct yaml *y, const char *file);

/* Add an error or a warning at a node (NULL: the file). */
void yaml_error(struct yaml *y, const struct yaml_node *at, const char *fmt,
		...) PRINTF(3, 4);
void yaml_warn(struct yaml *y, const struct yaml_node *at, const char *fmt, ...)
	PRINTF(3, 4);

/* The line of the first error, without its end; "" for none. */
struct str yaml_first_error(const struct yaml *y);

/* Plain and empty, "~" or "null". A NULL node is null too. */
bool yaml_is_null(const struct yaml_node *n);

/* A path that is relative to the folder of the file, made whole. */
struct str yaml_path(struct yaml *y, struct str path);

/* The value of a key of a map, or NULL. */
const struct yaml_node *yaml_child(const struct yaml_node *map,
				   const char *key);

/* Decode one value into *field; on an error *field stays as it was. */
typedef void (*yaml_fn)(struct yaml *y, const struct yaml_node *n, void *field);

void yaml_text(struct yaml *y, const struct yaml_node *n, void *str_field);
/* Text that yaml_dump() and messages do not show. */
void yaml_secret(struct yaml *y, const struct yaml_node *n, void *str_field);
void yaml_bool(struct yaml *y, const struct yaml_node *n, void *bool_field);
void yaml_int(struct yaml *y, const struct yaml_node *n, void *int64_field);
/* A number of things, at most: 0 is no limit. */
void yaml_limit(struct yaml *y, const struct yaml_node *n, void *int64_field);
/* Milliseconds, as int64_t. */
void yaml_duration(struct yaml *y, const struct yaml_node *n,
		   void *int64_field);
/* Bytes, as int64_t. */
void yaml_size(struct yaml *y, const struct yaml_node *n, void *int64_field);

/* A key of a map: how its value is decoded, and where to. */
struct yaml_field {
	const char *key; /* NULL ends the table */
	yaml_fn decode;  /* NULL: accepted, with the warning `ignored` */
	size_t offset;
	const char *ignored;
};

/*
 * Decode a map into the struct at out. Unknown and duplicate keys are errors
 * that say what ("scrape_config") has no such field.
 */
void yaml_decode(struct yaml *y, const struct yaml_node *map, const char *what,
		 const struct yaml_field *fields, void *out);

/* Whether n is of that kind; if not, an error says so. */
bool yaml_expect(struct yaml *y, const struct yaml_node *n, enum yaml_kind kind,
		 const char *what);

/* Errors for keys that stand twice in a map. */
void yaml_unique_keys(struct yaml *y, const struct yaml_node *map);

#endif
