/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/flame_svg.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "base/xml.h"
#include "pprof/profile/measure.h"
#include "pprof/report/report_text.h"

/* Geometry in the units of the SVG's view box. */
#define WIDTH      1200.0
#define ROW        17   /* height of a frame */
#define TOP        26   /* y of the first row of frames */
#define CHAR_WIDTH 6.6  /* average width of a character */
#define NARROWEST  0.25 /* smallest width of a frame that is drawn */
#define ROWS_MAX   4000 /* largest number of rows that are drawn */

/*
 * The script of the SVG: a click on a frame zooms in, a double click zooms out.
 */
static const char flame_script[] =
	"(function(){"
	"var svg=document.getElementById('flame');if(!svg)return;"
	"var W=1200,G=[].slice.call(svg.querySelectorAll('g.f'));"
	"function num(g,k){return parseFloat(g.getAttribute('data-'+k))}"
	"function show(at){"
	"var x0=num(at,'x'),w0=num(at,'w'),d0=num(at,'d'),s=W/w0;"
	"G.forEach(function(g){"
	"var x=num(g,'x'),w=num(g,'w'),d=num(g,'d');"
	"var above=d<=d0&&x<=x0+0.001&&x+w>=x0+w0-0.001;"
	"var on=above||(x>=x0-0.001&&x+w<=x0+w0+0.001&&d>=d0);"
	"g.style.display=on?'':'none';if(!on)return;"
	"var nx=above?0:(x-x0)*s,nw=above?W:w*s;"
	"var r=g.querySelector('rect'),t=g.querySelector('text');"
	"r.setAttribute('x',nx);r.setAttribute('width',Math.max(nw-0.5,0.2));"
	"t.setAttribute('x',nx+3);"
	"var n=g.getAttribute('data-n'),c=Math.floor((nw-4)/6.6);"
	"t.textContent=c<3?'':n.length>c?n.slice(0,c-1)+'\\u2026':n})}"
	"svg.addEventListener('click',function(e){"
	"var g=e.target.closest('g.f');if(g)show(g)});"
	"svg.addEventListener('dblclick',function(){show(G[0])})})();";

/* The horizontal position of a frame, and of its next child. */
struct box {
	double x;
	double width;
	double next; /* x of the next child to be placed */
};

/*
 * The weight that a frame's width is proportional to. Both sides of a diff
 * count, so that a frame that exists only on one side is visible.
 */
static double flame_svg_compute_weight(const struct flame_node *n)
{
	return fabs((double)n->total) + fabs((double)n->total_a);
}

/*
 * Return the length of the path in front of a function's name, with its last
 * slash: 4 of "net/http.Get", 0 of "operator/(double)". Names of many languages
 * have slashes, so a path has only characters of Go's import paths, and is
 * followed by something other than the arity of a function ("map/2" of Erlang).
 * web/ui/model/package.ts has the same rule.
 */
static size_t flame_svg_path_len(struct str name)
{
	static const char never[] = "!\"#&'()*,:;<=>?[\\]^`{|}";
	size_t digits = 0; /* from `len` on */
	size_t len = 0;
	size_t end = 0;

	while (end < name.len && (unsigned char)name.ptr[end] > ' ' &&
	       !strchr(never, name.ptr[end]))
		end++;
	for (size_t i = 0; i < end; i++)
		len = name.ptr[i] == '/' ? i + 1 : len;
	while (len + digits < name.len &&
	       isdigit((unsigned char)name.ptr[len + digits]))
		digits++;
	return len < end && len + digits < name.len ? len : 0;
}

/*
 * Print a warm colour that depends only on the package of the function, so that
 * frames of one package look alike in every graph.
 */
