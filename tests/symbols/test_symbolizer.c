/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer: names of addresses of this program, as a profile has them,
 * from its file and from debug files; other files are not used. Also where debug
 * files are, and the cache of names.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbols/file/elf_file.h"
#include "symbols/names/debug_file.h"
#include "symbols/names/name_answer.h"
#include "symbols/names/name_cache.h"
#include "symbols/names/name_finder.h"
#include "symbols/names/regular_file.h"
#include "symbols/names/symbolizer.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(symbolizer, .timeout = 120);

static char helper[] = SYMBOLS_HELPER_FILE;
static char *const program[] = { helper, NULL };
static char *const opener[] = { helper, helper, NULL };

/* This program, as a profile refers to it. */
struct own {
	char path[4096];
	char build_id[2 * ELF_BUILD_ID_MAX + 1];
	struct name_mapping mapping; /* of its code */
	uint64_t addresses[2];       /* of a function, and of none */
	struct bytes names[2];
	struct arena arena;
	struct err err;
};

/* Find the code of this program in memory. */
static int own_mapping(struct dl_phdr_info *info, size_t size UNUSED,
		       void *mapping)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		*(struct name_mapping *)mapping = (struct name_mapping){
			.start = (info->dlpi_addr + p->p_vaddr) & ~0xfffULL,
			.limit = info->dlpi_addr + p->p_vaddr + p->p_memsz,
			.offset = p->p_offset & ~0xfffULL,
		};
	}
	return 1;
}

static void own_init(struct own *o)
{
	struct elf_build_id id;
	struct elf_file *f;
	ssize_t n = readlink("/proc/self/exe", o->path, sizeof(o->path) - 1);

	cr_assert(n > 0);
	cr_assert(!elf_file_open(open(o->path, O_RDONLY | O_CLOEXEC), &f,
				 &o->err));
	o->path[n] = 0;
	elf_file_build_id(f, &id);
	elf_file_close(f);
	for (size_t i = 0; i < id.len; i++)
		snprintf(o->build_id + 2 * i, 3, "%02x", id.bytes[i]);
	dl_iterate_phdr(own_mapping, &o->mapping);
	o->addresses[0] = (uint64_t)(uintptr_t)own_init + 1;
	/* In front of the first function of the file. */
	o->addresses[1] = o->mapping.start - o->mapping.offset + 1;
}

/* Ask for the names of the addresses; `path` is what the profile says. */
static int own_find(struct own *o, struct symbolizer *s, const char *path,
		    const char *build_id, int64_t deadline_ns)
{
	const struct symbol_query q = {
		.build_id = str_of(build_id),
		.path = str_of(path),
		.mapping = o->mapping,
		.addresses = o->addresses,
		.count = 2,
		.deadline_ns = deadline_ns,
		.answer_max = 1 << 20,
	};

	o->names[0] = o->names[1] = (struct bytes){ .len = 0 };
	return symbolizer_find(s, &q, &o->arena, o->names, &o->err);
}

static int64_t in_a_minute(void)
{
	return clock_mono_ns() + 60000000000;
}

/* Whether the addresses were named as they should be. */
static bool own_is_named(const struct own *o)
{
	struct dec d = dec_init(o->names[0]);

	return o->names[0].len && !o->names[1].len &&
	       name_answer_next(&d) == 1 &&
	       str_is(name_answer_frame(&d).name, "own_init");
}

Test(symbolizer, addresses_are_named_by_the_file_with_the_build_id)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, "");

	own_init(&o);
	cr_assert(!own_find(&o, s, "/usr/bin/env", o.build_id, in_a_minute()),
		  "another file is at the path");
	cr_expect(!o.names[0].len, "another file is at the path");
	symbolizer_free(s);
	s = symbolizer_new(program, NULL, NULL);
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()), "%s",
		  o.err.msg);
	cr_expect(own_is_named(&o));
	cr_assert(!own_find(&o, s, "/else", o.build_id, in_a_minute()),
		  "the build ID elsewhere may be somebody's forgery");
	cr_expect(!o.names[0].len,
		  "the build ID elsewhere may be somebody's forgery");
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/*
 * The helper is asked about a file that does not exist as about one that is
 * another file: a helper that fails shows whether it was asked.
 */
