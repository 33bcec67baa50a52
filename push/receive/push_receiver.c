/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_receiver.h"

#include "push/receive/push_datadog.h"
#include "push/receive/push_ingest.h"
#include "push/receive/push_otlp.h"
#include "push/receive/push_v1.h"
#include "push/receive/pushing.h"

#define PUSH_COUNTER(field_, text_, name_, help_)                      \
	METRIC_ROW(COUNTER, struct push_metrics, field_, name_, help_, \
		   .label = "protocol", .value = (text_))
/* NOLINTBEGIN(bugprone-macro-parentheses): a member's name is no expression */
#define PUSH_COUNTERS(member_, name_, help_)                              \
	PUSH_COUNTER(member_[PUSH_INGEST], "ingest", name_, help_),       \
		PUSH_COUNTER(member_[PUSH_V1], "push", name_, help_),     \
		PUSH_COUNTER(member_[PUSH_OTLP], "otlp", name_, help_),   \
		PUSH_COUNTER(member_[PUSH_OTLP_GRPC], "otlp_grpc", name_, \
			     help_),                                      \
		PUSH_COUNTER(member_[PUSH_DATADOG], "datadog", name_, help_)
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

void push_receiver_note_refused(struct push_receiver *r,
				const struct push_input *in, const char *why)
{
	struct push_sender_key key = pushing_key(in);

	push_senders_note_stranger(r->senders, &key, why, clock_ms(r->o.clock));
}

/* Set the error of a request of which profiles were refused. */
static int push_receiver_tell(struct pushing *p, struct err *err)
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
					 .address = in->address,
					 .agent = in->agent,
					 .protocol = pushing_protocol(
						 in->protocol) } };
	struct appender *a = r->o.appender;
	int rc;

	metric_add(r->metrics.requests[in->protocol], 1);
	p.tools = profile_store_take(r->store);
	rc = in->protocol == PUSH_INGEST  ? push_ingest_take(&p, err) :
	     in->protocol == PUSH_V1      ? push_v1_take(&p, err) :
	     in->protocol == PUSH_DATADOG ? push_datadog_take(&p, err) :
					    push_otlp_take(&p, err);
	if (!rc && p.stored)
		rc = a->sync(a, p.first, p.last, err);
	pushing_note_kept(&p, rc, err);
	if (!rc)
		metric_add(r->metrics.stored[in->protocol], (int64_t)p.stored);
	if (!rc && p.later.code)
		rc = err_set(err, p.later.code, "%s", p.later.msg);
	if (!rc && p.refused)
		rc = push_receiver_tell(&p, err);
	if (!rc && p.damage.code)
		rc = err_set(err, p.damage.code, "%s", p.damage.msg);
	if (rc)
		pushing_note_failure(&p, rc, err);
	if (in->refused)
		*in->refused = p.refused;
	metric_add(r->metrics.refused[in->protocol], (int64_t)p.refused);
	metric_add(r->metrics.failed[in->protocol], rc != 0);
	profile_store_give(r->store, p.tools);
	push_types_fini(&p.types);
	buf_fini(&p.why);
	return rc;
}
