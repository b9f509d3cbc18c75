/* feed/read/charsets.c - a table of names, and three tables of characters that iconv does not
 * have. */
#include "feed/read/charsets.h"

#include "base/compiler.h"

#define NAME_MAX_LEN 60

/* Labels in lower case without punctuation: those of the WHATWG Encoding standard, of IANA, and
 * those of widespread program libraries. A text is decoded as what publishers mean by the label,
 * which may be a superset of that encoding. */
static const struct charset {
    const char *iconv_name, *labels;
} charsets[] = {
    {"UTF-8", " utf8 u8 unicode11utf8 unicode20utf8 xunicode20utf8 "},
    {"UTF-16BE", " utf16be unicodefffe csunicode "},
    {"UTF-16LE", " utf16le unicodefeff "},
    {"UTF-16", " utf16 u16 unicode ucs2 iso10646ucs2 "},
    {"UTF-32BE", " utf32be csucs4 "},
    {"UTF-32LE", " utf32le "},
    {"UTF-32", " utf32 u32 ucs4 iso10646ucs4 "},
    {"ISO-8859-1",
     " iso88591 iso885911987 isoir100 csisolatin1 latin1 l1 latin cp819 ibm819 8859 "},
    {"ISO-8859-2", " iso88592 iso885921987 isoir101 csisolatin2 latin2 l2 "},
    {"ISO-8859-3", " iso88593 iso885931988 isoir109 csisolatin3 latin3 l3 "},
    {"ISO-8859-4", " iso88594 iso885941988 isoir110 csisolatin4 latin4 l4 "},
    {"ISO-8859-5", " iso88595 iso885951988 isoir144 csisolatincyrillic cyrillic "},
    {"ISO-8859-6", " iso88596 iso885961987 isoir127 csisolatinarabic arabic asmo708 ecma114 "
                   "iso88596e iso88596i csiso88596e csiso88596i "},
    {"ISO-8859-7",
     " iso88597 iso885971987 isoir126 csisolatingreek greek greek8 elot928 ecma118 suneugreek "},
    {"ISO-8859-8", " iso88598 iso885981988 isoir138 csisolatinhebrew hebrew visual logical "
                   "iso88598e iso88598i csiso88598e csiso88598i "},
    {"ISO-8859-10", " iso885910 iso8859101992 isoir157 csisolatin6 latin6 l6 "},
    {"ISO-8859-13", " iso885913 latin7 l7 "},
    {"ISO-8859-14", " iso885914 iso8859141998 isoir199 isoceltic latin8 l8 "},
    {"ISO-8859-15", " iso885915 csisolatin9 latin9 l9 "},
    {"ISO-8859-16", " iso885916 iso8859162001 isoir226 latin10 l10 "},
    {"CP874", " cp874 windows874 dos874 iso885911 iso8859112001 tis620 tis6200 tis62025290 "
              "tis62025291 isoir166 thai "},
    {"CP1250", " cp1250 windows1250 xcp1250 msee "},
    {"CP1251", " cp1251 windows1251 xcp1251 mscyrl "},
    {"CP1252", " cp1252 windows1252 xcp1252 msansi "},
    {"CP1253", " cp1253 windows1253 xcp1253 msgreek "},
    {"CP1254",
     " cp1254 windows1254 xcp1254 msturk iso88599 iso885991989 isoir148 csisolatin5 latin5 l5 "},
    {"CP1255", " cp1255 windows1255 xcp1255 mshebr "},
    {"CP1256", " cp1256 windows1256 xcp1256 msarab "},
    {"CP1257", " cp1257 windows1257 xcp1257 winbaltrim "},
    {"CP1258", " cp1258 windows1258 xcp1258 "},
    {"KOI8-R", " koi8r cskoi8r koi koi8 "},
    {"KOI8-U", " koi8u koi8ru "},
    {"IBM866", " ibm866 cp866 csibm866 "},
    {"CP1125", " cp1125 ibm1125 ruscii cp866u "},
    {"CP775", " cp775 ibm775 cspc775baltic "},
    {"CP858", " cp858 ibm858 csibm858 cspc858multilingual "},
    {"CP861", " cp861 ibm861 csibm861 cpis "},
    {"IBM037", " ibm037 cp037 csibm037 ibm039 "},
    {"CP273", " cp273 ibm273 csibm273 "},
    {"MACINTOSH", " macintosh csmacintosh mac macroman xmacroman "},
    {"MAC-CYRILLIC", " xmaccyrillic maccyrillic "},
    {"MAC-UK", " xmacukrainian macukrainian "},
    {"MAC-CENTRALEUROPE", " maccentraleurope maccenteuro maclatin2 xmacce "},
    {"HP-ROMAN8", " hproman8 roman8 r8 cp1051 ibm1051 "},
    {"TCVN5712-1", " tcvn tcvn5712 tcvn57121 tcvn571211993 "},
    {"PT154", " pt154 ptcp154 csptcp154 cp154 cyrillicasian "},
    {"RK1048", " rk1048 kz1048 strk10482002 "},
    {"GB18030", " gb18030 gb180302000 gbk xgbk cp936 ms936 gb2312 gb23121980 gb231280 csgb2312 "
                "csiso58gb231280 isoir58 chinese euccn eucgb2312cn xmacsimpchinese "},
    {"BIG5-HKSCS", " big5 csbig5 cnbig5 xxbig5 big5hkscs hkscs big5tw xmactradchinese "},
    {"CP950", " cp950 ms950 "},
    {"CP932",
     " cp932 ms932 shiftjis shiftjis1997 sjis xsjis csshiftjis mskanji windows31j xmacjapanese "},
    {"SHIFT_JISX0213", " shiftjisx0213 sjisx0213 shiftjis2004 sjis2004 "},
    {"EUC-JISX0213", " eucjisx0213 jisx0213 eucjis2004 jisx02132004 "},
    {"EUC-JP", " eucjp xeucjp cseucpkdfmtjapanese ujis "},
    {"ISO-2022-JP-3", " iso2022jp3 iso2022jp2004 iso2022jp1 iso2022jpext "},
    {"ISO-2022-JP-2", " iso2022jp2 csiso2022jp2 "},
    {"ISO-2022-JP", " iso2022jp csiso2022jp "},
    {"ISO-2022-KR", " iso2022kr csiso2022kr "},
    {"ISO-2022-CN-EXT", " iso2022cnext "},
    {"ISO-2022-CN", " iso2022cn "},
    {"CP949", " cp949 ms949 uhc euckr cseuckr csksc56011987 isoir149 korean ksc56011987 "
              "ksc56011989 ksc5601 ksx1001 windows949 xmackorean "},
    {"JOHAB", " johab cp1361 ms1361 "},
};