Test(symbolizer, nobody_learns_whether_a_file_exists)
{
	static char fails[] = "/bin/false";
	static char *const failing[] = { fails, NULL };
	static const char *const paths[] = { "/usr/bin/env", "/usr/bin/missing",
					     "/etc/shadow" };
	char *argv[] = { helper, NULL };
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s;

	own_init(&o);
	o.build_id[0] = o.build_id[0] == '0' ? '1' : '0';
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		s = symbolizer_new(failing, NULL, "");
		cr_expect(own_find(&o, s, paths[i], o.build_id,
				   in_a_minute()) == ERR_CORRUPT,
			  "%s", paths[i]);
		symbolizer_free(s);
		/* That there are no names is known for all addresses. */
		argv[0] = helper;
		s = symbolizer_new(argv, NULL, "");
		cr_expect(!own_find(&o, s, paths[i], o.build_id, in_a_minute()),
			  "%s: %s", paths[i], o.err.msg);
		argv[0] = failing[0];
		o.addresses[0]++;
		cr_expect(!own_find(&o, s, paths[i], o.build_id, in_a_minute()),
			  "%s: %s", paths[i], o.err.msg);
		cr_assert(!o.names[0].len);
		cr_expect(!o.names[1].len);
		symbolizer_free(s);
	}
	arena_fini(&o.arena);
}

Test(symbolizer, a_build_id_that_is_none_names_nothing)
{
	static const char *const bad[] = { "", "0", "xyz0", "../../etc/passwd",
					   "0123456789abcdef" };
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);

	own_init(&o);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_assert(!own_find(&o, s, o.path, bad[i], in_a_minute()), "%s",
			  bad[i]);
		cr_expect(!o.names[0].len, "%s", bad[i]);
	}
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/* The path comes from a profile, so anything may be there. */
Test(symbolizer, devices_pipes_and_relative_paths_are_not_opened)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);
	struct tempdir d = tempdir_make();
	char pipe[200];

	own_init(&o);
	snprintf(pipe, sizeof(pipe), "%s/pipe", d.path);
	cr_assert(!mkfifo(pipe, 0600));
	for (size_t i = 0; i < 4; i++) {
		const char *paths[] = { pipe, "/dev/zero", d.path, "relative" };

		cr_assert(
			!own_find(&o, s, paths[i], o.build_id, in_a_minute()));
		cr_expect(!o.names[0].len);
	}
	tempdir_fini(&d);
	arena_fini(&o.arena);
	symbolizer_free(s);
}

Test(symbolizer, a_debug_file_names_addresses_of_a_program_that_is_elsewhere)
{
	struct own o = { .err = { .code = 0 } };
	struct tempdir d = tempdir_make();
	struct symbolizer *s = symbolizer_new(program, NULL, d.path);
	char path[300];

	own_init(&o);
	cr_assert(!own_find(&o, s, "/nowhere", o.build_id, in_a_minute()));
	cr_expect(!o.names[0].len);
	snprintf(path, sizeof(path), "%s/.build-id", d.path);
	cr_assert(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/.build-id/%.2s", d.path, o.build_id);
	cr_assert(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", d.path,
		 o.build_id, o.build_id + 2);
	cr_assert(!symlink(o.path, path));
	/* It was installed meanwhile. */
	cr_assert(!own_find(&o, s, "/nowhere", o.build_id, in_a_minute()));
	cr_expect(own_is_named(&o));
	tempdir_fini(&d);
	arena_fini(&o.arena);
	symbolizer_free(s);
}

Test(symbolizer, the_deadline_is_kept)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);

	own_init(&o);
	cr_assert(own_find(&o, s, o.path, o.build_id, clock_mono_ns()) ==
		  ERR_TIMEOUT);
	cr_expect(!o.names[0].len);
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()),
		  "that there was no time is not remembered");
	cr_expect(own_is_named(&o), "that there was no time is not remembered");
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/* An address that is not in the mapping has no name, whatever is behind it. */
Test(symbolizer, addresses_outside_of_their_mapping_have_no_name)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);

	own_init(&o);
	o.addresses[1] = o.mapping.limit + 1;
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()));
	cr_expect(own_is_named(&o));
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/*
 * Profiles differ in how they describe one mapping; the names that one of them
 * got are not those of another one.
 */
