/* feed/text/sanitize_lists.c - lists of what is allowed. They are close to those of the Universal
 * Feed Parser, so that programs that rely on its results find the same. Where they differ, ours are
 * stricter about what can run, or have newer harmless elements. */
#include "feed/text/html.h"
#include "feed/text/sanitize_priv.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/compiler.h"

/* HTML elements for text, tables, media and forms; none that run scripts, embed documents or change
 * the style of the page */
static const char *const elements[] = {
    "a",          "abbr",       "acronym",  "address",  "area",     "article",
    "aside",      "audio",      "b",        "bdi",      "bdo",      "big",
    "blockquote", "br",         "button",   "canvas",   "caption",  "center",
    "cite",       "code",       "col",      "colgroup", "command",  "datagrid",
    "datalist",   "dd",         "del",      "details",  "dfn",      "dialog",
    "dir",        "div",        "dl",       "dt",       "em",       "event-source",
    "fieldset",   "figcaption", "figure",   "font",     "footer",   "form",
    "h1",         "h2",         "h3",       "h4",       "h5",       "h6",
    "header",     "hr",         "i",        "img",      "input",    "ins",
    "kbd",        "keygen",     "label",    "legend",   "li",       "m",
    "main",       "map",        "mark",     "menu",     "meter",    "multicol",
    "nav",        "nextid",     "noscript", "ol",       "optgroup", "option",
    "output",     "p",          "picture",  "pre",      "progress", "q",
    "rp",         "rt",         "ruby",     "s",        "samp",     "section",
    "select",     "small",      "sound",    "source",   "spacer",   "span",
    "strike",     "strong",     "sub",      "summary",  "sup",      "table",
    "tbody",      "td",         "textarea", "tfoot",    "th",       "thead",
    "time",       "tr",         "track",    "tt",       "u",        "ul",
    "var",        "video",      "wbr",
};

static const char *const attributes[] = {
    "abbr",
    "accept",
    "accept-charset",
    "accesskey",
    "action",
    "align",
    "alt",
    "autocomplete",
    "axis",
    "background",
    "balance",
    "bgcolor",
    "bgproperties",
    "border",
    "bordercolor",
    "bordercolordark",
    "bordercolorlight",
    "bottompadding",
    "cellpadding",
    "cellspacing",
    "ch",
    "challenge",
    "char",
    "charoff",
    "charset",
    "checked",
    "choff",
    "cite",
    "class",
    "clear",
    "color",
    "cols",
    "colspan",
    "compact",
    "contenteditable",
    "controls",
    "coords",
    "data",
    "datafld",
    "datapagesize",
    "datasrc",
    "datetime",
    "default",
    "delay",
    "dir",
    "disabled",
    "draggable",
    "dynsrc",
    "enctype",
    "end",
    "face",
    "for",
    "form",
    "frame",
    "galleryimg",
    "gutter",
    "headers",
    "height",
    "hidden",
    "hidefocus",
    "high",
    "href",
    "hreflang",
    "hspace",
    "icon",
    "id",
    "inputmode",
    "ismap",
    "keytype",
    "label",
    "lang",
    "leftspacing",
    "list",
    "longdesc",
    "loop",
    "loopcount",
    "loopend",
    "loopstart",
    "low",
    "lowsrc",
    "max",
    "maxlength",
    "media",
    "method",
    "min",
    "multiple",
    "name",
    "nohref",
    "noshade",
    "nowrap",
    "open",
    "optimum",
    "pattern",
    "ping",
    "point-size",
    "poster",
    "pqg",
    "preload",
    "prompt",
    "radiogroup",
    "readonly",
    "rel",
    "repeat-max",
    "repeat-min",
    "replace",
    "required",
    "rev",
    "rightspacing",
    "rows",
    "rowspan",
    "rules",
    "scope",
    "selected",
    "shape",
    "size",
    "span",
    "src",
    "start",
    "step",
    "style",
    "summary",
    "suppress",
    "tabindex",
    "target",
    "template",
    "title",
    "toppadding",
    "type",
    "unselectable",
    "urn",
    "usemap",
    "valign",
    "value",
    "variable",
    "volume",
    "vrml",
    "vspace",
    "width",
    "wrap",
    "xml:lang",
};

