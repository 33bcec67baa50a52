/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's parser (arpa/nameser.h) reads the response: it checks the
 * bounds of every record and name.
 */
#include "discovery/dns/dns_records.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <stdio.h>

/* Bytes before the name in the data of an SRV and of an MX record. */
#define SRV_NAME 6
#define MX_NAME  2
#define SRV_PORT 4 /* offset of the port in the data of an SRV record */

/* The types in the order of enum dns_type. */
static const struct {
	ns_type number;
	/* offset of the name; for A and AAAA, length of the address */
	size_t name_at;
} types[] = {
	[DNS_SRV] = { ns_t_srv, SRV_NAME }, [DNS_A] = { ns_t_a, 4 },
	[DNS_AAAA] = { ns_t_aaaa, 16 },     [DNS_MX] = { ns_t_mx, MX_NAME },
	[DNS_NS] = { ns_t_ns, 0 },
};

int dns_type_number(enum dns_type type)
{
	return (int)types[type].number;
}

/*
 * Write the address of a record as text. As in Prometheus, an IPv4-mapped IPv6
 * address is written as the IPv4 address. Returns false if the length of the
 * address is wrong.
 */
static bool read_address(ns_rr rr, struct dns_record *r)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *data = ns_rr_rdata(rr);
	int family = r->type == DNS_A ? AF_INET : AF_INET6;

	if (ns_rr_rdlen(rr) != types[r->type].name_at)
		return false;
	if (family == AF_INET6 && !memcmp(data, mapped, sizeof(mapped))) {
		family = AF_INET;
		data += sizeof(mapped);
	}
	return inet_ntop(family, data, r->name, sizeof(r->name)) != NULL;
}

/*
 * Read the host name of a record as text, with a dot at its end, and the port
 * of an SRV record.
 */
static bool read_name(const ns_msg *m, ns_rr rr, struct dns_record *r)
{
	size_t at = types[r->type].name_at;
	size_t len;

	if (ns_rr_rdlen(rr) <= at ||
	    ns_name_uncompress(ns_msg_base(*m), ns_msg_end(*m),
			       ns_rr_rdata(rr) + at, r->name,
			       sizeof(r->name) - 1) < 0)
		return false;
	if (r->type == DNS_SRV)
		r->port = ns_get16(ns_rr_rdata(rr) + SRV_PORT);
	len = strlen(r->name);
	if (!len || r->name[len - 1] != '.')
		memcpy(r->name + len, ".", 2);
	return true;
}

/*
 * Read a record. Returns 1 on success, 0 if the class of the record is not IN
 * or its type is not in enum dns_type, and -1 if the record is not valid.
 */
static int read_record(const ns_msg *m, ns_rr rr, struct dns_record *r)
{
	if (ns_rr_class(rr) != ns_c_in)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		bool ok;

		if (ns_rr_type(rr) != types[i].number)
			continue;
		*r = (struct dns_record){ .type = (enum dns_type)i };
		ok = i == DNS_A || i == DNS_AAAA ? read_address(rr, r) :
						   read_name(m, rr, r);
		return ok ? 1 : -1;
	}
	return 0;
}

int dns_records_visit(struct bytes response,
		      void (*found)(void *ctx, const struct dns_record *r),
		      void *ctx, struct err *err)
{
	struct dns_record r;
	ns_msg m;
	ns_rr rr;
	int rc;

	if (response.len > NS_MAXMSG ||
	    ns_initparse(response.ptr, (int)response.len, &m))
		return err_set(err, ERR_CORRUPT,
			       "the name server's response is not valid");
	for (int i = 0; i < ns_msg_count(m, ns_s_an); i++) {
		rc = ns_parserr(&m, ns_s_an, i, &rr) ? -1 :
						       read_record(&m, rr, &r);
		if (rc < 0)
			return err_set(
				err, ERR_CORRUPT,
				"the name server's response has a record that is not valid");
		if (rc)
			found(ctx, &r);
	}
	return 0;
}
