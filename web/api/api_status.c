/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/targets and /api/v1/status/…: the state of targets and server as
 * JSON. Endpoints that Prometheus also has use its format.
 */
#include "web/api/api.h"

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "query/select/cardinality.h"
#include "tsdb/maintain/stats.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/guard/running.h"

/* How many labels and values status/tsdb lists, as in Prometheus. */
#define TOP_DEFAULT 10

/* Write a time as RFC 3339. 0 means never and is written as Go's zero time. */
static void write_time(struct json *j, int64_t ms)
{
	/* Go's zero time, which Prometheus writes for "never", too */
	char text[40] = "0001-01-01T00:00:00Z";

	if (ms)
		time_format(ms, text);
	json_text(j, text);
}

/* Write a duration in Prometheus' notation, such as "1m30s". */
static void write_duration(struct json *j, int64_t ms)
{
	char text[32];

	duration_format(ms, text);
	json_text(j, text);
}

/* Write the labels that a target had before relabelling. */
static void write_discovered(struct json *j, const struct target_status *s)
{
	json_key(j, "discoveredLabels");
	json_begin(j, '{');
	for (size_t i = 0; i < s->discovered_count; i++) {
		json_key_str(j, s->discovered[i].name);
		json_str(j, s->discovered[i].value);
	}
	json_end(j, '}');
}

/* Write the JSON members that only an active target has. */
static void write_active(struct json *j, const struct target_status *s)
{
	const struct target_spec *t = &s->target->spec;
	CLEANUP(mem_freep) char *url = target_url_shown(t);

	json_key(j, "labels");
	labels_json(t->labels, j);
	json_key(j, "scrapePool");
	json_text(j, s->job);
	json_key(j, "scrapeUrl");
	json_text(j, url);
	/*
	 * In this URL, Prometheus replaces a loopback host by the host of its
	 * own external URL. everprof has no external URL, so it replaces
	 * nothing.
	 */
	json_key(j, "globalUrl");
	json_text(j, url);
	json_key(j, "lastError");
	json_text(j, s->last_error);
	json_key(j, "lastScrape");
	write_time(j, s->last_ms);
	json_key(j, "lastScrapeDuration");
	json_double(j, (double)s->last_duration_ns / 1e9);
	json_key(j, "nextScrape");
	write_time(j, s->next_ms);
	json_key(j, "health");
	json_text(j, target_health_name(s->health));
	json_key(j, "scrapeInterval");
	write_duration(j, t->interval_ms);
	json_key(j, "scrapeTimeout");
	write_duration(j, t->timeout_ms);
}

/* The list of targets while it is written. */
struct target_writer {
	struct json *j;
	struct query_work *work;
	struct growth_meter meter;
};

/* Callback for each target, active or dropped: write it as an object. */
static int write_target(void *ctx, const struct target_status *s,
			struct err *err)
{
	struct target_writer *w = ctx;
	struct limits limits = query_limits(w->work);
	struct json *j = w->j;
	int rc;

	json_begin(j, '{');
	write_discovered(j, s);
	/*
	 * A dropped target is never scraped, so it has no health, only the
	 * reason why it was dropped.
	 */
	if (s->target) {
		write_active(j, s);
	} else {
		json_key(j, "scrapePool");
		json_text(j, s->job);
		json_key(j, "reason");
		json_text(j, s->dropped);
	}
	json_end(j, '}');
	rc = limits_meter(&limits, &w->meter, 1 + s->discovered_count, 0, err);
	return rc ? rc : query_take_output(w->work, err);
}

/* Callback for each job: write the number of its dropped targets. */
static void write_dropped_count(void *ctx, const char *job, size_t dropped)
{
	struct json *j = ctx;

	json_key(j, job);
	json_int(j, (int64_t)dropped);
}

/*
 * Write the list of active or of dropped targets. If the request excludes these
 * targets, an empty list is written, because clients expect the list to be
 * there.
 */
static int write_targets(struct target_writer *w, struct scraper *s,
			 bool dropped, bool wanted, struct err *err)
{
	struct json *j = w->j;
	int rc = 0;

	json_key(j, dropped ? "droppedTargets" : "activeTargets");
	json_begin(j, '[');
	if (wanted)
		rc = scrape_targets(s, dropped, write_target, w, err);
	json_end(j, ']');
	return rc;
}

