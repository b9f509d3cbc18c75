/* feed/read/xml_check.c - see xml_check.h.
 *
 * libxml2 compares the attributes of an element pairwise, including those that a DOCTYPE adds. So
 * it never gets a document unchanged. The prefilter comes first, as for feeds: it limits
 * attributes, drops the DOCTYPE and tells what it had to repair. libxml2 then finds what the
 * prefilter does not check, such as two attributes with the same name. */
#include "feed/read/xml_check.h"

#include <libxml/parser.h>

#include "feed/read/prefilter.h"

static void on_batch(void *ctx, const struct prefilter_batch *batch)
{
    xmlParserCtxtPtr parser = ctx;

    if (batch->tags.len > 0)
        (void)xmlParseChunk(parser, batch->tags.ptr, (int)batch->tags.len, 0);
}

struct xml_verdict xml_check(struct str text)
{
    xmlSAXHandler nothing = {.initialized = XML_SAX2_MAGIC};
    struct prefilter_result mended;
    xmlParserCtxtPtr parser;
    bool ok;

    parser = xmlCreatePushParserCtxt(&nothing, NULL, NULL, 0, NULL);
    if (parser == NULL)
        abort(); /* only when there is no memory */
    (void)xmlCtxtUseOptions(parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                        XML_PARSE_IGNORE_ENC);
    prefilter(text, PREFILTER_REFUSES_CROWDS, on_batch, parser, &mended);
    (void)xmlParseChunk(parser, NULL, 0, 1);
    ok = mended.why == NULL && parser->wellFormed != 0;
    xmlFreeParserCtxt(parser);
    return (struct xml_verdict){.is_well_formed = ok, .is_crowded = mended.is_crowded};
}
