/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
enum {
	/*
	 * Size of the buffer for a line; names have at most 511 bytes
	 * (KSYM_NAME_LEN).
	 */
	KALLSYMS_LINE_MAX = 1024,
	/* Largest size of all names in bytes; a kernel has about 3 MB. */
	KALLSYMS_NAMES_MAX = 64 << 20,
};

/* Whether a type, as nm(1) shows it, is that of code. */
static bool kallsyms_is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Add the symbol of a line, if it is a function. */
static void kallsyms_add(struct kallsyms *k, struct str line)
{
	struct str address = str_cut(line, ' ', &line);
	struct str type = str_cut(line, ' ', &line);
	struct str name = str_trim(str_cut(line, '\t', &line));
	uint64_t value = 0;

	if (type.len != 1 || !kallsyms_is_code(type.ptr[0]) || !name.len ||
	    !address.len || address.len > 16)
		return;
	for (size_t i = 0; i < address.len; i++) {
		int digit = digit_hex_value(address.ptr[i]);

		if (digit < 0)
			return;
		value = value << 4 | (uint64_t)digit;
	}
	*vec_add(&k->symbols) =
		(struct kernel_symbol){ .address = value,
					.name = (uint32_t)k->names.len };
	buf_add(&k->names, name.ptr, name.len);
	buf_byte(&k->names, 0);
}

static int kernel_symbol_order(const void *a, const void *b)
{
	const struct kernel_symbol *x = a;
	const struct kernel_symbol *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int kallsyms_read(struct kallsyms *k, const char *path, struct err *err)
{
	char line[KALLSYMS_LINE_MAX];
	FILE *f = fopen(path, "re");
	uint64_t any = 0;
	bool is_over;

	if (!f)
		return err_sys(err, "open %s", path);
	k->names.max = KALLSYMS_NAMES_MAX;
	while (fgets(line, sizeof(line), f) && !k->names.over)
		kallsyms_add(k, str_of(line));
	fclose(f);
	if (k->symbols.count)
		qsort(k->symbols.v, k->symbols.count, sizeof(*k->symbols.v),
		      kernel_symbol_order);
	for (size_t i = 0; i < k->symbols.count; i++)
		any |= k->symbols.v[i].address;
	if (any && !k->names.over)
		return 0;
	is_over = k->names.over;
	kallsyms_fini(k);
	if (is_over)
		return err_set(err, ERR_TOOBIG,
			       "the names in %s have more than %d MB", path,
			       KALLSYMS_NAMES_MAX >> 20);
	return err_set(
		err, ERR_DENIED,
		"%s has no addresses; names of the kernel's functions need the capability CAP_SYSLOG, and kernel.kptr_restrict below 2",
		path);
}

void kallsyms_fini(struct kallsyms *k)
{
	vec_fini(&k->symbols);
	buf_fini(&k->names);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t low = vec_partition_point(&k->symbols, e, e->address <= address);

	if (!low)
		return NULL;
	/* If an address has several names, return the first one. */
	for (low--;
	     low && k->symbols.v[low - 1].address == k->symbols.v[low].address;)
		low--;
	return (const char *)k->names.ptr + k->symbols.v[low].name;
}
