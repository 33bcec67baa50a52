/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking configuration without starting: the commands of `everprof check`,
 * their output and exit codes, and the sections of the file beside jobs.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_slurp.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/output.h"
#include "cmd/serve/config.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(check, .timeout = 60);

/* The output of a command, and its exit code. */
struct printed {
	struct buf out;
	struct buf err;
	int code;
};

static void read_back(int fd, struct buf *to)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_assert(!file_slurp(path, to, NULL));
	close(fd);
}

/* Run a command with arguments, a list that ends with NULL. */
static struct printed run_command(int (*run)(int argc, char **argv),
				  const char *const *arguments)
{
	struct printed p = { 0 };
	char texts[8][300];
	char *argv[9] = { NULL };
	int fds[2] = { memfd_create("out", 0), memfd_create("err", 0) };
	int before[2] = { dup(1), dup(2) };
	int argc = 0;

	for (; arguments[argc]; argc++) {
		snprintf(texts[argc], sizeof(texts[0]), "%s", arguments[argc]);
		argv[argc] = texts[argc];
	}
	fflush(stdout);
	dup2(fds[0], 1);
	dup2(fds[1], 2);
	p.code = run(argc, argv);
	fflush(stdout);
	dup2(before[0], 1);
	dup2(before[1], 2);
	close(before[0]);
	close(before[1]);
	read_back(fds[0], &p.out);
	read_back(fds[1], &p.err);
	return p;
}

#define RUN(run, ...) \
	run_command(run, (const char *const[]){ __VA_ARGS__, NULL })

/*
 * Whether the command ended with this code, and printed something that contains
 * these texts. For an empty text, nothing may be printed. Frees `p`.
 */
static bool printed_as(struct printed p, int code, const char *out,
		       const char *err)
{
	bool ok = p.code == code && strstr(buf_cstr(&p.out), out) &&
		  strstr(buf_cstr(&p.err), err) && !*out == !p.out.len &&
		  !*err == !p.err.len;

	if (!ok)
		fprintf(stderr, "code %d, out \"%s\", err \"%s\"\n", p.code,
			buf_cstr(&p.out), buf_cstr(&p.err));
	buf_fini(&p.out);
	buf_fini(&p.err);
	return ok;
}

/*
 * Makes a file with this text in the folder. Returns the path of the file,
 * which is valid until the next call.
 */
static const char *file_with(const struct tempdir *d, const char *name,
			     const char *text)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	cr_assert(!output_save(path, false, bytes_of(str_of(text)), NULL));
	return path;
}

