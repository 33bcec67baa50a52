/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/self_profile.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/serve/ebpf.h"

enum {
	/* As Go's profiler: a hundred samples a second, but not in step. */
	SELF_HZ = 99,
	SELF_GZIP_LEVEL = 1,
};

struct self_profiler {
	const char *debug_dir;
	struct symbolizer *symbolizer; /* of heap profiles */
	struct mutex mu;
	pthread_cond_t wake;
	/* Guarded by mu. */
	bool busy;
	bool stopping;
};

/* The profile that is being taken. */
struct self_profile {
	struct gzip *gzip;
	struct buf *out;
};

struct self_profiler *self_profiler_new(const char *debug_dir)
{
	struct self_profiler *p = mem_new(struct self_profiler);

	p->debug_dir = debug_dir;
	p->symbolizer = symbols_helper_new(debug_dir, false);
	mutex_init(&p->mu);
	clock_cond_init(&p->wake);
	return p;
}

void self_profiler_interrupt(struct self_profiler *p)
{
	if (!p)
		return;
	mutex_lock(&p->mu);
	p->stopping = true;
	pthread_cond_broadcast(&p->wake);
	mutex_unlock(&p->mu);
}

void self_profiler_free(struct self_profiler *p)
{
	if (!p)
		return;
	symbolizer_free(p->symbolizer);
	pthread_cond_destroy(&p->wake);
	mutex_destroy(&p->mu);
	mem_free(p);
}

/* Sink of the collector: the first profile is the answer. */
static int self_profile_take(void *ctx, struct labels *labels UNUSED,
			     int64_t ms UNUSED, struct bytes profile,
			     struct err *err UNUSED)
{
	struct self_profile *s = ctx;

	if (!s->out->len)
		gzip_compress(s->gzip, SELF_GZIP_LEVEL, profile, s->out);
	return 0;
}

/* Wait, unless everprof stops. */
static void self_profile_wait(struct self_profiler *p, int64_t seconds)
{
	int64_t end = clock_mono_ns() + seconds * 1000000000;
	struct timespec at = clock_mono_at(end);

	mutex_lock(&p->mu);
	while (!p->stopping && clock_mono_ns() < end)
		(void)mutex_wait_until(&p->mu, &p->wake, &at);
	mutex_unlock(&p->mu);
}

/* Collect the samples of this process. */
static int self_profile_collect(struct self_profiler *p, int64_t seconds,
				struct self_profile *s, struct err *err)
{
	struct labels_builder b = { 0 };
	struct collector_options o = { .hz = SELF_HZ,
				       .sample_labels = SAMPLE_LABELS_DEFAULT,
				       .interval_ms = INT64_MAX,
				       .memory = COLLECTOR_MEMORY,
				       .node = "",
				       .debug_dir = p->debug_dir,
				       .pid = (uint32_t)getpid(),
				       .sink = self_profile_take,
				       .ctx = s };
	struct collector_stats stats = { .sampling = 0 };
	struct collector *c;
	int rc;

	labels_set(&b, str_of(LABEL_NAME), str_of("profile"));
	rc = labels_build(&b, &o.labels, err);
	if (!rc)
		rc = ebpf_start(&o, &c, err);
	if (!rc) {
		self_profile_wait(p, seconds);
		ebpf_stop(c, &stats);
		*err = stats.failure;
		rc = err->code;
	}
	labels_unref(o.labels);
	labels_builder_fini(&b);
	/* The client is permitted; it is everprof that is not. */
	if (rc == ERR_DENIED)
		rc = err_wrap(err, ERR_UNSUPPORTED,
			      "everprof cannot profile itself");
	if (!rc && !s->out->len)
		rc = err_set(
			err, ERR_NOTFOUND,
			"no sample hit everprof, because it used hardly any CPU time while the profile was taken; take a longer one (parameter \"seconds\")");
	return rc;
}

/* Implement web_profiler.profile. */
static int self_profile_run(void *ctx, int64_t seconds, struct buf *out,
			    struct err *err)
{
	struct self_profiler *p = ctx;
	struct self_profile s = { .out = out };
	bool busy;
	int rc;

	mutex_lock(&p->mu);
	busy = p->busy;
	p->busy = true;
	mutex_unlock(&p->mu);
	if (busy)
		return err_set(
			err, ERR_LIMIT,
			"another CPU profile of everprof is being taken; retry when it has ended");
	s.gzip = gzip_new();
	rc = self_profile_collect(p, seconds, &s, err);
	gzip_free(s.gzip);
	mutex_lock(&p->mu);
	p->busy = false;
	mutex_unlock(&p->mu);
	return rc;
}

/* Implement web_profiler.heap. */
static int self_profile_heap(void *ctx, int64_t deadline_ns, struct buf *out,
			     struct err *err)
{
	struct self_profiler *p = ctx;

	return self_heap_profile(p->symbolizer, deadline_ns, out, err);
}

struct web_profiler self_profile_endpoint(struct self_profiler *p)
{
	return (struct web_profiler){ .ctx = p,
				      .profile = self_profile_run,
				      .heap = self_profile_heap };
}
