/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eBPF service of a server, with a collector that the test plays: when it
 * starts, stops and starts again, and what becomes of its profiles.
 */
#include "cmd/serve/ebpf_service.h"

#include "base/mem.h"
#include "cmd/serve/ebpf.h"
#include "tests/check.h"
#include "tests/tsdb/profile.h"

TestSuite(ebpf_service, .timeout = 60);

struct collector {
	struct collector_options o;
	struct collector_stats stats;
};

/* What was asked of the collector. */
static struct {
	int starts;
	int stops;
	bool fails; /* it cannot start */
	struct collector *running;
	int64_t frequency;
} fake;

int ebpf_start(const struct collector_options *o, struct collector **out,
	       struct err *err)
{
	fake.starts++;
	fake.frequency = o->hz;
	if (fake.fails)
		return err_set(err, ERR_DENIED, "no rights");
	*out = mem_new(struct collector);
	(*out)->o = *o;
	fake.running = *out;
	return 0;
}

void ebpf_stop(struct collector *c, struct collector_stats *out)
{
	fake.stops++;
	*out = c->stats;
	fake.running = NULL;
	mem_free(c);
}

void ebpf_stats(struct collector *c, struct collector_stats *out)
{
	*out = c->stats;
}

struct container_names *ebpf_containers_new(void)
{
	return NULL;
}

void ebpf_containers_free(struct container_names *n UNUSED)
{
}

int ebpf_containers_set(struct container_names *n UNUSED,
			const struct target_groups_list *groups, size_t *count,
			struct err *err)
{
	*count = groups->count;
	return err_set(err, ERR_LIMIT, "too many containers");
}

/* A storage that fails as the test says. */
static struct {
	struct appender appender; /* first, so that calls can cast it */
	int code;
	size_t appended;
	enum body_encoding encoding;
} store;

static int store_append(struct appender *a UNUSED, const struct sample *s,
			uint64_t *lsn, struct err *err)
{
	if (store.code)
		return err_set(err, store.code, "storage says no");
	store.appended++;
	store.encoding = s->encoding;
	*lsn = store.appended;
	return 0;
}

struct fixture {
	struct log log;
	struct metrics *metrics;
	struct ebpf_service *s;
};

static void begin(struct fixture *f)
{
	struct ebpf_service_options o;

	memset(&fake, 0, sizeof(fake));
	memset(&store, 0, sizeof(store));
	store.appender.append = store_append;
	*f = (struct fixture){ .log = { .level = LOG_ERROR + 1 } };
	f->metrics = metrics_new();
	o = (struct ebpf_service_options){ .appender = &store.appender,
					   .log = &f->log,
					   .metrics = f->metrics };
	f->s = ebpf_service_new(&o);
}

static void end(struct fixture *f)
{
	ebpf_service_stop(f->s);
	ebpf_service_free(f->s);
	metrics_free(f->metrics);
}

/* Apply a section `ebpf`, whose document is freed afterwards. */
static void apply(struct fixture *f, const char *text)
{
	struct ebpf_config c = { 0 };
	struct yaml y;

	yaml_parse(&y, "test", bytes_of(str_of(text)));
	ebpf_config_decode(&y, y.root, &c);
	cr_assert(!y.error_count, "%.*s", STR_ARG(yaml_first_error(&y)));
	ebpf_service_apply(f->s, &c);
	ebpf_config_fini(&c);
	yaml_fini(&y);
}

#define ON "{enabled: true}"

Test(ebpf_service, only_a_change_of_the_section_restarts_the_collector)
{
	struct fixture f;

	begin(&f);
	apply(&f, "{enabled: false}");
	cr_expect(!fake.starts);
	apply(&f, ON);
	cr_assert(fake.starts == 1);
	cr_expect(fake.running);
	apply(&f, ON);
	cr_assert(fake.starts == 1);
	cr_expect(!fake.stops);
	apply(&f, "{enabled: true, sampling_frequency: 97}");
	cr_assert(fake.starts == 2);
	cr_assert(fake.stops == 1);
	cr_expect(fake.frequency == 97);
	/* Discoveries of containers run elsewhere. */
	apply(&f, "{enabled: true, sampling_frequency: 97, docker_sd_configs: "
		  "[{host: 'unix:///s'}]}");
	cr_expect(fake.starts == 2);
	apply(&f, "{enabled: false}");
	cr_assert(fake.stops == 2);
	cr_expect(!fake.running);
	end(&f);
}

