/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_receiver.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/transcode.h"
#include "base/units.h"
#include "base/vec.h"
#include "convert/otlp/otlp_convert.h"
#include "convert/otlp/otlp_json.h"
#include "ingest/profile_store.h"
#include "push/labels/push_name.h"
#include "push/labels/push_rules.h"
#include "push/labels/push_types.h"
#include "push/receive/series_quota.h"
#include "push/wire/multipart.h"
#include "push/wire/push_body.h"
#include "push/wire/push_request.h"
#include "push/wire/push_time.h"

/*
 * How many times are tried for a profile whose time is taken. Some clients
 * round times to seconds, and all replicas of a program without labels of their
 * own are one series.
 */
#define PUSH_NUDGES 999

/* Times before 2001 are no times of profiles: clients leave them out. */
#define PUSH_TIME_MIN_MS 978307200000

/* Largest message as JSON. */
#define JSON_MAX (2 * MIB)

/* The error message lists refused profiles up to this number of bytes. */
#define REFUSED_TEXT_MAX 360

/* A conversion from OTLP may hold so many times as much as the largest profile. */
#define OTLP_MEMORY ((size_t)2)

/* Names of the protocols, for labels and for lists. */
static const char *const push_protocols[] = {
	[PUSH_INGEST] = "ingest",
	[PUSH_V1] = "push",
	[PUSH_OTLP] = "otlp",
};

/* The counters of a receiver, one of each for each protocol. */
struct push_metrics {
	struct metric *requests[PUSH_PROTOCOLS];
	struct metric *failed[PUSH_PROTOCOLS];
	struct metric *stored[PUSH_PROTOCOLS];
	struct metric *refused[PUSH_PROTOCOLS];
	struct metric *dropped[PUSH_PROTOCOLS];
	struct metric *nudged;
};

struct push_receiver {
	struct push_receiver_options o;
	struct push_metrics metrics;
	struct profile_store *store;
	struct series_quota *quota;
	struct push_senders *senders;
	struct push_rules *rules;
};

/* One request while it is handled. */
struct pushing {
	struct push_receiver *r;
	const struct push_input *in;
	struct store_tools *tools;
	struct push_origin origin;
	struct push_types types;
	int64_t from_ms; /* 0: the request does not say it */
	/* What was taken of the limiter for the message; see pushing_decode(). */
	int64_t taken;
	size_t profiles; /* of the request */
	size_t stored;
	size_t refused;
	/* LSNs of the first and the last profile that have to be durable. */
	uint64_t first;
	uint64_t last;
	struct buf why; /* which profiles were refused, and why */
	/*
	 * The first profile that cannot be stored now, though others can: the
	 * clock cannot judge its time yet, or its series is one too many. Code
	 * 0: none. The client sends the whole request again.
	 */
	struct err later;
	/*
	 * The labels of the profiles that are stored; what became of them is
	 * known when they are durable.
	 */
	VEC(struct labels *) kept;
	bool noted; /* whether a profile is in the list of senders */
};

#define PUSH_COUNTER(field_, text_, name_, help_)                      \
	METRIC_ROW(COUNTER, struct push_metrics, field_, name_, help_, \
		   .label = "protocol", .value = (text_))
/* NOLINTBEGIN(bugprone-macro-parentheses): a member's name is no expression */
#define PUSH_COUNTERS(member_, name_, help_)                          \
	PUSH_COUNTER(member_[PUSH_INGEST], "ingest", name_, help_),   \
		PUSH_COUNTER(member_[PUSH_V1], "push", name_, help_), \
		PUSH_COUNTER(member_[PUSH_OTLP], "otlp", name_, help_)
/* NOLINTEND(bugprone-macro-parentheses) */

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
	PUSH_COUNTERS(dropped, "everprof_push_profiles_dropped_total",
		      "Pushed profiles that relabelling rules dropped."),
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
	r->quota = series_quota_new(o->max_new_series);
	r->senders = push_senders_new();
	r->rules = push_rules_new();
	metrics_register(o->metrics, push_rows, ARRAY_SIZE(push_rows),
			 &r->metrics);
	return r;
}

void push_receiver_free(struct push_receiver *r)
{
	if (!r)
		return;
	profile_store_free(r->store);
	series_quota_free(r->quota);
	push_senders_free(r->senders);
	push_rules_free(r->rules);
	mem_free(r);
}

void push_receiver_apply(struct push_receiver *r, const struct push_config *c)
{
	push_rules_apply(r->rules, c);
}

