/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_server_config in web.yml: what each key sets, mistakes with their place,
 * and which client certificates are accepted, in handshakes without a network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <unistd.h>

#include "base/file_slurp.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "web/auth/auth.h"
#include "web/auth/web_config.h"

TestSuite(tls_config, .timeout = 60);

/* A certificate and its key, each also as PEM. */
struct issued {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	char crt_pem[4096];
	char key_pem[4096];
};

/* The contents of a certificate that tests compare. */
struct issue {
	const char *name;
	bool ca;
	const char *purpose; /* an OID; NULL: none */
	const char *dns;     /* alternative names; NULL: none */
	const char *address;
	time_t until; /* 0: next year */
};

static void must(int rc)
{
	cr_assert(rc >= 0, "%s", gnutls_strerror(rc));
}

/* Issues a certificate. If issuer is NULL, the certificate signs itself. */
static void issue(struct issued *out, const struct issue *i,
		  const struct issued *issuer)
{
	static uint8_t serial;
	uint8_t four[4];
	size_t n = sizeof(out->crt_pem);
	size_t k = sizeof(out->key_pem);

	serial++;
	must(gnutls_x509_privkey_init(&out->key));
	must(gnutls_x509_privkey_generate(
		out->key, GNUTLS_PK_ECDSA,
		GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	must(gnutls_x509_crt_init(&out->crt));
	must(gnutls_x509_crt_set_version(out->crt, 3));
	must(gnutls_x509_crt_set_serial(out->crt, &serial, 1));
	must(gnutls_x509_crt_set_dn_by_oid(out->crt,
					   GNUTLS_OID_X520_COMMON_NAME, 0,
					   i->name, (unsigned)strlen(i->name)));
	must(gnutls_x509_crt_set_key(out->crt, out->key));
	must(gnutls_x509_crt_set_activation_time(out->crt, 86400));
	must(gnutls_x509_crt_set_expiration_time(
		out->crt,
		i->until ? i->until : time(NULL) + (time_t)365 * 86400));
	must(gnutls_x509_crt_set_basic_constraints(out->crt, i->ca, -1));
	must(gnutls_x509_crt_set_key_usage(
		out->crt, i->ca ? GNUTLS_KEY_KEY_CERT_SIGN :
				  GNUTLS_KEY_DIGITAL_SIGNATURE));
	if (i->purpose)
		must(gnutls_x509_crt_set_key_purpose_oid(out->crt, i->purpose,
							 0));
	if (i->dns)
		must(gnutls_x509_crt_set_subject_alt_name(
			out->crt, GNUTLS_SAN_DNSNAME, i->dns,
			(unsigned)strlen(i->dns), GNUTLS_FSAN_APPEND));
	if (i->address && inet_pton(AF_INET, i->address, four) == 1)
		must(gnutls_x509_crt_set_subject_alt_name(
			out->crt, GNUTLS_SAN_IPADDRESS, four, 4,
			GNUTLS_FSAN_APPEND));
	must(gnutls_x509_crt_sign2(out->crt, issuer ? issuer->crt : out->crt,
				   issuer ? issuer->key : out->key,
				   GNUTLS_DIG_SHA256, 0));
	must(gnutls_x509_crt_export(out->crt, GNUTLS_X509_FMT_PEM, out->crt_pem,
				    &n));
	must(gnutls_x509_privkey_export(out->key, GNUTLS_X509_FMT_PEM,
					out->key_pem, &k));
	out->crt_pem[n] = 0;
	out->key_pem[k] = 0;
}

static void issued_fini(struct issued *i)
{
	gnutls_x509_crt_deinit(i->crt);
	gnutls_x509_privkey_deinit(i->key);
}

/* A folder with the files that configurations name. */
struct files {
	struct tempdir dir;
	struct issued ca;
	struct issued server;
	struct issued other; /* signs itself */
};

static void put(const struct files *f, const char *name, const char *text)
{
	char path[300];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", f->dir.path, name);
	out = fopen(path, "w");
	cr_assert(out);
	cr_assert(fputs(text, out) >= 0);
	cr_assert(!fclose(out));
}

static void begin(struct files *f)
{
	f->dir = tempdir_make();
	issue(&f->ca, &(struct issue){ .name = "ca", .ca = true }, NULL);
	issue(&f->server,
	      &(struct issue){ .name = "server",
			       .purpose = GNUTLS_KP_TLS_WWW_SERVER },
	      &f->ca);
	issue(&f->other, &(struct issue){ .name = "other" }, NULL);
	put(f, "ca.pem", f->ca.crt_pem);
	put(f, "cert.pem", f->server.crt_pem);
	put(f, "key.pem", f->server.key_pem);
	put(f, "other.pem", f->other.key_pem);
	put(f, "empty.pem", "");
	put(f, "text.pem", "no certificate");
}

static void end(struct files *f)
{
	issued_fini(&f->ca);
	issued_fini(&f->server);
	issued_fini(&f->other);
	tempdir_fini(&f->dir);
}

/* Parses a configuration in the folder. The text is its tls_server_config. */
static int parse(const struct files *f, struct web_config *c, const char *text,
		 struct err *err)
{
	static char path[300];
	char all[9000];

	snprintf(path, sizeof(path), "%s/web.yml", f->dir.path);
	snprintf(all, sizeof(all), "tls_server_config:\n%s\n", text);
	return web_config_parse(c, path, bytes_of(str_of(all)), err);
}

static void parse_good(const struct files *f, struct web_config *c,
		       const char *text)
{
	struct err err = { 0 };

	cr_assert(!parse(f, c, text, &err), "%s: %s", text, err.msg);
}

#define PAIR "  cert_file: cert.pem\n  key_file: key.pem\n"

Test(tls_config, files_are_read_relative_to_the_configuration)
{
	struct files f;
	struct web_config c;

	begin(&f);
	parse_good(&f, &c, PAIR);
	cr_expect(check_str(c.tls.cert, f.server.crt_pem));
	cr_expect(check_str(c.tls.key, f.server.key_pem));
	cr_assert(!c.tls.client_ca.len);
	cr_assert(!c.tls.trust);
	cr_expect(!c.tls.san_count);
	cr_expect(c.tls.client_auth == WEB_CLIENT_NONE);
	cr_expect(c.tls.min_version == WEB_TLS_DEFAULT);
	cr_expect(c.tls.max_version == WEB_TLS_DEFAULT);
	/* The files are web.yml, the certificate and the key. */
	cr_expect(c.file_count == 3);
	web_config_fini(&c);
	end(&f);
}

Test(tls_config, a_changed_file_is_noticed)
{
	static const char *const names[] = { "cert.pem", "key.pem", "ca.pem" };
	struct files f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct web_config c;
		char path[300];

		parse_good(&f, &c,
			   PAIR "  client_ca_file: ca.pem\n"
				"  client_auth_type: "
				"RequireAndVerifyClientCert\n");
		put(&f, "web.yml", "x");
		c.files[0].stamp = file_stamp(c.files[0].path);
		cr_expect(!web_config_is_stale(&c));
		snprintf(path, sizeof(path), "%s/%s", f.dir.path, names[i]);
		cr_assert(!truncate(path, 3));
		cr_expect(web_config_is_stale(&c), "%s", names[i]);
		web_config_fini(&c);
		put(&f, "ca.pem", f.ca.crt_pem);
		put(&f, "cert.pem", f.server.crt_pem);
		put(&f, "key.pem", f.server.key_pem);
	}
	end(&f);
}

Test(tls_config, names_of_client_auth_are_those_of_go)
{
	static const struct {
		const char *name;
		enum web_client_auth auth;
		bool needs;
		bool verifies;
		bool ca;
	} cases[] = {
		{ "''", WEB_CLIENT_NONE, false, false, false },
		{ "NoClientCert", WEB_CLIENT_NONE, false, false, false },
		{ "RequestClientCert", WEB_CLIENT_REQUESTED, false, false,
		  false },
		{ "RequireAnyClientCert", WEB_CLIENT_ANY, true, false, false },
		{ "RequireClientCert", WEB_CLIENT_ANY, true, false, false },
		{ "VerifyClientCertIfGiven", WEB_CLIENT_VERIFIED_IF_GIVEN,
		  false, true, true },
		{ "RequireAndVerifyClientCert", WEB_CLIENT_VERIFIED, true, true,
		  true },
	};
	struct files f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;
		char text[200];

		snprintf(text, sizeof(text), PAIR "  client_auth_type: %s\n%s",
			 cases[i].name,
			 cases[i].ca ? "  client_ca_file: ca.pem\n" : "");
		parse_good(&f, &c, text);
		cr_expect(c.tls.client_auth == cases[i].auth, "%s",
			  cases[i].name);
		cr_expect(web_config_needs_certificate(&c.tls) ==
				  cases[i].needs,
			  "%s", cases[i].name);
		cr_expect(web_config_verifies(&c.tls) == cases[i].verifies,
			  "%s", cases[i].name);
		cr_expect(!!c.tls.trust == cases[i].ca, "%s", cases[i].name);
		web_config_fini(&c);
	}
	end(&f);
}

