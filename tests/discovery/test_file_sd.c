/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File discovery, one refresh at a time: which files are read, and which
 * targets are kept when a file cannot be read.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/file/file_config.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(file_sd, .timeout = 30);

/* A provider of the files in a folder. */
struct source {
	struct tempdir dir;
	struct provider p;
	struct metrics *metrics;
	struct log log;
	struct file_config config;
	struct str files[4];
	char paths[4][300];
};

/* patterns are relative to the folder; NULL ends them. */
static void open_source(struct source *s, const char *const *patterns)
{
	*s = (struct source){ .dir = tempdir_make(),
			      .metrics = metrics_new(),
			      .log = { .level = LOG_ERROR + 1 } };
	cr_assert(!http_client_new(&s->p.client, NULL));
	s->p.kind = &provider_file;
	s->p.log = &s->log;
	s->p.due_ns = INT64_MAX;
	s->p.failures = metrics_counter(s->metrics, "failures", "", NULL);
	for (size_t i = 0; patterns[i]; i++) {
		snprintf(s->paths[i], sizeof(s->paths[i]), "%s/%s", s->dir.path,
			 patterns[i]);
		s->files[s->config.file_count++] = str_of(s->paths[i]);
	}
	s->config.files = s->files;
	s->p.config = &s->config.base;
	s->p.data = provider_file.open(&s->p);
}

static void close_source(struct source *s)
{
	provider_file.close(&s->p);
	target_groups_list_fini(&s->p.found);
	http_client_free(s->p.client);
	metrics_free(s->metrics);
	tempdir_fini(&s->dir);
}

/* The path of a file in the folder; valid until the next call but one. */
static const char *path_of(const struct source *s, const char *name)
{
	static char paths[2][300];
	static unsigned next;
	char *out = paths[next++ % 2];

	snprintf(out, sizeof(paths[0]), "%s/%s", s->dir.path, name);
	return out;
}

static void put(const struct source *s, const char *name, const char *text)
{
	FILE *f = fopen(path_of(s, name), "w");

	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
}

/* Refreshes. Returns whether the targets changed. */
static bool refresh(struct source *s)
{
	s->p.changed = false;
	provider_file.refresh(&s->p);
	return s->p.changed;
}

static bool has_found(const struct source *s, const char *want)
{
	struct buf text = { 0 };
	bool ok;

	for (size_t i = 0; i < s->p.found.count; i++) {
		const struct target_groups *l = s->p.found.v[i];

		for (size_t k = 0; k < l->count; k++) {
			for (size_t t = 0; t < l->v[k].target_count; t++)
				buf_printf(
					&text, "%.*s ",
					STR_ARG(l->v[k].targets[t].v[0].value));
		}
	}
	ok = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	return ok;
}

#define PATTERNS(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(file_sd, files_are_read_in_the_order_of_patterns_and_names)
{
	struct source s;
	const struct target_group *g;

	open_source(&s, PATTERNS("z.yml", "*.json", "x*.yaml"));
	put(&s, "z.yml", "- targets: ['z:1']\n  labels: {k: v}\n");
	put(&s, "b.json", "[{\"targets\": [\"b:1\"]}]");
	put(&s, "a.json", "[{\"targets\": [\"a:1\"]}]");
	put(&s, ".c.json", "[{\"targets\": [\"c:1\"]}]");
	put(&s, "x1.yaml", "[{targets: ['x:1']}]");
	put(&s, "y.yaml", "[{targets: ['y:1']}]");
	put(&s, "a.json.bak", "[{\"targets\": [\"no:1\"]}]");
	cr_assert(refresh(&s));
	cr_expect(s.p.asked);
	cr_expect(has_found(&s, "z:1 c:1 a:1 b:1 x:1 "));
	g = &s.p.found.v[0]->v[0];
	cr_assert(g->labels.count == 2);
	cr_expect(check_str(g->labels.v[0].name, "k"));
	cr_expect(check_str(g->labels.v[1].name, "__meta_filepath"));
	cr_expect(check_str(g->labels.v[1].value, path_of(&s, "z.yml")));
	close_source(&s);
}

Test(file_sd, a_file_of_two_patterns_is_read_once)
{
	struct source s;

	open_source(&s, PATTERNS("a.yml", "*.yml", "a*.yml"));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	put(&s, "b.yml", "[{targets: ['b:1']}]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:1 b:1 "));
	put(&s, "a.yml", "[");
	cr_assert(!refresh(&s));
	cr_expect(metric_get(s.p.failures) == 1);
	close_source(&s);
}

