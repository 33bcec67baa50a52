/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/yaml_dump.h"
#include "discovery/core/provider.h"
#include "discovery/manager.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(discovery, .timeout = 60);

/* The last report of the manager, as "job: address{label=value,…} …". */
struct hearing {
	pthread_mutex_t mu;
	char text[4096];
	unsigned updates;
};

static void add_labels(struct buf *out, const struct label_list *l,
		       const char *but)
{
	for (size_t i = 0; i < l->count; i++) {
		struct str name = l->v[i].name;

		if (!str_is(name, but) && !str_starts(name, str_of("__meta_")))
			buf_printf(out, "{%.*s=%.*s}", STR_ARG(name),
				   STR_ARG(l->v[i].value));
	}
}

static void hear(void *ctx, struct str job,
		 const struct target_groups_list *groups)
{
	struct hearing *h = ctx;
	struct buf text = { 0 };

	buf_printf(&text, "%.*s:", STR_ARG(job));
	for (size_t i = 0; i < groups->count; i++) {
		const struct target_groups *l = groups->v[i];

		for (size_t k = 0; k < l->count; k++) {
			for (size_t t = 0; t < l->v[k].target_count; t++) {
				buf_printf(
					&text, " %.*s",
					STR_ARG(l->v[k].targets[t].v[0].value));
				add_labels(&text, &l->v[k].labels, "");
			}
		}
	}
	pthread_mutex_lock(&h->mu);
	snprintf(h->text, sizeof(h->text), "%s", buf_cstr(&text));
	h->updates++;
	pthread_mutex_unlock(&h->mu);
	buf_fini(&text);
}

static bool hears(struct hearing *h, const char *want)
{
	bool same = false;

	for (int i = 0; i < 1000 && !same; i++) {
		pthread_mutex_lock(&h->mu);
		same = !strcmp(h->text, want);
		pthread_mutex_unlock(&h->mu);
		if (!same)
			usleep(10000);
	}
	return same || check_str(str_of(h->text), want);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char tmp[600];
	char path[600];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s/%s.tmp", dir, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(tmp, "w");
	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
	cr_assert(!rename(tmp, path));
}

/* A manager, the directory of its files, and what it has reported. */
struct discovery_test {
	struct tempdir dir;
	struct hearing h;
	struct log log;
	struct metrics *metrics;
	struct discovery *d;
};

/* Decodes the root of a document as the list `key`. */
static void decode(struct yaml *y, const char *key,
		   struct discovery_configs *out)
{
	struct yaml_node name = { .text = str_of(key) };

	cr_assert(y->root, "%s", buf_cstr(&y->errors));
	cr_assert(discovery_configs_decode(y, &name, y->root, out));
	cr_assert(!y->error_count, "%s", buf_cstr(&y->errors));
}

static void apply(struct discovery_test *t, const char *files)
{
	struct discovery_configs configs = { 0 };
	struct discovery_job job = { str_of("app"), &configs };
	char path[600];
	struct yaml y;

	snprintf(path, sizeof(path), "%s/everprof.yaml", t->dir.path);
	yaml_parse(&y, path, bytes_of(str_of(files)));
	decode(&y, "file_sd_configs", &configs);
	discovery_apply(t->d, &job, 1);
	yaml_fini(&y);
}

static void begin(struct discovery_test *t)
{
	struct discovery_options o = { .log = &t->log,
				       .update = hear,
				       .ctx = &t->h };

	*t = (struct discovery_test){ .dir = tempdir_make(),
				      .log = { .level = LOG_ERROR + 1 } };
	pthread_mutex_init(&t->h.mu, NULL);
	t->metrics = metrics_new();
	o.metrics = t->metrics;
	cr_assert(!discovery_start(&o, &t->d, NULL));
}

static void end(struct discovery_test *t)
{
	discovery_stop(t->d);
	discovery_free(t->d);
	metrics_free(t->metrics);
	tempdir_fini(&t->dir);
}

Test(discovery, changed_files_are_reloaded)
{
	struct discovery_test t;
	char path[600];

	begin(&t);
	write_file(t.dir.path, "a.json",
		   "[{\"targets\": [\"a:1\", \"a:2\"], "
		   "\"labels\": {\"env\": \"x\"}}]");
	apply(&t, "[{files: ['*.json', '*.yml'], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: a:1{env=x} a:2{env=x}"));
	write_file(t.dir.path, "b.yml", "- targets: ['b:1']\n");
	cr_expect(hears(&t.h, "app: a:1{env=x} a:2{env=x} b:1"));
	write_file(t.dir.path, "a.json", "[{\"targets\": [\"a:3\"]}]");
	cr_expect(hears(&t.h, "app: a:3 b:1"));
	snprintf(path, sizeof(path), "%s/b.yml", t.dir.path);
	unlink(path);
	cr_expect(hears(&t.h, "app: a:3"));
	end(&t);
}

