/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heartbeat: a small profile of a whole machine that says that the machine was
 * sampled for the time of a window, and what became of the samples
 * (docs/ebpf.md, "Heartbeats"). It is stored after all profiles of the window.
 */
#include "bpf/collect/profile_writer.h"

#include "pprof/proto/encode.h"

/*
 * Name of the label that says what a sample of a heartbeat counts: the window's
 * samples that were kept, dropped or lost, or the machine's busy or stolen CPU
 * time.
 */
#define LABEL_STATE "state"

/* How many samples of one kind a window has, by what became of them. */
struct heartbeat_samples {
	struct window_total kept;
	int64_t dropped;
	int64_t lost;
};

/*
 * Count the samples of a kind. Samples of a profile that was not stored are
 * lost. A lost sample of a wait stands for `period` waits, as a kept one does.
 */
static struct heartbeat_samples heartbeat_count(const struct sample_window *w,
						enum window_kind kind,
						int64_t period)
{
	const struct window_account *a = &w->account;
	struct window_total all =
		sample_window_total(w, kind, WINDOW_ALL_SERIES);

	return (struct heartbeat_samples){
		.kept = { all.count - a->refused[kind].count,
			  all.value - a->refused[kind].value },
		.dropped = kind == WINDOW_CPU ? a->dropped : 0,
		.lost = a->lost[kind] * (kind == WINDOW_CPU ? 1 : period) +
			(int64_t)a->refused[kind].count,
	};
}

/* Whether few enough samples are lost for the rest to stand for all. */
static bool heartbeat_is_due(const struct heartbeat_samples *s)
{
	int64_t all = (int64_t)s->kept.count + s->dropped + s->lost;

	return s->lost <= all / 100 * HEARTBEAT_LOST_PERCENT +
				  all % 100 * HEARTBEAT_LOST_PERCENT / 100;
}

/* Add a sample type, and return it. */
static struct pprof_type heartbeat_type(struct pprof *p, const char *type,
					const char *unit)
{
	struct pprof_type t = {
		.type = strtab_intern(&p->strings, str_of(type)),
		.unit = strtab_intern(&p->strings, str_of(unit)),
	};

	*vec_add(&p->types) = t;
	return t;
}

/*
 * Add a sample without a stack. `state` is the value of its label LABEL_STATE.
 * `values` are in the order of the sample types.
 */
static void heartbeat_add(struct pprof *p, const char *state,
			  const int64_t *values)
{
	uint32_t number = (uint32_t)p->samples.count;

	*vec_add(&p->labels) = (struct pprof_label){
		.key = strtab_intern(&p->strings, str_of(LABEL_STATE)),
		.str = strtab_intern(&p->strings, str_of(state)),
	};
	*vec_add(&p->label_sets) =
		(struct pprof_run){ .first = number, .count = 1 };
	*vec_add(&p->samples) =
		(struct pprof_sample){ .stack = 0, .labels = number };
	vec_add_all(&p->values, values, p->types.count);
}

/*
 * Fill in a heartbeat of CPU time. All heartbeats have a sample for each state,
 * even if its values are zero, because profiles of equal shape take the least
 * room in blocks.
 */
static void heartbeat_add_cpu(struct pprof *p,
			      const struct heartbeat_samples *s,
			      const struct cpu_times *times, int64_t period)
{
	heartbeat_type(p, "samples", "count");
	p->period_type = heartbeat_type(p, "cpu", "nanoseconds");
	heartbeat_type(p, "kernel", "nanoseconds");
	heartbeat_add(p, "kept",
		      (int64_t[]){ (int64_t)s->kept.count,
				   (int64_t)s->kept.value, 0 });
	heartbeat_add(p, "dropped",
		      (int64_t[]){ s->dropped, s->dropped * period, 0 });
	heartbeat_add(p, "lost", (int64_t[]){ s->lost, s->lost * period, 0 });
	heartbeat_add(p, "busy", (int64_t[]){ 0, 0, times->busy_ns });
	heartbeat_add(p, "stolen", (int64_t[]){ 0, 0, times->stolen_ns });
}

static void heartbeat_add_off_cpu(struct pprof *p,
				  const struct heartbeat_samples *s)
{
	p->period_type = heartbeat_type(p, "samples", "count");
	heartbeat_type(p, "wallclock", "nanoseconds");
	heartbeat_add(
		p, "kept",
		(int64_t[]){ (int64_t)s->kept.count, (int64_t)s->kept.value });
	heartbeat_add(p, "lost", (int64_t[]){ s->lost, 0 });
}

bool heartbeat_encode(const struct sample_window *w, enum window_kind kind,
		      int64_t period, struct buf *out)
{
	const struct heartbeat_samples s = heartbeat_count(w, kind, period);
	struct pprof p;

	if (!w->account.is_sampled || !heartbeat_is_due(&s))
		return false;
	memset(&p, 0, sizeof(p));
	pprof_reset(&p);
	*vec_add(&p.stacks) = (struct pprof_run){ .count = 0 };
	if (kind == WINDOW_CPU)
		heartbeat_add_cpu(&p, &s, &w->account.times, period);
	else
		heartbeat_add_off_cpu(&p, &s);
	p.period = period;
	p.time_ns = w->start_ns;
	p.duration_ns = w->end_ns - w->start_ns;
	pprof_encode(&p, out);
	pprof_fini(&p);
	return true;
}
