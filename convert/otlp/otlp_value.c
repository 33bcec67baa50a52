/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_value.h"

#include <math.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/units.h"

/* Longest text of a value that is not a text itself, in bytes. */
#define VALUE_TEXT_MAX (64 * KIB)

/* The fields of the message AnyValue. */
enum {
	VALUE_STRING = 1,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_DOUBLE,
	VALUE_ARRAY,
	VALUE_MAP,
	VALUE_BYTES,
	VALUE_STRING_INDEX
};

/* The only member of a value: of several, the last counts. */
struct otlp_any {
	uint32_t kind; /* the number of its field; 0: none */
	struct wire_field field;
};

/* Read a value. */
static int otlp_value_any(struct bytes message, struct otlp_any *out,
			  struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };

	*out = (struct otlp_any){ .kind = 0 };
	while (wire_next(&w, &f)) {
		bool is_bytes =
			f.number == VALUE_STRING || f.number == VALUE_ARRAY ||
			f.number == VALUE_MAP || f.number == VALUE_BYTES;
		enum wire_type want = is_bytes                 ? WIRE_BYTES :
				      f.number == VALUE_DOUBLE ? WIRE_64 :
								 WIRE_VARINT;

		if (f.number < VALUE_STRING || f.number > VALUE_STRING_INDEX ||
		    f.type != want)
			continue;
		*out = (struct otlp_any){ (uint32_t)f.number, f };
	}
	return w.bad ? err_set(err, ERR_INVALID, "a value is malformed") : 0;
}

/* The message KeyValue. */
struct otlp_pair {
	struct str key;
	struct bytes value;
};

/* Read a KeyValue, whose key may be a reference. */
static int otlp_value_pair(const struct otlp_tables *t, struct bytes message,
			   struct otlp_pair *out, struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };

	*out = (struct otlp_pair){ .value = { .len = 0 } };
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			out->key = str_from(f.bytes);
		else if (f.number == 2 && f.type == WIRE_BYTES)
			out->value = f.bytes;
		else if (f.number == 3 && f.type == WIRE_VARINT && f.value)
			out->key = otlp_tables_text(t, f.value);
	}
	return w.bad ? err_set(err, ERR_INVALID, "an attribute is malformed") :
		       0;
}

static int otlp_value_json(const struct otlp_tables *t, struct bytes message,
			   int depth, struct json *j, struct err *err);

/* Write the members of an array or of a map as JSON. */
static int otlp_value_json_all(const struct otlp_tables *t,
			       const struct otlp_any *any, int depth,
			       struct json *j, struct err *err)
{
	bool is_map = any->kind == VALUE_MAP;
	struct wire w = wire_init(any->field.bytes);
	struct wire_field f = { 0 };
	int rc = 0;

	json_begin(j, is_map ? '{' : '[');
	while (!rc && !j->out->over && wire_next(&w, &f)) {
		struct otlp_pair pair = { .value = f.bytes };

		if (f.number != 1 || f.type != WIRE_BYTES)
			continue;
		if (is_map)
			rc = otlp_value_pair(t, f.bytes, &pair, err);
		if (!rc && is_map)
			json_key_str(j, pair.key);
		if (!rc)
			rc = otlp_value_json(t, pair.value, depth + 1, j, err);
	}
	json_end(j, is_map ? '}' : ']');
	if (!rc && w.bad)
		rc = err_set(err, ERR_INVALID, "a value is malformed");
	return rc;
}

/* Write a text; one that is too long is not even read. */
static void otlp_value_json_text(struct json *j, struct str text)
{
	if (text.len > VALUE_TEXT_MAX)
		j->out->over = true;
	else
		json_str(j, text);
}

