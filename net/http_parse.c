/* net/http_parse.c - reads a request, and refuses what could be read in two ways.
 *
 * http-parser finds the parts of a request. The packaged build is not strict: it accepts unusual
 * line ends, spaces and lengths. So each line is checked here before the parser gets it, and the
 * parser's view of the framing is compared with the fields. A request that a proxy on the way could
 * read differently is refused (RFC 9112 §2.2, §3, §5, §6, §11.2).
 */
#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_fields.h"
#include "net/http_server_priv.h"

#define REFUSE(status, detail) ((struct refusal){(status), (detail)})
#define FINE ((struct refusal){0, NULL})

static struct refusal too_large(struct http_request *r)
{
    return REFUSE(413, arena_printf(&r->arena, "the body is longer than the limit of %zu bytes",
                                    r->sl->server->cfg.max_body));
}

/* ---- characters ---- */

enum char_class {
    CHAR_TOKEN = 1, /* RFC 9110 §5.6.2 */
    CHAR_TEXT = 2,  /* may stand in a line */
};

static unsigned char char_classes[256];

void http_parse_init(void)
{
    static const char token_marks[] = "!#$%&'*+-.^_`|~";

    for (int i = 0; i < 256; i++) {
        if ((i >= 0x20 && i != 0x7F) || i == '\t')
            char_classes[i] |= CHAR_TEXT;
        if (ascii_is_alnum((char)i) || (i != 0 && strchr(token_marks, i) != NULL))
            char_classes[i] |= CHAR_TOKEN;
    }
    /* The parser's limit holds for the whole process. http_scan_head() and framing_ok() have limits
     * for each server, so the parser's is not needed. */
    http_parser_set_max_header_size(UINT32_MAX / 2);
}

static bool is_class(char c, enum char_class class)
{
    return (char_classes[(unsigned char)c] & class) != 0;
}

static size_t token_len(const char *p, size_t len)
{
    size_t n = 0;

    while (n < len && is_class(p[n], CHAR_TOKEN))
        n++;
    return n;
}

/* ---- lines ---- */

/* "METHOD target HTTP/d.d" with single spaces. */
static struct refusal check_request_line(const char *p, size_t len)
{
    size_t n = token_len(p, len);
    struct str line = str_of(p, len), rest, version;
    ssize_t space;

    if (n == 0 || n == len || p[n] != ' ')
        return REFUSE(400, "the request line does not begin with a method and one space");
    rest = str_slice(line, n + 1, len);
    space = str_chr(rest, ' ');
    if (space < 0)
        return REFUSE(400, "the request line has no HTTP version; write: GET /path HTTP/1.1");
    version = str_slice(rest, (size_t)space + 1, rest.len);
    if (space == 0 || version.len != 8 || !str_starts(version, STR("HTTP/")) ||
        version.ptr[5] < '0' || version.ptr[5] > '9' || version.ptr[6] != '.' ||
        version.ptr[7] < '0' || version.ptr[7] > '9')
        return REFUSE(400, "the request line must be: METHOD, one space, target, one space, "
                           "HTTP/1.1; write a space in the target as %20");
    if (version.ptr[5] != '1')
        return REFUSE(505, "only HTTP/1.1 and HTTP/1.0 are supported");
    for (ssize_t i = 0; i < space; i++)
        if (rest.ptr[i] <= ' ' || rest.ptr[i] == 0x7F || rest.ptr[i] == '#')
            return REFUSE(400, "the target has a character that is not allowed in a URL; "
                               "percent-encode it");
    return FINE;
}

static struct refusal check_field_line(const char *p, size_t len)
{
    size_t n = token_len(p, len);

    if (p[0] == ' ' || p[0] == '\t')
        return REFUSE(400, "a header line begins with white space; folded lines are obsolete");
    if (n == len)
        return REFUSE(400, "a header line has no colon");
    if (n == 0 || p[n] != ':')
        return REFUSE(400, "a field name has a character that is not allowed there, or is not "
                           "followed by a colon");
    return FINE;
}

static struct refusal check_line(const struct connection *c, const char *p, size_t len)
{
    if (c->n_lines == 0)
        return check_request_line(p, len);
    if (c->n_lines > LIMIT_REQUEST_FIELDS)
        return REFUSE(431, "too many header fields");
    return check_field_line(p, len);
}

