/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of .gopclntab, the table in which a Go program, even a stripped one,
 * has its functions and lines (Go, debug/gosym/pclntab.go and
 * runtime/symtab.go). The parser knows the formats that Go 1.2, 1.16, 1.18 and
 * 1.20 introduced. The parser runs in the file helper (file_helper.h), because
 * the table may be hostile.
 *
 * Ownership: a table borrows the bytes of the section.
 * Threads: immutable after pclntab_parse().
 */
#ifndef SYMBOLS_FILE_PCLNTAB_H
#define SYMBOLS_FILE_PCLNTAB_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	/*
	 * Largest size in bytes of the section that contains the table, and of
	 * .text; the table of Kubernetes has 30 MB.
	 */
	PCLNTAB_MAX = 512 << 20,
};

/* A table that was parsed: its parts, and what is needed to read them. */
struct pclntab {
	struct bytes all;
	struct bytes names;
	struct bytes units; /* positions in `files`, by compilation unit */
	struct bytes files;
	struct bytes steps;     /* lists of values, see struct pclntab_steps */
	struct bytes functions; /* list of functions, then their entries */
	unsigned version;       /* 2, 16, 18 or 20 */
	unsigned pointer;       /* size of an address in bytes */
	unsigned quantum; /* instructions begin at multiples of this number */
	unsigned cell;  /* size in bytes of a number in the list of functions */
	uint64_t count; /* number of functions */
	uint64_t text;  /* address of Go's code; 0 in tables before Go 1.18 */
};

/* A function of Go at an address. */
struct go_function {
	struct str name;
	struct str file; /* empty: not known */
	uint64_t line;   /* 0: not known */
	uint64_t start_line;
};

/*
 * Parse the table of functions that begins with the first byte of `table`.
 * `text` is the address of Go's code; it is used for tables since Go 1.18 that
 * do not contain this address. ERR_UNSUPPORTED: no table of functions begins at
 * the first byte, or its version is unknown; ERR_CORRUPT: the table of
 * functions is damaged.
 */
NODISCARD int pclntab_parse(struct bytes table, uint64_t text,
			    struct pclntab *out, struct err *err);

/* What Go's tools have noted of a function (since Go 1.18). */
enum go_code_flag {
	GO_OUTERMOST = 1, /* no function has called this one */
	/* the function sets the stack pointer to an arbitrary value */
	GO_MOVES_STACK = 2,
	GO_ASSEMBLER = 4,
};

/* A part of a function in which the stack pointer stays where it is. */
struct go_code {
	struct str name;   /* of functions in assembler, else empty */
	uint64_t function; /* address of the function */
	unsigned flags;    /* a set of enum go_code_flag */
	uint64_t from;     /* address of the part */
	/*
	 * By how many bytes the function has lowered the stack pointer. On
	 * x86-64, the return address is this many bytes above the stack
	 * pointer. In functions with GO_MOVES_STACK, Go's tools do not know the
	 * number.
	 */
	int64_t depth;
	bool rest; /* it is the last part of the function */
};

typedef void pclntab_visit(void *ctx, const struct go_code *c);

/*
 * Call `visit` with `ctx` for each part of each function, in the order of
 * addresses. Store in *end the address where the last function ends, or 0 if
 * there is none. Functions with damaged entries are left out; of a function
 * whose list of depths is damaged, the parts behind the damage are left out.
 */
void pclntab_stack_depths(const struct pclntab *t, pclntab_visit *visit,
			  void *ctx, uint64_t *end);

/*
 * Find the function that contains `address`. False: there is none, or its entry
 * or its name is damaged.
 */
NODISCARD bool pclntab_find(const struct pclntab *t, uint64_t address,
			    struct go_function *out);

#endif
