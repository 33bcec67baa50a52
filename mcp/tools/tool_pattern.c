/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_pattern.h"

#include "model/regex.h"

enum {
	NAME_MAX_BYTES = 4096 /* of a text that may be meant as a name */
};

/* Whether a character stands for itself in an expression. */
static bool tool_pattern_is_literal(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

/* Append an expression that matches a text as a whole. */
static void tool_pattern_quote(struct str text, struct buf *out)
{
	buf_byte(out, '^');
	for (size_t i = 0; i < text.len; i++) {
		if (!tool_pattern_is_literal(text.ptr[i]))
			buf_byte(out, '\\');
		buf_byte(out, (uint8_t)text.ptr[i]);
	}
	buf_byte(out, '$');
}

/* Check that a text is an expression. */
static int tool_pattern_check(struct str text, struct err *err)
{
	struct regex *re = NULL;
	int rc = regex_new_search(text, &re, err);

	regex_free(re);
	return rc ? err_wrap(err, rc, "argument \"function\"") : 0;
}

int tool_pattern_set(struct tool_call *c, struct err *err)
{
	struct str text = tool_call_text(c, "function");
	int rc = tool_pattern_check(text, err);
	struct buf out = { 0 };

	if (rc && text.len > NAME_MAX_BYTES)
		return rc;
	if (!rc) {
		buf_add(&out, text.ptr, text.len);
		buf_byte(&out, '|');
	}
	if (text.len <= NAME_MAX_BYTES)
		tool_pattern_quote(text, &out);
	else
		out.len--;
	tool_call_set(c, "symbol", str_from(buf_bytes(&out)));
	buf_fini(&out);
	return 0;
}

struct str tool_pattern(const struct tool_call *c)
{
	struct str pattern = { .len = 0 };

	(void)params_find(&c->params, "symbol", &pattern);
	return pattern;
}

bool tool_pattern_is_name(const struct tool_call *c, const struct pprof *p)
{
	struct str text = tool_call_text(c, "function");

	for (size_t i = 0; i < p->functions.count; i++) {
		if (str_eq(pprof_str(p, p->functions.v[i].name), text))
			return true;
	}
	return false;
}

struct str tool_pattern_name(const struct tool_call *c)
{
	struct buf out = { 0 };
	struct str text;

	tool_pattern_quote(tool_call_text(c, "function"), &out);
	text = arena_str(c->arena, str_from(buf_bytes(&out)));
	buf_fini(&out);
	return text;
}

int tool_pattern_unmatched(const struct tool_call *c, struct err *err)
{
	struct str text = tool_call_text(c, "function");
	struct err wrong;

	if (tool_pattern_check(text, &wrong))
		return err_set(
			err, ERR_NOTFOUND,
			"no function has this name, and it is no regular expression: %s; the tool \"top\" lists the functions",
			wrong.msg);
	return err_set(
		err, ERR_NOTFOUND,
		"no function of these profiles matches: the tool \"top\" lists the functions");
}
