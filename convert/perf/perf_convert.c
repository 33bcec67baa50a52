/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/perf/perf_convert.h"

#include <string.h>

#include "base/mem.h"
#include "convert/conversion/stack_build.h"

/* A line must not be longer, for the search of its parts. */
#define LINE_MAX_BYTES (PERF_NAME_MAX + 8192)

/* A longer text is no name of an event or a thread. */
#define TEXT_MAX 256

/* Nor is a longer word the mode of a sample, such as "U" or "GH". */
#define MODE_MAX 3

/* How many lines are looked at to tell whether a text is one of perf script. */
#define SNIFF_LINES 200

/* The parts of the first line of a sample. */
struct perf_header {
	struct str comm;
	struct str
		pid; /* of the process; empty: only that of the thread is there */
	struct str tid;
	int64_t time_ns;
	int64_t period; /* -1: the line does not say it */
	struct str event;
	struct str frame; /* empty: frames follow in lines of their own */
};

/* The samples of an event. */
struct perf_event {
	struct str name;
	struct stack_part part;
	int64_t first_ns;
	int64_t last_ns;
	bool has_periods;
};

/* A conversion. */
struct perf_text {
	const struct convert_caller *caller;
	struct stack_build build;
	struct perf_event events[PERF_EVENTS_MAX];
	size_t event_count;
	struct convert_meter meter;
	bool has_frames;    /* a frame was seen, … */
	bool has_addresses; /* … and whether the frames begin with addresses */
	size_t line;        /* number of the line that is read */
	bool is_open;       /* a sample was begun */
	size_t event;       /* of the open sample */
	int64_t period;     /* of the open sample */
	uint32_t labels;    /* of the open sample */
	size_t frames;      /* of the open sample */
};

/* Return the memory of everything, in bytes. */
static size_t perf_memory(const struct perf_text *x)
{
	size_t bytes = stack_build_memory(&x->build);

	for (size_t i = 0; i < x->event_count; i++)
		bytes += stack_part_memory(&x->events[i].part);
	return bytes;
}

/* Implement convert_meter.look. */
static int perf_look(void *ctx, struct err *err)
{
	const struct perf_text *x = ctx;

	return convert_caller_look(x->caller, perf_memory(x), err);
}

/* Cut the first word off a text; empty: there is none. */
static struct str perf_word(struct str *text)
{
	size_t n = 0;
	struct str word;

	*text = str_trim(*text);
	while (n < text->len && text->ptr[n] != ' ' && text->ptr[n] != '\t')
		n++;
	word = (struct str){ text->ptr, n };
	text->ptr += n;
	text->len -= n;
	return word;
}

