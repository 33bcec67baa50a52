/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of DNS responses, and of resolv.conf after a first byte
 * 'R'.
 */
#include "base/mem.h"
#include "discovery/dns/dns_records.h"
#include "discovery/dns/dns_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name is text without control characters, and ends in a dot. */
static void check_record(void *ctx, const struct dns_record *r)
{
	size_t len = strlen(r->name);

	(void)ctx;
	if (!len || len >= DNS_NAME_MAX)
		__builtin_trap();
	if (r->type != DNS_A && r->type != DNS_AAAA && r->name[len - 1] != '.')
		__builtin_trap();
	for (size_t i = 0; i < len; i++) {
		if (r->name[i] < ' ' || r->name[i] > '~')
			__builtin_trap();
	}
}

static void read_search(struct str text)
{
	struct dns_search s;
	char *name;

	dns_search_parse(text, &s);
	for (size_t i = 0; (name = dns_search_name(&s, str_of("a.b"), i)); i++)
		mem_free(name);
	dns_search_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	int rc;

	if (size && data[0] == 'R')
		read_search(str_from((struct bytes){ data + 1, size - 1 }));
	rc = dns_records_visit(b, check_record, NULL, NULL);
	if (rc && rc != ERR_CORRUPT)
		__builtin_trap();
	return 0;
}