static struct refusal check_head_len(const struct connection *c, size_t len)
{
    size_t header_max = c->sl->server->cfg.max_header;
    size_t target_max = header_max < LIMIT_REQUEST_TARGET ? header_max : LIMIT_REQUEST_TARGET;

    if (c->n_lines == 0 && len > target_max)
        return REFUSE(414, "the request line is too long; long lists of feeds can be sent in the "
                           "body of a POST");
    if (len > header_max)
        return REFUSE(431, "the header fields are too large");
    return FINE;
}

enum head_scan http_scan_head(struct connection *c, size_t *head_len, struct refusal *why)
{
    const char *p = c->data;
    size_t i, len = c->data_len;

    *why = FINE;
    if (c->scanned == 0 && !is_class(p[0], CHAR_TOKEN)) {
        *why = REFUSE(400, "this is not HTTP: a request begins with a method, as in: "
                           "GET /path HTTP/1.1 (this port does not support TLS)");
        return HEAD_REFUSED;
    }
    for (i = c->scanned; i < len; i++) {
        size_t line_len;

        if (is_class(p[i], CHAR_TEXT))
            continue;
        if (p[i] == '\r') {
            if (i + 1 == len)
                break; /* wait for the next byte */
            if (p[i + 1] != '\n') {
                *why = REFUSE(400, "a carriage return without a line feed");
                return HEAD_REFUSED;
            }
            continue;
        }
        if (p[i] != '\n') {
            *why = REFUSE(400, "a control character in the header");
            return HEAD_REFUSED;
        }
        if (i == c->line_at || p[i - 1] != '\r') {
            *why = REFUSE(400, "a line ends with a bare line feed; lines end with CR LF");
            return HEAD_REFUSED;
        }
        line_len = i - 1 - c->line_at;
        *why = check_head_len(c, i + 1);
        if (why->status == 0 && line_len == 0) {
            *head_len = i + 1;
            return HEAD_DONE;
        }
        if (why->status == 0)
            *why = check_line(c, p + c->line_at, line_len);
        if (why->status != 0)
            return HEAD_REFUSED;
        c->n_lines++;
        c->line_at = i + 1;
    }
    c->scanned = i;
    *why = check_head_len(c, len);
    return why->status != 0 ? HEAD_REFUSED : HEAD_MORE;
}

/* ---- the head ---- */

static int on_field_name(http_parser *parser, const char *at, size_t len)
{
    struct http_request *r = parser->data;
    struct request_field *f;
    const char *value;

    if (r->n_fields == r->fields_cap) {
        struct request_field *more =
            ARENA_ARRAY(&r->arena, struct request_field, LIMIT_REQUEST_FIELDS + 1);
        if (r->n_fields > LIMIT_REQUEST_FIELDS)
            return 1;
        memcpy(more, r->fields, r->n_fields * sizeof *more);
        r->fields = more;
        r->fields_cap = LIMIT_REQUEST_FIELDS + 1;
    }
    f = &r->fields[r->n_fields++];
    /* The line was checked: a colon follows, and a CR LF after it. So the value can be taken from
     * the line, even if the parser does not accept it. */
    f->name = str_of(at, len);
    value = at + len + 1;
    f->value = str_trim(str_of(value, (size_t)((const char *)rawmemchr(value, '\r') - value)));
    return 0;
}

static int on_head_complete(http_parser *parser)
{
    parser->upgrade = 0; /* upgrades are not offered; the body is read as in any other request */
    return 0;
}

static const http_parser_settings head_settings = {
    .on_header_field = on_field_name,
    .on_headers_complete = on_head_complete,
};

/* How often the request has this field. *value: the value of the last one. */
static int count_field(const struct http_request *r, const char *name, struct str *value)
{
    struct str wanted = str_from(name);
    int n = 0;

    for (size_t i = 0; i < r->n_fields; i++)
        if (str_eq(r->fields[i].name, wanted)) {
            *value = r->fields[i].value;
            n++;
        }
    return n;
}

static struct refusal read_framing(struct http_request *r)
{
    struct str length = STR_NULL, coding = STR_NULL;
    int n_lengths = count_field(r, "content-length", &length);
    int n_codings = count_field(r, "transfer-encoding", &coding);
    uint64_t n = 0, max = r->sl->server->cfg.max_body;