/* Return how many decimal digits a text begins with. */
static size_t perf_digits(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

/* Read "25122.527338:", with 6 or 9 digits behind the point. */
static bool perf_read_time(struct str word, int64_t *ns)
{
	struct str fraction;
	struct str seconds = str_cut(word, '.', &fraction);
	int64_t whole;
	int64_t part;
	size_t digits = perf_digits(fraction);

	if (!seconds.len || perf_digits(seconds) != seconds.len ||
	    fraction.len != digits + 1 || fraction.ptr[digits] != ':')
		return false;
	fraction.len = digits;
	if ((digits != 6 && digits != 9) || !str_to_i64(seconds, &whole) ||
	    !str_to_i64(fraction, &part) ||
	    __builtin_mul_overflow(whole, INT64_C(1000000000), ns))
		return false;
	return !__builtin_add_overflow(*ns, digits == 6 ? part * 1000 : part,
				       ns);
}

/* Whether a text is a number such as 1099 or -1, that of no process. */
static bool perf_is_number(struct str s)
{
	int64_t number;

	return s.len && str_to_i64(s, &number) && number >= -1;
}

/* Read "1099", a thread, or "1099/1101", a process and a thread. */
static bool perf_read_ids(struct str word, struct perf_header *out)
{
	struct str first = str_cut(word, '/', &out->tid);

	if (!perf_is_number(first) ||
	    (out->tid.len && !perf_is_number(out->tid)))
		return false;
	out->pid = out->tid.len ? first : str_of("");
	if (!out->tid.len)
		out->tid = first;
	return true;
}

/* Whether a word may be between thread and time: the CPU, or the mode, such as "U". */
static bool perf_is_between(struct str word)
{
	size_t n = 0;

	if (word.len && *word.ptr == '[')
		return true;
	while (n < word.len &&
	       ((word.ptr[n] | 0x20) >= 'a' && (word.ptr[n] | 0x20) <= 'z'))
		n++;
	return word.len <= MODE_MAX && n == word.len;
}

/*
 * Find the time of a line, which comes behind the thread, and what is before: the name of
 * the thread may have blanks.
 */
static bool perf_find_time(struct str line, struct perf_header *out,
			   struct str *rest)
{
	const char *ids = NULL;
	bool has_time = false;

	*rest = line;
	while (rest->len && !has_time) {
		struct str word = perf_word(rest);
		struct perf_header found;

		if (ids && perf_read_time(word, &out->time_ns)) {
			has_time = true;
		} else if (perf_read_ids(word, &found)) {
			ids = word.ptr;
			out->pid = found.pid;
			out->tid = found.tid;
		} else if (!perf_is_between(word)) {
			ids = NULL;
		}
	}
	if (!has_time)
		return false;
	out->comm =
		str_trim((struct str){ line.ptr, (size_t)(ids - line.ptr) });
	return out->comm.len;
}

/*
 * Whether a text begins with an address and a symbol behind it. "add (/bin/shop)" does
 * not: that is a symbol and its file.
 */
static bool perf_has_address(struct str text)
{
	struct str word = perf_word(&text);
	size_t n = 0;

	while (n < word.len && digit_hex_value(word.ptr[n]) >= 0)
		n++;
	text = str_trim(text);
	return n && n == word.len && text.len && *text.ptr != '(';
}

/* Read the first line of a sample. */
static bool perf_read_header(struct str line, struct perf_header *out)
{
	struct str rest;
	struct str word;

	*out = (struct perf_header){ .period = -1 };
	if (!perf_find_time(line, out, &rest))
		return false;
	word = perf_word(&rest);
	if (word.len && perf_digits(word) == word.len) {
		if (!str_to_i64(word, &out->period))
			return false;
		word = perf_word(&rest);
	}
	if (word.len < 2 || word.ptr[word.len - 1] != ':' ||
	    word.len > TEXT_MAX || out->comm.len > TEXT_MAX)
		return false;
	out->event = (struct str){ word.ptr, word.len - 1 };
	rest = str_trim(rest);
	/* Behind the name of a tracepoint are its fields. */
	if (rest.len && rest.ptr[rest.len - 1] == ')' && perf_has_address(rest))
		out->frame = rest;
	return true;
}

/* Whether a line tells of something else than a sample, such as PERF_RECORD_COMM. */
static bool perf_is_record(struct str line)
{
	struct perf_header header;
	struct str rest;

	return perf_find_time(line, &header, &rest) &&
	       str_starts(str_trim(rest), str_of("PERF_RECORD_"));
}

bool perf_convert_is(struct str text)
{
	for (size_t i = 0; i < SNIFF_LINES && text.len; i++) {
		struct str line = str_cut(text, '\n', &text);
		struct perf_header header;

		if (line.len > LINE_MAX_BYTES)
			return false;
		line = str_trim(line);
		if (!line.len || perf_is_record(line))
			continue;
		if (perf_read_header(line, &header))
			return true;
		if (*line.ptr != '#')
			return false;
	}
	return false;
}

/* Return the number of an event; it is added if it is new. */
static int perf_event_find(struct perf_text *x, const struct perf_header *h,
			   size_t *out, struct err *err)
{
	for (*out = 0; *out < x->event_count; ++*out) {
		if (str_eq(x->events[*out].name, h->event))
			return 0;
	}
	if (x->event_count == PERF_EVENTS_MAX)
		return err_set(
			err, ERR_INVALID,
			"line %zu names the %dth different event: at most %d can be read",
			x->line, PERF_EVENTS_MAX + 1, PERF_EVENTS_MAX);
	x->events[x->event_count++] =
		(struct perf_event){ .name = h->event,
				     .first_ns = h->time_ns,
				     .last_ns = h->time_ns,
				     .has_periods = h->period >= 0 };
	return 0;
}

/* Cut "(/usr/lib/libc.so.6)" off the end of a frame; empty: there is none. */
static struct str perf_cut_module(struct str *frame)
{
	size_t at = frame->len;
	size_t depth = 0;
	struct str module = str_of("");

	if (!at || frame->ptr[at - 1] != ')')
		return module;
	do {
		at--;
		depth += frame->ptr[at] == ')';
		depth -= frame->ptr[at] == '(';
	} while (at && depth);
	if (depth)
		return module;
	module = (struct str){ frame->ptr + at + 1, frame->len - at - 2 };
	*frame = str_trim((struct str){ frame->ptr, at });
	return module;
}

/* Return a symbol without "+0x1a", the distance from its begin. */
static struct str perf_cut_offset(struct str symbol)
{
	const char *plus = memrchr(symbol.ptr, '+', symbol.len);
	size_t at = plus ? (size_t)(plus - symbol.ptr) : 0;
	struct str offset = { symbol.ptr + at, symbol.len - at };

	return plus && str_starts(offset, str_of("+0x")) ?
		       (struct str){ symbol.ptr, at } :
		       symbol;
}

/* Return the number of the function "[libc.so.6]", for code without a name. */
static uint32_t perf_unnamed(struct perf_text *x, struct str module)
{
	const char *slash = memrchr(module.ptr, '/', module.len);
	struct buf name = { 0 };
	uint32_t function;

	if (slash) {
		module.len -= (size_t)(slash + 1 - module.ptr);
		module.ptr = slash + 1;
	}
	if (!module.len || *module.ptr == '[')
		return stack_build_function(
			&x->build, module.len ? module : str_of("[unknown]"));
	buf_printf(&name, "[%.*s]", STR_ARG(module));
	function = stack_build_function(&x->build, str_from(buf_bytes(&name)));
	buf_fini(&name);
	return function;
}

/* Whether a text ends with ":12". */
static bool perf_ends_with_line(struct str text)
{
	const char *colon = memrchr(text.ptr, ':', text.len);
	size_t at = colon ? (size_t)(colon - text.ptr) + 1 : text.len;
	struct str number = { text.ptr + at, text.len - at };

	return number.len && perf_digits(number) == number.len;
}

/* Whether a text ends with "[52a4]". */
static bool perf_ends_with_offset(struct str text)
{
	const char *bracket = memrchr(text.ptr, '[', text.len);
	size_t at = bracket ? (size_t)(bracket - text.ptr) + 1 : text.len;

	while (at < text.len && digit_hex_value(text.ptr[at]) >= 0)
		at++;
	return bracket && at + 1 == text.len && text.ptr[at] == ']';
}

/*
 * Whether a line below a sample is no frame, but the place of one in a source file, which
 * perf prints behind it: "main.c:12", "main.c:5 (discriminator 3)", "shop[52a4]". A symbol
 * may end so, too: "JS:~main /app/main.js:10:3". So where frames have addresses, a line
 * with one is no place; else only the first form without a blank is.
 */
static bool perf_is_place(struct perf_text *x, struct str line)
{
	static const char more[] = " (discriminator ";
	const char *found = memmem(line.ptr, line.len, more, sizeof(more) - 1);
	bool has_address = perf_has_address(line);

	if (!x->has_frames)
		x->has_addresses = has_address;
	x->has_frames = true;
	if (has_address)
		return false;
	if (!x->has_addresses)
		return perf_ends_with_line(line) &&
		       !memchr(line.ptr, ' ', line.len);
	if (found)
		line.len = (size_t)(found - line.ptr);
	return perf_ends_with_line(line) || perf_ends_with_offset(line);
}

/*
 * Add a frame: "ffffffff81386d58 alloc_pid+0x338 ([kernel.kallsyms])", of which the address
 * may be missing.
 */
static int perf_add_frame(struct perf_text *x, struct str frame,
			  struct err *err)
{
	struct str module;

	if (perf_has_address(frame))
		(void)perf_word(&frame);
	frame = str_trim(frame);
	module = perf_cut_module(&frame);
	frame = perf_cut_offset(frame);
	if (x->frames++ == PERF_FRAMES_MAX || frame.len > PERF_NAME_MAX)
		return err_set(
			err, ERR_INVALID,
			"the sample of line %zu has more than %d frames, or a function whose name has more than %d bytes",
			x->line, PERF_FRAMES_MAX, PERF_NAME_MAX);
	stack_build_frame(&x->build,
			  !frame.len || str_is(frame, "[unknown]") ?
				  perf_unnamed(x, module) :
				  stack_build_function(&x->build, frame),
			  0);
	return 0;
}

/* Add the open sample, if there is one. */
static int perf_close_sample(struct perf_text *x, struct err *err)
{
	struct pprof_sample sample = { .labels = x->labels };
	int64_t values[STACK_VALUES_MAX] = { 1, x->period };

	if (!x->is_open)
		return 0;
	x->is_open = false;
	if (!x->frames)
		stack_build_frame(
			&x->build,
			stack_build_function(&x->build, str_of("[unknown]")),
			0);
	sample.stack = stack_build_stack(&x->build);
	if (stack_part_add(&x->events[x->event].part, sample, values))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"with the sample before line %zu, the periods of a stack add up to more than 64 bits",
		x->line);
}

