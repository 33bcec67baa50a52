/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_receiver.h"

#include <strings.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/units.h"
#include "ingest/profile_store.h"
#include "push/labels/push_labels.h"
#include "push/labels/push_name.h"
#include "push/labels/push_types.h"
#include "push/wire/multipart.h"
#include "push/wire/push_request.h"

/*
 * How many times are tried for a profile whose time is taken. Some clients
 * round times to seconds, and all replicas of a program without labels of their
 * own are one series.
 */
#define PUSH_NUDGES 999

/* Times before 2001 are no times of profiles: clients leave them out. */
#define PUSH_TIME_MIN_MS 978307200000

/* The error message lists refused profiles up to this number of bytes. */
#define REFUSED_TEXT_MAX 360

/* The counters of a receiver, one of each for each protocol. */
struct push_metrics {
	struct metric *requests[PUSH_PROTOCOLS];
	struct metric *failed[PUSH_PROTOCOLS];
	struct metric *stored[PUSH_PROTOCOLS];
	struct metric *refused[PUSH_PROTOCOLS];
	struct metric *nudged;
};

struct push_receiver {
	struct push_receiver_options o;
	struct push_metrics metrics;
	struct profile_store *store;
};

/* One request while it is handled. */
struct pushing {
	struct push_receiver *r;
	const struct push_input *in;
	struct store_tools *tools;
	struct push_origin origin;
	struct push_types types;
	int64_t from_ms; /* 0: the request does not say it */
	size_t profiles; /* of the request */
	size_t stored;
	size_t refused;
	/* LSNs of the first and the last profile that have to be durable. */
	uint64_t first;
	uint64_t last;
	struct buf why; /* which profiles were refused, and why */
	/*
	 * The first profile whose time the clock cannot judge yet; code 0:
	 * none. The others are stored, and the client sends all of them again.
	 */
	struct err later;
};

#define PUSH_COUNTER(field_, text_, name_, help_)                      \
	METRIC_ROW(COUNTER, struct push_metrics, field_, name_, help_, \
		   .label = "protocol", .value = (text_))
#define PUSH_COUNTERS(member_, name_, help_)                        \
	PUSH_COUNTER(member_[PUSH_INGEST], "ingest", name_, help_), \
		PUSH_COUNTER(member_[PUSH_V1], "push", name_, help_)

static const struct metric_row push_rows[] = {
	PUSH_COUNTERS(requests, "everprof_push_requests_total",
		      "Requests by which clients pushed profiles."),
	PUSH_COUNTERS(
		failed, "everprof_push_requests_failed_total",
		"Requests by which clients pushed profiles that failed or were refused, completely or in part."),
	PUSH_COUNTERS(stored, "everprof_push_profiles_stored_total",
		      "Pushed profiles that are durable, duplicates included."),
	PUSH_COUNTERS(refused, "everprof_push_profiles_refused_total",
		      "Pushed profiles that will never be accepted."),
	METRIC_ROW(
		COUNTER, struct push_metrics, nudged,
		"everprof_push_collisions_total",
		"Pushed profiles that were stored up to a second later than their time, because another profile of the series had the time."),
};

struct push_receiver *push_receiver_new(const struct push_receiver_options *o)
{
	struct push_receiver *r = mem_new(struct push_receiver);

	r->o = *o;
	r->store = profile_store_new(&(struct profile_store_options){
		.appender = o->appender,
		.limiter = o->limiter,
		.max_profile = o->max_profile });
	metrics_register(o->metrics, push_rows, ARRAY_SIZE(push_rows),
			 &r->metrics);
	return r;
}

void push_receiver_free(struct push_receiver *r)
{
	if (!r)
		return;
	profile_store_free(r->store);
	mem_free(r);
}

/*
 * Parse a time of a request: seconds, milliseconds, microseconds or nanoseconds
 * since 1970, which differ by their size, or a time as in queries, such as
 * now-10s. 0: there is none.
 */
static int push_time_parse(struct str text, int64_t now_ms, int64_t *ms,
			   struct err *err)
{
	int64_t n;