Test(symbolizer, names_are_remembered_for_a_mapping_of_the_same_shape)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);
	struct name_mapping right;

	own_init(&o);
	right = o.mapping;
	/* These addresses are as in the file, and too large for it. */
	o.mapping = (struct name_mapping){ .start = right.start,
					   .offset = right.offset };
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()));
	cr_expect(!o.names[0].len);
	o.mapping = right;
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()));
	cr_expect(own_is_named(&o));
	/* Another program, at the same addresses. */
	cr_assert(!own_find(&o, s, "", "0123456789abcdef", in_a_minute()));
	cr_expect(!o.names[0].len);
	/* Elsewhere in memory. */
	o.mapping.start += 0x10000;
	o.mapping.limit += 0x10000;
	o.addresses[0] += 0x10000;
	o.addresses[1] += 0x10000;
	cr_assert(!own_find(&o, s, o.path, o.build_id, in_a_minute()));
	cr_expect(own_is_named(&o));
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/* A server shows names only of files that everyone may read. */
Test(symbolizer, names_for_others_come_from_public_files)
{
	static const struct {
		mode_t dir;
		mode_t file;
		bool named;
	} cases[] = {
		{ 0755, 0644, true },  { 0711, 0644, true },
		{ 0700, 0644, false }, { 0755, 0600, false },
		{ 0755, 0640, false },
	};
	struct own o = { .err = { .code = 0 } };
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = mem_printf("%s/program", d.path);
	CLEANUP(mem_freep) char *link = mem_printf("%s/link", d.path);
	CLEANUP(mem_freep) char *copy = NULL;

	own_init(&o);
	copy = mem_printf("cp %s %s", o.path, path);
	cr_assert(!system(copy));
	cr_assert(!symlink("program", link));
	/* Of another user's files, only root can read what is not public. */
	for (size_t i = 0; i < ARRAY_SIZE(cases) && !geteuid(); i++) {
		struct symbolizer *s = symbolizer_new(program, opener, NULL);

		cr_assert(!chmod(d.path, cases[i].dir));
		cr_assert(!chmod(path, cases[i].file));
		cr_assert(!own_find(&o, s, path, o.build_id, in_a_minute()),
			  "%zu", i);
		cr_expect(own_is_named(&o) == cases[i].named, "%zu", i);
		cr_assert(!own_find(&o, s, link, o.build_id, in_a_minute()),
			  "%zu", i);
		cr_expect(own_is_named(&o) == cases[i].named, "%zu", i);
		symbolizer_free(s);
	}
	arena_fini(&o.arena);
	tempdir_fini(&d);
}

/* A list may deny what the mode seems to allow everyone. */
Test(symbolizer, a_file_with_an_access_control_list_is_not_public)
{
	/* The version; then tag, rights and user of each entry (acl(5)). */
	static const uint16_t list[] = {
		2,    0,                 /* version */
		0x01, 6, 0xffff, 0xffff, /* owner: rw */
		0x02, 0, 7,      0,      /* user 7: nothing */
		0x04, 4, 0xffff, 0xffff, /* group: r */
		0x10, 4, 0xffff, 0xffff, /* mask: r */
		0x20, 4, 0xffff, 0xffff, /* others: r */
	};
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = mem_printf("%s/file", d.path);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	cr_assert(fd >= 0);
	cr_assert(!close(fd));
	cr_assert(!chmod(d.path, 0755));
	fd = regular_file_open_public(path);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	if (setxattr(path, "system.posix_acl_access", list, sizeof(list), 0))
		check_skip("no access control lists here");
	cr_expect(regular_file_open_public(path) < 0);
	tempdir_fini(&d);
}

static int open_nothing(const void *ctx UNUSED, const char *path UNUSED)
{
	return -1;
}

