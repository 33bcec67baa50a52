/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof record: one CPU profile of this machine, of a process, or of a
 * command, without a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/output.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/serve/ebpf.h"
#include "cmd/serve/ebpf_config.h"
#include "cmd/serve/ebpf_rights.h"
#include "cmd/serve/serve_rights.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/report/report.h"

enum {
	RECORD_MEMORY = 256 << 20, /* for the samples of the whole recording */
	RECORD_GZIP_LEVEL = 6,
	/* Memory of the decoder in bytes, as far as it is counted. */
	RECORD_DECODER_MAX = 1 << 30,
	RECORD_DEFAULT_MS = 10000,
	/* Exit code if the command was not found or could not start. */
	RECORD_NO_COMMAND = 127,
};

struct recording {
	int64_t pid;
	int64_t hz;
	int64_t off_cpu;     /* 0: a CPU profile */
	int64_t duration_ms; /* 0: until the command ends */
	const char *output;
	const char *labels; /* names, separated by commas */
	unsigned label_set;
	const char *debug_dir;
	char **command; /* NULL: there is none */
	pid_t child;
	/*
	 * A socket, or -1: the child waits for a byte from it, and sends the
	 * errno of a failed exec.
	 */
	int start;
	bool not_started; /* the exec of the child has failed */
	struct decoder *decoder;
	struct merge *merge;
	struct err failure; /* of the sink; code 0: none */
};

/* Take a profile from the collector; usually there is one. */
static int recording_take(void *ctx, struct labels *labels UNUSED,
			  int64_t ms UNUSED, struct bytes profile,
			  struct err *err)
{
	struct recording *r = ctx;
	struct pprof *p;
	int rc = decoder_run(r->decoder, profile, &p, err);

	if (!rc)
		rc = merge_add(r->merge, p, NULL, err);
	if (rc)
		r->failure = *err;
	return rc;
}

/* In the child: wait until the collector runs, then become the command. */
static void recording_run_command(char **command, int start)
{
	char byte;

	int error;

	if (read(start, &byte, 1) != 1)
		_exit(1);
	execvp(command[0], command);
	error = errno;
	if (write(start, &error, sizeof(error)) < 0)
		_exit(1);
	_exit(RECORD_NO_COMMAND);
}

/* Start the command, which waits. */
static int recording_fork(struct recording *r, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(err, "socketpair");
	r->child = fork();
	if (r->child < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_sys(err, "fork");
	}
	if (!r->child) {
		sigset_t none;

		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		close(ends[1]);
		recording_run_command(r->command, ends[0]);
	}
	close(ends[0]);
	r->start = ends[1];
	r->pid = r->child;
	return 0;
}

/* Whether the child could become the command; asked when it has ended. */
static int recording_check_start(struct recording *r, struct err *err)
{
	int error;

	if (recv(r->start, &error, sizeof(error), MSG_DONTWAIT) !=
	    sizeof(error))
		return 0;
	r->not_started = true;
	errno = error;
	return err_sys(err, "cannot start %s", r->command[0]);
}

/*
 * Whether the recorded process has ended. A signal SIGCHLD does not tell: if a
 * helper ends at the same time, there is one signal for both.
 */
static bool recording_is_over(const struct recording *r)
{
	siginfo_t info = { .si_pid = 0 };

	/* waitid() fails if the process was waited for already. */
	if (r->child)
		return waitid(P_PID, (id_t)r->child, &info,
			      WEXITED | WNOHANG | WNOWAIT) ||
		       info.si_pid == r->child;
	return r->pid && kill((pid_t)r->pid, 0) && errno == ESRCH;
}

/* Wait until the time is over, a signal comes, or the process ends. */
static void recording_wait(const struct recording *r, const sigset_t *signals)
{
	int64_t end = r->duration_ms ?
			      clock_mono_ns() + r->duration_ms * 1000000 :
			      INT64_MAX;

	for (;;) {
		int64_t left = end - clock_mono_ns();
		/* The process is looked at from time to time, too. */
		const struct timespec step = { .tv_nsec = left < 100000000 ?
								  left :
								  100000000 };
		int number;

		if (left <= 0)
			return;
		number = sigtimedwait(signals, NULL, &step);
		if (number == SIGINT || number == SIGTERM ||
		    recording_is_over(r))
			return;
	}
}

/* Wait until samples are taken. An error: they cannot be. */
static int recording_settle(struct collector *c, const sigset_t *signals,
			    struct err *err)
{
	const struct timespec step = { .tv_nsec = 5000000 };
	struct collector_stats s;
	int number;

	do {
		number = sigtimedwait(signals, NULL, &step);
		ebpf_stats(c, &s);
	} while (!s.sampling && !s.failure.code && number != SIGINT &&
		 number != SIGTERM);
	*err = s.failure;
	return s.failure.code;
}

