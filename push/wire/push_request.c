/* SPDX-License-Identifier: Apache-2.0 */
#include "push/wire/push_request.h"

#include "base/transcode.h"

enum {
	REQUEST_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME_FIELD = 1,
	LABEL_VALUE_FIELD = 2,
	SAMPLE_PROFILE = 1
};

#define MALFORMED                                                            \
	"the request is not a message push.v1.PushRequest: it is malformed " \
	"or truncated"

/*
 * Read the next field that is a byte string and has this number; false at the
 * end, and after an error, which sets w->bad.
 */
static bool push_request_field(struct wire *w, uint64_t number,
			       struct bytes *out)
{
	struct wire_field f;

	while (wire_next(w, &f)) {
		if (f.number == number && f.type == WIRE_BYTES) {
			*out = f.bytes;
			return true;
		}
	}
	return false;
}

/* Return the last byte string with this number; empty if there is none. */
static struct bytes push_request_last(struct bytes message, uint64_t number)
{
	struct wire w = wire_init(message);
	struct bytes value = { .len = 0 };
	struct bytes found;

	while (push_request_field(&w, number, &found))
		value = found;
	return value;
}

/* Whether a message without messages inside is well-formed. */
static bool push_request_is_sound(struct bytes message)
{
	struct wire w = wire_init(message);
	struct wire_field f;

	while (wire_next(&w, &f))
		;
	return !w.bad;
}

/* Check a series, and add the number of its profiles. */
static int push_request_check_series(struct bytes series, size_t *profiles,
				     struct err *err)
{
	struct wire w = wire_init(series);
	struct wire_field f;
	size_t labels = 0;
	size_t bytes = 0;

	while (!w.bad && wire_next(&w, &f)) {
		if (f.type != WIRE_BYTES || f.number > SERIES_SAMPLES)
			continue;
		w.bad = !push_request_is_sound(f.bytes);
		labels += f.number == SERIES_LABELS;
		bytes += f.number == SERIES_LABELS ? f.bytes.len : 0;
		*profiles += f.number == SERIES_SAMPLES;
	}
	if (w.bad)
		return err_set(err, ERR_INVALID, MALFORMED);
	if (labels > PUSH_LABELS_MAX || bytes > PUSH_LABELS_BYTES_MAX)
		return err_set(
			err, ERR_INVALID,
			"a series of the request has more than %d labels, or more than %d bytes of labels",
			PUSH_LABELS_MAX, PUSH_LABELS_BYTES_MAX);
	if (*profiles > PUSH_PROFILES_MAX)
		return err_set(err, ERR_INVALID,
			       "the request has more than %d profiles",
			       PUSH_PROFILES_MAX);
	return 0;
}

int push_request_check(struct bytes message, size_t *profiles, struct err *err)
{
	struct wire w = wire_init(message);
	struct bytes series;
	int rc = 0;

	*profiles = 0;
	while (!rc && push_request_field(&w, REQUEST_SERIES, &series))
		rc = push_request_check_series(series, profiles, err);
	return w.bad ? err_set(err, ERR_INVALID, MALFORMED) : rc;
}

bool push_request_next(struct wire *message, struct push_series *out)
{
	struct bytes series;

	if (!push_request_field(message, REQUEST_SERIES, &series))
		return false;
	*out = (struct push_series){ .message = series,
				     .samples = wire_init(series) };
	return true;
}

void push_request_labels(const struct push_series *s,
			 struct labels_builder *out)
{
	struct wire w = wire_init(s->message);
	struct bytes label;

	while (push_request_field(&w, SERIES_LABELS, &label))
		labels_set(
			out,
			str_from(push_request_last(label, LABEL_NAME_FIELD)),
			str_from(push_request_last(label, LABEL_VALUE_FIELD)));
}

bool push_request_profile(struct push_series *s, struct bytes *out)
{
	struct bytes sample;

	if (!push_request_field(&s->samples, SERIES_SAMPLES, &sample))
		return false;
	*out = push_request_last(sample, SAMPLE_PROFILE);
	return true;
}

int push_request_from_json(struct bytes json, struct buf *out, struct err *err)
{
	static const struct message_field pair[] = {
		{ .number = 1, .name = "name", .type = FIELD_STRING },
		{ .number = 2, .name = "value", .type = FIELD_STRING },
		{ .number = 0 },
	};
	static const struct message_type label = { "LabelPair", pair };
	static const struct message_field raw[] = {
		{ .number = 1, .name = "raw_profile", .type = FIELD_BYTES },
		{ .number = 0 },
	};
	static const struct message_type sample = { "RawSample", raw };
	static const struct message_field one[] = {
		{ .number = 1,
		  .name = "labels",
		  .type = FIELD_MESSAGE,
		  .repeated = true,
		  .message = &label },
		{ .number = 2,
		  .name = "samples",
		  .type = FIELD_MESSAGE,
		  .repeated = true,
		  .message = &sample },
		{ .number = 0 },
	};
	static const struct message_type series = { "RawProfileSeries", one };
	static const struct message_field all[] = {
		{ .number = 1,
		  .name = "series",
		  .type = FIELD_MESSAGE,
		  .repeated = true,
		  .message = &series },
		{ .number = 0 },
	};
	static const struct message_type request = { "PushRequest", all };

	return transcode_from_json(&request, json, out, err);
}
