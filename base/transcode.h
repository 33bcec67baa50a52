/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transcoder: protocol buffers between their wire format and their JSON format,
 * by tables that describe the messages. Handlers then need only the wire format.
 *
 * Source: protobuf.dev/programming-guides/json. Names are written in
 * lowerCamelCase and read in this form or as in the .proto file; numbers of 64
 * bits are written as texts; values of enums are written by their names; what
 * has its default value is left out. Of what is read, unknown fields are
 * ignored, and null means that a field is absent.
 *
 * Ownership: tables are constants.
 * Threads: any.
 */
#ifndef BASE_TRANSCODE_H
#define BASE_TRANSCODE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/* The types of fields. */
enum field_type {
	FIELD_INT64,
	FIELD_UINT64,
	FIELD_INT32,
	FIELD_UINT32,
	FIELD_BOOL,
	FIELD_ENUM,
	FIELD_DOUBLE,
	FIELD_FIXED64, /* unsigned, in eight bytes */
	FIELD_STRING,
	FIELD_BYTES,
	FIELD_HEX, /* bytes that JSON has in hexadecimal, as in OTLP */
	FIELD_MESSAGE
};

/* A value of an enum. */
struct enum_name {
	const char *name; /* NULL ends a table */
	uint32_t value;
};

struct message_type;

/* A field of a message. */
struct message_field {
	uint32_t number;  /* 0 ends a table */
	const char *name; /* as in the .proto file */
	enum field_type type;
	bool repeated;
	const struct message_type *message; /* of FIELD_MESSAGE */
	const struct enum_name *values;     /* of FIELD_ENUM */
};

/* A message. */
struct message_type {
	const char *name; /* for messages of errors */
	const struct message_field *fields;
};

/* Messages may be in one another up to this depth. */
#define TRANSCODE_DEPTH_MAX 16

/*
 * Tell by the header Content-Type whether a message is JSON or in its wire
 * format, as the Connect protocol names them. ERR_MEDIA: neither.
 */
NODISCARD int transcode_format(const char *content_type, bool *is_json,
			       struct err *err);

/*
 * Read a message from JSON, and append its wire format to `out`. ERR_INVALID:
 * the text is no JSON, or a value has the wrong type; ERR_UNSUPPORTED: a value
 * of an enum has an unknown name.
 */
NODISCARD int transcode_from_json(const struct message_type *type,
				  struct bytes json, struct buf *out,
				  struct err *err);

/*
 * Return how much memory transcode_from_json() may take for a text, in bytes, to be
 * taken before: much for each value, and little for a long text.
 */
size_t transcode_json_memory(struct bytes json);

/*
 * Append a message in its wire format to `out` as JSON. Asks the limits while it
 * works; they count the memory of `out`, if its caller has arranged so.
 * ERR_CORRUPT: the wire format is malformed.
 */
NODISCARD int transcode_to_json(const struct message_type *type,
				struct bytes wire, struct buf *out,
				const struct limits *limits, struct err *err);

#endif
