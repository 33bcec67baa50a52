/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/queue_cursor.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"

/* Return the path of the cursor file; the caller frees it. */
static char *cursor_path(const struct queue *q)
{
	return mem_printf("%s/%s" CURSOR_SUFFIX, q->o.dir, q->config.name.ptr);
}

/*
 * Create the directory of the cursor files if it is missing, then open or
 * create the cursor file of the queue; see cursor_open().
 */
static int open_file(struct queue *q, struct cursor_state *state,
		     enum cursor_origin *origin, struct cursor **out,
		     struct err *err)
{
	CLEANUP(mem_freep) char *path = cursor_path(q);
	int rc = fs_ensure_dir(q->o.fs, q->o.dir, err);

	if (!rc)
		rc = cursor_open(q->o.fs, path, state, origin, out, err);
	return rc ? err_wrap(err, rc, "%s", path) : 0;
}

/* Log that the receiver is new: the queue had no cursor file. */
static void report_new_receiver(const struct queue *q)
{
	log_event(
		q->o.events, LOG_INFO,
		"the data directory has no file remote/NAME.cursor for a receiver of remote write, so the receiver counts as new and gets only profiles that are stored from now on; if it is not new (its name, or its url if it has no name, was changed, or the file was removed), send it earlier profiles with everprof push",
		LOG_FIELDS(log_text("remote_name", q->config.name.ptr)));
}

/* Log the warning `what` about the cursor, with the error `err`. */
static void report_cursor(const struct queue *q, const char *what,
			  const struct err *err)
{
	log_event(q->o.events, LOG_WARN, what,
		  LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			     log_err(err)));
}

/*
 * Report that the cursor file could not be written. Report this only once until
 * the file is saved again, because each acknowledged request tries to write the
 * file.
 */
static void queue_tell_unsaved(struct queue *q, const char *what,
			       const struct err *err)
{
	if (!q->unsaved)
		report_cursor(q, what, err);
	q->unsaved = true;
}

/*
 * Return the number of the first sample in the log. If that sample cannot be
 * read, or the log has none, return the number that the next sample to be
 * appended will get.
 */
static uint64_t first_number(struct sample_log *log)
{
	uint64_t number = log->next_number(log);
	uint64_t position = log->begin(log);
	struct logged_sample sample;
	struct buf buf = { 0 };

	if (!log->read(log, &position, false, &buf, &sample, NULL))
		number = sample.number;
	buf_fini(&buf);
	return number;
}

/*
 * Return the state with which a queue without a cursor file begins. The
 * position is read before the number, because samples may be appended in
 * between. The number is then too high, which does no harm. In the other order,
 * the number would be too low, and the reader would report the samples appended
 * in between as lost.
 */
static struct cursor_state new_state(const struct queue *q)
{
	struct sample_log *log = q->o.log;
	struct cursor_state s = { .acked = q->o.from_begin ? log->begin(log) :
							     log->end(log) };

	s.number = q->o.from_begin ? first_number(log) : log->next_number(log);
	return s;
}

/* Report that the WAL ends before the position that was acknowledged. */
static void report_shorter_log(const struct queue *q,
			       const struct cursor_state *s)
{
	char at[40];

	time_format(s->sample_ms, at);
	log_event(
		q->o.events, LOG_ERROR,
		"files of the WAL were removed: the WAL ends before the position up to which the receiver has acknowledged profiles; profiles that were not sent may be lost, and everprof cannot tell how many; all profiles of the WAL are sent again",
		LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			   log_text("last_acknowledged",
				    s->sample_ms ? at : "unknown")));
}

int queue_open_cursor(struct queue *q, struct err *err)
{
	struct sample_log *log = q->o.log;
	struct cursor_state state = new_state(q);
	enum cursor_origin origin = CURSOR_READ;
	CLEANUP(mem_freep) char *path = cursor_path(q);
	int rc = open_file(q, &state, &origin, &q->cursor, err);

	if (!rc && origin == CURSOR_NEW && !q->o.from_begin)
		report_new_receiver(q);
	if (rc == ERR_UNSUPPORTED)
		return rc;
	if (rc) {
		/*
		 * The file could not be opened or created. It may have a state
		 * that everprof cannot read, so nothing counts as acknowledged.
		 */
		state = (struct cursor_state){ .acked = log->begin(log) };
		report_cursor(
			q,
			"cannot open the cursor of remote write; all profiles of the WAL are sent again",
			err);
	}
	if (origin == CURSOR_DAMAGED || origin == CURSOR_UNREADABLE)
		log_event(
			q->o.events, LOG_WARN,
			origin == CURSOR_DAMAGED ?
				"the cursor of remote write is damaged; all profiles of the WAL are sent again" :
				"the disk cannot read the cursor of remote write, which is kept as *.unread; all profiles of the WAL are sent again",
			LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
				   log_text("file", path)));
	/*
	 * The log ends before the cursor only if files of the log were removed.
	 * New samples may then have positions before the cursor, so nothing
	 * counts as acknowledged.
	 */
	if (state.acked > log->end(log)) {
		report_shorter_log(q, &state);
		state = (struct cursor_state){
			.acked = log->begin(log),
			.trusted_ms = state.trusted_ms,
			.doubt_ms = state.doubt_ms,
		};
	}
	ack_window_init(&q->window,
			(struct log_place){ .position = state.acked,
					    .number = state.number,
					    .ms = state.sample_ms });
	q->synced = state.acked;
	q->clock.trusted_ms = state.trusted_ms;
	q->clock.doubt_ms = state.doubt_ms;
	return 0;
}

