/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses: answers on the wire, symbols and lines of this program,
 * perf maps, the kernel's symbols, and Go's table of functions. Comparisons
 * with other programs are in tests/integration/test_names.py.
 */
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/enc.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "symbols/file/pclntab.h"
#include "symbols/file/symbol_table.h"
#include "symbols/names/demangle.h"
#include "symbols/names/elf_names.h"
#include "symbols/names/kallsyms.h"
#include "symbols/names/name_answer.h"
#include "symbols/names/name_sources.h"
#include "symbols/names/perf_map.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(names, .timeout = 120);

/* Return a descriptor of a file with this text. */
static int text_file(const char *text, size_t len)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	cr_assert(fd >= 0);
	cr_assert(write(fd, text, len) == (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/*
 * The frame that is the next one of an answer and the only one of its address.
 */
static struct name_frame only_frame(struct dec *d)
{
	cr_assert(name_answer_next(d) == 1);
	return name_answer_frame(d);
}

Test(names, answers_are_read_as_they_were_written)
{
	const struct name_frame f = { .system_name = str_of("_Z3fooi"),
				      .name = str_of("foo"),
				      .file = str_of("/a/foo.c"),
				      .line = 12,
				      .start_line = 10 };
	const struct name_frame same = { .system_name = str_of("main"),
					 .name = str_of("main") };
	struct buf b = { 0 };
	struct name_frame g;
	struct dec d;

	name_answer_begin(&b, 2);
	name_answer_add(&b, &f);
	name_answer_add(&b, &same);
	name_answer_begin(&b, 0);
	d = dec_init(buf_bytes(&b));
	cr_expect(name_answer_next(&d) == 2);
	g = name_answer_frame(&d);
	cr_expect(check_str(g.system_name, "_Z3fooi"));
	cr_expect(check_str(g.name, "foo"));
	cr_expect(check_str(g.file, "/a/foo.c"));
	cr_assert(g.line == 12);
	cr_expect(g.start_line == 10);
	g = name_answer_frame(&d);
	cr_expect(check_str(g.name, "main"));
	cr_assert(name_answer_next(&d) == 0);
	cr_assert(!d.bad);
	cr_expect(!dec_left(&d));
	buf_fini(&b);
}

/* The helper may have been taken over by the file that it has read. */
Test(names, malformed_answers_are_refused)
{
	static const char *const bad[] = {
		"\xff\x01",                 /* too many functions */
		"\x01\x00\x00\x00\x00\x00", /* no name */
		"\x01\x01\xff\x00\x00\x00", /* not UTF-8 */
		"\x01\x20",                 /* cut off */
		"\x01\x01x\x00\x00\xff\xff\xff\xff\xff\x01", /* line */
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		/* Each has no NUL within but the ones that are spelled. */
		static const size_t lens[] = { 2, 6, 6, 2, 11 };
		struct dec d = dec_init((struct bytes){
			.ptr = (const uint8_t *)bad[i], .len = lens[i] });
		size_t n = name_answer_next(&d);

		for (size_t k = 0; k < n; k++)
			(void)name_answer_frame(&d);
		cr_expect(d.bad, "%zu", i);
	}
}

Test(names, texts_of_files_become_utf8_and_are_cut)
{
	struct buf b = { 0 };
	struct buf longest = { 0 };
	struct name_frame g;
	struct dec d;

	for (int i = 0; i < NAME_TEXT_MAX + 10; i++)
		buf_byte(&longest, 'x');
	name_answer_begin(&b, 2);
	name_answer_add(&b, &(struct name_frame){ .system_name = str_of("a\xff"
									"b"),
						  .line = UINT64_MAX });
	name_answer_add(&b,
			&(struct name_frame){
				.system_name = str_from(buf_bytes(&longest)) });
	d = dec_init(buf_bytes(&b));
	cr_assert(name_answer_next(&d) == 2);
	g = name_answer_frame(&d);
	cr_assert(check_str(g.name, "a?b"));
	cr_expect(!g.line);
	g = name_answer_frame(&d);
	cr_assert(g.name.len == NAME_TEXT_MAX);
	cr_expect(!d.bad);
	buf_fini(&b);
	buf_fini(&longest);
}

Test(names, mangled_names_of_cxx_and_rust)
{
	struct buf b = { 0 };

	cr_expect(demangle_name("_ZNSt6vectorIiSaIiEE9push_backERKi", &b));
	cr_expect(
		check_str(str_from(buf_bytes(&b)),
			  "std::vector<int, std::allocator<int> >::push_back"));
	buf_reset(&b);
	cr_expect(demangle_name("_ZN4core3fmt5write17h0123456789abcdefE", &b));
	cr_expect(check_str(str_from(buf_bytes(&b)), "core::fmt::write"));
	buf_reset(&b);
	cr_assert(!demangle_name("main", &b));
	cr_expect(!demangle_name("_Zx", &b));
	cr_expect(!b.len);
	buf_fini(&b);
}

/* Where this program's file is in memory. */
static int find_bias(struct dl_phdr_info *info, size_t size UNUSED, void *bias)
{
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static uint64_t own_address(const void *function)
{
	uint64_t bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	return (uint64_t)function - bias;
}

Test(names, functions_of_this_program_with_their_lines)
{
	const uint64_t addresses[] = {
		own_address((const void *)(uintptr_t)find_bias), 1
	};
	struct buf question = { 0 };
	struct buf b = { 0 };
	struct elf_names_head head;
	struct name_frame f;
	struct err err;
	struct dec d;

	elf_names_question(NULL, addresses, 2, &question);
	cr_assert(!elf_names_read(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				  buf_bytes(&question), &b, &err),
		  "%s", err.msg);
	buf_fini(&question);
	d = dec_init(buf_bytes(&b));
	head = elf_names_head(&d);
	cr_assert(head.build_id.len >= 16);
	cr_expect(!head.debug_link.len);
	f = only_frame(&d);
	cr_expect(check_str(f.name, "find_bias"));
	if (f.line) { /* a build with debug information */
		cr_assert(f.line >= f.start_line);
		cr_assert(f.line < f.start_line + 4);
		cr_expect(f.start_line > 100);
		cr_assert(f.file.len > 12);
		cr_expect(!memcmp(f.file.ptr + f.file.len - 12, "test_names.c",
				  12));
	}
	cr_assert(name_answer_next(&d) == 0);
	cr_assert(!d.bad);
	cr_expect(!dec_left(&d));
	buf_fini(&b);
}

/* Ask for the name of find_bias() in a file. */
static struct buf answer_of(const char *path)
{
	const uint64_t address =
		own_address((const void *)(uintptr_t)find_bias);
	struct buf question = { 0 };
	struct buf b = { 0 };

	elf_names_question(NULL, &address, 1, &question);
	cr_assert(!elf_names_read(open(path, O_RDONLY | O_CLOEXEC),
				  buf_bytes(&question), &b, NULL));
	buf_fini(&question);
	return b;
}

/* Whether this process has a file open. */
static bool is_open(const char *path)
{
	for (int fd = 0; fd < 1024; fd++) {
		char link[40];
		char target[4096];
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target));
		if (n == (ssize_t)strlen(path) &&
		    !memcmp(target, path, strlen(path)))
			return true;
	}
	return false;
}

static void write_file(const char *path, struct bytes b)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	cr_assert(write(fd, b.ptr, b.len) == (ssize_t)b.len);
	close(fd);
}

