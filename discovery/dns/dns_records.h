/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a DNS response, as text, for service discovery.
 *
 * Sources: RFC 1035 3.3 (MX, NS), 3.4 (A) and 4.1 (messages), RFC 3596 (AAAA),
 * RFC 2782 (SRV).
 *
 * Threads: pure functions.
 */
#ifndef DISCOVERY_DNS_DNS_RECORDS_H
#define DISCOVERY_DNS_DNS_RECORDS_H

#include "base/bytes.h"
#include "base/err.h"

/* Types of records that make targets. */
enum dns_type {
	DNS_SRV,
	DNS_A,
	DNS_AAAA,
	DNS_MX,
	DNS_NS
};

enum {
	/*
	 * size of a buffer for a name as text: a name has at most 255 bytes,
	 * each of which can become \ and 3 digits
	 */
	DNS_NAME_MAX = 1025
};

/* One record of a response. */
struct dns_record {
	enum dns_type type;
	unsigned port; /* of an SRV record */
	/*
	 * For A and AAAA, the address; for other types, the host name with a
	 * dot at its end.
	 */
	char name[DNS_NAME_MAX];
};

/* Return the number that stands for `type` in DNS messages. */
int dns_type_number(enum dns_type type);

/*
 * Call found() for each record of the answer section that has the class IN and
 * a type of enum dns_type. Other records are skipped. ERR_CORRUPT: the response
 * is not valid.
 */
NODISCARD int dns_records_visit(struct bytes response,
				void (*found)(void *ctx,
					      const struct dns_record *r),
				void *ctx, struct err *err);

#endif
