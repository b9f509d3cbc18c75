/* bench/sax.c - see sax.h. */
#include "sax.h"

#include <libxml/parser.h>

#define PIECE 16384

static void on_element(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                       int n_namespaces, const xmlChar **namespaces, int n_attributes,
                       int n_defaulted, const xmlChar **attributes)
{
    (void)ctx, (void)name, (void)prefix, (void)uri, (void)n_namespaces, (void)namespaces;
    (void)n_attributes, (void)n_defaulted, (void)attributes;
}

static void on_end(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)ctx, (void)name, (void)prefix, (void)uri;
}

static void on_text(void *ctx, const xmlChar *text, int len)
{
    (void)ctx, (void)text, (void)len;
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    (void)ctx, (void)error;
}

static void be_silent(void *ctx, const char *fmt, ...)
{
    (void)ctx, (void)fmt;
}

void sax_init(void)
{
    xmlInitParser();
    xmlSetGenericErrorFunc(NULL, be_silent); /* for errors that do not reach a handler */
}

bool sax_read(struct str document)
{
    xmlSAXHandler sax = {.initialized = XML_SAX2_MAGIC,
                         .startElementNs = on_element,
                         .endElementNs = on_end,
                         .characters = on_text,
                         .cdataBlock = on_text,
                         .serror = on_error};
    xmlParserCtxtPtr p = xmlCreatePushParserCtxt(&sax, NULL, NULL, 0, NULL);
    bool is_well_formed;

    xmlCtxtUseOptions(p, XML_PARSE_NONET | XML_PARSE_RECOVER);
    for (size_t at = 0; at < document.len; at += PIECE) {
        size_t left = document.len - at;

        xmlParseChunk(p, document.ptr + at, (int)(left < PIECE ? left : PIECE), left <= PIECE);
    }
    is_well_formed = p->wellFormed && p->errNo == XML_ERR_OK;
    xmlFreeParserCtxt(p);
    return is_well_formed;
}