Test(tls_config, versions_decide_what_is_offered)
{
	static const struct {
		const char *text;
		bool tls12;
		bool tls13;
	} cases[] = {
		{ "", true, true },
		{ "  min_version: TLS12\n", true, true },
		{ "  min_version: TLS13\n", false, true },
		{ "  max_version: TLS12\n", true, false },
		{ "  max_version: TLS13\n", true, true },
		{ "  min_version: TLS12\n  max_version: TLS12\n", true, false },
		{ "  min_version: TLS13\n  max_version: TLS13\n", false, true },
	};
	struct files f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;
		gnutls_priority_t p;
		const char *at;
		char text[200];

		snprintf(text, sizeof(text), PAIR "%s", cases[i].text);
		parse_good(&f, &c, text);
		at = tls_priorities(&c.tls);
		cr_expect(!!strstr(at, "+VERS-TLS1.2") == cases[i].tls12, "%s",
			  cases[i].text);
		cr_expect(!!strstr(at, "+VERS-TLS1.3") == cases[i].tls13, "%s",
			  cases[i].text);
		must(gnutls_priority_init(&p, at, NULL));
		gnutls_priority_deinit(p);
		web_config_fini(&c);
	}
	end(&f);
}

Test(tls_config, settings_of_go_without_use_are_warned_of)
{
	struct files f;
	struct web_config c;
	const char *warnings;

	begin(&f);
	parse_good(&f, &c,
		   PAIR "  cipher_suites: [x]\n"
			"  prefer_server_cipher_suites: true\n"
			"  curve_preferences: [y]\n");
	warnings = buf_cstr(&c.yaml.warnings);
	cr_assert(strstr(warnings, "web.yml:4:3: "), "%s", warnings);
	cr_assert(strstr(warnings, "cipher_suites"), "%s", warnings);
	cr_expect(strstr(warnings, "curve_preferences"), "%s", warnings);
	web_config_fini(&c);
	end(&f);
}

