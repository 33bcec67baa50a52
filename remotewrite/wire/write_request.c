/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/wire/write_request.h"

/* Field numbers, as in conprof's messages (docs/format/remote-write.md). */
enum {
	REQUEST_SERIES = 1,
	REQUEST_TENANT = 2,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME_FIELD = 1,
	LABEL_VALUE_FIELD = 2,
	SAMPLE_VALUE = 1,
	SAMPLE_TIMESTAMP = 2
};

/*
 * A message with the wire types that its fields 1 and 2 must have. All four
 * messages have only these two known fields.
 */
struct write_message {
	const char *name;
	enum wire_type types[2];
};

static const struct write_message request_message = { "WriteRequest",
						      { WIRE_BYTES,
							WIRE_BYTES } };
static const struct write_message series_message = { "ProfileSeries",
						     { WIRE_BYTES,
						       WIRE_BYTES } };
static const struct write_message label_message = { "Label",
						    { WIRE_BYTES,
						      WIRE_BYTES } };
static const struct write_message sample_message = { "Sample",
						     { WIRE_BYTES,
						       WIRE_VARINT } };

/*
 * Read the next field that is known, and skip unknown ones. Returns 1, or 0 at
 * the end of the message. ERR_INVALID: the message is malformed, or a known
 * field has a wrong wire type.
 */
static int next_field(struct wire *w, const struct write_message *m,
		      struct wire_field *f, struct err *err)
{
	while (wire_next(w, f)) {
		if (f->number < 1 || f->number > 2)
			continue;
		if (f->type == m->types[f->number - 1])
			return 1;
		return err_set(
			err, ERR_INVALID,
			"the request is not in the format of everprof's remote write (Prometheus, for example, sends metrics): field %d of message %s has wire type %d, not %d",
			(int)f->number, m->name, (int)f->type,
			(int)m->types[f->number - 1]);
	}
	return w->bad ?
		       err_set(err, ERR_INVALID,
			       "the request's protobuf message %s is malformed or truncated",
			       m->name) :
		       0;
}

/* Check a message whose fields contain no further messages. */
static int check_flat(struct bytes b, const struct write_message *m,
		      struct err *err)
{
	struct wire w = wire_init(b);
	struct wire_field f;
	int rc;

	do
		rc = next_field(&w, m, &f, err);
	while (rc > 0);
	return rc;
}

/* Check a series and count its samples. */
static int check_series(struct bytes b, struct write_request_size *size,
			struct err *err)
{
	struct wire w = wire_init(b);
	struct wire_field f;
	int rc;

	size->series++;
	while ((rc = next_field(&w, &series_message, &f, err)) > 0) {
		bool is_sample = f.number == SERIES_SAMPLES;

		rc = check_flat(f.bytes,
				is_sample ? &sample_message : &label_message,
				err);
		if (rc)
			return rc;
		size->samples += is_sample;
		if (size->samples > WRITE_SAMPLES_MAX)
			return err_set(err, ERR_INVALID,
				       "the request has more than %d samples",
				       WRITE_SAMPLES_MAX);
	}
	return rc;
}

int write_request_check(struct bytes message, struct write_request_size *out,
			struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f;
	int rc;

	*out = (struct write_request_size){ 0 };
	while ((rc = next_field(&w, &request_message, &f, err)) > 0) {
		if (f.number == REQUEST_TENANT && f.bytes.len)
			return err_set(
				err, ERR_INVALID,
				"the request names a tenant; tenants are not supported");
		rc = f.number == REQUEST_SERIES ?
			     check_series(f.bytes, out, err) :
			     0;
		if (rc)
			return rc;
	}
	return rc;
}

bool write_request_next(struct wire *w, struct write_series *out)
{
	struct wire_field f;

	while (next_field(w, &request_message, &f, NULL) > 0) {
		if (f.number != REQUEST_SERIES)
			continue;
		*out = (struct write_series){ .message = f.bytes,
					      .samples = wire_init(f.bytes) };
		return true;
	}
	return false;
}

/* Decode a Sample. Of a field that occurs more than once, the last counts. */
static struct write_sample sample_of(struct bytes b)
{
	struct wire w = wire_init(b);
	struct write_sample s = { 0 };
	struct wire_field f;

	while (next_field(&w, &sample_message, &f, NULL) > 0) {
		if (f.number == SAMPLE_VALUE)
			s.value = f.bytes;
		else
			s.ms = (int64_t)f.value;
	}
	return s;
}

bool write_series_next(struct write_series *s, struct write_sample *out)
{
	struct wire_field f;

	while (next_field(&s->samples, &series_message, &f, NULL) > 0) {
		if (f.number != SERIES_SAMPLES)
			continue;
		*out = sample_of(f.bytes);
		return true;
	}
	return false;
}

/* Decode a Label. */
static struct label label_of(struct bytes b)
{
	struct wire w = wire_init(b);
	struct label l = { 0 };
	struct wire_field f;

	while (next_field(&w, &label_message, &f, NULL) > 0) {
		if (f.number == LABEL_NAME_FIELD)
			l.name = str_from(f.bytes);
		else
			l.value = str_from(f.bytes);
	}
	return l;
}

/*
 * Add the labels of a series to the builder. A label with an empty value
 * counts as missing, as in Prometheus.
 */
static int add_labels(const struct write_series *s, struct labels_builder *b,
		      struct err *err)
{
	struct wire w = wire_init(s->message);
	struct wire_field f;

	while (next_field(&w, &series_message, &f, NULL) > 0) {
		struct label l;

		if (f.number != SERIES_LABELS)
			continue;
		l = label_of(f.bytes);
		if (labels_builder_get(b, l.name).len)
			return err_set(err, ERR_INVALID,
				       "the label \"%.*s\" occurs twice",
				       STR_ARG(l.name));
		if (b->count > LABELS_MAX)
			break; /* labels_build() refuses that many */
		labels_set(b, l.name, l.value);
	}
	return 0;
}

int write_series_labels(const struct write_series *s, struct labels **out,
			struct err *err)
{
	struct labels_builder b = { 0 };
	int rc = add_labels(s, &b, err);

	if (!rc && !labels_builder_get(&b, str_of(LABEL_NAME)).len)
		rc = err_set(
			err, ERR_INVALID,
			"the label __name__, the profile type, is missing");
	if (!rc)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}
