/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/profile_writer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/units.h"
#include "bpf/collect/frame_names.h"
#include "model/collected.h"

enum {
	/*
	 * Largest number of windows that wait to be written. While so many
	 * wait, the collector keeps the windows that it still has, and adds
	 * further samples to them.
	 */
	WRITER_WINDOWS_MAX = 2,
	/* The time between two attempts to hand a profile over. */
	WRITER_RETRY_MS = 1000,
	/*
	 * For this time after the names of a window were found, profiles that
	 * the sink refuses with ERR_AGAIN are offered again. Afterwards, there
	 * is one attempt for each remaining profile of the window.
	 */
	WRITER_PATIENCE_MS = 60000,
};

struct profile_writer {
	struct profile_writer_options o;
	struct frame_names names;
	/* a profile was refused while `hurrying`: offer no more */
	bool gave_up;
	int64_t patient_until_ns; /* end of retries; see WRITER_PATIENCE_MS */
	pthread_t thread;
	struct mutex mu;
	pthread_cond_t wake;
	/* Guarded by mu. */
	struct sample_window *queue[WRITER_WINDOWS_MAX];
	size_t count;
	bool closing;
	bool hurrying; /* the first refused profile ends all attempts */
	uint64_t written;
	uint64_t failed;
};

/*
 * Wait for WRITER_RETRY_MS before a refused profile is offered again. False:
 * the profile must not be offered again, because the writer hurries.
 */
static bool writer_pause(struct profile_writer *w)
{
	int64_t at = clock_mono_ns() + WRITER_RETRY_MS * 1000000LL;
	struct timespec t = clock_mono_at(at);
	bool hurrying;

	mutex_lock(&w->mu);
	while (!w->hurrying && clock_mono_ns() < at)
		(void)mutex_wait_until(&w->mu, &w->wake, &t);
	hurrying = w->hurrying;
	mutex_unlock(&w->mu);
	return !hurrying;
}

/* Whether the profiles that are left must be written without waiting. */
static bool writer_hurries(struct profile_writer *w)
{
	bool hurrying;

	mutex_lock(&w->mu);
	hurrying = w->hurrying;
	mutex_unlock(&w->mu);
	return hurrying;
}

/* Log that a profile was not stored. */
static void writer_report(const struct profile_writer *w,
			  const struct labels *labels, int64_t ms,
			  const struct err *err)
{
	struct buf series = { 0 };
	char time[40];

	labels_text(labels, &series);
	time_format(ms, time);
	log_event(w->o.log, LOG_ERROR,
		  "a profile of the eBPF collector was not stored",
		  LOG_FIELDS(log_text("series", buf_cstr(&series)),
			     log_text("time", time), log_err(err)));
	buf_fini(&series);
}

/*
 * Hand a profile over to the sink, perhaps in several attempts, and count the
 * profile as written or failed. False: it was not stored.
 */
static bool writer_hand_over(struct profile_writer *w, struct labels *labels,
			     int64_t ms, const struct buf *profile)
{
	struct err err = {
		.msg = "storage refused an earlier profile while the collector was stopping, so this one was not offered"
	};
	int rc = ERR_AGAIN;

	if (profile->over)
		rc = err_set(&err, ERR_TOOBIG,
			     "the profile is larger than %d bytes",
			     PROFILE_SINK_MAX);
	while (rc == ERR_AGAIN && !w->gave_up) {
		rc = w->o.sink(w->o.ctx, labels, ms, buf_bytes(profile), &err);
		if (rc != ERR_AGAIN)
			break;
		/*
		 * When the writer hurries, give up: each further attempt could
		 * take a long time.
		 */
		if (clock_mono_ns() >= w->patient_until_ns) {
			w->gave_up = writer_hurries(w);
			break;
		}
		w->gave_up = !writer_pause(w);
	}
	if (rc)
		writer_report(w, labels, ms, &err);
	mutex_lock(&w->mu);
	*(rc ? &w->failed : &w->written) += 1;
	mutex_unlock(&w->mu);
	return !rc;
}

/*
 * Return the labels `from` with `name` as the name of the series, or `from`
 * itself, if these labels would not be valid. The caller owns a reference.
 */
static struct labels *writer_labels(struct labels *from, const char *name)
{
	struct labels_builder b = { 0 };
	struct labels *out = NULL;

	labels_set_all(&b, from);
	labels_set(&b, str_of(LABEL_NAME), str_of(name));
	if (labels_build(&b, &out, NULL))
		out = labels_ref(from);
	labels_builder_fini(&b);
	return out;
}

/*
 * Return the period of the samples of a kind, as for window_profile_encode();
 * 0: no such samples are taken.
 */
static int64_t writer_period(const struct profile_writer *w,
			     enum window_kind kind)
{
	if (kind == WINDOW_OFF_CPU)
		return w->o.off_cpu;
	return w->o.hz ? 1000000000 / w->o.hz : 0;
}

/* Note for the heartbeat that the profile of a series was not stored. */
static void writer_note_refused(struct sample_window *window, uint32_t series,
				enum window_kind kind)
{
	struct window_total *all = &window->account.refused[kind];
	struct window_total t = sample_window_total(window, kind, series);

	all->count += t.count;
	all->value += t.value;
}

/*
 * Make the profiles of a series, one for each kind of samples, and hand them
 * over.
 */