/* Return the health of a service discovery, in the words of targets. */
static const char *discovery_health(const struct web_discovery *d)
{
	if (d->error)
		return target_health_name(TARGET_DOWN);
	return target_health_name(d->is_waiting ? TARGET_UNKNOWN : TARGET_UP);
}

/* Callback for each service discovery: write its state as an object. */
static void write_discovery(void *ctx, const struct web_discovery *d)
{
	struct json *j = ctx;
	char key[64];

	(void)snprintf(key, sizeof(key), "%s_sd_configs", d->name);
	json_begin(j, '{');
	json_key(j, "scrapePool");
	json_str(j, d->job);
	json_key(j, "discovery");
	json_text(j, key);
	json_key(j, "configLine");
	json_int(j, d->line);
	json_key(j, "targets");
	json_int(j, (int64_t)d->targets);
	json_key(j, "health");
	json_text(j, discovery_health(d));
	json_key(j, "source");
	json_text(j, d->source ? d->source : "");
	json_key(j, "lastError");
	json_text(j, d->error ? d->error : "");
	json_key(j, "lastErrorTime");
	write_time(j, d->failed_ms);
	json_end(j, '}');
}

/* Return the health of a collector, in the words of targets. */
static const char *collector_health(const struct web_collector_state *c)
{
	if (c->error[0])
		return target_health_name(TARGET_DOWN);
	return target_health_name(c->sampling ? TARGET_UP : TARGET_UNKNOWN);
}

/* Write the state of the collector, if there is one, as an object. */
static void write_collector(struct json *j, const struct web_collector *c)
{
	struct web_collector_state state = { .sampling = false };

	if (!c->state || !c->state(c->ctx, &state))
		return;
	json_begin(j, '{');
	json_key(j, "node");
	json_text(j, state.node);
	json_key(j, "health");
	json_text(j, collector_health(&state));
	json_key(j, "lastError");
	json_text(j, state.error);
	json_key(j, "samplingFrequency");
	json_int(j, state.frequency);
	json_key(j, "interval");
	write_duration(j, state.interval_ms);
	json_key(j, "processes");
	json_int(j, state.processes);
	json_key(j, "series");
	json_int(j, state.series);
	json_key(j, "profiles");
	json_int(j, state.profiles);
	json_key(j, "profilesFailed");
	json_int(j, state.profiles_failed);
	json_end(j, '}');
}

void api_targets(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);
	struct target_writer t = { .j = &j, .work = &a->work };
	struct str state = str_of("any");
	struct err err;
	int rc;

	params_find(&r->params, "state", &state);
	json_begin(&j, '{');
	rc = write_targets(&t, w->o.scraper, false, !str_is(state, "dropped"),
			   &err);
	if (!rc)
		rc = write_targets(&t, w->o.scraper, true,
				   !str_is(state, "active"), &err);
	if (rc) {
		answer_error(a, &err);
		return;
	}
	/*
	 * The counts include all dropped targets; the list leaves some out if
	 * they are too many (keep_dropped_targets).
	 */
	json_key(&j, "droppedTargetCounts");
	json_begin(&j, '{');
	if (!str_is(state, "active"))
		scrape_dropped(w->o.scraper, write_dropped_count, &j);
	json_end(&j, '}');
	json_key(&j, "discoveries");
	json_begin(&j, '[');
	if (w->o.discoveries.each)
		w->o.discoveries.each(w->o.discoveries.ctx, write_discovery,
				      &j);
	json_end(&j, ']');
	json_key(&j, "collectors");
	json_begin(&j, '[');
	write_collector(&j, &w->o.collector);
	json_end(&j, ']');
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}

void api_status_config(void *ctx, struct request *r UNUSED, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);
	struct buf text = { 0 };

	/* Get the configuration in use, with all secrets hidden. */
	w->o.lifecycle.config(w->o.lifecycle.ctx, &text);
	json_begin(&j, '{');
	json_key(&j, "yaml");
	json_str(&j, str_from(buf_bytes(&text)));
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
	buf_fini(&text);
}