/* Say which rights are missing, so that the profile will lack something. */
static void recording_warn_of_rights(void)
{
	const char *texts[EBPF_RIGHTS_MAX];
	size_t n = ebpf_rights_missing(ebpf_rights_read(), "/proc/kallsyms",
				       texts);

	for (size_t i = 0; i < n; i++)
		console_say("warning: %s", texts[i]);
}

/* Collect until the end. */
static int recording_collect(struct recording *r, const sigset_t *signals,
			     struct collector_stats *stats, struct err *err)
{
	struct labels_builder b = { 0 };
	struct labels *labels = NULL;
	struct collector_options o = { .hz = r->off_cpu ? 0 : (unsigned)r->hz,
				       .off_cpu = (unsigned)r->off_cpu,
				       .sample_labels = r->label_set,
				       .interval_ms = INT64_MAX,
				       .memory = RECORD_MEMORY,
				       .node = "",
				       .debug_dir = r->debug_dir,
				       .pid = (uint32_t)r->pid,
				       .sink = recording_take,
				       .ctx = r };
	struct collector *c;
	int rc;

	/* Not before the command is started, which has the limit of its user. */
	rights_raise_files();
	labels_set(&b, str_of(LABEL_NAME), str_of("process_cpu"));
	rc = labels_build(&b, &labels, err);
	o.labels = labels;
	if (!rc)
		rc = ebpf_start(&o, &c, err);
	if (!rc) {
		recording_warn_of_rights();
		rc = recording_settle(c, signals, err);
		if (!rc && r->child && write(r->start, "", 1) != 1)
			rc = err_sys(err, "start %s", r->command[0]);
		if (!rc)
			recording_wait(r, signals);
		ebpf_stop(c, stats);
	}
	labels_unref(labels);
	labels_builder_fini(&b);
	return rc;
}

/* End the command, and return its exit code; 0 if it was ended by us. */
static int recording_end_command(const struct recording *r)
{
	int status = 0;

	if (!r->child)
		return 0;
	close(r->start);
	if (!waitpid(r->child, &status, WNOHANG)) {
		kill(r->child, SIGTERM);
		waitpid(r->child, &status, 0);
		return 0;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Write a flame graph. */
static int recording_draw(struct pprof *p, struct buf *out, struct err *err)
{
	const struct report_type *type = report_find(str_of("flamegraph"));
	struct report_options o;
	struct report r;
	int rc;

	report_options_init(&o);
	rc = report_init(&r, type->kind, p, &o, err);
	if (rc)
		return rc;
	rc = type->write(&r, out, err);
	report_fini(&r);
	return rc;
}

/* Save the profile in the format that the name of the file says. */
static int recording_save(struct recording *r, struct err *err)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct pprof *p = merge_finish(r->merge);
	int rc = 0;

	if (str_ends(str_of(r->output), ".svg")) {
		rc = recording_draw(p, &out, err);
	} else {
		pprof_encode_gzip(p, RECORD_GZIP_LEVEL, &out);
	}
	return rc ? rc : output_save(r->output, false, buf_bytes(&out), err);
}

/* Say what was recorded, and what is missing. */
static void recording_report(const struct recording *r,
			     const struct collector_stats *s)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct ebpf_shares shares = ebpf_shares(s);

	if (r->off_cpu)
		buf_printf(&text,
			   "%" PRId64 " sampled waits of threads have ended",
			   s->off_cpu);
	else
		buf_printf(&text,
			   "%" PRId64
			   " samples, %.1f %% of them with the whole stack",
			   shares.samples, shares.whole);
	if (!r->off_cpu && shares.by_pointer > 0)
		buf_printf(
			&text,
			", %.1f %% with callers found by frame pointers alone",
			shares.by_pointer);
	if (!r->off_cpu && shares.starting > 0)
		buf_printf(&text, ", %.1f %% in the first 3 ms of a program",
			   shares.starting);
	if (s->ring_full + s->memory_full)
		buf_printf(&text, "; %" PRId64 " samples were lost",
			   s->ring_full + s->memory_full);
	console_say("wrote %s: %s",
		    strcmp(r->output, "-") != 0 ? r->output : "the profile",
		    buf_cstr(&text));
}

static int recording_run(struct recording *r, const sigset_t *signals,
			 struct err *err)
{
	struct collector_stats stats = { 0 };
	int rc = r->command ? recording_fork(r, err) : 0;

	if (!rc)
		rc = recording_collect(r, signals, &stats, err);
	if (!rc && r->child)
		rc = recording_check_start(r, err);
	if (!rc && r->failure.code) {
		*err = r->failure;
		rc = err->code;
	}
	if (!rc && stats.profiles_failed)
		rc = err_set(
			err, ERR_TOOBIG,
			"the profile would be larger than %d MB, so nothing was written; record for a shorter time, or with fewer --sample-labels",
			PROFILE_SINK_MAX >> 20);
	if (!rc && !merge_count(r->merge))
		rc = err_set(
			err, ERR_NOTFOUND,
			"no samples were taken, because %s; nothing was written",
			r->off_cpu ?
				"no thread began to wait, or too few did for this --off-cpu" :
				"too little CPU time was used");
	if (!rc)
		rc = recording_save(r, err);
	if (!rc)
		recording_report(r, &stats);
	return rc;
}

