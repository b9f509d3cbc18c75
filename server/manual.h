/* server/manual.h - pages of the manual and completions for shells, made of the tables from which
 * the program works: its commands (server/cli.c) and its options (server/options.def). Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Write a page for man(1): "feedmill.1", "feedmill-serve.1" or "feedmill.conf.5". False: there is
 * no such page. */
bool manual_write(const char *page, FILE *to);

/* The pages, as "a|b|c". */
extern const char manual_pages[];

/* Write what a shell reads to complete commands, flags and names of files: "bash" or "zsh". False:
 * it is another one. */
bool completion_write(const char *shell, FILE *to);

/* The shells, as "a|b". */
extern const char completion_shells[];
