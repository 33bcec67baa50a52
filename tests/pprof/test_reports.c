/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports that are tables for people: top, tree, peek, traces and source,
 * as `go tool pprof` prints them, of small profiles added up by hand.
 */
#include <sys/stat.h>

#include "tests/pprof/printed.h"
#include "tests/tempdir.h"

TestSuite(reports, .timeout = 30);

#define HEAD  "Type: samples\n"
#define TABLE "      flat  flat%   sum%        cum   cum%\n"

/*
 * Flat and cumulative: leaf 60 and 60, work 30 and 90, idle 10 and 10, main 0
 * and 100.
 */
static const char lines[] = "main;work;leaf 60\nmain;work 30\nmain;idle 10\n";

Test(reports, top_shows_flat_and_cumulative_values)
{
	cr_expect(prints(
		lines, "top", "",
		HEAD
		"Showing nodes accounting for 100, 100% of 100 total\n" TABLE
		"        60 60.00% 60.00%         60 60.00%  leaf\n"
		"        30 30.00% 90.00%         90 90.00%  work\n"
		"        10 10.00%   100%         10 10.00%  idle\n"
		"         0     0%   100%        100   100%  main\n"));
	cr_expect(prints(
		lines, "top", "sort=cum&nodecount=2",
		HEAD "Showing nodes accounting for 30, 30.00% of 100 total\n"
		     "Showing top 2 nodes out of 4\n" TABLE
		     "         0     0%     0%        100   100%  main\n"
		     "        30 30.00% 30.00%         90 90.00%  work\n"));
	cr_expect(prints(
		"", "top", "",
		HEAD "Showing nodes accounting for 0, 0% of 0 total\n" TABLE));
}

Test(reports, what_trimming_drops_is_counted)
{
	/* Half of the total is 50, so that idle is dropped. */
	cr_expect(prints(
		lines, "top", "nodefraction=0.5",
		HEAD "Showing nodes accounting for 90, 90.00% of 100 total\n"
		     "Dropped 1 node (cum <= 50)\n" TABLE
		     "        60 60.00% 60.00%         60 60.00%  leaf\n"
		     "        30 30.00% 90.00%         90 90.00%  work\n"
		     "         0     0% 90.00%        100   100%  main\n"));
	cr_expect(prints(lines, "top", "nodefraction=0.95",
			 HEAD
			 "Showing nodes accounting for 0, 0% of 100 total\n"
			 "Dropped 3 nodes (cum <= 95)\n" TABLE
			 "         0     0%     0%        100   100%  main\n"));
	cr_expect(prints(
		lines, "top", "nodefraction=0.95&trim=false&focus=idle",
		HEAD
		"Active filters:\n   focus=idle\n"
		"Showing nodes accounting for 10, 10.00% of 100 total\n" TABLE
		"        10 10.00% 10.00%         10 10.00%  idle\n"
		"         0     0% 10.00%         10 10.00%  main\n"));
}

Test(reports, percentages_are_of_the_whole_unless_relative)
{
	cr_expect(prints(
		lines, "top", "focus=idle&relative_percentages=1",
		HEAD "Active filters:\n   focus=idle\n"
		     "Showing nodes accounting for 10, 100% of 10 total\n" TABLE
		     "        10   100%   100%         10   100%  idle\n"
		     "         0     0%   100%         10   100%  main\n"));
}

Test(reports, filters_are_listed_and_long_ones_cut)
{
	char name[100];
	struct buf query = { 0 };
	struct buf want = { 0 };

	memset(name, 'x', sizeof(name));
	buf_printf(&query, "ignore=^nothing$&hide=%.*s", (int)sizeof(name),
		   name);
	buf_str(&query, "&show=main&tagfocus=k=v&taghide=k");
	/*
	 * A filter is cut to 80 bytes, which are "hide=" and 75 bytes of the
	 * expression.
	 */
	buf_printf(&want, "%sActive filters:\n   ignore=^nothing$\n", HEAD);
	buf_printf(&want, "   hide=%.75s\u2026\n   show=main\n", name);
	buf_printf(&want, "   tagfocus=k=v\n   taghide=k\n%s%s",
		   "Showing nodes accounting for 0, 0% of 100 total\n", TABLE);
	cr_expect(prints(lines, "top", buf_cstr(&query), buf_cstr(&want)));
	buf_fini(&query);
	buf_fini(&want);
}

