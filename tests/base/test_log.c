/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what people read about events and failures: log lines in both
 * formats, and errors with their codes and messages.
 */
#include <errno.h>
#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "tests/check.h"

TestSuite(log, .timeout = 20);

/* A log into memory, and the text that has been written to it. */
struct memory_log {
	struct log log;
	struct buf text;
};

static struct memory_log memory_log(enum log_level level, bool json)
{
	struct memory_log m = { .log = { .level = level, .json = json } };

	m.log.fd = memfd_create("log", 0);
	cr_assert(m.log.fd >= 0);
	return m;
}

/* The text that was written since the last call. */
static const char *written(struct memory_log *m)
{
	uint8_t piece[4096];
	ssize_t n;

	buf_reset(&m->text);
	lseek(m->log.fd, 0, SEEK_SET);
	while ((n = read(m->log.fd, piece, sizeof(piece))) > 0)
		buf_add(&m->text, piece, (size_t)n);
	lseek(m->log.fd, 0, SEEK_SET);
	cr_assert(!ftruncate(m->log.fd, 0));
	return buf_cstr(&m->text);
}

static void memory_log_fini(struct memory_log *m)
{
	close(m->log.fd);
	buf_fini(&m->text);
}

/* Whether text has the form of "2026-01-02T03:04:05.678Z". */
static bool is_timestamp(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	for (size_t i = 0; i < strlen(form); i++) {
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' :
				     text[i] != form[i])
			return false;
	}
	return true;
}

#define TS_LEN 24

Test(log, logfmt_quotes_only_what_it_must)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "word", "word" },
		{ "a/b:c,d{}[]'\\", "a/b:c,d{}[]'\\" },
		{ "", "\"\"" },
		{ NULL, "\"\"" },
		{ "two words", "\"two words\"" },
		{ "a=b", "\"a=b\"" },
		{ "say \"x\"", "\"say \\\"x\\\"\"" },
		{ "a\"b", "\"a\\\"b\"" },
		{ "line\nlevel=error", "\"line\\nlevel=error\"" },
		{ "\x1b[31m", "\"\\u001b[31m\"" },
		{ "\x7f", "\"\\u007f\"" },
		{ "\xc3\xa9", "\"\xc3\xa9\"" },
		{ "\xff", "\"\\ufffd\"" },
	};
	struct memory_log m = memory_log(LOG_INFO, false);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf want = { 0 };
		const char *line;

		log_event(&m.log, LOG_WARN, "it happened",
			  LOG_FIELDS(log_text("key", cases[i].text),
				     log_int("n", INT64_MIN)));
		line = written(&m);
		buf_printf(&want,
			   " level=warn msg=\"it happened\" key=%s "
			   "n=-9223372036854775808\n",
			   cases[i].want);
		cr_assert(!strncmp(line, "ts=", 3));
		cr_assert(is_timestamp(line + 3));
		cr_expect(
			check_str(str_of(line + 3 + TS_LEN), buf_cstr(&want)));
		buf_fini(&want);
	}
	log_event(&m.log, LOG_ERROR, "bare", NULL);
	cr_expect(check_str(str_of(written(&m) + 3 + TS_LEN),
			    " level=error msg=bare\n"));
	memory_log_fini(&m);
}

Test(log, json_lines_are_objects)
{
	struct memory_log m = memory_log(LOG_DEBUG, true);
	struct err err;
	json_t *v;

	err_set(&err, ERR_IO, "open \"x\"\n: %s", "denied");
	log_event(&m.log, LOG_DEBUG, "a\nb",
		  LOG_FIELDS(log_err(&err), log_text("bytes", "\x01\xff"),
			     log_int("n", -7), log_text("none", NULL)));
	v = json_loads(written(&m), JSON_REJECT_DUPLICATES, NULL);
	cr_assert(v);
	cr_assert(json_object_size(v) == 7);
	cr_expect(is_timestamp(json_string_value(json_object_get(v, "ts"))));
	cr_expect(json_string_length(json_object_get(v, "ts")) == TS_LEN);
	cr_expect(!strcmp(json_string_value(json_object_get(v, "level")),
			  "debug"));
	cr_expect(
		!strcmp(json_string_value(json_object_get(v, "msg")), "a\nb"));
	cr_expect(!strcmp(json_string_value(json_object_get(v, "err")),
			  "open \"x\"\n: denied"));
	cr_expect(!strcmp(json_string_value(json_object_get(v, "bytes")),
			  "\x01\xef\xbf\xbd"));
	cr_expect(json_integer_value(json_object_get(v, "n")) == -7);
	cr_expect(json_string_length(json_object_get(v, "none")) == 0);
	json_decref(v);
	log_event(&m.log, LOG_INFO, "x", NULL);
	log_event(&m.log, LOG_INFO, "y", NULL);
	written(&m);
	cr_expect(m.text.ptr[m.text.len - 1] == '\n');
	cr_expect(strstr(buf_cstr(&m.text), "}\n{\"ts\":") != NULL,
		  "one a line");
	memory_log_fini(&m);
}

Test(log, events_below_the_level_are_dropped)
{
	for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
		struct memory_log m = memory_log((enum log_level)level, false);

		for (int event = LOG_DEBUG; event <= LOG_ERROR; event++) {
			log_event(&m.log, (enum log_level)event, "x", NULL);
			cr_expect((*written(&m) != 0) == (event >= level),
				  "%d in a log of %d", event, level);
		}
		memory_log_fini(&m);
	}
	log_event(NULL, LOG_ERROR, "no log", NULL);
	log_event(&(struct log){ .fd = -1 }, LOG_ERROR, "no file", NULL);
}

