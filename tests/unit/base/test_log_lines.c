/* tests/unit/base/test_log_lines.c - OPS-04: lines of the log as JSON; files of lines that never
 * make anybody wait. */
#include "tests/unit/cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/line_file.h"
#include "base/log.h"

static void assert_json(const char *logfmt, const char *json)
{
    char out[1024];
    size_t len = log_write_json(out, sizeof out, str_from(logfmt));

    out[len] = '\0';
    assert_string_equal(out, json);
}

static void test_log_lines__as_json(void **state UNUSED)
{
    assert_json("", "{}");
    assert_json("a=b", "{\"a\":\"b\"}");
    assert_json("level=info n=12 s=-3.5 q=\"x y\"",
                "{\"level\":\"info\",\"n\":12,\"s\":-3.5,\"q\":\"x y\"}");
    assert_json("empty= end=1", "{\"empty\":\"\",\"end\":1}");
    assert_json("q=\"say \\\"hi\\\" \\\\ \\x0a\"", "{\"q\":\"say \\\"hi\\\" \\\\ \\u000a\"}");
    assert_json("q=\"7\"", "{\"q\":\"7\"}"); /* what is in quotes is text */
    assert_json(
        "v=0.1.0 w=007 x=. y=- z=1234567890123456",
        "{\"v\":\"0.1.0\",\"w\":\"007\",\"x\":\".\",\"y\":\"-\",\"z\":\"1234567890123456\"}");
    assert_json("q=\"a\xFF\xC3\"", "{\"q\":\"a\xEF\xBF\xBD\xEF\xBF\xBD\"}");
    assert_json("a=1 some words", "{\"a\":1,\"text\":\"some words\"}");
    assert_json("q=\"open", "{\"q\":\"open\"}");
}

static void test_log_lines__json_is_whole_when_cut(void **state UNUSED)
{
    const char *line = "a=1 b=\"two\" c=three";
    char out[64];

    for (size_t size = 3; size < sizeof out; size++) {
        size_t len = log_write_json(out, size, str_from(line));

        assert_true(len <= size);
        assert_int_equal(out[0], '{');
        assert_int_equal(out[len - 1], '}');
        assert_int_not_equal(out[len - 2], ',');
    }
}

/* What is written to standard error by one line. */
static size_t captured(char *out, size_t size)
{
    int to[2], old = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(0, pipe(to));
    dup2(to[1], STDERR_FILENO);
    log_find_journal();
    log_warn("test", "seen", "feed=%d", 7);
    n = read(to[0], out, size - 1);
    dup2(old, STDERR_FILENO);
    close(old);
    close(to[0]);
    close(to[1]);
    assert_true(n > 0);
    out[n] = '\0';
    return (size_t)n;
}

static void test_log_lines__of_a_request(void **state UNUSED)
{
    char out[512];

    log_set_request(STR("abc-1"));
    captured(out, sizeof out);
    assert_non_null(strstr(out, " level=warn module=test event=seen feed=7 request=abc-1\n"));
    log_set_request(STR_NULL);
    log_set_format(LOG_FORMAT_JSON);
    captured(out, sizeof out);
    assert_non_null(
        strstr(out, "\"level\":\"warn\",\"module\":\"test\",\"event\":\"seen\",\"feed\":7}\n"));
    log_set_format(LOG_FORMAT_TEXT);
}

/* sd-daemon(3): only if standard error is the very stream that the variable names. */
static void test_log_lines__for_the_journal(void **state UNUSED)
{
    char out[512], name[64], path[] = "/tmp/feedmill-test-XXXXXX";
    int fd = mkstemp(path), old = dup(STDERR_FILENO);
    struct stat is;

    assert_true(fd >= 0);
    unlink(path);
    setenv("JOURNAL_STREAM", "1:2", 1);
    captured(out, sizeof out);
    assert_int_equal(out[0], 't');
    assert_int_equal(0, fstat(fd, &is));
    snprintf(name, sizeof name, "%llu:%llu", (unsigned long long)is.st_dev,
             (unsigned long long)is.st_ino);
    setenv("JOURNAL_STREAM", name, 1);
    dup2(fd, STDERR_FILENO);
    log_find_journal();
    log_error("test", "bad", "n=%d", 1);
    log_info("test", "good", "n=%d", 2);
    dup2(old, STDERR_FILENO);
    close(old);
    memset(out, 0, sizeof out);
    assert_true(pread(fd, out, sizeof out - 1, 0) > 0);
    assert_memory_equal(out, "<3>time=", 8);
    assert_non_null(strstr(out, "\n<6>time="));
    close(fd);
    unsetenv("JOURNAL_STREAM");
    log_find_journal();
}

static struct line_file *file_at(const char *path)
{
    struct line_file *f = line_file_new(STAT_access_log_lines_total, STAT_access_log_dropped_total);

    assert_int_equal(RC_OK, line_file_open(f, str_from(path), NULL));
    return f;
}

static void test_log_lines__a_file_opened_anew(void **state UNUSED)
{
    char path[] = "/tmp/feedmill-test-XXXXXX", out[16] = "";
    int fd = mkstemp(path);
    struct err err = ERR_INIT;
    struct line_file *f = file_at(path);
    int64_t n = stats_get(STAT_access_log_lines_total);

    line_file_put(f, STR("one\n"));
    while (stats_get(STAT_access_log_lines_total) == n)
        usleep(1000);
    unlink(path); /* as if it had been renamed */
    assert_int_equal(RC_IO, line_file_open(f, STR("/nonexistent/dir/x"), &err));
    assert_non_null(strstr(err.text, "/nonexistent/dir/x"));
    assert_true(line_file_is_open(f)); /* nothing has changed */
    assert_int_equal(RC_OK, line_file_open(f, str_from(path), NULL));
    line_file_put(f, STR("two\n"));
    line_file_free(&f);
    assert_int_equal(4, pread(fd, out, sizeof out, 0));
    assert_memory_equal(out, "one\n", 4);
    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(4, read(fd, out, sizeof out));
    assert_memory_equal(out, "two\n", 4);
    close(fd);
    unlink(path);
}

/* A reader that has stopped: nobody waits, and what is lost is counted. */
static void test_log_lines__a_reader_that_does_not_read(void **state UNUSED)
{
    char path[] = "/tmp/feedmill-test-XXXXXX", line[1000];
    int64_t dropped = stats_get(STAT_access_log_dropped_total);
    int64_t written = stats_get(STAT_access_log_lines_total), began = clock_mono_ms();
    struct line_file *f;
    int fd, n = 4000; /* more than the pipe and both buffers hold */

    close(mkstemp(path));
    unlink(path);
    assert_int_equal(0, mkfifo(path, 0600));
    fd = open(path, O_RDWR | O_CLOEXEC);
    f = file_at(path);
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < n; i++)
        line_file_put(f, str_of(line, sizeof line));
    assert_true(stats_get(STAT_access_log_dropped_total) - dropped >= 1000);
    line_file_free(&f);
    assert_true(clock_mono_ms() - began < 30000);
    assert_int_equal(n, stats_get(STAT_access_log_dropped_total) - dropped +
                            stats_get(STAT_access_log_lines_total) - written);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_lines__as_json),
        cmocka_unit_test(test_log_lines__json_is_whole_when_cut),
        cmocka_unit_test(test_log_lines__of_a_request),
        cmocka_unit_test(test_log_lines__for_the_journal),
        cmocka_unit_test(test_log_lines__a_file_opened_anew),
        cmocka_unit_test(test_log_lines__a_reader_that_does_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