Test(reports, inlined_functions_are_marked)
{
	cr_expect(prints(
		"a>b 5\na>c 1\na;c 1\n", "top", "",
		HEAD "Showing nodes accounting for 7, 100% of 7 total\n" TABLE
		     "         5 71.43% 71.43%          5 71.43%  b (inline)\n"
		     "         2 28.57%   100%          2 28.57%  c\n"
		     "         0     0%   100%          7   100%  a\n"));
	cr_expect(prints(
		"a>c 1\nb;c 1\n", "top", "noinlines",
		HEAD "Showing nodes accounting for 2, 100% of 2 total\n" TABLE
		     "         1 50.00% 50.00%          1 50.00%  a\n"
		     "         1 50.00%   100%          1 50.00%  c\n"
		     "         0     0%   100%          1 50.00%  b\n"));
	/* The function c is inlined into one of its two callers. */
	cr_expect(prints("a>c 1\nb;c 1\n", "top", "nodecount=1",
			 HEAD
			 "Showing nodes accounting for 2, 100% of 2 total\n"
			 "Showing top 1 nodes out of 3\n" TABLE
			 "         2   100%   100%          2   100%  c\n"));
	cr_expect(prints(
		"a>c 1\nb;c 1\n", "top", "",
		HEAD "Showing nodes accounting for 2, 100% of 2 total\n" TABLE
		     "         2   100%   100%          2   100%  c "
		     "(partial-inline)\n"
		     "         0     0%   100%          1 50.00%  a\n"
		     "         0     0%   100%          1 50.00%  b\n"));
}

static struct printed print_cpu(const char *name, const char *query)
{
	struct pprof raw = sketch_raw("samples/count cpu/nanoseconds",
				      "[/usr/bin/app]0x1|main;work 3 3000000\n"
				      "[/usr/bin/app]0x1|main 1 1500\n");
	struct sketch s;
	struct printed p;

	raw.mappings.v[0].build_id =
		strtab_intern(&raw.strings, str_of("c0ffee"));
	*vec_add(&raw.comments) = strtab_intern(&raw.strings, str_of("hello"));
	*vec_add(&raw.comments) = strtab_intern(&raw.strings, str_of("#no"));
	/* 2006-01-02 15:04:05 UTC. */
	raw.time_ns = 1136214245 * INT64_C(1000000000);
	raw.duration_ns = 10 * 1000 * 1000;
	s = sketch_merged(raw);
	p = printed_of(s.p, name, query);
	sketch_fini(&s);
	return p;
}

Test(reports, the_lines_above_describe_the_profile)
{
	struct printed p = print_cpu("top", "");

	/*
	 * The values 1.5 us and 3 ms are far apart. Their unit is that of 150
	 * us, a hundred times the least value.
	 */
	cr_expect(printed_is(
		&p, "File: app\nBuild ID: c0ffee\nhello\nType: cpu\n"
		    "Time: 2006-01-02 15:04:05 UTC\n"
		    "Duration: 10ms, Total samples = 3001.50us (30.01%)\n"
		    "Showing nodes accounting for 3001.50us, 100% of 3001.50us "
		    "total\n" TABLE
		    "    3000us   100%   100%     3000us   100%  work\n"
		    "    1.50us  0.05%   100%  3001.50us   100%  main\n"));
	printed_fini(&p);
}

