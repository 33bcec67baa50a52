/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats older than profile.proto: what a profile contains that was read
 * from one of them, and how wrong bytes are refused. Values follow pprof's
 * legacy_profile.go and legacy_java_profile.go.
 */
#include "pprof/legacy/legacy.h"
#include "tests/pprof/sketch.h"

TestSuite(legacy, .timeout = 60);

#define ROOM (64 * MIB)

/*
 * Prints the types and the period in one line, as "type/unit type/unit,
 * type/unit=period", and then the samples.
 */
static void print_parsed(const struct pprof *p, struct buf *out)
{
	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(out, "%s%.*s/%.*s", i ? " " : "",
			   STR_ARG(pprof_str(p, p->types.v[i].type)),
			   STR_ARG(pprof_str(p, p->types.v[i].unit)));
	buf_printf(out, ", %.*s/%.*s=%" PRId64 "\n",
		   STR_ARG(pprof_str(p, p->period_type.type)),
		   STR_ARG(pprof_str(p, p->period_type.unit)), p->period);
	sketch_print(p, out);
}

static void expect_parsed(const char *what, struct bytes raw, const char *want)
{
	struct legacy *l = legacy_new(ROOM);
	struct buf got = { 0 };
	struct pprof *p;
	struct err err;
	int rc = legacy_parse(l, raw, &p, &err);

	cr_expect(!rc, "%s: %s", what, err.msg);
	if (!rc) {
		print_parsed(p, &got);
		cr_expect(!strcmp(buf_cstr(&got), want), "%s: got\n%swant\n%s",
			  what, buf_cstr(&got), want);
	}
	buf_fini(&got);
	legacy_free(l);
}

static struct bytes text(const char *s)
{
	return bytes_of(str_of(s));
}

/* Binary CPU profiles. */

enum words {
	LITTLE_32,
	BIG_32,
	LITTLE_64,
	BIG_64
};

static void word(struct buf *b, enum words kind, uint64_t v)
{
	int size = kind == LITTLE_32 || kind == BIG_32 ? 4 : 8;
	bool big = kind == BIG_32 || kind == BIG_64;

	for (int i = 0; i < size; i++)
		buf_byte(b, (uint8_t)(v >> 8 * (big ? size - 1 - i : i)));
}

/* Appends the words of v up to the end mark, which is UINT64_MAX. */
static void add_words(struct buf *b, enum words kind, const uint64_t *v)
{
	for (; *v != UINT64_MAX; v++)
		word(b, kind, *v);
}

#define WORDS(b, kind, ...) \
	add_words(b, kind, (const uint64_t[]){ __VA_ARGS__, UINT64_MAX })

Test(legacy, cpu_profiles_have_words_of_four_kinds)
{
	for (int kind = LITTLE_32; kind <= BIG_64; kind++) {
		struct buf b = { 0 };

		/*
		 * There is a sample every 10 ms. The addresses of callers
		 * become one less, so that they are inside the call.
		 */
		WORDS(&b, kind, 0, 3, 0, 10000, 0);
		WORDS(&b, kind, 2, 2, 0x1000, 0x2001);
		WORDS(&b, kind, 1, 1, 0x3000);
		WORDS(&b, kind, 0, 1, 0);
		expect_parsed("words", buf_bytes(&b),
			      "samples/count cpu/nanoseconds, "
			      "cpu/nanoseconds=10000000\n"
			      "0x2000;0x1000 2 20000000\n"
			      "0x3000 1 10000000\n");
		buf_fini(&b);
	}
}

