/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/wire/request.h"

#include <stddef.h>

#include "base/wire.h"

/* What is done with the value of a field. */
enum request_kind {
	REQUEST_TEXT,   /* to a struct str */
	REQUEST_TEXTS,  /* added to a struct request_texts */
	REQUEST_NUMBER, /* to an int64_t */
	REQUEST_GIVEN,  /* max_nodes, which may be 0 */
	REQUEST_DOUBLE,
	REQUEST_PRESENT, /* a bool: whether the field is there */
	REQUEST_BYTES,   /* to a struct bytes */
	REQUEST_INNER    /* a message, whose fields are in the same struct */
};

struct request_field {
	uint64_t number; /* 0 ends a table */
	enum request_kind kind;
	size_t offset; /* in struct profile_request */
	const struct request_field *inner;
};

struct request_layout {
	const struct request_field *fields;
};

#define AT(member) offsetof(struct profile_request, member)
#define FIELD(number_, kind_, member_)                        \
	{                                                     \
		(number_), REQUEST_##kind_, AT(member_), NULL \
	}
#define INNER(number_, fields_)                        \
	{                                              \
		(number_), REQUEST_INNER, 0, (fields_) \
	}
#define END                              \
	{                                \
		0, REQUEST_TEXT, 0, NULL \
	}

static const struct request_field location_fields[] = {
	FIELD(1, TEXTS, stacks.call_site),
	END,
};

static const struct request_field filter_fields[] = {
	FIELD(1, TEXTS, stacks.include_names),
	FIELD(2, TEXTS, stacks.exclude_names),
	FIELD(3, TEXTS, stacks.include_regexes),
	FIELD(4, TEXTS, stacks.exclude_regexes),
	END,
};

static const struct request_field stack_fields[] = {
	INNER(1, location_fields),
	FIELD(2, PRESENT, stacks.go_pgo),
	INNER(3, filter_fields),
	END,
};

static const struct request_field range_fields[] = {
	FIELD(1, NUMBER, start),
	FIELD(2, NUMBER, end),
	END,
};

static const struct request_field label_names_fields[] = {
	FIELD(1, TEXTS, matchers),
	FIELD(2, NUMBER, start),
	FIELD(3, NUMBER, end),
	END,
};

static const struct request_field label_values_fields[] = {
	FIELD(1, TEXT, name),
	FIELD(2, TEXTS, matchers),
	FIELD(3, NUMBER, start),
	FIELD(4, NUMBER, end),
	END,
};

static const struct request_field series_fields[] = {
	FIELD(1, TEXTS, matchers),
	FIELD(2, TEXTS, label_names),
	FIELD(3, NUMBER, start),
	FIELD(4, NUMBER, end),
	END,
};

static const struct request_field select_series_fields[] = {
	FIELD(1, TEXT, type_id),
	FIELD(2, TEXT, selector),
	FIELD(3, NUMBER, start),
	FIELD(4, NUMBER, end),
	FIELD(5, TEXTS, group_by),
	FIELD(6, DOUBLE, step),
	FIELD(7, NUMBER, aggregation),
	INNER(8, stack_fields),
	FIELD(9, NUMBER, limit),
	FIELD(10, NUMBER, exemplar_type),
	END,
};

static const struct request_field heatmap_fields[] = {
	FIELD(1, TEXT, type_id),      FIELD(2, TEXT, selector),
	FIELD(3, NUMBER, start),      FIELD(4, NUMBER, end),
	FIELD(5, DOUBLE, step),       FIELD(6, TEXTS, group_by),
	FIELD(7, NUMBER, query_type), FIELD(8, NUMBER, exemplar_type),
	FIELD(9, NUMBER, limit),      END,
};

static const struct request_field stacktraces_fields[] = {
	FIELD(1, TEXT, type_id),
	FIELD(2, TEXT, selector),
	FIELD(3, NUMBER, start),
	FIELD(4, NUMBER, end),
	FIELD(5, GIVEN, max_nodes),
	FIELD(6, NUMBER, format),
	INNER(7, stack_fields),
	FIELD(8, TEXTS, profile_ids),
	FIELD(10, TEXTS, trace_ids),
	FIELD(11, TEXTS, span_ids),
	END,
};

static const struct request_field span_profile_fields[] = {
	FIELD(1, TEXT, type_id),   FIELD(2, TEXT, selector),
	FIELD(3, TEXTS, span_ids), FIELD(4, NUMBER, start),
	FIELD(5, NUMBER, end),     FIELD(6, GIVEN, max_nodes),
	FIELD(7, NUMBER, format),  END,
};

static const struct request_field profile_fields[] = {
	FIELD(1, TEXT, type_id),
	FIELD(2, TEXT, selector),
	FIELD(3, NUMBER, start),
	FIELD(4, NUMBER, end),
	FIELD(5, GIVEN, max_nodes),
	INNER(6, stack_fields),
	FIELD(7, TEXTS, profile_ids),
	FIELD(8, TEXTS, trace_ids),
	END,
};

static const struct request_field diff_fields[] = {
	FIELD(1, BYTES, left),
	FIELD(2, BYTES, right),
	END,
};

static const struct request_field upload_fields[] = {
	FIELD(1, TEXT, name),
	FIELD(2, TEXT, content),
	FIELD(3, GIVEN, max_nodes),
	END,
};

