/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile writer: a thread that finds the names of the functions in a window,
 * makes profiles of the window, and hands the profiles to the sink. Names come
 * from disks and may take seconds; the collector does not wait for them.
 *
 * Ownership: a writer owns the windows that it was given.
 * Threads: one thread gives windows; the writer's own thread calls the sink.
 */
#ifndef BPF_COLLECT_PROFILE_WRITER_H
#define BPF_COLLECT_PROFILE_WRITER_H

#include "base/log.h"
#include "bpf/collect/profile_sink.h"
#include "bpf/collect/sample_window.h"

struct profile_writer;

/* What the members point to is borrowed, until profile_writer_close(). */
struct profile_writer_options {
	unsigned hz;
	unsigned off_cpu;          /* one in this many waits is sampled */
	char *const *helper_argv;  /* as for file_helper_new() */
	char *const *process_argv; /* the same, for process_reader_serve() */
	const char *debug_dir;     /* as in struct collector_options */
	const struct user_ranges *ranges; /* may be NULL */
	int64_t names_ms;      /* time for the names of a window; 0: no limit */
	const struct log *log; /* may be NULL */
	/*
	 * Labels of the machine, from which those of heartbeats are made; NULL:
	 * no heartbeats.
	 */
	struct labels *node;
	profile_sink *sink;
	void *ctx;
};

/* Start the thread. */
struct profile_writer *
profile_writer_open(const struct profile_writer_options *o);

/*
 * End the repeated attempts to hand over profiles that the sink refuses with
 * ERR_AGAIN. If the writer is waiting for the next attempt with a profile, it
 * gives up this profile and all later ones. Otherwise, it does so when the sink
 * next refuses a profile with ERR_AGAIN. Call this function when the writer is
 * about to be stopped, so that windows that wait do not delay the end.
 */
void profile_writer_hurry(struct profile_writer *w);

/*
 * Write the profiles of all windows, as long as the sink takes them, and end
 * the thread. A second call is a no-op.
 */
void profile_writer_stop(struct profile_writer *w);

/* Stop the writer and free it; NULL is a no-op. */
void profile_writer_close(struct profile_writer *w);

/* Whether the writer has room for another window. */
bool profile_writer_has_room(struct profile_writer *w);

/* Give a window to the writer, which must have room. */
void profile_writer_give(struct profile_writer *w,
			 struct sample_window *window);

/*
 * Set *written to the number of profiles that the sink has stored, and *failed
 * to the number of those that were not stored. Heartbeats count as profiles.
 */
void profile_writer_counts(struct profile_writer *w, uint64_t *written,
			   uint64_t *failed);

/*
 * Append to `out` the encoded profile of one series for one kind of samples.
 * `names` has the answer for each frame of the window (frame_names_find()).
 * `period` is the interval of CPU samples in ns, or the number of waits of
 * which one was sampled. Returns false if there are no samples; nothing is
 * appended then.
 */
bool window_profile_encode(const struct sample_window *w, uint32_t series,
			   enum window_kind kind, const struct bytes *names,
			   int64_t period, struct buf *out);

enum {
	/*
	 * If more than this percentage of the samples of a kind is lost, the
	 * window has no heartbeat for this kind.
	 */
	HEARTBEAT_LOST_PERCENT = 5,
};

/*
 * Append to `out` the encoded heartbeat of a kind of samples. `period` is as
 * for window_profile_encode(). False: the sampler did not run during the whole
 * window, or so many samples are lost that the others cannot stand for all;
 * nothing is appended then.
 */
bool heartbeat_encode(const struct sample_window *w, enum window_kind kind,
		      int64_t period, struct buf *out);

#endif
