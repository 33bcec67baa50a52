/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery manager: when jobs are reported, and which providers go on when
 * the configuration changes. The providers are stand-ins that find what a test
 * tells them to find.
 */
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "discovery/core/entry.h"
#include "discovery/manager.h"
#include "tests/check.h"

TestSuite(manager, .timeout = 30);

enum {
	SOURCES = 4,
	JOBS = 4
};

/* The outcome of a provider's next refresh. */
enum outcome {
	SILENT,
	FINDS,
	FAILS
};

/* The configuration of a puppet. */
struct puppet_config {
	struct discovery_config base;
	struct str source;
};

/*
 * A provider that a test controls. Its source is its index in `puppets`,
 * as a digit.
 */
struct puppet {
	enum outcome outcome;
	char address[32];
	int opened;
	int closed;
	int refreshed;
};

/* mu protects `puppets`, `told` and `updates`. */
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static struct puppet puppets[SOURCES];
/*
 * The groups that were last reported for each job, and the number of reports.
 */
static char told[JOBS][100];
static int updates[JOBS];

static struct puppet *puppet_of(const struct provider *p)
{
	const struct puppet_config *c = (const struct puppet_config *)p->config;

	return &puppets[c->source.ptr[0] - '0'];
}

static void *puppet_open(struct provider *p)
{
	pthread_mutex_lock(&mu);
	puppet_of(p)->opened++;
	pthread_mutex_unlock(&mu);
	return NULL;
}

static void puppet_report(struct provider *p, const struct puppet *t)
{
	char text[100];
	struct target_groups_list list = { 0 };
	struct target_groups *g = NULL;
	struct err err;

	if (t->outcome == FAILS) {
		err_set(&err, ERR_IO, "as the test says");
		provider_failed(p, "puppet", &err);
		provider_refreshed(p);
		return;
	}
	snprintf(text, sizeof(text), "[{targets: ['%s']}]", t->address);
	if (provider_parse("p", bytes_of(str_of(text)), false, NULL, &g, &err))
		return;
	*vec_add(&list) = g;
	provider_found(p, &list);
	provider_refreshed(p);
	target_groups_list_fini(&list);
}

static void puppet_refresh(struct provider *p)
{
	struct puppet t;

	pthread_mutex_lock(&mu);
	puppet_of(p)->refreshed++;
	t = *puppet_of(p);
	puppet_of(p)->outcome = SILENT;
	pthread_mutex_unlock(&mu);
	if (t.outcome != SILENT)
		puppet_report(p, &t);
}

static void puppet_close(struct provider *p)
{
	pthread_mutex_lock(&mu);
	puppet_of(p)->closed++;
	pthread_mutex_unlock(&mu);
}

static const struct yaml_field puppet_fields[] = {
	{ "source", yaml_text, offsetof(struct puppet_config, source), NULL },
	{ 0 },
};

static const struct provider_kind puppet_kinds[] = {
	{ .name = "file",
	  .config_size = sizeof(struct puppet_config),
	  .fields = puppet_fields,
	  .refresh_ms = 1,
	  .open = puppet_open,
	  .refresh = puppet_refresh,
	  .close = puppet_close },
	{ .name = "http",
	  .config_size = sizeof(struct puppet_config),
	  .fields = puppet_fields,
	  .refresh_ms = 1,
	  .open = puppet_open,
	  .refresh = puppet_refresh,
	  .close = puppet_close },
};

static void hear(void *ctx, struct str job,
		 const struct target_groups_list *groups)
{
	int n = job.ptr[0] - '0';
	size_t at = 0;

	(void)ctx;
	pthread_mutex_lock(&mu);
	told[n][0] = 0;
	for (size_t i = 0; i < groups->count; i++) {
		struct str a = groups->v[i]->v[0].targets[0].v[0].value;

		at += (size_t)snprintf(told[n] + at, sizeof(told[n]) - at,
				       "%.*s ", STR_ARG(a));
	}
	updates[n]++;
	pthread_mutex_unlock(&mu);
}

