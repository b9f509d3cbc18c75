/* server/part_options.h - copies the options to the configurations of the parts.
 *
 * Each function sets the members that options.def names for its part, and leaves the others as they
 * are. Texts are borrowed from the options. Main thread.
 */
#pragma once

#include "server/options.h"

struct announcer_cfg;
struct api_cfg;
struct fetcher_cfg;
struct http_server_cfg;
struct mirror_cfg;
struct notifier_cfg;
struct store_cfg;

void options_for_announcer(const struct options *o, struct announcer_cfg *cfg);
void options_for_api(const struct options *o, struct api_cfg *cfg);
void options_for_fetcher(const struct options *o, struct fetcher_cfg *cfg);
void options_for_http(const struct options *o, struct http_server_cfg *cfg);
void options_for_mirror(const struct options *o, struct mirror_cfg *cfg);
void options_for_notifier(const struct options *o, struct notifier_cfg *cfg);
void options_for_store(const struct options *o, struct store_cfg *cfg);