    if (n_lengths > 1)
        return REFUSE(400, "Content-Length is given more than once");
    if (n_codings > 0) {
        if (n_lengths > 0)
            return REFUSE(400, "a request cannot have both Content-Length and Transfer-Encoding");
        if (r->is_http10)
            return REFUSE(400, "HTTP/1.0 does not have Transfer-Encoding");
        if (n_codings > 1 || !str_ieqz(coding, "chunked"))
            return REFUSE(501, "the only supported transfer coding is: chunked");
        if ((r->parser.flags & F_CHUNKED) == 0)
            return REFUSE(400, "the framing of the body is ambiguous");
        r->body_kind = BODY_CHUNKED;
        return FINE;
    }
    if (n_lengths == 0)
        return FINE;
    if (length.len == 0)
        return REFUSE(400, "Content-Length is empty; it is a number of bytes in digits");
    for (size_t i = 0; i < length.len; i++) {
        if (length.ptr[i] < '0' || length.ptr[i] > '9')
            return REFUSE(400, "Content-Length is a number of bytes, in digits and nothing else");
        if (n <= max)
            n = n * 10 + (uint64_t)(length.ptr[i] - '0');
    }
    if (n > max)
        return too_large(r);
    if (n != r->parser.content_length && n != 0)
        return REFUSE(400, "the framing of the body is ambiguous");
    if (n > 0) {
        r->body_kind = BODY_LENGTH;
        r->body_left = n;
    }
    return FINE;
}

/* Is it uri-host [ ":" port ]? Names are not resolved: they are only used in links. */
static bool is_authority(struct str s)
{
    static const char marks[] = "-._~%!$&'()*+;=:[]";

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!(ascii_is_alnum(c) || (c != '\0' && strchr(marks, c) != NULL)))
            return false;
    }
    return true;
}

static struct refusal read_host(struct http_request *r)
{
    int n = count_field(r, "host", &r->host);

    if (n > 1)
        return REFUSE(400, "Host is given more than once");
    if (n == 0 && !r->is_http10)
        return REFUSE(400, "HTTP/1.1 needs a Host field");
    if (!is_authority(r->host))
        return REFUSE(400, "Host must be a name or an address, with an optional port");
    return FINE;
}

static struct refusal decode_path(struct http_request *r, struct str raw)
{
    char *out;
    size_t n = 0;

    if (str_chr(raw, '%') < 0) {
        r->path = raw;
    } else {
        out = arena_alloc(&r->arena, raw.len + 1);
        for (size_t i = 0; i < raw.len; i++) {
            int high, low;

            if (raw.ptr[i] != '%') {
                out[n++] = raw.ptr[i];
                continue;
            }
            high = i + 2 < raw.len ? ascii_hex(raw.ptr[i + 1]) : -1;
            low = i + 2 < raw.len ? ascii_hex(raw.ptr[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return REFUSE(400, "a percent sign in the path is not followed by two hexadecimal "
                                   "digits of a character");
            out[n++] = (char)(high * 16 + low);
            i += 2;
        }
        out[n] = '\0';
        r->path = str_of(out, n);
    }
    if (r->path.len > 1 && r->path.ptr[r->path.len - 1] == '/')
        r->path.len--;
    return FINE;
}

/* Read the target in origin form or absolute form (RFC 9112 §3.2). The scheme and the authority of
 * the absolute form are removed. */
static struct refusal read_target(struct http_request *r)
{
    struct str path;
    ssize_t question;

    if (str_eqz(r->target, "*")) {
        r->path = r->target;
        return str_eqz(r->method, "OPTIONS") ? FINE
                                             : REFUSE(400, "the target * is only for OPTIONS");
    }
    if (r->target.len > 0 && r->target.ptr[0] != '/') {
        size_t scheme = str_istarts(r->target, STR("http://"))    ? 7
                        : str_istarts(r->target, STR("https://")) ? 8
                                                                  : 0;
        struct str authority = str_slice(r->target, scheme, r->target.len);

        if (scheme == 0)
            return REFUSE(400, "the target does not begin with a slash");
        for (size_t i = 0; i < authority.len; i++)
            if (authority.ptr[i] == '/' || authority.ptr[i] == '?') {
                authority.len = i;
                break;
            }
        if (authority.len == 0 || !is_authority(authority))
            return REFUSE(400, "the host of the target must be a name or an address");
        r->host = authority; /* it is used in place of Host (§3.2.2) */
        r->target = str_slice(r->target, scheme + authority.len, r->target.len);
        if (r->target.len == 0 || r->target.ptr[0] != '/')
            r->target = str_concat(&r->arena, STR("/"), r->target);
    }
    question = str_chr(r->target, '?');
    path = question < 0 ? r->target : str_slice(r->target, 0, (size_t)question);
    if (question >= 0)
        r->query = str_slice(r->target, (size_t)question + 1, r->target.len);
    return decode_path(r, path);
}

static void lower_names(struct http_request *r)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        char *p = (char *)r->fields[i].name.ptr; /* in our copy of the head */
        for (size_t k = 0; k < r->fields[i].name.len; k++)
            p[k] = ascii_lower(p[k]);
    }
}