Test(log, long_lines_are_cut_and_stay_single_lines)
{
	static char text[20000];

	memset(text, 'x', sizeof(text) - 1);
	text[300] = '\n';
	for (int json = 0; json < 2; json++) {
		struct memory_log m = memory_log(LOG_INFO, json);

		log_event(&m.log, LOG_INFO, "long",
			  LOG_FIELDS(log_text("text", text)));
		written(&m);
		cr_assert(m.text.len > 7000, "%zu bytes", m.text.len);
		cr_expect(m.text.len <= 8 * KIB + 2, "%zu bytes", m.text.len);
		cr_expect(!json || strstr(buf_cstr(&m.text), "x\"}\n"),
			  "the value and the object are closed");
		cr_expect(memchr(m.text.ptr, '\n', m.text.len) ==
			  m.text.ptr + m.text.len - 1);
		log_event(&m.log, LOG_INFO, "short", NULL);
		cr_expect(strstr(written(&m), "short") != NULL);
		memory_log_fini(&m);
	}
}

Test(log, levels_are_read_by_their_exact_names)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	static const char *const bad[] = { "",      "Debug", "warning",
					   "infos", "inf",   " info" };
	enum log_level level = LOG_WARN;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cr_expect(log_level_parse(str_of(names[i]), &level));
		cr_expect(level == (enum log_level)i, "%s", names[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect(!log_level_parse(str_of(bad[i]), &level), "%s",
			  bad[i]);
	cr_expect(level == LOG_ERROR, "a failure leaves the output alone");
}

Test(log, codes_of_errno_are_those_callers_react_to)
{
	static const struct {
		int number;
		int code;
	} cases[] = {
		{ ENOENT, ERR_NOTFOUND }, { EEXIST, ERR_EXISTS },
		{ ENOSPC, ERR_NOSPACE },  { EDQUOT, ERR_NOSPACE },
		{ EFBIG, ERR_NOSPACE },   { EIO, ERR_IO },
		{ EACCES, ERR_IO },       { ENOTDIR, ERR_IO },
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		errno = cases[i].number;
		cr_expect(err_sys(&err, "open %s", "/x") == cases[i].code);
		cr_expect(err.code == cases[i].code);
		cr_expect(!strncmp(err.msg, "open /x: ", 9));
		cr_expect(strstr(err.msg, strerror(cases[i].number)) != NULL);
		errno = cases[i].number;
		cr_expect(err_sys(NULL, "x") == cases[i].code);
	}
}

Test(log, long_messages_are_cut_and_keep_their_ends)
{
	static char path[2000];
	struct err err;

	memset(path, 'p', sizeof(path) - 1);
	errno = EACCES;
	cr_expect(err_sys(&err, "open %s", path) == ERR_IO);
	cr_expect(strlen(err.msg) < sizeof(err.msg));
	cr_expect(strstr(err.msg, strerror(EACCES)) != NULL,
		  "why is more important than what");
	cr_expect(err_set(&err, ERR_BUSY, "%s", path) == ERR_BUSY);
	cr_expect(strlen(err.msg) == sizeof(err.msg) - 1);
	cr_expect(err_wrap(&err, ERR_LIMIT, "%s", path) == ERR_LIMIT);
	cr_expect(strlen(err.msg) < sizeof(err.msg));
	cr_expect(strstr(err.msg, "p: p") != NULL, "both have their part");
}

Test(log, context_is_put_before_a_message)
{
	struct err err;

	cr_expect(err_set(&err, ERR_CORRUPT, "%d%% lost", 7) == ERR_CORRUPT);
	cr_assert(err.code == ERR_CORRUPT);
	cr_expect(!strcmp(err.msg, "7% lost"));
	cr_expect(err_wrap(&err, ERR_INVALID, "block %s", "01F") ==
		  ERR_INVALID);
	cr_expect(err.code == ERR_INVALID);
	cr_expect(!strcmp(err.msg, "block 01F: 7% lost"));
	/* The old message may be an argument of the call that replaces it. */
	err_set(&err, ERR_IO, "%.9s", "open /x");
	err_wrap(&err, ERR_IO, "%s", err.msg);
	cr_expect(!strcmp(err.msg, "open /x: open /x"));
	cr_expect(err_set(NULL, ERR_BUSY, "x") == ERR_BUSY);
	cr_expect(err_wrap(NULL, ERR_AGAIN, "x") == ERR_AGAIN);
}

Test(log, every_code_has_a_name_of_its_own)
{
	cr_expect(!strcmp(err_name(0), "ok"));
	cr_expect(!strcmp(err_name(ERR_CORRUPT), "corrupt"));
	for (int a = ERR_INVALID; a >= ERR_MEDIA; a--) {
		cr_expect(strcmp(err_name(a), "unknown") != 0, "%d", a);
		for (int b = ERR_INVALID; b > a; b--)
			cr_expect(strcmp(err_name(a), err_name(b)) != 0);
	}
	cr_expect(!strcmp(err_name(1), "unknown"));
	cr_expect(!strcmp(err_name(ERR_MEDIA - 1), "unknown"));
	cr_expect(!strcmp(err_name(INT32_MAX), "unknown"));
	cr_expect(!strcmp(err_name(INT32_MIN), "unknown"));
}
