/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pusher: what `everprof push` sends, when it gives up, and what it reports
 * of each request.
 */
#include "remotewrite/send/pusher.h"

#include "tests/remotewrite/fake_writer.h"

TestSuite(pusher, .timeout = 120);

/* What the pusher has reported. */
static struct {
	size_t settled;
	size_t refused;
	size_t retries;
	size_t requests;
	char why[200];
} report;

static int on_settled(void *ctx UNUSED, size_t count, size_t refused,
		      const char *why, struct err *err UNUSED)
{
	report.settled += count;
	report.refused += refused;
	if (refused)
		snprintf(report.why, sizeof(report.why), "%s", why);
	return 0;
}

static int on_settled_end(void *ctx UNUSED, size_t count UNUSED,
			  size_t refused UNUSED, const char *why UNUSED,
			  struct err *err)
{
	return err_set(err, ERR_NOSPACE, "the file of the progress is full");
}

static void on_retry(void *ctx UNUSED, const char *why UNUSED)
{
	report.retries++;
}

static void on_sent(void *ctx UNUSED, size_t bytes UNUSED)
{
	report.requests++;
}

static const struct pusher_options options = {
	.url = "http://h/w",
	.user_agent = "test",
	.timeout_ms = 1000,
	.retry_ms = 60000,
	.settled = on_settled,
	.retries = on_retry,
	.sent = on_sent,
};

static struct pusher *pusher_with(const struct pusher_options *o)
{
	struct pusher *p;

	memset(&report, 0, sizeof(report));
	cr_assert(!pusher_new(o, &p, NULL));
	return p;
}

/* Add samples with the times 1 to n. */
static int add_samples(struct pusher *p, int64_t n, uint32_t raw_len,
		       struct err *err)
{
	struct labels_builder b = { 0 };
	struct labels *labels;
	int rc = 0;

	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	cr_assert(!labels_build(&b, &labels, NULL));
	labels_builder_fini(&b);
	for (int64_t ms = 1; ms <= n && !rc; ms++) {
		const struct sample s = { .labels = labels,
					  .ms = ms,
					  .raw_len = raw_len };

		rc = pusher_add(p, &s, err);
	}
	labels_unref(labels);
	return rc;
}

static void end(struct pusher *p)
{
	pusher_free(p);
	fake_writer_reset();
}

Test(pusher, all_samples_are_settled)
{
	struct pusher *p = pusher_with(&options);
	struct err err;

	cr_assert(!add_samples(p, 5, 10, &err));
	cr_expect(!report.requests, "there is not enough for a request");
	cr_assert(!pusher_flush(p, &err));
	cr_assert(report.settled == 5);
	cr_assert(!report.refused);
	cr_expect(!report.retries);
	cr_expect(report.requests == 1);
	cr_expect(!strcmp(fake_writer_text(), "1 2 3 4 5"));
	/* Requests of enough bytes are sent at once. */
	cr_assert(!add_samples(p, 3, 2 << 20, &err));
	cr_assert(report.requests == 2);
	cr_expect(report.settled == 7);
	cr_assert(!pusher_flush(p, &err));
	cr_expect(report.settled == 8);
	end(p);
}

static void busy_then_small(const struct fake_sent *s, struct attempt *a)
{
	if (s->number == 1 && s->count == 4)
		fake_writer_answer(a, 503, 0);
	else if (s->count > 2)
		fake_writer_answer(a, 413, 0);
	else if (s->ms[0] == 3)
		fake_writer_answer(a, 400, 1);
}

Test(pusher, failures_are_retried_split_or_reported)
{
	struct pusher *p = pusher_with(&options);
	struct err err;

	fake_writer.judge = busy_then_small;
	cr_assert(!add_samples(p, 4, 10, &err));
	cr_assert(!pusher_flush(p, &err), "%s", err.msg);
	cr_expect(!strcmp(fake_writer_text(), "1 2 3 4 | 1 2 3 4 | 1 2 | 3 4"),
		  "%s", fake_writer_text());
	cr_assert(report.retries == 1);
	cr_expect(report.settled == 4);
	cr_assert(report.refused == 1);
	cr_expect(strstr(report.why, "400"));
	end(p);
}

static void denied(const struct fake_sent *s UNUSED, struct attempt *a)
{
	a->status = 401;
	a->judged = false;
	snprintf(a->error, sizeof(a->error), "status 401");
}

Test(pusher, wrong_credentials_end_it)
{
	struct pusher *p = pusher_with(&options);
	struct err err;

	fake_writer.judge = denied;
	cr_assert(!add_samples(p, 2, 10, &err));
	cr_expect(pusher_flush(p, &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "401"));
	cr_expect(!report.settled);
	end(p);
}

static void unreachable(const struct fake_sent *s UNUSED, struct attempt *a)
{
	*a = (struct attempt){ .done = true };
	snprintf(a->error, sizeof(a->error), "connection refused");
}

static void lost(const struct fake_sent *s, struct attempt *a)
{
	if (s->ms[0] == 1)
		unreachable(s, a);
	a->connected = true;
}

Test(pusher, a_wrong_address_ends_it_and_a_lost_receiver_is_waited_for)
{
	struct pusher_options o = options;
	struct pusher *p = pusher_with(&options);
	struct err err;

	fake_writer.judge = unreachable;
	cr_assert(!add_samples(p, 1, 10, &err));
	cr_expect(pusher_flush(p, &err) == ERR_CLOSED);
	cr_expect(!report.retries);
	end(p);
	o.retry_ms = 100;
	p = pusher_with(&o);
	fake_writer.judge = lost;
	cr_assert(!add_samples(p, 1, 10, &err));
	cr_expect(pusher_flush(p, &err) == ERR_TIMEOUT, "%s", err.msg);
	cr_assert(report.retries > 0);
	cr_expect(strstr(err.msg, "connection refused"));
	end(p);
}

Test(pusher, an_error_of_its_user_ends_it)
{
	struct pusher_options o = options;
	struct pusher *p;
	struct err err;

	o.settled = on_settled_end;
	p = pusher_with(&o);
	cr_assert(!add_samples(p, 1, 10, &err));
	cr_expect(pusher_flush(p, &err) == ERR_NOSPACE);
	end(p);
}

Test(pusher, a_rate_spreads_the_requests)
{
	struct pusher_options o = options;
	struct pusher *p;
	struct err err;

	/* A request of n samples has n bytes here: at most 20 a second. */
	o.rate = 20;
	p = pusher_with(&o);
	cr_assert(!add_samples(p, 2, 10, &err));
	cr_assert(!pusher_flush(p, &err));
	cr_assert(!add_samples(p, 2, 10, &err));
	cr_assert(!pusher_flush(p, &err));
	cr_assert(report.settled == 4);
	cr_expect(report.requests == 2);
	end(p);
}
