/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, files and lines by debug information, of a library that was made for
 * this test.
 */
#include "symbols/file/dwarf_names.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>

#include "symbols/file/dwarf_index.h"
#include "symbols/file/elf_pointer.h"
#include "tests/check.h"

TestSuite(dwarf_names, .timeout = 60);

/* The library, loaded and opened. */
struct library {
	void *handle;
	struct elf_file *f;
	struct dwarf_names *names;
};

static void library_open(struct library *l)
{
	struct err err;

	l->handle = dlopen(DWARF_FIXTURE, RTLD_NOW);
	cr_assert(l->handle, "%s", dlerror());
	cr_assert(!elf_file_open(open(DWARF_FIXTURE, O_RDONLY | O_CLOEXEC),
				 &l->f, &err),
		  "%s", err.msg);
	cr_assert(!dwarf_names_open(l->f, &l->names, &err), "%s", err.msg);
}

static void library_close(struct library *l)
{
	dwarf_names_close(l->names);
	elf_file_close(l->f);
	dlclose(l->handle);
}

/* The address of a function, as in the file. */
static uint64_t address_of(const struct library *l, const char *name)
{
	void *at = dlsym(l->handle, name);
	Dl_info info;

	cr_assert(at);
	cr_assert(dladdr(at, &info));
	return (uint64_t)((char *)at - (char *)info.dli_fbase);
}

Test(dwarf_names, an_inlined_function_is_above_the_one_that_has_it)
{
	struct dwarf_frame v[4];
	struct library l;
	uint64_t at;
	size_t n = 0;

	library_open(&l);
	at = address_of(&l, "fixture_outer");
	for (uint64_t end = at + 64; at < end && n < 2; at++)
		n = dwarf_names_find(l.names, at, v, 4);
	cr_assert(n == 2, "%zu", n);
	cr_expect(!strcmp(v[0].name, "fixture_inlined"), "%s", v[0].name);
	cr_expect(!strcmp(v[1].name, "fixture_outer"), "%s", v[1].name);
	cr_assert(v[0].line >= 9, "%llu", (unsigned long long)v[0].line);
	cr_expect(v[0].line <= 11, "%llu", (unsigned long long)v[0].line);
	cr_expect(v[1].line == 16, "%llu", (unsigned long long)v[1].line);
	cr_expect(v[1].start_line == 14, "%llu",
		  (unsigned long long)v[1].start_line);
	cr_expect(strstr(v[1].file, "dwarf_fixture.c"), "%s", v[1].file);
	/* With room for one frame, the inlined ones are left out. */
	n = dwarf_names_find(l.names, at - 1, v, 1);
	cr_assert(n == 1);
	cr_expect(!strcmp(v[0].name, "fixture_outer"));
	library_close(&l);
}

Test(dwarf_names, a_function_has_its_line)
{
	struct dwarf_frame v[4] = { { 0 } };
	struct library l;
	uint64_t at;

	library_open(&l);
	at = address_of(&l, "fixture_leaf");
	cr_assert(dwarf_names_find(l.names, at, v, 4) == 1);
	cr_expect(!strcmp(v[0].name, "fixture_leaf"));
	cr_expect(v[0].start_line == 19, "%llu",
		  (unsigned long long)v[0].start_line);
	dwarf_names_line(l.names, at, &v[1]);
	cr_assert(v[1].line >= 19, "%llu", (unsigned long long)v[1].line);
	cr_expect(v[1].line <= 21, "%llu", (unsigned long long)v[1].line);
	cr_expect(strstr(v[1].file, "dwarf_fixture.c"), "%s", v[1].file);
	library_close(&l);
}

Test(dwarf_names, an_address_without_code_has_no_name)
{
	struct dwarf_frame v[4] = { { 0 } };
	struct library l;

	library_open(&l);
	cr_expect(dwarf_names_find(l.names, 0, v, 4) == 0);
	cr_expect(dwarf_names_find(l.names, UINT64_MAX, v, 4) == 0);
	dwarf_names_line(l.names, UINT64_MAX, &v[0]);
	cr_expect(!v[0].line);
	library_close(&l);
	dwarf_names_close(NULL);
}

Test(dwarf_names, the_innermost_range_is_found)
{
	struct dwarf_index x = { { 0 } };
	const struct dwarf_span v[] = {
		{ 10, 20, 1 }, { 30, 90, 2 }, { 40, 50, 3 }, { 60, 70, 4 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		*vec_add(&x.spans) = v[i];
	cr_expect(!dwarf_index_find(&x, 9));
	cr_expect(dwarf_index_find(&x, 10)->entry == 1);
	cr_expect(!dwarf_index_find(&x, 20));
	cr_expect(dwarf_index_find(&x, 30)->entry == 2);
	cr_expect(dwarf_index_find(&x, 45)->entry == 3);
	cr_expect(dwarf_index_find(&x, 55)->entry == 2);
	cr_expect(dwarf_index_find(&x, 89)->entry == 2);
	cr_expect(!dwarf_index_find(&x, 90));
	dwarf_index_fini(&x);
}

Test(dwarf_names, a_pointer_outside_of_the_file_cannot_be_read)
{
	struct library l;
	uint64_t value;

	library_open(&l);
	cr_expect(!elf_pointer_read(l.f, UINT64_MAX - 3, &value));
	library_close(&l);
}
