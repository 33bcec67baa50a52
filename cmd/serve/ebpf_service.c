/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/ebpf_service.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "base/yaml_dump.h"
#include "cmd/serve/ebpf.h"
#include "cmd/serve/ebpf_rights.h"
#include "ingest/profile_store.h"

/* A copy of the section by which the collector runs. */
struct ebpf_section {
	struct buf text;
	struct yaml yaml;
	struct ebpf_config config;
};

struct ebpf_service {
	struct ebpf_service_options o;
	struct mutex apply_mu; /* one change at a time; taken before mu */
	bool stopped; /* guarded by apply_mu: nothing starts any more */
	struct ebpf_section *section; /* NULL: the collector does not run */
	struct container_names *containers;
	/* Used by the collector's thread. */
	struct profile_store *store;
	struct mutex mu;
	struct collector *collector;   /* guarded by mu */
	struct collector_stats before; /* of earlier collectors; by mu */
	bool is_wanted; /* guarded by mu: the configuration has a collector */
	/* Guarded by mu: what is known of the collector without its counters. */
	struct web_collector_state known;
};

#define STATS(kind, ...) METRIC_ROW(kind, struct collector_stats, __VA_ARGS__)

#define SAMPLES(member, outcome)                                      \
	STATS(COUNTER, member, "everprof_ebpf_samples_total",         \
	      "Number of samples of the eBPF collector, by outcome.", \
	      .label = "outcome", .value = (outcome))

#define CPU_TIME(member, source)                                                                             \
	STATS(COUNTER, member, "everprof_ebpf_cpu_seconds_total",                                            \
	      "CPU time of all processes, by samples, by the kernel's account, and stolen by a hypervisor.", \
	      .scale = 1e-9, .label = "source", .value = (source))

static const struct metric_row service_rows[] = {
	SAMPLES(ends[SAMPLE_COMPLETE], "complete"),
	SAMPLES(ends[SAMPLE_KERNEL], "kernel"),
	SAMPLES(ends[SAMPLE_BY_POINTER], "by_frame_pointer"),
	SAMPLES(ends[SAMPLE_TRUNCATED], "truncated"),
	SAMPLES(ends[SAMPLE_NO_PROCESS], "unknown_process"),
	SAMPLES(ends[SAMPLE_NO_MAPPING], "unknown_mapping"),
	SAMPLES(ends[SAMPLE_NO_RULE], "no_unwind_rule"),
	SAMPLES(ends[SAMPLE_UNREADABLE], "unreadable_stack"),
	SAMPLES(ends[SAMPLE_COMPAT], "32_bit"),
	SAMPLES(ends[SAMPLE_STARTING], "starting"),
	SAMPLES(dropped, "dropped"),
	SAMPLES(ring_full, "lost_ring_full"),
	SAMPLES(memory_full, "lost_memory_full"),
	SAMPLES(groups_full, "lost_too_many_series"),
	STATS(GAUGE, sampling, "everprof_ebpf_up",
	      "Whether the eBPF collector takes samples."),
	STATS(COUNTER, off_cpu, "everprof_ebpf_off_cpu_samples_total",
	      "Number of sampled waits of threads that have ended."),
	CPU_TIME(sampled_ns, "samples"),
	CPU_TIME(busy_ns, "kernel"),
	CPU_TIME(stolen_ns, "stolen"),
	STATS(COUNTER, profiles, "everprof_ebpf_profiles_total",
	      "Number of profiles that the eBPF collector has stored."),
	STATS(COUNTER, profiles_failed, "everprof_ebpf_profiles_failed_total",
	      "Number of profiles of the eBPF collector that could not be stored."),
	STATS(COUNTER, reports_lost, "everprof_ebpf_process_events_lost_total",
	      "Number of events about processes that the kernel could not deliver."),
	STATS(GAUGE, processes, "everprof_ebpf_processes",
	      "Number of processes that the eBPF collector knows."),
	STATS(GAUGE, files, "everprof_ebpf_files",
	      "Number of executable files that the known processes have mapped."),
	STATS(GAUGE, series, "everprof_ebpf_series",
	      "Number of series of the known processes."),
	STATS(GAUGE, table_entries, "everprof_ebpf_unwind_rows",
	      "Number of entries of unwind tables in the kernel, 8 bytes each."),
	STATS(COUNTER, tables_evicted,
	      "everprof_ebpf_unwind_tables_evicted_total",
	      "Number of unwind tables that were evicted from the kernel to make room for others."),
	STATS(COUNTER, tables_crowded_out,
	      "everprof_ebpf_unwind_tables_refused_total",
	      "Number of unwind tables for which there was no room; frame pointers are used instead."),
	STATS(COUNTER, processes_refused,
	      "everprof_ebpf_processes_refused_total",
	      "Number of processes that are not sampled as such, because there are too many."),
	STATS(COUNTER, processes_evicted,
	      "everprof_ebpf_processes_evicted_total",
	      "Number of processes that were forgotten, until their next sample, to make room for others."),
	STATS(COUNTER, files_refused, "everprof_ebpf_files_refused_total",
	      "Number of times that a file which a process has mapped found no room, because there are too many, or too many of one user."),
	STATS(COUNTER, publications_refused,
	      "everprof_ebpf_mappings_refused_total",
	      "Number of times that there was no room in the kernel for the mappings of a process, whose stacks then end early."),
};

