/* net/http_fields.c - small readers of field values. They skip what they cannot read. */
#include "net/http_fields.h"

#include "base/ascii.h"
#include "base/clock.h"

/* ---- scanning ---- */

static void skip_spaces(struct str *s)
{
    while (s->len > 0 && ascii_is_blank(s->ptr[0]))
        *s = str_slice(*s, 1, s->len);
}

static bool take_char(struct str *s, char c)
{
    if (s->len == 0 || s->ptr[0] != c)
        return false;
    *s = str_slice(*s, 1, s->len);
    return true;
}

/* Take the bytes before the first byte that is in `stops`. Spaces at their end are removed. */
static struct str take_until(struct str *s, const char *stops)
{
    size_t n = 0;
    struct str taken;

    while (n < s->len && (s->ptr[n] == '\0' || strchr(stops, s->ptr[n]) == NULL))
        n++;
    taken = str_trim(str_slice(*s, 0, n));
    *s = str_slice(*s, n, s->len);
    return taken;
}

/* Take the quoted-string at the start of *s, which must be a quote. Returns the raw text between
 * the quotes. If the closing quote is missing, it takes everything. */
static struct str take_quoted(struct str *s)
{
    size_t n = 1;
    struct str taken;

    while (n < s->len && s->ptr[n] != '"')
        n += s->ptr[n] == '\\' && n + 1 < s->len ? 2 : 1;
    if (n > s->len)
        n = s->len;
    taken = str_slice(*s, 1, n);
    *s = str_slice(*s, n + 1, s->len);
    return taken;
}

/* Take the next element of a comma-separated list, and trim it. A comma in quotes does not separate
 * elements. Empty elements are skipped (RFC 9110 §5.6.1). False: there are no more elements. */
static bool next_element(struct str *rest, struct str *element)
{
    while (rest->len > 0) {
        struct str at = *rest;
        size_t n;

        while (at.len > 0 && at.ptr[0] != ',') {
            if (at.ptr[0] == '"')
                take_quoted(&at);
            else
                at = str_slice(at, 1, at.len);
        }
        n = rest->len - at.len;
        *element = str_trim(str_slice(*rest, 0, n));
        *rest = str_slice(*rest, n + 1, rest->len);
        if (element->len > 0)
            return true;
    }
    return false;
}

/* Take the next parameter `; name=value` of an element. *value is raw, and null when there is no
 * '='. *quoted: it was in quotes. False: there are no more parameters. */
static bool next_param(struct str *rest, struct str *name, struct str *value, bool *quoted)
{
    for (;;) {
        take_until(rest, ";");
        if (!take_char(rest, ';'))
            return false;
        skip_spaces(rest);
        *name = take_until(rest, "=;");
        *value = STR_NULL;
        *quoted = false;
        if (take_char(rest, '=')) {
            skip_spaces(rest);
            *quoted = rest->len > 0 && rest->ptr[0] == '"';
            *value = *quoted ? take_quoted(rest) : take_until(rest, ";");
        }
        if (name->len > 0)
            return true;
    }
}

static struct str unquote(struct arena *a, struct str raw, bool quoted)
{
    char *out;
    size_t n = 0;

    if (!quoted || str_chr(raw, '\\') < 0)
        return str_dup(a, raw);
    out = arena_alloc(a, raw.len + 1);
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] == '\\' && i + 1 < raw.len)
            i++;
        out[n++] = raw.ptr[i];
    }
    out[n] = '\0';
    return str_of(out, n);
}

/* ---- dates ---- */

/* Take a number of `n` digits; n = 0: of one to nine digits. */
static bool take_number(struct str *s, size_t n, int *out)
{
    size_t i = 0;
    int value = 0;

    while (i < s->len && i < (n ? n : 9) && ascii_is_digit(s->ptr[i]))
        value = value * 10 + (s->ptr[i++] - '0');
    if (i == 0 || (n != 0 && i != n))
        return false;
    *s = str_slice(*s, i, s->len);
    *out = value;
    return true;
}

static bool take_name(struct str *s, const char *const *names, size_t n_names, int *out)
{
    for (size_t i = 0; i < n_names; i++) {
        struct str name = str_from(names[i]);
        if (str_istarts(*s, name)) {
            *s = str_slice(*s, name.len, s->len);
            *out = (int)i + 1;
            return true;
        }
    }
    return false;
}

