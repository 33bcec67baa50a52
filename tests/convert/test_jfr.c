/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of JFR become profiles of pprof. */
#include "convert/jfr/jfr_convert.h"
#include "convert/jfr/jfr_reader.h"

#include "base/wire_write.h"
#include "pprof/proto/decode.h"
#include "tests/check.h"
#include "tests/convert/jfr_writer.h"

#define START    1795995000000000000
#define SECOND   1000000000
#define PERIOD   10000000
#define MEMORY   ((size_t)4 << 20)
#define NOT_HERE 77

/* The profiles that came, as text, one after another. */
struct caught {
	struct buf text;
	size_t max_memory;
	bool has_time;
};

static int take(void *ctx UNUSED, size_t bytes UNUSED, struct err *err UNUSED)
{
	return 0;
}

static int check(void *ctx, struct err *err)
{
	struct caught *c = ctx;

	return c->has_time ? 0 : err_set(err, ERR_TIMEOUT, "no time is left");
}

/* Write a label set as {key=value,…}, if it has labels. */
static void write_labels(struct buf *out, const struct pprof *p,
			 struct pprof_run set)
{
	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];
		struct str key = pprof_str(p, l->key);
		struct str value = pprof_str(p, l->str);

		buf_printf(out, "%c%.*s=%.*s", i ? ',' : '{', STR_ARG(key),
			   STR_ARG(value));
	}
	if (set.count)
		buf_byte(out, '}');
}

/* Write a stack, the innermost function first. */
static void write_stack(struct buf *out, const struct pprof *p,
			const struct pprof_run *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[stack->first + i]];
		const struct pprof_line *line = &p->lines.v[l->lines.first];
		struct str name =
			pprof_str(p, p->functions.v[line->function].name);

		buf_printf(out, "%s%.*s", i ? ";" : "", STR_ARG(name));
		if (line->line)
			buf_printf(out, ":%lld", (long long)line->line);
	}
}

/* Write a profile as "name[part] type/unit… period=…", and a line for each sample. */
static void write_profile(struct buf *out, const struct labels_builder *labels,
			  const struct pprof *p)
{
	struct str name = labels_builder_get(labels, str_of(LABEL_NAME));
	struct str part = labels_builder_get(labels, str_of(LABEL_PART));
	struct str event = labels_builder_get(labels, str_of("jfr_event"));

	buf_printf(out, "%.*s[%.*s]", STR_ARG(name), STR_ARG(part));
	if (event.len)
		buf_printf(out, " event=%.*s", STR_ARG(event));
	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(out, " %.*s/%.*s",
			   STR_ARG(pprof_str(p, p->types.v[i].type)),
			   STR_ARG(pprof_str(p, p->types.v[i].unit)));
	buf_printf(out, " period=%.*s/%.*s/%lld\n",
		   STR_ARG(pprof_str(p, p->period_type.type)),
		   STR_ARG(pprof_str(p, p->period_type.unit)),
		   (long long)p->period);
	for (size_t i = 0; i < p->samples.count; i++) {
		write_stack(out, p, pprof_stack(p, i));
		write_labels(out, p, p->label_sets.v[p->samples.v[i].labels]);
		for (size_t k = 0; k < p->types.count; k++)
			buf_printf(out, " %lld",
				   (long long)pprof_values(p, i)[k]);
		buf_byte(out, '\n');
	}
}

static int store(void *ctx, const struct labels_builder *labels,
		 struct bytes profile, bool *refused, struct err *err)
{
	struct caught *c = ctx;
	struct decoder *d = decoder_new(MEMORY);
	struct pprof *p;
	int rc = decoder_run(d, profile, &p, err);

	cr_expect(!rc, "%s", err->msg);
	*refused = false;
	if (!rc)
		write_profile(&c->text, labels, p);
	if (!rc && c->text.len && p->time_ns != START)
		buf_printf(&c->text, "time=%lld\n", (long long)p->time_ns);
	decoder_free(d);
	return 0;
}