static const char *const mathml_elements[] = {
    "annotation",    "maction", "maligngroup", "malignmark", "math",       "menclose",
    "merror",        "mfenced", "mfrac",       "mi",         "mlabeledtr", "mlongdiv",
    "mmultiscripts", "mn",      "mo",          "mover",      "mpadded",    "mphantom",
    "mprescripts",   "mroot",   "mrow",        "ms",         "mscarries",  "mscarry",
    "msgroup",       "msline",  "mspace",      "msqrt",      "msrow",      "mstack",
    "mstyle",        "msub",    "msubsup",     "msup",       "mtable",     "mtd",
    "mtext",         "mtr",     "munder",      "munderover", "none",       "semantics",
};

static const char *const mathml_attributes[] = {
    "accent",
    "accentunder",
    "actiontype",
    "align",
    "alignmentscope",
    "altimg",
    "altimg-height",
    "altimg-valign",
    "altimg-width",
    "alttext",
    "bevelled",
    "charalign",
    "close",
    "columnalign",
    "columnlines",
    "columnspacing",
    "columnspan",
    "columnwidth",
    "crossout",
    "decimalpoint",
    "denomalign",
    "depth",
    "dir",
    "display",
    "displaystyle",
    "edge",
    "encoding",
    "equalcolumns",
    "equalrows",
    "fence",
    "fontstyle",
    "fontweight",
    "form",
    "frame",
    "framespacing",
    "groupalign",
    "height",
    "href",
    "id",
    "indentalign",
    "indentalignfirst",
    "indentalignlast",
    "indentshift",
    "indentshiftfirst",
    "indentshiftlast",
    "indenttarget",
    "infixlinebreakstyle",
    "largeop",
    "length",
    "linebreak",
    "linebreakmultchar",
    "linebreakstyle",
    "lineleading",
    "linethickness",
    "location",
    "longdivstyle",
    "lquote",
    "lspace",
    "mathbackground",
    "mathcolor",
    "mathsize",
    "mathvariant",
    "maxsize",
    "minlabelspacing",
    "minsize",
    "movablelimits",
    "notation",
    "numalign",
    "open",
    "other",
    "overflow",
    "position",
    "rowalign",
    "rowlines",
    "rowspacing",
    "rowspan",
    "rquote",
    "rspace",
    "scriptlevel",
    "scriptminsize",
    "scriptsizemultiplier",
    "selection",
    "separator",
    "separators",
    "shift",
    "side",
    "src",
    "stackalign",
    "stretchy",
    "subscriptshift",
    "superscriptshift",
    "symmetric",
    "voffset",
    "width",
    "xlink:href",
    "xlink:show",
    "xlink:type",
    "xmlns",
    "xmlns:xlink",
};

/* without animation, which can write an href, and without use and foreignObject, which bring in
 * markup from elsewhere */
static const char *const svg_elements[] = {
    "a",
    "circle",
    "defs",
    "desc",
    "ellipse",
    "font-face",
    "font-face-name",
    "font-face-src",
    "g",
    "glyph",
    "hkern",
    "line",
    "linearGradient",
    "marker",
    "metadata",
    "missing-glyph",
    "mpath",
    "path",
    "polygon",
    "polyline",
    "radialGradient",
    "rect",
    "stop",
    "svg",
    "switch",
    "text",
    "title",
    "tspan",
};