static struct refusal parser_refusal(const struct http_request *r)
{
    switch (HTTP_PARSER_ERRNO(&r->parser)) {
    case HPE_INVALID_METHOD:
        return REFUSE(501, "this method is unknown");
    case HPE_INVALID_TRANSFER_ENCODING:
        return REFUSE(501, "the only supported transfer coding is: chunked");
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        return REFUSE(400,
                      "Content-Length is wrong: write it once, in digits, and not together with "
                      "Transfer-Encoding");
    default:
        return REFUSE(400, http_errno_description(HTTP_PARSER_ERRNO(&r->parser)));
    }
}

static bool feed(http_parser *parser, struct str bytes)
{
    return http_parser_execute(parser, &head_settings, bytes.ptr, bytes.len) == bytes.len &&
           HTTP_PARSER_ERRNO(parser) == HPE_OK;
}

/* Give the parser the head. A target may have a thousand URLs, and read_target() judges it, so the
 * parser gets another one in its place. */
static bool run_parser(struct http_request *r, struct str head)
{
    size_t at = (size_t)(r->target.ptr - head.ptr);

    http_parser_init(&r->parser, HTTP_REQUEST);
    r->parser.data = r;
    return feed(&r->parser, str_slice(head, 0, at)) && feed(&r->parser, STR("/")) &&
           feed(&r->parser, str_slice(head, at + r->target.len, head.len));
}

struct refusal http_parse_head(struct http_request *r, const char *head, size_t len)
{
    char *copy = len <= sizeof r->head_room ? r->head_room : arena_alloc(&r->arena, len);
    struct str line, version, connection = STR_NULL, expect = STR_NULL;
    struct refusal why;
    bool parsed;

    memcpy(copy, head, len);
    line = str_of(copy, (size_t)((char *)memchr(copy, '\r', len) - copy));
    r->method = str_slice(line, 0, token_len(line.ptr, line.len));
    r->target = str_slice(line, r->method.len + 1, line.len - sizeof " HTTP/1.1" + 1);
    version = str_slice(line, line.len - 3, line.len);
    r->is_http10 = str_eqz(version, "1.0");
    r->is_head = str_eqz(r->method, "HEAD");
    if (str_eqz(r->method, "CONNECT"))
        return REFUSE(501, "this server is not a proxy: CONNECT is not offered");

    parsed = run_parser(r, str_of(copy, len));
    lower_names(r);
    /* first the lengths, because our error messages for them are better than the parser's */
    why = read_framing(r);
    if (!parsed && (why.status == 0 || HTTP_PARSER_ERRNO(&r->parser) == HPE_INVALID_METHOD))
        why = parser_refusal(r);
    if (why.status == 0)
        why = read_host(r);
    if (why.status == 0)
        why = read_target(r);
    if (why.status != 0)
        return why;
    if (str_is_null(r->host) || r->host.len == 0)
        r->host = r->sl->server->cfg.listen;
    for (size_t i = 0; i < r->n_fields; i++) {
        struct str name = r->fields[i].name;
        if (str_eqz(name, "connection"))
            connection =
                str_is_null(connection) ? r->fields[i].value : http_request_field(r, "connection");
    }
    r->keep_alive = r->is_http10 ? http_list_has(connection, STR("keep-alive")) : true;
    if (http_list_has(connection, STR("close")))
        r->keep_alive = false;
    if (count_field(r, "expect", &expect) > 0 && !r->is_http10) {
        if (!str_ieqz(expect, "100-continue"))
            return REFUSE(417, "the only supported expectation is: 100-continue");
        r->expects_continue = r->body_kind != BODY_NONE;
    }
    r->body.max = r->sl->server->cfg.max_body;
    return FINE;
}

