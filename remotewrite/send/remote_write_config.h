/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section remote_write of the configuration file: a list of receivers, each
 * with a queue of its own. Most keys and defaults are those of Prometheus.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * remote_write.
 *
 * Ownership: texts and arrays are borrowed from the struct yaml they were
 * decoded from; remote_write_configs_fini() frees the relabelling rules.
 * Threads: immutable once decoded, except the rules, which belong to one thread
 * at a time.
 */
#ifndef REMOTEWRITE_SEND_REMOTE_WRITE_CONFIG_H
#define REMOTEWRITE_SEND_REMOTE_WRITE_CONFIG_H

#include "base/yaml.h"
#include "client/transfer/http_options.h"
#include "model/labels.h"
#include "model/relabel.h"

/* The section queue_config. */
struct queue_config {
	int64_t capacity; /* samples that may wait for one shard */
	int64_t shards;   /* threads that send; each has some of the series */
	int64_t max_samples; /* maximum number of samples in a request */
	/*
	 * maximum bytes of the profiles in a request, decompressed; a larger
	 * profile is sent alone
	 */
	int64_t max_bytes;
	/* time after which a request is sent although it is not full */
	int64_t deadline_ms;
	int64_t min_backoff_ms;
	int64_t max_backoff_ms;
	int64_t age_limit_ms; /* older samples are dropped; 0: no limit */
};

/*
 * Value of remote_write_config.backlog_bytes that stands for the default of
 * max_backlog.size. The default is 10 GiB, but at most an eighth of the disk,
 * so that the backlog of a receiver that is down leaves space for new profiles.
 */
#define REMOTE_WRITE_BACKLOG_BY_DISK (-1)

/* One receiver. */
struct remote_write_config {
	struct str url;
	struct str name; /* unique; by default digits of a hash of the URL */
	int64_t timeout_ms;
	bool zstd; /* requests are compressed with zstd, not with snappy */
	struct http_options http;
	/* the key `headers`: texts "Name: value" */
	const char **headers;
	size_t header_count;
	struct relabel_rules relabel;
	struct queue_config queue;
	/*
	 * limits on the samples that wait in the log: their size in bytes, and
	 * their age in ms. The oldest samples are dropped to keep the limits.
	 * 0: no limit
	 */
	int64_t backlog_bytes; /* or REMOTE_WRITE_BACKLOG_BY_DISK */
	int64_t backlog_ms;
	/*
	 * the entry of the file as YAML, with its secrets; equal texts mean
	 * equal configurations
	 */
	struct str key;
};

/* All receivers. */
struct remote_write_configs {
	struct remote_write_config *v;
	size_t count;
};

/*
 * Decode the list into the struct remote_write_configs at `field`. Errors are
 * reported to y. This function is a yaml_fn.
 */
void remote_write_decode(struct yaml *y, const struct yaml_node *n,
			 void *field);

/* Free the relabelling rules. */
void remote_write_configs_fini(struct remote_write_configs *c);

#endif
