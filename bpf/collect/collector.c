/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/collector.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "bpf/collect/collector_private.h"
#include "bpf/collect/collector_samples.h"
#include "bpf/collect/collector_window.h"

enum {
	/* How often samples are read, if nothing else happens. */
	TURN_MS = 200,
	/*
	 * Once sampling has begun, the statistics are updated once a second,
	 * because reading each counter costs a system call. New names of
	 * containers are taken over at the same rate.
	 */
	COUNT_MS = 1000,
	/*
	 * On a busy machine, wait this long for further reports about
	 * processes, so that one turn reads several reports.
	 */
	GATHER_MS = 5,
	/*
	 * While files are being read, the processes that have mapped the files
	 * read so far are published again this often.
	 */
	LEARN_MS = 100,
	/* Sampling begins after this time even if files are still unread. */
	SETTLE_MS = 10000,
	/* If sampling cannot begin, it is tried again after this time. */
	START_RETRY_MS = 10000,
	/*
	 * After a loss of reports, all processes are read again, but at most
	 * this often.
	 */
	RESCAN_MS = 10000,
	/*
	 * When the collector stops, it waits at most this long for the facts
	 * about processes that are still to be read.
	 */
	STOP_SCANS_MS = 1000,
	/* A warning about the same condition is logged at most this often. */
	WARN_MS = 60000,
	/*
	 * Number of descriptors that are polled besides those of the reports:
	 * stop_fd, and those of the ELF queue and the scan queue.
	 */
	WAITS_OWN = 3,
	/*
	 * The priority is updated again after this number of samples and
	 * reports.
	 */
	MEASURE_STEPS = 256,
	/*
	 * The ring buffer is sized for this number of sampled waits a second on
	 * each CPU.
	 */
	SWITCHES_HZ = 1000,
};

/* The file that lists the subordinate user IDs of each user (subuid(5)). */
#define USER_RANGES "/etc/subuid"

int collector_help(void)
{
	return file_helper_serve(0, elf_operations, ELF_OPERATIONS);
}

int collector_help_processes(void)
{
	return process_reader_serve();
}

static bool collector_publish(void *ctx, uint32_t pid,
			      const struct sampler_process *p)
{
	struct collector *c = ctx;

	return !sampler_process_set(c->sampler, pid, p, NULL);
}

static void collector_unpublish(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;

	sampler_process_remove(c->sampler, pid);
}

/*
 * If the ELF queue is idle, let it read the next file. Return whether the queue
 * is busy.
 */
static bool collector_reads_file(struct collector *c, uint64_t now)
{
	const struct mapped_file *f;
	uint32_t next;

	if (!elf_queue_is_idle(c->queue))
		return true;
	next = file_table_next(&c->files, now);
	if (next == FILE_NONE)
		return false;
	f = file_table_at(&c->files, next);
	elf_queue_submit(c->queue, next, f,
			 user_ranges_share(&c->ranges, f->uid));
	return true;
}

/*
 * Take over what the ELF queue has read, and let it read the next file. Every
 * LEARN_MS, and when no file is left to be read, note that the processes with
 * the learned files have changed, so that they are published again. Do so at
 * once if an unwind table was evicted, because the kernel must not read this
 * table any more.
 */
static void collector_read_files(struct collector *c, uint64_t now)
{
	struct elf_result r;
	size_t learned;
	bool reads;

	if (elf_queue_take(c->queue, &r)) {
		if (file_table_learn(&c->files, r.number,
				     r.good ? &r.read : NULL, now))
			*vec_add(&c->learned.list) = r.number;
		elf_result_fini(&r);
	}
	learned = c->learned.list.count;
	file_table_take_withdrawn(&c->files, &c->learned);
	reads = collector_reads_file(c, now);
	if (reads && learned == c->learned.list.count &&
	    now - c->learned_at < LEARN_MS)
		return;
	c->settled = !reads && scan_queue_is_idle(c->scans);
	c->learned_at = now;
	for (size_t i = 0; i < c->learned.list.count; i++)
		process_table_file_changed(&c->processes, c->learned.list.v[i]);
	c->learned.list.count = 0;
}

/*
 * Ask the scan queue for the mappings of all processes, or only of the process
 * that the option `pid` names.
 */
