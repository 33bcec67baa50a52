/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_code.h"

#define TIMEOUT_DIGITS 8

enum grpc_code grpc_code_of(int err)
{
	/*
	 * A sender of OpenTelemetry's protocol tries again after UNAVAILABLE and
	 * DEADLINE_EXCEEDED. RESOURCE_EXHAUSTED would need more than a code.
	 */
	static const struct {
		int err;
		enum grpc_code code;
	} codes[] = {
		{ 0, GRPC_OK },
		{ ERR_INVALID, GRPC_INVALID_ARGUMENT },
		{ ERR_CORRUPT, GRPC_INVALID_ARGUMENT },
		{ ERR_EXISTS, GRPC_INVALID_ARGUMENT },
		{ ERR_TOOBIG, GRPC_INVALID_ARGUMENT },
		{ ERR_MEDIA, GRPC_UNIMPLEMENTED },
		{ ERR_NOTFOUND, GRPC_NOT_FOUND },
		{ ERR_UNSUPPORTED, GRPC_UNIMPLEMENTED },
		{ ERR_UNAUTHORIZED, GRPC_UNAUTHENTICATED },
		{ ERR_DENIED, GRPC_PERMISSION_DENIED },
		{ ERR_TIMEOUT, GRPC_DEADLINE_EXCEEDED },
		{ ERR_LIMIT, GRPC_UNAVAILABLE },
		{ ERR_NOSPACE, GRPC_UNAVAILABLE },
		{ ERR_BUSY, GRPC_UNAVAILABLE },
		{ ERR_AGAIN, GRPC_UNAVAILABLE },
		{ ERR_CLOSED, GRPC_UNAVAILABLE },
		{ ERR_IO, GRPC_UNAVAILABLE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].err == err)
			return codes[i].code;
	}
	return GRPC_INTERNAL;
}

const char *grpc_code_name(enum grpc_code code)
{
	switch (code) {
	case GRPC_OK:
		return "OK";
	case GRPC_INVALID_ARGUMENT:
		return "INVALID_ARGUMENT";
	case GRPC_DEADLINE_EXCEEDED:
		return "DEADLINE_EXCEEDED";
	case GRPC_NOT_FOUND:
		return "NOT_FOUND";
	case GRPC_PERMISSION_DENIED:
		return "PERMISSION_DENIED";
	case GRPC_UNIMPLEMENTED:
		return "UNIMPLEMENTED";
	case GRPC_UNAVAILABLE:
		return "UNAVAILABLE";
	case GRPC_UNAUTHENTICATED:
		return "UNAUTHENTICATED";
	case GRPC_INTERNAL:
		break;
	}
	return "INTERNAL";
}

/* Return the length of a unit of grpc-timeout in ns; 0: there is no such unit. */
static int64_t grpc_code_unit(char unit)
{
	switch (unit) {
	case 'H':
		return 3600 * 1000000000LL;
	case 'M':
		return 60 * 1000000000LL;
	case 'S':
		return 1000000000;
	case 'm':
		return 1000000;
	case 'u':
		return 1000;
	case 'n':
		return 1;
	default:
		return 0;
	}
}

int grpc_code_timeout(const char *text, int64_t *ns, struct err *err)
{
	struct str digits = str_of(text);
	int64_t number = 0;
	int64_t unit = 0;

	if (digits.len) {
		unit = grpc_code_unit(digits.ptr[--digits.len]);
		if (digits.len > TIMEOUT_DIGITS || !str_to_i64(digits, &number))
			unit = 0;
	}
	if (!unit || number < 0)
		return err_set(
			err, ERR_INVALID,
			"invalid header grpc-timeout \"%.20s\": it must be up to 8 digits and one of H, M, S, m, u and n",
			text);
	/* 10^8 hours do not fit; nobody waits for a year. */
	if (number > INT64_MAX / 2 / unit)
		number = INT64_MAX / 2 / unit;
	*ns = number * unit;
	return 0;
}