static const struct request_field file_fields[] = {
	FIELD(1, TEXT, id),
	FIELD(2, TEXT, type_id),
	FIELD(3, GIVEN, max_nodes),
	END,
};

static const struct request_field file_diff_fields[] = {
	FIELD(1, TEXT, id),
	FIELD(2, TEXT, other_id),
	FIELD(3, TEXT, type_id),
	FIELD(4, GIVEN, max_nodes),
	END,
};

const struct request_layout request_range = { range_fields };
const struct request_layout request_label_names = { label_names_fields };
const struct request_layout request_label_values = { label_values_fields };
const struct request_layout request_series = { series_fields };
const struct request_layout request_select_series = { select_series_fields };
const struct request_layout request_heatmap = { heatmap_fields };
const struct request_layout request_stacktraces = { stacktraces_fields };
const struct request_layout request_span_profile = { span_profile_fields };
const struct request_layout request_profile = { profile_fields };
const struct request_layout request_diff = { diff_fields };
const struct request_layout request_upload = { upload_fields };
const struct request_layout request_file = { file_fields };
const struct request_layout request_file_diff = { file_diff_fields };

static int request_read_fields(const struct request_field *fields,
			       struct bytes message,
			       struct profile_request *out, struct err *err);

/* Add a text to a list. */
static int request_add_text(struct request_texts *list, struct str text,
			    struct err *err)
{
	if (list->count == REQUEST_LIST_MAX)
		return err_set(err, ERR_INVALID,
			       "a field of the request has more than %d values",
			       REQUEST_LIST_MAX);
	list->v = mem_grow(list->v, list->count, &list->cap, sizeof(*list->v));
	list->v[list->count++] = text;
	return 0;
}

/* The wire type that a field must have. */
static enum wire_type request_wire_type(enum request_kind kind)
{
	return kind == REQUEST_NUMBER || kind == REQUEST_GIVEN ? WIRE_VARINT :
	       kind == REQUEST_DOUBLE                          ? WIRE_64 :
								 WIRE_BYTES;
}

/* Store the value of a field. */
static int request_store(const struct request_field *f,
			 const struct wire_field *w,
			 struct profile_request *out, struct err *err)
{
	void *at = (char *)out + f->offset;

	switch (f->kind) {
	case REQUEST_TEXT:
		*(struct str *)at = str_from(w->bytes);
		return 0;
	case REQUEST_TEXTS:
		return request_add_text(at, str_from(w->bytes), err);
	case REQUEST_GIVEN:
		out->has_max_nodes = true;
		*(int64_t *)at = (int64_t)w->value;
		return 0;
	case REQUEST_NUMBER:
		*(int64_t *)at = (int64_t)w->value;
		return 0;
	case REQUEST_DOUBLE:
		*(double *)at = wire_double(w);
		return 0;
	case REQUEST_PRESENT:
		*(bool *)at = true;
		return 0;
	case REQUEST_BYTES:
		*(struct bytes *)at = w->bytes;
		return 0;
	default:
		return request_read_fields(f->inner, w->bytes, out, err);
	}
}

/* Read the fields of a message. Unknown ones are ignored. */
static int request_read_fields(const struct request_field *fields,
			       struct bytes message,
			       struct profile_request *out, struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field one;
	int rc = 0;

	while (!rc && wire_next(&w, &one)) {
		for (const struct request_field *f = fields; f->number; f++) {
			if (f->number != one.number)
				continue;
			rc = request_wire_type(f->kind) == one.type ?
				     request_store(f, &one, out, err) :
				     err_set(err, ERR_INVALID,
					     "field %d of the request has the wrong type",
					     (int)f->number);
			break;
		}
	}
	if (!rc && w.bad)
		rc = err_set(err, ERR_INVALID, "the request is malformed");
	return rc;
}

/* Remove names that were in a list before. */
static int request_unite_labels(struct request_texts *list, struct err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		size_t k = 0;

		while (k < kept && !str_eq(list->v[k], list->v[i]))
			k++;
		if (k < kept)
			continue;
		if (kept == REQUEST_LABELS_MAX)
			return err_set(err, ERR_INVALID,
				       "more than %d labels are asked for",
				       REQUEST_LABELS_MAX);
		list->v[kept++] = list->v[i];
	}
	list->count = kept;
	return 0;
}

int request_read(const struct request_layout *layout, struct bytes message,
		 struct profile_request *out, struct err *err)
{
	int rc;

	*out = (struct profile_request){ .step = 0 };
	rc = request_read_fields(layout->fields, message, out, err);
	if (!rc)
		rc = request_unite_labels(&out->label_names, err);
	return rc ? rc : request_unite_labels(&out->group_by, err);
}

void request_fini(struct profile_request *r)
{
	struct request_texts *lists[] = {
		&r->matchers,
		&r->label_names,
		&r->group_by,
		&r->stacks.call_site,
		&r->stacks.include_names,
		&r->stacks.exclude_names,
		&r->stacks.include_regexes,
		&r->stacks.exclude_regexes,
		&r->profile_ids,
		&r->trace_ids,
		&r->span_ids,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		mem_free(lists[i]->v);
}
