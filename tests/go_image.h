/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of Go for tests, as the linkers of Go and of C make it, with the
 * table of some functions.
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
	GO_IMAGE_PUSH = 4, /* where functions begin to have a frame */
	GO_IMAGE_FUNCTIONS = 7,
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
	uint32_t more[5];
	uint8_t number;
	uint8_t flags;
	uint8_t last[2];
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
	char names[GO_IMAGE_FUNCTIONS][32];
	uint8_t steps[GO_IMAGE_FUNCTIONS][16];
	uint32_t cells[2 * GO_IMAGE_FUNCTIONS + 1];
	struct go_image_entry entries[GO_IMAGE_FUNCTIONS];
};

/* A function: its name, its size, and the changes of its stack's depth. */
struct go_image_function {
	const char *name;
	uint8_t size;
	uint8_t flags;
	uint8_t steps[8];
};

/* A step: how much is added to the depth, which begins with -1; for how long. */
#define GO_IMAGE_STEP(change, length) 2 * (change), (length)

static const struct go_image_function go_image_functions[] = {
	{ "main.first",
	  GO_IMAGE_FIRST,
	  0,
	  { GO_IMAGE_STEP(1, GO_IMAGE_FIRST) } },
	{ "main.second",
	  GO_IMAGE_SECOND,
	  0,
	  { GO_IMAGE_STEP(1, GO_IMAGE_PUSH),
	    GO_IMAGE_STEP(8, GO_IMAGE_SECOND - GO_IMAGE_PUSH) } },
	/* The outermost function, in assembler. */
	{ "runtime.mstart", 0x10, 5, { GO_IMAGE_STEP(1, 8) } },
	/* Functions in assembler with a frame; the first one saves rbp in it. */
	{ "main.saves",
	  0x30,
	  4,
	  { GO_IMAGE_STEP(1, 4), GO_IMAGE_STEP(8, 4), GO_IMAGE_STEP(24, 32) } },
	{ "main.pushes",
	  0x30,
	  4,
	  { GO_IMAGE_STEP(1, 4), GO_IMAGE_STEP(16, 40) } },
	/* It calls on another stack. */
	{ "runtime.morestack", 0x10, 6, { GO_IMAGE_STEP(1, 8) } },
	{ "runtime.sigreturn__sigaction", 0x10, 4, { GO_IMAGE_STEP(1, 8) } },
};

/* Return the address of a function, relative to Go's code. */
static inline uint32_t go_image_start(size_t number)
{
	uint32_t at = 0;

	for (size_t i = 0; i < number; i++)
		at += go_image_functions[i].size;
	return at;
}

static inline struct go_image_table go_image_table(uint64_t text)
{
	size_t functions = offsetof(struct go_image_table, cells);
	struct go_image_table t = {
		.magic = 0xfffffff1,
		.quantum = 1,
		.pointer = 8,
		.count = GO_IMAGE_FUNCTIONS,
		.text = text,
		/* Position 0 of the steps means that there are none. */
		.parts = { offsetof(struct go_image_table, names), 0, 0,
			   offsetof(struct go_image_table, steps) - 1,
			   functions },
	};

	for (uint32_t i = 0; i < GO_IMAGE_FUNCTIONS; i++) {
		const struct go_image_function *f = &go_image_functions[i];

		strcpy(t.names[i], f->name);
		memcpy(t.steps[i], f->steps, sizeof(f->steps));
		t.cells[i * 2] = go_image_start(i);
		t.cells[i * 2 + 1] =
			(uint32_t)(offsetof(struct go_image_table, entries[i]) -
				   functions);
		t.entries[i] = (struct go_image_entry){
			.start = go_image_start(i),
			.name = i * (uint32_t)sizeof(t.names[i]),
			.stack_steps = 1 + i * (uint32_t)sizeof(t.steps[i]),
			.flags = f->flags,
		};
	}
	t.cells[2 * GO_IMAGE_FUNCTIONS] = go_image_start(GO_IMAGE_FUNCTIONS);
	return t;
}

/* Return a descriptor of the program. */
static inline int go_image_file(const struct go_image *g)
{
	static struct elf_image e;
	static uint8_t code[0x400];
	uint32_t saves = GO_IMAGE_CODE - GO_IMAGE_SECTION + go_image_start(3);
	struct go_image_table table = go_image_table(g->header_text);
	uint8_t before[64 + sizeof(table)] = "other data";
	uint64_t module[32] = { g->module_table };
	bool amid = !strcmp(g->section, ".data.rel.ro");

	memcpy(before + 64, &table, sizeof(table));
	module[22] = g->module_text;
	code[saves + GO_IMAGE_PUSH - 1] = 0x55; /* push %rbp */
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