/* ---- the body ---- */

/* Are these bytes valid between the data of chunks? CR and LF occur only as a pair, there are no
 * other control characters, CR LF follows the data of a chunk at once, and there are not too many
 * bytes. */
static bool framing_ok(struct http_request *r, const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (r->crlf_due > 0 && p[i] != (r->crlf_due == 2 ? '\r' : '\n'))
            return false;
        if ((p[i] == '\n') != (r->framing_last == '\r'))
            return false;
        if (p[i] != '\n' && p[i] != '\r' && !is_class(p[i], CHAR_TEXT))
            return false;
        if (r->crlf_due > 0)
            r->crlf_due--;
        r->framing_last = p[i];
    }
    r->framing_len += len;
    return r->framing_len <= r->sl->server->cfg.max_header + 16 * r->body.len;
}

/* Keep bytes of the body. False: the bodies of this loop take too much memory. Without this limit,
 * anybody could fill the memory with large bodies, because they are read before the sender is
 * authenticated. */
static bool keep_body(struct http_request *r, const char *data, size_t len)
{
    struct server_loop *sl = r->sl;

    if (r->body.len + len > BODY_SMALL &&
        sl->bodies_len + len > BODIES_AT_ONCE * sl->server->cfg.max_body) {
        r->refusal = REFUSE(503, "too many large bodies are being received; try again soon");
        return false;
    }
    buf_append(&r->body, data, len);
    if (!buf_ok(&r->body)) {
        r->refusal = too_large(r);
        return false;
    }
    sl->bodies_len += len;
    return true;
}

static int on_body_bytes(http_parser *parser, const char *at, size_t len)
{
    struct http_request *r = parser->data;

    if (!framing_ok(r, r->framing, (size_t)(at - r->framing))) {
        r->refusal = REFUSE(400, "the framing of the chunks is wrong");
        return 1;
    }
    r->framing = at + len;
    if (parser->content_length == 0)
        r->crlf_due = 2; /* this chunk is complete */
    return keep_body(r, at, len) ? 0 : 1;
}

static int on_chunk_size(http_parser *parser)
{
    struct http_request *r = parser->data;

    /* refused before the client sends megabytes for nothing */
    if (parser->content_length > r->body.max - r->body.len) {
        r->refusal = too_large(r);
        return 1;
    }
    return 0;
}

static int on_body_complete(http_parser *parser)
{
    struct http_request *r = parser->data;

    r->body_done = true;
    http_parser_pause(parser, 1); /* the bytes that follow are the next request */
    return 0;
}

static const http_parser_settings chunk_settings = {
    .on_body = on_body_bytes,
    .on_chunk_header = on_chunk_size,
    .on_message_complete = on_body_complete,
};

size_t http_parse_body(struct http_request *r, const char *data, size_t len, struct refusal *why)
{
    size_t used;

    *why = FINE;
    if (r->body_kind == BODY_LENGTH) {
        used = len < r->body_left ? len : (size_t)r->body_left;
        r->body_left -= used;
        if (!keep_body(r, data, used))
            *why = r->refusal;
        return used;
    }
    r->framing = data;
    used = http_parser_execute(&r->parser, &chunk_settings, data, len);
    if (r->refusal.status == 0 && HTTP_PARSER_ERRNO(&r->parser) != HPE_OK && !r->body_done)
        r->refusal = REFUSE(400, "the framing of the chunks is wrong");
    if (r->refusal.status == 0 && !framing_ok(r, r->framing, (size_t)(data + used - r->framing)))
        r->refusal = REFUSE(400, "the framing of the chunks is wrong");
    *why = r->refusal;
    return used;
}

bool http_body_complete(const struct http_request *r)
{
    switch (r->body_kind) {
    case BODY_LENGTH:
        return r->body_left == 0;
    case BODY_CHUNKED:
        return r->body_done;
    case BODY_NONE:
        break;
    }
    return true;
}