Test(file_sd, the_first_refresh_reports_even_nothing)
{
	struct source s;

	open_source(&s, PATTERNS("none.yml", "none/*.yml"));
	cr_assert(refresh(&s));
	cr_assert(s.p.asked);
	cr_expect(!s.p.found.count);
	cr_expect(metric_get(s.p.failures) == 0, "that is no failure");
	cr_expect(!refresh(&s));
	put(&s, "none.yml", "[]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, ""));
	close_source(&s);
}

Test(file_sd, only_a_text_that_changed_is_news)
{
	struct source s;

	open_source(&s, PATTERNS("*.yml"));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	cr_expect(refresh(&s));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	cr_expect(!refresh(&s), "the same text, written again");
	put(&s, "a.yml", "[{targets: ['a:2']}]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:2 "));
	put(&s, "b.yml", "[{targets: ['b:1']}]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:2 b:1 "));
	cr_assert(!unlink(path_of(&s, "a.yml")));
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "b:1 "));
	cr_assert(!unlink(path_of(&s, "b.yml")));
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, ""));
	close_source(&s);
}

Test(file_sd, a_wrong_file_keeps_its_targets_and_no_others)
{
	static const char *const wrong[] = {
		"",
		"[",
		"a: b",
		"- targets: a:2",
		"- target: ['a:2']",
		"- {targets: ['a:2'], labels: {__tenant__: x}}",
		"\xff\xfe\x00",
	};
	struct source s;
	int64_t failures = 0;

	open_source(&s, PATTERNS("*.yml"));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	put(&s, "b.yml", "[{targets: ['b:0']}]");
	cr_expect(refresh(&s));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[50];
		char want[50];

		put(&s, "a.yml", wrong[i]);
		snprintf(text, sizeof(text), "[{targets: ['b:%zu']}]", i + 1);
		put(&s, "b.yml", text);
		cr_expect(refresh(&s));
		snprintf(want, sizeof(want), "a:1 b:%zu ", i + 1);
		cr_expect(has_found(&s, want), "%s", wrong[i]);
		cr_expect(metric_get(s.p.failures) == ++failures);
		cr_expect(!refresh(&s), "it is no news that it is wrong");
		failures++;
	}
	/* A file that is gone keeps no targets, even if it was wrong before. */
	cr_assert(!unlink(path_of(&s, "a.yml")));
	cr_expect(refresh(&s));
	put(&s, "a.yml", "[");
	cr_expect(!refresh(&s), "it has nothing to keep");
	close_source(&s);
}