void api_status_flags(void *ctx, struct request *r UNUSED, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);

	json_begin(&j, '{');
	for (size_t i = 0; i < w->o.flag_count; i++) {
		json_key(&j, w->o.flags[i].name);
		json_text(&j, w->o.flags[i].value);
	}
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}

void api_status_buildinfo(void *ctx, struct request *r UNUSED, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);

	json_begin(&j, '{');
	json_key(&j, "version");
	json_text(&j, w->o.version);
	json_key(&j, "revision");
	json_text(&j, w->o.revision);
	json_key(&j, "compiler");
	json_text(&j, __VERSION__);
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}

/*
 * The answer has only those members of Prometheus' answer that make sense for
 * everprof.
 */
void api_status_runtimeinfo(void *ctx, struct request *r UNUSED,
			    struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);
	struct tsdb_stats stats;
	struct web_config_state config = { 0 };
	char cwd[512];

	tsdb_stats(w->o.db, &stats);
	if (w->o.lifecycle.state)
		w->o.lifecycle.state(w->o.lifecycle.ctx, &config);
	json_begin(&j, '{');
	json_key(&j, "startTime");
	write_time(&j, w->started_ms);
	json_key(&j, "CWD");
	json_text(&j, getcwd(cwd, sizeof(cwd)) ? cwd : "");
	json_key(&j, "serverTime");
	write_time(&j, r->params.now_ms);
	json_key(&j, "storageRetention");
	write_duration(&j, w->o.retention_ms);
	json_key(&j, "reloadConfigSuccess");
	json_bool(&j, !config.error[0]);
	json_key(&j, "reloadConfigError");
	json_text(&j, config.error);
	json_key(&j, "lastConfigTime");
	write_time(&j, config.loaded_ms);
	json_key(&j, "openQueriers");
	json_int(&j, (int64_t)stats.open_queriers);
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}

void api_status_queries(void *ctx, struct request *r UNUSED, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);

	running_json(server_running(w->server), &j);
	envelope_end(&j, a, NULL);
}

/*
 * Members that Prometheus also has carry the same names. Times are in ms, sizes
 * in bytes. numRanges is the number of head blocks; "groups" is the size of
 * their chunk metadata.
 */
static void write_storage(struct json *j, const struct tsdb_stats *s)
{
	json_key(j, "headStats");
	json_begin(j, '{');
	json_key(j, "numSeries");
	json_int(j, (int64_t)s->series);
	json_key(j, "numRanges");
	json_int(j, (int64_t)s->heads);
	json_key(j, "numUnflushedProfiles");
	json_int(j, (int64_t)s->unflushed);
	json_key(j, "minTime");
	json_int(j, s->min_ms);
	json_key(j, "maxTime");
	json_int(j, s->max_ms);
	json_end(j, '}');
	json_key(j, "blockStats");
	json_begin(j, '{');
	json_key(j, "numBlocks");
	json_int(j, (int64_t)s->blocks);
	json_key(j, "numSamples");
	json_int(j, (int64_t)s->block_samples);
	json_end(j, '}');
	json_key(j, "bytes");
	json_begin(j, '{');
	json_key(j, "blocks");
	json_int(j, (int64_t)s->block_bytes);
	json_key(j, "ballast");
	json_int(j, (int64_t)s->ballast_bytes);
	json_key(j, "wal");
	json_int(j, (int64_t)s->wal_bytes);
	json_key(j, "values");
	json_int(j, (int64_t)s->values_bytes);
	json_key(j, "groups");
	json_int(j, (int64_t)s->groups_bytes);
	json_end(j, '}');
}

/*
 * Counting the series needs memory for all labels, so it may fail; the error
 * then replaces what was written before.
 */
void api_status_tsdb(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);
	struct tsdb_stats s;
	int64_t limit;
	struct err err;
	int rc = params_count(&r->params, "limit", TOP_DEFAULT, &limit, &err);

	tsdb_stats(w->o.db, &s);
	json_begin(&j, '{');
	write_storage(&j, &s);
	if (!rc)
		rc = cardinality_json(w->o.db, &a->work, limit, &j, &err);
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
	if (rc)
		answer_error(a, &err);
}