/* Return the state that the cursor file has to have now. */
static struct cursor_state queue_cursor_state(struct queue *q) REQUIRES(q->mu)
{
	return (struct cursor_state){ .acked = q->window.acked.position,
				      .number = q->window.acked.number,
				      .sample_ms = q->window.acked.ms,
				      .trusted_ms = q->clock.trusted_ms,
				      .doubt_ms = q->clock.doubt_ms };
}

void queue_write_cursor(struct queue *q)
{
	const struct cursor_state state = queue_cursor_state(q);
	struct err err;

	q->unsynced = true;
	if (q->cursor && cursor_write(q->cursor, &state, &err))
		queue_tell_unsaved(
			q,
			"cannot write the cursor of remote write; profiles may be sent again after a restart",
			&err);
}

/* Try to open or create the cursor file, after earlier attempts have failed. */
static void make_cursor(struct queue *q)
{
	struct cursor_state state;
	struct cursor *c = NULL;
	struct err unwanted;
	enum cursor_origin unused;

	mutex_lock(&q->mu);
	state = queue_cursor_state(q);
	mutex_unlock(&q->mu);
	/*
	 * If the file exists, the state in it is not used, because the queue
	 * has begun without that state. The next cursor_write() replaces that
	 * state.
	 */
	if (open_file(q, &state, &unused, &c, &unwanted))
		return;
	mutex_lock(&q->mu);
	q->cursor = c;
	q->unsynced = true;
	mutex_unlock(&q->mu);
	log_event(q->o.events, LOG_INFO,
		  "the cursor of remote write can be saved again",
		  LOG_FIELDS(log_text("remote_name", q->config.name.ptr)));
}

/*
 * Record that the state in the cursor file is not durable yet, so that the next
 * queue_sync_cursor() writes and syncs the state again.
 */
static void note_unsynced(struct queue *q)
{
	mutex_lock(&q->mu);
	q->unsynced = true;
	mutex_unlock(&q->mu);
}

/* Set the position that queue_synced() returns. */
static void set_synced(struct queue *q, uint64_t position)
{
	mutex_lock(&q->mu);
	q->synced = position;
	mutex_unlock(&q->mu);
}

bool queue_sync_cursor(struct queue *q)
{
	struct cursor_state state;
	bool moved;
	struct err err;

	/*
	 * Only the reader changes q->cursor while the threads run, so the
	 * reader may read q->cursor without the lock.
	 */
	if (!q->cursor)
		make_cursor(q);
	mutex_lock(&q->mu);
	state = queue_cursor_state(q);
	moved = q->unsynced;
	q->unsynced = false;
	/*
	 * The file may still have an older state: reader_pass() and
	 * note_clock() change the state without writing the file, earlier
	 * writes may have failed, and make_cursor() may just have opened a file
	 * with another state. So write the state before the sync.
	 */
	if (moved && q->cursor && cursor_write(q->cursor, &state, NULL)) {
		q->unsynced = true;
		moved = false;
	}
	mutex_unlock(&q->mu);
	if (moved && q->cursor && cursor_sync(q->cursor, &err)) {
		queue_tell_unsaved(
			q,
			"cannot save the cursor of remote write; profiles may be sent again after a power cut",
			&err);
		note_unsynced(q);
		return false;
	}
	if (moved) {
		set_synced(q, state.acked);
		q->unsaved = false;
	}
	return moved;
}

uint64_t queue_position(struct queue *q)
{
	uint64_t position;

	mutex_lock(&q->mu);
	position = q->window.acked.position;
	mutex_unlock(&q->mu);
	return position;
}

bool queue_is_stopping(struct queue *q)
{
	bool stopping;

	mutex_lock(&q->mu);
	stopping = q->stopping;
	mutex_unlock(&q->mu);
	return stopping;
}