/* Begin a sample. */
static int perf_open_sample(struct perf_text *x, const struct perf_header *h,
			    struct err *err)
{
	struct perf_event *event;
	int rc = perf_close_sample(x, err);

	if (!rc)
		rc = perf_event_find(x, h, &x->event, err);
	if (rc)
		return rc;
	event = &x->events[x->event];
	if (h->time_ns < event->first_ns)
		event->first_ns = h->time_ns;
	if (h->time_ns > event->last_ns)
		event->last_ns = h->time_ns;
	x->is_open = true;
	x->frames = 0;
	x->period = h->period > 0 ? h->period : 0;
	stack_build_label(&x->build, str_of("comm"), h->comm);
	if (h->pid.len)
		stack_build_label(&x->build, str_of("pid"), h->pid);
	else
		stack_build_label(&x->build, str_of("tid"), h->tid);
	x->labels = stack_build_labels(&x->build);
	return h->frame.len ? perf_add_frame(x, h->frame, err) : 0;
}

/* Take a line. */
static int perf_take_line(struct perf_text *x, struct str line, struct err *err)
{
	struct perf_header header;
	bool is_frame = line.len && (*line.ptr == '\t' || *line.ptr == ' ');
	struct str text = str_trim(line);

	if (text.len > LINE_MAX_BYTES)
		return err_set(err, ERR_INVALID,
			       "line %zu has more than %d bytes", x->line,
			       LINE_MAX_BYTES);
	if (!text.len)
		return perf_close_sample(x, err);
	if (perf_is_record(text))
		return 0;
	/* The names of threads are moved to the right, so both may be indented. */
	if (perf_read_header(text, &header))
		return perf_open_sample(x, &header, err);
	/* A thread may have such a name, too. */
	if (*text.ptr == '#')
		return 0;
	if (x->is_open && is_frame)
		return perf_is_place(x, text) ? 0 :
						perf_add_frame(x, text, err);
	return err_set(
		err, ERR_INVALID,
		"line %zu is no sample of perf script: it needs the fields comm, pid or tid, time and event, and ip and sym for the frames",
		x->line);
}