static bool take_month(struct str *s, int *out)
{
    static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

    return take_name(s, names, ARRAY_LEN(names), out);
}

static bool take_weekday(struct str *s)
{
    /* the long names first, because they begin with the short ones */
    static const char *const names[] = {"Monday",   "Tuesday", "Wednesday", "Thursday", "Friday",
                                        "Saturday", "Sunday",  "Mon",       "Tue",      "Wed",
                                        "Thu",      "Fri",     "Sat",       "Sun"};
    int ignored;

    return take_name(s, names, ARRAY_LEN(names), &ignored);
}

static bool take_time(struct str *s, struct civil *c)
{
    return take_number(s, 2, &c->hour) && take_char(s, ':') && take_number(s, 2, &c->minute) &&
           take_char(s, ':') && take_number(s, 2, &c->second);
}

/* "06 Nov 1994 08:49:37 GMT" or "06-Nov-94 08:49:37 GMT" */
static bool take_day_first(struct str *s, struct civil *c)
{
    int year, n_digits;
    char sep = ' ';

    if (!take_number(s, 2, &c->day))
        return false;
    if (take_char(s, '-'))
        sep = '-';
    else if (!take_char(s, ' '))
        return false;
    if (!take_month(s, &c->month) || !take_char(s, sep))
        return false;
    n_digits = (int)s->len;
    if (!take_number(s, 0, &year))
        return false;
    n_digits -= (int)s->len;
    if (sep == '-' && n_digits == 2) {
        /* RFC 9110 §5.6.7: a year of two digits that seems more than 50 years in the future is in
         * the past */
        int64_t this_year = clock_civil(clock_now_s()).year;
        c->year = this_year - this_year % 100 + year;
        if (c->year > this_year + 50)
            c->year -= 100;
    } else if (n_digits == 4) {
        c->year = year;
    } else {
        return false;
    }
    return take_char(s, ' ') && take_time(s, c) && take_char(s, ' ') &&
           (str_ieqz(*s, "GMT") || str_ieqz(*s, "UTC"));
}

/* "Nov  6 08:49:37 1994" */
static bool take_asctime(struct str *s, struct civil *c)
{
    int year;

    if (!take_month(s, &c->month) || !take_char(s, ' '))
        return false;
    if (take_char(s, ' ')) {
        if (!take_number(s, 1, &c->day))
            return false;
    } else if (!take_number(s, 2, &c->day)) {
        return false;
    }
    if (!take_char(s, ' ') || !take_time(s, c) || !take_char(s, ' ') || !take_number(s, 4, &year))
        return false;
    c->year = year;
    return s->len == 0;
}

int64_t http_date(struct str value)
{
    struct str s = str_trim(value);
    struct civil c = {0}, back;
    int64_t at;

    if (!take_weekday(&s))
        return TIME_UNKNOWN;
    if (take_char(&s, ',')) {
        if (!take_char(&s, ' ') || !take_day_first(&s, &c))
            return TIME_UNKNOWN;
    } else if (!take_char(&s, ' ') || !take_asctime(&s, &c)) {
        return TIME_UNKNOWN;
    }
    if (c.hour > 23 || c.minute > 59 || c.second > 60)
        return TIME_UNKNOWN;
    at = clock_from_civil(c.year, c.month, c.day, 0, 0, 0);
    back = clock_civil(at);
    if (back.day != c.day || back.month != c.month) /* 31 Feb */
        return TIME_UNKNOWN;
    return at + c.hour * 3600 + c.minute * 60 + c.second;
}

/* Read delta-seconds (RFC 9111 §1.2.2). A number that does not fit counts as 2^31. -1: it is not a
 * number. */
static int64_t delta_seconds(struct str s)
{
    int64_t n = 0;

    if (s.len == 0)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        if (!ascii_is_digit(s.ptr[i]))
            return -1;
        if (n < INT64_C(1) << 31)
            n = n * 10 + (s.ptr[i] - '0');
    }
    return n < INT64_C(1) << 31 ? n : INT64_C(1) << 31;
}

int64_t http_retry_after_s(struct str value, int64_t now_s)
{
    struct str s = str_trim(value);
    int64_t n = delta_seconds(s), at;

    if (s.len == 0) /* as in most answers */
        return -1;
    if (n >= 0)
        return n;
    at = http_date(s);
    if (at == TIME_UNKNOWN)
        return -1;
    return at > now_s ? at - now_s : 0;
}

