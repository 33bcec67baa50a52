/* SPDX-License-Identifier: Apache-2.0 */
/* DNS responses, built byte by byte, and the records that are read from them. */
#include "base/buf.h"
#include "discovery/dns/dns_records.h"
#include "tests/check.h"

TestSuite(dns_records, .timeout = 20);

/* Numbers of types, RFC 1035 3.2.2 and later ones. */
enum {
	A = 1,
	NS = 2,
	CNAME = 5,
	MX = 15,
	TXT = 16,
	AAAA = 28,
	SRV = 33
};

static void put16(struct buf *b, unsigned v)
{
	buf_byte(b, (uint8_t)(v >> 8));
	buf_byte(b, (uint8_t)v);
}

/* Writes a name without compression; "" is the root. */
static void put_name(struct buf *b, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		buf_byte(b, (uint8_t)n);
		buf_add(b, name, n);
		name += n + (name[n] == '.');
	}
	buf_byte(b, 0);
}

/* Begins a response with a question and room for `count` answers. */
static void begin(struct buf *b, unsigned count)
{
	static const uint8_t start[] = { 0x12, 0x34, 0x81, 0x80, 0, 1 };

	b->len = 0;
	buf_add(b, start, sizeof(start));
	put16(b, count);
	put16(b, 0);
	put16(b, 0);
	put_name(b, "q.example");
	put16(b, A);
	put16(b, 1);
}

/* Writes a record of the name in the question. */
static void put_record(struct buf *b, unsigned type, unsigned class,
		       const void *data, size_t len)
{
	put16(b, 0xc00c); /* a pointer to the question's name */
	put16(b, type);
	put16(b, class);
	put16(b, 0);
	put16(b, 60);
	put16(b, (unsigned)len);
	buf_add(b, data, len);
}

/* Writes a record whose data is `before`, and then a name. */
static void put_name_record(struct buf *b, unsigned type, const void *before,
			    size_t len, const char *name)
{
	struct buf data = { 0 };

	buf_add(&data, before, len);
	put_name(&data, name);
	put_record(b, type, 1, data.ptr, data.len);
	buf_fini(&data);
}

static void list(void *ctx, const struct dns_record *r)
{
	buf_printf(ctx, "%d/%u/%s ", (int)r->type, r->port, r->name);
}

static bool reads_as(const struct buf *b, const char *want)
{
	struct buf text = { 0 };
	struct err err;
	bool ok;

	if (dns_records_visit(buf_bytes(b), list, &text, &err))
		buf_str(&text, "error");
	ok = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	return ok;
}

Test(dns_records, each_type_is_read)
{
	static const uint8_t v6[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 1 };
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 192, 0, 2, 9 };
	struct buf b = { 0 };

	begin(&b, 9);
	put_record(&b, A, 1, "\xc0\0\2\1", 4);
	put_record(&b, AAAA, 1, v6, 16);
	put_record(&b, AAAA, 1, mapped, 16);
	put_name_record(&b, MX, "\0\12", 2, "mail.example");
	put_name_record(&b, NS, "", 0, "ns.example");
	put_name_record(&b, SRV, "\0\1\0\2\x1f\x90", 6, "Host.example");
	put_name_record(&b, CNAME, "", 0, "other.example");
	put_record(&b, TXT, 1, "\1x", 2);
	put_record(&b, A, 3, "\xc0\0\2\1", 4); /* class CHAOS */
	cr_expect(reads_as(&b, "1/0/192.0.2.1 2/0/2001:db8::1 2/0/192.0.2.9 "
			       "3/0/mail.example. 4/0/ns.example. "
			       "0/8080/Host.example. "));
	begin(&b, 0);
	cr_expect(reads_as(&b, ""));
	begin(&b, 2);
	put_name_record(&b, SRV, "\0\1\0\2\0\1", 6, "");
	put_name_record(&b, SRV, "\0\1\0\2\0\2", 6, "a b\\.example");
	cr_expect(reads_as(&b, "0/1/. 0/2/a\\032b\\\\.example. "));
	buf_fini(&b);
}

Test(dns_records, bad_records_are_refused)
{
	struct buf b = { 0 };

	begin(&b, 1);
	put_record(&b, A, 1, "\xc0\0\2", 3);
	cr_expect(reads_as(&b, "error"), "a short address");
	begin(&b, 1);
	put_record(&b, AAAA, 1, "\xc0\0\2\1", 4);
	cr_expect(reads_as(&b, "error"), "an IPv4 address as AAAA");
	begin(&b, 1);
	put_record(&b, SRV, 1, "\0\1\0\2\0\1", 6);
	cr_expect(reads_as(&b, "error"), "no name");
	begin(&b, 1);
	put_record(&b, NS, 1, "\xc0\xff", 2);
	cr_expect(reads_as(&b, "error"), "a pointer beyond the end");
	begin(&b, 1);
	put_record(&b, MX, 1,
		   "\0\1\x05"
		   "abc",
		   6);
	cr_expect(reads_as(&b, "error"), "a label that is cut");
	begin(&b, 3);
	put_record(&b, A, 1, "\xc0\0\2\1", 4);
	cr_expect(reads_as(&b, "error"), "fewer than announced");
	buf_fini(&b);
}

/* A response that is cut anywhere is refused, and nothing is read beyond it. */
Test(dns_records, cut_responses_are_refused)
{
	struct buf b = { 0 };

	begin(&b, 2);
	put_record(&b, A, 1, "\xc0\0\2\1", 4);
	put_name_record(&b, SRV, "\0\1\0\2\x1f\x90", 6, "host.example");
	for (size_t len = 0; len < b.len; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		struct buf text = { 0 };
		struct err err;

		memcpy(copy, b.ptr, len);
		cr_expect(dns_records_visit((struct bytes){ copy, len }, list,
					    &text, &err) == ERR_CORRUPT,
			  "%zu", len);
		free(copy);
		buf_fini(&text);
	}
	cr_expect(reads_as(&b, "1/0/192.0.2.1 0/8080/host.example. "));
	buf_fini(&b);
}
