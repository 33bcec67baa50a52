/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/convert/jfr_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

enum {
	HEADER_SIZE = 68,
	FIELDS_MAX = 12,
	POOLED = 1,
	ARRAY = 2
};

/* A class of the metadata. */
struct written_class {
	int id;
	const char *name;
	struct {
		const char *name;
		int class;
		int flags;
	} fields[FIELDS_MAX];
};

static const struct written_class classes[] = {
	{ W_BOOLEAN, "boolean", { { 0 } } },
	{ W_CHAR, "char", { { 0 } } },
	{ W_FLOAT, "float", { { 0 } } },
	{ W_DOUBLE, "double", { { 0 } } },
	{ W_BYTE, "byte", { { 0 } } },
	{ W_SHORT, "short", { { 0 } } },
	{ W_INT, "int", { { 0 } } },
	{ W_LONG, "long", { { 0 } } },
	{ W_TEXT, "java.lang.String", { { 0 } } },
	{ W_CLASS,
	  "java.lang.Class",
	  { { "name", W_SYMBOL, POOLED }, { "modifiers", W_INT, 0 } } },
	{ W_THREAD, "java.lang.Thread", { { "osName", W_TEXT, 0 } } },
	{ W_STATE, "jdk.types.ThreadState", { { "name", W_TEXT, 0 } } },
	{ W_STACK,
	  "jdk.types.StackTrace",
	  { { "truncated", W_BOOLEAN, 0 }, { "frames", W_FRAME, ARRAY } } },
	{ W_FRAME,
	  "jdk.types.StackFrame",
	  { { "method", W_METHOD, POOLED },
	    { "lineNumber", W_INT, 0 },
	    { "bytecodeIndex", W_INT, 0 } } },
	{ W_METHOD,
	  "jdk.types.Method",
	  { { "type", W_CLASS, POOLED },
	    { "name", W_SYMBOL, POOLED },
	    { "hidden", W_BOOLEAN, 0 } } },
	{ W_SYMBOL, "jdk.types.Symbol", { { "string", W_TEXT, 0 } } },
	{ W_PAIR, "Pair", { { "a", W_INT, 0 }, { "b", W_DOUBLE, 0 } } },
	{ W_EXECUTION,
	  "jdk.ExecutionSample",
	  { { "startTime", W_LONG, 0 },
	    { "sampledThread", W_THREAD, POOLED },
	    { "stackTrace", W_STACK, POOLED },
	    { "state", W_STATE, POOLED },
	    { "contextId", W_LONG, 0 },
	    { "spanId", W_LONG, 0 },
	    { "spanName", W_LONG, 0 },
	    { "traceIdHi", W_LONG, 0 },
	    { "traceIdLo", W_LONG, 0 } } },
	{ W_CPU_TIME,
	  "jdk.CPUTimeSample",
	  { { "stackTrace", W_STACK, POOLED },
	    { "failed", W_BOOLEAN, 0 },
	    { "samplingPeriod", W_LONG, 0 } } },
	{ W_WALL,
	  "profiler.WallClockSample",
	  { { "stackTrace", W_STACK, POOLED },
	    { "state", W_STATE, POOLED },
	    { "samples", W_INT, 0 } } },
	{ W_IN_TLAB,
	  "jdk.ObjectAllocationInNewTLAB",
	  { { "stackTrace", W_STACK, POOLED },
	    { "allocationSize", W_LONG, 0 },
	    { "tlabSize", W_LONG, 0 } } },
	{ W_OUTSIDE_TLAB,
	  "jdk.ObjectAllocationOutsideTLAB",
	  { { "stackTrace", W_STACK, POOLED },
	    { "allocationSize", W_LONG, 0 } } },
	{ W_ALLOCATED,
	  "jdk.ObjectAllocationSample",
	  { { "stackTrace", W_STACK, POOLED }, { "weight", W_LONG, 0 } } },
	{ W_LIVE,
	  "profiler.LiveObject",
	  { { "stackTrace", W_STACK, POOLED },
	    { "allocationSize", W_LONG, 0 } } },
	{ W_MALLOC,
	  "profiler.Malloc",
	  { { "stackTrace", W_STACK, POOLED }, { "size", W_LONG, 0 } } },
	{ W_MONITOR,
	  "jdk.JavaMonitorEnter",
	  { { "duration", W_LONG, 0 }, { "stackTrace", W_STACK, POOLED } } },
	{ W_PARK,
	  "jdk.ThreadPark",
	  { { "duration", W_LONG, 0 }, { "stackTrace", W_STACK, POOLED } } },
	{ W_NATIVE_LOCK,
	  "profiler.NativeLock",
	  { { "duration", W_LONG, 0 }, { "stackTrace", W_STACK, POOLED } } },
	{ W_SETTING,
	  "jdk.ActiveSetting",
	  { { "id", W_LONG, 0 },
	    { "name", W_TEXT, 0 },
	    { "value", W_TEXT, 0 } } },
	{ W_RECORDING, "jdk.ActiveRecording", { { "id", W_LONG, 0 } } },
	{ W_STRANGE,
	  "Strange",
	  { { "pair", W_PAIR, 0 },
	    { "pairs", W_PAIR, ARRAY },
	    { "texts", W_TEXT, ARRAY },
	    { "f", W_FLOAT, 0 } } },
};

