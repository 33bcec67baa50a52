/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/side_band.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/vec.h"
#include "bpf/kernel/cpu_list.h"

/* The buffer of a CPU. */
struct side_band_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
};

struct side_band {
	size_t page_size;
	VEC(int) fds;
	VEC(struct side_band_ring) rings;
	/* Used only during side_band_drain(). */
	VEC(struct side_band_record) records;
	/* copies of records that wrap around the end of a buffer */
	struct arena pieces;
};

/*
 * Open the perf event that reports about processes on `cpu`. Returns its
 * descriptor, or -1 with errno. With `build_id`, reports of mappings have build
 * IDs; before Linux 5.12, this fails with EINVAL.
 */
static int side_band_event(unsigned cpu, bool build_id)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.build_id = build_id,
		/*
		 * Wake the reader at each report. The alternative to a
		 * watermark, wakeup_events, counts samples, and this event
		 * takes none.
		 */
		.watermark = 1,
		.wakeup_watermark = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/*
 * Set the error of errno. `denied` says what to do if a permission is missing.
 */
static int side_band_error(struct err *err, const char *what,
			   const char *denied)
{
	if (errno == EPERM || errno == EACCES)
		return err_set(err, ERR_DENIED, "%s: permission denied; %s",
			       what, denied);
	return err_sys(err, "%s", what);
}

static int side_band_add(struct side_band *s, unsigned cpu, struct err *err)
{
	size_t size = (SIDE_BAND_PAGES + 1) * s->page_size;
	int fd = side_band_event(cpu, true);
	void *memory;

	if (fd < 0 && errno == EINVAL)
		fd = side_band_event(cpu, false);
	if (fd < 0)
		return side_band_error(
			err,
			"cannot open the perf event for reports about processes",
			"everprof needs the capability CAP_PERFMON (kernels of Ubuntu and Debian: with kernel.perf_event_paranoid above 2, CAP_SYS_ADMIN), or root; if it has it, a filter of system calls (SystemCallFilter= of systemd, seccomp of a container) or a security module refuses perf_event_open");
	*vec_add(&s->fds) = fd;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return side_band_error(
			err,
			"cannot map the reports about processes into memory",
			"the limit of locked memory is reached: raise it (ulimit -l, LimitMEMLOCK= of systemd) or the sysctl kernel.perf_event_mlock_kb, or give everprof the capability CAP_IPC_LOCK");
	*vec_add(&s->rings) = (struct side_band_ring){
		.page = memory,
		.data = (const uint8_t *)memory + s->page_size,
	};
	return 0;
}

int side_band_open(struct side_band **out, struct err *err)
{
	struct side_band *s = mem_new(struct side_band);
	struct cpu_list cpus;
	int rc = cpu_list_online(&cpus, err);

	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < CPU_LIST_MAX && !rc; i++) {
		if (cpu_list_has(&cpus, i))
			rc = side_band_add(s, i, err);
	}
	if (rc) {
		side_band_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void side_band_close(struct side_band *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rings.count; i++)
		munmap(s->rings.v[i].page,
		       (SIDE_BAND_PAGES + 1) * s->page_size);
	for (size_t i = 0; i < s->fds.count; i++)
		close(s->fds.v[i]);
	vec_fini(&s->rings);
	vec_fini(&s->records);
	arena_fini(&s->pieces);
	vec_fini(&s->fds);
	mem_free(s);
}

const int *side_band_fds(const struct side_band *s, size_t *count)
{
	*count = s->fds.count;
	return s->fds.v;
}

/*
 * Return the head of a buffer: the position after the newest record. The kernel
 * writes the records first and stores the head afterwards, so acquire order
 * makes all records before the head visible.
 */
static uint64_t side_band_head(const struct side_band_ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

bool side_band_is_ready(const struct side_band *s)
{
	for (size_t i = 0; i < s->rings.count; i++) {
		const struct side_band_ring *r = &s->rings.v[i];

		if (side_band_head(r) != r->page->data_tail)
			return true;
	}
	return false;
}

/*
 * Return the record at the position `at`, as one piece of memory: a copy, if
 * the record wraps around the end of the buffer.
 */
static struct bytes side_band_at(struct side_band *s,
				 const struct side_band_ring *r, uint64_t at)
{
	size_t size = SIDE_BAND_PAGES * s->page_size;
	size_t from = at % size;
	/*
	 * The header has 8 bytes, and the sizes of records are multiples of 8:
	 * no header wraps around.
	 */
	const struct perf_event_header *h = (const void *)(r->data + from);
	size_t len = h->size;
	size_t first = size - from < len ? size - from : len;
	uint8_t *whole;

	if (first == len)
		return (struct bytes){ .ptr = r->data + from, .len = len };
	whole = arena_alloc(&s->pieces, len);
	memcpy(whole, r->data + from, first);
	memcpy(whole + first, r->data, len - first);
	return (struct bytes){ .ptr = whole, .len = len };
}

/*
 * Collect the reports in the buffer of one CPU, up to the time `until`. Returns
 * the position after them.
 */
static uint64_t side_band_collect(struct side_band *s,
				  const struct side_band_ring *r,
				  uint64_t until)
{
	uint64_t head = side_band_head(r);
	uint64_t at = r->page->data_tail;

	while (at < head) {
		struct bytes bytes = side_band_at(s, r, at);
		struct side_band_record record;
		bool is_known;

		if (!bytes.len)
			return head;
		is_known = side_band_parse(bytes, &record);
		if (is_known && record.time > until)
			return at;
		if (is_known && record.kind != SIDE_BAND_OTHER)
			*vec_add(&s->records) = record;
		at += bytes.len;
	}
	return head;
}

/*
 * Order records by time. qsort() may swap records with equal times, but records
 * of one CPU keep their order: their times are never equal, because they are
 * more than a nanosecond apart.
 */
static int side_band_order(const void *a, const void *b)
{
	const struct side_band_record *x = a;
	const struct side_band_record *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void side_band_drain(struct side_band *s, side_band_visit *visit, void *ctx)
{
	uint64_t *behind = mem_zalloc(s->rings.count, sizeof(*behind));
	/*
	 * Leave reports later than now in the buffers. The buffers are read one
	 * after another, and reports arrive meanwhile. Without this limit, an
	 * earlier report could arrive in a buffer that has been read already,
	 * and a later report in a buffer that has not been read yet. Then
	 * `visit` would get the later report in this call, and the earlier one
	 * in the next call.
	 */
	uint64_t until = (uint64_t)clock_mono_ns();

	s->records.count = 0;
	for (size_t i = 0; i < s->rings.count; i++)
		behind[i] = side_band_collect(s, &s->rings.v[i], until);
	if (s->records.count)
		qsort(s->records.v, s->records.count, sizeof(*s->records.v),
		      side_band_order);
	for (size_t i = 0; i < s->records.count; i++)
		visit(ctx, &s->records.v[i]);
	/*
	 * Move the tails only now: the records borrow from the buffers, and the
	 * kernel may overwrite what is before a tail.
	 */
	for (size_t i = 0; i < s->rings.count; i++)
		__atomic_store_n(&s->rings.v[i].page->data_tail, behind[i],
				 __ATOMIC_RELEASE);
	arena_fini(&s->pieces);
	mem_free(behind);
}