/* Convert a recording; the text is what came out. */
static int convert_with(struct bytes recording, const struct jfr_options *o,
			struct caught *c, struct jfr_result *result,
			struct err *err)
{
	struct jfr_options all = *o;
	struct labels_builder none = { 0 };

	all.caller = (struct convert_caller){ .ctx = c,
					      .max_profile = MEMORY,
					      .max_memory = c->max_memory,
					      .take = take,
					      .check = check,
					      .store = store };
	all.labels = &none;
	err->msg[0] = 0;
	return jfr_convert(recording, &all, result, err);
}

/* Convert a recording without an error, and compare what comes out. */
static void expect_text(struct jfr_writer *w, const struct jfr_options *o,
			const char *want)
{
	struct caught c = { .max_memory = MEMORY, .has_time = true };
	struct jfr_result result;
	struct err err;
	int rc = convert_with(buf_bytes(&w->out), o, &c, &result, &err);

	cr_expect(!rc, "%s", err.msg);
	cr_expect(check_str(str_from(buf_bytes(&c.text)), want));
	buf_fini(&c.text);
	jfr_writer_fini(w);
}

/* Convert a recording, and compare its error, or what is wrong with its end. */
static void expect_error(struct jfr_writer *w, int code, const char *part)
{
	static const struct jfr_options o = { .time_ns = START };
	struct caught c = { .max_memory = MEMORY, .has_time = true };
	struct jfr_result result;
	struct err err;
	int rc = convert_with(buf_bytes(&w->out), &o, &c, &result, &err);

	if (!rc && result.is_cut) {
		rc = ERR_INVALID;
		err = result.why;
	}
	cr_expect(rc == code, "%s: %s", err_name(rc), err.msg);
	cr_expect(strstr(err.msg, part), "%s", err.msg);
	buf_fini(&c.text);
	jfr_writer_fini(w);
}

static const struct jfr_options usual = { .time_ns = START,
					  .period_ns = PERIOD };

/* Begin a recording with the usual constants. */
static void begin(struct jfr_writer *w)
{
	*w = (struct jfr_writer){ .chunk = 0 };
	jfr_writer_begin(w, START, SECOND, SECOND);
	jfr_writer_usual(w);
}

/* Write a sample of a thread. */
static void sample(struct jfr_writer *w, uint64_t stack, uint64_t state)
{
	jfr_writer_numbers(w, W_EXECUTION, 1, 1, stack, state, 0, 0, 0, 0, 0);
}

Test(jfr, each_kind_of_event_becomes_its_profile)
{
	struct jfr_writer w;

	begin(&w);
	sample(&w, 1, 1);
	sample(&w, (uint64_t)-2, 1);
	sample(&w, 1, 1);
	jfr_writer_numbers(&w, W_WALL, 1, 2, 3);
	jfr_writer_numbers(&w, W_IN_TLAB, 1, 16, 4096);
	jfr_writer_numbers(&w, W_IN_TLAB, 1, 16, 4096);
	jfr_writer_numbers(&w, W_OUTSIDE_TLAB, 1, 5000);
	jfr_writer_numbers(&w, W_ALLOCATED, 1, 70000);
	jfr_writer_numbers(&w, W_LIVE, 1, 16);
	jfr_writer_numbers(&w, W_MALLOC, 1, 300);
	jfr_writer_numbers(&w, W_MONITOR, 1500, 1);
	jfr_writer_numbers(&w, W_NATIVE_LOCK, 500, 1);
	jfr_writer_numbers(&w, W_PARK, 2500, 1);
	jfr_writer_end(&w);
#define STACK "Shop.sell:10;Shop.pay:20;libc.so.6.malloc"
	expect_text(
		&w, &usual,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\n" STACK
		" 20000000\nShop.pay:20 10000000\n"
		"wall[] wall/nanoseconds period=wall/nanoseconds/50000000\n" STACK
		" 150000000\n"
		"memory[alloc_in_new_tlab] alloc_in_new_tlab_objects/count alloc_in_new_tlab_bytes/bytes period=space/bytes/0\n" STACK
		" 2 8192\n"
		"memory[alloc_outside_tlab] alloc_outside_tlab_objects/count alloc_outside_tlab_bytes/bytes period=space/bytes/0\n" STACK
		" 1 5000\n"
		"memory[alloc_sample] alloc_sample_objects/count alloc_sample_bytes/bytes period=space/bytes/0\n" STACK
		" 1 70000\n"
		"memory[live] live/count period=objects/count/0\n" STACK " 1\n"
		"memory[malloc] malloc_objects/count malloc_bytes/bytes period=//0\n" STACK
		" 1 300\n"
		"mutex[] contentions/count delay/nanoseconds period=mutex/count/0\n" STACK
		" 2 2000\n"
		"block[] contentions/count delay/nanoseconds period=block/count/0\n" STACK
		" 1 2500\n");
}