/* Whether a finder names this program by its debug file. */
static bool own_is_named_by(struct own *o, const char *debug_dir,
			    bool public_only)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct name_file f = { .path = "/nowhere",
			       .build_id = { id, strlen(o->build_id) / 2 },
			       .mapping = &o->mapping,
			       .open = open_nothing };
	struct name_finder n = { .helper = file_helper_new(program),
				 .cache = { .half_max = 1 << 20 },
				 .debug_dir = debug_dir,
				 .public_debug_files = public_only,
				 .timeout_ms = 60000,
				 .answer_max = 1 << 20 };
	struct unnamed_frames u = { .addresses = { 0 } };

	for (size_t i = 0; i < f.build_id.len; i++)
		id[i] = (uint8_t)(digit_hex_value(o->build_id[2 * i]) * 16 +
				  digit_hex_value(o->build_id[2 * i + 1]));
	f.id = name_cache_file_of(&f.build_id, 1);
	for (uint32_t i = 0; i < ARRAY_SIZE(o->addresses); i++) {
		*vec_add(&u.addresses) = o->addresses[i];
		*vec_add(&u.places) = i;
		o->names[i] = (struct bytes){ 0 };
	}
	cr_expect(!name_finder_find(&n, &f, &u, &o->arena, o->names, &o->err),
		  "%s", o->err.msg);
	unnamed_frames_fini(&u);
	name_finder_fini(&n);
	return o->names[0].len && own_is_named(o);
}

/* Anybody can write the build ID of a private debug file into a program. */
Test(symbolizer, private_debug_files_name_no_program_of_others)
{
	struct own o = { .err = { .code = 0 } };
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *command = NULL;
	CLEANUP(mem_freep) char *path = NULL;

	own_init(&o);
	path = mem_printf("%s/.build-id/%.2s/%s.debug", d.path, o.build_id,
			  o.build_id + 2);
	command = mem_printf("chmod 755 %s; umask 022; mkdir -p $(dirname %s); "
			     "cp %s %s",
			     d.path, path, o.path, path);
	cr_assert(!system(command));
	cr_expect(own_is_named_by(&o, d.path, true));
	cr_assert(!chmod(path, 0600));
	/* Unless this is not root, whose own file it is then. */
	if (!geteuid())
		cr_expect(!own_is_named_by(&o, d.path, true));
	cr_expect(own_is_named_by(&o, d.path, false));
	arena_fini(&o.arena);
	tempdir_fini(&d);
}

Test(symbolizer, a_helper_that_fails_does_not_mean_that_there_are_no_names)
{
	static char file[] = "/bin/false";
	static char *failing[] = { file, NULL };
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(failing, NULL, NULL);

	own_init(&o);
	cr_expect(own_find(&o, s, o.path, o.build_id, in_a_minute()) ==
		  ERR_CORRUPT);
	cr_expect(strstr(o.err.msg, "ended without an answer"), "%s",
		  o.err.msg);
	cr_expect(own_find(&o, s, o.path, o.build_id, in_a_minute()) ==
			  ERR_AGAIN,
		  "the file is not read again at once");
	arena_fini(&o.arena);
	symbolizer_free(s);
}

/* Ask for the names of 20 addresses, which are larger than the answers. */
Test(symbolizer, names_that_are_larger_than_an_answer_come_in_several)
{
	struct own o = { .err = { .code = 0 } };
	struct symbolizer *s = symbolizer_new(program, NULL, NULL);
	uint64_t addresses[20];
	struct bytes names[20] = { { .len = 0 } };
	struct symbol_query q = {
		.addresses = addresses,
		.count = ARRAY_SIZE(addresses),
		.deadline_ns = in_a_minute(),
		.answer_max = (8 << 10) + 200,
	};

	own_init(&o);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = (uint64_t)(uintptr_t)own_init + i;
	q.build_id = str_of(o.build_id);
	q.path = str_of(o.path);
	q.mapping = o.mapping;
	cr_assert(!symbolizer_find(s, &q, &o.arena, names, &o.err), "%s",
		  o.err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct dec d = dec_init(names[i]);

		cr_assert(names[i].len, "%zu", i);
		cr_assert(name_answer_next(&d), "%zu", i);
		cr_expect(str_is(name_answer_frame(&d).name, "own_init"), "%zu",
			  i);
	}
	arena_fini(&o.arena);
	symbolizer_free(s);
}

Test(symbolizer, files_whose_content_the_kernel_makes_are_not_opened)
{
	cr_expect(regular_file_open("/proc/version") < 0);
	cr_expect(regular_file_open("/sys/kernel/uevent_seqnum") < 0);
	cr_expect(close(regular_file_open("/proc/self/exe")) == 0);
}