/* A manager of the puppets. */
struct stage {
	struct discovery *d;
	struct metrics *metrics;
	struct log log;
};

static void begin(struct stage *s)
{
	struct discovery_options o = { .log = &s->log, .update = hear };

	memset(puppets, 0, sizeof(puppets));
	memset(told, 0, sizeof(told));
	memset(updates, 0, sizeof(updates));
	s->log = (struct log){ .level = LOG_ERROR + 1 };
	s->metrics = metrics_new();
	o.metrics = s->metrics;
	cr_assert(!discovery_start(&o, &s->d, NULL));
}

static void end(struct stage *s)
{
	discovery_free(s->d);
	metrics_free(s->metrics);
}

/* Applies a configuration. The text of a job has the digits of its sources. */
static void apply(struct stage *s, const char *const *jobs, size_t count)
{
	static const char names[] = "0\0001\0002\0003";
	struct discovery_config *lists[JOBS][SOURCES];
	struct discovery_configs list[JOBS] = { 0 };
	struct discovery_job v[JOBS];
	struct yaml y;

	yaml_parse(&y, "c.yml",
		   bytes_of(str_of("[{source: 0}, {source: 1}, {source: 2}, "
				   "{source: 3}]")));
	for (size_t i = 0; i < count; i++) {
		for (const char *p = jobs[i]; *p; p++)
			lists[i][list[i].count++] = discovery_entry_decode(
				&y, y.root->items[*p - '0'],
				&puppet_kinds[*p % 2]);
		list[i].v = lists[i];
		v[i] = (struct discovery_job){ str_of(names + i * 2),
					       &list[i] };
	}
	discovery_apply(s->d, v, count);
	yaml_fini(&y);
}

#define APPLY(s, ...)                                        \
	apply(s, (const char *const[]){ __VA_ARGS__ },       \
	      sizeof((const char *const[]){ __VA_ARGS__ }) / \
		      sizeof(const char *))

static void direct(int puppet, enum outcome outcome, const char *address)
{
	pthread_mutex_lock(&mu);
	puppets[puppet].outcome = outcome;
	snprintf(puppets[puppet].address, sizeof(puppets[puppet].address), "%s",
		 address);
	pthread_mutex_unlock(&mu);
}

static int get_count(const int *of)
{
	int n;

	pthread_mutex_lock(&mu);
	n = *of;
	pthread_mutex_unlock(&mu);
	return n;
}

/* Waits until a counter is at least n. Returns false if that takes too long. */
static bool comes_to(const int *of, int n)
{
	for (int i = 0; i < 20000 && get_count(of) < n; i++)
		usleep(1000);
	return get_count(of) >= n;
}

/*
 * Waits until a puppet was refreshed twice more, so that the loop of the
 * manager has gone round at least once.
 */
static bool goes_round(int puppet)
{
	return comes_to(&puppets[puppet].refreshed,
			get_count(&puppets[puppet].refreshed) + 2);
}

/* Waits until the last report to a job is `want`. */
static bool hears(int job, const char *want)
{
	bool same = false;

	for (int i = 0; i < 20000 && !same; i++) {
		pthread_mutex_lock(&mu);
		same = !strcmp(told[job], want) && updates[job];
		pthread_mutex_unlock(&mu);
		if (!same)
			usleep(1000);
	}
	return same || check_str(str_of(told[job]), want);
}

Test(manager, a_job_is_reported_when_all_its_sources_have_answered)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	APPLY(&s, "01");
	cr_assert(goes_round(0));
	cr_expect(goes_round(1));
	cr_expect(!get_count(&updates[0]), "the other one is silent yet");
	direct(1, FINDS, "b");
	cr_expect(hears(0, "a b "));
	direct(0, FINDS, "c");
	cr_expect(hears(0, "c b "));
	cr_expect(get_count(&updates[0]) == 2);
	end(&s);
}

