/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that a proxy in front of the server could read in another way are
 * refused, by the bytes that they have.
 */
#include "tests/web/exchanges.h"

TestSuite(framing, .timeout = 60);

#define GET  "GET /read?a=1 HTTP/1.1\r\n"
#define POST "POST /read HTTP/1.1\r\n"
#define HOST "Host: a\r\n"
#define END  "\r\n"

/* The last request, as a bench received it. */
struct verdict {
	bool seen; /* libmicrohttpd did not refuse it by itself */
	enum framing framing;
};

static void note_verdict(struct exchange *x, void *ctx)
{
	struct verdict *v = ctx;

	*v = (struct verdict){ true, x->framing };
	/* Whatever follows must not be read as a body. */
	x->answer.status = 400;
	x->answer.content_type = "text/plain";
	answer_header(&x->answer, "Connection", "close");
}

/* Sends a request of len bytes, and returns the verdict on it. */
static struct verdict judge_bytes(const char *bytes, size_t len)
{
	struct verdict v = { 0 };
	struct bench *b = bench_start(NULL);

	b->head = note_verdict;
	b->ctx = &v;
	b->finish = true;
	bench_send(b, bytes, len, 1);
	cr_expect(!v.seen || bench_status(b) == 400);
	bench_stop(b);
	return v;
}

static struct verdict judge(const char *text)
{
	return judge_bytes(text, strlen(text));
}

/* Whether a request was refused, by us or by libmicrohttpd before we saw it. */
static bool is_refused(struct verdict v)
{
	return !v.seen || v.framing == FRAMING_AMBIGUOUS;
}

Test(framing, requests_that_are_clear_are_accepted)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "the smallest", GET HOST END },
		{ "no parameters", "GET / HTTP/1.1\r\n" HOST END },
		{ "an empty parameter", "GET /?a= HTTP/1.1\r\n" HOST END },
		{ "HTTP/1.0 without a host", "GET / HTTP/1.0\r\n" END },
		{ "HTTP/1.0 with a header", "GET / HTTP/1.0\r\nA: b\r\n" END },
		{ "a body with a length",
		  POST HOST "Content-Length: 3\r\n" END "a=1" },
		{ "a length of 0", POST HOST "Content-Length: 0\r\n" END },
		{ "no blank after the colon", GET "Host:a\r\n" END },
		{ "a tab after the colon", GET HOST "A:\tb\r\n" END },
		{ "blanks before the value", GET HOST "A:   b\r\n" END },
		{ "a tab in a value", GET HOST "A: b\tc\r\n" END },
		{ "a value that is empty", GET HOST "A:\r\n" END },
		{ "an empty value before the last header",
		  GET "A:\r\n" HOST END },
		{ "a colon in a value", GET HOST "A: b:c\r\n" END },
		{ "bytes above 127 in a value",
		  GET HOST "A: \xc3\xa9\xff\r\n" END },
		{ "two headers of one name", GET HOST "A: b\r\nA: c\r\n" END },
		{ "names in capitals", GET "HOST: a\r\n" END },
		{ "an escaped line end in the target",
		  "GET /%0d%0a HTTP/1.1\r\n" HOST END },
		{ "a header that is named like a length",
		  POST HOST "X-Content-Length: 9\r\n" END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v = judge(cases[i].text);

		cr_expect(v.seen, "not seen: %s", cases[i].what);
		cr_expect(v.framing == FRAMING_LENGTH, "%s", cases[i].what);
	}
}