struct push_senders *push_receiver_senders(struct push_receiver *r)
{
	return r->senders;
}

/* Return who sends a request, without the service. */
static struct push_sender_key push_receiver_key(const struct push_input *in)
{
	return (struct push_sender_key){ .protocol =
						 push_protocols[in->protocol],
					 .agent = in->agent,
					 .user = in->user,
					 .address = in->address };
}

void push_receiver_note_refused(struct push_receiver *r,
				const struct push_input *in, const char *why)
{
	struct push_sender_key key = push_receiver_key(in);

	push_senders_note_stranger(r->senders, &key, why, clock_ms(r->o.clock));
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
 * Without an error, *out stays NULL if a relabelling rule drops the profile.
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
	/* A profile of pprof that came inside of one of OTLP has no name. */
	if (p->in->protocol == PUSH_OTLP &&
	    !labels_builder_get(&b, str_of(LABEL_NAME)).len)
		labels_set(&b, str_of(LABEL_NAME),
			   push_types_otlp_name(&scan->types));
	if (!labels_builder_get(&b, str_of(LABEL_NAME)).len) {
		labels_builder_fini(&b);
		return err_set(
			err, ERR_INVALID,
			"the series has no label __name__, which names the kind of profile");
	}
	pushing_mark_delta(p, scan, &b);
	rc = push_rules_run(p->r->rules, &p->origin, &b, err);
	if (rc == RELABEL_KEPT)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/*
 * Return who sends, for the quota: a user, or an address. Whoever has one address
 * of IPv6 has the 2^64 of its network.
 */
static uint64_t pushing_sender(const struct push_input *in)
{
	struct in6_addr v6;
	char text[INET6_ADDRSTRLEN];

	if (in->user.len)
		return hash_key(bytes_of(in->user));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(in->address));
	if (inet_pton(AF_INET6, text, &v6) == 1)
		return hash_key((struct bytes){ v6.s6_addr, 8 });
	return hash_key(bytes_of(in->address));
}

/* ERR_LIMIT: the sender adds too many series. */
static int pushing_too_many(const struct pushing *p, struct err *err)
{
	struct str who = p->in->user.len ? p->in->user : p->in->address;

	return err_set(
		err, ERR_LIMIT,
		"\"%.*s\" has sent more than %llu new series within an hour (--ingest.max-new-series); does a label have the id of a request, or a time?",
		STR_ARG(str_clip(who, 100)),
		(unsigned long long)p->r->o.max_new_series);
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

/* Return the service of a profile: of its labels, or what is known before. */
static struct str pushing_service(const struct pushing *p,
				  const struct labels_builder *sent,
				  const struct labels *labels)
{
	struct str name = str_of("service_name");
	struct str of_client;

	if (labels)
		return labels_get(labels, name);
	of_client = sent ? labels_builder_get(sent, name) : p->origin.app;
	return of_client.len ? of_client : p->origin.app;
}

/* Note in the list of senders what became of a profile. */
static void pushing_note(struct pushing *p, struct str service,
			 enum push_outcome outcome, const struct err *why)
{
	struct push_sender_key key = push_receiver_key(p->in);

	key.service = service;
	push_senders_note(p->r->senders, &key, outcome,
			  outcome == PUSH_STORED ? NULL : why->msg,
			  clock_ms(p->r->o.clock));
	p->noted = true;
}

/*
 * Unpack a profile, make its labels, and append it if no rule drops it.
 * ERR_AGAIN: others of the request can be stored.
 */
static int pushing_put(struct pushing *p, const struct labels_builder *sent,
		       struct bytes profile, struct labels **labels,
		       struct err *err)
{
	const struct unpacked *u;
	enum quota_verdict verdict;
	uint64_t sender;
	int rc = profile_store_unpack(p->tools, profile, &u, err);

	if (!rc)
		rc = pushing_labels(p, &u->scan, sent, labels, err);
	if (rc || !*labels)
		return rc;
	sender = pushing_sender(p->in);
	verdict = series_quota_admit(p->r->quota, sender, (*labels)->hash,
				     clock_mono_ns());
	if (verdict == QUOTA_REFUSED)
		return pushing_too_many(p, err) ? ERR_AGAIN : 0;
	rc = pushing_append(p, &u->scan, *labels, err);
	if (rc && verdict == QUOTA_NEW)
		series_quota_withdraw(p->r->quota, sender, (*labels)->hash);
	return rc;
}

/*
 * Store one profile with the labels that the client sent. Returns an error only
 * if no more profiles of the request can be stored now. A profile that never can
 * be is refused.
 */
static int pushing_store(struct pushing *p, const struct labels_builder *sent,
			 struct bytes profile, struct err *err)
{
	struct err why = {
		.msg = "dropped by relabel_configs of the section push"
	};
	enum push_outcome outcome = PUSH_DELAYED;
	struct labels *labels = NULL;
	int rc = pushing_check_time(p, err);

	if (!rc)
		rc = pushing_put(p, sent, profile, &labels, err);
	if (!rc && labels) {
		*vec_add(&p->kept) = labels;
		return 0;
	}
	if (rc)
		why = *err;
	if (!rc) {
		outcome = PUSH_DROPPED;
		metric_add(p->r->metrics.dropped[p->in->protocol], 1);
	} else if (rc == ERR_AGAIN) {
		if (!p->later.code)
			p->later = *err;
		rc = 0;
	} else if (!profile_store_may_retry(rc)) {
		outcome = PUSH_REFUSED;
		pushing_refuse(p, labels, err);
		rc = 0;
	}
	pushing_note(p, pushing_service(p, sent, labels), outcome, &why);
	labels_unref(labels);
	return rc;
}

/* Note the profiles that were stored: they are durable unless there is an error. */
static void pushing_note_kept(struct pushing *p, int rc, const struct err *why)
{
	for (size_t i = 0; i < p->kept.count; i++) {
		struct labels *labels = p->kept.v[i];

		pushing_note(p, labels_get(labels, str_of("service_name")),
			     rc ? PUSH_DELAYED : PUSH_STORED, why);
		labels_unref(labels);
	}
	vec_fini(&p->kept);
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
	int rc = push_name_parse(p->in->name, &p->origin.app, &sent, err);

	if (!rc)
		rc = pushing_check_format(p->in, err);
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
	while (!rc && push_request_profile(s, &profile))
		rc = pushing_store(p, &sent, profile, err);
	labels_builder_fini(&sent);
	return rc;
}

/* ERR_LIMIT: there is no room for so many bytes in all. */
static int pushing_take(struct pushing *p, int64_t bytes, struct err *err)
{
	if (ingest_limiter_take(p->r->o.limiter, p->in->share, bytes))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"no memory for the request: the part of --ingest.memory that uploads, or this sender, may use is in use; retry later");
}