Test(jfr, a_tick_is_as_long_as_the_chunk_says)
{
	struct jfr_writer w = { .chunk = 0 };

	jfr_writer_begin(&w, START, SECOND, (uint64_t)4 * SECOND);
	jfr_writer_usual(&w);
	jfr_writer_numbers(&w, W_PARK, 4000, (uint64_t)-2);
	/* More than 64 bits before the division. */
	jfr_writer_numbers(&w, W_PARK, (uint64_t)1 << 62, (uint64_t)-2);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"block[] contentions/count delay/nanoseconds period=block/count/0\n"
		"Shop.pay:20 2 1152921504606847976\n");
}

Test(jfr, sleeping_threads_use_no_cpu_and_all_threads_use_wall_time)
{
	struct jfr_writer w;

	begin(&w);
	/* The setting counts for all events of its chunk. */
	sample(&w, 1, 2);
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_setting(&w, W_RECORDING, "event", "wall");
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] event=wall cpu/nanoseconds period=cpu/nanoseconds/10000000\n"
		"Shop.pay:20 10000000\n"
		"wall[] event=wall wall/nanoseconds period=wall/nanoseconds/10000000\n" STACK
		" 10000000\nShop.pay:20 10000000\n");
}

Test(jfr, the_interval_is_that_of_the_request_or_else_of_the_recording)
{
	static const struct {
		uint64_t class;
		const char *name;
		const char *value;
		int64_t period_ns;
		const char *want;
	} cases[] = {
		{ W_EXECUTION, "interval", "5000000", 0, "5000000" },
		{ W_EXECUTION, "interval", "5000000", 20000000, "20000000" },
		/* Zero is the usual interval. */
		{ W_EXECUTION, "interval", "0", 0, "10000000" },
		{ W_EXECUTION, "period", "20 ms", 0, "20000000" },
		{ W_EXECUTION, "period", "1 s", 0, "1000000000" },
		{ W_EXECUTION, "period", "everyChunk", 0, "10000000" },
		/* The period of another event. */
		{ W_PARK, "period", "20 ms", 0, "10000000" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct jfr_options o = {
			.time_ns = START, .period_ns = cases[i].period_ns
		};
		struct jfr_writer w;
		struct buf want = { 0 };

		begin(&w);
		jfr_writer_setting(&w, cases[i].class, cases[i].name,
				   cases[i].value);
		sample(&w, (uint64_t)-2, 1);
		jfr_writer_end(&w);
		buf_printf(
			&want,
			"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/%s\nShop.pay:20 %s\n",
			cases[i].want, cases[i].want);
		expect_text(&w, &o, buf_cstr(&want));
		buf_fini(&want);
	}
}

Test(jfr, exact_cpu_time_takes_the_place_of_samples)
{
	struct jfr_writer w;

	begin(&w);
	sample(&w, 1, 1);
	jfr_writer_numbers(&w, W_CPU_TIME, (uint64_t)-2, 0, 7000);
	/* Java could not walk the stack, but the time was used. */
	jfr_writer_numbers(&w, W_CPU_TIME, 0, 1, 3000);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\n"
		"Shop.pay:20 7000\n[unknown] 3000\n");
}