Test(tls_config, mistakes_are_named_with_their_place)
{
	static const struct {
		const char *text;
		const char *at;
		const char *says;
	} cases[] = {
		{ "  x", "2:3", "tls_server_config" },
		{ "  key_file: key.pem", "2:3", "cert_file" },
		{ "  cert_file: cert.pem", "2:3", "key_file" },
		{ "  client_auth_type: NoClientCert", "2:3", "cert_file" },
		{ PAIR "  cert: x", "2:3", "cert_file" },
		{ PAIR "  key: x", "2:3", "key_file" },
		{ PAIR "  certs: x", "4:3", "certs" },
		{ PAIR "  client_auth_type: require", "4:21", "require" },
		{ PAIR "  client_auth_type: [x]", "4:21", "" },
		{ PAIR "  client_allowed_sans: x", "4:24",
		  "client_allowed_sans" },
		{ PAIR "  client_allowed_sans: [[x]]", "4:25", "" },
		{ PAIR "  min_version: TLS11", "4:16", "TLS12" },
		{ PAIR "  max_version: ''", "4:16", "TLS12" },
		{ PAIR "  min_version: TLS13\n  max_version: TLS12", "2:3",
		  "min_version" },
		{ PAIR "  client_ca_file: ca.pem", "2:3", "client_auth_type" },
		{ PAIR "  client_auth_type: RequireAndVerifyClientCert", "2:3",
		  "client_ca_file" },
		{ PAIR "  client_auth_type: VerifyClientCertIfGiven", "2:3",
		  "client_ca_file" },
		{ "  cert_file: none.pem\n  key_file: key.pem", "2:3",
		  "none.pem" },
		{ "  cert_file: text.pem\n  key_file: key.pem", "2:3",
		  "certificate" },
		{ "  cert_file: cert.pem\n  key_file: text.pem", "2:3", "key" },
		{ "  cert_file: cert.pem\n  key_file: empty.pem", "2:3",
		  "key_file" },
		/* This is the key of another certificate. */
		{ "  cert_file: cert.pem\n  key_file: other.pem", "2:3",
		  "key" },
		{ PAIR "  client_ca_file: text.pem\n"
		       "  client_auth_type: RequireAndVerifyClientCert",
		  "2:3", "client_ca" },
	};
	struct files f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;
		struct err err = { 0 };
		char at[32];

		cr_expect(parse(&f, &c, cases[i].text, &err) == ERR_INVALID,
			  "%s", cases[i].text);
		snprintf(at, sizeof(at), "web.yml:%s: ", cases[i].at);
		cr_expect(c.yaml.error_count == 1, "%s: %s", cases[i].text,
			  buf_cstr(&c.yaml.errors));
		cr_assert(strstr(err.msg, at), "%s: %s", cases[i].text,
			  err.msg);
		cr_expect(strstr(err.msg, cases[i].says), "%s: %s",
			  cases[i].text, err.msg);
		cr_expect(!strstr(err.msg, "PRIVATE KEY"), "%s", err.msg);
		web_config_fini(&c);
	}
	end(&f);
}

