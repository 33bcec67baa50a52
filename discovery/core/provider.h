/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider is one running service discovery. The manager
 * (discovery/manager.h) calls refresh() when a refresh is due. The provider
 * reports the result, immediately or later, with provider_found() or
 * provider_failed(). The target groups that a provider reported last stay valid
 * until the provider reports new ones.
 *
 * A new kind of discovery needs a struct provider_kind and a row in the table
 * in kinds.h.
 *
 * Ownership: the manager owns providers; a provider owns its data. All text of
 * a struct discovery_config is borrowed from the struct yaml that it was
 * decoded from.
 * Threads: the thread that decodes or examines an entry calls init(), check(),
 * check_containers() and examine(). The thread that applies a configuration or
 * frees the manager calls open() and close(). Any thread may call
 * provider_parse(). The manager's loop calls everything else. For one provider,
 * no two calls run at the same time. Configurations are immutable once decoded.
 */
#ifndef DISCOVERY_CORE_PROVIDER_H
#define DISCOVERY_CORE_PROVIDER_H

#include <stddef.h>

#include "base/log.h"
#include "base/metrics.h"
#include "client/transfer/http.h"
#include "client/transfer/http_options.h"
#include "discovery/core/target_group.h"

struct provider;
struct provider_kind;
struct rest_table;
struct owned_entry;

/*
 * The part of an entry of <name>_sd_configs that all kinds have. A kind with
 * keys of its own has a struct that begins with this struct.
 */
struct discovery_config {
	const struct provider_kind *kind;
	const struct yaml_node *entry; /* the node of the entry */
	const char *file;              /* name of the configuration file */
	int64_t refresh_ms;            /* refresh_interval */
	struct http_options http;      /* for kinds that send HTTP requests */
	/*
	 * The name of the kind, followed by the whole entry as text. Entries
	 * with equal keys share one provider.
	 */
	struct str key;
};

/* The row for the key refresh_interval, in a table of struct yaml_field. */
#define DISCOVERY_FIELDS                                                    \
	{                                                                   \
		"refresh_interval", yaml_duration,                          \
			offsetof(struct discovery_config, refresh_ms), NULL \
	}

/*
 * The rows for refresh_interval and for all options of HTTP requests, in a
 * table of struct yaml_field.
 */
#define DISCOVERY_HTTP_FIELDS \
	DISCOVERY_FIELDS, HTTP_OPTION_FIELDS(struct discovery_config, http)

/*
 * A kind of discovery: how its entries are decoded, and what its providers do.
 */
struct provider_kind {
	/* name in logs and metrics; the configuration key is <name>_sd_configs */
	const char *name;
	/* default of refresh_interval, in ms */
	int64_t refresh_ms;
	/* size of the struct that `fields` decode into */
	size_t config_size;
	/* the keys of an entry, ended by a row of zeros */
	const struct yaml_field *fields;
	/* Sets the defaults that are not zero. May be NULL. */
	void (*init)(struct discovery_config *c);
	/*
	 * Checks an entry as a whole, after its keys were decoded. Reports
	 * mistakes to `y`, and may set members of `c` that follow from the
	 * keys. May be NULL.
	 */
	void (*check)(struct yaml *y, const struct yaml_node *entry,
		      struct discovery_config *c);
	/* Makes the data of a provider, which becomes p->data. */
	void *(*open)(struct provider *p);
	/* Starts or performs one refresh. */
	void (*refresh)(struct provider *p);
	/* Cancels a refresh that is in progress, and frees p->data. */
	void (*close)(struct provider *p);
	/*
	 * Called when the time set by provider_call_within() has come; NULL for
	 * kinds that do not set one.
	 */
	void (*call)(struct provider *p);
	/*
	 * Reads the files that an entry names, except those of its HTTP
	 * options, and calls tell() with the mistakes in these files, for
	 * `everprof check config`. May be NULL.
	 */
	void (*examine)(const struct discovery_config *c,
			void (*tell)(void *ctx, const char *text), void *ctx);
	/*
	 * The requests and labels of a kind that rest_source.c implements: one
	 * table for each role, then NULL. A kind without roles has one table.
	 */
	const struct rest_table *const *rest;
	/*
	 * For kinds that find containers: the name of the label whose value is
	 * the ID of a container, with or without "<runtime>://" before it.
	 * NULL: the kind finds no containers.
	 */
	const char *container_label;
	/*
	 * For kinds in which only some entries find containers: reports an
	 * error to `y` if the entry finds no containers. NULL: all entries find
	 * containers.
	 */
	void (*check_containers)(struct yaml *y, const struct yaml_node *entry,
				 const struct discovery_config *c);
	/*
	 * targets have no network addresses, so scrape jobs cannot use the kind
	 */
	bool only_containers;
};