Test(legacy, frames_of_the_signal_handler_are_dropped)
{
	struct buf b = { 0 };

	/*
	 * All stacks have the same second frame, which is dropped. Then this
	 * happens once more.
	 */
	WORDS(&b, LITTLE_64, 0, 3, 0, 1, 0);
	WORDS(&b, LITTLE_64, 1, 5, 0x1000, 0x901, 0x911, 0x921, 0x2001);
	WORDS(&b, LITTLE_64, 1, 5, 0x1100, 0x901, 0x911, 0x921, 0x3001);
	WORDS(&b, LITTLE_64, 0, 1, 0);
	expect_parsed("a handler", buf_bytes(&b),
		      "samples/count cpu/nanoseconds, cpu/nanoseconds=1000\n"
		      "0x2000;0x920;0x1000 1 1000\n"
		      "0x3000;0x920;0x1100 1 1000\n");
	/*
	 * If one of fewer than 32 samples lacks this frame, nothing is dropped.
	 */
	b.len -= 3 * 8;
	WORDS(&b, LITTLE_64, 1, 2, 0x1200, 0x3001, 0, 1, 0);
	expect_parsed("no handler", buf_bytes(&b),
		      "samples/count cpu/nanoseconds, cpu/nanoseconds=1000\n"
		      "0x2000;0x920;0x910;0x900;0x1000 1 1000\n"
		      "0x3000;0x920;0x910;0x900;0x1100 1 1000\n"
		      "0x3000;0x1200 1 1000\n");
	buf_reset(&b);
	/*
	 * Here the second frame is the leaf once more, as its own return
	 * address.
	 */
	WORDS(&b, LITTLE_64, 0, 3, 0, 1, 0);
	WORDS(&b, LITTLE_64, 1, 3, 0x1000, 0x1000, 0x2001);
	WORDS(&b, LITTLE_64, 1, 2, 0x1000, 0x3001, 0, 1, 0);
	expect_parsed("a leaf twice", buf_bytes(&b),
		      "samples/count cpu/nanoseconds, cpu/nanoseconds=1000\n"
		      "0x2000;0x1000 1 1000\n0x3000;0x1000 1 1000\n");
	buf_fini(&b);
}

Test(legacy, cpu_profiles_of_java_name_their_addresses)
{
	struct buf b = { 0 };

	WORDS(&b, LITTLE_32, 0, 3, 1, 100, 0);
	WORDS(&b, LITTLE_32, 4, 2, 0x10, 0x20, 0, 1, 0);
	buf_str(&b, "0x10 leaf (a.java:7)\n0x20 root (b.java:9)\n");
	expect_parsed("java", buf_bytes(&b),
		      "samples/count cpu/nanoseconds, cpu/nanoseconds=100000\n"
		      "root;leaf 4 400000\n");
	buf_fini(&b);
}