Test(names, sources_of_a_file_are_kept_until_it_changes)
{
	struct tempdir d = tempdir_make();
	char *path = mem_printf("%s/program", d.path);
	struct buf own = { 0 };
	struct buf first;
	struct buf again;
	struct dec dec;
	uint8_t *id;
	struct bytes build_id;

	cr_assert(!file_slurp("/proc/self/exe", &own, NULL));
	write_file(path, buf_bytes(&own));
	first = answer_of(path);
	cr_expect(name_sources_kept() == 1);
	again = answer_of(path);
	cr_assert(name_sources_kept() == 1);
	cr_assert(again.len == first.len);
	cr_expect(!memcmp(again.ptr, first.ptr, first.len));
	cr_expect(!is_open(path), "nothing holds the file open");
	/* The same file gets another build ID. */
	dec = dec_init(buf_bytes(&first));
	build_id = elf_names_head(&dec).build_id;
	id = memmem(own.ptr, own.len, build_id.ptr, build_id.len);
	cr_assert(id);
	cr_assert(build_id.len);
	id[0] ^= 1;
	write_file(path, buf_bytes(&own));
	buf_fini(&again);
	again = answer_of(path);
	dec = dec_init(buf_bytes(&again));
	cr_expect(bytes_eq(elf_names_head(&dec).build_id,
			   (struct bytes){ id, build_id.len }));
	buf_fini(&first);
	buf_fini(&again);
	buf_fini(&own);
	mem_free(path);
	tempdir_fini(&d);
	name_sources_drop();
}