Test(manager, a_source_that_fails_at_first_does_not_hold_up_its_job)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	direct(1, FAILS, "");
	APPLY(&s, "01");
	cr_expect(hears(0, "a "));
	/*
	 * A failure after a success keeps what was found, and is not reported.
	 */
	direct(0, FAILS, "");
	cr_expect(goes_round(0));
	cr_assert(get_count(&updates[0]) == 1);
	cr_expect(hears(0, "a "));
	direct(1, FINDS, "b");
	cr_expect(hears(0, "a b "));
	end(&s);
}

Test(manager, jobs_with_the_same_source_share_it)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	direct(1, FINDS, "b");
	APPLY(&s, "0", "01", "1");
	cr_assert(hears(0, "a "));
	cr_assert(hears(1, "a b "));
	cr_expect(hears(2, "b "));
	cr_expect(get_count(&puppets[0].opened) == 1);
	cr_expect(get_count(&puppets[1].opened) == 1);
	/* Only the jobs of a source that found something new are told. */
	direct(0, FINDS, "c");
	cr_assert(hears(0, "c "));
	cr_expect(hears(1, "c b "));
	cr_assert(goes_round(0));
	cr_expect(get_count(&updates[2]) == 1);
	end(&s);
}

Test(manager, a_source_that_stays_goes_on_with_what_it_found)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	APPLY(&s, "0");
	cr_expect(hears(0, "a "));
	/*
	 * Source 0 is silent now, but has answered before. The new source 2 has
	 * not answered, so that the job is not told.
	 */
	APPLY(&s, "02");
	cr_assert(goes_round(2));
	cr_expect(get_count(&updates[0]) == 1);
	direct(2, FINDS, "c");
	cr_expect(hears(0, "a c "));
	cr_assert(get_count(&puppets[0].opened) == 1);
	cr_expect(!get_count(&puppets[0].closed));
	APPLY(&s, "2");
	cr_expect(hears(0, "c "));
	cr_expect(get_count(&puppets[0].closed) == 1);
	/* A source that comes back is opened again. */
	direct(0, FINDS, "d");
	APPLY(&s, "20");
	cr_assert(hears(0, "c d "));
	cr_expect(get_count(&puppets[0].opened) == 2);
	end(&s);
	cr_assert(puppets[0].closed == 2);
	cr_expect(puppets[2].closed == 1);
}

Test(manager, a_job_that_lost_its_sources_is_told_so_once)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	direct(1, FINDS, "b");
	APPLY(&s, "0", "1", "");
	cr_assert(hears(0, "a "));
	cr_expect(hears(1, "b "));
	APPLY(&s, "", "1", "");
	cr_expect(hears(0, ""));
	cr_assert(goes_round(1));
	cr_expect(get_count(&updates[0]) == 2);
	/*
	 * Another configuration does not tell job 0 again that it has no
	 * sources.
	 */
	APPLY(&s, "", "1", "");
	cr_assert(goes_round(1));
	cr_expect(get_count(&updates[0]) == 2);
	cr_expect(!get_count(&updates[2]), "a job that never had any");
	end(&s);
}

Test(manager, a_job_that_is_gone_is_not_told)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	direct(1, FINDS, "b");
	APPLY(&s, "0", "1");
	cr_assert(hears(0, "a "));
	cr_expect(hears(1, "b "));
	APPLY(&s, "0");
	cr_expect(get_count(&puppets[1].closed) == 1);
	direct(0, FINDS, "c");
	cr_assert(hears(0, "c "));
	cr_expect(get_count(&updates[1]) == 1);
	end(&s);
}

Test(manager, a_reload_reports_each_job_again)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	APPLY(&s, "0");
	cr_expect(comes_to(&updates[0], 1));
	/*
	 * Whoever applied the configuration made the targets of the job anew,
	 * so that the job must be told again.
	 */
	APPLY(&s, "0");
	cr_assert(comes_to(&updates[0], 2));
	cr_expect(hears(0, "a "));
	end(&s);
}