/* Add the counters of earlier collectors: they never go back. */
static void stats_add_before(struct collector_stats *s,
			     const struct collector_stats *before)
{
	for (size_t i = 0; i < ARRAY_SIZE(service_rows); i++) {
		size_t at = service_rows[i].offset;
		int64_t sum;
		int64_t more;

		if (service_rows[i].kind != METRIC_COUNTER)
			continue;
		memcpy(&sum, (const char *)s + at, sizeof(sum));
		memcpy(&more, (const char *)before + at, sizeof(more));
		sum += more;
		memcpy((char *)s + at, &sum, sizeof(sum));
	}
}

/* Fill the snapshot for metrics. */
static void service_take_stats(void *ctx, void *snapshot)
{
	struct ebpf_service *s = ctx;
	struct collector_stats *out = snapshot;

	*out = (struct collector_stats){ .sampling = 0 };
	mutex_lock(&s->mu);
	if (s->collector)
		ebpf_stats(s->collector, out);
	stats_add_before(out, &s->before);
	mutex_unlock(&s->mu);
}

struct ebpf_service *ebpf_service_new(const struct ebpf_service_options *o)
{
	struct ebpf_service *s = mem_new(struct ebpf_service);

	s->o = *o;
	s->containers = ebpf_containers_new();
	mutex_init(&s->apply_mu);
	mutex_init(&s->mu);
	metrics_register_snapshot(
		o->metrics, &(struct metric_snapshot){
				    .rows = service_rows,
				    .count = ARRAY_SIZE(service_rows),
				    .size = sizeof(struct collector_stats),
				    .take = service_take_stats,
				    .ctx = s,
			    });
	return s;
}

/* Store a profile. A profile_sink. */
static int service_store(void *ctx, struct labels *labels, int64_t ms,
			 struct bytes profile, struct err *err)
{
	struct ebpf_service *s = ctx;
	struct store_tools *t = profile_store_take(s->store);
	const struct store_order order = { .labels = labels,
					   .ms = ms,
					   .pack = true };
	struct store_receipt receipt = { 0 };
	int rc = profile_store_put(t, profile, &order, &receipt, err);

	profile_store_give(s->store, t);
	return profile_store_may_retry(rc) && rc != ERR_CLOSED ? ERR_AGAIN : rc;
}

static void section_free(struct ebpf_section *x)
{
	if (!x)
		return;
	ebpf_config_fini(&x->config);
	yaml_fini(&x->yaml);
	buf_fini(&x->text);
	mem_free(x);
}

/*
 * Copy a section, because the document that it is from may be freed. The
 * discoveries are left out: they run elsewhere, and a change of them does not
 * restart the collector.
 */
static struct ebpf_section *section_copy(const struct yaml_node *n)
{
	struct ebpf_section *x = mem_new(struct ebpf_section);
	struct yaml_node rest = *n;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
	rest.items = mem_zalloc(n->count + 1, sizeof(*rest.items));
	rest.count = 0;
	for (size_t i = 0; i < n->count; i += 2) {
		if (str_ends(n->items[i]->text, "_sd_configs"))
			continue;
		rest.items[rest.count++] = n->items[i];
		rest.items[rest.count++] = n->items[i + 1];
	}
	yaml_dump(&rest, true, &x->text);
	mem_free(rest.items);
	yaml_parse(&x->yaml, "ebpf", buf_bytes(&x->text));
	ebpf_config_decode(&x->yaml, x->yaml.root, &x->config);
	return x;
}

/* Log and keep why the collector does not run. */
static void service_report(struct ebpf_service *s, const struct err *err)
{
	mutex_lock(&s->mu);
	(void)snprintf(s->known.error, sizeof(s->known.error), "%s", err->msg);
	mutex_unlock(&s->mu);
	log_event(s->o.log, LOG_ERROR,
		  "the eBPF collector cannot run; everprof goes on without it",
		  LOG_FIELDS(log_err(err)));
}

/* Log which rights the collector lacks. */
static void service_warn_of_rights(const struct ebpf_service *s)
{
	const char *texts[EBPF_RIGHTS_MAX];
	/* The collector itself logs that the kernel's symbols are hidden. */
	size_t n = ebpf_rights_missing(ebpf_rights_read(), NULL, texts);

	for (size_t i = 0; i < n; i++)
		log_event(
			s->o.log, LOG_WARN,
			"the eBPF collector lacks rights, so its profiles are incomplete",
			LOG_FIELDS(log_text("why", texts[i])));
}

/*
 * Start the collector with the settings of the section `ebpf`. False: it does
 * not run.
 */