/* ---- lists ---- */

struct cache_control http_cache_control(struct str value)
{
    struct cache_control cc = {-1, false, false};
    struct str element;

    while (next_element(&value, &element)) {
        struct str arg = element, name = take_until(&arg, "=");

        if (take_char(&arg, '=')) {
            skip_spaces(&arg);
            arg = arg.len > 0 && arg.ptr[0] == '"' ? take_quoted(&arg) : str_trim(arg);
        }
        /* if it is given twice, the shorter time is used (RFC 9111 §4.2.1 lets us choose) */
        if (str_ieqz(name, "max-age")) {
            int64_t s = delta_seconds(arg);
            if (s < 0)
                s = 0; /* not readable: stale, as the same section recommends */
            if (cc.max_age_s < 0 || s < cc.max_age_s)
                cc.max_age_s = s;
        } else if (str_ieqz(name, "no-cache")) {
            cc.no_cache = true;
        } else if (str_ieqz(name, "no-store")) {
            cc.no_store = true;
        }
    }
    return cc;
}

static struct str opaque_tag(struct str etag)
{
    return str_starts(etag, STR("W/")) ? str_slice(etag, 2, etag.len) : etag;
}

bool http_etag_next(struct str *list, struct str *tag)
{
    struct str element;

    while (next_element(list, &element)) {
        element = opaque_tag(element);
        if (element.len < 2 || element.ptr[0] != '"' || element.ptr[element.len - 1] != '"')
            continue;
        *tag = str_slice(element, 1, element.len - 1);
        return true;
    }
    return false;
}

bool http_etag_matches(struct str if_none_match, struct str etag)
{
    struct str element;

    etag = opaque_tag(str_trim(etag));
    if (etag.len == 0)
        return false;
    while (next_element(&if_none_match, &element))
        if (str_eqz(element, "*") || str_eq(opaque_tag(element), etag))
            return true;
    return false;
}

bool http_list_has(struct str list, struct str token)
{
    struct str element;

    while (next_element(&list, &element))
        if (str_ieq(element, token))
            return true;
    return false;
}

/* ---- negotiation ---- */

/* Read a weight ("0", "0.5", "1.000"), in thousandths. Anything else is ignored and gives 1000. */
static int weight(struct str s)
{
    int q, unit = 100;

    if (s.len == 0 || s.len > 5 || (s.ptr[0] != '0' && s.ptr[0] != '1') ||
        (s.len > 1 && s.ptr[1] != '.'))
        return 1000;
    q = (s.ptr[0] - '0') * 1000;
    for (size_t i = 2; i < s.len; i++, unit /= 10) {
        if (!ascii_is_digit(s.ptr[i]))
            return 1000;
        q += (s.ptr[i] - '0') * unit;
    }
    return q < 1000 ? q : 1000;
}

/* The weight (q) in these parameters. *n_params: how many parameters are before it; each makes the
 * range more specific. */
static int element_weight(struct str params, int *n_params)
{
    struct str name, value;
    bool quoted;

    *n_params = 0;
    while (next_param(&params, &name, &value, &quoted)) {
        if (str_ieqz(name, "q"))
            return weight(value);
        (*n_params)++;
    }
    return 1000;
}

/* Does `media_type` have every parameter of the range (those before its q)? */
static bool has_params(struct str media_type, struct str range)
{
    struct str name, value, rest, other_name, other_value;
    bool quoted, found;

    while (next_param(&range, &name, &value, &quoted) && !str_ieqz(name, "q")) {
        found = false;
        rest = media_type;
        while (!found && next_param(&rest, &other_name, &other_value, &quoted))
            found = str_ieq(name, other_name) && str_ieq(value, other_value);
        if (!found)
            return false;
    }
    return true;
}