Test(jfr, what_a_constant_lacks_is_unknown)
{
	struct jfr_writer w;

	begin(&w);
	sample(&w, NOT_HERE, 1);
	/* A stack with a method that is not there, and one that is. */
	jfr_writer_number(&w.fields, 5);
	jfr_writer_number(&w.fields, 0);
	jfr_writer_number(&w.fields, 2);
	for (uint64_t method = NOT_HERE; method; method = method == 1 ? 0 : 1) {
		jfr_writer_number(&w.fields, method);
		jfr_writer_number(&w.fields, 0);
		jfr_writer_number(&w.fields, 0);
	}
	jfr_writer_constants(&w, W_STACK, 1);
	sample(&w, 5, NOT_HERE);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\n"
		"[unknown] 10000000\n[unknown];Shop.sell 10000000\n");
}

/* Write a map's entry whose key and value are numbers. */
static void put_pair(struct buf *b, uint64_t key, uint64_t value)
{
	wire_write_number(b, 1, key);
	wire_write_number(b, 2, value);
}

Test(jfr, labels_of_threads_and_spans_become_labels_of_samples)
{
	struct jfr_options o = usual;
	struct buf pair = { 0 };
	struct buf context = { 0 };
	struct buf entry = { 0 };
	struct buf snapshot = { 0 };
	static const char *const texts[] = { "customer", "big", "checkout" };
	struct jfr_writer w;

	put_pair(&pair, 1, 2);
	wire_write_bytes(&context, 1, buf_bytes(&pair));
	wire_write_number(&entry, 1, 900);
	wire_write_bytes(&entry, 2, buf_bytes(&context));
	wire_write_bytes(&snapshot, 1, buf_bytes(&entry));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		buf_reset(&entry);
		wire_write_number(&entry, 1, i + 1);
		wire_write_bytes(&entry, 2, bytes_of(str_of(texts[i])));
		wire_write_bytes(&snapshot, 2, buf_bytes(&entry));
	}
	o.snapshot = buf_bytes(&snapshot);
	begin(&w);
	jfr_writer_numbers(&w, W_EXECUTION, 1, 1, (uint64_t)-2, 1, 900, 0xabc,
			   3, 1, 2);
	jfr_writer_numbers(&w, W_EXECUTION, 1, 1, (uint64_t)-2, 1, 900, 0, 0, 0,
			   0);
	jfr_writer_numbers(&w, W_EXECUTION, 1, 1, (uint64_t)-2, 1, 901, 0, 0, 0,
			   0);
	jfr_writer_end(&w);
	expect_text(
		&w, &o,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\n"
		"Shop.pay:20{customer=big,profile_id=0000000000000abc,span_name=checkout,trace_id=00000000000000010000000000000002} 10000000\n"
		"Shop.pay:20{customer=big} 10000000\nShop.pay:20 10000000\n");
	buf_fini(&pair);
	buf_fini(&context);
	buf_fini(&entry);
	buf_fini(&snapshot);
}

