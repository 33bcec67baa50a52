/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what reads files of strangers to name addresses: ELF files with
 * symbols, debug information and Go's table of functions, and their unwind
 * tables; perf maps; Go's table alone; the kernel's list of symbols. An answer
 * is always well-formed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/process/elf_facts.h"
#include "symbols/file/pclntab.h"
#include "symbols/names/elf_names.h"
#include "symbols/names/kallsyms.h"
#include "symbols/names/name_answer.h"
#include "symbols/names/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses that small files have. */
static const uint64_t addresses[] = { 0x1000,   0x1010,   0x401000,
				      0x401005, 0x401020, 0x2000 };

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Read an answer to its end. */
static void check_answer(struct dec d)
{
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		size_t n = name_answer_next(&d);

		for (size_t k = 0; k < n; k++)
			(void)name_answer_frame(&d);
	}
	if (d.bad || dec_left(&d))
		abort();
}

static void fuzz_elf_names(const uint8_t *data, size_t size,
			   const struct name_mapping *m)
{
	struct elf_question q = { .answer_max = 0 };
	struct buf question = { 0 };
	struct buf answer = { 0 };
	struct err err;

	if (m)
		q.mapping = *m;
	elf_names_question(&q, addresses, ARRAY_SIZE(addresses), &question);
	if (!elf_names_read(file_of(data, size), buf_bytes(&question), &answer,
			    &err)) {
		struct dec d = dec_init(buf_bytes(&answer));

		(void)elf_names_head(&d);
		check_answer(d);
	}
	buf_fini(&question);
	buf_fini(&answer);
}

static void fuzz_names(const uint8_t *data, size_t size)
{
	const struct bytes question =
		name_question(addresses, ARRAY_SIZE(addresses));
	struct buf answer = { 0 };
	struct err err;

	fuzz_elf_names(data, size, NULL);
	fuzz_elf_names(data, size, &(struct name_mapping){ 0x1000, 0x3000, 0 });
	if (!perf_map_read(file_of(data, size), question, &answer, &err))
		check_answer(dec_init(buf_bytes(&answer)));
	buf_fini(&answer);
}

static void fuzz_facts(const uint8_t *data, size_t size)
{
	struct buf answer = { 0 };
	struct elf_facts facts;
	struct err err;

	if (!elf_facts_read(file_of(data, size), (struct bytes){ 0 }, &answer,
			    &err) &&
	    !elf_facts_decode(buf_bytes(&answer), &facts))
		abort();
	buf_fini(&answer);
}

static void ignore_code(void *ctx UNUSED, const struct go_code *c UNUSED)
{
}

static void fuzz_go(const uint8_t *data, size_t size)
{
	struct pclntab t;
	struct go_function f;
	uint64_t end;

	if (pclntab_parse((struct bytes){ .ptr = data, .len = size }, 0x401000,
			  &t, NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		(void)!pclntab_find(&t, addresses[i], &f);
	pclntab_stack_depths(&t, ignore_code, NULL, &end);
}

static void fuzz_kallsyms(const uint8_t *data, size_t size)
{
	struct kallsyms k = { .names = { 0 } };
	int fd = file_of(data, size);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!kallsyms_read(&k, path, NULL)) {
		for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
			const char *name = kallsyms_find(&k, addresses[i]);

			if (name && !strlen(name))
				abort();
		}
	}
	kallsyms_fini(&k);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kallsyms(data, size);
	fuzz_names(data, size);
	fuzz_facts(data, size);
	fuzz_go(data, size);
	return 0;
}