int http_accept_q(struct str accept, struct str media_type)
{
    struct str element, full = media_type, type, bare;
    int best_rank = -1, best_q = 0;
    bool any = false;

    bare = take_until(&full, ";");
    full = media_type;
    type = take_until(&full, "/");
    full = media_type;
    while (next_element(&accept, &element)) {
        struct str params = element, range = take_until(&params, ";");
        int n_params, q = element_weight(params, &n_params), rank = -1;

        any = true;
        if (str_ieq(range, bare))
            rank = has_params(full, params) ? 3 + n_params : 2; /* "...;type=feed" matches, too */
        else if (str_ends(range, STR("/*")) && range.len == type.len + 2 &&
                 str_istarts(range, type))
            rank = 1;
        else if (str_eqz(range, "*/*") || str_eqz(range, "*")) /* old Java clients send `*` */
            rank = 0;
        if (rank > best_rank || (rank == best_rank && rank >= 0 && q > best_q)) {
            best_rank = rank;
            best_q = q;
        }
    }
    return any ? best_q : 1000;
}

int http_accept_encoding_q(struct str accept_encoding, struct str coding)
{
    bool is_identity = str_ieqz(coding, "identity");
    struct str element;
    int star = -1, n_params;

    while (next_element(&accept_encoding, &element)) {
        struct str params = element, name = take_until(&params, ";");
        int q = element_weight(params, &n_params);

        if (str_ieq(name, coding) ||
            (str_ieqz(name, "x-gzip") && str_ieqz(coding, "gzip"))) /* §8.4.1.3: the same */
            return q;
        if (str_eqz(name, "*"))
            star = q;
    }
    if (star >= 0)
        return star;
    return is_identity ? 1000 : 0;
}

/* ---- Link ---- */

bool http_next_link(struct arena *a, struct str *rest, struct str *href, struct str *rel,
                    struct str *type)
{
    struct str name, value;
    ssize_t end;
    bool quoted;

    for (;;) {
        while (take_char(rest, ',') || take_char(rest, ' ') || take_char(rest, '\t'))
            ;
        if (rest->len == 0)
            return false;
        end = rest->ptr[0] == '<' ? str_chr(*rest, '>') : -1;
        if (end >= 0)
            break;
        take_until(rest, ","); /* it has no target: go on to the next link */
    }
    *href = str_dup(a, str_trim(str_slice(*rest, 1, (size_t)end)));
    *rest = str_slice(*rest, (size_t)end + 1, rest->len);
    *rel = *type = STR_NULL;
    for (;;) {
        skip_spaces(rest);
        if (!take_char(rest, ';'))
            break;
        skip_spaces(rest);
        name = take_until(rest, "=;,");
        value = STR_NULL;
        quoted = false;
        if (take_char(rest, '=')) {
            skip_spaces(rest);
            quoted = rest->len > 0 && rest->ptr[0] == '"';
            value = quoted ? take_quoted(rest) : take_until(rest, ";,");
        }
        /* the first of each counts (RFC 8288 §3.3, §3.4.1) */
        if (str_ieqz(name, "rel") && str_is_null(*rel))
            *rel = unquote(a, value, quoted);
        else if (str_ieqz(name, "type") && str_is_null(*type))
            *type = unquote(a, value, quoted);
    }
    take_until(rest, ",");
    return true;
}

/* ---- media types ---- */

struct str http_media_type(struct arena *a, struct str value)
{
    value = str_trim(value);
    return str_lower(a, take_until(&value, ";,"));
}

/* Any number of digits; one that is too large is behind the end of every file. */
static bool read_byte(struct str s, int64_t *out)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    if (s.len > 0 && !str_to_i64(s, out))
        *out = INT64_MAX;
    return s.len > 0;
}

enum http_range http_range(struct str range, int64_t size, int64_t *first, int64_t *last)
{
    struct str unit = str_trim(str_split(&range, '=')), from, to = str_trim(range);

    *first = 0;
    *last = size - 1;
    if (!str_ieqz(unit, "bytes") || str_is_null(range) || str_chr(range, ',') >= 0 ||
        str_chr(range, '-') < 0)
        return RANGE_WHOLE;
    from = str_trim(str_split(&to, '-'));
    to = str_trim(to);
    if (from.len == 0) { /* the last bytes */
        if (!read_byte(to, first))
            return RANGE_WHOLE;
        if (*first == 0 || size == 0)
            return RANGE_NONE;
        *first = *first < size ? size - *first : 0;
        return RANGE_PART;
    }
    if (!read_byte(from, first) || (to.len > 0 && (!read_byte(to, last) || *last < *first))) {
        *first = 0;
        *last = size - 1;
        return RANGE_WHOLE;
    }
    if (*last >= size)
        *last = size - 1;
    return *first < size ? RANGE_PART : RANGE_NONE;
}