Test(ebpf_service, a_start_that_failed_is_tried_again_by_a_reload)
{
	struct web_collector_state state;
	struct web_collector web;
	struct fixture f;

	begin(&f);
	web = ebpf_service_endpoint(f.s);
	fake.fails = true;
	apply(&f, ON);
	cr_assert(fake.starts == 1);
	cr_expect(!fake.running);
	cr_expect(web.state(web.ctx, &state), "it is wanted");
	cr_expect(!strcmp(state.error, "no rights"), "%s", state.error);
	fake.fails = false;
	apply(&f, ON);
	cr_assert(fake.starts == 2);
	cr_expect(fake.running);
	cr_assert(web.state(web.ctx, &state), "%s", state.error);
	cr_expect(!*state.error, "%s", state.error);
	end(&f);
}

Test(ebpf_service, after_a_stop_nothing_starts)
{
	struct fixture f;

	begin(&f);
	apply(&f, ON);
	ebpf_service_stop(f.s);
	cr_assert(fake.stops == 1);
	cr_expect(!fake.running);
	apply(&f, ON);
	cr_expect(fake.starts == 1);
	ebpf_service_stop(f.s);
	cr_expect(fake.stops == 1);
	end(&f);
}

/* The value of a metric in the text of all metrics. */
static long value_of(struct fixture *f, const char *name)
{
	struct buf text = { 0 };
	const char *at;
	long v = -1;

	metrics_write(f->metrics, &text);
	at = strstr(buf_cstr(&text), name);
	if (at)
		v = strtol(at + strlen(name), NULL, 10);
	buf_fini(&text);
	return v;
}

Test(ebpf_service, counters_go_on_with_the_next_collector)
{
#define FULL "\neverprof_ebpf_samples_total{outcome=\"lost_too_many_series\"} "
	struct fixture f;

	begin(&f);
	apply(&f, ON);
	fake.running->stats.groups_full = 5;
	fake.running->stats.processes = 3;
	cr_expect(value_of(&f, FULL) == 5, "%ld", value_of(&f, FULL));
	apply(&f, "{enabled: true, sampling_frequency: 97}");
	cr_expect(value_of(&f, FULL) == 5);
	cr_expect(value_of(&f, "\neverprof_ebpf_processes ") == 0);
	fake.running->stats.groups_full = 2;
	cr_expect(value_of(&f, FULL) == 7);
	end(&f);
}

Test(ebpf_service, a_storage_that_refuses_for_now_is_tried_again)
{
	static const struct {
		int code;
		int want;
	} cases[] = {
		{ 0, 0 },
		{ ERR_NOSPACE, ERR_AGAIN },
		{ ERR_LIMIT, ERR_AGAIN },
		{ ERR_IO, ERR_AGAIN },
		{ ERR_AGAIN, ERR_AGAIN },
		{ ERR_EXISTS, ERR_EXISTS },
		{ ERR_INVALID, ERR_INVALID },
	};
	struct labels_builder b = { 0 };
	struct labels *labels;
	struct buf raw = { 0 };
	struct fixture f;
	struct err err;

	labels_set(&b, str_of(LABEL_NAME), str_of("process_cpu"));
	cr_assert(!labels_build(&b, &labels, NULL));
	labels_builder_fini(&b);
	profile_make(1, 1, &raw);
	begin(&f);
	apply(&f, ON);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct collector_options *o = &fake.running->o;

		store.code = cases[i].code;
		cr_expect(o->sink(o->ctx, labels, 1000, buf_bytes(&raw),
				  &err) == cases[i].want,
			  "%zu", i);
	}
	cr_assert(store.appended == 1);
	cr_expect(store.encoding == BODY_ZSTD);
	/* What is no profile is never stored. */
	cr_expect(fake.running->o.sink(fake.running->o.ctx, labels, 1000,
				       bytes_of(str_of("no profile")),
				       &err) == ERR_INVALID);
	end(&f);
	buf_fini(&raw);
	labels_unref(labels);
}

Test(ebpf_service, names_of_containers_that_do_not_fit_are_no_error)
{
	const struct target_groups_list none = { 0 };
	struct fixture f;

	begin(&f);
	ebpf_service_name(f.s, &none);
	end(&f);
	ebpf_service_stop(NULL);
	ebpf_service_free(NULL);
}