static bool service_start(struct ebpf_service *s)
{
	const struct ebpf_config *c = &s->section->config;
	char host[HOST_NAME_MAX + 1] = "localhost";
	CLEANUP(mem_freep) char *node = NULL;
	struct collector_options o = { .hz = (unsigned)c->sampling_frequency,
				       .off_cpu = (unsigned)c->off_cpu,
				       .interval_ms = c->interval_ms,
				       .memory = COLLECTOR_MEMORY,
				       .rules = &c->relabel,
				       .containers = s->containers,
				       .sample_labels = c->sample_labels,
				       .debug_dir = s->o.debug_dir,
				       .log = s->o.log,
				       .sink = service_store,
				       .ctx = s };
	struct collector *collector = NULL;
	struct err err;

	(void)gethostname(host, sizeof(host) - 1);
	node = c->node.len ? mem_strndup(c->node) : mem_strdup(host);
	o.node = node;
	mutex_lock(&s->mu);
	s->known = (struct web_collector_state){
		.frequency = c->sampling_frequency,
		.interval_ms = c->interval_ms,
	};
	(void)snprintf(s->known.node, sizeof(s->known.node), "%s", node);
	mutex_unlock(&s->mu);
	s->store = profile_store_new(&(struct profile_store_options){
		.appender = s->o.appender, .max_profile = PROFILE_SINK_MAX });
	if (ebpf_start(&o, &collector, &err)) {
		service_report(s, &err);
		return false;
	}
	mutex_lock(&s->mu);
	s->collector = collector;
	mutex_unlock(&s->mu);
	service_warn_of_rights(s);
	log_event(s->o.log, LOG_INFO, "the eBPF collector has started",
		  LOG_FIELDS(log_text("node", node),
			     log_int("frequency", c->sampling_frequency)));
	return true;
}

/* Stop the collector, if it runs. */
static void service_stop(struct ebpf_service *s) REQUIRES(s->apply_mu)
{
	struct collector_stats last = { .sampling = 0 };
	struct collector *collector;

	mutex_lock(&s->mu);
	collector = s->collector;
	s->collector = NULL;
	mutex_unlock(&s->mu);
	if (collector)
		ebpf_stop(collector, &last);
	mutex_lock(&s->mu);
	stats_add_before(&s->before, &last);
	mutex_unlock(&s->mu);
	profile_store_free(s->store);
	s->store = NULL;
	section_free(s->section);
	s->section = NULL;
}

/* Run by a section, if it is another one than before; NULL: do not run. */
static void service_change(struct ebpf_service *s, struct ebpf_section *next)
	REQUIRES(s->apply_mu)
{
	bool same =
		next && s->section &&
		bytes_eq(buf_bytes(&next->text), buf_bytes(&s->section->text));

	if (same || s->stopped) {
		section_free(next);
		return;
	}
	service_stop(s);
	s->section = next;
	/* Without a section, the next reload tries again. */
	if (next && !service_start(s))
		service_stop(s);
}

/* Called by the web side. */
static bool service_state(void *ctx, struct web_collector_state *out)
{
	struct ebpf_service *s = ctx;
	struct collector_stats stats = { .sampling = 0 };
	bool is_wanted;

	mutex_lock(&s->mu);
	is_wanted = s->is_wanted;
	*out = s->known;
	if (s->collector)
		ebpf_stats(s->collector, &stats);
	stats_add_before(&stats, &s->before);
	mutex_unlock(&s->mu);
	out->sampling = stats.sampling;
	out->processes = stats.processes;
	out->series = stats.series;
	out->profiles = stats.profiles;
	out->profiles_failed = stats.profiles_failed;
	if (stats.failure.code)
		(void)snprintf(out->error, sizeof(out->error), "%s",
			       stats.failure.msg);
	return is_wanted;
}

struct web_collector ebpf_service_endpoint(struct ebpf_service *s)
{
	return (struct web_collector){ .ctx = s, .state = service_state };
}

void ebpf_service_apply(struct ebpf_service *s, const struct ebpf_config *c)
{
	mutex_lock(&s->apply_mu);
	mutex_lock(&s->mu);
	s->is_wanted = c->enabled;
	mutex_unlock(&s->mu);
	service_change(s, c->enabled ? section_copy(c->section) : NULL);
	mutex_unlock(&s->apply_mu);
}

void ebpf_service_name(struct ebpf_service *s,
		       const struct target_groups_list *groups)
{
	size_t count = 0;
	struct err err;

	if (ebpf_containers_set(s->containers, groups, &count, &err))
		log_event(s->o.log, LOG_WARN,
			  "the eBPF collector does not know all containers",
			  LOG_FIELDS(log_err(&err)));
	log_event(s->o.log, LOG_DEBUG,
		  "the eBPF collector has names of containers",
		  LOG_FIELDS(log_int("containers", (int64_t)count)));
}

void ebpf_service_stop(struct ebpf_service *s)
{
	if (!s)
		return;
	mutex_lock(&s->apply_mu);
	s->stopped = true;
	service_stop(s);
	mutex_unlock(&s->apply_mu);
}

void ebpf_service_free(struct ebpf_service *s)
{
	if (!s)
		return;
	ebpf_containers_free(s->containers);
	mutex_destroy(&s->mu);
	mutex_destroy(&s->apply_mu);
	mem_free(s);
}