static void print_color(struct str name, struct buf *out)
{
	size_t start = flame_svg_path_len(name);
	const char *dot = name.len > start ? memchr(name.ptr + start, '.',
						    name.len - start) :
					     NULL;
	struct str package = { name.ptr,
			       dot ? (size_t)(dot - name.ptr) : name.len };
	uint64_t h = hash_bytes(bytes_of(package));

	buf_printf(out, "hsl(%" PRIu64 ",%" PRIu64 "%%,%" PRIu64 "%%)",
		   10 + h % 45, 62 + h / 64 % 25, 62 + h / 4096 % 14);
}

/*
 * Print the colour of a frame in a diff: red if its value has grown, blue if it
 * has shrunk. Values are compared, not shares of the total, so that a leak is
 * red however much the rest of the program has grown (docs/decisions.md, 97).
 * The larger the change in relation to the frame, the stronger the colour.
 */
static void print_diff_color(const struct flame_node *n, struct buf *out)
{
	double b = (double)n->total;
	double a = (double)n->total_a;
	double most = fmax(fabs(a), fabs(b));
	double change = most > 0 ? fmax(-1, fmin(1, (b - a) / most)) : 0;

	buf_printf(out, "hsl(%d,75%%,%d%%)", change > 0 ? 4 : 214,
		   (int)(92 - 40 * fabs(change)));
}

/* Print v as a percentage of the total; print nothing if the total is 0. */
static void print_share(int64_t v, int64_t total, struct buf *out)
{
	if (total)
		buf_printf(out, " (%.2f%%)", 100 * (double)v / (double)total);
}

/*
 * Print a value with its unit. Units come from untrusted profiles, so they are
 * escaped, too.
 */
static void flame_svg_print_value(const struct report *r, int64_t v,
				  struct buf *out)
{
	struct buf text = { 0 };