/* A refresh that failed. */
struct provider_failure {
	/*
	 * name of the source that could not be read, cut if it is too long;
	 * empty: no failure is remembered
	 */
	char source[512];
	struct err err; /* why */
	int64_t at_ms;  /* time of day */
	int64_t at_ns;  /* on clock_mono_ns() */
};

/* A running discovery, used by the manager and the functions of its `kind`. */
struct provider {
	const struct provider_kind *kind;
	/*
	 * the entry of <name>_sd_configs that the provider runs; a part of
	 * `owned`
	 */
	const struct discovery_config *config;
	void *data; /* made by kind->open() and freed by kind->close() */
	/*
	 * the manager's HTTP client, which all providers share; the event loop
	 * of the client also watches descriptors for providers
	 */
	struct http_client *client;
	const char *user_agent;
	const struct log *log;
	struct metric *failures; /* counter of failed refreshes of this kind */

	/* The members below are set only by the manager and by provider.c. */
	struct owned_entry *owned; /* owns `config` */
	/* time of the next refresh, on clock_mono_ns() */
	int64_t due_ns;
	/*
	 * when the refresh in progress began; 0: none is in progress. Only for
	 * kinds that call provider_refreshed(): for other kinds, this member
	 * keeps the time of the first refresh.
	 */
	int64_t begun_ns;
	/* time of the next call of kind->call(); INT64_MAX: none */
	int64_t call_ns;
	struct target_groups_list found; /* target groups reported last */
	bool asked;    /* whether a result or a failure was reported */
	bool changed;  /* whether `found` must still be passed to the jobs */
	bool used;     /* whether a current job uses the provider */
	unsigned line; /* line of the configuration file that has the entry */
	/* the last failure, until provider_recovered() */
	struct provider_failure failure;
};

/*
 * Report the target groups that exist now; `p` takes a reference to each
 * group.
 */
void provider_found(struct provider *p,
		    const struct target_groups_list *groups);

/*
 * Report that `g` is all that exists now, as provider_found() does; take over
 * the reference to `g`.
 */
void provider_found_one(struct provider *p, struct target_groups *g);

/*
 * Report that a refresh failed: count, log and remember the error; `what` names
 * the source. The target groups that were found before stay.
 */
void provider_failed(struct provider *p, const char *what,
		     const struct err *err);

/*
 * Report that a refresh has ended, whether it succeeded or failed, and forget
 * the failure of an earlier refresh. Only for kinds whose refresh() asks all
 * sources again.
 */
void provider_refreshed(struct provider *p);

/*
 * Report that no source fails any more. Only for kinds that watch their
 * sources: such a kind itself keeps track of which watches fail.
 */
void provider_recovered(struct provider *p);

/*
 * Log that the source named `what` was read and how many targets it has; `g`
 * is NULL if the source is gone.
 */
void provider_tell(const struct provider *p, const char *what,
		   const struct target_groups *g);

/* Make the next refresh start at most `ms` milliseconds from now. */
void provider_refresh_within(struct provider *p, int64_t ms);

/*
 * Call p->kind->call() once, in `ms` milliseconds. This time replaces the time
 * that an earlier provider_call_within() has set.
 */
void provider_call_within(struct provider *p, int64_t ms);

/*
 * Parse a text, JSON or YAML, as a list of target groups; `name` stands for the
 * text in messages, and `meta` may be NULL. The caller owns a reference to
 * *out. ERR_INVALID: err has the first mistake, and says whether there are
 * more.
 */
NODISCARD int provider_parse(const char *name, struct bytes text, bool json,
			     const struct group_meta *meta,
			     struct target_groups **out, struct err *err);

#endif
