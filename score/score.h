/* score/score.h - judges how a fetcher behaves towards publishers. Pure.
 */
#pragma once

#include "base/compiler.h"
#include "score/record.h"

enum score_rule {
#define RULE(id, name, asked, source) SCORE_RULE_##id,
#include "score/rules.def"
#undef RULE
    SCORE_RULES
};

#define SCORE_WHY 192

struct score_verdict {
    size_t n_cases; /* so often it had something to judge; 0: it was not tried */
    size_t n_faults;
    char why[SCORE_WHY]; /* of the first fault, with feed and time */
};

/* Judge a sorted record. */
void score_judge(const struct score_record *rec, struct score_verdict out[SCORE_RULES]);

/* 100 times the part of the rules that were tried and are kept; of all rules, if the fetcher gave up feeds. One
 * that asks nothing gets 0. */
int score_points(const struct score_record *rec, const struct score_verdict verdicts[SCORE_RULES]);

const char *score_rule_name(enum score_rule rule);
const char *score_rule_asked(enum score_rule rule);
const char *score_rule_source(enum score_rule rule);
/* SCORE_RULES: there is none of this name. */
enum score_rule score_rule_find(struct str name);

/* Plant what breaks this rule alone into a sorted record of a polite fetcher; sorts it again.
 * False: the record has no place for it. */
bool score_plant(struct score_record *rec, enum score_rule sin) NODISCARD;