static const char *const svg_attributes[] = {
    "accent-height",
    "alphabetic",
    "arabic-form",
    "ascent",
    "baseProfile",
    "bbox",
    "cap-height",
    "class",
    "color",
    "color-rendering",
    "content",
    "cx",
    "cy",
    "d",
    "descent",
    "display",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "fill-rule",
    "font-family",
    "font-size",
    "font-stretch",
    "font-style",
    "font-variant",
    "font-weight",
    "fx",
    "fy",
    "g1",
    "g2",
    "glyph-name",
    "gradientUnits",
    "hanging",
    "height",
    "horiz-adv-x",
    "horiz-origin-x",
    "id",
    "ideographic",
    "k",
    "lang",
    "marker-end",
    "marker-mid",
    "marker-start",
    "markerHeight",
    "markerUnits",
    "markerWidth",
    "mathematical",
    "name",
    "offset",
    "opacity",
    "orient",
    "origin",
    "overline-position",
    "overline-thickness",
    "panose-1",
    "path",
    "pathLength",
    "points",
    "preserveAspectRatio",
    "r",
    "refX",
    "refY",
    "rotate",
    "rx",
    "ry",
    "slope",
    "stemh",
    "stemv",
    "stop-color",
    "stop-opacity",
    "strikethrough-position",
    "strikethrough-thickness",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-opacity",
    "stroke-width",
    "style",
    "target",
    "text-anchor",
    "transform",
    "type",
    "u1",
    "u2",
    "underline-position",
    "underline-thickness",
    "unicode",
    "unicode-range",
    "units-per-em",
    "version",
    "viewBox",
    "visibility",
    "width",
    "widths",
    "x",
    "x-height",
    "x1",
    "x2",
    "xlink:actuate",
    "xlink:arcrole",
    "xlink:href",
    "xlink:role",
    "xlink:show",
    "xlink:title",
    "xlink:type",
    "xml:base",
    "xml:lang",
    "xml:space",
    "xmlns",
    "xmlns:xlink",
    "y",
    "y1",
    "y2",
    "zoomAndPan",
};

/* properties that cannot place one thing over another, nor fetch anything */
static const char *const css_properties[] = {
    "azimuth",
    "background-color",
    "border-bottom-color",
    "border-collapse",
    "border-color",
    "border-left-color",
    "border-right-color",
    "border-top-color",
    "clear",
    "color",
    "cursor",
    "direction",
    "display",
    "elevation",
    "float",
    "font",
    "font-family",
    "font-size",
    "font-style",
    "font-variant",
    "font-weight",
    "height",
    "letter-spacing",
    "line-height",
    "overflow",
    "pause",
    "pause-after",
    "pause-before",
    "pitch",
    "pitch-range",
    "richness",
    "speak",
    "speak-header",
    "speak-numeral",
    "speak-punctuation",
    "speech-rate",
    "stress",
    "text-align",
    "text-decoration",
    "text-indent",
    "unicode-bidi",
    "vertical-align",
    "voice-family",
    "volume",
    "white-space",
    "width",
};

static const char *const svg_css_properties[] = {
    "fill",           "fill-opacity",    "fill-rule",      "stroke",
    "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width",
};

/* values of the background, border, margin and padding families */
static const char *const css_keywords[] = {
    "!important", "aqua",   "auto",   "black",       "block",     "blue",   "bold",    "both",
    "bottom",     "brown",  "center", "collapse",    "dashed",    "dotted", "fuchsia", "gray",
    "green",      "italic", "left",   "lime",        "maroon",    "medium", "navy",    "none",
    "normal",     "nowrap", "olive",  "pointer",     "purple",    "red",    "right",   "silver",
    "solid",      "teal",   "top",    "transparent", "underline", "white",  "yellow",
};

static const char *const void_elements[] = {
    "area",  "base",    "basefont", "br",   "col",  "command", "embed",  "frame", "hr",  "img",
    "input", "isindex", "keygen",   "link", "meta", "param",   "source", "track", "wbr",
};

static const char *const schemes[] = {
    "aim",   "callto", "cvs",    "facetime", "feed",  "file",   "ftp",   "git",      "gopher",
    "gtalk", "h323",   "hdl",    "http",     "https", "imap",   "irc",   "irc6",     "ircs",
    "itms",  "magnet", "mailto", "mms",      "msnim", "news",   "nntp",  "prospero", "rsync",
    "rtsp",  "rtspu",  "sftp",   "shttp",    "sip",   "sips",   "skype", "smb",      "sms",
    "snews", "ssh",    "svn",    "svn+ssh",  "tel",   "telnet", "wais",  "xmpp",     "ymsg",
};

