/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample log in memory. Sample number n is at position n, from 1 on; its body
 * is plain, and its labels are those of its series.
 *
 * Ownership: fake_log_fini() frees the log.
 * Threads: any; the test fills the log before others read it, or with `mu`.
 */
#ifndef TESTS_REMOTEWRITE_FAKE_LOG_H
#define TESTS_REMOTEWRITE_FAKE_LOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/sample_log.h"
#include "tests/check.h"

/* What reading a sample leads to. */
enum fake_place {
	FAKE_SAMPLE,
	FAKE_LOST,    /* there is no such sample: its number is skipped */
	FAKE_CORRUPT, /* it is damaged */
	FAKE_MOVED,   /* it comes again later */
};

struct fake_logged {
	enum fake_place place;
	unsigned series;
	int64_t ms;
	uint32_t raw_len;
};

struct fake_log {
	struct sample_log log; /* first, so that calls can cast it */
	pthread_mutex_t mu;
	struct fake_logged v[4096];
	uint64_t count;
	_Atomic uint64_t kept; /* the last position of keep() */
	_Atomic int keeps;
	bool holds;
	_Atomic unsigned slow_ms; /* how long wait() takes; 0: 1 ms */
	_Atomic int slow_waits;   /* calls that take slow_ms have begun */
};

/* Labels of series number n: those of a profile of job j<n>. */
static struct labels *fake_log_labels(unsigned n)
{
	struct labels_builder b = { 0 };
	struct labels *out;
	char job[16];

	snprintf(job, sizeof(job), "j%u", n);
	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	labels_set(&b, str_of("job"), str_of(job));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

static uint64_t fake_log_begin(struct sample_log *l UNUSED)
{
	return 1;
}

static uint64_t fake_log_end(struct sample_log *l)
{
	struct fake_log *f = (struct fake_log *)l;
	uint64_t end;

	pthread_mutex_lock(&f->mu);
	end = f->count + 1;
	pthread_mutex_unlock(&f->mu);
	return end;
}

static int fake_log_read(struct sample_log *l, uint64_t *position,
			 bool with_body, struct buf *buf,
			 struct logged_sample *out, struct err *err)
{
	struct fake_log *f = (struct fake_log *)l;
	struct fake_logged s;
	struct labels *labels;
	size_t at;

	pthread_mutex_lock(&f->mu);
	while (*position <= f->count && f->v[*position - 1].place == FAKE_LOST)
		++*position;
	if (*position > f->count) {
		pthread_mutex_unlock(&f->mu);
		return ERR_AGAIN;
	}
	s = f->v[*position - 1];
	pthread_mutex_unlock(&f->mu);
	if (s.place != FAKE_SAMPLE) {
		++*position;
		return s.place == FAKE_MOVED ?
			       ERR_NOTFOUND :
			       err_set(err, ERR_CORRUPT, "a bad record");
	}
	labels = fake_log_labels(s.series);
	buf_reset(buf);
	buf_add(buf, labels_bytes(labels).ptr, labels_bytes(labels).len);
	at = buf->len;
	for (uint32_t i = 0; with_body && i < s.raw_len; i++)
		buf_byte(buf, 'x');
	*out = (struct logged_sample){
		.lsn = *position,
		.number = *position,
		.labels = { (const uint8_t *)buf->ptr, at },
		.ms = s.ms,
		.raw_len = s.raw_len,
		.body = { (const uint8_t *)buf->ptr + at, buf->len - at },
	};
	labels_unref(labels);
	++*position;
	return 0;
}

static int fake_log_skip(struct sample_log *l UNUSED, uint64_t *position,
			 struct err *err UNUSED)
{
	++*position;
	return 0;
}

static void fake_log_wait(struct sample_log *l, uint64_t position UNUSED,
			  int64_t timeout_ms UNUSED)
{
	struct fake_log *f = (struct fake_log *)l;
	unsigned ms = f->slow_ms;

	f->slow_waits += ms > 0;
	usleep(1000 * (ms ? ms : 1));
}

static bool fake_log_holds(struct sample_log *l)
{
	return ((struct fake_log *)l)->holds;
}

/* A sample takes as many bytes as its profile. */
static uint64_t fake_log_bytes(struct sample_log *l, uint64_t position)
{
	struct fake_log *f = (struct fake_log *)l;
	uint64_t sum = 0;

	pthread_mutex_lock(&f->mu);
	for (uint64_t n = position ? position : 1; n <= f->count; n++)
		sum += f->v[n - 1].raw_len;
	pthread_mutex_unlock(&f->mu);
	return sum;
}

static void fake_log_keep(struct sample_log *l, uint64_t position)
{
	struct fake_log *f = (struct fake_log *)l;

	f->kept = position;
	f->keeps++;
}

static void fake_log_init(struct fake_log *f)
{
	*f = (struct fake_log){ .log = { .begin = fake_log_begin,
					 .end = fake_log_end,
					 .next_number = fake_log_end,
					 .read = fake_log_read,
					 .skip = fake_log_skip,
					 .wait = fake_log_wait,
					 .holds = fake_log_holds,
					 .bytes = fake_log_bytes,
					 .keep = fake_log_keep } };
	pthread_mutex_init(&f->mu, NULL);
}

static void fake_log_fini(struct fake_log *f)
{
	pthread_mutex_destroy(&f->mu);
}

/* Append a sample, or a place without one. */
static inline void fake_log_put(struct fake_log *f, enum fake_place place,
				unsigned series, int64_t ms, uint32_t raw_len)
{
	pthread_mutex_lock(&f->mu);
	cr_assert(f->count < ARRAY_SIZE(f->v));
	f->v[f->count++] = (struct fake_logged){ place, series, ms, raw_len };
	pthread_mutex_unlock(&f->mu);
}

#endif
