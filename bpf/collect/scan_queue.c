/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/scan_queue.h"

#include <dirent.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/collect/reading_thread.h"
#include "bpf/process/process_uid.h"

enum {
	/* Largest number of results that wait to be taken. */
	SCAN_RESULTS_MAX = 16,
};

/* A request for facts about a process. */
struct scan_wish {
	enum scan_kind kind;
	uint32_t pid;
	bool of_all; /* it comes from scan_queue_add_all() */
};

/* A list of wishes. The last one is read next. */
struct scan_wishes {
	VEC(struct scan_wish) list;
};

/* The wishes that concern processes of one user. */
struct scan_user {
	uint32_t uid;
	struct scan_wishes wishes;
	int64_t spent_ns;
};

struct scan_queue {
	struct reading_thread t;
	/* Used by the thread alone. */
	struct file_helper *reader;
	const struct user_ranges *ranges;
	VEC(struct scan_user) users;
	size_t of_all; /* wishes with `of_all` that were not read yet */
	/* Guarded by t.mu. */
	bool working; /* the thread is reading, or has something to read */
	/*
	 * scan_queue_add_all() was called, but the processes were not listed
	 * yet
	 */
	bool all_wanted;
	struct scan_wishes wishes; /* not yet taken over by the thread */
	VEC(struct scan_result) results;
};

/*
 * Return the user to whose share a process counts. A new user begins with the
 * least time that any other user has spent, not with 0: otherwise, somebody
 * with many user IDs would always come first.
 */
static struct scan_user *scan_user_of(struct scan_queue *q, uint32_t pid)
{
	struct process_uid asker = process_uid_init();
	uint32_t uid =
		user_ranges_share(q->ranges, process_uid_find(&asker, pid));
	int64_t least = INT64_MAX;
	struct scan_user *u;

	for (size_t i = 0; i < q->users.count; i++) {
		if (q->users.v[i].uid == uid)
			return &q->users.v[i];
		if (q->users.v[i].spent_ns < least)
			least = q->users.v[i].spent_ns;
	}
	if (!q->users.count)
		least = 0;
	u = vec_add(&q->users);
	*u = (struct scan_user){ .uid = uid, .spent_ns = least };
	return u;
}

static void scan_queue_sort_in(struct scan_queue *q, struct scan_wish wish)
{
	int64_t began = clock_mono_ns();
	struct scan_user *u = scan_user_of(q, wish.pid);

	if (u->wishes.list.count == SCAN_WISHES_MAX) {
		q->of_all -= u->wishes.list.v[0].of_all;
		vec_remove(&u->wishes.list, 0, 1);
	}
	*vec_add(&u->wishes.list) = wish;
	q->of_all += wish.of_all;
	u->spent_ns += clock_mono_ns() - began;
}

/*
 * Ask for the mappings of all processes in /proc. q->of_all must be 0: no wish
 * of the previous call may still be waiting.
 */
static void scan_queue_list(struct scan_queue *q)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is not shared */
	while (proc && (e = readdir(proc))) {
		int64_t pid;

		if (str_to_i64(str_of(e->d_name), &pid) && pid > 0 &&
		    pid <= INT32_MAX)
			scan_queue_sort_in(
				q, (struct scan_wish){ .kind = SCAN_MAPS,
						       .pid = (uint32_t)pid,
						       .of_all = true });
	}
	if (proc)
		closedir(proc);
}

/* Choose the user whose wish is next. NULL: there is no wish. */
static struct scan_user *scan_queue_choose(struct scan_queue *q)
{
	struct scan_user *best = NULL;

	for (size_t i = 0; i < q->users.count; i++) {
		struct scan_user *u = &q->users.v[i];

		if (u->wishes.list.count &&
		    (!best || u->spent_ns < best->spent_ns))
			best = u;
	}
	return best;
}

/* Remove all users with their wishes. */
static void scan_queue_forget_users(struct scan_queue *q)
{
	for (size_t i = 0; i < q->users.count; i++)
		vec_fini(&q->users.v[i].wishes.list);
	q->users.count = 0;
}

/* Read the facts that `wish` asks for. */
static struct scan_result scan_wish_read(struct scan_queue *q,
					 struct scan_wish wish)
{
	struct scan_result r = { .kind = wish.kind,
				 .pid = wish.pid,
				 .read_ns = (uint64_t)clock_mono_ns(),
				 .answer = buf_init(PROCESS_ANSWER_MAX) };

	if (wish.kind == SCAN_JIT)
		jit_process_read(&r.jit, wish.pid, q->reader);
	r.good = wish.kind == SCAN_JIT ||
		 !process_reader_read(q->reader, wish.pid,
				      wish.kind == SCAN_MAPS, &r.answer,
				      &r.text, NULL);
	return r;
}

/*
 * Wait until there is something to read and room for a result, and take over
 * the new wishes. Set *all to whether the caller has to list all processes, so
 * that their mappings are read. False: the queue is being closed.
 */