Test(framing, two_lengths_or_encodings_are_refused)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "two lengths that differ", POST HOST
		  "Content-Length: 3\r\nContent-Length: 4\r\n" END "a=1" },
		{ "two lengths that agree", POST HOST
		  "Content-Length: 3\r\nContent-Length: 3\r\n" END "a=1" },
		{ "two lengths, written differently", POST HOST
		  "Content-Length: 3\r\ncontent-length: 3\r\n" END "a=1" },
		{ "chunked twice",
		  POST HOST "Transfer-Encoding: chunked\r\n"
			    "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n" },
		{ "a list of encodings", POST HOST
		  "Transfer-Encoding: gzip, chunked\r\n" END "0\r\n\r\n" },
		{ "chunked with a parameter", POST HOST
		  "Transfer-Encoding: chunked;a=b\r\n" END "0\r\n\r\n" },
		{ "chunked in HTTP/1.0",
		  "POST /read HTTP/1.0\r\n"
		  "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n" },
		{ "chunked and a length",
		  POST HOST "Content-Length: 5\r\n"
			    "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n" },
		{ "an encoding that nobody has",
		  POST HOST "Transfer-Encoding: xchunked\r\n" END },
		{ "an encoding of a request without a body",
		  GET HOST "Transfer-Encoding: identity\r\n" END },
		{ "an encoding that is empty",
		  POST HOST "Transfer-Encoding:\r\n" END },
		{ "a length that is negative",
		  POST HOST "Content-Length: -1\r\n" END },
		{ "a length that is no number",
		  POST HOST "Content-Length: 3x\r\n" END },
		{ "a length beyond 64 bits",
		  POST HOST "Content-Length: 99999999999999999999\r\n" END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

Test(framing, a_chunked_body_is_recognized)
{
	cr_expect(judge(POST HOST "Transfer-Encoding: chunked\r\n" END
				  "0\r\n\r\n")
			  .framing == FRAMING_CHUNKED);
	cr_expect(judge(POST HOST "TRANSFER-ENCODING: CHUNKED\r\n" END
				  "0\r\n\r\n")
			  .framing == FRAMING_CHUNKED);
}

Test(framing, a_host_is_named_once)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "two hosts", GET "Host: a\r\nHost: b\r\n" END },
		{ "one host twice", GET "Host: a\r\nHost: a\r\n" END },
		{ "two, written differently",
		  GET "Host: a\r\nHOST: a\r\n" END },
		{ "two of HTTP/1.0",
		  "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n" END },
		{ "none in HTTP/1.1", GET END },
		{ "none but a header", GET "Hosts: a\r\n" END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

Test(framing, lines_end_in_cr_lf)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "a bare LF after the request line",
		  "GET / HTTP/1.1\n" HOST END },
		{ "a bare LF after a header", GET "Host: a\n" END },
		{ "a bare LF between two headers",
		  GET "A: b\nHost: a\r\n" END },
		{ "a bare LF at the end", GET HOST "\n" },
		{ "bare LFs alone", "GET / HTTP/1.1\nHost: a\n\n" },
		{ "a bare CR in a value", GET HOST "A: b\rc\r\n" END },
		{ "a bare CR that hides a header",
		  GET HOST "A: b\rContent-Length: 5\r\n" END },
		{ "an empty value with a bare LF", GET "A:\nHost: a\r\n" END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

Test(framing, folded_lines_are_refused)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "a value over two lines", GET HOST "A: b\r\n c\r\n" END },
		{ "folded by a tab", GET HOST "A: b\r\n\tc\r\n" END },
		{ "folded before it begins", GET HOST "A:\r\n b\r\n" END },
		{ "a folded line that is blank", GET HOST "A: b\r\n \r\n" END },
		{ "a folded host", GET "Host: a\r\n b\r\n" END },
		{ "a folded header that is not the last",
		  GET "A: b\r\n c\r\n" HOST END },
		{ "a length behind a fold",
		  POST HOST "A: b\r\n Content-Length: 5\r\n" END },
		{ "a line folded onto the request line",
		  "GET / HTTP/1.1\r\n " HOST END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

Test(framing, names_and_values_have_no_blanks_and_controls)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "a blank before the colon", GET HOST "A : b\r\n" END },
		{ "a tab before the colon", GET HOST "A\t: b\r\n" END },
		{ "a blank before the colon of a length",
		  POST HOST "Content-Length : 3\r\n" END "a=1" },
		{ "a blank in a name", GET HOST "A b: c\r\n" END },
		{ "a control character in a name", GET HOST "A\x01"
							    "b: c\r\n" END },
		{ "a DEL in a name", GET HOST "A\x7f: c\r\n" END },
		{ "a name that is empty", GET HOST ": b\r\n" END },
		{ "no colon", GET HOST "Content-Length\r\n" END },
		{ "a control character in a value",
		  GET HOST "A: b\x01\r\n" END },
		{ "an escape character in a value",
		  GET HOST "A: \x1b[1m\r\n" END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

/*
 * A NUL is refused at every place from the target on. The test leaves out the
 * CR of a header: libmicrohttpd writes a NUL there itself, so nobody can tell
 * whether one was sent.
 */
Test(framing, a_nul_is_refused_from_the_target_on)
{
	static const char valid[] = GET "Host: abc\r\n" END;
	char bytes[sizeof(valid)];
	size_t len = sizeof(valid) - 1;

	for (size_t i = strlen("GET"); i < len; i++) {
		if (valid[i] == '\r' && i > strlen(GET))
			continue;
		memcpy(bytes, valid, len);
		bytes[i] = 0;
		cr_expect(is_refused(judge_bytes(bytes, len)), "at byte %zu",
			  i);
	}
}

Test(framing, a_second_nul_and_a_gap_are_refused)
{
	static const struct {
		const char *what;
		const char *text;
		size_t len;
	} cases[] = {
#define CASE(what, text) { what, text, sizeof(text) - 1 }
		CASE("a NUL that ends the target early",
		     "GET /a\0b HTTP/1.1\r\n" HOST END),
		CASE("a header behind a NUL",
		     GET HOST "A: b\0Content-Length: 5\r\n" END),
		CASE("a NUL instead of LF", GET HOST "A: b\r\0" END),
		CASE("a NUL at the end of the headers", GET HOST "\0\r\n"),
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge_bytes(cases[i].text, cases[i].len)),
			  "%s", cases[i].what);
}