/* Write a value as JSON. */
static int otlp_value_json(const struct otlp_tables *t, struct bytes message,
			   int depth, struct json *j, struct err *err)
{
	struct buf text = buf_init(VALUE_TEXT_MAX);
	struct otlp_any any;
	int rc;

	if (depth > OTLP_DEPTH_MAX)
		return err_set(err, ERR_INVALID,
			       "a value has more than %d levels",
			       OTLP_DEPTH_MAX);
	rc = otlp_value_any(message, &any, err);
	if (rc)
		return rc;
	switch (any.kind) {
	case VALUE_STRING:
		otlp_value_json_text(j, str_from(any.field.bytes));
		break;
	case VALUE_STRING_INDEX:
		otlp_value_json_text(j, otlp_tables_text(t, any.field.value));
		break;
	case VALUE_BOOL:
		json_bool(j, any.field.value != 0);
		break;
	case VALUE_INT:
		json_int(j, (int64_t)any.field.value);
		break;
	case VALUE_DOUBLE:
		json_double(j, wire_double(&any.field));
		break;
	case VALUE_BYTES:
		base64_encode(any.field.bytes, &text);
		j->out->over |= text.over;
		json_str(j, str_from(buf_bytes(&text)));
		break;
	case VALUE_ARRAY:
	case VALUE_MAP:
		rc = otlp_value_json_all(t, &any, depth, j, err);
		break;
	default:
		json_double(j, (double)NAN); /* null */
		break;
	}
	buf_fini(&text);
	return rc;
}

/* Set the text of an attribute whose value is neither a text nor a number. */
static int otlp_value_text(const struct otlp_tables *t, struct bytes message,
			   const struct otlp_any *any, struct arena *arena,
			   struct str *out, struct err *err)
{
	struct buf text = buf_init(VALUE_TEXT_MAX);
	struct json j = json_init(&text);
	int rc = 0;

	if (any->kind == VALUE_BYTES)
		base64_encode(any->field.bytes, &text);
	else if (any->kind)
		rc = otlp_value_json(t, message, 1, &j, err);
	if (!rc && text.over)
		rc = err_set(err, ERR_INVALID,
			     "a value has more than 64 KiB as a text");
	if (!rc)
		*out = arena_str(arena, str_from(buf_bytes(&text)));
	buf_fini(&text);
	return rc;
}

/* Set the value of an attribute. */
static int otlp_value_set(const struct otlp_tables *t, struct bytes message,
			  struct arena *arena, struct otlp_attribute *out,
			  struct err *err)
{
	struct otlp_any any;
	int rc = otlp_value_any(message, &any, err);

	if (rc)
		return rc;
	if (any.kind == VALUE_STRING) {
		out->text = str_from(any.field.bytes);
	} else if (any.kind == VALUE_STRING_INDEX) {
		out->text = otlp_tables_text(t, any.field.value);
	} else if (any.kind == VALUE_INT) {
		out->is_number = true;
		out->number = (int64_t)any.field.value;
	} else {
		return otlp_value_text(t, message, &any, arena, &out->text,
				       err);
	}
	return 0;
}

int otlp_value_read_entry(const struct otlp_tables *t, struct bytes entry,
			  struct arena *arena, struct otlp_attribute *out,
			  struct err *err)
{
	struct bytes value = { .len = 0 };
	struct wire w = wire_init(entry);
	struct wire_field f = { 0 };

	*out = (struct otlp_attribute){ .is_number = false };
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			out->key = otlp_tables_text(t, f.value);
		else if (f.number == 2 && f.type == WIRE_BYTES)
			value = f.bytes;
		else if (f.number == 3 && f.type == WIRE_VARINT)
			out->unit = otlp_tables_text(t, f.value);
	}
	if (w.bad)
		return err_set(err, ERR_INVALID, "an attribute is malformed");
	return otlp_value_set(t, value, arena, out, err);
}

struct str otlp_value_key(const struct otlp_tables *t, struct bytes entry)
{
	struct wire w = wire_init(entry);
	struct wire_field f = { 0 };
	struct str key = str_of("");

	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			key = otlp_tables_text(t, f.value);
	}
	return key;
}

int otlp_value_read_pair(const struct otlp_tables *t, struct bytes pair,
			 struct arena *arena, struct otlp_attribute *out,
			 struct err *err)
{
	struct otlp_pair p;
	int rc = otlp_value_pair(t, pair, &p, err);

	*out = (struct otlp_attribute){ .key = p.key };
	return rc ? rc : otlp_value_set(t, p.value, arena, out, err);
}