/* If the new content of a file is invalid, its last targets stay. */
Test(discovery, invalid_files_keep_the_previous_targets)
{
	static const char *const bad[] = {
		"",
		"[",
		"{\"targets\": []}",
		"[{\"targets\": \"a:1\"}]",
		"[{\"target\": []}]",
		"[{\"targets\": [[]]}]",
		"\x01\xff",
		"[{\"targets\": [], \"labels\": {\"__tenant__\": \"x\"}}]",
	};
	struct discovery_test t;

	begin(&t);
	write_file(t.dir.path, "a.json", "[{\"targets\": [\"a:1\"]}]");
	write_file(t.dir.path, "b.json", "[]");
	apply(&t, "[{files: ['*.json'], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: a:1"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[100];
		char want[100];

		write_file(t.dir.path, "a.json", bad[i]);
		/*
		 * The new target in b.json shows that the folder was read
		 * again.
		 */
		snprintf(text, sizeof(text), "[{\"targets\": [\"b:%zu\"]}]",
			 i + 1);
		snprintf(want, sizeof(want), "app: a:1 b:%zu", i + 1);
		write_file(t.dir.path, "b.json", text);
		cr_expect(hears(&t.h, want), "%s", bad[i]);
	}
	end(&t);
}

/*
 * The link is replaced in the way in which Kubernetes replaces a mounted
 * ConfigMap.
 */
Test(discovery, changes_behind_symbolic_links_are_detected)
{
	struct discovery_test t;
	char a[600];
	char b[600];
	char to[600];
	char link[600];

	begin(&t);
	snprintf(a, sizeof(a), "%s/v1", t.dir.path);
	snprintf(b, sizeof(b), "%s/v2", t.dir.path);
	snprintf(link, sizeof(link), "%s/t.yml", t.dir.path);
	snprintf(to, sizeof(to), "%s/next", t.dir.path);
	cr_assert(!mkdir(a, 0755));
	cr_assert(!mkdir(b, 0755));
	write_file(a, "t.yml", "[{targets: ['a:1']}]");
	write_file(b, "t.yml", "[{targets: ['b:1']}]");
	cr_assert(!symlink("v1/t.yml", link));
	apply(&t, "[{files: [t.yml], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: a:1"));
	cr_assert(!symlink("v2/t.yml", to));
	cr_assert(!rename(to, link));
	cr_expect(hears(&t.h, "app: b:1"));
	end(&t);
}

Test(discovery, reload_keeps_targets_of_unchanged_sources)
{
	struct discovery_test t;

	begin(&t);
	write_file(t.dir.path, "a.yml", "[{targets: ['a:1']}]");
	write_file(t.dir.path, "b.yml", "[{targets: ['b:1']}]");
	apply(&t, "[{files: [a.yml], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: a:1"));
	apply(&t, "[{files: [a.yml], refresh_interval: 1h}, "
		  "{files: [b.yml], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: a:1 b:1"));
	apply(&t, "[{files: [b.yml], refresh_interval: 1h}]");
	cr_expect(hears(&t.h, "app: b:1"));
	apply(&t, "[]");
	cr_expect(hears(&t.h, "app:"));
	end(&t);
}

Test(discovery, directory_created_later_is_found_at_a_refresh)
{
	struct discovery_test t;
	char dir[600];

	begin(&t);
	apply(&t, "[{files: [later/*.yml], refresh_interval: 100ms}]");
	cr_expect(hears(&t.h, "app:"));
	snprintf(dir, sizeof(dir), "%s/later", t.dir.path);
	cr_assert(!mkdir(dir, 0755));
	write_file(dir, "a.yml", "[{targets: ['a:1']}]");
	cr_expect(hears(&t.h, "app: a:1"));
	end(&t);
}

static bool refuses(const char *text, bool json, const char *want)
{
	struct target_groups *g = NULL;
	struct err err = { 0 };

	if (!provider_parse("f", bytes_of(str_of(text)), json, NULL, &g, &err))
		target_groups_unref(g);
	return check_str(str_of(err.msg), want);
}

Test(discovery, parse_errors_name_line_and_column)
{
	struct target_groups *g;
	char *lines = mem_zalloc(9000001, 1);
	struct err err;

	cr_expect(refuses(
		"", false,
		"f: the document is empty: write [] for an empty list of targets"));
	cr_expect(refuses(
		"- targets: ['a:1']\n  lables: {}\n", false,
		"f:2:3: field lables not found in target groups: did you mean labels?"));
	cr_expect(
		refuses("[1, 2", true, "f:1:5: ']' expected near end of file"));
	cr_expect(refuses("[{\"targets\": 1}, {\"targets\": 2}]", true,
			  "f: targets must be a list, not a scalar "
			  "(and more errors)"));
	/* This YAML has a million lines, and more values than are accepted. */
	for (size_t i = 0; i < 9000000; i += 9)
		memcpy(lines + i, "- {a: b}\n", 9);
	cr_expect(provider_parse("f", bytes_of(str_of(lines)), false, NULL, &g,
				 &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 500000") != NULL);
	/*
	 * This JSON has a million lists in one list, which are too many values,
	 * too.
	 */
	lines[0] = '[';
	for (size_t i = 1; i < 3000001; i += 3)
		memcpy(lines + i, "[],", 3);
	memcpy(lines + 2999998, "[]]", 4);
	cr_expect(provider_parse("f", bytes_of(str_of(lines)), true, NULL, &g,
				 &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 500000") != NULL, "%s", err.msg);
	mem_free(lines);
}

Test(discovery, url_password_is_redacted)
{
	struct discovery_configs configs = { 0 };
	struct buf out = { 0 };
	struct yaml y;

	yaml_parse(&y, "c.yml",
		   bytes_of(str_of("- {url: 'http://u:hidden@sd.example/x'}")));
	decode(&y, "http_sd_configs", &configs);
	yaml_dump(y.root, false, &out);
	cr_expect(check_str(str_from(buf_bytes(&out)), "- url: <secret>\n"));
	buf_fini(&out);
	yaml_fini(&y);
}
