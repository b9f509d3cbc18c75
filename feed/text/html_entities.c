/* feed/text/html_entities.c - the character entities of HTML 4 (section 24), apos of XML, and those
 * entities of HTML 5 that are letters, ASCII signs or punctuation. */
#include <stdlib.h>

#include "base/compiler.h"
#include "feed/text/html.h"

struct entity {
    const char *name;
    uint32_t cp;
};

/* in byte order of the names */
static const struct entity entities[] = {
    {"AElig", 198},   {"Aacute", 193},      {"Abreve", 258},   {"Acirc", 194},    {"Agrave", 192},
    {"Alpha", 913},   {"Amacr", 256},       {"Aogon", 260},    {"Aring", 197},    {"Atilde", 195},
    {"Auml", 196},    {"Beta", 914},        {"Cacute", 262},   {"Ccaron", 268},   {"Ccedil", 199},
    {"Ccirc", 264},   {"Cdot", 266},        {"Chi", 935},      {"Dagger", 8225},  {"Dcaron", 270},
    {"Delta", 916},   {"Dstrok", 272},      {"ETH", 208},      {"Eacute", 201},   {"Ecaron", 282},
    {"Ecirc", 202},   {"Edot", 278},        {"Egrave", 200},   {"Emacr", 274},    {"Eogon", 280},
    {"Epsilon", 917}, {"Eta", 919},         {"Euml", 203},     {"Gamma", 915},    {"Gbreve", 286},
    {"Gcedil", 290},  {"Gcirc", 284},       {"Gdot", 288},     {"Hat", 94},       {"Hcirc", 292},
    {"Hstrok", 294},  {"Iacute", 205},      {"Icirc", 206},    {"Idot", 304},     {"Igrave", 204},
    {"Imacr", 298},   {"Iogon", 302},       {"Iota", 921},     {"Itilde", 296},   {"Iuml", 207},
    {"Jcirc", 308},   {"Kappa", 922},       {"Kcedil", 310},   {"Lacute", 313},   {"Lambda", 923},
    {"Lcaron", 317},  {"Lcedil", 315},      {"Lstrok", 321},   {"Mu", 924},       {"Nacute", 323},
    {"Ncaron", 327},  {"Ncedil", 325},      {"NewLine", 10},   {"Ntilde", 209},   {"Nu", 925},
    {"OElig", 338},   {"Oacute", 211},      {"Ocirc", 212},    {"Odblac", 336},   {"Ograve", 210},
    {"Omacr", 332},   {"Omega", 937},       {"Omicron", 927},  {"Oslash", 216},   {"Otilde", 213},
    {"Ouml", 214},    {"Phi", 934},         {"Pi", 928},       {"Prime", 8243},   {"Psi", 936},
    {"Racute", 340},  {"Rcaron", 344},      {"Rcedil", 342},   {"Rho", 929},      {"Sacute", 346},
    {"Scaron", 352},  {"Scedil", 350},      {"Scirc", 348},    {"Sigma", 931},    {"THORN", 222},
    {"Tab", 9},       {"Tau", 932},         {"Tcaron", 356},   {"Tcedil", 354},   {"Theta", 920},
    {"Tstrok", 358},  {"Uacute", 218},      {"Ubreve", 364},   {"Ucirc", 219},    {"Udblac", 368},
    {"Ugrave", 217},  {"Umacr", 362},       {"Uogon", 370},    {"Upsilon", 933},  {"Uring", 366},
    {"Utilde", 360},  {"Uuml", 220},        {"Wcirc", 372},    {"Xi", 926},       {"Yacute", 221},
    {"Ycirc", 374},   {"Yuml", 376},        {"Zacute", 377},   {"Zcaron", 381},   {"Zdot", 379},
    {"Zeta", 918},    {"aacute", 225},      {"abreve", 259},   {"acirc", 226},    {"acute", 180},
    {"aelig", 230},   {"agrave", 224},      {"alefsym", 8501}, {"alpha", 945},    {"amacr", 257},
    {"amp", 38},      {"and", 8743},        {"ang", 8736},     {"aogon", 261},    {"apos", 39},
    {"aring", 229},   {"ast", 42},          {"asymp", 8776},   {"atilde", 227},   {"auml", 228},
    {"bdquo", 8222},  {"beta", 946},        {"brvbar", 166},   {"bsol", 92},      {"bull", 8226},
    {"bullet", 8226}, {"cacute", 263},      {"cap", 8745},     {"caret", 8257},   {"ccaron", 269},
    {"ccedil", 231},  {"ccirc", 265},       {"cdot", 267},     {"cedil", 184},    {"cent", 162},
    {"check", 10003}, {"checkmark", 10003}, {"chi", 967},      {"circ", 710},     {"clubs", 9827},
    {"colon", 58},    {"comma", 44},        {"commat", 64},    {"cong", 8773},    {"copy", 169},
    {"crarr", 8629},  {"cross", 10007},     {"cup", 8746},     {"curren", 164},   {"dArr", 8659},
    {"dagger", 8224}, {"darr", 8595},       {"dash", 8208},    {"dcaron", 271},   {"deg", 176},
    {"delta", 948},   {"diams", 9830},      {"divide", 247},   {"dollar", 36},    {"dstrok", 273},
    {"eacute", 233},  {"ecaron", 283},      {"ecirc", 234},    {"edot", 279},     {"egrave", 232},
    {"emacr", 275},   {"empty", 8709},      {"emsp", 8195},    {"ensp", 8194},    {"eogon", 281},
    {"epsilon", 949}, {"equals", 61},       {"equiv", 8801},   {"eta", 951},      {"eth", 240},
    {"euml", 235},    {"euro", 8364},       {"excl", 33},      {"exist", 8707},   {"female", 9792},
    {"flat", 9837},   {"fnof", 402},        {"forall", 8704},  {"frac12", 189},   {"frac14", 188},
    {"frac34", 190},  {"frasl", 8260},      {"gamma", 947},    {"gbreve", 287},   {"gcirc", 285},
    {"gdot", 289},    {"ge", 8805},         {"grave", 96},     {"gt", 62},        {"hArr", 8660},
    {"harr", 8596},   {"hcirc", 293},       {"hearts", 9829},  {"hellip", 8230},  {"horbar", 8213},
    {"hstrok", 295},  {"hyphen", 8208},     {"iacute", 237},   {"icirc", 238},    {"iexcl", 161},
    {"igrave", 236},  {"imacr", 299},       {"image", 8465},   {"imath", 305},    {"infin", 8734},
    {"inodot", 305},  {"int", 8747},        {"iogon", 303},    {"iota", 953},     {"iquest", 191},
    {"isin", 8712},   {"itilde", 297},      {"iuml", 239},     {"jcirc", 309},    {"kappa", 954},
    {"kcedil", 311},  {"lArr", 8656},       {"lacute", 314},   {"lambda", 955},   {"lang", 9001},
    {"laquo", 171},   {"larr", 8592},       {"lbrace", 123},   {"lbrack", 91},    {"lcaron", 318},
    {"lcedil", 316},  {"lceil", 8968},      {"lcub", 123},     {"ldquo", 8220},   {"ldquor", 8222},
    {"le", 8804},     {"lfloor", 8970},     {"lowast", 8727},  {"lowbar", 95},    {"loz", 9674},
    {"lpar", 40},     {"lrm", 8206},        {"lsaquo", 8249},  {"lsqb", 91},      {"lsquo", 8216},
    {"lsquor", 8218}, {"lstrok", 322},      {"lt", 60},        {"macr", 175},     {"male", 9794},
    {"mdash", 8212},  {"micro", 181},       {"middot", 183},   {"minus", 8722},   {"mldr", 8230},
    {"mu", 956},      {"nabla", 8711},      {"nacute", 324},   {"natural", 9838}, {"nbsp", 160},
    {"ncaron", 328},  {"ncedil", 326},      {"ndash", 8211},   {"ne", 8800},      {"ni", 8715},
    {"nldr", 8229},   {"not", 172},         {"notin", 8713},   {"nsub", 8836},    {"ntilde", 241},
    {"nu", 957},      {"num", 35},          {"numero", 8470},  {"oacute", 243},   {"ocirc", 244},
    {"odblac", 337},  {"oelig", 339},       {"ograve", 242},   {"oline", 8254},   {"omacr", 333},
    {"omega", 969},   {"omicron", 959},     {"oplus", 8853},   {"or", 8744},      {"ordf", 170},
    {"ordm", 186},    {"oslash", 248},      {"otilde", 245},   {"otimes", 8855},  {"ouml", 246},
    {"para", 182},    {"part", 8706},       {"percnt", 37},    {"period", 46},    {"permil", 8240},
    {"perp", 8869},   {"phi", 966},         {"phone", 9742},   {"pi", 960},       {"piv", 982},
    {"plus", 43},     {"plusmn", 177},      {"pound", 163},    {"prime", 8242},   {"prod", 8719},
    {"prop", 8733},   {"psi", 968},         {"quest", 63},     {"quot", 34},      {"rArr", 8658},
    {"racute", 341},  {"radic", 8730},      {"rang", 9002},    {"raquo", 187},    {"rarr", 8594},
    {"rbrace", 125},  {"rbrack", 93},       {"rcaron", 345},   {"rcedil", 343},   {"rceil", 8969},
    {"rcub", 125},    {"rdquo", 8221},      {"rdquor", 8221},  {"real", 8476},    {"reg", 174},
    {"rfloor", 8971}, {"rho", 961},         {"rlm", 8207},     {"rpar", 41},      {"rsaquo", 8250},
    {"rsqb", 93},     {"rsquo", 8217},      {"rsquor", 8217},  {"sacute", 347},   {"sbquo", 8218},
    {"scaron", 353},  {"scedil", 351},      {"scirc", 349},    {"sdot", 8901},    {"sect", 167},
    {"semi", 59},     {"sharp", 9839},      {"shy", 173},      {"sigma", 963},    {"sigmaf", 962},
    {"sim", 8764},    {"sol", 47},          {"spades", 9824},  {"star", 9734},    {"starf", 9733},
    {"sub", 8834},    {"sube", 8838},       {"sum", 8721},     {"sup", 8835},     {"sup1", 185},
    {"sup2", 178},    {"sup3", 179},        {"supe", 8839},    {"szlig", 223},    {"tau", 964},
    {"tcaron", 357},  {"tcedil", 355},      {"there4", 8756},  {"theta", 952},    {"thetasym", 977},
    {"thinsp", 8201}, {"thorn", 254},       {"tilde", 732},    {"times", 215},    {"trade", 8482},
    {"tstrok", 359},  {"uArr", 8657},       {"uacute", 250},   {"uarr", 8593},    {"ubreve", 365},
    {"ucirc", 251},   {"udblac", 369},      {"ugrave", 249},   {"umacr", 363},    {"uml", 168},
    {"uogon", 371},   {"upsih", 978},       {"upsilon", 965},  {"uring", 367},    {"utilde", 361},
    {"uuml", 252},    {"verbar", 124},      {"vert", 124},     {"wcirc", 373},    {"weierp", 8472},
    {"xi", 958},      {"yacute", 253},      {"ycirc", 375},    {"yen", 165},      {"yuml", 255},
    {"zacute", 378},  {"zcaron", 382},      {"zdot", 380},     {"zeta", 950},     {"zwj", 8205},
    {"zwnj", 8204},
};

static int by_name(const void *key, const void *row)
{
    return str_cmp(*(const struct str *)key, str_from(((const struct entity *)row)->name));
}

uint32_t html_entity(struct str name)
{
    const struct entity *e =
        bsearch(&name, entities, ARRAY_LEN(entities), sizeof entities[0], by_name);

    return e == NULL ? 0 : e->cp;
}

uint32_t html_char_ref(uint32_t value)
{
    /* authors who write C1 controls mean the bytes of Windows-1252 */
    static const uint16_t cp1252[32] = {
        0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

    if (value >= 0x80 && value <= 0x9F)
        return cp1252[value - 0x80];
    if (value == 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0xFFFD;
    return value;
}