Test(legacy, damaged_cpu_profiles_are_no_profiles)
{
	static const struct {
		const char *name;
		uint64_t v[10];
		size_t count;
		int rc;
	} table[] = {
		{ "a header alone", { 0, 3, 0, 1, 0 }, 5, 0 },
		{ "no end mark", { 0, 3, 0, 1, 0, 1, 1, 9 }, 8, 0 },
		{ "a header that is cut", { 0, 3, 0, 1 }, 4, ERR_UNSUPPORTED },
		{ "another magic", { 1, 3, 0, 1, 0 }, 5, ERR_UNSUPPORTED },
		{ "a longer header", { 0, 4, 0, 1, 0 }, 5, ERR_UNSUPPORTED },
		{ "another version", { 0, 3, 2, 1, 0 }, 5, ERR_UNSUPPORTED },
		{ "no period", { 0, 3, 0, 0, 0 }, 5, ERR_UNSUPPORTED },
		{ "padding that is none",
		  { 0, 3, 0, 1, 1 },
		  5,
		  ERR_UNSUPPORTED },
		{ "a count alone", { 0, 3, 0, 1, 0, 1 }, 6, ERR_UNSUPPORTED },
		{ "a depth beyond the end",
		  { 0, 3, 0, 1, 0, 1, 99, 5 },
		  8,
		  ERR_UNSUPPORTED },
		{ "a depth of 64 bits",
		  { 0, 3, 0, 1, 0, 1, (uint64_t)1 << 62, 5 },
		  8,
		  ERR_UNSUPPORTED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct legacy *l = legacy_new(ROOM);
		struct buf b = { 0 };
		struct pprof *p;

		for (size_t k = 0; k < table[i].count; k++)
			word(&b, LITTLE_64, table[i].v[k]);
		cr_expect(legacy_parse(l, buf_bytes(&b), &p, NULL) ==
				  table[i].rc,
			  "%s", table[i].name);
		buf_fini(&b);
		legacy_free(l);
	}
}

/* Texts. */

static const struct {
	const char *name;
	const char *raw;
	const char *want;
} texts[] = {
	{ "a heap of tcmalloc",
	  "heap profile: 3: 300 [ 3: 300 ] @ heapprofile\n"
	  "2: 200 [2: 200] @ 0x11 0x21\n\n# a comment\n"
	  "  1: 100 [ 1: 100] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=1\n"
	  "0x20;0x10 2 200 bytes#100\n0x10 1 100 bytes#100\n" },
	{ "a heap with allocations",
	  "heap profile: 3: 300 [9: 900] @ heapprofile\n"
	  "2: 200 [8: 400] @ 0x11\n0: 0 [1: 500] @ 0x21\n",
	  "alloc_objects/count alloc_space/bytes inuse_objects/count "
	  "inuse_space/bytes, space/bytes=1\n"
	  "0x10 8 400 2 200 bytes#100\n0x20 1 500 0 0 bytes#500\n" },
	/*
	 * The count 1 and the size 524,288 are multiplied by 1 / (1 - exp(-1))
	 * = 1.58197…, and cut to whole numbers.
	 */
	{ "a sampled heap",
	  "heap profile: 1: 524288 [1: 524288] @ heap_v2/524288\n"
	  "1: 524288 [1: 524288] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=524288\n"
	  "0x10 1 829411 bytes#524288\n" },
	{ "a sampled heap with twice the rate",
	  "heap profile: 1: 524288 [1: 524288] @ heap/1048576\r\n"
	  "1: 524288 [1: 524288] @ 0x11\r\n",
	  "objects/count space/bytes, space/bytes=524288\n"
	  "0x10 1 829411 bytes#524288\n" },
	{ "a heap without rate",
	  "heap profile: 1: 8 [0: 0] @ heap\n1: 8 [0: 0] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=0\n0x10 1 8 bytes#8\n" },
	{ "a heap of which everything was sampled",
	  "heap profile: 8: 8 [8: 8] @ heap_v2/1\n8: 8 [8: 8] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=1\n0x10 8 8 bytes#1\n" },
	{ "growth of the heap",
	  "heap profile: 1: 8 [1: 8] @ growthz\n1: 8 [1: 8] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=1\n0x10 1 8 bytes#8\n" },
	{ "fragmentation of the heap",
	  "heap profile: 1: 8 [1: 8] @ fragmentationz\n1: 8 [1: 8] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=1\n0x10 1 8 bytes#8\n" },
	{ "a heap that shrank",
	  "heap profile: 1: 8 [1: 8] @ growthz\n-1: -8 [1: 8] @ 0x11\n",
	  "objects/count space/bytes, space/bytes=1\n0x10 -1 -8 bytes#8\n" },
	{ "goroutines",
	  "goroutine profile: total 3\n2 @ 0x11 0x21\n1 @ 0x31\n"
	  "#\t0x31\tmain.main\n",
	  "goroutine/count, goroutine/count=1\n0x20;0x10 2\n0x30 1\n" },
	{ "a count of anything",
	  "\n# comment\nmy.own profile: total 0\n010 @ 0x11\n0 @ 0x21\n",
	  "my.own/count, my.own/count=1\n0x10 8\n0x20 0\n" },
	{ "jemalloc with allocations",
	  "heap_v2/1\n  t*: 1: 8 [2: 16]\n  t0: 1: 8 [2: 16]\n"
	  "@ 0x11 0x21\n  t*: 1: 8 [2: 16]\n  t0: 1: 8 [2: 16]\n",
	  "alloc_objects/count alloc_space/bytes inuse_objects/count "
	  "inuse_space/bytes, space/bytes=1\n"
	  "0x20;0x10 2 16 1 8 bytes#8\n" },
	{ "threads",
	  "--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n"
	  "  PC: 0x10 0x21\n  0x31\n"
	  "--- Thread 80 (name: x/2) stack: ---\n"
	  "  [same as previous thread]\n"
	  "--- Thread 81 (name: y/3) stack: ---\n 0x40\n"
	  "---- no stack trace for thread 82\nrubbish\n",
	  "thread/count, thread/count=1\n0x30;0x20;0x10 2\n0x40 1\n" },
	{ "threads without a heading, the leaf twice",
	  "--- Thread 7f (name: main/1) stack: ---\n 0x10 0x10 0x21\n"
	  "--- Memory map: ---\n",
	  "thread/count, thread/count=1\n0x20;0x10 1\n" },
	{ "contention in nanoseconds",
	  "--- mutex:\nsampling period=10\n5 2 @ 0x11\n",
	  "contentions/count delay/nanoseconds, contentions/count=10\n"
	  "0x10 20 5\n" },
	/*
	 * A cycle takes half a nanosecond, and each sample stands for 10. So 5
	 * cycles become 25 ns.
	 */
	{ "contention in cycles",
	  "--- contention:\ncycles/second = 2000000000\n"
	  "sampling period = 10\ndiscarded samples=7\n5 2 @ 0x11\n"
	  "--- Memory map: ---\n",
	  "contentions/count delay/nanoseconds, contentions/count=10\n"
	  "0x10 20 25\n" },
	{ "contention of Java",
	  "--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
	  "sampling period = 100\nms since reset = 2\n"
	  " 5 2 @ 0x1 0x2\n\n0x1 f (a.java:7)\n0x2 g (a.java:8)\n",
	  "contentions/count delay/microseconds, contentions/count=100\n"
	  "g;f 200 500\n" },
	/* The values are multiplied by 1.58197…, as above. */
	{ "a heap of Java",
	  "--- heapz 1 ---\nformat = java\nresolution = bytes\n"
	  " 524288 1 @ 0x1\n0x1 f (a.java:7)\n",
	  "inuse_objects/count inuse_space/bytes, /=0\n"
	  "f 1 829411 bytes#524288\n" },
};

Test(legacy, texts_of_all_formats_are_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		expect_parsed(texts[i].name, text(texts[i].raw), texts[i].want);
}

Test(legacy, a_parser_forgets_the_last_profile)
{
	struct legacy *l = legacy_new(ROOM);
	struct pprof *p;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			struct buf got = { 0 };

			cr_assert(
				!legacy_parse(l, text(texts[i].raw), &p, NULL));
			print_parsed(p, &got);
			cr_expect(check_str(str_of(buf_cstr(&got)),
					    texts[i].want));
			buf_fini(&got);
			cr_expect(legacy_parse(l, text("rubbish"), &p, NULL) ==
				  ERR_UNSUPPORTED);
		}
	}
	legacy_free(l);
	legacy_free(NULL);
}