static void writer_write_series(struct profile_writer *w,
				struct sample_window *window, uint32_t series,
				const struct bytes *names, struct buf *profile)
{
	for (int kind = 0; kind < WINDOW_KINDS; kind++) {
		struct labels *labels;

		buf_reset(profile);
		if (!window_profile_encode(window, series, kind, names,
					   writer_period(w, kind), profile))
			continue;
		labels = kind == WINDOW_CPU ?
				 labels_ref(window->series.v[series]) :
				 writer_labels(window->series.v[series],
					       COLLECTED_OFF_CPU);
		if (!writer_hand_over(w, labels, window->start_ns / 1000000,
				      profile))
			writer_note_refused(window, series, kind);
		labels_unref(labels);
	}
}

/*
 * Make the heartbeats of a window, after its profiles were handed over, and
 * hand the heartbeats over.
 */
static void writer_beat(struct profile_writer *w,
			const struct sample_window *window, struct buf *profile)
{
	for (int kind = 0; kind < WINDOW_KINDS; kind++) {
		int64_t period = writer_period(w, kind);
		struct labels *labels;

		buf_reset(profile);
		if (!period || !heartbeat_encode(window, kind, period, profile))
			continue;
		labels = writer_labels(w->o.node,
				       kind == WINDOW_CPU ?
					       COLLECTED_CPU_BEATS :
					       COLLECTED_OFF_CPU_BEATS);
		(void)writer_hand_over(w, labels, window->start_ns / 1000000,
				       profile);
		labels_unref(labels);
	}
}

/*
 * Find the names for a window, make its profiles and heartbeats, and hand them
 * over.
 */
static void writer_write(struct profile_writer *w, struct sample_window *window)
{
	struct arena arena = { 0 };
	struct buf profile = buf_init(PROFILE_SINK_MAX);
	size_t frames = window->frames.count ? window->frames.count : 1;
	struct bytes *names = mem_alloc(frames * sizeof(*names));

	frame_names_find(&w->names, window, &arena, names);
	w->patient_until_ns = clock_mono_ns() + WRITER_PATIENCE_MS * 1000000LL;
	for (uint32_t i = 0; i < window->series.count; i++)
		writer_write_series(w, window, i, names, &profile);
	if (w->o.node)
		writer_beat(w, window, &profile);
	mem_free(names);
	buf_fini(&profile);
	arena_fini(&arena);
}

/*
 * Take the next window; NULL: the writer is being stopped, and no window is
 * left.
 */
static struct sample_window *writer_take(struct profile_writer *w)
{
	struct sample_window *window = NULL;

	mutex_lock(&w->mu);
	while (!w->count && !w->closing)
		mutex_wait(&w->mu, &w->wake);
	if (w->count) {
		window = w->queue[0];
		w->count--;
		for (size_t i = 0; i < w->count; i++)
			w->queue[i] = w->queue[i + 1];
	}
	mutex_unlock(&w->mu);
	return window;
}

static void *writer_run(void *writer)
{
	struct profile_writer *w = writer;
	struct sample_window *window;
	struct err err;

	frame_names_init(&w->names,
			 &(struct frame_names_options){
				 .helper_argv = w->o.helper_argv,
				 .process_argv = w->o.process_argv,
				 .debug_dir = w->o.debug_dir,
				 .ranges = w->o.ranges,
				 .window_ms = w->o.names_ms,
			 },
			 &err);
	if (err.code)
		log_event(
			w->o.log, LOG_WARN,
			"the names of the kernel's functions cannot be read; profiles contain their addresses only",
			LOG_FIELDS(log_err(&err)));
	while ((window = writer_take(w))) {
		writer_write(w, window);
		sample_window_free(window);
	}
	frame_names_fini(&w->names);
	return NULL;
}

struct profile_writer *
profile_writer_open(const struct profile_writer_options *o)
{
	struct profile_writer *w = mem_new(struct profile_writer);

	w->o = *o;
	mutex_init(&w->mu);
	clock_cond_init(&w->wake);
	w->thread = thread_start("ebpf-profiles", writer_run, w);
	return w;
}

void profile_writer_hurry(struct profile_writer *w)
{
	mutex_lock(&w->mu);
	w->hurrying = true;
	pthread_cond_signal(&w->wake);
	mutex_unlock(&w->mu);
}

void profile_writer_stop(struct profile_writer *w)
{
	bool stopped;

	mutex_lock(&w->mu);
	stopped = w->closing;
	w->closing = true;
	w->hurrying = true;
	pthread_cond_signal(&w->wake);
	mutex_unlock(&w->mu);
	if (!stopped)
		pthread_join(w->thread, NULL);
}

void profile_writer_close(struct profile_writer *w)
{
	if (!w)
		return;
	profile_writer_stop(w);
	pthread_cond_destroy(&w->wake);
	mutex_destroy(&w->mu);
	mem_free(w);
}

bool profile_writer_has_room(struct profile_writer *w)
{
	bool room;

	mutex_lock(&w->mu);
	room = w->count < WRITER_WINDOWS_MAX;
	mutex_unlock(&w->mu);
	return room;
}

void profile_writer_give(struct profile_writer *w, struct sample_window *window)
{
	mutex_lock(&w->mu);
	w->queue[w->count++] = window;
	pthread_cond_signal(&w->wake);
	mutex_unlock(&w->mu);
}

void profile_writer_counts(struct profile_writer *w, uint64_t *written,
			   uint64_t *failed)
{
	mutex_lock(&w->mu);
	*written = w->written;
	*failed = w->failed;
	mutex_unlock(&w->mu);
}
