/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a receiver, which reads a log that the test controls. The
 * receiver does not listen, so what the queue has read stays pending.
 */
#include "remotewrite/send/queue.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/yaml.h"
#include "model/labels.h"
#include "remotewrite/send/remote_write_config.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(queue, .timeout = 120);

enum {
	SAMPLES = 3,
	FAILURES = 4, /* times that the disk does not read a sample */
};

/* A log of some samples, each of which the disk reads only after a while. */
struct failing_log {
	struct sample_log log; /* first, so that calls can cast it */
	struct labels *labels;
	int failures; /* of the sample that is read, used by the reader alone */
	_Atomic int skipped;
};

/* Sample number n is at position n; the log begins at 1. */
static uint64_t failing_begin(struct sample_log *l UNUSED)
{
	return 1;
}

static uint64_t failing_end(struct sample_log *l UNUSED)
{
	return SAMPLES + 1;
}

static int failing_read(struct sample_log *l, uint64_t *position,
			bool with_body UNUSED, struct buf *buf UNUSED,
			struct logged_sample *out, struct err *err)
{
	struct failing_log *f = (struct failing_log *)l;

	if (*position > SAMPLES)
		return ERR_AGAIN;
	if (f->failures++ < FAILURES)
		return err_set(err, ERR_IO, "the disk does not answer");
	f->failures = 0;
	*out = (struct logged_sample){
		.lsn = *position,
		.number = *position,
		.labels = labels_bytes(f->labels),
		.ms = 1000 + (int64_t)*position,
		.raw_len = 4,
		.body = { (const uint8_t *)"body", 4 },
	};
	++*position;
	return 0;
}

static int failing_skip(struct sample_log *l, uint64_t *position,
			struct err *err UNUSED)
{
	((struct failing_log *)l)->skipped++;
	++*position;
	return 0;
}

static void failing_wait(struct sample_log *l UNUSED, uint64_t position UNUSED,
			 int64_t timeout_ms UNUSED)
{
	usleep(1000);
}

static uint64_t failing_bytes(struct sample_log *l UNUSED, uint64_t position)
{
	return position > SAMPLES ? 0 : SAMPLES + 1 - position;
}

static void failing_keep(struct sample_log *l UNUSED, uint64_t position UNUSED)
{
}

static void do_nothing(void *ctx UNUSED)
{
}

/* Labels of a series; the caller releases them. */
static struct labels *some_labels(void)
{
	struct labels_builder b = { 0 };
	struct labels *out;

	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

/* The samples that a queue has read, and that wait for the receiver. */
static uint64_t pending_of(struct queue *q)
{
	struct queue_status status;

	queue_status(q, &status);
	return status.pending;
}

/* A read that fails is tried again: the sample is neither lost nor passed. */
Test(queue, a_disk_that_fails_for_a_while_costs_no_sample)
{
	struct failing_log f = { .log = { .begin = failing_begin,
					  .end = failing_end,
					  .next_number = failing_end,
					  .read = failing_read,
					  .skip = failing_skip,
					  .wait = failing_wait,
					  .bytes = failing_bytes,
					  .keep = failing_keep },
				 .labels = some_labels() };
	struct tempdir d = tempdir_make();
	struct metrics *metrics = metrics_new();
	const struct queue_options o = { .log = &f.log,
					 .dir = d.path,
					 .metrics = metrics,
					 .user_agent = "test",
					 .from_begin = true,
					 .moved = do_nothing };
	const struct metric_labels labels = {
		{ "remote_name", "url", "reason" },
		{ "c", "http://127.0.0.1:1/write", "damaged" },
	};
	struct remote_write_configs configs = { 0 };
	struct queue *q = NULL;
	struct err err = { .msg = "" };
	struct yaml y;

	yaml_parse(&y, "test",
		   bytes_of(str_of("- url: http://127.0.0.1:1/write\n"
				   "  name: c\n")));
	remote_write_decode(&y, y.root, &configs);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	cr_assert(configs.count == 1, "%s", buf_cstr(&y.errors));
	cr_assert(!queue_start(&o, &configs.v[0], NULL, 0, &q, &err), "%s",
		  err.msg);
	while (pending_of(q) < SAMPLES)
		usleep(10000);
	cr_expect(!f.skipped);
	cr_expect(!metric_get(metrics_counter(
		metrics, "everprof_remote_storage_samples_dropped_total", "",
		&labels)));
	queue_free(q);
	remote_write_configs_fini(&configs);
	yaml_fini(&y);
	metrics_free(metrics);
	labels_unref(f.labels);
	tempdir_fini(&d);
}
