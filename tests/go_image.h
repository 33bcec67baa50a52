/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of Go for tests, as the linkers of Go and of C make it: with the
 * table of two functions, of which the second one has a frame.
 */
#ifndef TESTS_GO_IMAGE_H
#define TESTS_GO_IMAGE_H

#include "tests/elf_image.h"

enum {
	GO_IMAGE_SECTION = 0x1000, /* position of the section .text */
	GO_IMAGE_CODE = 0x1100,    /* position of Go's code in it */
	GO_IMAGE_TABLE = 0x2000,
	GO_IMAGE_MODULE = 0x4000,
	GO_IMAGE_RELOCATIONS = 0x5000,
	GO_IMAGE_FIRST = 0x10, /* size of the first function */
	GO_IMAGE_SECOND = 0x30,
	GO_IMAGE_PUSH = 4, /* where the second one has its frame */
};

/* What differs between programs. */
struct go_image {
	const char *section;   /* of the table */
	uint64_t header_text;  /* the address of the code in the table */
	uint64_t module_table; /* addresses in the runtime's description */
	uint64_t module_text;
	Elf64_Rela relocations[2];
	bool is_program; /* the linker of Go has left its mark */
	bool has_module;
};

/* The entry of a function; names and steps are positions in their parts. */
struct go_image_entry {
	uint32_t start;
	uint32_t name;
	uint32_t unused[2];
	uint32_t stack_steps;
	uint32_t more[6];
};

/* The table of Go 1.20 and later. */
struct go_image_table {
	uint32_t magic;
	uint8_t padding[2];
	uint8_t quantum;
	uint8_t pointer;
	uint64_t count;
	uint64_t files;
	uint64_t text;
	uint64_t parts[5]; /* names, units, files, steps, functions */
	char names[32];
	uint8_t steps[16];
	uint32_t cells[5];
	struct go_image_entry entries[2];
};

static inline struct go_image_table go_image_table(uint64_t text)
{
	size_t functions = offsetof(struct go_image_table, cells);
	size_t entries = offsetof(struct go_image_table, entries) - functions;
	struct go_image_table t = {
		.magic = 0xfffffff1,
		.quantum = 1,
		.pointer = 8,
		.count = 2,
		.text = text,
		.parts = { offsetof(struct go_image_table, names), 0, 0,
			   offsetof(struct go_image_table, steps), functions },
		.names = "\0main.first\0main.second",
		/* Depth 0 to the end; depth 0, then 8. */
		.steps = { 0, 2, GO_IMAGE_FIRST, 0, 2, GO_IMAGE_PUSH, 16,
			   GO_IMAGE_SECOND - GO_IMAGE_PUSH, 0 },
		.cells = { 0, (uint32_t)entries, GO_IMAGE_FIRST,
			   (uint32_t)(entries + sizeof(struct go_image_entry)),
			   GO_IMAGE_FIRST + GO_IMAGE_SECOND },
		.entries = { { .start = 0, .name = 1, .stack_steps = 1 },
			     { .start = GO_IMAGE_FIRST,
			       .name = 12,
			       .stack_steps = 4 } },
	};

	return t;
}

/* Return a descriptor of the program. */
static inline int go_image_file(const struct go_image *g)
{
	static struct elf_image e;
	static const uint8_t code[0x400];
	struct go_image_table table = go_image_table(g->header_text);
	uint8_t before[64 + sizeof(table)] = "other data";
	uint64_t module[32] = { g->module_table };
	bool amid = !strcmp(g->section, ".data.rel.ro");

	memcpy(before + 64, &table, sizeof(table));
	module[22] = g->module_text;
	memset(&e, 0, sizeof(e));
	elf_image_add(&e, ".text", GO_IMAGE_SECTION, code, sizeof(code));
	if (amid)
		elf_image_add(&e, g->section, GO_IMAGE_TABLE - 64, before,
			      sizeof(before));
	else
		elf_image_add(&e, g->section, GO_IMAGE_TABLE, &table,
			      sizeof(table));
	if (g->has_module)
		elf_image_add(&e, ".go.module", GO_IMAGE_MODULE, module,
			      sizeof(module));
	elf_image_add(&e, ".rela.dyn", GO_IMAGE_RELOCATIONS, g->relocations,
		      sizeof(g->relocations));
	if (g->is_program)
		elf_image_add(&e, ".go.buildinfo", 0x6000, "go", 2);
	return elf_image_file(&e);
}

#endif