static bool scan_queue_wait(struct scan_queue *q, bool *all)
{
	bool idle = !scan_queue_choose(q);
	struct scan_wishes wishes;
	bool open;

	/*
	 * The times that users have spent matter only while wishes wait, so
	 * forget the users when no wish is left.
	 */
	if (idle)
		scan_queue_forget_users(q);
	mutex_lock(&q->t.mu);
	while (!q->t.stopping &&
	       (q->results.count >= SCAN_RESULTS_MAX ||
		(idle && !q->wishes.list.count && !q->all_wanted))) {
		q->working = !idle;
		mutex_wait(&q->t.mu, &q->t.wake);
	}
	q->working = true;
	/*
	 * List all processes only when those of the previous list have been
	 * read: otherwise, wishes would pile up if reading is slow.
	 */
	*all = q->all_wanted && !q->of_all;
	if (*all)
		q->all_wanted = false;
	open = !q->t.stopping;
	wishes = q->wishes;
	q->wishes = (struct scan_wishes){ .list = { 0 } };
	mutex_unlock(&q->t.mu);
	for (size_t i = 0; i < wishes.list.count; i++)
		scan_queue_sort_in(q, wishes.list.v[i]);
	vec_fini(&wishes.list);
	return open;
}

/* Hand a result over. */
static void scan_queue_give(struct scan_queue *q, const struct scan_result *r)
{
	mutex_lock(&q->t.mu);
	*vec_add(&q->results) = *r;
	eventfd_write(q->t.fd, 1);
	mutex_unlock(&q->t.mu);
}

/*
 * Read the facts that the next wish of a user asks for, and hand over the
 * result.
 */
static void scan_queue_read(struct scan_queue *q, struct scan_user *u)
{
	struct scan_wish wish = u->wishes.list.v[--u->wishes.list.count];
	struct scan_result r;

	file_helper_set_user(q->reader, u->uid);
	r = scan_wish_read(q, wish);
	q->of_all -= wish.of_all;
	scan_queue_give(q, &r);
	u->spent_ns += clock_mono_ns() - (int64_t)r.read_ns;
}

static void *scan_queue_run(void *queue)
{
	struct scan_queue *q = queue;
	struct scan_user *u;
	bool all;

	while (scan_queue_wait(q, &all)) {
		if (all)
			scan_queue_list(q);
		u = scan_queue_choose(q);
		if (u)
			scan_queue_read(q, u);
	}
	return NULL;
}

struct scan_queue *scan_queue_open(char *const *helper_argv,
				   const struct user_ranges *ranges)
{
	struct scan_queue *q = mem_new(struct scan_queue);

	q->ranges = ranges;
	q->reader = file_helper_new(helper_argv);
	reading_thread_start(&q->t, "ebpf-scan", scan_queue_run, q);
	return q;
}

void scan_queue_close(struct scan_queue *q)
{
	if (!q)
		return;
	reading_thread_stop(&q->t);
	for (size_t i = 0; i < q->results.count; i++)
		scan_result_fini(&q->results.v[i]);
	scan_queue_forget_users(q);
	vec_fini(&q->users);
	vec_fini(&q->wishes.list);
	vec_fini(&q->results);
	file_helper_close(q->reader);
	reading_thread_fini(&q->t);
	mem_free(q);
}

int scan_queue_fd(const struct scan_queue *q)
{
	return q->t.fd;
}

void scan_queue_add(struct scan_queue *q, enum scan_kind kind, uint32_t pid)
{
	mutex_lock(&q->t.mu);
	*vec_add(&q->wishes.list) =
		(struct scan_wish){ .kind = kind, .pid = pid };
	pthread_cond_signal(&q->t.wake);
	mutex_unlock(&q->t.mu);
}

void scan_queue_add_all(struct scan_queue *q)
{
	mutex_lock(&q->t.mu);
	q->all_wanted = true;
	pthread_cond_signal(&q->t.wake);
	mutex_unlock(&q->t.mu);
}

bool scan_queue_is_idle(struct scan_queue *q)
{
	bool idle;

	mutex_lock(&q->t.mu);
	idle = !q->working && !q->wishes.list.count && !q->all_wanted &&
	       !q->results.count;
	mutex_unlock(&q->t.mu);
	return idle;
}

bool scan_queue_take(struct scan_queue *q, struct scan_result *out)
{
	eventfd_t count;
	bool found;

	mutex_lock(&q->t.mu);
	found = q->results.count;
	if (found) {
		*out = q->results.v[0];
		vec_remove(&q->results, 0, 1);
		pthread_cond_signal(&q->t.wake);
	} else {
		eventfd_read(q->t.fd, &count);
	}
	mutex_unlock(&q->t.mu);
	return found;
}

void scan_result_fini(struct scan_result *r)
{
	if (r->kind == SCAN_JIT)
		jit_process_fini(&r->jit);
	buf_fini(&r->answer);
}