Test(names, sources_of_some_files_alone_are_kept)
{
	struct tempdir d = tempdir_make();
	struct buf own = { 0 };

	cr_assert(!file_slurp("/proc/self/exe", &own, NULL));
	for (int i = 0; i < NAME_SOURCES_KEPT_MAX + 2; i++) {
		char *path = mem_printf("%s/%d", d.path, i);
		struct buf b;

		write_file(path, buf_bytes(&own));
		b = answer_of(path);
		cr_expect(b.len > 20);
		cr_expect(name_sources_kept() <= NAME_SOURCES_KEPT_MAX);
		buf_fini(&b);
		mem_free(path);
	}
	cr_expect(name_sources_kept() > 0);
	name_sources_drop();
	cr_expect(!name_sources_kept());
	buf_fini(&own);
	tempdir_fini(&d);
}

Test(names, questions_that_are_none_are_refused)
{
	struct buf b = { 0 };
	struct err err;
	uint8_t odd[sizeof(struct elf_question) + 9] = { 0 };

	cr_expect(elf_names_read(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				 (struct bytes){ .ptr = odd, .len = 9 }, &b,
				 &err) == ERR_INVALID);
	cr_expect(
		elf_names_read(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
			       (struct bytes){ .ptr = odd, .len = sizeof(odd) },
			       &b, &err) == ERR_INVALID);
	cr_expect(elf_names_read(text_file("text", 4), (struct bytes){ 0 }, &b,
				 &err) == ERR_UNSUPPORTED);
	cr_expect(perf_map_read(text_file("text", 4),
				(struct bytes){ .ptr = odd, .len = 9 }, &b,
				&err) == ERR_INVALID);
	buf_fini(&b);
}

/* Ask a perf map for three addresses. */
static struct buf perf_map_of(const char *text, const uint64_t addresses[3])
{
	struct buf b = { 0 };
	struct err err;

	cr_assert(!perf_map_read(text_file(text, strlen(text)),
				 name_question(addresses, 3), &b, &err),
		  "%s", err.msg);
	return b;
}

Test(names, perf_maps_name_the_code_of_ranges)
{
	const uint64_t addresses[3] = { 0x2010, 0x1000, 0x1fff };
	struct buf b = perf_map_of("1000 10 first function\n"
				   "not a line\n"
				   "0x2000 20 old\n"
				   "2000 11 LazyCompile:*new file.js:1\n"
				   "3000 10\n"
				   "1fff 1 unfinished line",
				   addresses);
	struct dec d = dec_init(buf_bytes(&b));

	cr_expect(check_str(only_frame(&d).name, "LazyCompile:*new file.js:1"));
	cr_expect(check_str(only_frame(&d).name, "first function"));
	cr_assert(name_answer_next(&d) == 0);
	cr_assert(!d.bad);
	cr_expect(!dec_left(&d));
	buf_fini(&b);
}

