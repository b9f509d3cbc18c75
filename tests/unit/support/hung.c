/* tests/unit/support/hung.c - linked to every unit test: one that takes longer than HUNG_S aborts.
 * With handle_abort=1 a sanitizer says where its main thread was. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"

#define HUNG_S 270 /* scripts/test has meson wait for 300 s or more */

static void on_hung(int number UNUSED)
{
    abort();
}

__attribute__((constructor)) static void end_what_hangs(void)
{
    (void)signal(SIGALRM, on_hung);
    (void)alarm(HUNG_S);
}