void jfr_writer_number(struct buf *b, uint64_t n)
{
	for (int i = 0; i < 8; i++) {
		if (n < 0x80) {
			buf_byte(b, (uint8_t)n);
			return;
		}
		buf_byte(b, (uint8_t)(n | 0x80));
		n >>= 7;
	}
	buf_byte(b, (uint8_t)n);
}

void jfr_writer_text(struct buf *b, const char *text)
{
	buf_byte(b, 3);
	jfr_writer_number(b, strlen(text));
	buf_str(b, text);
}

/* Append a number of eight bytes, the highest first. */
static void put_fixed(struct buf *b, uint64_t n)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		buf_byte(b, (uint8_t)(n >> shift));
}

void jfr_writer_begin(struct jfr_writer *w, int64_t start_ns,
		      int64_t duration_ns, uint64_t ticks_per_second)
{
	static const uint8_t magic[] = { 'F', 'L', 'R', 0, 0, 2, 0, 1 };

	w->chunk = w->out.len;
	w->constants = 0;
	buf_add(&w->out, magic, sizeof(magic));
	for (int i = 0; i < 3; i++) /* size, constants, metadata */
		put_fixed(&w->out, 0);
	put_fixed(&w->out, (uint64_t)start_ns);
	put_fixed(&w->out, (uint64_t)duration_ns);
	put_fixed(&w->out, 0);
	put_fixed(&w->out, ticks_per_second);
	buf_add(&w->out, "\0\0\0\1", 4);
}

/* Write the event of the fields: its size, in four bytes as Java does, and they. */
static void put_event(struct jfr_writer *w)
{
	size_t size = w->fields.len + 4;

	w->event = w->out.len;
	for (int i = 0; i < 4; i++, size >>= 7)
		buf_byte(&w->out,
			 (uint8_t)((size & 0x7f) | (i < 3 ? 0x80 : 0)));
	buf_add(&w->out, w->fields.ptr, w->fields.len);
	buf_reset(&w->fields);
}

/* Put a number before the fields. */
static void prepend_number(struct buf *b, uint64_t n)
{
	struct buf all = { 0 };

	jfr_writer_number(&all, n);
	buf_add(&all, b->ptr, b->len);
	buf_fini(b);
	*b = all;
}

void jfr_writer_event(struct jfr_writer *w, uint64_t class)
{
	prepend_number(&w->fields, class);
	put_event(w);
}

void jfr_writer_constants(struct jfr_writer *w, uint64_t class, uint64_t count)
{
	struct buf all = { 0 };
	size_t at = w->out.len - w->chunk;

	jfr_writer_number(&all, 1); /* the type of the event */
	jfr_writer_number(&all, 0);
	jfr_writer_number(&all, 0);
	jfr_writer_number(&all, w->constants ? w->constants - at : 0);
	buf_byte(&all, 0);
	jfr_writer_number(&all, 1);
	jfr_writer_number(&all, class);
	jfr_writer_number(&all, count);
	buf_add(&all, w->fields.ptr, w->fields.len);
	buf_fini(&w->fields);
	w->fields = all;
	put_event(w);
	w->constants = at;
}

/* Add a text to the metadata, and return its number. */
static uint64_t add_text(struct buf *texts, uint64_t *count, const char *text)
{
	jfr_writer_text(texts, text);
	return (*count)++;
}

/* The metadata: texts, and elements that refer to them. */
struct metadata {
	struct buf texts;
	struct buf elements;
	uint64_t count;
};

/* Write the name of an element, and the number of its attributes. */
static void put_element(struct metadata *m, const char *name,
			uint64_t attributes)
{
	jfr_writer_number(&m->elements, add_text(&m->texts, &m->count, name));
	jfr_writer_number(&m->elements, attributes);
}