/* Parse the flag --sample-labels. */
static int recording_parse_labels(struct recording *r, struct err *err)
{
	struct str rest = str_of(r->labels);

	while (rest.len) {
		struct str name = str_cut(rest, ',', &rest);

		if (!sample_label_add(name, &r->label_set))
			return err_set(
				err, ERR_INVALID,
				"--sample-labels: expected comm, cpu, pid, thread or tid, not \"%.*s\"",
				STR_ARG(name));
	}
	return 0;
}

/* Check the values of the flags. */
static int recording_check(struct recording *r, bool duration_given,
			   struct err *err)
{
	int rc;

	if (r->hz < 1 || r->hz > COLLECTOR_HZ_MAX)
		return err_set(
			err, ERR_INVALID,
			"--frequency: expected 1 to %d samples a second, not %" PRId64,
			COLLECTOR_HZ_MAX, r->hz);
	if (r->off_cpu < 0 || r->off_cpu > COLLECTOR_OFF_CPU_MAX)
		return err_set(err, ERR_INVALID,
			       "--off-cpu: expected 0 to %d, not %" PRId64,
			       COLLECTOR_OFF_CPU_MAX, r->off_cpu);
	if (r->pid && r->command)
		return err_set(
			err, ERR_INVALID,
			"--pid cannot be combined with a command to start");
	if (r->pid > INT32_MAX ||
	    (r->pid && kill((pid_t)r->pid, 0) && errno == ESRCH))
		return err_set(err, ERR_NOTFOUND,
			       "--pid: there is no process %" PRId64, r->pid);
	if (!duration_given && !r->command)
		r->duration_ms = RECORD_DEFAULT_MS;
	rc = output_check_name(
		r->output, str_ends(str_of(r->output), ".svg"),
		"a profile for go tool pprof (or a flame graph, if the name ends with .svg)",
		err);
	if (!rc)
		rc = output_check(r->output, err);
	return rc ? rc : recording_parse_labels(r, err);
}

int cmd_record(int argc, char **argv)
{
	struct recording r = { .hz = 99,
			       .output = "profile.pb.gz",
			       .labels = "comm,pid",
			       .debug_dir = "/usr/lib/debug",
			       .start = -1 };
	const struct flag flags[] = {
		{ "pid", FLAG_INT, &r.pid, NULL,
		  "Profile this process and the processes that it starts (also -p)." },
		{ "frequency", FLAG_INT, &r.hz, "99",
		  "Samples a second on each CPU, 1 to 999 (also -F)." },
		{ "off-cpu", FLAG_INT, &r.off_cpu, "0",
		  "Profile where threads wait instead: one of this number of waits is sampled. 0: a CPU profile." },
		{ "duration", FLAG_DURATION, &r.duration_ms, NULL,
		  "How long to profile (also -d). Default: 10s, or until the command ends." },
		{ "output", FLAG_TEXT, &r.output, "profile.pb.gz",
		  "Output file (also -o); - is standard output. A name that ends with .svg makes a flame graph." },
		{ "sample-labels", FLAG_TEXT, &r.labels, "comm,pid",
		  "Labels of samples, separated by commas: comm, cpu, pid, thread, tid." },
		{ "symbols.path", FLAG_TEXT, &r.debug_dir, SYMBOLS_PATH,
		  "Folder with separate debug files, which are found by build ID." },
		{ 0 },
	};
	static const struct usage u = {
		"record [FLAGS] [-- COMMAND [ARGUMENTS]]",
		"Take a CPU profile of all processes of this machine, of one process, or of a command,\n"
		"with eBPF. Programs need neither frame pointers nor preparation. Needs root, or the\n"
		"capabilities CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_SYSLOG.\n"
		"With CAP_SYS_NICE, programs that have just begun are known sooner on a busy machine.\n\n"
		"  everprof record -- ./a.out && go tool pprof profile.pb.gz\n"
		"  everprof record -p 4711 -d 30s -o flame.svg",
		0, 1000000
	};
	sigset_t signals;
	struct err err;
	int code;
	int rc;

	code = cmd_begin(&u, flags, &argc, argv);
	if (code >= 0)
		return code;
	r.command = argc ? argv : NULL;
	rc = recording_check(&r, r.duration_ms != 0, &err);
	if (rc)
		return cmd_fail(&err);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	r.decoder = decoder_new(RECORD_DECODER_MAX);
	r.merge = merge_new();
	rc = recording_run(&r, &signals, &err);
	decoder_free(r.decoder);
	merge_free(r.merge);
	code = recording_end_command(&r);
	if (rc)
		cmd_fail(&err);
	return rc && !r.not_started ? 1 : code;
}