Test(reports, a_first_mapping_that_is_no_file_is_not_described)
{
	struct pprof raw =
		sketch_raw("samples/count", "[/usr/bin/app]0x1|main 1\n");
	struct sketch s;
	struct printed p;

	raw.mappings.v[0].file =
		strtab_intern(&raw.strings, str_of("[kernel.kallsyms]"));
	raw.mappings.v[0].build_id =
		strtab_intern(&raw.strings, str_of("c0ffee"));
	s = sketch_merged(raw);
	p = printed_of(s.p, "top", "");
	cr_expect(printed_is(
		&p, "Type: samples\nShowing nodes accounting for 1, 100% of 1 "
		    "total\n" TABLE
		    "         1   100%   100%          1   100%  main\n"));
	printed_fini(&p);
	sketch_fini(&s);
}

/* A report about several programs, or builds of one, names none of them. */
Test(reports, programs_are_named_if_there_is_one)
{
	static const struct {
		const char *lines, *build_id;
		const char *want;
	} cases[] = {
		{ "[/usr/bin/app]0x1|main 1\n", "b1",
		  "File: app\nBuild ID: b1\nType: samples\n" },
		{ "[/opt/app]0x1|main 1\n", "b1",
		  "File: app\nBuild ID: b1\nType: samples\n" },
		{ "[/usr/bin/app]0x1|main 1\n", "",
		  "File: app\nBuild ID: b1\nType: samples\n" },
		{ "[/usr/bin/app]0x1|main 1\n", "b2",
		  "File: app\nType: samples\n" },
		{ "[/usr/bin/db]0x1|main 1\n", "b2", "Type: samples\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pprof a = sketch_raw("samples/count",
					    "[/usr/bin/app]0x1|main 1\n");
		struct pprof b = sketch_raw("samples/count", cases[i].lines);
		struct merge *m = merge_new();
		struct printed p;

		a.mappings.v[0].build_id =
			strtab_intern(&a.strings, str_of("b1"));
		b.mappings.v[0].build_id =
			strtab_intern(&b.strings, str_of(cases[i].build_id));
		cr_assert(!merge_add(m, &a, NULL, NULL));
		cr_assert(!merge_add(m, &b, NULL, NULL));
		p = printed_of(merge_finish(m), "top", "");
		cr_expect(str_starts(str_from(buf_bytes(&p.out)),
				     str_of(cases[i].want)),
			  "%zu: %s", i, buf_cstr(&p.out));
		printed_fini(&p);
		merge_free(m);
		pprof_fini(&a);
		pprof_fini(&b);
	}
}