Test(check, a_configuration_is_judged_by_its_exit_code)
{
	static const struct {
		const char *text;
		int code;
		const char *out;
		const char *err;
	} cases[] = {
		{ "", 0, ": 0 jobs, no errors\n", "" },
		{ "scrape_configs:\n- job_name: a\n- job_name: b\n", 0,
		  ": 2 jobs, no errors\n", "" },
		{ "scrape_configs: [{}]\n", 1, "",
		  "c.yml:1:18: job_name is missing" },
		{ "a: [", 1, "", "c.yml:" },
		{ "rule_files: [x]\n", 0, ": 0 jobs, no errors\n",
		  "c.yml:1:1: warning: rule_files is ignored" },
		{ "remote_write: [{url: 'http://x/w', queue_config: "
		  "{max_shards: 2}}]\n",
		  0, ": 0 jobs, no errors\n",
		  "c.yml:1:51: warning: max_shards is ignored: the number of "
		  "shards is fixed; set it with the key shards" },
		{ "global: 5\nscrape_confgs: []\n", 1, "",
		  "c.yml:1:9: global must be a map" },
		{ "global: 5\nscrape_confgs: []\n", 1, "",
		  "c.yml:2:1: field scrape_confgs not found" },
		{ "scrape_configs:\n- job_name: a\n  tls_config: "
		  "{ca_file: none.pem}\n",
		  0, ": 1 jobs, no errors\n", "c.yml:3:25: warning: job a: " },
		{ "scrape_configs:\n- job_name: a\n  consul_sd_configs:\n"
		  "  - {server: 'x:8500', bearer_token_file: none}\n",
		  0, ": 1 jobs, no errors\n",
		  "c.yml:4:43: warning: consul_sd_configs in line 4: "
		  "bearer_token_file: " },
		{ "scrape_configs:\n- job_name: a\n  kubernetes_sd_configs:\n"
		  "  - {role: pod, kubeconfig_file: none.yaml}\n",
		  0, ": 1 jobs, no errors\n",
		  "c.yml:4:34: warning: kubernetes_sd_configs in line 4: " },
		{ "ebpf:\n  enabled: true\n  docker_sd_configs:\n"
		  "  - {host: 'http://a:1', tls_config: {ca_file: none.pem}}\n",
		  0, ": 0 jobs, no errors\n",
		  "c.yml:4:48: warning: docker_sd_configs in line 4: tls_config" },
		{ "ebpf:\n  interval: 5s\n", 0, ": 0 jobs, no errors\n",
		  "c.yml:2:3: warning: the section \"ebpf\" does nothing" },
		{ "ebpf: {enabled: false, interval: 5s}\n", 0,
		  ": 0 jobs, no errors\n", "" },
		{ "ebpf:\n", 0, ": 0 jobs, no errors\n", "" },
		{ "remote_write: [{url: 'http://x:1'}]\n", 0,
		  ": 0 jobs, no errors\n",
		  "c.yml:1:22: warning: the url has no path" },
		{ "scrape_configs:\n- job_name: a\n  static_config: []\n", 1,
		  "",
		  "field static_config not found in scrape_config: did you mean static_configs?" },
		{ "remote_write:\n- name: far\n  url: http://x/w\n  basic_auth: "
		  "{username: a, password_file: none}\n",
		  0, ": 0 jobs, no errors\n",
		  "c.yml:4:44: warning: remote_write far: basic_auth" },
	};
	struct tempdir d = tempdir_make();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(printed_as(RUN(cmd_check_config,
					 file_with(&d, "c.yml", cases[i].text)),
				     cases[i].code, cases[i].out, cases[i].err),
			  "%s", cases[i].text);
	tempdir_fini(&d);
}

/* Prints what --help shows in these tests. */
static void print_usage(const struct usage *u, const struct flag *flags)
{
	printf("help of %s, %s\n", u->line, flags->name ? "flags" : "no flags");
}

Test(check, one_bad_file_of_several_is_enough)
{
	struct tempdir d = tempdir_make();
	char good[300];
	char bad[300];

	snprintf(good, sizeof(good), "%s", file_with(&d, "good.yml", "{}"));
	snprintf(bad, sizeof(bad), "%s", file_with(&d, "bad.yml", "5"));
	cr_expect(printed_as(RUN(cmd_check_config, bad, good), 1, "good.yml: 0",
			     "bad.yml:1:1: "));
	cr_expect(printed_as(RUN(cmd_check_config, good, good), 0,
			     "good.yml: 0", ""));
	cr_expect(printed_as(RUN(cmd_check_config, "/no/such.yml", good), 1,
			     "good.yml: 0", "/no/such.yml: "));
	cr_expect(printed_as(RUN(cmd_check_config, d.path), 1, "", d.path));
	cr_expect(printed_as(RUN(cmd_check_config, "--none", good), 2, "",
			     "--none"));
	cr_expect(printed_as(
		run_command(cmd_check_config, (const char *const[]){ NULL }), 2,
		"", "FILE is missing"));
	cmd_help_with(print_usage);
	cr_expect(printed_as(RUN(cmd_check_config, "--help"), 0,
			     "help of check config FILE…, no flags", ""));
	tempdir_fini(&d);
}

Test(check, a_selector_is_told_where_it_is_wrong)
{
	cr_expect(printed_as(RUN(cmd_check_selector, "heap{a=\"b\"}"), 0, "",
			     ""));
	cr_expect(printed_as(RUN(cmd_check_selector, "heap{a=b}"), 1, "",
			     "1:8: parse error"));
	cr_expect(printed_as(RUN(cmd_check_selector, "--", "-heap"), 1, "",
			     "1:1: "));
	cr_expect(printed_as(RUN(cmd_check_selector, "heap", "web"), 2, "",
			     "unexpected argument \"web\""));
}