Test(framing, the_request_line_has_three_words)
{
	static const struct {
		const char *what;
		const char *text;
	} cases[] = {
		{ "no version", "GET /\r\n" HOST END },
		{ "a version that does not exist", "GET / HTTP/1.2\r\n" END },
		{ "a lower-case version", "GET / http/1.1\r\n" HOST END },
		{ "a fourth word", "GET / x HTTP/1.1\n" HOST END },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(judge(cases[i].text)), "%s",
			  cases[i].what);
}

/*
 * Judges a request with a header whose value is `blanks` blanks behind the
 * colon.
 */
static struct verdict judge_distance(size_t blanks)
{
	struct buf text = { 0 };
	struct verdict v;

	buf_str(&text, GET HOST "A:");
	for (size_t i = 0; i < blanks; i++)
		buf_byte(&text, ' ');
	buf_str(&text, "b\r\n" END);
	v = judge_bytes((const char *)text.ptr, text.len);
	buf_fini(&text);
	return v;
}

Test(framing, a_value_is_at_most_256_bytes_behind_its_name)
{
	struct verdict near = judge_distance(255);

	cr_assert(near.seen);
	cr_expect(near.framing == FRAMING_LENGTH);
	/* A strict library needs no search for gaps, and has no such limit. */
	if (framing_strictness())
		return;
	cr_expect(is_refused(judge_distance(256)));
	cr_expect(is_refused(judge_distance(4000)));
}

/*
 * Adds a request to the list of all requests of its connection: method, body,
 * and whether it is ambiguous.
 */
static void note_body(struct exchange *x, void *ctx)
{
	struct buf *bodies = ctx;

	buf_printf(bodies, "%.*s %.*s%s;", STR_ARG(x->request.method),
		   (int)x->form.len, (const char *)x->form.ptr,
		   x->framing == FRAMING_AMBIGUOUS ? " ambiguous" : "");
}

Test(framing, requests_one_behind_the_other_are_each_judged)
{
	static const char text[] = POST HOST
		"Content-Length: 3\r\n" END "a=1" GET HOST END POST HOST
		"A : b\r\nContent-Length: 3\r\n" END "b=2";
	struct bench *b = bench_start(NULL);
	struct buf bodies = { 0 };

	b->look = note_body;
	b->ctx = &bodies;
	bench_send(b, text, sizeof(text) - 1, 3);
	/* A strict library refuses the last one before it is seen here. */
	cr_expect(check_str(str_from(buf_bytes(&bodies)),
			    framing_strictness() ?
				    "POST a=1;GET ;" :
				    "POST a=1;GET ;POST b=2 ambiguous;"));
	bench_stop(b);
	buf_fini(&bodies);
}