Test(tls_config, a_section_without_keys_is_no_tls)
{
	static const char *const cases[] = { "", "  {}", "  ~" };
	struct files f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;

		parse_good(&f, &c, cases[i]);
		cr_assert(!c.tls.cert.len);
		cr_expect(!c.tls.trust);
		web_config_fini(&c);
	}
	end(&f);
}

/* Shows what authentication gives to the server for TLS. */
Test(tls_config, authentication_hands_out_what_tls_needs)
{
	struct tls_material m = { 0 };
	struct files f;
	struct auth *a;
	char path[300];
	char *ca;
	char *priorities;

	begin(&f);
	put(&f, "web.yml",
	    "tls_server_config:\n" PAIR "  client_ca_file: ca.pem\n"
	    "  client_auth_type: RequireAndVerifyClientCert\n"
	    "  min_version: TLS13\n");
	snprintf(path, sizeof(path), "%s/web.yml", f.dir.path);
	cr_assert(!auth_new(path, NULL, &a, NULL));
	cr_assert(auth_has_tls(a));
	cr_expect(!auth_exposure(a));
	/*
	 * Clients need a certificate of the CA, so the server is not open to
	 * everybody.
	 */
	cr_expect(!auth_is_open(a));
	auth_tls_material(a, &m);
	cr_expect(check_str(str_of(m.cert), f.server.crt_pem));
	cr_expect(check_str(str_of(m.key), f.server.key_pem));
	ca = auth_client_ca(a);
	cr_expect(check_str(str_of(ca), f.ca.crt_pem));
	priorities = auth_tls_priorities(a);
	cr_expect(!strstr(priorities, "TLS1.2"));
	mem_free(m.cert);
	mem_free(m.key);
	mem_free(ca);
	mem_free(priorities);
	auth_free(a);
	end(&f);
}