Test(jfr, names_that_are_made_at_run_time_lose_their_numbers)
{
	static const struct {
		const char *name;
		const char *want;
	} cases[] = {
		{ "Shop$$Lambda$669.0x0000000800fd7318", "Shop$$Lambda_" },
		{ "Shop$$Lambda.0x00007ffa600c4da0", "Shop$$Lambda_" },
		{ "Shop$$Lambda$88+0x00007f51f8007a08/1790421142",
		  "Shop$$Lambda_" },
		{ "Shop$$Lambda$14/0x1", "Shop$$Lambda_" },
		{ "Shop$$LambdaForm", "Shop$$LambdaForm" },
		{ "jdk/internal/reflect/GeneratedMethodAccessor31",
		  "jdk/internal/reflect/GeneratedMethodAccessor_" },
		{ "/tmp/libzstd-jni-1.5.1-16931311898282279136.so (deleted)",
		  "libzstd-jni-_.so" },
		{ "./tmp/libamazonCorrettoCryptoProvider109b39cf33c563eb.so",
		  "libamazonCorrettoCryptoProvider_.so" },
		{ "libasyncProfiler-linux-x64-17b9a1d8156277a98ccc871afa9a8f69215f92.so",
		  "libasyncProfiler-_.so" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jfr_writer w = { .chunk = 0 };
		struct buf want = { 0 };

		jfr_writer_begin(&w, START, SECOND, SECOND);
		/* Before the usual ones, which are read first and count. */
		jfr_writer_number(&w.fields, 8);
		jfr_writer_text(&w.fields, cases[i].name);
		jfr_writer_constants(&w, W_SYMBOL, 1);
		jfr_writer_usual(&w);
		for (int k = 0; k < 3; k++) /* class 9 has symbol 8 */
			jfr_writer_number(&w.fields, k == 0 ? 9 :
						     k == 1 ? 8 :
							      0);
		jfr_writer_constants(&w, W_CLASS, 1);
		for (int k = 0; k < 4; k++) /* method 9: of class 9, "pay" */
			jfr_writer_number(&w.fields, k < 2  ? 9 :
						     k == 2 ? 3 :
							      0);
		jfr_writer_constants(&w, W_METHOD, 1);
		for (int k = 0; k < 6; k++) /* stack 9: method 9 */
			jfr_writer_number(&w.fields,
					  k == 0 || k == 3 ? 9 : k == 2);
		jfr_writer_constants(&w, W_STACK, 1);
		sample(&w, 9, 1);
		jfr_writer_end(&w);
		buf_printf(
			&want,
			"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\n%s.pay 10000000\n",
			cases[i].want);
		expect_text(&w, &usual, buf_cstr(&want));
		buf_fini(&want);
	}
}

Test(jfr, texts_have_five_forms)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
		const char *want;
	} cases[] = {
		{ { 3, 2, 0xc3, 0xa4 }, 4, "\xc3\xa4" },
		{ { 5, 1, 0xe4 }, 3, "\xc3\xa4" },
		{ { 4, 1, 0xe4, 0x01 }, 4, "\xc3\xa4" },
		/* A surrogate pair, and half of one. */
		{ { 4, 2, 0xbd, 0xb0, 0x03, 0x80, 0xb8, 0x03 },
		  8,
		  "\xf0\x9f\x90\x80" },
		{ { 4, 2, 0xbd, 0xb0, 0x03, 'a' }, 6, "?a" },
		{ { 2, 1 }, 2, "a constant" },
		{ { 2, 99 }, 2, "" },
		{ { 1 }, 1, "" },
		{ { 0 }, 1, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jfr_writer w;
		struct buf want = { 0 };

		begin(&w);
		jfr_writer_number(&w.fields, 1);
		jfr_writer_text(&w.fields, "a constant");
		jfr_writer_constants(&w, W_TEXT, 1);
		sample(&w, (uint64_t)-2, 1);
		jfr_writer_number(&w.fields, W_RECORDING);
		jfr_writer_text(&w.fields, "event");
		buf_add(&w.fields, cases[i].bytes, cases[i].len);
		jfr_writer_event(&w, W_SETTING);
		jfr_writer_end(&w);
		/* The event of async-profiler is shown, and is no time. */
		if (*cases[i].want)
			buf_printf(
				&want,
				"events[] event=%s events/count period=events/count/0\nShop.pay:20 1\n",
				cases[i].want);
		else
			buf_str(&want,
				"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 10000000\n");
		expect_text(&w, &usual, buf_cstr(&want));
		buf_fini(&want);
	}
}

Test(jfr, events_and_fields_of_no_interest_are_skipped)
{
	struct jfr_writer w;

	begin(&w);
	/* An object, an array of two objects, an array of a text, and a float. */
	buf_add(&w.fields, "\5\0\0\0\0\0\0\0\0\2\1\0\0\0\0\0\0\0\0", 19);
	buf_add(&w.fields, "\1\0\0\0\0\0\0\0\0\1\3\1x\0\0\0\0", 17);
	jfr_writer_event(&w, W_STRANGE);
	jfr_writer_event(&w, NOT_HERE);
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 10000000\n");
}

/* Write a recording of two chunks. */
static void two_chunks(struct jfr_writer *w)
{
	*w = (struct jfr_writer){ .chunk = 0 };
	for (int i = 0; i < 2; i++) {
		jfr_writer_begin(w, START + i * (int64_t)SECOND, SECOND,
				 SECOND);
		jfr_writer_usual(w);
		sample(w, (uint64_t)-2, 1);
		jfr_writer_end(w);
	}
}

