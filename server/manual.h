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

/* Write what a shell reads to complete commands, flags and names of files: "bash", "zsh" or "fish". False:
 * it is another one. */
bool completion_write(const char *shell, FILE *to);

/* The shells, as "a|b". */
extern const char completion_shells[];

#define SERVE_EXAMPLE "feedmill serve --db /var/lib/feedmill/feeds.db --listen 127.0.0.1:8080"

/* Write the help of a command as one JSON object: name, args, help, example, flags, actions. NULL: of all of them.
 * False: there is no such command. */
bool help_json_write(const char *name, FILE *to);

/* Are a flag for help and --json among these arguments of a command, before "--"? */
bool help_json_wanted(int argc, char **argv);