static void collector_scan(struct collector *c)
{
	c->rescan = false;
	c->rescan_after = c->now + RESCAN_MS;
	if (c->o.pid)
		scan_queue_add(c->scans, SCAN_MAPS, c->o.pid);
	else
		scan_queue_add_all(c->scans);
}

/*
 * Update the priority of this thread (collector_priority.h) in the middle of a
 * turn. collector_turn() updates the priority at its start, but a turn may last
 * for seconds.
 */
static void collector_measure(struct collector *c)
{
	collector_priority_update(&c->priority,
				  (uint64_t)clock_mono_ns() / 1000000);
}

/*
 * Count one more sample or report, and update the priority of this thread after
 * each MEASURE_STEPS of them. To do so for each one would cost too much,
 * because reading the clock can take longer than handling a sample or a report.
 */
static void collector_step(struct collector *c)
{
	if (++c->steps % MEASURE_STEPS == 0)
		collector_measure(c);
}

/* Take over what a scan of the kind SCAN_JIT has read about a process. */
static void collector_take_jit(struct collector *c, struct jit_process *j)
{
	/*
	 * The facts go to the older window, if it has the process, but no facts
	 * about it. *j is then empty, so the second call does nothing.
	 */
	if (c->closing)
		sample_window_take_process(c->closing, j);
	sample_window_take_process(c->window, j);
}

/*
 * Take over what the scan queue has read about processes. Then take the held
 * samples that need not wait any longer.
 */
static void collector_take_scans(struct collector *c)
{
	struct scan_result r;

	while (scan_queue_take(c->scans, &r)) {
		if (r.kind == SCAN_JIT)
			collector_take_jit(c, &r.jit);
		else
			collector_learn(c, &r);
		scan_result_fini(&r);
		collector_measure(c);
	}
	collector_take_held(c, c->now);
}

/* Visitor of sampler_drain(): copy the record into the queue. */
static void collector_receive(void *ctx, const struct sample_record *r)
{
	struct collector *c = ctx;

	sample_queue_add(&c->samples, r);
}

/* Take all queued samples whose time is before `time`. */
static void collector_take_before(struct collector *c, uint64_t time)
{
	const struct sample_record *r;

	while ((r = sample_queue_take(&c->samples, time))) {
		collector_take(c, r);
		collector_step(c);
	}
}

/*
 * Whether the report `r` is to be applied. With the option `pid`, only reports
 * about marked processes (process_table_mark()), about forks of marked
 * processes, and about lost reports are applied.
 */
static bool collector_follows(const struct collector *c,
			      const struct side_band_record *r)
{
	const struct process *p;

	if (!c->o.pid || r->kind == SIDE_BAND_LOST)
		return true;
	p = process_table_find(&c->processes,
			       r->kind == SIDE_BAND_FORK ? r->parent : r->pid);
	return p && p->marked;
}

/*
 * Visitor of side_band_drain(): take the samples from before the report `r`,
 * then apply the report.
 */
static void collector_report(void *ctx, const struct side_band_record *r)
{
	struct collector *c = ctx;

	collector_step(c);
	collector_take_before(c, r->time);
	if (!collector_follows(c, r))
		return;
	if (r->kind == SIDE_BAND_LOST) {
		c->stats.reports_lost += (int64_t)r->lost;
		c->rescan = true;
	}
	/*
	 * The held samples of this process belong to the program that it ran
	 * before.
	 */
	if (r->kind == SIDE_BAND_EXEC)
		collector_take_held_of(c, r->pid);
	process_table_report(&c->processes, r, c->now);
}

/*
 * Read the samples and the reports, and take them in the order of their times.
 * Then take over what was scanned and, if reports were lost, ask for another
 * scan.
 */
static void collector_read(struct collector *c)
{
	uint64_t begun = (uint64_t)clock_mono_ns();
	struct err err;

	/*
	 * Read the samples first: the reports of all events before these
	 * samples are then available.
	 */
	if (sampler_drain(c->sampler, collector_receive, c, &err))
		log_event(c->o.log, LOG_ERROR, "eBPF: samples cannot be read",
			  LOG_FIELDS(log_err(&err)));
	sample_queue_sort(&c->samples);
	side_band_drain(c->side_band, collector_report, c);
	collector_take_before(c, UINT64_MAX);
	sample_queue_reset(&c->samples);
	if (c->seen_ns < begun)
		c->seen_ns = begun;
	collector_take_scans(c);
	if (c->rescan && c->now >= c->rescan_after)
		collector_scan(c);
}

