/* server/cli_score.c - "feedmill score": judges how polite a fetcher is, by the rules of
 * score/rules.def. */
#include <inttypes.h>
#include <stdio.h>

#include "score/score.h"
#include "server/cli.h"
#include "server/cli_out.h"
#include "server/score_run.h"

#define NAME "score"
#define DAYS "60"
#define DAYS_MAX 3650
#define SPEED_LEAST_S                                                                              \
    20 /* so long a run takes at least, if nobody says how fast the clock goes                     \
        */
#define SPEED_MAX 10000000

/* ---- what is printed ---- */

static void print_lost(const struct score_verdict verdicts[SCORE_RULES])
{
    for (int i = 0; i < SCORE_RULES; i++) {
        const struct score_verdict *v = &verdicts[i];

        if (v->n_faults == 0)
            continue;
        printf("lost %s: ", score_rule_name((enum score_rule)i));
        cli_print_plain(str_from(v->why)); /* it names what the fetcher asked for */
        printf("; asked is: %s (%s)", score_rule_asked((enum score_rule)i),
               score_rule_source((enum score_rule)i));
        if (v->n_faults > 1 && v->n_faults <= v->n_cases)
            printf("; %zu times of %zu", v->n_faults, v->n_cases);
        else if (v->n_faults > 1) /* one case may be many requests */
            printf("; %zu times", v->n_faults);
        putchar('\n');
    }
}

static void print_untried(const struct score_verdict verdicts[SCORE_RULES])
{
    const char *before = "not tried, which takes more days, more requests or a lower --speed: ";

    for (int i = 0; i < SCORE_RULES; i++)
        if (verdicts[i].n_cases == 0 && verdicts[i].n_faults == 0) {
            printf("%s%s", before, score_rule_name((enum score_rule)i));
            before = ", ";
        }
    if (before[0] == ',')
        putchar('\n');
}

static void print_score(const struct score_record *rec)
{
    struct score_verdict verdicts[SCORE_RULES];
    int points;

    score_judge(rec, verdicts);
    points = score_points(rec, verdicts);
    printf("score %d/100\n", points);
    if (rec->n == 0)
        puts("lost all: nothing was asked");
    else
        printf("%zu requests\n", rec->n);
    if (rec->is_early)
        puts("the command ended by itself; the days until then were judged");
    print_lost(verdicts);
    print_untried(verdicts);
}

/* What one sin costs: a line. */
static void print_sin(const struct score_record *rec, enum score_rule sin)
{
    struct score_verdict verdicts[SCORE_RULES];
    struct score_record copy;

    score_record_copy(rec, &copy);
    if (score_plant(&copy, sin)) {
        score_judge(&copy, verdicts);
        printf("sin %s: score %d/100, lost", score_rule_name(sin), score_points(&copy, verdicts));
        for (int i = 0; i < SCORE_RULES; i++)
            if (verdicts[i].n_faults > 0)
                printf(" %s", score_rule_name((enum score_rule)i));
        putchar('\n');
    } else {
        printf("sin %s: no place for it in these days\n", score_rule_name(sin));
    }
    score_record_release(&copy);
}

static void print_rules(void)
{
    for (int i = 0; i < SCORE_RULES; i++)
        printf("%-14s %s (%s)\n", score_rule_name((enum score_rule)i),
               score_rule_asked((enum score_rule)i), score_rule_source((enum score_rule)i));
}

/* ---- the same as JSON ---- */

static struct value *name_of(struct arena *a, enum score_rule rule)
{
    return value_text(a, str_from(score_rule_name(rule)));
}

static struct value *rules_json(struct arena *a)
{
    struct value *list = value_list(a);

    for (int i = 0; i < SCORE_RULES; i++) {
        struct value *rule = value_dict(a);

        value_setz(a, rule, "rule", name_of(a, (enum score_rule)i));
        value_set_textz(a, rule, "asked", str_from(score_rule_asked((enum score_rule)i)));
        value_set_textz(a, rule, "source", str_from(score_rule_source((enum score_rule)i)));
        value_push(a, list, rule);
    }
    return list;
}

static struct value *lost_json(struct arena *a, enum score_rule rule, const struct score_verdict *v)
{
    struct value *lost = value_dict(a);

    value_setz(a, lost, "rule", name_of(a, rule));
    value_set_textz(a, lost, "why", str_dup(a, cli_plain(a, str_from(v->why))));
    value_setz(a, lost, "times", value_int(a, (int64_t)v->n_faults));
    value_setz(a, lost, "of", value_int(a, (int64_t)v->n_cases));
    return lost;
}

static struct value *score_json(struct arena *a, const struct score_record *rec)
{
    struct score_verdict verdicts[SCORE_RULES];
    struct value *doc = value_dict(a), *lost = value_list(a), *untried = value_list(a);

