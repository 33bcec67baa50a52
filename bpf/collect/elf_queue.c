/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/elf_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/collect/reading_thread.h"

enum elf_queue_state {
	ELF_QUEUE_IDLE,
	ELF_QUEUE_ASKED,
	ELF_QUEUE_DONE,
};

struct elf_queue {
	struct reading_thread t;
	struct elf_helpers helpers;
	/*
	 * `state` and the members below it are guarded by t.mu. In the state
	 * ELF_QUEUE_ASKED, the thread uses those below `state` without the
	 * lock.
	 */
	enum elf_queue_state state;
	uint32_t pid;
	uint32_t uid;
	uint32_t user; /* for file_helper_set_user() */
	char *path;
	struct file_identity identity;
	struct file_state known;
	struct elf_result result;
};

/* Read the file that was asked for. */
static void elf_queue_read(struct elf_queue *q)
{
	struct elf_result *r = &q->result;

	file_helper_set_user(q->helpers.files, q->user);
	file_helper_set_user(q->helpers.processes, q->user);
	r->answer = buf_init(ELF_FACTS_MAX);
	r->good =
		!elf_reader_read(&q->helpers,
				 &(struct wanted_file){ q->pid, q->uid, q->path,
							q->identity, q->known },
				 &r->answer, &r->read, NULL);
}

/* Wait for a file to read. False: the queue is being closed. */
static bool elf_queue_wait(struct elf_queue *q)
{
	bool asked;

	mutex_lock(&q->t.mu);
	while (!q->t.stopping && q->state != ELF_QUEUE_ASKED)
		mutex_wait(&q->t.mu, &q->t.wake);
	asked = !q->t.stopping;
	mutex_unlock(&q->t.mu);
	return asked;
}

static void *elf_queue_run(void *queue)
{
	struct elf_queue *q = queue;

	while (elf_queue_wait(q)) {
		elf_queue_read(q);
		mutex_lock(&q->t.mu);
		q->state = ELF_QUEUE_DONE;
		/*
		 * Write under the lock: otherwise, the result could be taken
		 * first, and the descriptor would then be readable without a
		 * result, until the next result is taken.
		 */
		eventfd_write(q->t.fd, 1);
		mutex_unlock(&q->t.mu);
	}
	return NULL;
}

struct elf_queue *elf_queue_open(char *const *helper_argv,
				 char *const *process_argv)
{
	struct elf_queue *q = mem_new(struct elf_queue);

	q->helpers.files = file_helper_new(helper_argv);
	q->helpers.processes = file_helper_new(process_argv);
	reading_thread_start(&q->t, "ebpf-files", elf_queue_run, q);
	return q;
}

/* Free the path and the identity of the file that was asked for. */
static void elf_queue_forget(struct elf_queue *q)
{
	mem_free(q->path);
	mem_free(q->identity.bytes.ptr);
	q->path = NULL;
	q->identity = (struct file_identity){ .is_build_id = false };
}

void elf_queue_close(struct elf_queue *q)
{
	if (!q)
		return;
	reading_thread_stop(&q->t);
	if (q->state == ELF_QUEUE_DONE)
		elf_result_fini(&q->result);
	elf_queue_forget(q);
	file_helper_close(q->helpers.files);
	file_helper_close(q->helpers.processes);
	reading_thread_fini(&q->t);
	mem_free(q);
}

int elf_queue_fd(const struct elf_queue *q)
{
	return q->t.fd;
}

bool elf_queue_is_idle(struct elf_queue *q)
{
	bool idle;

	mutex_lock(&q->t.mu);
	idle = q->state == ELF_QUEUE_IDLE;
	mutex_unlock(&q->t.mu);
	return idle;
}

void elf_queue_submit(struct elf_queue *q, uint32_t number,
		      const struct mapped_file *f, uint32_t user)
{
	mutex_lock(&q->t.mu);
	elf_queue_forget(q);
	q->pid = f->pid;
	q->uid = f->uid;
	q->user = user;
	q->path = mem_strdup(f->path);
	q->identity = (struct file_identity){
		.is_build_id = f->identity.is_build_id,
		.bytes = { .ptr = mem_dup(f->identity.bytes.ptr,
					  f->identity.bytes.len),
			   .len = f->identity.bytes.len },
	};
	q->known = f->is_known ? f->opened_as : (struct file_state){ 0 };
	q->result = (struct elf_result){ .number = number, .read.fd = -1 };
	q->state = ELF_QUEUE_ASKED;
	pthread_cond_signal(&q->t.wake);
	mutex_unlock(&q->t.mu);
}

bool elf_queue_take(struct elf_queue *q, struct elf_result *out)
{
	eventfd_t count;
	bool done;

	mutex_lock(&q->t.mu);
	done = q->state == ELF_QUEUE_DONE;
	if (done) {
		*out = q->result;
		q->state = ELF_QUEUE_IDLE;
		eventfd_read(q->t.fd, &count);
	}
	mutex_unlock(&q->t.mu);
	return done;
}

void elf_result_fini(struct elf_result *r)
{
	if (r->read.fd >= 0)
		close(r->read.fd);
	buf_fini(&r->answer);
}