	*ms = 0;
	if (!text.len)
		return 0;
	if (!str_to_i64(text, &n)) {
		if (!time_parse(text, now_ms, ms, NULL))
			return 0;
		return err_set(
			err, ERR_INVALID,
			"parameter \"from\": expected a Unix time or a time such as now-10s, not \"%.*s\"",
			STR_ARG(str_clip(text, 40)));
	}
	if (n < 0)
		return err_set(err, ERR_INVALID,
			       "parameter \"from\" must not be negative");
	/* Each bound is in the year 2286, or in 1970. */
	if (n < 10000000000)
		*ms = n * 1000;
	else if (n < 10000000000000)
		*ms = n;
	else if (n < 10000000000000000)
		*ms = n / 1000;
	else
		*ms = n / 1000000;
	return 0;
}

/* Return the time of a profile: its own, that of the request, or now. */
static int64_t pushing_time(const struct pushing *p, const struct scan *scan)
{
	int64_t own = scan->time_ns / 1000000;

	if (own >= PUSH_TIME_MIN_MS)
		return own;
	return p->from_ms >= PUSH_TIME_MIN_MS ? p->from_ms :
						clock_ms(p->r->o.clock);
}

/* Count a refused profile, and list it for the error message. */
static void pushing_refuse(struct pushing *p, const struct labels *labels,
			   const struct err *why)
{
	p->refused++;
	metric_add(p->r->metrics.refused[p->in->protocol], 1);
	if (p->why.len >= REFUSED_TEXT_MAX)
		return;
	if (p->why.len)
		buf_str(&p->why, "; ");
	buf_str(&p->why, why->msg);
	if (labels) {
		struct buf text = { 0 };

		/* Long labels must not push the next reason out. */
		labels_text(labels, &text);
		buf_printf(&p->why, " (%.*s)",
			   STR_ARG(str_clip(str_from(buf_bytes(&text)), 200)));
		buf_fini(&text);
	}
}

/*
 * Mark a series whose values are increments. Such values look like counts since
 * the start of a process, because the profile has no duration.
 */
static void pushing_mark_delta(const struct pushing *p, const struct scan *scan,
			       struct labels_builder *b)
{
	static const char library[] = "com.grafana.pyroscope/";
	struct str scope = labels_builder_get(b, str_of("otel.scope.name"));
	/*
	 * A bare body may be a profile of the process since its start, which
	 * somebody sends by hand; SDKs send a form, or name their library.
	 */
	bool sends_increments = str_starts(scope, str_of(library)) ||
				(p->in->protocol == PUSH_INGEST &&
				 multipart_is(p->in->content_type));

	sends_increments &= !push_types_cumulative(&p->types);

	if (sends_increments && !scan->duration_ns &&
	    push_types_count(&scan->types))
		labels_set(b, str_of(LABEL_DELTA), str_of("false"));
}

/*
 * Make the labels of the unpacked profile. `sent` has those of the client.
 */