/*
 * Decompress the body of a message. The memory is taken from the limiter before.
 */
static int pushing_decode(struct pushing *p, struct buf *out,
			  struct bytes *message, struct err *err)
{
	const struct push_input *in = p->in;
	enum push_compression c = PUSH_IDENTITY;
	size_t size = 0;
	int rc = push_body_compression(in->content_encoding, &c, err);

	if (!rc)
		rc = push_body_size(c, in->body, p->r->o.max_profile + 2 * MIB,
				    &size, err);
	p->taken =
		(int64_t)(in->body.len + push_body_memory(c, in->body, size));
	if (!rc)
		rc = pushing_take(p, p->taken, err);
	*out = buf_init(size ? size : 1);
	return rc ? rc :
		    push_body_decode(c, profile_store_zstd(p->tools), in->body,
				     out, message, err);
}

/*
 * Convert a message from JSON. What the parser needs is taken from the limiter
 * before.
 */
static int pushing_convert(struct pushing *p,
			   int (*from_json)(struct bytes json, struct buf *out,
					    struct err *err),
			   struct bytes *message, struct buf *out,
			   struct err *err)
{
	int rc;

	if (message->len > JSON_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"the request has more than 2 MiB of JSON: use protocol buffers");
	p->taken = (int64_t)(p->in->body.len + transcode_json_memory(*message));
	rc = pushing_take(p, p->taken, err);
	if (!rc)
		rc = from_json(*message, out, err);
	*message = buf_bytes(out);
	return rc;
}

/* push.v1: series with labels and profiles. */
static int pushing_v1(struct pushing *p, struct err *err)
{
	struct buf inflated = { 0 };
	struct buf converted = { 0 };
	struct bytes message = { NULL, 0 };
	struct push_series s;
	struct wire w;
	bool is_json;
	int rc = transcode_format(p->in->content_type, &is_json, err);

	if (rc)
		return rc;
	rc = pushing_decode(p, &inflated, &message, err);
	if (!rc && is_json)
		rc = pushing_convert(p, push_request_from_json, &message,
				     &converted, err);
	if (!rc)
		rc = push_request_check(message, &p->profiles, err);
	w = wire_init(message);
	while (!rc && push_request_next(&w, &s)) {
		rc = pushing_check_time(p, err);
		if (!rc)
			rc = pushing_series(p, &s, err);
	}
	buf_fini(&inflated);
	buf_fini(&converted);
	return rc;
}

