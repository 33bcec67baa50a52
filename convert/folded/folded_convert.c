/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/folded/folded_convert.h"

#include <string.h>

#include "base/defs.h"

/* A conversion. */
struct folding {
	const struct folded_options *o;
	struct stack_build build;
	struct stack_part part;
	struct convert_meter meter;
	struct buf out;
	size_t line; /* number of the line that is read */
};

/* Implement convert_meter.look. */
static int folded_convert_look(void *ctx, struct err *err)
{
	const struct folding *f = ctx;

	return convert_caller_look(&f->o->caller,
				   stack_build_memory(&f->build) +
					   stack_part_memory(&f->part),
				   err);
}

/* Return the innermost function of a stack, and remove it; empty: two semicolons. */
static struct str folded_convert_pop(struct str *stack)
{
	const char *cut = memrchr(stack->ptr, ';', stack->len);
	size_t before = cut ? (size_t)(cut - stack->ptr) : 0;
	size_t begin = cut ? before + 1 : 0;
	struct str name = { stack->ptr + begin, stack->len - begin };

	stack->len = before;
	return name;
}

/* Add the frames of a stack, which has the outermost function first. */
static int folded_convert_frames(struct folding *f, struct str stack,
				 struct err *err)
{
	size_t frames = 0;

	while (stack.len) {
		struct str name = folded_convert_pop(&stack);

		if (!name.len)
			continue;
		if (frames++ == FOLDED_FRAMES_MAX || name.len > FOLDED_NAME_MAX)
			return err_set(
				err, ERR_INVALID,
				"line %zu has more than %d functions, or one whose name has more than %d bytes",
				f->line, FOLDED_FRAMES_MAX, FOLDED_NAME_MAX);
		stack_build_frame(&f->build,
				  stack_build_function(&f->build, name), 0);
		convert_meter_note(&f->meter, name.len);
	}
	/* The number of a stack without functions counts, too. */
	if (!frames)
		stack_build_frame(
			&f->build,
			stack_build_function(&f->build, str_of("[unknown]")),
			0);
	return convert_meter_ask(&f->meter, err);
}

/* Split a line at its last blank, before which the stack is, and read the number. */
static int folded_convert_split(const struct folding *f, struct str line,
				struct str *stack, int64_t *value,
				struct err *err)
{
	const char *cut = memrchr(line.ptr, ' ', line.len);
	size_t before = cut ? (size_t)(cut - line.ptr) : 0;
	struct str number = { line.ptr + before + 1, line.len - before - 1 };

	*stack = str_trim((struct str){ line.ptr, before });
	if (!cut || !str_to_i64(number, value) || *value < 0)
		return err_set(
			err, ERR_INVALID,
			"line %zu is no folded stack, such as \"main;work;sum 12\": it does not end with a blank and a whole number from 0",
			f->line);
	if (__builtin_mul_overflow(*value, f->o->factor, value))
		return err_set(err, ERR_INVALID,
			       "the number of line %zu is too large", f->line);
	return 0;
}

/* Take a line. */
static int folded_convert_line(struct folding *f, struct str line,
			       struct err *err)
{
	int64_t values[STACK_VALUES_MAX] = { 0 };
	struct pprof_sample sample = { .labels = 0 }; /* without labels */
	struct str stack;
	int rc = folded_convert_split(f, line, &stack, &values[0], err);

	if (!rc)
		rc = folded_convert_frames(f, stack, err);
	if (rc)
		return rc;
	sample.stack = stack_build_stack(&f->build);
	if (!stack_part_add(&f->part, sample, values))
		return err_set(
			err, ERR_INVALID,
			"with line %zu, the numbers of a stack add up to more than 64 bits",
			f->line);
	return 0;
}

/* Take all lines. */
static int folded_convert_lines(struct folding *f, struct str text,
				struct err *err)
{
	int rc = 0;

	while (!rc && text.len) {
		struct str line = str_trim(str_cut(text, '\n', &text));

		f->line++;
		convert_meter_note(&f->meter, line.len);
		rc = line.len ? folded_convert_line(f, line, err) :
				convert_meter_ask(&f->meter, err);
	}
	return rc;
}

/* Encode the profile, and store it. */
static int folded_convert_store(struct folding *f, struct err *err)
{
	const struct convert_caller *c = &f->o->caller;
	bool refused;
	int rc;

	if (!f->part.samples.count)
		return err_set(err, ERR_INVALID,
			       "the profile has no line with a stack");
	rc = convert_caller_look(
		c,
		stack_build_memory(&f->build) + stack_part_memory(&f->part) +
			stack_build_encoding(&f->build, &f->part,
					     c->max_profile),
		err);
	if (rc)
		return rc;
	f->out = buf_init(c->max_profile);
	stack_build_encode(&f->build, &f->part, &f->o->head, &f->out);
	if (f->out.over)
		return err_set(err, ERR_TOOBIG,
			       "the profile has more than %zu bytes",
			       c->max_profile);
	return c->store(c->ctx, f->o->labels, buf_bytes(&f->out), &refused,
			err);
}

int folded_convert(struct str text, const struct folded_options *o,
		   struct err *err)
{
	struct folding f = { .o = o };
	int rc;

	f.meter = (struct convert_meter){ .look = folded_convert_look,
					  .ctx = &f };
	stack_build_init(&f.build);
	rc = folded_convert_lines(&f, text, err);
	if (!rc)
		rc = folded_convert_store(&f, err);
	stack_build_fini(&f.build);
	stack_part_fini(&f.part);
	buf_fini(&f.out);
	return rc;
}
