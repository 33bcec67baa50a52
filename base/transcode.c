/* SPDX-License-Identifier: Apache-2.0 */
#include "base/transcode.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/wire.h"
#include "base/wire_write.h"
#include "base/yaml_json.h"

/* Longest name of a field, with its NUL. */
#define NAME_MAX_BYTES 64

/* Write the name of a field in lowerCamelCase. */
static void transcode_name(const char *name, char out[NAME_MAX_BYTES])
{
	size_t n = 0;
	char before = 0;

	for (; *name && n + 1 < NAME_MAX_BYTES; name++) {
		char c = *name;

		if (before == '_' && c >= 'a' && c <= 'z')
			c = (char)(c ^ ('a' ^ 'A'));
		if (c != '_')
			out[n++] = c;
		before = *name;
	}
	out[n] = 0;
}

/* Return the value of a key of a JSON object; NULL: absent, or null. */
static const struct yaml_node *transcode_value(const struct yaml_node *map,
					       const struct message_field *f)
{
	char camel[NAME_MAX_BYTES];
	const struct yaml_node *n;

	transcode_name(f->name, camel);
	n = yaml_child(map, camel);
	if (!n)
		n = yaml_child(map, f->name);
	return yaml_is_null(n) ? NULL : n;
}

/* ERR_INVALID: a value has not the type of its field. */
static int transcode_wrong(const struct message_field *f, const char *want,
			   struct err *err)
{
	return err_set(err, ERR_INVALID, "field \"%s\": expected %s", f->name,
		       want);
}

/* Read a whole number, which may be written as 1e3, or as a text. */
static int transcode_integer(const struct message_field *f, struct str text,
			     int64_t *out, struct err *err)
{
	double d;

	if (str_to_i64(text, out))
		return 0;
	/* Beyond 2^53, a double is not every whole number. */
	if (!str_to_double(text, &d) || d != floor(d) || fabs(d) > 0x1p53)
		return transcode_wrong(f, "a whole number", err);
	*out = (int64_t)d;
	return 0;
}