Test(legacy, malformed_texts_are_told_from_other_formats)
{
	static const struct {
		const char *raw;
		int rc;
		const char *why; /* a word of the message */
	} table[] = {
		{ "", ERR_UNSUPPORTED, "" },
		{ "<html>", ERR_UNSUPPORTED, "" },
		{ "heap profile: 1: 8 [1: 8] @ heapster/5\n", ERR_UNSUPPORTED,
		  "" },
		{ "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 @ 0x1\n",
		  ERR_INVALID, "sample" },
		{ "heap profile: 1: 8 [1: 8] @ heapprofile\n0: 8 [0: 0] @\n",
		  ERR_INVALID, "no objects" },
		{ "heap profile: 1: 8 [1: 8] @ heapprofile\n"
		  "99999999999999999999: 8 [0: 0] @ 0x1\n",
		  ERR_INVALID, "too large" },
		{ "heap profile: 1: 8 [1: 8] @ heapprofile\n"
		  "1: 8 [1: 8] @ 0x10000000000000000\n",
		  ERR_INVALID, "too large" },
		{ "heap profile: 1: 8 [1: 8] @ heap_v2/9223372036854775808\n",
		  ERR_UNSUPPORTED, "" },
		{ "heap_v2/1\n@ 0x1\n", ERR_INVALID, "totals" },
		{ "goroutine profile: total 1\n1 @\n", ERR_INVALID, "count" },
		{ "goroutine profile: total 1\n1 0x1\n", ERR_INVALID, "count" },
		{ "goroutine profile: total 1\n09 @ 0x1\n", ERR_INVALID,
		  "count" },
		{ "goroutine profile: total x\n", ERR_UNSUPPORTED, "" },
		{ "--- mutex:\nunknown=1\n", ERR_UNSUPPORTED, "" },
		{ "--- mutex:\nsampling period=x\n", ERR_UNSUPPORTED, "" },
		{ "--- mutex:\n99999999999999999999 1 @ 0x1\n", ERR_INVALID,
		  "too large" },
		{ "--- heapz 1 ---\nformat = c\n", ERR_UNSUPPORTED, "" },
		{ "--- heapz 1 ---\nms since reset = 1\n", ERR_UNSUPPORTED,
		  "" },
		{ "--- heapz 1 ---\nformat = java\n 1 1 @ 0x1\n", ERR_INVALID,
		  "resolution" },
		{ "--- heapz 1 ---\nresolution = bytes\n 1 0 @ 0x1\n",
		  ERR_INVALID, "object count of 0" },
		{ "--- contentionz 1 ---\nformat = java\n"
		  "sampling period = x1\n",
		  ERR_INVALID, "attribute" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct legacy *l = legacy_new(ROOM);
		struct err err = { 0 };
		struct pprof *p;

		cr_expect(legacy_parse(l, text(table[i].raw), &p, &err) ==
				  table[i].rc,
			  "%s", table[i].raw);
		cr_expect(strstr(err.msg, table[i].why), "%s: %s", table[i].raw,
			  err.msg);
		legacy_free(l);
	}
}

Test(legacy, names_of_java_are_taken_apart)
{
	static const struct {
		const char *line;
		const char *function;
		const char *file;
		int64_t number;
	} table[] = {
		{ "f (a.java:7)", "f", "a.java", 7 },
		{ "a.b$c.<init> (x y.java:7)", "a.b$c.<init>", "x y.java", 7 },
		{ "f (a.java:-1)", "f", "a.java", 0 },
		{ "f (a.java:99999999999999999999)", "f", "a.java", 0 },
		{ "f (/usr/lib/libx.so)", "f", "libx.so", 0 },
		{ "f ()", "f", ".", 0 },
		{ "f(int) (a.java:7)", "f(int)", "a.java", 7 },
		{ "generated stub/JIT", "STUB", "", 0 },
		{ "plain name", "plain name", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct legacy *l = legacy_new(ROOM);
		struct buf raw = { 0 };
		const struct pprof_function *f;
		struct pprof *p;

		buf_printf(&raw, "--- contentionz 1 ---\nformat = java\n"
				 "resolution = ms\n 1 1 @ 0x1 0x2\n");
		buf_printf(&raw, "0x1 %s\n0x9 unused (b.java:1)\nnonsense\n",
			   table[i].line);
		cr_assert(!legacy_parse(l, buf_bytes(&raw), &p, NULL));
		cr_assert(p->functions.count == 1);
		cr_assert(p->lines.count == 1);
		f = &p->functions.v[0];
		cr_expect(check_str(pprof_str(p, f->name), table[i].function));
		cr_expect(check_str(pprof_str(p, f->file), table[i].file));
		cr_expect(p->lines.v[0].line == table[i].number, "%s",
			  table[i].line);
		/*
		 * No address is kept. A location without a name gets a mapping.
		 */
		cr_assert(!p->locations.v[0].address);
		cr_expect(!p->locations.v[1].address);
		cr_expect(p->locations.v[0].mapping == PPROF_NONE);
		cr_expect(p->locations.v[1].mapping == 0);
		buf_fini(&raw);
		legacy_free(l);
	}
}

/* Memory maps. */

/*
 * Prints each mapping as "start-limit@offset file build_id", and then each
 * location as "address:mapping".
 */
static void print_maps(const struct pprof *p, struct buf *out)
{
	for (size_t i = 0; i < p->mappings.count; i++) {
		const struct pprof_mapping *m = &p->mappings.v[i];

		buf_printf(out,
			   "%" PRIx64 "-%" PRIx64 "@%" PRIx64 " %.*s %.*s\n",
			   m->start, m->limit, m->offset,
			   STR_ARG(pprof_str(p, m->file)),
			   STR_ARG(pprof_str(p, m->build_id)));
	}
	for (size_t i = 0; i < p->locations.count; i++)
		buf_printf(out, "%" PRIx64 ":%d ", p->locations.v[i].address,
			   (int)p->locations.v[i].mapping);
}

static const struct {
	const char *name;
	const char *stack; /* addresses are one less in the profile */
	const char *map;
	const char *want;
} maps[] = {
	{ "no map: one mapping of everything", "0x11 0x21", "",
	  "0-ffffffffffffffff@0  \n10:0 20:0 " },
	{ "the format of /proc/self/maps", "0x401001 0x7f0000000011",
	  "00400000-00500000 r-xp 00000000 fe:01 123  /bin/app\n"
	  "00500000-00600000 rw-p 00100000 fe:01 123  /bin/app\n"
	  "7f0000000000-7f0000001000 r-xp 00000000 fe:01 9 /lib/c.so.6\n",
	  "400000-500000@0 /bin/app \n"
	  "7f0000000000-7f0000001000@0 /lib/c.so.6 \n401000:0 7f0000000010:1 " },
	{ "the brief format", "0x401001",
	  "  0x400000-0x500000: /bin/app (@2000) abc123\n",
	  "400000-500000@2000 /bin/app abc123\n401000:0 " },
	{ "prefixes of a logging library", "0x401001",
	  "I0102 app.cc:123] 400000-500000 r-xp 0 fe:01 1 /bin/app\n",
	  "400000-500000@0 /bin/app \n401000:0 " },
	{ "attributes", "0x401001",
	  "build=/very/long/path\nother = x\n"
	  "400000-500000: $build/app$other$none\n",
	  "400000-500000@0 /very/long/path/appx$none \n401000:0 " },
	{ "the program comes first", "0x1001",
	  "1000-2000: /lib/a.so\n3000-4000: [vdso]\n5000-6000: /bin/app\n",
	  "5000-6000@0 /bin/app \n3000-4000@0 [vdso] \n"
	  "1000-2000@0 /lib/a.so \n1000:2 " },
	{ "a deleted library is no program", "0x1001",
	  "1000-2000: /lib/a.so.1(deleted)\n5000-6000: /bin/app\n",
	  "5000-6000@0 /bin/app \n1000-2000@0 /lib/a.so.1(deleted) \n"
	  "1000:1 " },
	{ "parts that follow each other are joined", "0x2801",
	  "1000-2000: /bin/app (@0)\n2000-3000: /bin/app (@1000)\n"
	  "3000-4000: /bin/app2\n",
	  "1000-3000@0 /bin/app \n3000-4000@0 /bin/app2 \n2800:0 " },
	{ "parts whose offsets disagree are not", "0x2801",
	  "1000-2000: /bin/app (@100)\n2000-3000: /bin/app (@5000)\n",
	  "1000-2000@100 /bin/app \n2000-3000@5000 /bin/app \n2800:1 " },
	{ "parts with a gap between them are not", "0x1801",
	  "1000-2000: /bin/app\n4000-5000: /bin/app\n",
	  "1000-2000@0 /bin/app \n4000-5000@0 /bin/app \n1800:0 " },
	{ "the first address and the one behind the last",
	  "0x1001 0x2000 0x2001", "1000-2000: /bin/app\n",
	  "1000-2000@0 /bin/app \n0-ffffffffffffffff@0  \n"
	  "1000:0 1fff:0 2000:1 " },
	{ "a program mapped without its first pages", "0x400101",
	  "401000-402000 r-xp 00001000 fe:01 1 /bin/app\n",
	  "400000-402000@0 /bin/app \n400100:0 " },
	{ "a library whose first part is missing", "0x10101",
	  "1000-2000: /bin/app\n11000-12000: /lib/a.so (@1000)\n",
	  "1000-2000@0 /bin/app \n10000-12000@0 /lib/a.so \n10100:1 " },
	{ "huge pages in front", "0x1801",
	  "1000-2000: /anon_hugepage\n2000-3000: /bin/app\n",
	  "2000-3000@0 /bin/app \n0-ffffffffffffffff@0  \n1800:1 " },
	{ "what is no mapping is skipped", "0x1001",
	  "hello\n\n1000-2000: /bin/app\nzzz-yyy r-xp\n",
	  "1000-2000@0 /bin/app \n1000:0 " },
};

Test(legacy, addresses_get_the_mapping_that_covers_them)
{
	static const char *const starts[] = { "--- Memory map: ---",
					      "MAPPED_LIBRARIES:" };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(maps); i++) {
		struct legacy *l = legacy_new(ROOM);
		struct buf raw = { 0 };
		struct buf got = { 0 };
		struct pprof *p;
		size_t k = i / 2;

		buf_printf(&raw, "goroutine profile: total 1\n1 @ %s\n",
			   maps[k].stack);
		buf_printf(&raw, "---\n%s\n%s", starts[i % 2], maps[k].map);
		cr_assert(!legacy_parse(l, buf_bytes(&raw), &p, NULL));
		print_maps(p, &got);
		cr_expect(!strcmp(buf_cstr(&got), maps[k].want),
			  "%s: got\n%s\nwant\n%s", maps[k].name, buf_cstr(&got),
			  maps[k].want);
		buf_fini(&raw);
		buf_fini(&got);
		legacy_free(l);
	}
}

Test(legacy, what_is_not_of_interest_depends_on_the_kind)
{
	static const struct {
		const char *raw;
		const char *drop; /* a function that drop_frames names */
		bool keep;
	} table[] = {
		{ "heap profile: 1: 8 [0: 0] @ heap\n", "malloc|", true },
		{ "heap profile: 1: 8 [2: 9] @ heap\n", "malloc|", true },
		{ "--- mutex:\n", "SpinLock", false },
		{ "goroutine profile: total 1\n", "__restore", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct legacy *l = legacy_new(ROOM);
		struct pprof *p;
		struct str drop;

		cr_assert(!legacy_parse(l, text(table[i].raw), &p, NULL));
		drop = pprof_str(p, p->drop_frames);
		cr_expect(memmem(drop.ptr, drop.len, table[i].drop,
				 strlen(table[i].drop)) != NULL);
		cr_expect((pprof_str(p, p->keep_frames).len > 0) ==
			  table[i].keep);
		legacy_free(l);
	}
}

/* Limits. */

Test(legacy, lines_are_shorter_than_64_kib)
{
	struct legacy *l = legacy_new(ROOM);
	struct buf raw = { 0 };
	struct pprof *p;
	struct err err;

	/* The last line first has 65,535 bytes, and then one more. */
	buf_str(&raw, "--- mutex:\n1 1 @ 0x1");
	while (raw.len < 11 + 65535)
		buf_str(&raw, " ");
	cr_expect(!legacy_parse(l, buf_bytes(&raw), &p, &err), "%s", err.msg);
	cr_expect(p->samples.count == 1);
	buf_str(&raw, " ");
	cr_expect(legacy_parse(l, buf_bytes(&raw), &p, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "64 KiB") != NULL, "%s", err.msg);
	buf_fini(&raw);
	legacy_free(l);
}

Test(legacy, stacks_of_a_count_may_be_long)
{
	struct legacy *l = legacy_new(ROOM);
	struct buf raw = { 0 };
	struct pprof *p = NULL;

	buf_str(&raw, "goroutine profile: total 1\n1 @");
	for (int i = 0; i < 2000; i++)
		buf_printf(&raw, " 0x7f%010x", i + 16);
	buf_str(&raw, "\n");
	cr_assert(!legacy_parse(l, buf_bytes(&raw), &p, NULL));
	cr_assert(p->samples.count == 1);
	cr_expect(p->frames.count == 2000);
	legacy_free(l);
	buf_fini(&raw);
}

Test(legacy, addresses_of_a_count_are_a_list)
{
	static const char *const bad[] = { "1 @",       "1 @ ",     "1 @ 0x",
					   "1 @ 0x1 ",  "1 @  0x1", "1 @ 0x1 2",
					   "1 @ 0x1x2", "1 @0x1",   "1 @ 1x0" };
	struct legacy *l = legacy_new(ROOM);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf raw = { 0 };
		struct pprof *p;

		buf_printf(&raw, "goroutine profile: total 1\n%s\n", bad[i]);
		cr_expect(legacy_parse(l, buf_bytes(&raw), &p, NULL) ==
				  ERR_INVALID,
			  "%s", bad[i]);
		buf_fini(&raw);
	}
	legacy_free(l);
}

Test(legacy, memory_is_bounded)
{
	struct legacy *l = legacy_new(MIB);
	struct buf raw = { 0 };
	struct pprof *p;
	struct err err;

	buf_str(&raw, "goroutine profile: total 1\n");
	for (int i = 1; i < 50000; i++)
		buf_printf(&raw, "1 @ 0x%x\n", i);
	cr_expect(legacy_parse(l, buf_bytes(&raw), &p, &err) == ERR_LIMIT);
	cr_expect(legacy_memory(l) < 2 * MIB);
	/*
	 * A small profile can be read afterwards, and the bound can be raised.
	 */
	cr_expect(!legacy_parse(l, text(texts[0].raw), &p, &err));
	legacy_set_max(l, ROOM);
	cr_expect(!legacy_parse(l, buf_bytes(&raw), &p, &err), "%s", err.msg);
	cr_expect(p->samples.count == 49999);
	buf_fini(&raw);
	legacy_free(l);
}

Test(legacy, attributes_of_a_map_are_bounded)
{
	struct legacy *l = legacy_new(ROOM);
	struct buf raw = { 0 };
	struct pprof *p;
	struct err err;

	/*
	 * Each attribute is twice as long as the one before. The last one would
	 * have 32 MiB.
	 */
	buf_str(&raw, "goroutine profile: total 1\n1 @ 0x1\n"
		      "--- Memory map: ---\na=x\n");
	for (int c = 'b'; c <= 'z'; c++)
		buf_printf(&raw, "%c=$%c$%c\n", c, c - 1, c - 1);
	cr_expect(legacy_parse(l, buf_bytes(&raw), &p, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "memory map") != NULL, "%s", err.msg);
	buf_fini(&raw);
	legacy_free(l);
}