Test(check, a_web_configuration_shows_no_secret)
{
	struct tempdir d = tempdir_make();

	cr_expect(printed_as(
		RUN(cmd_check_web_config, file_with(&d, "w.yml", "{}")), 0,
		"no errors\n", ""));
	struct printed p = RUN(
		cmd_check_web_config,
		file_with(&d, "w.yml", "basic_auth_users: {alice: hunter2}\n"));

	cr_expect(!strstr(buf_cstr(&p.err), "hunter2"), "%s", buf_cstr(&p.err));
	cr_expect(printed_as(p, 1, "", "w.yml:1:"));
	tempdir_fini(&d);
}

/*
 * Whether a configuration is refused with a message that contains `want`; NULL:
 * whether it is accepted.
 */
static bool judged(const char *text, const char *want)
{
	struct config c;
	struct err err = { .msg = "" };
	int rc = config_parse(&c, "e.yml", bytes_of(str_of(text)), &err);
	bool ok = want ? rc == ERR_INVALID &&
				  strstr(buf_cstr(&c.yaml.errors), want) &&
				  strstr(err.msg, "e.yml") :
			 !rc && !c.yaml.errors.len;

	if (!ok)
		fprintf(stderr, "%s: %s\n", text, buf_cstr(&c.yaml.errors));
	config_fini(&c);
	config_fini(&c);
	return ok;
}

