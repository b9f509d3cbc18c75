/* bench/sax.c - see sax.h. */
#include "sax.h"

#include <libxml/parser.h>

#include "base/compiler.h"

#define PIECE 16384

static void on_element(void *ctx UNUSED, const xmlChar *name UNUSED, const xmlChar *prefix UNUSED,
                       const xmlChar *uri UNUSED, int n_namespaces UNUSED,
                       const xmlChar **namespaces UNUSED, int n_attributes UNUSED,
                       int n_defaulted UNUSED, const xmlChar **attributes UNUSED)
{
}

static void on_end(void *ctx UNUSED, const xmlChar *name UNUSED, const xmlChar *prefix UNUSED,
                   const xmlChar *uri UNUSED)
{
}

static void on_text(void *ctx UNUSED, const xmlChar *text UNUSED, int len UNUSED)
{
}

static void on_error(void *ctx UNUSED, xmlErrorPtr error UNUSED)
{
}

static void be_silent(void *ctx UNUSED, const char *fmt UNUSED, ...)
{
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