static void put_attribute(struct metadata *m, const char *key,
			  const char *value)
{
	jfr_writer_number(&m->elements, add_text(&m->texts, &m->count, key));
	jfr_writer_number(&m->elements, add_text(&m->texts, &m->count, value));
}

static void put_class(struct metadata *m, const struct written_class *c)
{
	char number[16];
	uint64_t fields = 0;

	while (fields < FIELDS_MAX && c->fields[fields].name)
		fields++;
	snprintf(number, sizeof(number), "%d", c->id);
	put_element(m, "class", 2);
	put_attribute(m, "name", c->name);
	put_attribute(m, "id", number);
	jfr_writer_number(&m->elements, fields);
	for (uint64_t i = 0; i < fields; i++) {
		snprintf(number, sizeof(number), "%d", c->fields[i].class);
		put_element(m, "field", c->fields[i].flags ? 3 : 2);
		put_attribute(m, "name", c->fields[i].name);
		put_attribute(m, "class", number);
		if (c->fields[i].flags == POOLED)
			put_attribute(m, "constantPool", "true");
		else if (c->fields[i].flags == ARRAY)
			put_attribute(m, "dimension", "1");
		jfr_writer_number(&m->elements, 0);
	}
}

/* Set a number of eight bytes of the header. */
static void patch(struct jfr_writer *w, size_t at, uint64_t n)
{
	struct buf b = { 0 };

	put_fixed(&b, n);
	memcpy(w->out.ptr + w->chunk + at, b.ptr, b.len);
	buf_fini(&b);
}

void jfr_writer_end(struct jfr_writer *w)
{
	struct metadata m = { .count = 0 };
	size_t at = w->out.len - w->chunk;

	put_element(&m, "root", 0);
	jfr_writer_number(&m.elements, 1);
	put_element(&m, "metadata", 0);
	jfr_writer_number(&m.elements, ARRAY_SIZE(classes));
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		put_class(&m, &classes[i]);
	for (int i = 0; i < 4; i++) /* type, time, duration, ID */
		jfr_writer_number(&w->fields, 0);
	jfr_writer_number(&w->fields, m.count);
	buf_add(&w->fields, m.texts.ptr, m.texts.len);
	buf_add(&w->fields, m.elements.ptr, m.elements.len);
	put_event(w);
	patch(w, 8, w->out.len - w->chunk);
	patch(w, 16, w->constants);
	patch(w, 24, at);
	buf_fini(&m.texts);
	buf_fini(&m.elements);
}

/* Write constants whose fields are numbers, keys included. */
#define put_constants(w, class, count, ...)                            \
	do {                                                           \
		const uint64_t numbers_[] = { __VA_ARGS__ };           \
                                                                       \
		for (size_t i_ = 0; i_ < ARRAY_SIZE(numbers_); i_++)   \
			jfr_writer_number(&(w)->fields, numbers_[i_]); \
		jfr_writer_constants(w, class, count);                 \
	} while (0)

void jfr_writer_usual(struct jfr_writer *w)
{
	static const char *const symbols[] = { "Shop", "sell", "pay",
					       "libc.so.6", "malloc" };

	for (uint64_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		jfr_writer_number(&w->fields, i + 1);
		jfr_writer_text(&w->fields, symbols[i]);
	}
	jfr_writer_constants(w, W_SYMBOL, ARRAY_SIZE(symbols));
	put_constants(w, W_CLASS, 2, 1, 1, 0, 2, 4, 0);
	put_constants(w, W_METHOD, 3, 1, 1, 2, 0, 2, 1, 3, 0, 3, 2, 5, 0);
	put_constants(w, W_STACK, 2, 1, 0, 3, 1, 10, 0, 2, 20, 0, 3, 0, 0,
		      (uint64_t)-2, 0, 1, 2, 20, 0);
	jfr_writer_number(&w->fields, 1);
	jfr_writer_text(&w->fields, "STATE_RUNNABLE");
	jfr_writer_number(&w->fields, 2);
	jfr_writer_text(&w->fields, "STATE_SLEEPING");
	jfr_writer_constants(w, W_STATE, 2);
}

void jfr_writer_setting(struct jfr_writer *w, uint64_t class, const char *name,
			const char *value)
{
	jfr_writer_number(&w->fields, class);
	jfr_writer_text(&w->fields, name);
	jfr_writer_text(&w->fields, value);
	jfr_writer_event(w, W_SETTING);
}

void jfr_writer_fini(struct jfr_writer *w)
{
	buf_fini(&w->out);
	buf_fini(&w->fields);
}