/* Take all lines. */
static int perf_take_lines(struct perf_text *x, struct str text,
			   struct err *err)
{
	int rc = 0;

	while (!rc && text.len) {
		struct str line = str_cut(text, '\n', &text);

		x->line++;
		rc = perf_take_line(x, line, err);
		convert_meter_note(&x->meter, line.len);
		if (!rc)
			rc = convert_meter_ask(&x->meter, err);
	}
	return rc ? rc : perf_close_sample(x, err);
}

/*
 * Return what is said of the profile of an event besides its samples. The clocks of a
 * CPU and of a task count nanoseconds.
 */
static struct stack_head perf_head(const struct perf_event *e)
{
	struct str modifiers;
	struct str name = str_cut(e->name, ':', &modifiers);
	bool is_clock = str_is(name, "cpu-clock") || str_is(name, "task-clock");
	const struct value_type value = { is_clock ? str_of("cpu") : e->name,
					  is_clock ? str_of("nanoseconds") :
						     str_of("count") };
	struct stack_head head = {
		.types[0] = { str_of("samples"), str_of("count") },
		.duration_ns = e->last_ns - e->first_ns,
	};

	if (!e->has_periods)
		return head;
	head.types[1] = value;
	head.period_type = value;
	return head;
}

/* Encode the profile of an event, and store it. */
static int perf_store(struct perf_text *x, const struct perf_event *e,
		      struct err *err)
{
	const struct convert_caller *c = x->caller;
	const struct stack_head head = perf_head(e);
	struct labels_builder labels = { 0 };
	struct buf out = buf_init(c->max_profile);
	bool refused;
	int rc = convert_caller_look(
		c,
		perf_memory(x) + stack_build_encoding(&x->build, &e->part,
						      c->max_profile),
		err);

	labels_set(&labels, str_of(LABEL_NAME), e->name);
	if (!rc)
		stack_build_encode(&x->build, &e->part, &head, &out);
	if (!rc && out.over)
		rc = err_set(err, ERR_TOOBIG,
			     "the profile has more than %zu bytes",
			     c->max_profile);
	if (!rc)
		rc = c->store(c->ctx, &labels, buf_bytes(&out), &refused, err);
	labels_builder_fini(&labels);
	buf_fini(&out);
	return rc;
}

int perf_convert(struct str text, const struct convert_caller *caller,
		 struct err *err)
{
	struct perf_text *x = mem_new(struct perf_text);
	int rc;

	x->caller = caller;
	x->meter = (struct convert_meter){ .look = perf_look, .ctx = x };
	stack_build_init(&x->build);
	rc = perf_take_lines(x, text, err);
	if (!rc && !x->event_count)
		rc = err_set(err, ERR_INVALID, "the text has no sample");
	for (size_t i = 0; !rc && i < x->event_count; i++)
		rc = perf_store(x, &x->events[i], err);
	for (size_t i = 0; i < x->event_count; i++)
		stack_part_fini(&x->events[i].part);
	stack_build_fini(&x->build);
	mem_free(x);
	return rc;
}