Test(reports, far_values_are_shown_in_the_unit_of_a_hundred_of_the_least)
{
	/* The least value is 20 us, so the unit is that of 2 ms. */
	struct sketch s =
		sketch_init("cpu/nanoseconds", "a 5000000000\nb 20000\n");
	struct printed p = printed_of(s.p, "top", "trim=false");

	cr_expect(printed_is(
		&p, "Type: cpu\nShowing nodes accounting for 5000.02ms, 100% "
		    "of 5000.02ms total\n" TABLE
		    "    5000ms   100%   100%     5000ms   100%  a\n"
		    "    0.02ms 0.0004%   100%     0.02ms 0.0004%  b\n"));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(reports, values_are_shown_in_the_unit_asked_for)
{
	static const struct {
		const char *query;
		const char *want; /* a piece of the report */
	} table[] = {
		{ "unit=ms&sample_index=cpu", "Total samples = 3ms (30.01%)" },
		{ "unit=us",
		  "   3000us   100%   100%     3000us   100%  work" },
		{ "unit=nanoseconds", "3001500ns total" },
		{ "divide_by=1500&unit=us", "accounting for 2us" },
		{ "sample_index=samples", "Type: samples\n" },
		{ "sample_index=0", "accounting for 4, 100% of 4 total" },
		{ "sample_index=0", "Duration: 10ms, Total samples = 4 \n" },
		{ "sample_index=0&divide_by=2",
		  "accounting for 2, 100% of 2 " },
		/*
		 * The means are 3000000/3, 3001500/4 and 1500/1. The total is a
		 * mean, too.
		 */
		{ "mean&unit=ns", "Type: mean_cpu\n" },
		{ "mean&unit=ns", "1000000ns 133.27% 133.27%  1000000ns " },
		{ "mean&unit=ns",
		  "   1500ns   0.2% 133.47%   750375ns   100%" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct printed p = print_cpu("top", table[i].query);

		cr_expect(!p.rc, "%s: %s", table[i].query, p.err.msg);
		cr_expect(strstr(buf_cstr(&p.out), table[i].want),
			  "%s: no \"%s\" in\n%s", table[i].query, table[i].want,
			  buf_cstr(&p.out));
		printed_fini(&p);
	}
}

Test(reports, wrong_options_are_named_before_the_profile_is_changed)
{
	static const struct {
		const char *query;
		const char *what;
	} table[] = {
		{ "sample_index=heap", "heap" },
		{ "sample_index=2", "2" },
		{ "unit=furlongs", "furlongs" },
		{ "divide_by=0", "divide_by" },
		{ "tagroot=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "tagroot" },
		{ "focus=(", "focus" },
		{ "tagfocus=(", "tagfocus" },
		{ "tagshow=(", "tagshow" },
		{ "prune_from=(", "prune_from" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct printed p = print_cpu("top", table[i].query);

		cr_expect(p.rc == ERR_INVALID, "%s", table[i].query);
		cr_expect(strstr(p.err.msg, table[i].what), "%s: %s",
			  table[i].query, p.err.msg);
		printed_fini(&p);
	}
}

Test(reports, filters_that_match_nothing_are_listed)
{
	struct printed p = print_cpu(
		"top", "ignore=x1&tagignore=x2&tagroot=x3&hide=main&unit=ns");

	cr_expect(check_str(str_from(buf_bytes(&p.unmatched)),
			    "tagroot ignore tagignore "));
	printed_fini(&p);
}

#define RULE \
	"----------------------------------------------------------+-------------\n"
#define LEGEND \
	"      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n"

Test(reports, tree_shows_callers_and_callees)
{
	static const char show_100[] = HEAD
		"Showing nodes accounting for 100, 100% of 100 total\n";
	struct buf want = { 0 };

	buf_printf(&want, "%s%s%s", show_100, RULE, LEGEND);
	buf_str(&want, RULE
		"                                                60   100% |   work\n"
		"        60 60.00% 60.00%         60 60.00%                | leaf\n" RULE
		"                                                90   100% |   main\n"
		"        30 30.00% 90.00%         90 90.00%                | work\n"
		"                                                60 66.67% |   leaf\n" RULE
		"                                                10   100% |   main\n"
		"        10 10.00%   100%         10 10.00%                | idle\n" RULE
		"         0     0%   100%        100   100%                | main\n"
		"                                                90 90.00% |   work\n"
		"                                                10 10.00% |   idle\n" RULE);
	cr_expect(prints(lines, "tree", "", buf_cstr(&want)));
	buf_reset(&want);
	buf_printf(&want, "%s%s%s", show_100, RULE, LEGEND);
	buf_str(&want, RULE
		"                                                10   100% |   main\n"
		"        10 10.00% 10.00%         10 10.00%                | idle\n" RULE);
	cr_expect(prints(lines, "peek", "symbol=id&nodefraction=0.5",
			 buf_cstr(&want)));
	buf_fini(&want);
}

Test(reports, a_symbol_has_to_match_something)
{
	static const struct {
		const char *report;
		const char *query;
		int rc;
	} table[] = {
		{ "peek", "symbol=nowhere", ERR_NOTFOUND },
		{ "peek", "symbol=(", ERR_INVALID },
		{ "peek", "", 0 },
		{ "tree", "symbol=(", 0 },
		{ "source", "symbol=nowhere", ERR_NOTFOUND },
		{ "source", "symbol=(", ERR_INVALID },
		{ "source", "symbol=^leaf$", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init("samples/count", lines);
		struct printed p =
			printed_of(s.p, table[i].report, table[i].query);

		cr_expect(p.rc == table[i].rc, "%s %s", table[i].report,
			  table[i].query);
		if (p.rc == ERR_NOTFOUND)
			cr_expect(strstr(p.err.msg, "nowhere") != NULL);
		if (p.rc == ERR_INVALID)
			cr_expect(strstr(p.err.msg, "symbol") != NULL);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

/* Some writers pack line and column into one number. */
Test(reports, source_says_so_if_no_line_of_a_match_is_a_line_number)
{
	struct sketch s =
		sketch_init("samples/count", "f@a.go:21474836480 3\n");
	struct printed p = printed_of(s.p, "source", "symbol=^f$");

	cr_expect(p.rc == ERR_NOTFOUND);
	cr_expect(strstr(p.err.msg, "no usable line numbers"), "%s", p.err.msg);
	printed_fini(&p);
	sketch_fini(&s);
}

#define LINE \
	"-----------+-------------------------------------------------------\n"

Test(reports, traces_show_each_sample_with_its_labels)
{
	cr_expect(prints(
		"main;work>inner;leaf 3 pod=b pod=a zone=eu size#2048bytes "
		"size#1bytes n#7\n- 4\nmain 5\n",
		"traces", "",
		HEAD LINE "       pod:  b a\n      zone:  eu\n"
			  "         n:  7\n"
			  "      size:  2kB 1B\n"
			  "         3   leaf\n"
			  "             inner (inline)\n"
			  "             work\n"
			  "             main\n" LINE
			  "         5   main\n" LINE));
	cr_expect(prints("", "traces", "", HEAD LINE));
}

Test(reports, traces_hide_labels_on_request)
{
	cr_expect(prints("main 3 pod=b zone=eu\n", "traces", "taghide=pod",
			 HEAD LINE
			 "      zone:  eu\n         3   main\n" LINE));
}

/* Source listings. */

Test(reports, source_lists_lines_by_function)
{
	/* f has 60 in line 5 and 30 in line 20. g calls f. */
	cr_expect(prints("g@b.go:3;f@a.go:5 60\ng@b.go:3;f@a.go:20 30\n"
			 "h@c.go:1 10\n",
			 "source", "symbol=f|g",
			 "Total: 100\n"
			 "ROUTINE ======================== f in a.go\n"
			 "        90         90 (flat, cum) 90.00% of Total\n"
			 "        60         60      5:\n"
			 "                         ...\n"
			 "        30         30     20:\n"
			 "ROUTINE ======================== g in b.go\n"
			 "         0         90 (flat, cum) 90.00% of Total\n"
			 "         .         90      3:\n"));
	cr_expect(prints(
		"g@b.go:3 1\nf@a.go:5 2\nh@c.go:1 3\n", "source", "nodecount=1",
		"Total: 6\n"
		"ROUTINE ======================== h in c.go\n"
		"         3          3 (flat, cum) 50.00% of Total\n"
		"         3          3      1:\n"
		"2 more functions are not shown: raise nodecount to see them\n"));
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

static void expect_report(const char *name, const char *root,
			  const char *sample, const char *want)
{
	struct sketch s = sketch_init("samples/count", sample);
	struct printed p = { 0 };
	struct report_options o;

	report_options_init(&o);
	o.source_root = root;
	printed_with(&p, s.p, name, &o);
	cr_expect(strstr(buf_cstr(&p.out), want), "%s: no\n%sin\n%s", sample,
		  want, buf_cstr(&p.out));
	printed_fini(&p);
	sketch_fini(&s);
}

static void expect_source(const char *root, const char *sample,
			  const char *want)
{
	expect_report("source", root, sample, want);
}

Test(reports, source_in_json_has_the_same_lines)
{
	struct tempdir d = tempdir_make();

	write_file(d.path, "a.go",
		   "one\n\"two\"\nthree\n\n\n\n\n\n\n\neleven\n");
	expect_report("json:source", d.path, "f@/x/a.go:2 1\nf@/x/a.go:11 2\n",
		      "\"functions\":[{\"name\":\"f\",\"file\":\"/x/a.go\","
		      "\"flat\":3,\"cum\":3,\"found\":true,\"lines\":["
		      "{\"line\":1,\"flat\":0,\"cum\":0,\"text\":\"one\"},"
		      "{\"line\":2,\"flat\":1,\"cum\":1,"
		      "\"text\":\"\\\"two\\\"\"},"
		      "{\"line\":3,\"flat\":0,\"cum\":0,\"text\":\"three\"}");
	expect_report("json:source", d.path, "f@/x/a.go:11 2\n",
		      "{\"line\":11,\"flat\":2,\"cum\":2,"
		      "\"text\":\"eleven\"}");
	expect_report("json:source", NULL, "f@/x/a.go:2 1\ng@b.go:1 3\n",
		      "\"functions\":[{\"name\":\"g\",\"file\":\"b.go\","
		      "\"flat\":3,\"cum\":3,\"found\":false,\"lines\":["
		      "{\"line\":1,\"flat\":3,\"cum\":3,\"text\":\"\"}]},"
		      "{\"name\":\"f\",\"file\":\"/x/a.go\",\"flat\":1,"
		      "\"cum\":1,\"found\":false,\"lines\":["
		      "{\"line\":2,\"flat\":1,\"cum\":1,\"text\":\"\"}]}],"
		      "\"more\":0}");
	expect_report("json:source", NULL,
		      "f1@a:1 1\nf2@a:1 1\nf3@a:1 1\nf4@a:1 1\nf5@a:1 1\n"
		      "f6@a:1 1\nf7@a:1 1\nf8@a:1 1\nf9@a:1 1\nf10@a:1 1\n"
		      "f11@a:1 1\nf12@a:1 1\nf13@a:1 1\nf14@a:1 1\n"
		      "f15@a:1 1\nf16@a:1 1\nf17@a:1 1\nf18@a:1 1\n"
		      "f19@a:1 1\nf20@a:1 1\nf21@a:1 1\nf22@a:1 1\n",
		      "\"more\":2}");
	tempdir_fini(&d);
}

Test(reports, source_shows_text_below_the_root_and_nowhere_else)
{
	struct tempdir d = tempdir_make();
	char path[256];
	char link[300];

	write_file(d.path, "secret.go", "secret\n");
	snprintf(path, sizeof(path), "%s/src", d.path);
	cr_assert(!mkdir(path, 0700));
	write_file(path, "a.go", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
	/*
	 * Four lines before and after the sample are shown. The profile names a
	 * folder of another machine, but the file is found.
	 */
	expect_source(path, "f@/build/x/a.go:6 1\n",
		      "         .          .      2:two\n"
		      "         .          .      3:three\n"
		      "         .          .      4:four\n"
		      "         .          .      5:five\n"
		      "         1          1      6:six\n"
		      "         .          .      7:seven\n"
		      "         .          .      8:\n");
	expect_source(path, "f@a.go:1 1\nf@a.go:2 3\n",
		      "Total: 4\n"
		      "ROUTINE ======================== f in a.go\n"
		      "         4          4 (flat, cum)   100% of Total\n"
		      "         1          1      1:one\n"
		      "         3          3      2:two\n"
		      "         .          .      3:three\n");
	/*
	 * No text is shown for a file that is not below the root, or without a
	 * root.
	 */
	expect_source(path, "f@../secret.go:1 1\n",
		      " of Total\n         1          1      1:\n");
	expect_source(path, "f@secret.go:1 1\n",
		      " of Total\n         1          1      1:\n");
	expect_source(NULL, "f@a.go:1 1\n",
		      " of Total\n         1          1      1:\n");
	/*
	 * No text is shown for links that leave the root. One of them leads to
	 * a folder whose name begins with that of the root.
	 */
	snprintf(link, sizeof(link), "%s2", path);
	cr_assert(!mkdir(link, 0700));
	write_file(link, "b.go", "secret\n");
	snprintf(link, sizeof(link), "%s/link.go", path);
	cr_assert(!symlink("../secret.go", link));
	expect_source(path, "f@link.go:1 1\n",
		      " of Total\n         1          1      1:\n");
	snprintf(link, sizeof(link), "%s/link2.go", path);
	cr_assert(!symlink("../src2/b.go", link));
	expect_source(path, "f@link2.go:1 1\n",
		      " of Total\n         1          1      1:\n");
	tempdir_fini(&d);
}