Test(manager, targets_and_failures_are_counted)
{
	struct buf text = { 0 };
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	direct(1, FAILS, "");
	direct(2, FINDS, "c");
	APPLY(&s, "0", "01", "2");
	cr_assert(hears(0, "a "));
	cr_assert(hears(1, "a "));
	cr_expect(hears(2, "c "));
	discovery_stop(s.d);
	metrics_write(s.metrics, &text);
	/*
	 * The target of source 0 counts once, although two jobs have the
	 * source.
	 */
	cr_expect(strstr(buf_cstr(&text), "everprof_discovery_targets 2\n") !=
			  NULL,
		  "%s", buf_cstr(&text));
	cr_expect(strstr(buf_cstr(&text), "everprof_discovery_failures_total{"
					  "discovery=\"http\"} 1\n") != NULL,
		  "%s", buf_cstr(&text));
	cr_expect(strstr(buf_cstr(&text), "everprof_discovery_failures_total{"
					  "discovery=\"file\"} 0\n") != NULL);
	buf_fini(&text);
	end(&s);
}

/* The state of the last job, as discovery_visit() passes it. */
struct seen {
	struct str job;
	unsigned line;
	size_t targets;
	bool is_waiting;
	int count;
	char error[100]; /* the source and the error; "": none */
};

static void see(void *ctx, const struct discovery_status *s)
{
	struct seen *seen = ctx;

	seen->job = s->job.ptr[0] == '0' ? str_of("0") : str_of("1");
	seen->line = s->line;
	seen->targets = s->targets;
	seen->is_waiting = s->is_waiting;
	seen->count++;
	snprintf(seen->error, sizeof(seen->error), "%s%s",
		 s->error ? s->source : "", s->error ? s->error : "");
	cr_expect(!s->error == !s->failed_ms);
}

/* Waits until the error that is shown of the last job is `want`. */
static bool shows(struct stage *s, struct seen *seen, const char *want)
{
	for (int i = 0; i < 20000; i++) {
		*seen = (struct seen){ 0 };
		discovery_visit(s->d, see, seen);
		if (!seen->is_waiting && !strcmp(seen->error, want))
			return true;
		usleep(1000);
	}
	return false;
}

Test(manager, a_failure_is_shown_until_a_refresh_succeeds)
{
	struct seen seen = { 0 };
	struct stage s;

	begin(&s);
	APPLY(&s, "0", "3");
	cr_expect(goes_round(3));
	discovery_visit(s.d, see, &seen);
	cr_assert(seen.count == 2);
	cr_assert(seen.is_waiting);
	cr_expect(seen.line == 1);
	cr_assert(str_is(seen.job, "1"));
	cr_expect(!seen.targets);
	direct(3, FINDS, "a");
	cr_assert(shows(&s, &seen, ""));
	cr_expect(seen.targets == 1);
	direct(3, FAILS, "");
	cr_expect(shows(&s, &seen, "puppetas the test says"));
	cr_expect(seen.targets == 1); /* it is kept */
	/* Refreshes that say nothing change nothing. */
	cr_assert(goes_round(3));
	cr_expect(shows(&s, &seen, "puppetas the test says"));
	direct(3, FINDS, "a");
	cr_expect(shows(&s, &seen, ""));
	end(&s);
}

Test(manager, nobody_is_told_after_the_stop)
{
	struct stage s;

	begin(&s);
	direct(0, FINDS, "a");
	APPLY(&s, "0");
	cr_expect(hears(0, "a "));
	discovery_stop(s.d);
	direct(0, FINDS, "b");
	/* After the stop, no thread is left that could tell a job. */
	APPLY(&s, "0");
	cr_assert(updates[0] == 1);
	cr_expect(!puppets[0].closed);
	discovery_stop(s.d);
	end(&s);
	cr_assert(puppets[0].closed == 1);
	cr_expect(puppets[0].outcome == FINDS);
	discovery_stop(NULL);
	discovery_free(NULL);
}