/* attributes whose value a browser follows or fetches */
static const char *const url_attributes[] = {
    "action",        "altimg",     "background", "cite",     "data",   "datasrc",
    "dynsrc",        "href",       "icon",       "longdesc", "lowsrc", "ping",
    "poster",        "src",        "template",   "urn",      "usemap", "vrml",
    "xlink:arcrole", "xlink:href", "xlink:role", "xml:base",
};

/* those of them that browsers resolve; the others are obsolete and stay as they are */
static const char *const resolved_attributes[] = {
    "href", "src", "cite", "action", "longdesc", "poster", "usemap",
};

static const char *const hidden_elements[] = {"script", "style", "applet"};

static const char *const blocks[] = {
    "address", "article",  "aside",  "blockquote", "center", "details", "dir", "div",
    "dl",      "fieldset", "figure", "figcaption", "footer", "form",    "h1",  "h2",
    "h3",      "h4",       "h5",     "h6",         "header", "hr",      "nav", "menu",
    "ol",      "p",        "pre",    "section",    "table",  "ul",
};

static const char *const areas[] = {"svg", "math"};

/* Elements whose end tag may be left out. */
static const struct {
    const char *name;
    unsigned char row;
} optional_ends[] = {{"p", 1},      {"li", 11},    {"dt", 21},       {"dd", 21},
                     {"tbody", 31}, {"thead", 31}, {"tfoot", 31},    {"tr", 32},
                     {"td", 33},    {"th", 33},    {"optgroup", 41}, {"option", 42}};

static const char *const fences[] = {"table", "td", "th", "caption"};

static const struct {
    const char *const *names;
    size_t n;
} lists[] = {
#define LIST(id, names) [SANITIZE_##id] = {names, ARRAY_LEN(names)}
    LIST(ELEMENTS, elements),
    LIST(ATTRIBUTES, attributes),
    LIST(MATHML_ELEMENTS, mathml_elements),
    LIST(MATHML_ATTRIBUTES, mathml_attributes),
    LIST(SVG_ELEMENTS, svg_elements),
    LIST(SVG_ATTRIBUTES, svg_attributes),
    LIST(CSS_PROPERTIES, css_properties),
    LIST(SVG_CSS_PROPERTIES, svg_css_properties),
    LIST(CSS_KEYWORDS, css_keywords),
    LIST(VOID_ELEMENTS, void_elements),
    LIST(SCHEMES, schemes),
    LIST(URL_ATTRIBUTES, url_attributes),
    LIST(RESOLVED_ATTRIBUTES, resolved_attributes),
    LIST(HIDDEN_ELEMENTS, hidden_elements),
    LIST(BLOCKS, blocks),
    LIST(AREAS, areas),
    LIST(FENCES, fences),
#undef LIST
};

/* ---------------------------------------------------------------- looking up */

#define NAMES_MAX 1024
#define SLOTS 4096 /* a power of two */
#define LEN_MAX 32

/* All lists as one hash table with open addressing. It is made once from the lists above, and is
 * the same in every process. */
static struct sanitize_name names[NAMES_MAX];
static uint16_t slots[SLOTS]; /* index in `names` + 1; 0: free */
static pthread_once_t names_once = PTHREAD_ONCE_INIT;
static atomic_bool are_made;

/* A name of at most sixteen bytes as its first and its last eight bytes, in lower case. Together
 * they are the whole name. */
struct words {
    uint64_t first, last;
};