    score_judge(rec, verdicts);
    for (int i = 0; i < SCORE_RULES; i++)
        if (verdicts[i].n_faults > 0)
            value_push(a, lost, lost_json(a, (enum score_rule)i, &verdicts[i]));
        else if (verdicts[i].n_cases == 0)
            value_push(a, untried, name_of(a, (enum score_rule)i));
    value_setz(a, doc, "score", value_int(a, score_points(rec, verdicts)));
    value_setz(a, doc, "requests", value_int(a, (int64_t)rec->n));
    value_setz(a, doc, "ended_early", value_bool(a, rec->is_early));
    value_setz(a, doc, "lost", lost);
    value_setz(a, doc, "not_tried", untried);
    return doc;
}

/* Null: it has no place in these days. */
static struct value *sin_json(struct arena *a, const struct score_record *rec, enum score_rule sin)
{
    struct value *doc = NULL;
    struct score_record copy;

    score_record_copy(rec, &copy);
    if (score_plant(&copy, sin)) {
        doc = score_json(a, &copy);
        value_setz(a, doc, "sin", name_of(a, sin));
    }
    score_record_release(&copy);
    return doc;
}

static void print_all_json(const struct score_record *rec, bool has_sins)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct value *doc = score_json(&a, rec), *sins = value_list(&a);

    for (int i = 0; has_sins && i < SCORE_RULES; i++) {
        struct value *sin = sin_json(&a, rec, (enum score_rule)i);

        if (sin != NULL)
            value_push(&a, sins, sin);
    }
    if (has_sins)
        value_setz(&a, doc, "sins", sins);
    cli_print_json(doc);
}

static void print_all(const struct score_record *rec, bool has_sins)
{
    print_score(rec);
    for (int i = 0; has_sins && i < SCORE_RULES; i++)
        print_sin(rec, (enum score_rule)i);
}

static void print_rules_json(void)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    cli_print_json(rules_json(&a));
}

/* ---- the command ---- */

static bool read_number(const char *flag, struct str text, int64_t max, int64_t *out)
{
    if (str_to_i64(text, out) && *out >= 1 && *out <= max)
        return true;
    cli_misuse(NAME, "%s takes a number from 1 to %" PRId64 ", not \"%.*s\"", flag, max,
               STR_ARG(text));
    return false;
}

/* *out: SCORE_RULES: all of them, one after another. */
static bool read_sin(struct str text, enum score_rule *out)
{
    *out = score_rule_find(text);
    if (*out < SCORE_RULES || str_eqz(text, "all"))
        return true;
    cli_misuse(NAME,
               "--sin takes the name of a rule, or \"all\", not \"%.*s\"; feedmill score --rules "
               "lists them",
               STR_ARG(text));
    return false;
}

static int judge(const struct score_plan *plan, struct str sin_name, enum score_rule sin, bool json)
{
    bool has_sins = !str_is_null(sin_name) && sin == SCORE_RULES;
    struct score_record rec;
    struct err err = ERR_INIT;
    int code = CLI_OK;

    if (score_run(plan, &rec, &err) != RC_OK)
        code = cli_fail(NAME, "%s", err.text);
    else if (sin < SCORE_RULES && !score_plant(&rec, sin))
        code = cli_fail(NAME, "%s has no place in what was asked; it may take more --days",
                        score_rule_name(sin));
    else if (json)
        print_all_json(&rec, has_sins);
    else
        print_all(&rec, has_sins);
    score_record_release(&rec);
    return code;
}

int cli_score(int argc, char **argv)
{
    struct str days = STR(DAYS), speed = STR_NULL, sin_name = STR_NULL, rules = STR_NULL,
               json = STR_NULL;
    const struct cli_flag flags[] = {
        {"--days", "N", "So many simulated days; default " DAYS ".", &days, NULL, 0, NULL},
        {"--sin", "NAME", "Plant into what it asked what breaks this rule; all: one after another.",
         &sin_name, NULL, 0, NULL},
        {"--speed", "N",
         "So many simulated seconds are a second for a COMMAND that does not follow the clock; "
         "default: a day, and fewer for less than 20 days.",
         &speed, NULL, 0, NULL},
        {"--rules", NULL, "Print the rules.", &rules, NULL, 0, NULL},
        CLI_JSON_FLAG(json),
    };
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));
    enum score_rule sin = SCORE_RULES;
    struct score_plan plan = {0};
    int64_t n = 0;

    if (code >= 0)
        return code;
    plan.argv = argc > 1 ? argv + 1 : NULL;
    if (!str_is_null(rules)) {
        if (str_is_null(json))
            print_rules();
        else
            print_rules_json();
        return CLI_OK;
    }
    if (!read_number("--days", days, DAYS_MAX, &plan.days) ||
        (!str_is_null(speed) && !read_number("--speed", speed, SPEED_MAX, &n)) ||
        (!str_is_null(sin_name) && !read_sin(sin_name, &sin)))
        return CLI_USAGE;
    if (str_is_null(speed))
        n = 86400 * (plan.days < SPEED_LEAST_S ? plan.days : SPEED_LEAST_S) / SPEED_LEAST_S;
    plan.speed = (double)n;
    argv[argc] = NULL;
    return judge(&plan, sin_name, sin, !str_is_null(json));
}