	report_value(r, v, &text);
	xml_escape_text(out, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/*
 * Print the tooltip: the full name, then value and share of the total; in a
 * diff, also value and share in the base.
 */
static void print_title(const struct report *r, const struct flame *f,
			const struct flame_node *n, struct buf *out)
{
	const struct flame_node *root = &f->v.v[0];

	buf_str(out, "<title>");
	xml_escape_text(out, flame_name(r, n));
	buf_str(out, "\n");
	flame_svg_print_value(r, n->total, out);
	print_share(n->total, root->total, out);
	if (f->has_base) {
		buf_str(out, ", was ");
		flame_svg_print_value(r, n->total_a, out);
		print_share(n->total_a, root->total_a, out);
	}
	buf_str(out, "</title>");
}

/* The function's name without the path of its package. */
static struct str short_name(struct str s)
{
	size_t path = flame_svg_path_len(s);

	return (struct str){ s.ptr + path, s.len - path };
}

/* The beginning of a name that fits into a frame of this width. */
static struct str flame_svg_find_fitting(struct str name, double width)
{
	size_t max = width > 24 ? (size_t)((width - 4) / CHAR_WIDTH) : 0;

	if (name.len > max)
		name.len = max;
	while (name.len && !str_is_utf8(name))
		name.len--; /* never cut within a character */
	return name;
}

/* Print one frame: attributes for the script, tooltip, rectangle and text. */
static void flame_svg_print_frame(const struct report *r, const struct flame *f,
				  size_t i, const struct box *box,
				  struct buf *out)
{
	const struct flame_node *n = &f->v.v[i];
	struct str name = short_name(flame_name(r, n));
	uint32_t y = TOP + n->depth * ROW;

	buf_printf(
		out,
		"<g class=\"f\" data-x=\"%.2f\" data-w=\"%.2f\" data-d=\"%u\" data-n=\"",
		box->x, box->width, n->depth);
	xml_escape_text(out, name);
	buf_str(out, "\">");
	print_title(r, f, n, out);
	buf_printf(
		out,
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
		box->x, y, fmax(box->width - 0.5, 0.2), ROW - 1);
	if (f->has_base)
		print_diff_color(n, out);
	else
		print_color(flame_name(r, n), out);
	buf_printf(out, "\"/><text x=\"%.2f\" y=\"%u\">", box->x + 3, y + 12);
	xml_escape_text(out, flame_svg_find_fitting(name, box->width));
	buf_str(out, "</text></g>\n");
}

/*
 * Print all frames; children are side by side from the left edge of their
 * parent.
 */
static void print_frames(const struct report *r, const struct flame *f,
			 struct buf *out)
{
	struct box *boxes = mem_zalloc(f->v.count, sizeof(*boxes));
	double whole = flame_svg_compute_weight(&f->v.v[0]);

	boxes[0] = (struct box){ .width = WIDTH };
	for (size_t i = 0; i < f->v.count; i++) {
		const struct flame_node *n = &f->v.v[i];
		struct box *parent = &boxes[n->parent];

		if (i) {
			boxes[i].width =
				whole > 0 ?
					WIDTH * flame_svg_compute_weight(n) /
						whole :
					0;
			boxes[i].x = boxes[i].next = parent->next;
			parent->next += boxes[i].width;
		}
		if (boxes[i].width >= NARROWEST && n->depth < ROWS_MAX)
			flame_svg_print_frame(r, f, i, &boxes[i], out);
	}
	mem_free(boxes);
}

/*
 * The depth of the deepest frame that is wide enough to be drawn. The height of
 * the picture depends on it.
 */
static uint32_t depth_shown(const struct flame *f)
{
	double whole = flame_svg_compute_weight(&f->v.v[0]);
	uint32_t max = 0;

	for (size_t i = 0; i < f->v.count; i++) {
		const struct flame_node *n = &f->v.v[i];

		if (n->depth > max && n->depth < ROWS_MAX && whole > 0 &&
		    WIDTH * flame_svg_compute_weight(n) / whole >= NARROWEST)
			max = n->depth;
	}
	return max;
}

/*
 * Print the line above the frames: sample type, total, and the legend of a
 * diff.
 */
static void print_heading(const struct report *r, const struct flame *f,
			  struct buf *out)
{
	buf_printf(out, "<text x=\"3\" y=\"16\">");
	xml_escape_text(out, r->type);
	buf_str(out, ": ");
	flame_svg_print_value(r, f->v.v[0].total, out);
	if (f->has_base) {
		buf_str(out, ", was ");
		flame_svg_print_value(r, f->v.v[0].total_a, out);
	}
	buf_str(out, "</text>\n");
	if (f->has_base)
		buf_printf(
			out,
			"<text x=\"%.0f\" y=\"16\" text-anchor=\"end\"><tspan fill=\"hsl(4,75%%,45%%)\">red: more than the base</tspan>, <tspan fill=\"hsl(214,75%%,45%%)\">blue: less</tspan></text>\n",
			WIDTH - 3);
}

/* Write the <svg> element. Its script comes last, after the boxes. */
static void flame_svg_print(const struct report *r, const struct flame *f,
			    struct buf *out)
{
	uint32_t height = TOP + (depth_shown(f) + 1) * ROW + 4;

	buf_printf(
		out,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" width=\"100%%\">\n"
		"<style>#flame{font:11px ui-monospace,monospace;background:#fff}"
		"#flame text{pointer-events:none;fill:#1d2733}"
		"#flame g.f{cursor:pointer}#flame g.f:hover rect{stroke:#1d2733}</style>\n",
		WIDTH, height);
	print_heading(r, f, out);
	print_frames(r, f, out);
	buf_printf(out, "<script><![CDATA[%s]]></script>\n</svg>\n",
		   flame_script);
}

int report_flamegraph_svg(struct report *r, struct buf *out, struct err *err)
{
	struct flame f;
	int rc = flame_init(&f, r, flame_walk_of(r->o), r->o->max_nodes, err);

	if (rc) {
		flame_fini(&f);
		return rc;
	}
	flame_svg_print(r, &f, out);
	flame_fini(&f);
	return report_size(out, err);
}