/*
 * Log `message` with the number of refusals since `message` was logged last.
 * Log nothing if there are none, or if `message` was logged less than WARN_MS
 * ago. `refused` is the number of refusals since the start.
 */
static void collector_warn(struct collector *c, struct collector_warning *w,
			   int64_t refused, const char *message)
{
	if (refused == w->of || (w->at && c->now - w->at < WARN_MS))
		return;
	log_event(c->o.log, LOG_WARN, message,
		  LOG_FIELDS(log_int("refused", refused - w->of)));
	w->at = c->now;
	w->of = refused;
}

static void collector_warn_of_room(struct collector *c)
{
	collector_warn(
		c, &c->warned_of_tables, c->stats.tables_crowded_out,
		"eBPF: there is no room for the unwind tables of all sampled programs; callers of code without a table are found by frame pointers only, so stacks may lack callers or end early");
	collector_warn(
		c, &c->warned_of_files, c->stats.files_refused,
		"eBPF: there is no room for all files that processes have mapped (one user may have a quarter of the room, and an eighth is kept for root); frames in the other files have no file and no name");
}

/*
 * If the option `measure` is set, copy what sampling has cost in the kernel
 * into the statistics. The cost is read at the end only, because reading it
 * takes longer than the rest of a quiet turn.
 */
static void collector_count_cost(struct collector *c)
{
	struct collector_stats *s = &c->stats;
	struct sampler_cost cost;

	if (c->o.measure && !sampler_cost_of(c->sampler, &cost, NULL)) {
		s->runs = (int64_t)cost.runs;
		s->run_ns = (int64_t)cost.run_ns;
		s->map_bytes = (int64_t)cost.memory;
	}
}

/*
 * Copy the counters of all parts of the collector into the statistics, log
 * warnings about refusals, and show the statistics to other threads.
 */
static void collector_count(struct collector *c)
{
	struct collector_stats *s = &c->stats;
	uint64_t written;
	uint64_t failed;

	collector_window_count(c);
	s->ring_full = (int64_t)c->counts[SAMPLER_RING_FULL];
	s->dropped = c->seen_dropped + (int64_t)c->counts[SAMPLER_IGNORED];
	profile_writer_counts(c->writer, &written, &failed);
	s->profiles = (int64_t)written;
	s->profiles_failed = (int64_t)failed;
	s->processes = (int64_t)c->processes.by_pid.count;
	s->files = (int64_t)(c->files.by_name.count - c->files.unused_count);
	s->files_refused = (int64_t)c->files.refused;
	s->series = (int64_t)c->groups.by_key.count;
	s->table_entries = c->store.extents.used;
	s->tables_evicted = (int64_t)c->store.evicted;
	s->tables_crowded_out = (int64_t)c->store.crowded_out;
	s->processes_refused = (int64_t)c->processes.refused;
	s->processes_evicted = (int64_t)c->processes.evicted;
	s->publications_refused = (int64_t)c->processes.crowded_out;
	collector_warn_of_room(c);
	c->counted_at = c->now;
	mutex_lock(&c->mu);
	c->shown = *s;
	mutex_unlock(&c->mu);
}

void collector_stats_of(struct collector *c, struct collector_stats *out)
{
	mutex_lock(&c->mu);
	*out = c->shown;
	mutex_unlock(&c->mu);
}

/*
 * Begin to take samples once the files of the processes that already ran have
 * been read, or after SETTLE_MS. Without the unwind tables of these files, many
 * stacks would end early.
 */
static void collector_begin_samples(struct collector *c)
{
	struct err *failure = &c->stats.failure;

	if (c->stats.sampling || c->ended || c->now < c->start_after ||
	    (!c->settled && c->now < c->settle_until))
		return;
	c->stats.sampling = !sampler_start(c->sampler, failure);
	collector_window_begin(c);
	if (c->stats.sampling) {
		failure->code = 0;
	} else {
		c->start_after = c->now + START_RETRY_MS;
		log_event(
			c->o.log, LOG_ERROR,
			"eBPF: samples cannot be taken; everprof tries again in 10 s",
			LOG_FIELDS(log_err(failure)));
	}
	collector_count(c);
}

