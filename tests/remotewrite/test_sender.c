/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender: which queues a configuration leads to, which samples the log must
 * keep for them, and what becomes of their cursors.
 */
#include "remotewrite/send/sender.h"

#include "base/clock.h"
#include "base/yaml.h"
#include "remotewrite/send/cursor.h"
#include "remotewrite/send/series_cache.h"
#include "tests/remotewrite/fake_log.h"
#include "tests/remotewrite/fake_writer.h"
#include "tests/tempdir.h"

TestSuite(sender, .timeout = 120);
TestSuite(series_cache, .timeout = 60);

struct fixture {
	struct fake_log log;
	struct tempdir d;
	struct metrics *metrics;
	struct log events;
	struct sender *s;
	struct yaml y;
	struct remote_write_configs c;
};

static void fixture_begin(struct fixture *f, bool from_begin)
{
	struct sender_options o;

	memset(f, 0, sizeof(*f));
	fake_log_init(&f->log);
	f->d = tempdir_make();
	f->metrics = metrics_new();
	f->events.level = LOG_ERROR + 1;
	o = (struct sender_options){ .log = &f->log.log,
				     .dir = f->d.path,
				     .events = &f->events,
				     .metrics = f->metrics,
				     .user_agent = "test",
				     .from_begin = from_begin };
	f->s = sender_new(&o);
}

static void fixture_forget(struct fixture *f)
{
	remote_write_configs_fini(&f->c);
	yaml_fini(&f->y);
	f->y = (struct yaml){ 0 };
}

/* Apply a configuration. */
static void fixture_apply(struct fixture *f, const char *text)
{
	struct remote_write_configs c = { 0 };
	struct yaml y;

	yaml_parse(&y, "test", bytes_of(str_of(text)));
	remote_write_decode(&y, y.root, &c);
	cr_assert(!y.error_count, "%.*s", STR_ARG(yaml_first_error(&y)));
	sender_apply(f->s, &c, NULL, 0);
	fixture_forget(f);
	f->y = y;
	f->c = c;
}

static void fixture_end(struct fixture *f)
{
	sender_free(f->s);
	fixture_forget(f);
	metrics_free(f->metrics);
	fake_log_fini(&f->log);
	tempdir_fini(&f->d);
	fake_writer_reset();
}

/* The queues: "name sent_ms, …". */
struct names {
	char text[200];
	uint64_t pending;
};

static void add_name(void *ctx, const struct queue_status *q)
{
	struct names *n = ctx;
	size_t len = strlen(n->text);

	snprintf(n->text + len, sizeof(n->text) - len, "%s%s", len ? " " : "",
		 q->name);
	n->pending += q->pending + (q->backlog_bytes > 0);
}

static struct names names_of(struct fixture *f)
{
	struct names n = { .text = "" };

	sender_each(f->s, add_name, &n);
	return n;
}

static bool fixture_has(const struct fixture *f, const char *file)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", f->d.path, file);
	return !access(path, F_OK);
}

/* Make an empty file in the directory of the cursors. */
static void fixture_put(const struct fixture *f, const char *file)
{
	char path[400];
	FILE *made;

	snprintf(path, sizeof(path), "%s/%s", f->d.path, file);
	made = fopen(path, "w");
	cr_assert(made && !fclose(made));
}

#define WAIT(condition)                                            \
	do {                                                       \
		for (int i_ = 0; i_ < 60000 && !(condition); i_++) \
			usleep(1000);                              \
		cr_assert(condition, #condition);                  \
	} while (0)

#define QUEUE(name)                                \
	"- {url: 'http://x/" name "', name: " name \
	", queue_config: {batch_send_deadline: 1ms}}\n"

Test(sender, each_receiver_has_a_queue_and_a_cursor)
{
	struct fixture f;

	fixture_begin(&f, true);
	for (unsigned i = 0; i < 10; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, i % 3, 1000 + i, 10);
	fixture_apply(&f, QUEUE("a") QUEUE("b"));
	cr_expect(!strcmp(names_of(&f).text, "a b"), "%s", names_of(&f).text);
	WAIT(!names_of(&f).pending);
	WAIT(f.log.kept == 11);
	cr_assert(fixture_has(&f, "a" CURSOR_SUFFIX));
	cr_expect(fixture_has(&f, "b" CURSOR_SUFFIX));
	/* A receiver that is removed loses its cursor, and an unread one. */
	fixture_put(&f, "a" CURSOR_SUFFIX ".unread");
	fixture_apply(&f, QUEUE("b"));
	cr_expect(!fixture_has(&f, "a" CURSOR_SUFFIX ".unread"));
	cr_expect(!strcmp(names_of(&f).text, "b"));
	cr_assert(!fixture_has(&f, "a" CURSOR_SUFFIX));
	cr_expect(fixture_has(&f, "b" CURSOR_SUFFIX));
	fixture_end(&f);
}

Test(sender, the_log_keeps_what_the_slowest_queue_needs)
{
	struct fixture f;

	fixture_begin(&f, true);
	fake_writer.holds = true;
	for (unsigned i = 0; i < 10; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, i % 3, 1000 + i, 10);
	fixture_apply(&f, QUEUE("a"));
	WAIT(names_of(&f).pending >= 10);
	cr_expect(f.log.kept <= 1, "%llu", (unsigned long long)f.log.kept);
	fake_writer.holds = false;
	WAIT(f.log.kept == 11);
	fixture_end(&f);
}

Test(sender, without_receivers_a_server_needs_nothing_and_an_agent_all)
{
	struct fixture f;

	fixture_begin(&f, false);
	fixture_apply(&f, "[]");
	cr_expect(f.log.kept == UINT64_MAX);
	fixture_end(&f);
	fixture_begin(&f, true);
	fixture_apply(&f, "[]");
	cr_expect(!f.log.keeps);
	fixture_end(&f);
}

/*
 * A queue saves its position once a second, so one that waits for longer does so
 * after it has left the list of the sender that stops.
 */
Test(sender, a_queue_that_stops_makes_the_log_drop_nothing)
{
	struct fixture f;

	fixture_begin(&f, false);
	fixture_apply(&f, QUEUE("a"));
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 1000, 10);
	WAIT(f.log.kept == 2);
	fake_writer.holds = true;
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 1001, 10);
	f.log.slow_ms = 2000;
	WAIT(f.log.slow_waits);
	sender_free(f.s);
	f.s = NULL;
	cr_expect(f.log.kept == 2, "%llu", (unsigned long long)f.log.kept);
	fixture_end(&f);
}