/* Handshakes. */

/* One side of a connection: its session, and what the other side has sent. */
struct side {
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
	struct buf in;
	size_t read;
	struct side *other;
};

static ssize_t on_push(gnutls_transport_ptr_t p, const void *data, size_t n)
{
	struct side *s = p;

	buf_add(&s->other->in, data, n);
	return (ssize_t)n;
}

static ssize_t on_pull(gnutls_transport_ptr_t p, void *data, size_t n)
{
	struct side *s = p;
	size_t have = s->in.len - s->read;

	if (!have) {
		gnutls_transport_set_errno(s->session, EAGAIN);
		return -1;
	}
	n = n < have ? n : have;
	memcpy(data, s->in.ptr + s->read, n);
	s->read += n;
	return (ssize_t)n;
}

static int on_timeout(gnutls_transport_ptr_t p, unsigned ms)
{
	struct side *s = p;

	(void)ms;
	return s->in.len > s->read;
}

static void side_init(struct side *s, struct side *other, unsigned flags,
		      const char *priorities)
{
	s->other = other;
	must(gnutls_init(&s->session, flags | GNUTLS_NONBLOCK));
	must(gnutls_certificate_allocate_credentials(&s->credentials));
	must(gnutls_priority_set_direct(s->session, priorities, NULL));
	must(gnutls_credentials_set(s->session, GNUTLS_CRD_CERTIFICATE,
				    s->credentials));
	gnutls_transport_set_ptr(s->session, s);
	gnutls_transport_set_push_function(s->session, on_push);
	gnutls_transport_set_pull_function(s->session, on_pull);
	gnutls_transport_set_pull_timeout_function(s->session, on_timeout);
}

static void side_fini(struct side *s)
{
	gnutls_deinit(s->session);
	gnutls_certificate_free_credentials(s->credentials);
	buf_fini(&s->in);
}

/* Runs the handshake on both sides until it is done, or has failed on one. */
static int shake_hands(struct side *a, struct side *b)
{
	int x = GNUTLS_E_AGAIN;
	int y = GNUTLS_E_AGAIN;

	for (int i = 0; i < 100 && (x || y); i++) {
		if (x)
			x = gnutls_handshake(a->session);
		if (y)
			y = gnutls_handshake(b->session);
		if ((x && gnutls_error_is_fatal(x)) ||
		    (y && gnutls_error_is_fatal(y)))
			break;
	}
	return x ? x : y;
}

static void give_material(void *ctx, struct tls_material *out)
{
	const struct files *f = ctx;

	out->cert = mem_strdup(f->server.crt_pem);
	out->key = mem_strdup(f->server.key_pem);
}

static void give_nothing(void *ctx, struct tls_material *out)
{
	(void)ctx;
	(void)out;
}

/* Judges a client with this certificate; NULL: a client without one. */
static int judge(const struct files *f, const struct web_tls *t,
		 struct issued *client, struct err *err)
{
	struct side server = { 0 };
	struct side peer = { 0 };
	int rc;

	side_init(&server, &peer, GNUTLS_SERVER, tls_priorities(t));
	side_init(&peer, &server, GNUTLS_CLIENT, "NORMAL");
	tls_serve(give_material, (void *)(uintptr_t)f);
	gnutls_certificate_set_retrieve_function3(
		server.credentials,
		(gnutls_certificate_retrieve_function3 *)tls_callback());
	gnutls_certificate_server_set_request(server.session,
					      GNUTLS_CERT_REQUEST);
	tls_hide_authorities(server.session);
	if (client)
		must(gnutls_certificate_set_x509_key(
			peer.credentials, &client->crt, 1, client->key));
	must(shake_hands(&server, &peer));
	rc = tls_verify_client(t, server.session, err);
	side_fini(&server);
	side_fini(&peer);
	return rc;
}