static const struct charset_table tables[] = {
    {" macgreek xmacgreek ",
     {0xC4,   0xB9,   0xB2,   0xC9,   0xB3,   0xD6,  0xDC,  0x385,  0xE0,   0xE2,   0xE4,   0x384,
      0xA8,   0xE7,   0xE9,   0xE8,   0xEA,   0xEB,  0xA3,  0x2122, 0xEE,   0xEF,   0x2022, 0xBD,
      0x2030, 0xF4,   0xF6,   0xA6,   0x20AC, 0xF9,  0xFB,  0xFC,   0x2020, 0x393,  0x394,  0x398,
      0x39B,  0x39E,  0x3A0,  0xDF,   0xAE,   0xA9,  0x3A3, 0x3AA,  0xA7,   0x2260, 0xB0,   0xB7,
      0x391,  0xB1,   0x2264, 0x2265, 0xA5,   0x392, 0x395, 0x396,  0x397,  0x399,  0x39A,  0x39C,
      0x3A6,  0x3AB,  0x3A8,  0x3A9,  0x3AC,  0x39D, 0xAC,  0x39F,  0x3A1,  0x2248, 0x3A4,  0xAB,
      0xBB,   0x2026, 0xA0,   0x3A5,  0x3A7,  0x386, 0x388, 0x153,  0x2013, 0x2015, 0x201C, 0x201D,
      0x2018, 0x2019, 0xF7,   0x389,  0x38A,  0x38C, 0x38E, 0x3AD,  0x3AE,  0x3AF,  0x3CC,  0x38F,
      0x3CD,  0x3B1,  0x3B2,  0x3C8,  0x3B4,  0x3B5, 0x3C6, 0x3B3,  0x3B7,  0x3B9,  0x3BE,  0x3BA,
      0x3BB,  0x3BC,  0x3BD,  0x3BF,  0x3C0,  0x3CE, 0x3C1, 0x3C3,  0x3C4,  0x3B8,  0x3C9,  0x3C2,
      0x3C7,  0x3C5,  0x3B6,  0x3CA,  0x3CB,  0x390, 0x3B0, 0xAD}},
    {" macturkish xmacturkish ",
     {0xC4,   0xC5,   0xC7,   0xC9,   0xD1,   0xD6,  0xDC,   0xE1,   0xE0,   0xE2,   0xE4,   0xE3,
      0xE5,   0xE7,   0xE9,   0xE8,   0xEA,   0xEB,  0xED,   0xEC,   0xEE,   0xEF,   0xF1,   0xF3,
      0xF2,   0xF4,   0xF6,   0xF5,   0xFA,   0xF9,  0xFB,   0xFC,   0x2020, 0xB0,   0xA2,   0xA3,
      0xA7,   0x2022, 0xB6,   0xDF,   0xAE,   0xA9,  0x2122, 0xB4,   0xA8,   0x2260, 0xC6,   0xD8,
      0x221E, 0xB1,   0x2264, 0x2265, 0xA5,   0xB5,  0x2202, 0x2211, 0x220F, 0x3C0,  0x222B, 0xAA,
      0xBA,   0x3A9,  0xE6,   0xF8,   0xBF,   0xA1,  0xAC,   0x221A, 0x192,  0x2248, 0x2206, 0xAB,
      0xBB,   0x2026, 0xA0,   0xC0,   0xC3,   0xD5,  0x152,  0x153,  0x2013, 0x2014, 0x201C, 0x201D,
      0x2018, 0x2019, 0xF7,   0x25CA, 0xFF,   0x178, 0x11E,  0x11F,  0x130,  0x131,  0x15E,  0x15F,
      0x2021, 0xB7,   0x201A, 0x201E, 0x2030, 0xC2,  0xCA,   0xC1,   0xCB,   0xC8,   0xCD,   0xCE,
      0xCF,   0xCC,   0xD3,   0xD4,   0xF8FF, 0xD2,  0xDA,   0xDB,   0xD9,   0xF8A0, 0x2C6,  0x2DC,
      0xAF,   0x2D8,  0x2D9,  0x2DA,  0xB8,   0x2DD, 0x2DB,  0x2C7}},
    {" maciceland macis xmacicelandic ",
     {0xC4,   0xC5,   0xC7,   0xC9,   0xD1,   0xD6,  0xDC,   0xE1,   0xE0,   0xE2,   0xE4,   0xE3,
      0xE5,   0xE7,   0xE9,   0xE8,   0xEA,   0xEB,  0xED,   0xEC,   0xEE,   0xEF,   0xF1,   0xF3,
      0xF2,   0xF4,   0xF6,   0xF5,   0xFA,   0xF9,  0xFB,   0xFC,   0xDD,   0xB0,   0xA2,   0xA3,
      0xA7,   0x2022, 0xB6,   0xDF,   0xAE,   0xA9,  0x2122, 0xB4,   0xA8,   0x2260, 0xC6,   0xD8,
      0x221E, 0xB1,   0x2264, 0x2265, 0xA5,   0xB5,  0x2202, 0x2211, 0x220F, 0x3C0,  0x222B, 0xAA,
      0xBA,   0x3A9,  0xE6,   0xF8,   0xBF,   0xA1,  0xAC,   0x221A, 0x192,  0x2248, 0x2206, 0xAB,
      0xBB,   0x2026, 0xA0,   0xC0,   0xC3,   0xD5,  0x152,  0x153,  0x2013, 0x2014, 0x201C, 0x201D,
      0x2018, 0x2019, 0xF7,   0x25CA, 0xFF,   0x178, 0x2044, 0x20AC, 0xD0,   0xF0,   0xDE,   0xFE,
      0xFD,   0xB7,   0x201A, 0x201E, 0x2030, 0xC2,  0xCA,   0xC1,   0xCB,   0xC8,   0xCD,   0xCE,
      0xCF,   0xCC,   0xD3,   0xD4,   0xF8FF, 0xD2,  0xDA,   0xDB,   0xD9,   0x131,  0x2C6,  0x2DC,
      0xAF,   0x2D8,  0x2D9,  0x2DA,  0xB8,   0x2DD, 0x2DB,  0x2C7}},
};

/* Write `name` in lower case without punctuation, with a space on either side. False: it is too
 * long. */
static bool strip(struct str name, char out[NAME_MAX_LEN + 3])
{
    size_t n = 0;

    out[n++] = ' ';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9'))
            continue;
        if (n > NAME_MAX_LEN)
            return false;
        out[n++] = c;
    }
    out[n++] = ' ';
    out[n] = '\0';
    return n > 2;
}

const char *charset_iconv_name(struct str name)
{
    char stripped[NAME_MAX_LEN + 3];

    if (!strip(name, stripped))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(charsets); i++)
        if (strstr(charsets[i].labels, stripped) != NULL)
            return charsets[i].iconv_name;
    return NULL;
}

const struct charset_table *charset_table_find(struct str name)
{
    char stripped[NAME_MAX_LEN + 3];

    if (!strip(name, stripped))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (strstr(tables[i].labels, stripped) != NULL)
            return &tables[i];
    return NULL;
}