/* Implement otlp_options.take, beside what the message takes. */
static int pushing_otlp_take(void *ctx, size_t bytes, struct err *err)
{
	struct pushing *p = ctx;

	return pushing_take(p, p->taken + (int64_t)bytes, err);
}

/* Implement otlp_options.check. */
static int pushing_otlp_check(void *ctx, struct err *err)
{
	return pushing_check_time(ctx, err);
}

/* Implement otlp_options.store. */
static int pushing_otlp_store(void *ctx, const struct labels_builder *labels,
			      struct bytes profile, bool *refused,
			      struct err *err)
{
	struct pushing *p = ctx;
	size_t before = p->refused;
	int rc = pushing_store(p, labels, profile, err);

	*refused = p->refused > before;
	return rc;
}

/* Implement otlp_options.refuse. */
static void pushing_otlp_refuse(void *ctx, const struct err *why)
{
	struct pushing *p = ctx;

	pushing_refuse(p, NULL, why);
	pushing_note(p, str_of(""), PUSH_REFUSED, why);
}

/* Convert the profiles of OTLP, and store them. */
static int pushing_otlp_message(struct pushing *p, struct bytes message,
				struct err *err)
{
	struct arena arena = { 0 };
	struct str names[PUSH_RESOURCE_LABELS_MAX];
	const struct otlp_options o = {
		.ctx = p,
		.resource_labels = names,
		.resource_label_count =
			push_rules_resource_labels(p->r->rules, &arena, names),
		.max_profile = p->r->o.max_profile,
		.max_memory = OTLP_MEMORY * p->r->o.max_profile,
		.name = push_types_otlp_name,
		.take = pushing_otlp_take,
		.check = pushing_otlp_check,
		.store = pushing_otlp_store,
		.refuse = pushing_otlp_refuse,
	};
	struct otlp_result result;
	int rc = otlp_convert(message, &o, &result, err);

	/* One that is refused may have been several, or a part of one. */
	p->profiles = result.profiles;
	p->refused = result.refused;
	arena_fini(&arena);
	return rc;
}

/* OpenTelemetry's protocol over HTTP. */
static int pushing_otlp(struct pushing *p, struct err *err)
{
	struct buf inflated = { 0 };
	struct buf converted = { 0 };
	struct bytes message = { NULL, 0 };
	bool is_json;
	int rc = otlp_json_format(p->in->content_type, &is_json, err);

	if (rc)
		return rc;
	rc = pushing_decode(p, &inflated, &message, err);
	if (!rc && is_json)
		rc = pushing_convert(p, otlp_json_request, &message, &converted,
				     err);
	if (!rc)
		rc = pushing_otlp_message(p, message, err);
	buf_fini(&inflated);
	buf_fini(&converted);
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
	struct pushing p = {
		.r = r,
		.in = in,
		.origin = { .spy = in->spy,
			    .address = in->address,
			    .agent = in->agent,
			    .protocol = push_protocols[in->protocol] }
	};
	struct appender *a = r->o.appender;
	int rc;

	metric_add(r->metrics.requests[in->protocol], 1);
	p.tools = profile_store_take(r->store);
	rc = in->protocol == PUSH_INGEST ? pushing_ingest(&p, err) :
	     in->protocol == PUSH_OTLP   ? pushing_otlp(&p, err) :
					   pushing_v1(&p, err);
	if (!rc && p.stored)
		rc = a->sync(a, p.first, p.last, err);
	pushing_note_kept(&p, rc, err);
	if (!rc)
		metric_add(r->metrics.stored[in->protocol], (int64_t)p.stored);
	if (!rc && p.later.code)
		rc = err_set(err, p.later.code, "%s", p.later.msg);
	if (!rc && p.refused)
		rc = pushing_tell_refused(&p, err);
	if (rc && !p.noted)
		pushing_note(&p, p.origin.app,
			     profile_store_may_retry(rc) ? PUSH_DELAYED :
							   PUSH_REFUSED,
			     err);
	if (in->refused)
		*in->refused = p.refused;
	metric_add(r->metrics.refused[in->protocol], (int64_t)p.refused);
	metric_add(r->metrics.failed[in->protocol], rc != 0);
	profile_store_give(r->store, p.tools);
	push_types_fini(&p.types);
	buf_fini(&p.why);
	return rc;
}