Test(file_sd, a_file_that_is_no_file_is_a_failure)
{
	struct source s;

	open_source(&s, PATTERNS("a.yml", "b.yml"));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	cr_assert(!unlink(path_of(&s, "a.yml")));
	cr_assert(!mkdir(path_of(&s, "a.yml"), 0755));
	cr_assert(!mkfifo(path_of(&s, "b.yml"), 0644));
	cr_assert(!refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	cr_expect(metric_get(s.p.failures) == 2, "nobody waits for the fifo");
	close_source(&s);
}

Test(file_sd, a_file_of_more_than_ten_mebibytes_is_refused)
{
	struct source s;
	struct buf text = { 0 };

	open_source(&s, PATTERNS("a.yml"));
	buf_str(&text, "[{targets: ['a:1']}]\n#");
	while (text.len < YAML_TEXT_MAX)
		buf_byte(&text, 'x');
	put(&s, "a.yml", buf_cstr(&text));
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	memcpy(text.ptr, "[{targets: ['b:1']}]", 20);
	buf_byte(&text, 'x');
	put(&s, "a.yml", buf_cstr(&text));
	cr_assert(!refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	cr_expect(metric_get(s.p.failures) == 1);
	buf_fini(&text);
	close_source(&s);
}

Test(file_sd, json_is_json_and_nothing_more)
{
	struct source s;

	open_source(&s, PATTERNS("a.json", "b.JSON", "c.YML"));
	put(&s, "a.json", "- targets: ['a:1']");
	put(&s, "b.JSON", "- targets: ['b:1']");
	put(&s, "c.YML", "[{\"targets\": [\"c:1\"]}]");
	cr_assert(refresh(&s), "JSON is YAML");
	cr_expect(has_found(&s, "c:1 "), "JSON is YAML");
	cr_expect(metric_get(s.p.failures) == 2);
	close_source(&s);
}

/* A folder that is exchanged for a moment does not lose its targets. */
Test(file_sd, a_folder_that_cannot_be_read_keeps_all)
{
	struct source s;

	open_source(&s, PATTERNS("d/*.yml"));
	cr_assert(!mkdir(path_of(&s, "d"), 0755));
	put(&s, "d/a.yml", "[{targets: ['a:1']}]");
	cr_assert(refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	/*
	 * The link refers to itself. So the folder cannot be read, but it is
	 * not missing either.
	 */
	cr_assert(!rename(path_of(&s, "d"), path_of(&s, "e")));
	cr_assert(!symlink("d", path_of(&s, "d")));
	cr_assert(!refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	cr_expect(metric_get(s.p.failures) == 1);
	cr_assert(!unlink(path_of(&s, "d")));
	cr_assert(!rename(path_of(&s, "e"), path_of(&s, "d")));
	cr_assert(!refresh(&s));
	cr_expect(has_found(&s, "a:1 "));
	close_source(&s);
}

/* Changes that inotify reports. */

/*
 * Waits for an event. Returns whether it makes the refresh due in so many ms.
 */
static bool is_due_in(struct source *s, int64_t ms)
{
	int64_t before = clock_mono_ns();

	s->p.due_ns = INT64_MAX;
	for (int i = 0; i < 100 && s->p.due_ns == INT64_MAX; i++)
		http_poll(s->p.client, 100);
	return s->p.due_ns >= before + ms * 1000000 &&
	       s->p.due_ns <= clock_mono_ns() + ms * 1000000;
}

Test(file_sd, a_change_in_the_folder_hurries_the_refresh)
{
	struct source s;
	int fd;

	open_source(&s, PATTERNS("*.yml"));
	cr_expect(refresh(&s));
	put(&s, "a.yml", "[]");
	cr_expect(is_due_in(&s, 50), "it is complete");
	cr_assert(!rename(path_of(&s, "a.yml"), path_of(&s, "b.yml")));
	cr_expect(is_due_in(&s, 50));
	cr_assert(!unlink(path_of(&s, "b.yml")));
	cr_expect(is_due_in(&s, 50));
	/* A file that is still being written gets more time. */
	fd = open(path_of(&s, "c.yml"), O_CREAT | O_WRONLY, 0644);
	cr_assert(fd >= 0);
	cr_expect(is_due_in(&s, 500));
	close(fd);
	cr_expect(is_due_in(&s, 50));
	/* An event does not postpone a refresh that is due earlier. */
	put(&s, "a.yml", "[]");
	s.p.due_ns = 1;
	http_poll(s.p.client, 1000);
	cr_expect(s.p.due_ns == 1);
	close_source(&s);
}

/* The result of checking a configuration. */

static void on_told(void *ctx, const char *text)
{
	buf_printf(ctx, "%s\n", text);
}

Test(file_sd, a_check_names_each_file_with_a_mistake)
{
	struct source s;
	struct buf told = { 0 };
	char files[4][300];
	struct str names[4];
	struct file_config c = { .files = names, .file_count = 4 };
	static const char *const patterns[] = { "*.yml", "none.json",
						"none*.yml", "c.json" };

	open_source(&s, PATTERNS("x.yml"));
	put(&s, "a.yml", "[{targets: ['a:1']}]");
	put(&s, "b.yml", "[{target: []}]");
	put(&s, "c.json", "[");
	for (size_t i = 0; i < 4; i++) {
		snprintf(files[i], sizeof(files[i]), "%s/%s", s.dir.path,
			 patterns[i]);
		names[i] = str_of(files[i]);
	}
	provider_file.examine(&c.base, on_told, &told);
	cr_expect(!strstr(buf_cstr(&told), "a.yml"), "%s", buf_cstr(&told));
	cr_expect(strstr(buf_cstr(&told), "b.yml:1:3: ") != NULL, "%s",
		  buf_cstr(&told));
	cr_expect(strstr(buf_cstr(&told), "none.json") != NULL);
	cr_expect(strstr(buf_cstr(&told), "none*.yml") != NULL);
	cr_expect(strstr(buf_cstr(&told), "c.json:1:") != NULL);
	buf_fini(&told);
	close_source(&s);
}