static inline uint64_t load_8(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

static inline uint64_t load_4(const char *p)
{
    uint32_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* Returns eight bytes with their ASCII letters in lower case. */
static inline uint64_t lower(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101, high = ones * 0x80;
    uint64_t low = w & ~high;
    uint64_t is_upper = (low + ones * (0x80 - 'A')) & ~(low + ones * (0x7F - 'Z')) & ~w & high;

    return w | is_upper >> 2;
}

static inline struct words words_of(struct str name)
{
    const char *p = name.ptr;
    size_t n = name.len;

    if (n >= 8)
        return (struct words){lower(load_8(p)), lower(load_8(p + n - 8))};
    if (n >= 4)
        return (struct words){lower(load_4(p) | load_4(p + n - 4) << 32), 0};
    return (struct words){lower((unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
                                (uint64_t)(unsigned char)p[n - 1] << 16),
                          0};
}

static inline bool is_same(const struct sanitize_name *known, struct str name, struct words w)
{
    struct words k;

    if (known->own.len != name.len)
        return false;
    k = words_of(known->own);
    return k.first == w.first && k.last == w.last && (name.len <= 16 || str_ieq(known->own, name));
}

/* Returns the slot of `name`, or the free slot where it belongs. */
static inline size_t find_slot(struct str name)
{
    struct words w = words_of(name);
    uint64_t h = (w.first ^ w.last << 7 ^ name.len) * 0x9E3779B97F4A7C15;
    size_t slot = (size_t)(h >> 40) % SLOTS;

    while (slots[slot] != 0 && !is_same(&names[slots[slot] - 1], name, w))
        slot = (slot + 1) % SLOTS;
    return slot;
}

static void make_names(void)
{
    size_t n = 0;

    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (size_t i = 0; i < lists[l].n; i++) {
            struct str name = str_from(lists[l].names[i]);
            size_t slot = find_slot(name);

            if (slots[slot] == 0) {
                ASSERT(n < NAMES_MAX && name.len <= LEN_MAX);
                names[n].own = name;
                slots[slot] = (uint16_t)++n;
            }
            /* a name has the same spelling in all lists */
            ASSERT(str_eq(names[slots[slot] - 1].own, name));
            names[slots[slot] - 1].lists |= 1u << l;
        }
    for (size_t i = 0; i < ARRAY_LEN(optional_ends); i++) {
        size_t slot = find_slot(str_from(optional_ends[i].name));

        ASSERT(slots[slot] != 0);
        names[slots[slot] - 1].row = optional_ends[i].row;
    }
    atomic_store_explicit(&are_made, true, memory_order_release);
}

const struct sanitize_name *sanitize_name(struct str name)
{
    size_t slot;

    if (name.len == 0 || name.len > LEN_MAX)
        return NULL;
    if (!atomic_load_explicit(&are_made, memory_order_acquire))
        (void)pthread_once(&names_once, make_names);
    slot = find_slot(name);
    return slots[slot] == 0 ? NULL : &names[slots[slot] - 1];
}

bool html_is_element(struct str name)
{
    static const char *const others[] = {
        "base",     "basefont", "body",    "embed",   "frame",     "frameset", "head",
        "html",     "iframe",   "isindex", "link",    "listing",   "meta",     "noembed",
        "noframes", "noscript", "object",  "param",   "plaintext", "slot",     "template",
        "title",    "xmp",      "blink",   "marquee", "bgsound",   "picture",  "portal",
        "main",     "wbr",      "summary", "track",   "data",      "ruby",     "rt",
        "rp",       "hgroup",   "bdi",     "mark",    "nobr",      "layer",    "rb",
        "rtc",      "search"};
    const struct sanitize_name *known = sanitize_name(name);

    if (sanitize_is(known, SANITIZE_ELEMENTS) || sanitize_is(known, SANITIZE_HIDDEN_ELEMENTS) ||
        sanitize_is(known, SANITIZE_SVG_ELEMENTS) || sanitize_is(known, SANITIZE_MATHML_ELEMENTS))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_ieqz(name, others[i]))
            return true;
    return false;
}

bool sanitize_listed(enum sanitize_list list, struct str name)
{
    return sanitize_is(sanitize_name(name), list);
}
