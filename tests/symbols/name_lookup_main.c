/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the names of addresses of an ELF file, for comparisons with other
 * programs: name_lookup FILE, with one hexadecimal address on each line of
 * standard input. For each address, a line "ADDRESS", then a line
 * "FUNCTION<TAB>FILE:LINE" for each function, the innermost one first.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "symbols/names/elf_names.h"
#include "symbols/names/name_answer.h"

/* Ask for some addresses, and print the answer. */
static int lookup(const char *file, const uint64_t *addresses, size_t count)
{
	struct buf question = { 0 };
	struct buf answer = { 0 };
	struct err err;
	struct dec d;
	int rc;

	elf_names_question(NULL, addresses, count, &question);
	rc = elf_names_read(open(file, O_RDONLY | O_CLOEXEC),
			    buf_bytes(&question), &answer, &err);
	buf_fini(&question);
	if (rc) {
		fprintf(stderr, "%s: %s\n", file, err.msg);
		return 1;
	}
	d = dec_init(buf_bytes(&answer));
	(void)elf_names_head(&d);
	for (size_t i = 0; i < count; i++) {
		size_t n = name_answer_next(&d);

		printf("%llx\n", (unsigned long long)addresses[i]);
		for (size_t k = 0; k < n; k++) {
			struct name_frame f = name_answer_frame(&d);

			printf("%.*s\t%.*s:%llu\n", STR_ARG(f.system_name),
			       STR_ARG(f.file), (unsigned long long)f.line);
		}
	}
	rc = d.bad || dec_left(&d);
	buf_fini(&answer);
	return rc;
}

int main(int argc, char **argv)
{
	VEC(uint64_t) addresses = { 0 };
	char line[64];
	int rc = argc != 2;

	while (fgets(line, sizeof(line), stdin))
		*vec_add(&addresses) = strtoull(line, NULL, 16);
	for (size_t at = 0; at < addresses.count && !rc;
	     at += NAME_QUESTION_MAX) {
		size_t n = addresses.count - at;

		rc = lookup(argv[1], &addresses.v[at],
			    n < NAME_QUESTION_MAX ? n : NAME_QUESTION_MAX);
	}
	vec_fini(&addresses);
	return rc;
}
