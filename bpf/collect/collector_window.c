/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/collector_window.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/collect/collector_private.h"
#include "bpf/collect/collector_samples.h"
#include "bpf/kernel/cpu_times.h"

enum {
	/* At the end, how often to check whether the writer has room. */
	WINDOW_WAIT_MS = 10,
};

void collector_window_count(struct collector *c)
{
	uint64_t counts[SAMPLER_COUNTERS];

	if (!sampler_counts(c->sampler, counts, NULL))
		memcpy(c->counts, counts, sizeof(counts));
}

/*
 * Visitor of waiting threads: whether the process of the thread is known. If
 * not, the record is forgotten.
 */
static bool collector_has_process(void *ctx, struct sample_record *r)
{
	struct collector *c = ctx;

	return process_table_find(&c->processes, r->header.pid);
}

/*
 * Close files that no process has and to which c->window does not refer. Of the
 * closed files, forget those that are not worth remembering
 * (file_table_count_end()). If the mappings of a process found no room when
 * they were to be published, let the process be published again.
 */
static void collector_sweep_files(struct collector *c)
{
	VEC(uint32_t) numbers = { 0 };

	for (size_t i = 0; i < c->window->files.count; i++)
		*vec_add(&numbers) = c->window->files.v[i].number;
	process_table_sweep(&c->processes, numbers.v, numbers.count, c->now);
	vec_fini(&numbers);
}

/*
 * Close files that no process has any more (collector_sweep_files()). Forget
 * groups that no process has any more, and waiting threads whose processes are
 * not in the process table any more.
 */
static void collector_sweep(struct collector *c)
{
	collector_sweep_files(c);
	waiting_threads_visit(&c->waiting, collector_has_process, c);
	process_groups_count_begin(&c->groups);
	for (size_t i = 0; i < c->processes.processes.count; i++) {
		const struct process *p = &c->processes.processes.v[i];

		if (!p->live)
			continue;
		process_groups_count(&c->groups, p->group);
		process_groups_count(&c->groups, p->old_group);
	}
	process_groups_count_end(&c->groups);
}

/* Read the counters of the BPF program, and the CPU times of the machine. */
static struct kernel_account collector_account(struct collector *c)
{
	struct kernel_account a = { 0 };
	int64_t full;
	int64_t ticks;

	collector_window_count(c);
	full = (int64_t)c->counts[SAMPLER_RING_FULL];
	ticks = (int64_t)c->counts[SAMPLER_TICKS_LOST];
	a.ignored = (int64_t)c->counts[SAMPLER_IGNORED];
	a.lost[WINDOW_CPU] = ticks;
	a.lost[WINDOW_OFF_CPU] = full - ticks;
	(void)cpu_times_read(&a.times);
	return a;
}

/*
 * Begin a window at `at_ns`, a time of the monotonic clock close to now. `then`
 * has the kernel's counters of that time.
 */
static void collector_open_window(struct collector *c, int64_t at_ns,
				  const struct kernel_account *then)
{
	int64_t ago_ms = (clock_mono_ns() - at_ns) / 1000000;

	c->window = sample_window_new((clock_ms(NULL) - ago_ms) * 1000000);
	c->window_at = at_ns;
	c->kernel_account = *then;
}

void collector_window_begin(struct collector *c)
{
	const struct kernel_account now = collector_account(c);

	/*
	 * These windows are from before sampling began. They have no samples,
	 * or a few from a failed attempt to begin sampling.
	 */
	sample_window_free(c->closing);
	c->closing = NULL;
	sample_window_free(c->window);
	collector_open_window(c, clock_mono_ns(), &now);
}

/*
 * Add the CPU time of a window to the statistics: the time that its samples
 * stand for, and the time by the kernel's own account. If one of them is not
 * known, add nothing.
 */
static void collector_compare(struct collector *c,
			      const struct sample_window *w)
{
	const struct window_account *a = &w->account;
	struct window_total kept =
		sample_window_total(w, WINDOW_CPU, WINDOW_ALL_SERIES);

	if (!a->is_sampled || !a->times.busy_ns || !c->o.hz)
		return;
	c->stats.busy_ns += a->times.busy_ns;
	c->stats.stolen_ns += a->times.stolen_ns;
	c->stats.sampled_ns +=
		((int64_t)kept.count + a->dropped + a->lost[WINDOW_CPU]) *
		(1000000000 / c->o.hz);
}

/*
 * End c->window at `at_ns`, a time of the monotonic clock. `now` has the
 * kernel's counters of that time. The duration is measured by the monotonic
 * clock, and rounded down to whole milliseconds: with nanoseconds, a stored
 * heartbeat takes 4 bytes more (docs/benchmarks.md).
 */