Test(sender, a_new_receiver_begins_at_the_end_for_a_server)
{
	struct fixture f;

	fixture_begin(&f, false);
	for (unsigned i = 0; i < 10; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, 0, 1000 + i, 10);
	fixture_apply(&f, QUEUE("a"));
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 2000, 10);
	WAIT(fake_writer_count() > 0);
	cr_expect(!strcmp(fake_writer_text(), "2000"), "%s",
		  fake_writer_text());
	fixture_end(&f);
	/* But if the cursors were lost, all is sent again. */
	fixture_begin(&f, false);
	f.log.holds = true;
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 1000, 10);
	fixture_apply(&f, QUEUE("a"));
	WAIT(fake_writer_count() > 0);
	cr_expect(!strcmp(fake_writer_text(), "1000"), "%s",
		  fake_writer_text());
	fixture_end(&f);
}

Test(sender, a_queue_goes_on_where_it_was_after_a_restart)
{
	struct sender_options o;
	struct fixture f;

	fixture_begin(&f, true);
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 1000, 10);
	fixture_apply(&f, QUEUE("a"));
	WAIT(f.log.kept == 2);
	sender_free(f.s);
	fake_writer_reset();
	fake_log_put(&f.log, FAKE_SAMPLE, 0, 1001, 10);
	o = (struct sender_options){ .log = &f.log.log,
				     .dir = f.d.path,
				     .events = &f.events,
				     .metrics = f.metrics,
				     .user_agent = "test",
				     .from_begin = true };
	f.s = sender_new(&o);
	fixture_apply(&f, QUEUE("a"));
	WAIT(fake_writer_count() > 0);
	cr_expect(!strcmp(fake_writer_text(), "1001"), "%s",
		  fake_writer_text());
	fixture_end(&f);
}

/* The labels with which a series is sent, as text; "": it is not. */
static const char *sent_labels(struct series_cache *c, unsigned series,
			       const struct series_rules *rules)
{
	static char text[200];
	struct labels *from = fake_log_labels(series);
	struct sent_series to;
	struct err err;
	size_t len = 0;

	cr_assert(!series_cache_find(c, labels_bytes(from), rules, &to, &err));
	/* The texts of a message, without what is between them. */
	for (size_t i = 0; i < to.labels.len && len < sizeof(text) - 1; i++) {
		uint8_t ch = to.labels.ptr[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') ||
		    ch == '_')
			text[len++] = (char)ch;
	}
	text[len] = 0;
	labels_unref(from);
	return text;
}

Test(series_cache, labels_are_made_once_for_each_series)
{
	const struct label external[] = { { str_of("job"), str_of("no") },
					  { str_of("region"), str_of("r") } };
	struct remote_write_configs c = { 0 };
	struct series_cache *cache = series_cache_new();
	struct series_rules rules = { .external = external,
				      .external_count = 2 };
	struct yaml y;

	yaml_parse(
		&y, "t",
		bytes_of(str_of("[{url: 'http://x/w', write_relabel_configs: "
				"[{source_labels: [job], regex: j2, "
				"action: drop}]}]")));
	remote_write_decode(&y, y.root, &c);
	cr_assert(!y.error_count);
	rules.relabel = &c.v[0].relabel;
	cr_expect(!strcmp(sent_labels(cache, 1, &rules),
			  "__name__cpujobj1regionr"),
		  "%s", sent_labels(cache, 1, &rules));
	cr_expect(!strcmp(sent_labels(cache, 2, &rules), ""));
	/* Rules that have changed count after the cache was cleared. */
	rules.external_count = 0;
	cr_expect(!strcmp(sent_labels(cache, 1, &rules),
			  "__name__cpujobj1regionr"));
	series_cache_clear(cache);
	cr_expect(!strcmp(sent_labels(cache, 1, &rules), "__name__cpujobj1"),
		  "%s", sent_labels(cache, 1, &rules));
	series_cache_free(cache);
	remote_write_configs_fini(&c);
	yaml_fini(&y);
}

Test(series_cache, damaged_labels_are_an_error)
{
	struct series_cache *cache = series_cache_new();
	const struct series_rules rules = { 0 };
	const struct bytes bad = { (const uint8_t *)"\x05\x01z", 3 };
	struct sent_series to;
	struct err err;

	cr_expect(series_cache_find(cache, bad, &rules, &to, &err) ==
		  ERR_CORRUPT);
	series_cache_free(cache);
	series_cache_free(NULL);
}
