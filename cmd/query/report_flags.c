/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report options as flags: one table, in pprof/, serves the command line and
 * the API.
 */
#include "cmd/query/report_flags.h"

#include "cmd/cli/console.h"
#include "cmd/cli/output.h"
#include "pprof/report/report.h"

struct flag *report_flags_list(struct report_flags *f, struct flag *at)
{
	const struct report_option_help *o = report_option_list();
	struct report_options fallback;

	report_options_init(&fallback);
	for (size_t i = 0; o[i].name; i++) {
		f->switches[i] = report_option_is_on(&fallback, i);
		f->texts[i].count = 0;
		*at++ = (struct flag){
			.name = o[i].name,
			.kind = o[i].is_switch ? FLAG_BOOL : FLAG_TEXTS,
			.out = o[i].is_switch ? (void *)&f->switches[i] :
						(void *)&f->texts[i],
			.help = o[i].help,
		};
	}
	return at;
}

void report_flags_each(const struct report_flags *f,
		       void (*fn)(void *ctx, const char *name,
				  const char *value),
		       void *ctx)
{
	const struct report_option_help *o = report_option_list();

	for (size_t i = 0; o[i].name; i++) {
		const struct flag_texts *texts = &f->texts[i];
		/*
		 * As with other flags, the last value of a single one counts.
		 */
		size_t k = o[i].repeats || !texts->count ? 0 : texts->count - 1;

		if (o[i].is_switch)
			fn(ctx, o[i].name, f->switches[i] ? "true" : "false");
		for (; k < texts->count; k++)
			fn(ctx, o[i].name, texts->v[k]);
	}
}

/* The context of report_flags_each() in report_flags_options(). */
struct setting {
	struct report_options *o;
	struct err *err;
	int rc;
};

/*
 * report_flags_each() callback: set one option. After the first error the other
 * options are skipped.
 */
static void report_flags_set_flag(void *ctx, const char *name,
				  const char *value)
{
	struct setting *s = ctx;

	if (!s->rc)
		s->rc = report_option(s->o, str_of(name), str_of(value),
				      s->err);
}

int report_flags_options(const struct report_flags *f,
			 struct report_options *out, struct err *err)
{
	struct setting s = { .o = out, .err = err };

	report_options_init(out);
	report_flags_each(f, report_flags_set_flag, &s);
	return s.rc;
}

int report_flags_check_output(const char *output, const char *report,
			      struct err *err)
{
	const struct report_type *type = report_find(str_of(report));
	struct str media = str_of(type ? type->content_type : NULL);
	bool is_svg = str_starts(media, str_of("image/svg"));
	const char *what = is_svg ? "SVG" :
			   str_starts(media, str_of("application/json")) ?
				    "JSON" :
			   type ? "text" :
				  "a profile";

	return output_check_name(output, is_svg, what, err);
}

void report_flags_warn(const struct no_match *none)
{
	for (size_t i = 0; i < none->count; i++)
		console_say("warning: %s expression matched no samples",
			    none->names[i]);
}