Test(jfr, chunks_are_added)
{
	struct jfr_writer w;

	two_chunks(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 20000000\n");
}

Test(jfr, the_time_is_that_of_the_request_or_else_of_the_first_chunk)
{
	const struct jfr_options none = { .period_ns = PERIOD };
	const struct jfr_options later = { .period_ns = PERIOD,
					   .time_ns = START + 1 };
	struct jfr_writer w;

	two_chunks(&w);
	expect_text(
		&w, &none,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 20000000\n");
	two_chunks(&w);
	expect_text(
		&w, &later,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 20000000\ntime=1795995000000000001\n");
}

/*
 * A recording is cut at each byte. Without its first chunk, nothing is there; what is
 * cut behind it is told, and the first chunk counts.
 */
Test(jfr, what_is_cut_off_is_told)
{
	struct jfr_writer w;
	size_t half;

	two_chunks(&w);
	half = w.out.len / 2;
	for (size_t len = 0; len <= w.out.len; len++) {
		struct caught c = { .max_memory = MEMORY, .has_time = true };
		struct jfr_result result;
		struct err err;
		struct bytes cut = { w.out.ptr, len };
		int rc = convert_with(cut, &usual, &c, &result, &err);

		cr_expect((rc != 0) == (len < half), "%zu: %s", len, err.msg);
		if (len >= half)
			cr_expect(c.text.len &&
					  result.is_cut == (len > half &&
							    len < w.out.len),
				  "%zu", len);
		buf_fini(&c.text);
	}
	jfr_writer_fini(&w);
}

/* Each byte is changed, in turn: nothing but an error or other numbers may happen. */
Test(jfr, damaged_recordings_are_refused_or_read)
{
	static const uint8_t changes[] = { 0x01, 0x80, 0xff };
	struct jfr_writer w;

	begin(&w);
	sample(&w, 1, 1);
	jfr_writer_setting(&w, W_RECORDING, "event", "itimer");
	jfr_writer_end(&w);
	for (size_t i = 0; i < w.out.len; i++) {
		struct caught c = { .max_memory = MEMORY, .has_time = true };
		uint8_t *byte = &w.out.ptr[i];
		uint8_t change = changes[i % ARRAY_SIZE(changes)];
		struct jfr_result result;
		struct err err;
		int rc;

		*byte ^= change;
		rc = convert_with(buf_bytes(&w.out), &usual, &c, &result, &err);
		*byte ^= change;
		cr_expect(!rc || *err.msg);
		buf_fini(&c.text);
	}
	jfr_writer_fini(&w);
}

Test(jfr, what_is_no_recording_is_refused)
{
	struct jfr_writer w = { .chunk = 0 };

	buf_str(&w.out, "main;work 12\n");
	expect_error(&w, ERR_INVALID, "does not begin with \"FLR\"");
	begin(&w);
	jfr_writer_end(&w);
	w.out.ptr[5] = 1;
	expect_error(&w, ERR_MEDIA, "version 1.1");
	begin(&w);
	jfr_writer_end(&w);
	w.out.ptr[67] = 0;
	expect_error(&w, ERR_MEDIA, "fixed length");
	begin(&w);
	expect_error(&w, ERR_INVALID, "not complete yet");
}

Test(jfr, an_array_has_no_more_elements_than_bytes)
{
	struct jfr_writer w;

	begin(&w);
	jfr_writer_number(&w.fields, 5);
	jfr_writer_number(&w.fields, 0);
	jfr_writer_number(&w.fields, (uint64_t)1 << 60);
	jfr_writer_constants(&w, W_STACK, 1);
	jfr_writer_end(&w);
	expect_error(&w, ERR_INVALID, "constants of the recording");
	begin(&w);
	jfr_writer_constants(&w, W_STACK, (uint64_t)1 << 60);
	jfr_writer_end(&w);
	expect_error(&w, ERR_INVALID, "constants of the recording");
}

Test(jfr, memory_and_time_are_limited)
{
	struct caught c = { .max_memory = 100, .has_time = true };
	struct jfr_result result;
	struct jfr_writer w;
	struct err err;
	int rc;

	begin(&w);
	for (int i = 0; i < 10000; i++)
		sample(&w, 1, 1);
	jfr_writer_end(&w);
	rc = convert_with(buf_bytes(&w.out), &usual, &c, &result, &err);
	cr_expect(rc == ERR_TOOBIG, "%s", err.msg);
	c.max_memory = MEMORY;
	c.has_time = false;
	rc = convert_with(buf_bytes(&w.out), &usual, &c, &result, &err);
	cr_expect(rc == ERR_TIMEOUT, "%s", err.msg);
	buf_fini(&c.text);
	jfr_writer_fini(&w);
}

/* Begin a chunk behind another one. */
static void begin_next(struct jfr_writer *w, int64_t start_ns)
{
	jfr_writer_begin(w, start_ns, SECOND, SECOND);
	jfr_writer_usual(w);
}

Test(jfr, settings_are_those_of_the_chunk_if_it_has_some)
{
	const struct jfr_options o = { .time_ns = START };
	struct jfr_writer w;

	begin(&w);
	jfr_writer_setting(&w, W_EXECUTION, "interval", "5000000");
	sample(&w, 1, 1);
	jfr_writer_end(&w);
	/* As async-profiler goes on in a new chunk. */
	begin_next(&w, START);
	sample(&w, 1, 1);
	jfr_writer_end(&w);
	/* Another recording behind it. */
	begin_next(&w, START);
	jfr_writer_setting(&w, W_EXECUTION, "period", "20 ms");
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_end(&w);
	expect_text(
		&w, &o,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/20000000\n" STACK
		" 10000000\nShop.pay:20 20000000\n");
}

Test(jfr, settings_of_other_events_mean_nothing)
{
	const struct jfr_options o = { .time_ns = START };
	struct jfr_writer w;

	begin(&w);
	jfr_writer_setting(&w, W_STRANGE, "interval", "1 s");
	jfr_writer_setting(&w, W_STRANGE, "event", "wall");
	jfr_writer_setting(&w, NOT_HERE, "wall", "1 s");
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_end(&w);
	expect_text(
		&w, &o,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 10000000\n");
}

Test(jfr, the_rate_of_an_agent_is_not_that_of_its_wall_samples)
{
	struct jfr_writer w;

	begin(&w);
	jfr_writer_setting(&w, W_RECORDING, "event", "itimer");
	jfr_writer_setting(&w, W_EXECUTION, "wall", "100000000");
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_numbers(&w, W_WALL, (uint64_t)-2, 1, 3);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"process_cpu[] event=itimer cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.pay:20 10000000\n"
		"wall[] event=itimer wall/nanoseconds period=wall/nanoseconds/100000000\nShop.pay:20 300000000\n");
}

Test(jfr, events_that_are_no_time_are_counted)
{
	struct jfr_writer w;

	begin(&w);
	jfr_writer_setting(&w, W_RECORDING, "event", "cache-misses");
	jfr_writer_setting(&w, W_EXECUTION, "interval", "1000");
	sample(&w, (uint64_t)-2, 1);
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_end(&w);
	expect_text(
		&w, &usual,
		"events[] event=cache-misses events/count period=events/count/0\nShop.pay:20 2000\n");
}

Test(jfr, what_comes_before_a_bad_chunk_counts)
{
	static const char *const ends[] = { "\0\0\0\0", "more",
					    "FLR\0\0\1\0\0" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct caught c = { .max_memory = MEMORY, .has_time = true };
		struct jfr_result result;
		struct jfr_writer w;
		struct err err;
		int rc;

		begin(&w);
		sample(&w, (uint64_t)-2, 1);
		jfr_writer_end(&w);
		buf_add(&w.out, ends[i], i == 2 ? 8 : 4);
		rc = convert_with(buf_bytes(&w.out), &usual, &c, &result, &err);
		cr_expect(!rc && result.is_cut && result.profiles == 1, "%s",
			  err.msg);
		cr_expect(strstr(result.why.msg, "chunk 2 of the recording"),
			  "%s", result.why.msg);
		buf_fini(&c.text);
		jfr_writer_fini(&w);
	}
}

Test(jfr, values_that_do_not_fit_are_refused)
{
	struct jfr_writer w;

	begin(&w);
	for (int i = 0; i < 3; i++)
		jfr_writer_numbers(&w, W_MALLOC, 1, (uint64_t)INT64_MAX);
	jfr_writer_end(&w);
	expect_error(&w, ERR_INVALID, "more than 64 bits");
	begin(&w);
	jfr_writer_numbers(&w, W_WALL, 1, 1, (uint64_t)INT64_MAX);
	jfr_writer_end(&w);
	expect_error(&w, ERR_INVALID, "more than 64 bits");
}

/* How often a conversion asked whether there is time left. */
struct asking {
	struct caught caught;
	size_t asked;
};

static int count_asked(void *ctx, struct err *err UNUSED)
{
	((struct asking *)ctx)->asked++;
	return 0;
}

/*
 * A few bytes name a long text many times. Each time is work that the deadline must be
 * able to end, so the conversion asks at least once for each 64 times 4 096 bytes.
 */
Test(jfr, long_texts_that_many_events_name_are_metered)
{
	struct labels_builder none = { 0 };
	struct asking asking = { .asked = 0 };
	struct jfr_options o = { .time_ns = START };
	struct jfr_result result;
	struct buf name = { 0 };
	struct jfr_writer w;
	struct err err;

	o.caller = (struct convert_caller){ .ctx = &asking,
					    .max_profile = MEMORY,
					    .max_memory = MEMORY,
					    .take = take,
					    .check = count_asked,
					    .store = store };
	o.labels = &none;
	for (int i = 0; i < 100000; i++)
		buf_byte(&name, 'x');
	begin(&w);
	jfr_writer_number(&w.fields, 1);
	jfr_writer_text(&w.fields, buf_cstr(&name));
	jfr_writer_constants(&w, W_TEXT, 1);
	for (int i = 0; i < 400; i++) {
		jfr_writer_number(&w.fields, W_EXECUTION);
		for (int k = 0; k < 2; k++) /* name and value: constant 1 */
			buf_add(&w.fields, "\2\1", 2);
		jfr_writer_event(&w, W_SETTING);
	}
	jfr_writer_end(&w);
	cr_expect(!jfr_convert(buf_bytes(&w.out), &o, &result, &err), "%s",
		  err.msg);
	cr_expect(asking.asked >= 400 * 2 * JFR_TEXT_MAX / (64 * 4096) - 2,
		  "%zu", asking.asked);
	buf_fini(&name);
	jfr_writer_fini(&w);
}

Test(jfr, long_names_are_cut)
{
	struct buf name = { 0 };
	struct buf want = { 0 };
	struct jfr_writer w = { .chunk = 0 };

	for (int i = 0; i < 100000; i++)
		buf_byte(&name, 'x');
	jfr_writer_begin(&w, START, SECOND, SECOND);
	jfr_writer_usual(&w);
	/* Later constants count: the chain begins at the end. */
	jfr_writer_number(&w.fields, 3);
	jfr_writer_text(&w.fields, buf_cstr(&name));
	jfr_writer_constants(&w, W_SYMBOL, 1);
	sample(&w, (uint64_t)-2, 1);
	jfr_writer_end(&w);
	buf_printf(
		&want,
		"process_cpu[] cpu/nanoseconds period=cpu/nanoseconds/10000000\nShop.%.*s:20 10000000\n",
		JFR_TEXT_MAX, buf_cstr(&name));
	expect_text(&w, &usual, buf_cstr(&want));
	buf_fini(&name);
	buf_fini(&want);
}

Test(jfr, a_recording_without_samples_has_no_profiles)
{
	struct jfr_writer w;

	begin(&w);
	jfr_writer_end(&w);
	expect_text(&w, &usual, "");
}