Test(check, sections_that_would_have_no_effect_are_refused)
{
	static const struct {
		const char *text;
		const char *want; /* NULL: it is accepted */
	} cases[] = {
		{ "remote_write:", NULL },
		{ "remote_write: []", NULL },
		{ "remote_write: [{url: 'http://x'}]", NULL },
		{ "remote_write: [{name: a}]",
		  "e.yml:1:16: remote_write requires url" },
		{ "remote_write: [{url: 'http://x'}, {url: 'http://x'}]",
		  "two receivers have the name" },
		{ "remote_write: [{url: 'http://x', name: a/b}]",
		  "name must consist of" },
		{ "remote_write: [{url: 'http://x', compression: gzip}]",
		  "compression must be zstd or snappy, not \"gzip\"" },
		{ "remote_write: [{url: 'http://x', headers: {Host: a}}]",
		  "headers cannot set Host: this header is reserved for everprof" },
		{ "remote_write: [{url: 'http://x', queue_config: "
		  "{shards: 201}}]",
		  "shards must be between 1 and 200" },
		{ "remote_write: [{url: 'http://x', queue_config: "
		  "{shards: 0}}]",
		  "shards must be between 1 and 200" },
		{ "remote_write: [{url: 'http://x', queue_config: "
		  "{max_bytes_per_send: 1}}]",
		  "max_bytes_per_send must be" },
		{ "remote_write: [{url: 'http://x', bogus: 1}]", "bogus" },
		{ "remote_write: yes", "e.yml:1:15: " },
		{ "ebpf:", NULL },
		{ "ebpf: {enabled: false, interval: 10s, "
		  "sampling_frequency: 97, node: n}",
		  NULL },
		{ "ebpf: {enabled: true}", NULL },
		{ "ebpf: {relabel_configs: [{source_labels: [exe], "
		  "regex: a, action: keep}]}",
		  NULL },
		{ "ebpf: {relabel_configs: [x]}", "e.yml:1:26: " },
		{ "ebpf: {relabel_configs: [{target_label: node, "
		  "replacement: x}]}",
		  "e.yml:1:26: relabel_configs: rules of the section ebpf "
		  "cannot change the label node" },
		{ "ebpf: {relabel_configs: [{regex: exe, action: labelkeep}]}",
		  "cannot change the label job" },
		{ "ebpf: {sampling_frequency: 0}",
		  "e.yml:1:28: sampling_frequency: expected 1 to 999 samples a second, not 0" },
		{ "ebpf: {interval: 10ms}",
		  "e.yml:1:18: interval: expected 1s to 10m" },
		{ "ebpf: {enable: false}", "field enable not found in ebpf" },
		{ "ebpf: {interval: often}", "e.yml:1:18: " },
		{ "global:", NULL },
		{ "global: {scrape_interval: 0s}", NULL },
		{ "global: {external_labels: {a: 1, a: 2}}",
		  "e.yml:1:34: mapping key" },
		{ "global: {external_labels: [a]}",
		  "external_labels must be a map" },
		{ "global: {external_labels: {a: [b]}}", "e.yml:1:31: " },
		{ "global: {scrape_interval: 5}", "e.yml:1:27: " },
		{ "global: {body_size_limit: -1}", "e.yml:1:27: " },
		{ "global: {rule_query_offset: 1s, query_log_file: x}", NULL },
		{ "storage: {}\ntracing: {}\nalerting: {}", NULL },
		{ "scrape_configs: {}", "scrape_configs must be a list" },
		{ "scrape_configs: ~", NULL },
		{ "{a: 1}\n---\n{b: 2}\n", "document" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(judged(cases[i].text, cases[i].want), "%s",
			  cases[i].text);
}

Test(check, jobs_take_the_defaults_of_global_wherever_it_stands)
{
	static const char text[] =
		"scrape_configs:\n"
		"- job_name: a\n"
		"- {job_name: b, scrape_interval: 7s, label_limit: 9}\n"
		"global: {scrape_interval: 1m, scrape_timeout: 3s, "
		"label_limit: 5, body_size_limit: 1MB}\n";
	struct config c;

	cr_assert(!config_parse(&c, "e.yml", bytes_of(str_of(text)), NULL),
		  "%s", buf_cstr(&c.yaml.errors));
	cr_assert(c.scrape.v[0].common.interval_ms == 60000);
	cr_assert(c.scrape.v[0].common.timeout_ms == 3000);
	cr_assert(c.scrape.v[0].common.label_limit == 5);
	cr_expect(c.scrape.v[0].common.body_size_limit == MIB);
	cr_assert(c.scrape.v[1].common.interval_ms == 7000);
	cr_expect(c.scrape.v[1].common.label_limit == 9);
	config_fini(&c);
	cr_assert(!config_parse(&c, "e.yml",
				bytes_of(str_of("global: {scrape_interval: "
						"0s}\nscrape_configs: "
						"[{job_name: a}]\n")),
				NULL));
	cr_expect(c.scrape.v[0].common.interval_ms == 15000, "0 is not set");
	config_fini(&c);
}

Test(check, a_file_is_loaded_and_a_pipe_only_when_a_person_names_it)
{
	struct tempdir d = tempdir_make();
	struct config c;
	struct err err;
	char path[300];
	int ends[2];

	snprintf(path, sizeof(path), "%s",
		 file_with(&d, "c.yml", "scrape_configs: [{job_name: a}]\n"));
	cr_assert(!config_load(&c, path, &err));
	cr_expect(c.scrape.count == 1);
	cr_expect(!strcmp(c.path, path));
	config_fini(&c);
	cr_expect(config_load(&c, "/no/such.yml", &err) == ERR_NOTFOUND);
	cr_assert(!c.yaml.error_count);
	cr_expect(strstr(err.msg, "/no/such.yml"));
	config_fini(&c);
	cr_expect(config_load(&c, d.path, &err) == ERR_INVALID);
	cr_expect(!c.yaml.error_count);
	config_fini(&c);
	cr_assert(!pipe(ends));
	cr_assert(write(ends[1], "scrape_configs: [{}]", 20) == 20);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	cr_expect(config_load(&c, path, &err) == ERR_INVALID);
	cr_expect(!c.yaml.error_count, "it is not even read");
	config_fini(&c);
	cr_expect(config_drain(&c, path, &err) == ERR_INVALID);
	cr_assert(c.yaml.error_count == 1);
	cr_expect(strstr(buf_cstr(&c.yaml.errors), "job_name is missing"));
	config_fini(&c);
	close(ends[0]);
	tempdir_fini(&d);
}

/* The number of commands that were described. */
static size_t described_count;

static void note_command(const struct command *c, const struct usage *u,
			 const struct flag *flags)
{
	char name[32];
	size_t n = 0;

	command_name(c, name);
	cr_expect(str_starts(str_of(u->line), str_of(name)), "%s: %s", name,
		  u->line);
	cr_assert(u->text[0]);
	cr_expect(u->min <= u->max);
	for (; flags[n].name; n++)
		cr_expect(flags[n].help && flags[n].help[0], "%s --%s", name,
			  flags[n].name);
	described_count++;
}

Test(check, every_command_describes_itself_once)
{
	described_count = 0;
	commands_describe(note_command);
	cr_expect(described_count == command_count);
	for (size_t i = 0; i < command_count; i++) {
		char a[32];

		command_name(&commands[i], a);
		for (size_t k = 0; k < i; k++) {
			char b[32];

			command_name(&commands[k], b);
			cr_expect(strcmp(a, b) != 0, "%s", a);
		}
	}
}