/* Read an unsigned number. *out has its 64 bits: one from 2^63 on is negative there. */
static int transcode_unsigned(const struct message_field *f, struct str text,
			      int64_t *out, struct err *err)
{
	uint64_t v = 0;

	for (size_t i = 0; i < text.len; i++) {
		int digit = text.ptr[i] - '0';

		if (digit < 0 || digit > 9 ||
		    __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return transcode_integer(f, text, out, err);
	}
	*out = (int64_t)v;
	return text.len ? 0 : transcode_wrong(f, "a whole number", err);
}

/* Read the name or the number of a value of an enum. */
static int transcode_enum(const struct message_field *f,
			  const struct yaml_node *n, int64_t *out,
			  struct err *err)
{
	for (const struct enum_name *v = f->values; v->name; v++) {
		if (str_is(n->text, v->name)) {
			*out = v->value;
			return 0;
		}
	}
	if (!n->quoted)
		return transcode_integer(f, n->text, out, err);
	return err_set(err, ERR_UNSUPPORTED,
		       "field \"%s\": unknown value \"%.*s\"", f->name,
		       STR_ARG(str_clip(n->text, 100)));
}

/* Read base64 in either alphabet, with or without padding. */
static int transcode_base64(const struct message_field *f, struct str text,
			    struct buf *out, struct err *err)
{
	struct buf digits = buf_init(text.len + 4);
	struct buf bytes = buf_init(text.len + 1);
	bool ok;

	for (size_t i = 0; i < text.len; i++)
		buf_byte(&digits, text.ptr[i] == '-' ? '+' :
				  text.ptr[i] == '_' ? '/' :
						       (uint8_t)text.ptr[i]);
	while (digits.len % 4)
		buf_byte(&digits, '=');
	ok = base64_decode(str_from(buf_bytes(&digits)), &bytes);
	if (ok)
		wire_write_bytes(out, f->number, buf_bytes(&bytes));
	buf_fini(&digits);
	buf_fini(&bytes);
	return ok ? 0 : transcode_wrong(f, "base64", err);
}

/* Read hexadecimal digits. */
static int transcode_hex(const struct message_field *f, struct str text,
			 struct buf *out, struct err *err)
{
	struct buf bytes = { 0 };
	bool ok = text.len % 2 == 0;

	for (size_t i = 0; i + 1 < text.len && ok; i += 2) {
		const char pair[3] = { text.ptr[i], text.ptr[i + 1], 0 };

		ok = isxdigit((unsigned char)pair[0]) &&
		     isxdigit((unsigned char)pair[1]);
		buf_byte(&bytes, (uint8_t)strtoul(pair, NULL, 16));
	}
	if (ok)
		wire_write_bytes(out, f->number, buf_bytes(&bytes));
	buf_fini(&bytes);
	return ok ? 0 : transcode_wrong(f, "hexadecimal digits", err);
}

/* Write a number, also 0: a client that sends it may mean it. */
static void transcode_put_number(struct buf *out, uint32_t number,
				 uint64_t value)
{
	enc_uvarint(out, (uint64_t)number << 3 | WIRE_VARINT);
	enc_uvarint(out, value);
}

/* Write a number of eight bytes. */
static void transcode_put_fixed64(struct buf *out, uint32_t number, uint64_t v)
{
	enc_uvarint(out, (uint64_t)number << 3 | WIRE_64);
	for (int i = 0; i < 8; i++)
		buf_byte(out, (uint8_t)(v >> 8 * i));
}

/* Read a scalar. */
static int transcode_scalar(const struct message_field *f,
			    const struct yaml_node *n, struct buf *out,
			    struct err *err)
{
	int64_t v = 0;
	double d;
	int rc = 0;

	if (n->kind != YAML_SCALAR)
		return transcode_wrong(f, "a single value", err);
	switch (f->type) {
	case FIELD_STRING:
		if (!n->quoted)
			return transcode_wrong(f, "a text", err);
		wire_write_bytes(out, f->number, bytes_of(n->text));
		return 0;
	case FIELD_BYTES:
		return transcode_base64(f, n->text, out, err);
	case FIELD_HEX:
		return transcode_hex(f, n->text, out, err);
	case FIELD_FIXED64:
		rc = transcode_unsigned(f, n->text, &v, err);
		if (!rc)
			transcode_put_fixed64(out, f->number, (uint64_t)v);
		return rc;
	case FIELD_DOUBLE:
		if (!str_to_double(n->text, &d))
			return transcode_wrong(f, "a number", err);
		wire_write_double(out, f->number, d);
		return 0;
	case FIELD_BOOL:
		v = str_is(n->text, "true");
		if (n->quoted || (!v && !str_is(n->text, "false")))
			return transcode_wrong(f, "true or false", err);
		break;
	case FIELD_ENUM:
		rc = transcode_enum(f, n, &v, err);
		break;
	case FIELD_UINT64:
		rc = transcode_unsigned(f, n->text, &v, err);
		break;
	default:
		rc = transcode_integer(f, n->text, &v, err);
		break;
	}
	if (!rc)
		transcode_put_number(out, f->number, (uint64_t)v);
	return rc;
}

static int transcode_object(const struct message_type *type,
			    const struct yaml_node *map, unsigned depth,
			    struct buf *out, struct err *err);

/* Read one value of a field. */
static int transcode_one(const struct message_field *f,
			 const struct yaml_node *n, unsigned depth,
			 struct buf *out, struct err *err)
{
	struct buf inner = { 0 };
	int rc;

	if (f->type != FIELD_MESSAGE)
		return transcode_scalar(f, n, out, err);
	rc = transcode_object(f->message, n, depth + 1, &inner, err);
	if (!rc)
		wire_write_bytes(out, f->number, buf_bytes(&inner));
	buf_fini(&inner);
	return rc;
}

/* Read an object. */
static int transcode_object(const struct message_type *type,
			    const struct yaml_node *map, unsigned depth,
			    struct buf *out, struct err *err)
{
	int rc = 0;

	if (map->kind != YAML_MAP)
		return err_set(err, ERR_INVALID, "expected an object: a %s",
			       type->name);
	if (depth > TRANSCODE_DEPTH_MAX)
		return err_set(err, ERR_INVALID,
			       "the objects are nested too deep");
	for (const struct message_field *f = type->fields; f->number && !rc;
	     f++) {
		const struct yaml_node *n = transcode_value(map, f);

		if (!n)
			continue;
		if (!f->repeated) {
			rc = transcode_one(f, n, depth, out, err);
			continue;
		}
		if (n->kind != YAML_LIST)
			rc = transcode_wrong(f, "a list", err);
		for (size_t i = 0; !rc && i < n->count; i++)
			rc = transcode_one(f, n->items[i], depth, out, err);
	}
	return rc;
}

/* What a value takes in the tree of the parser and in ours, in bytes. */
#define VALUE_MEMORY 256

size_t transcode_json_memory(struct bytes json)
{
	size_t values = 1;

	for (size_t i = 0; i < json.len; i++)
		values += json.ptr[i] == ',' || json.ptr[i] == ':' ||
			  json.ptr[i] == '[' || json.ptr[i] == '{';
	return values * VALUE_MEMORY + 4 * json.len;
}

int transcode_format(const char *content_type, bool *is_json, struct err *err)
{
	struct str rest;
	struct str type = str_trim(str_cut(str_of(content_type), ';', &rest));

	*is_json = str_is_nocase(type, "application/json");
	if (*is_json || str_is_nocase(type, "application/proto"))
		return 0;
	return err_set(
		err, ERR_MEDIA,
		"unsupported Content-Type \"%.100s\": use application/proto or application/json",
		content_type);
}

int transcode_from_json(const struct message_type *type, struct bytes json,
			struct buf *out, struct err *err)
{
	struct yaml y;
	int rc;

	yaml_parse_json(&y, "the body", json);
	rc = yaml_check(&y, err);
	if (!rc)
		rc = transcode_object(type, y.root, 1, out, err);
	yaml_fini(&y);
	return rc;
}

/* A message while it is written as JSON. */
struct transcoding {
	struct json j;
	const struct limits *limits;
	struct growth_meter meter;
};

static int transcode_message(struct transcoding *t,
			     const struct message_type *type, struct bytes wire,
			     unsigned depth, struct err *err);

/* Write a value of an enum: its name, or its number if it has none. */
static void transcode_put_enum(struct transcoding *t,
			       const struct message_field *f, uint64_t value)
{
	for (const struct enum_name *v = f->values; v->name; v++) {
		if (v->value == value) {
			json_text(&t->j, v->name);
			return;
		}
	}
	json_int(&t->j, (int32_t)value);
}

/* Write a number. */
static void transcode_put_value(struct transcoding *t,
				const struct message_field *f,
				const struct wire_field *w)
{
	switch (f->type) {
	case FIELD_INT64:
		json_int_text(&t->j, (int64_t)w->value);
		break;
	case FIELD_UINT64:
	case FIELD_FIXED64:
		json_uint_text(&t->j, w->value);
		break;
	case FIELD_UINT32:
		json_int(&t->j, (uint32_t)w->value);
		break;
	case FIELD_BOOL:
		json_bool(&t->j, w->value);
		break;
	case FIELD_ENUM:
		transcode_put_enum(t, f, w->value);
		break;
	case FIELD_DOUBLE:
		json_double(&t->j, wire_double(w));
		break;
	default:
		json_int(&t->j, (int32_t)w->value);
		break;
	}
}

/* Write the numbers of a packed field. */
static int transcode_put_packed(struct transcoding *t,
				const struct message_field *f,
				struct bytes packed, struct err *err)
{
	struct wire w = wire_init(packed);
	int rc = 0;

	while (w.pos < w.end && !rc) {
		struct wire_field one = { .value = wire_varint(&w) };

		if (!w.bad)
			transcode_put_value(t, f, &one);
		rc = limits_meter(t->limits, &t->meter, 1, 0, err);
	}
	if (!rc && w.bad)
		return err_set(err, ERR_CORRUPT, "malformed numbers");
	return rc;
}

/* Whether a field has a wire type that its type may have. */
static bool transcode_fits(const struct message_field *f,
			   const struct wire_field *w)
{
	if (f->type == FIELD_STRING || f->type == FIELD_BYTES ||
	    f->type == FIELD_HEX || f->type == FIELD_MESSAGE)
		return w->type == WIRE_BYTES;
	if (f->type == FIELD_DOUBLE || f->type == FIELD_FIXED64)
		return w->type == WIRE_64;
	return w->type == WIRE_VARINT || (w->type == WIRE_BYTES && f->repeated);
}

/* Write one value of a field as it is in the message. */
static int transcode_put(struct transcoding *t, const struct message_field *f,
			 const struct wire_field *w, unsigned depth,
			 struct err *err)
{
	struct buf digits = { 0 };

	if (!transcode_fits(f, w))
		return err_set(err, ERR_CORRUPT,
			       "a field has the wrong type in the message");
	if (f->type == FIELD_MESSAGE)
		return transcode_message(t, f->message, w->bytes, depth + 1,
					 err);
	if (f->type == FIELD_STRING) {
		json_str(&t->j, str_from(w->bytes));
	} else if (f->type == FIELD_BYTES) {
		base64_encode(w->bytes, &digits);
		json_str(&t->j, str_from(buf_bytes(&digits)));
		buf_fini(&digits);
	} else if (f->type == FIELD_HEX) {
		for (size_t i = 0; i < w->bytes.len; i++)
			buf_printf(&digits, "%02x", w->bytes.ptr[i]);
		json_str(&t->j, str_from(buf_bytes(&digits)));
		buf_fini(&digits);
	} else if (w->type == WIRE_BYTES) {
		return transcode_put_packed(t, f, w->bytes, err);
	} else {
		transcode_put_value(t, f, w);
	}
	return 0;
}

/* Whether a value that is in a message is the default, which JSON leaves out. */
static bool transcode_is_default(const struct message_field *f,
				 const struct wire_field *w)
{
	if (f->repeated || f->type == FIELD_MESSAGE)
		return false;
	return w->type == WIRE_BYTES ? !w->bytes.len : !w->value;
}

/* Write the values of one field, wherever they are in the message. */
static int transcode_field(struct transcoding *t, const struct message_field *f,
			   struct bytes wire, unsigned depth, struct err *err)
{
	struct wire w = wire_init(wire);
	struct wire_field one;
	char name[NAME_MAX_BYTES];
	bool began = false;
	int rc = 0;

	while (!rc && wire_next(&w, &one)) {
		/* Long texts are work, too, and memory of the answer. */
		rc = limits_meter(
			t->limits, &t->meter,
			1 + (one.type == WIRE_BYTES && one.number == f->number ?
				     one.bytes.len / 64 :
				     0),
			0, err);
		if (rc || one.number != f->number ||
		    transcode_is_default(f, &one))
			continue;
		/* Of a field that is not repeated, the first value counts. */
		if (began && !f->repeated)
			break;
		if (!began) {
			transcode_name(f->name, name);
			json_key(&t->j, name);
			if (f->repeated)
				json_begin(&t->j, '[');
		}
		began = true;
		rc = transcode_put(t, f, &one, depth, err);
	}
	if (began && f->repeated)
		json_end(&t->j, ']');
	if (!rc && w.bad)
		return err_set(err, ERR_CORRUPT, "malformed message");
	return rc;
}

/* Write a message as an object. */
static int transcode_message(struct transcoding *t,
			     const struct message_type *type, struct bytes wire,
			     unsigned depth, struct err *err)
{
	int rc = depth > TRANSCODE_DEPTH_MAX ?
			 err_set(err, ERR_CORRUPT,
				 "the messages are nested too deep") :
			 0;

	json_begin(&t->j, '{');
	for (const struct message_field *f = type->fields; f->number && !rc;
	     f++)
		rc = transcode_field(t, f, wire, depth, err);
	json_end(&t->j, '}');
	return rc;
}

int transcode_to_json(const struct message_type *type, struct bytes wire,
		      struct buf *out, const struct limits *limits,
		      struct err *err)
{
	struct transcoding t = { .j = json_init(out), .limits = limits };

	return transcode_message(&t, type, wire, 1, err);
}