static void collector_end_window(struct collector *c, int64_t at_ns,
				 const struct kernel_account *now)
{
	const struct kernel_account *before = &c->kernel_account;
	struct window_account *a = &c->window->account;

	c->window->end_ns = c->window->start_ns +
			    (at_ns - c->window_at) / 1000000 * 1000000;
	if (before->times.busy_ns && now->times.busy_ns)
		a->times = (struct cpu_times){
			now->times.busy_ns - before->times.busy_ns,
			now->times.stolen_ns - before->times.stolen_ns
		};
	a->dropped += now->ignored - before->ignored;
	for (int kind = 0; kind < WINDOW_KINDS; kind++) {
		int64_t lost = now->lost[kind] - before->lost[kind];

		/*
		 * For WINDOW_OFF_CPU, the difference may be negative: now->lost
		 * is computed from two counters that are not read at the same
		 * moment (collector_account()).
		 */
		a->lost[kind] += lost > 0 ? lost : 0;
	}
	a->is_sampled = c->stats.sampling;
}

/* Hand over a window that has ended. The writer must have room. */
static void collector_give(struct collector *c, struct sample_window *w)
{
	collector_compare(c, w);
	sample_window_refresh(w, &c->files);
	profile_writer_give(c->writer, w);
}

struct sample_window *collector_window_of(struct collector *c, uint64_t time)
{
	return c->closing && time < (uint64_t)c->window_at ? c->closing :
							     c->window;
}

/*
 * End c->window and begin the next window at `at_ns`. The caller must not have
 * added any sample from after that time. The window that ends becomes
 * c->closing, which must be NULL before. The ended window is handed over when
 * it has all samples from before `at_ns`. The kernel's counters are read now,
 * which may be a little before or after `at_ns`.
 */
static void collector_next_window(struct collector *c, int64_t at_ns)
{
	const struct kernel_account now = collector_account(c);

	collector_end_window(c, at_ns, &now);
	c->closing = c->window;
	collector_open_window(c, at_ns, &now);
}

/* Hand over c->closing, the window that has ended. */
static void collector_give_closing(struct collector *c)
{
	uint64_t end = (uint64_t)c->window_at;

	/*
	 * Add waits only up to c->seen_ns: which threads have resumed later is
	 * not known yet.
	 */
	collector_add_waits(c, c->seen_ns < end ? c->seen_ns : end);
	collector_give(c, c->closing);
	c->closing = NULL;
	/*
	 * Sweep only now: until collector_give() had copied the facts about the
	 * window's files, the window needed their entries in the file table,
	 * which the sweep may free.
	 */
	collector_sweep(c);
}

/*
 * Whether c->closing has all its samples: those from before its end have been
 * read, and none of them is held.
 */
static bool collector_is_complete(const struct collector *c)
{
	uint64_t end = (uint64_t)c->window_at;

	return c->seen_ns >= end && !held_samples_before(&c->held, end);
}

bool collector_window_make_room(struct collector *c)
{
	/*
	 * A window must last at least 2 ms: the profiles of two windows must
	 * have different times in milliseconds, and the beginnings of the
	 * windows may be rounded in opposite directions.
	 */
	int64_t least_ns = c->window_at + 2000000;
	int64_t seen_ns = (int64_t)c->seen_ns;

	/* The last window has ended, and nothing comes after it. */
	if (c->ended && !c->closing)
		return false;
	if (!profile_writer_has_room(c->writer))
		return false;
	if (!c->closing)
		collector_next_window(c,
				      seen_ns > least_ns ? seen_ns : least_ns);
	collector_give_closing(c);
	return true;
}

/* Whether the window is as long as an interval. */
static bool collector_window_is_full(const struct collector *c)
{
	return (clock_mono_ns() - c->window_at) / 1000000 >= c->o.interval_ms;
}

void collector_window_turn(struct collector *c)
{
	if (c->closing && collector_is_complete(c) &&
	    profile_writer_has_room(c->writer))
		collector_give_closing(c);
	if (!c->closing && !c->ended && collector_window_is_full(c))
		collector_next_window(c, clock_mono_ns());
}

void collector_window_end(struct collector *c)
{
	const struct kernel_account now = collector_account(c);
	int64_t now_ns = clock_mono_ns();

	collector_end_window(c, now_ns, &now);
	c->ended = true;
	c->ended_ns = (uint64_t)now_ns;
}

/* Wait until the writer has room for a window. */
static void collector_wait_for_room(struct collector *c)
{
	while (!profile_writer_has_room(c->writer))
		usleep(1000 * WINDOW_WAIT_MS);
}

void collector_window_give_all(struct collector *c)
{
	/* Storage that refuses profiles must not keep everprof from ending. */
	profile_writer_hurry(c->writer);
	collector_wait_for_room(c);
	if (c->closing) {
		collector_give_closing(c);
		collector_wait_for_room(c);
	}
	collector_add_waits(c, c->ended_ns);
	collector_give(c, c->window);
	c->window = NULL;
}
