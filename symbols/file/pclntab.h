/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of functions and lines of Go programs, .gopclntab, which they have
 * even if they are stripped (Go, debug/gosym/pclntab.go and
 * runtime/symtab.go). Knows the formats of Go 1.2, 1.16, 1.18 and 1.20. Runs in
 * the file helper, because the table may be hostile.
 *
 * Ownership: a table borrows the bytes of the section.
 * Threads: immutable after pclntab_parse().
 */
#ifndef SYMBOLS_FILE_PCLNTAB_H
#define SYMBOLS_FILE_PCLNTAB_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	/* Largest size of the section; that of Kubernetes has 30 MB. */
	PCLNTAB_MAX = 512 << 20,
};

/* The parts of a table. */
struct pclntab {
	struct bytes all;
	struct bytes names;
	struct bytes units; /* numbers of files by compilation unit */
	struct bytes files;
	struct bytes steps;     /* encoded changes of values */
	struct bytes functions; /* addresses, then entries */
	unsigned version;       /* 2, 16, 18 or 20 */
	unsigned pointer;       /* size of an address in bytes */
	unsigned quantum;       /* addresses are multiples of it */
	unsigned cell;          /* size of a number in the list of functions */
	uint64_t count;         /* number of functions */
	uint64_t text;          /* address to which others are relative */
};

/* A function of Go at an address. */
struct go_function {
	struct str name;
	struct str file; /* empty: not known */
	uint64_t line;   /* 0: not known */
	uint64_t start_line;
};

/*
 * Parse the table at the beginning of these bytes. `text` is the address of the
 * program's code, for tables that do not contain it. ERR_UNSUPPORTED: there is
 * no table, or its version is unknown; ERR_CORRUPT: it is damaged.
 */
NODISCARD int pclntab_parse(struct bytes table, uint64_t text,
			    struct pclntab *out, struct err *err);

/* What Go's tools have noted of a function (since Go 1.18). */
enum go_code_flag {
	GO_OUTERMOST = 1,   /* nobody has called it */
	GO_MOVES_STACK = 2, /* it loads the stack pointer from elsewhere */
	GO_ASSEMBLER = 4,
};

/* A part of a function in which the stack pointer stays where it is. */
struct go_code {
	struct str name;   /* of functions in assembler, else empty */
	uint64_t function; /* address of the function */
	unsigned flags;    /* a set of enum go_code_flag */
	uint64_t from;     /* address of the part */
	/*
	 * Distance of the stack pointer below the return address, in bytes.
	 * Go's tools do not know it in functions with GO_MOVES_STACK.
	 */
	int64_t depth;
	bool rest; /* it is the last part of the function */
};

typedef void pclntab_visit(void *ctx, const struct go_code *c);

/*
 * Call `visit` for the parts of all functions, in the order of their addresses,
 * and store in *end where the last function ends. Damaged functions are left
 * out.
 */
void pclntab_stack_depths(const struct pclntab *t, pclntab_visit *visit,
			  void *ctx, uint64_t *end);

/* Find the function at an address. False: there is none. */
NODISCARD bool pclntab_find(const struct pclntab *t, uint64_t address,
			    struct go_function *out);

#endif