static bool link_is(const char *path, const char *link, unsigned i,
		    const char *want)
{
	struct buf b = { 0 };
	bool there = debug_link_path("/debug", path, str_of(link), i, &b);
	bool same = want ? there && !strcmp(buf_cstr(&b), want) : !there;

	buf_fini(&b);
	return same;
}

Test(symbolizer, links_to_debug_files_are_names_of_files)
{
	cr_expect(link_is("/bin/a", "a.debug", 0, "/bin/a.debug"));
	cr_expect(link_is("/bin/a", "a.debug", 1, "/bin/.debug/a.debug"));
	cr_expect(link_is("/bin/a", "a.debug", 2, "/debug/bin/a.debug"));
	cr_expect(link_is("/bin/a", "a.debug", 3, NULL));
	cr_expect(link_is("/bin/a", "../a.debug", 0, NULL));
	cr_expect(link_is("/bin/a", "..", 0, NULL));
	cr_expect(link_is("/bin/a", "", 0, NULL));
	cr_expect(link_is("a", "a.debug", 0, NULL));
	cr_expect(link_is("bin/a", "a.debug", 0, NULL));
}

Test(symbolizer, the_cache_forgets_what_was_not_used_lately)
{
	struct name_cache c = { .half_max = 64 << 10 };
	struct arena arena = { 0 };
	const struct bytes name = bytes_of(str_of("a name of some length"));
	struct bytes found;
	struct name_cache_key key = { .file.digest = { 1, 1 } };
	const struct name_cache_key first = key;
	size_t evicted = 0;

	for (key.address = 0; key.address < 20000; key.address++) {
		name_cache_add(&c, &key, name);
		cr_assert(name_cache_find(&c, &key, &arena, &found));
		cr_assert(bytes_eq(found, name));
		/* This one is asked for all the time. */
		cr_assert(name_cache_find(&c, &first, &arena, &found));
	}
	for (key.address = 0; key.address < 20000; key.address++)
		evicted += !name_cache_find(&c, &key, &arena, &found);
	cr_expect(evicted > 15000, "%zu", evicted);
	key = first;
	key.file.digest[1] = 2;
	cr_expect(!name_cache_find(&c, &key, &arena, &found));
	name_cache_fini(&c);
	arena_fini(&arena);
}

/* Two build IDs whose XXH3 values, each with its owner's, are the same. */
Test(symbolizer, names_of_a_file_do_not_depend_on_a_hash_that_can_be_chosen)
{
	static const uint8_t victim[] = { 0x81, 0x3a, 0x70, 0xe3, 0x15,
					  0x8e, 0x63, 0x51, 0x2b, 0x60,
					  0x29, 0x45, 0xeb, 0xd4, 0x8b,
					  0xd3, 0x30, 0x73, 0xf4, 0xc3 };
	static const uint8_t forged[] = { 0x2e, 0xd6, 0xc2, 0x3c,
					  0xde, 0x53, 0x06, 0x00 };
	const uint32_t owners[] = { 0, 54321 };
	struct bytes parts[2][2] = {
		{ { victim, sizeof(victim) },
		  { (const uint8_t *)&owners[0], sizeof(owners[0]) } },
		{ { forged, sizeof(forged) },
		  { (const uint8_t *)&owners[1], sizeof(owners[1]) } },
	};
	struct name_cache_file files[2];

	for (int i = 0; i < 2; i++)
		files[i] = name_cache_file_of(parts[i], 2);
	cr_assert((hash_bytes(parts[0][0]) ^ hash_bytes(parts[0][1]) * 31) ==
		  (hash_bytes(parts[1][0]) ^ hash_bytes(parts[1][1]) * 31));
	cr_assert(files[0].digest[0] != files[1].digest[0]);
	cr_expect(files[0].digest[1] != files[1].digest[1]);
	/* Nor where one part ends and the next one begins. */
	parts[0][0] = bytes_of(str_of("ab"));
	parts[0][1] = bytes_of(str_of("c"));
	parts[1][0] = bytes_of(str_of("a"));
	parts[1][1] = bytes_of(str_of("bc"));
	for (int i = 0; i < 2; i++)
		files[i] = name_cache_file_of(parts[i], 2);
	cr_expect(files[0].digest[0] != files[1].digest[0]);
}