/*
 * If the names of a container have changed, take its processes out of their
 * groups. Their next samples put them into groups again.
 */
static void collector_take_names(struct collector *c)
{
	if (!c->o.containers ||
	    !process_groups_take_names(&c->groups, c->o.containers))
		return;
	for (size_t i = 0; i < c->processes.processes.count; i++) {
		struct process *p = &c->processes.processes.v[i];

		if (p->live && p->group != PROCESS_NO_GROUP &&
		    process_groups_is_stale(&c->groups, p->group))
			process_table_regroup(&c->processes, p);
	}
}

/* Do one turn: all that is due now. */
static void collector_turn(struct collector *c)
{
	c->now = (uint64_t)clock_mono_ns() / 1000000;
	collector_priority_update(&c->priority, c->now);
	collector_read(c);
	collector_read_files(c, c->now);
	process_table_publish(&c->processes, c->now);
	collector_begin_samples(c);
	collector_window_turn(c);
	if (c->now - c->counted_at >= COUNT_MS || !c->stats.sampling) {
		collector_take_names(c);
		collector_count(c);
	}
}

static void collector_wait_for(struct collector *c, int fd)
{
	*vec_add(&c->waits) = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/*
 * List the descriptors that the collector polls: WAITS_OWN of its own, then
 * those of the reports.
 */
static void collector_list_waits(struct collector *c)
{
	size_t count;
	const int *fds = side_band_fds(c->side_band, &count);

	collector_wait_for(c, c->stop_fd);
	collector_wait_for(c, elf_queue_fd(c->queue));
	collector_wait_for(c, scan_queue_fd(c->scans));
	for (size_t i = 0; i < count; i++)
		collector_wait_for(c, fds[i]);
}

/*
 * Wait until there is something to do, but not much longer than TURN_MS. Return
 * false if the collector is to stop. On a busy machine, the first poll() waits
 * for the collector's own descriptors, GATHER_MS at most. Usually, a report has
 * arrived by then, and the second poll() is not called. On a quiet machine,
 * where the last call of this function ended without an event, the first poll()
 * is left out.
 */
static bool collector_wait(struct collector *c)
{
	bool is_quiet = c->is_quiet || !poll(c->waits.v, WAITS_OWN, GATHER_MS);

	c->is_quiet = is_quiet && !side_band_is_ready(c->side_band) &&
		      !poll(c->waits.v, c->waits.count, TURN_MS);
	return !c->waits.v[0].revents;
}

/*
 * Wait for the facts about the processes of the last samples, but at most
 * STOP_SCANS_MS. Then take all samples that are still held.
 */
static void collector_finish_scans(struct collector *c)
{
	int64_t end = clock_mono_ns() + STOP_SCANS_MS * 1000000LL;

	while (!scan_queue_is_idle(c->scans) && clock_mono_ns() < end) {
		collector_take_scans(c);
		usleep(1000 * GATHER_MS);
	}
	collector_take_held(c, UINT64_MAX);
}

static void *collector_run(void *collector)
{
	struct collector *c = collector;

	collector_list_waits(c);
	do
		collector_turn(c);
	while (collector_wait(c));
	/*
	 * Stop sampling, and hand over the windows that the collector still
	 * has.
	 */
	sampler_stop(c->sampler);
	collector_window_end(c);
	collector_turn(c);
	collector_finish_scans(c);
	collector_window_give_all(c);
	return NULL;
}

/*
 * Return a size for the ring buffer in bytes: a power of two, with room for the
 * samples that all CPUs take in two turns (TURN_MS), 1 KiB each, but at least
 * 256 KiB and at most 64 MiB. `hz` is the number of samples a second on each
 * CPU.
 */
static uint32_t collector_ring(unsigned hz)
{
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t bytes = cpus * hz * 1024 * 2 * TURN_MS / 1000;
	uint32_t ring = 256 << 10;

	while (ring < bytes && ring < (64U << 20))
		ring *= 2;
	return ring;
}

/* Open the sampler and the side band. */
static int collector_open(struct collector *c, struct err *err)
{
	struct sampler_options o = sampler_defaults;
	int rc;

	o.hz = c->o.hz;
	o.switches = c->o.off_cpu;
	o.ring = collector_ring(o.hz + (o.switches ? SWITCHES_HZ : 0));
	rc = sampler_open(&o, &c->sampler, err);
	if (!rc && c->o.measure)
		rc = sampler_measure(c->sampler, err);
	/*
	 * Reports begin before collector_begin() asks for a scan of /proc. So a
	 * process that starts during the scan is reported, and none is missed.
	 */
	if (!rc)
		rc = side_band_open(&c->side_band, err);
	return rc;
}

/*
 * Set up the parts that collector_open() has not opened, with an empty process
 * table, and ask for a scan of the processes that already run.
 */
static void collector_begin(struct collector *c)
{
	const struct process_publisher publisher = {
		.set = collector_publish,
		.remove = collector_unpublish,
		.ctx = c,
	};

	table_store_init(&c->store, sampler_entries(c->sampler),
			 sampler_defaults.entries);
	user_ranges_read(&c->ranges, USER_RANGES);
	file_table_init(&c->files, &c->store, &c->ranges);
	process_table_init(&c->processes, &c->files,
			   sampler_mappings(c->sampler),
			   sampler_defaults.mappings, &publisher);
	process_groups_init(&c->groups, c->o.node, CONTAINER_LOGS, c->o.rules);
	c->now = (uint64_t)clock_mono_ns() / 1000000;
	c->scans = scan_queue_open(c->o.process_argv, &c->ranges);
	collector_scan(c);
	if (c->o.pid)
		process_table_mark(&c->processes, c->o.pid, c->now);
	c->node = c->o.labels ? NULL : process_groups_node(&c->groups);
	c->queue = elf_queue_open(c->o.helper_argv, c->o.process_argv);
	c->writer = profile_writer_open(&(struct profile_writer_options){
		.hz = c->o.hz,
		.off_cpu = c->o.off_cpu,
		.helper_argv = c->o.helper_argv,
		.process_argv = c->o.process_argv,
		.debug_dir = c->o.debug_dir,
		.ranges = &c->ranges,
		/*
		 * A recording (interval_ms is INT64_MAX) waits for its names,
		 * however long they take. Otherwise, one window follows
		 * another, so the names of a window may take one interval.
		 */
		.names_ms = c->o.interval_ms == INT64_MAX ? 0 :
							    c->o.interval_ms,
		.log = c->o.log,
		.node = c->node,
		.sink = c->o.sink,
		.ctx = c->o.ctx,
	});
	collector_window_begin(c);
	c->settle_until = c->now + SETTLE_MS;
}

/* Free the collector, and what collector_open() has made. */
static void collector_close(struct collector *c)
{
	side_band_close(c->side_band);
	sampler_close(c->sampler);
	mutex_destroy(&c->mu);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	mem_free(c);
}

/* Free what collector_begin() has made. */
static void collector_end(struct collector *c)
{
	elf_queue_close(c->queue);
	scan_queue_close(c->scans);
	profile_writer_close(c->writer);
	sample_window_free(c->window);
	sample_window_free(c->closing);
	sample_queue_fini(&c->samples);
	waiting_threads_fini(&c->waiting);
	vec_fini(&c->learned.list);
	held_samples_fini(&c->held);
	vec_fini(&c->frames);
	vec_fini(&c->waits);
	process_table_fini(&c->processes);
	process_groups_fini(&c->groups);
	labels_unref(c->node);
	file_table_fini(&c->files);
	table_store_fini(&c->store);
	user_ranges_fini(&c->ranges);
}

int collector_start(const struct collector_options *o, struct collector **out,
		    struct err *err)
{
	struct collector *c = mem_new(struct collector);
	int rc;

	c->o = *o;
	mutex_init(&c->mu);
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = c->stop_fd < 0 ? err_sys(err, "cannot make an eventfd") :
			      collector_open(c, err);
	if (rc) {
		collector_close(c);
		return rc;
	}
	collector_begin(c);
	c->thread = thread_start("ebpf-collector", collector_run, c);
	*out = c;
	return 0;
}

void collector_stop(struct collector *c, struct collector_stats *out)
{
	if (!c)
		return;
	eventfd_write(c->stop_fd, 1);
	pthread_join(c->thread, NULL);
	profile_writer_stop(c->writer);
	collector_count_cost(c);
	collector_count(c);
	if (out)
		*out = c->shown;
	collector_end(c);
	collector_close(c);
}