/* A line that never ends, and ranges that go over the end of all addresses. */
Test(names, hostile_perf_maps_are_bounded)
{
	const uint64_t addresses[3] = { 1, UINT64_MAX, 5 };
	struct buf text = { 0 };
	struct buf b;
	struct dec d;

	for (int i = 0; i < 1 << 20; i++)
		buf_byte(&text, 'a');
	/* The end of a line that is too long is no line. */
	buf_str(&text, "\n");
	for (int i = 0; i < 30000; i++)
		buf_str(&text, "0000001 1 ");
	buf_str(&text, "\nffffffffffffffff ffffffffffffffff all\n5 1 five\n");
	b = perf_map_of(buf_cstr(&text), addresses);
	d = dec_init(buf_bytes(&b));
	cr_expect(name_answer_next(&d) == 0);
	cr_expect(check_str(only_frame(&d).name, "all"));
	cr_expect(check_str(only_frame(&d).name, "five"));
	buf_fini(&b);
	buf_fini(&text);
}

/* Each line of such a map names all addresses; only some of them are read. */
Test(names, a_perf_map_that_names_everything_again_and_again_ends_early)
{
	const uint64_t addresses[3] = { 1, 2, 3 };
	struct buf text = { 0 };
	struct buf b;
	struct dec d;

	for (int i = 0; i < 500000; i++)
		buf_str(&text, "0 ffffffffffffffff a\n");
	buf_str(&text, "0 ffffffffffffffff last\n");
	b = perf_map_of(buf_cstr(&text), addresses);
	d = dec_init(buf_bytes(&b));
	cr_expect(check_str(only_frame(&d).name, "a"));
	buf_fini(&b);
	buf_fini(&text);
}

/* Write a file like /proc/kallsyms, and read it. */
static int kallsyms_of(struct kallsyms *k, const char *text, struct err *err)
{
	struct tempdir d = tempdir_make();
	char path[4200];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/kallsyms", d.path);
	f = fopen(path, "we");
	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
	rc = kallsyms_read(k, path, err);
	tempdir_fini(&d);
	return rc;
}

Test(names, functions_of_the_kernel)
{
	struct kallsyms k = { .names = { 0 } };
	struct err err;

	cr_assert(!kallsyms_of(&k,
			       "ffffffff81000200 t second\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000100 d data\n"
			       "ffffffffc0000000 t in_module\t[module]\n"
			       "nonsense\n",
			       &err),
		  "%s", err.msg);
	cr_expect(k.symbols.count == 4);
	cr_expect(!kallsyms_find(&k, 0x1000));
	cr_expect(!strcmp(kallsyms_find(&k, 0xffffffff81000150), "_stext"));
	cr_expect(!strcmp(kallsyms_find(&k, 0xffffffff81000200), "second"));
	cr_expect(!strcmp(kallsyms_find(&k, UINT64_MAX), "in_module"));
	kallsyms_fini(&k);
}

Test(names, hidden_addresses_of_the_kernel_are_an_error)
{
	struct kallsyms k = { .names = { 0 } };
	struct err err;

	cr_expect(kallsyms_of(&k,
			      "0000000000000000 T _text\n"
			      "0000000000000000 t second\n",
			      &err) == ERR_DENIED);
	cr_expect(strstr(err.msg, "CAP_SYSLOG"));
	cr_expect(kallsyms_read(&k, "/nowhere/kallsyms", &err) == ERR_NOTFOUND);
}

/* Bytes that are nearly a table: no access goes over their end. */
Test(names, damaged_tables_of_go_are_refused)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0,
					   0xfffffff1 };
	struct pclntab t;
	struct go_function f;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		uint64_t words[32] = { 0 };
		uint8_t *bytes;

		words[0] = magics[i] | (uint64_t)1 << 48 | (uint64_t)8 << 56;
		for (size_t k = 1; k < 32; k++)
			words[k] = k * 3;
		for (size_t len = 0; len <= sizeof(words); len++) {
			/* On the heap, so that ASan sees its end. */
			bytes = mem_dup(words, len);
			if (!pclntab_parse(
				    (struct bytes){ .ptr = bytes, .len = len },
				    0x1000, &t, &err))
				for (uint64_t a = 0; a < 0x2000; a += 7)
					(void)!pclntab_find(&t, a, &f);
			mem_free(bytes);
		}
	}
	cr_expect(pclntab_parse((struct bytes){ 0 }, 0, &t, &err) ==
		  ERR_UNSUPPORTED);
}