static int pushing_labels(const struct pushing *p, const struct scan *scan,
			  const struct labels_builder *sent,
			  struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	int rc;

	for (size_t i = 0; i < sent->count; i++)
		labels_set(&b, sent->v[i].name, sent->v[i].value);
	if (p->in->protocol == PUSH_INGEST)
		labels_set(&b, str_of(LABEL_NAME),
			   push_types_name(&p->types, &scan->types));
	pushing_mark_delta(p, scan, &b);
	push_labels_complete(&b, &p->origin);
	rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/* Append the unpacked profile. */
static int pushing_append(struct pushing *p, const struct scan *scan,
			  struct labels *labels, struct err *err)
{
	const struct store_order order = { .labels = labels,
					   .ms = pushing_time(p, scan),
					   .pack = true,
					   .nudges = PUSH_NUDGES };
	struct store_receipt receipt = { .lsn = 0 };
	int rc = profile_store_append(p->tools, &order, &receipt, err);

	if (rc)
		return rc;
	if (!p->stored++)
		p->first = receipt.lsn;
	p->last = receipt.lsn;
	metric_add(p->r->metrics.nudged, receipt.nudged > 0);
	return 0;
}

/* ERR_TIMEOUT: the request has taken too long. */
static int pushing_check_time(const struct pushing *p, struct err *err)
{
	if (clock_mono_ns() <= p->in->deadline_ns)
		return 0;
	return err_set(
		err, ERR_TIMEOUT,
		"the profiles of the request could not be stored in time (--query.timeout)");
}

/*
 * Store one profile with the labels that the client sent. Returns an error only
 * if it is temporary (profile_store_may_retry()); with other errors, the profile
 * is refused.
 */
static int pushing_store(struct pushing *p, const struct labels_builder *sent,
			 struct bytes profile, struct err *err)
{
	const struct unpacked *u;
	struct labels *labels = NULL;
	int rc = pushing_check_time(p, err);

	if (!rc)
		rc = profile_store_unpack(p->tools, profile, &u, err);
	if (!rc)
		rc = pushing_labels(p, &u->scan, sent, &labels, err);
	if (!rc)
		rc = pushing_append(p, &u->scan, labels, err);
	if (rc && !profile_store_may_retry(rc)) {
		pushing_refuse(p, labels, err);
		rc = 0;
	}
	if (rc == ERR_AGAIN) {
		if (!p->later.code)
			p->later = *err;
		rc = 0;
	}
	labels_unref(labels);
	return rc;
}

/*
 * Find the profile in the body of POST /ingest, and read its configuration. A
 * body that is no form is the profile itself.
 */
static int pushing_read_form(struct pushing *p, struct bytes *profile,
			     struct err *err)
{
	const struct push_input *in = p->in;
	const struct multipart_part *part;
	struct multipart form;
	int rc;

	*profile = in->body;
	if (!multipart_is(in->content_type))
		return 0;
	rc = multipart_split(in->content_type, in->body, &form, err);
	if (rc)
		return rc;
	part = multipart_find(&form, "sample_type_config");
	if (part)
		rc = push_types_parse(&p->types, part->body, err);
	if (rc)
		return rc;
	if (multipart_find(&form, "jfr"))
		return err_set(err, ERR_MEDIA,
			       "profiles in the format JFR are not supported");
	part = multipart_find(&form, "profile");
	if (!part)
		return err_set(err, ERR_INVALID,
			       "the form has no field \"profile\"");
	*profile = part->body;
	return 0;
}

/* Check that the profile has a format that is understood. */
static int pushing_check_format(const struct push_input *in, struct err *err)
{
	bool is_form = multipart_is(in->content_type);

	if (*in->content_encoding &&
	    strcasecmp(in->content_encoding, "identity") != 0)
		return err_set(
			err, ERR_MEDIA,
			"unsupported Content-Encoding \"%.100s\": send the form uncompressed; the profile in it may be compressed with gzip",
			in->content_encoding);
	if (str_is(in->format, "pprof") || (!in->format.len && is_form))
		return 0;
	return err_set(
		err, ERR_MEDIA,
		"unsupported format \"%.*s\": send profiles in the format pprof (parameter format=pprof, or a form with a field \"profile\")",
		STR_ARG(str_clip(in->format, 40)));
}

/* POST /ingest: one profile, and its labels in a parameter. */
static int pushing_ingest(struct pushing *p, struct err *err)
{
	struct labels_builder sent = { 0 };
	struct bytes profile;
	int rc = pushing_check_format(p->in, err);

	if (!rc)
		rc = push_name_parse(p->in->name, &p->origin.app, &sent, err);
	if (!rc)
		rc = push_time_parse(p->in->from, clock_ms(p->r->o.clock),
				     &p->from_ms, err);
	if (!rc)
		rc = pushing_read_form(p, &profile, err);
	if (!rc) {
		p->profiles = 1;
		rc = pushing_store(p, &sent, profile, err);
	}
	labels_builder_fini(&sent);
	return rc;
}

/* Store the profiles of a series of push.v1. */
static int pushing_series(struct pushing *p, struct push_series *s,
			  struct err *err)
{
	struct labels_builder sent = { 0 };
	struct bytes profile;
	int rc = 0;

	push_request_labels(s, &sent);
	while (!rc && push_request_profile(s, &profile)) {
		struct err why = {
			.msg = "the series has no label __name__, which names the kind of profile"
		};

		if (labels_builder_get(&sent, str_of(LABEL_NAME)).len)
			rc = pushing_store(p, &sent, profile, err);
		else
			pushing_refuse(p, NULL, &why);
	}
	labels_builder_fini(&sent);
	return rc;
}

/*
 * Return the size that a gzip stream claims to have decompressed, or 0 if it is
 * too short (RFC 1952, 2.3.1).
 */
static size_t push_gzip_size(struct bytes b)
{
	const uint8_t *p = b.len >= 18 ? b.ptr + b.len - 4 : NULL;

	return p ? (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 |
			       (size_t)p[3] << 24 :
		   0;
}

/*
 * Decompress the body of push.v1, if it is compressed. The memory is taken from
 * the limiter before.
 */
static int pushing_inflate(struct pushing *p, struct buf *out,
			   struct bytes *message, struct err *err)
{
	const struct push_input *in = p->in;
	struct gzip *gzip;
	size_t size;
	int rc;

	*message = in->body;
	if (!*in->content_encoding ||
	    !strcasecmp(in->content_encoding, "identity"))
		return 0;
	if (strcasecmp(in->content_encoding, "gzip") != 0)
		return err_set(
			err, ERR_MEDIA,
			"unsupported Content-Encoding \"%.100s\": use gzip or identity",
			in->content_encoding);
	size = push_gzip_size(in->body);
	if (size > p->r->o.max_profile + 2 * MIB)
		return err_set(
			err, ERR_TOOBIG,
			"the request has %zu bytes decompressed, more than --scrape.max-profile-size and 2 MiB",
			size);
	if (!ingest_limiter_take(p->r->o.limiter, in->share,
				 (int64_t)(in->body.len + size)))
		return err_set(
			err, ERR_LIMIT,
			"no memory for the request: the part of --ingest.memory that uploads, or this sender, may use is in use; retry later");
	*out = buf_init(size ? size : 1);
	gzip = gzip_new();
	rc = gzip_decompress(gzip, in->body, out, err);
	gzip_free(gzip);
	*message = buf_bytes(out);
	if (rc == ERR_TOOBIG)
		return err_set(
			err, ERR_INVALID,
			"the gzip stream of the request is longer than its end says: send it as one member");
	return rc ? err_wrap(err, ERR_INVALID,
			     "the body of the request is no gzip stream") :
		    0;
}

/* push.v1: series with labels and profiles. */
static int pushing_v1(struct pushing *p, struct err *err)
{
	static const char type[] = "application/proto";
	struct buf inflated = { 0 };
	struct bytes message;
	struct push_series s;
	struct wire w;
	int rc = 0;

	if (strcasecmp(p->in->content_type, type) != 0)
		return err_set(err, ERR_MEDIA,
			       "unsupported Content-Type \"%.100s\": use %s",
			       p->in->content_type, type);
	rc = pushing_inflate(p, &inflated, &message, err);
	if (!rc)
		rc = push_request_check(message, &p->profiles, err);
	w = wire_init(message);
	while (!rc && push_request_next(&w, &s)) {
		rc = pushing_check_time(p, err);
		if (!rc)
			rc = pushing_series(p, &s, err);
	}
	buf_fini(&inflated);
	return rc;
}

/* Set the error of a request of which profiles were refused. */
static int pushing_tell_refused(struct pushing *p, struct err *err)
{
	if (p->profiles == 1)
		return err_set(err, ERR_CORRUPT, "the profile was refused: %s",
			       buf_cstr(&p->why));
	return err_set(err, ERR_CORRUPT, "%zu of %zu profiles were refused: %s",
		       p->refused, p->profiles, buf_cstr(&p->why));
}

int push_receiver_take(struct push_receiver *r, const struct push_input *in,
		       struct err *err)
{
	struct pushing p = { .r = r,
			     .in = in,
			     .origin = { .spy = in->spy,
					 .address = in->address } };
	struct appender *a = r->o.appender;
	int rc;

	metric_add(r->metrics.requests[in->protocol], 1);
	p.tools = profile_store_take(r->store);
	rc = in->protocol == PUSH_INGEST ? pushing_ingest(&p, err) :
					   pushing_v1(&p, err);
	if (!rc && p.stored)
		rc = a->sync(a, p.first, p.last, err);
	if (!rc)
		metric_add(r->metrics.stored[in->protocol], (int64_t)p.stored);
	if (!rc && p.later.code)
		rc = err_set(err, ERR_AGAIN, "%s", p.later.msg);
	if (!rc && p.refused)
		rc = pushing_tell_refused(&p, err);
	metric_add(r->metrics.failed[in->protocol], rc != 0);
	profile_store_give(r->store, p.tools);
	push_types_fini(&p.types);
	buf_fini(&p.why);
	return rc;
}
