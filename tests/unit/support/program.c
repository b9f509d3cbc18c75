/* tests/unit/support/program.c - linked to every unit test. One that takes longer than HUNG_S aborts;
 * with handle_abort=1 a sanitizer says where its main thread was. What goes to stderr, as why a test
 * failed, goes to stdout: so it stands in the log beside the name of the test. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"

/* A busy machine takes ten times as long as a quiet one. scripts/test has meson wait for 900 s or more. */
#define HUNG_S 810

static void on_hung(int number UNUSED)
{
    abort();
}

__attribute__((constructor)) static void end_what_hangs(void)
{
    (void)signal(SIGALRM, on_hung);
    (void)alarm(HUNG_S);
}

__attribute__((constructor)) static void say_all_in_order(void)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)dup2(STDOUT_FILENO, STDERR_FILENO);
}
