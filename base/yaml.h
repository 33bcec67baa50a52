/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML input, parsed by libyaml: a tree of nodes with positions, and a strict
 * decoder that is driven by tables of fields and reports all errors at once,
 * each as "file:line:col: sentence".
 *
 * Limits: 10 MiB of text, 64 levels, 500 000 nodes with aliases expanded. They
 * bound the memory and time that hostile input can take.
 *
 * Ownership: a struct yaml owns its nodes and all texts that decoding returns,
 * and must outlive whatever was decoded from it.
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

/*
 * Messages about these limits. Keys and values of an alias count at each use.
 */
#define YAML_TOO_MANY "the document has more than 500000 keys and values"
#define YAML_TOO_DEEP "the document is nested more than 64 levels deep"
_Static_assert(YAML_NODES_MAX == 500000 && YAML_DEPTH_MAX == 64,
	       "the messages have these numbers");

/* The kinds of nodes. */
enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP
};

/*
 * A node of the tree. Aliases are not copied: the node of an anchor occurs in
 * several places.
 */
struct yaml_node {
	enum yaml_kind kind;
	bool secret; /* whether dumps hide the text; set by yaml_secret() */
	/*
	 * whether this is a map key whose value is not decoded, so that dumps
	 * hide the value
	 */
	bool ignored;
	bool quoted; /* whether the scalar is in quotes, and so a text */
	/*
	 * whether an error says that this node has the wrong kind, or is no
	 * text; further errors at this node would only follow from that one
	 */
	bool refused;
	unsigned line;   /* line in the file, from 1; 0: unknown */
	unsigned column; /* column in the line, from 1; 0: unknown */
	/* line of the first occurrence of a duplicate key; else 0 */
	unsigned first_line;
	struct str text; /* text of a scalar, followed by a NUL */
	/* Of a list: its items. Of a map: key, value, key, value. */
	struct yaml_node **items;
	size_t count; /* number of items; a map has two for each pair */
	/* number of nodes in this subtree, with aliases expanded */
	size_t weight;
};

/* A document: its tree and the messages about it. */
struct yaml {
	const char *file;   /* name of the file for messages; borrowed */
	struct arena arena; /* arena of the nodes and decoded texts */
	/* Root node; NULL: empty document, or a syntax error. */
	struct yaml_node *root;
	/* Messages of errors, one per line; at most 64 KiB. */
	struct buf errors;
	size_t error_count; /* number of errors, including those not kept */
	/* Messages of warnings, one per line; at most 64 KiB. */
	struct buf warnings;
};

/*
 * Initialise *y and parse `text` into it; `file` is the name for messages and
 * is borrowed. Syntax errors and exceeded limits are added to y->errors, and
 * y->root is then NULL. The caller calls yaml_fini() in every case.
 */
void yaml_parse(struct yaml *y, const char *file, struct bytes text);

/* Free the tree, all decoded texts and the messages. */
void yaml_fini(struct yaml *y);

/* Initialise *y as an empty document, for parsers of other formats. */
void yaml_begin(struct yaml *y, const char *file);

/*
 * Add an error at the position of the node `at`; if `at` is NULL, the message
 * names only the file. `fmt` has no line end. Nothing is added if the node has
 * the wrong kind and an error has said so (yaml_expect()).
 */
void yaml_error(struct yaml *y, const struct yaml_node *at, const char *fmt,
		...) PRINTF(3, 4);

/*
 * Add a warning, as yaml_error() adds an error; warnings do not count as
 * errors.
 */
void yaml_warn(struct yaml *y, const struct yaml_node *at, const char *fmt, ...)
	PRINTF(3, 4);

/*
 * Return the first error without its line end, or the empty text; the view is
 * valid until the next error.
 */
struct str yaml_first_error(const struct yaml *y);

/*
 * Return 0 if a document has a root and no errors, else ERR_INVALID with the
 * first error as the message.
 */
NODISCARD int yaml_check(const struct yaml *y, struct err *err);

/*
 * Whether a node is NULL, or an unquoted scalar that is empty, "~", "null",
 * "Null" or "NULL".
 */
bool yaml_is_null(const struct yaml_node *n);

/*
 * Resolve a path that is relative to the folder of the document's file. The
 * result is `path` itself or a text in the arena of y.
 */