enum client {
	NOBODY,
	TRUSTED,
	STRANGER, /* of another CA */
	EXPIRED,
	A_SERVER, /* of the CA, but for servers */
	CLIENTS
};

Test(tls_config, client_certificates_are_judged_by_their_issuer_and_names)
{
	static const char sans[] = "  client_allowed_sans: [other.example, "
				   "client.example]\n";
	static const char address[] = "  client_allowed_sans: [192.0.2.7]\n";
	static const char foreign[] =
		"  client_allowed_sans: [x, client.exampl, lient.example, "
		"client, 192.0.2.70]\n";
	static const struct {
		const char *auth;
		const char *sans;
		bool good[CLIENTS];
	} cases[] = {
		{ "RequestClientCert", "", { 1, 1, 1, 1, 1 } },
		{ "RequireAnyClientCert", "", { 0, 1, 1, 1, 1 } },
		{ "VerifyClientCertIfGiven", "", { 1, 1, 0, 0, 0 } },
		{ "RequireAndVerifyClientCert", "", { 0, 1, 0, 0, 0 } },
		{ "RequireAndVerifyClientCert", sans, { 0, 1, 0, 0, 0 } },
		{ "RequireAndVerifyClientCert", address, { 0, 1, 0, 0, 0 } },
		{ "RequireAndVerifyClientCert", foreign, { 0, 0, 0, 0, 0 } },
		/* The names are checked even if no CA vouches for them. */
		{ "RequireAnyClientCert", sans, { 0, 1, 1, 0, 0 } },
		{ "VerifyClientCertIfGiven", foreign, { 1, 0, 0, 0, 0 } },
	};
	struct issue who = { .name = "client",
			     .purpose = GNUTLS_KP_TLS_WWW_CLIENT,
			     .dns = "client.example",
			     .address = "192.0.2.7" };
	struct issued v[CLIENTS];
	struct files f;

	begin(&f);
	issue(&v[TRUSTED], &who, &f.ca);
	issue(&v[STRANGER], &who, NULL);
	who.dns = NULL;
	who.address = NULL;
	who.until = 2 * 86400;
	issue(&v[EXPIRED], &who, &f.ca);
	who.until = 0;
	who.purpose = GNUTLS_KP_TLS_WWW_SERVER;
	issue(&v[A_SERVER], &who, &f.ca);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;
		char text[400];

		snprintf(text, sizeof(text),
			 PAIR "  client_auth_type: %s\n%s%s", cases[i].auth,
			 cases[i].sans,
			 strstr(cases[i].auth, "Verify") ?
				 "  client_ca_file: ca.pem\n" :
				 "");
		parse_good(&f, &c, text);
		for (enum client k = NOBODY; k < CLIENTS; k++) {
			struct err err = { 0 };
			int rc = judge(&f, &c.tls, k ? &v[k] : NULL, &err);

			cr_expect(rc == (cases[i].good[k] ? 0 : ERR_DENIED),
				  "case %zu, client %d: %s", i, k, err.msg);
			cr_expect(!rc || strstr(err.msg, "client certificate"),
				  "%s", err.msg);
		}
		web_config_fini(&c);
	}
	for (enum client k = TRUSTED; k < CLIENTS; k++)
		issued_fini(&v[k]);
	end(&f);
}

Test(tls_config, without_a_certificate_there_is_no_handshake)
{
	const struct web_tls t = { 0 };
	struct side server = { 0 };
	struct side peer = { 0 };

	side_init(&server, &peer, GNUTLS_SERVER, tls_priorities(&t));
	side_init(&peer, &server, GNUTLS_CLIENT, "NORMAL");
	tls_serve(give_nothing, NULL);
	gnutls_certificate_set_retrieve_function3(
		server.credentials,
		(gnutls_certificate_retrieve_function3 *)tls_callback());
	cr_expect(shake_hands(&server, &peer) < 0);
	side_fini(&server);
	side_fini(&peer);
}