struct str yaml_path(struct yaml *y, struct str path);

/*
 * Return the value of a key of a map, or NULL when the key is missing or the
 * node is not a map.
 */
const struct yaml_node *yaml_child(const struct yaml_node *map,
				   const char *key);

/*
 * Return the value of a key of a map, or the map itself if the key is missing:
 * the position of an error about this key.
 */
const struct yaml_node *yaml_place(const struct yaml_node *map,
				   const char *key);

/*
 * A decoder: stores the value of node n in *field, whose type depends on the
 * decoder. A decoder reports a value that it cannot decode with yaml_error(),
 * and *field must then not be used.
 */
typedef void (*yaml_fn)(struct yaml *y, const struct yaml_node *n, void *field);

/*
 * Decode a text into a struct str that points into the tree; the YAML value
 * null gives the empty text. A NUL character is an error.
 */
void yaml_text(struct yaml *y, const struct yaml_node *n, void *str_field);

/*
 * Decode a text as yaml_text() does, and replace each "${NAME}" by the variable
 * of the environment, so that machines can share a file. A variable that is
 * absent or empty is an error.
 */
void yaml_env_text(struct yaml *y, const struct yaml_node *n, void *str_field);

/*
 * Decode a text as yaml_text() does and mark the node as secret, so that
 * yaml_dump() hides the text.
 */
void yaml_secret(struct yaml *y, const struct yaml_node *n, void *str_field);

/*
 * Decode one of the words for true and false in YAML 1.1, such as yes or Off,
 * into a bool.
 */
void yaml_bool(struct yaml *y, const struct yaml_node *n, void *bool_field);

/* Decode a whole number in any notation of YAML 1.1 into an int64_t. */
void yaml_int(struct yaml *y, const struct yaml_node *n, void *int64_field);

/*
 * Decode a maximum into an int64_t: a whole number that is not negative, where
 * 0 means no limit.
 */
void yaml_limit(struct yaml *y, const struct yaml_node *n, void *int64_field);

/* Decode a duration such as "1m30s" into milliseconds, an int64_t. */
void yaml_duration(struct yaml *y, const struct yaml_node *n,
		   void *int64_field);

/* Decode a size such as "512MB" into bytes, an int64_t. */
void yaml_size(struct yaml *y, const struct yaml_node *n, void *int64_field);

/*
 * One key that a map may have: how its value is decoded, and into which member
 * of a struct.
 */
struct yaml_field {
	const char *key; /* NULL ends the table */
	/* decodes the value; NULL: the key is ignored with a warning */
	yaml_fn decode;
	size_t offset;       /* offset of the member in the struct */
	const char *ignored; /* why the key is ignored, for the warning */
};

/*
 * Decode a map into the struct at `out`, by a table of the keys it may have;
 * null values leave their members as they were. Unknown and duplicate keys are
 * errors; `what` ("scrape_config") names the map in messages.
 */
void yaml_decode(struct yaml *y, const struct yaml_node *map, const char *what,
		 const struct yaml_field *fields, void *out);

/*
 * Decode a key that is not in a table of fields into the struct at `out`.
 * Returns false, without a message, if it does not know the key either.
 */
typedef bool (*yaml_other_fn)(struct yaml *y, const struct yaml_node *key,
			      const struct yaml_node *value, void *out);

/*
 * Decode a map as yaml_decode() does, but pass keys that are not in the table
 * to `other`.
 */
void yaml_decode_open(struct yaml *y, const struct yaml_node *map,
		      const char *what, const struct yaml_field *fields,
		      yaml_other_fn other, void *out);

/* Return a deep copy of a node in the arena of y. */
struct yaml_node *yaml_copy(struct yaml *y, const struct yaml_node *n);

/*
 * Append the values of a node, with everything in it, to `out`, such that
 * different values have different texts. Positions and the order of keys do not
 * count.
 */
void yaml_print_key(const struct yaml_node *n, struct buf *out);

/*
 * Whether n is of the given kind. If not, adds an error that says of which kind
 * n must be; `what` is the name of n in the message.
 */
bool yaml_expect(struct yaml *y, const struct yaml_node *n, enum yaml_kind kind,
		 const char *what);

/* Report an error for each key that occurs in a map more than once. */
void yaml_unique_keys(struct yaml *y, const struct yaml_node *map);

#endif
