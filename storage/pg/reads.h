/* storage/pg/reads.h - the reading calls of PostgreSQL, as storage/engine.h describes them.
 *
 * Each is one round trip, whatever the size of its sets. What reads all of something goes by pages.
 */
#pragma once

#include "storage/engine.h"

enum rc pg_last_seq(struct db *db, int64_t *out, struct err *err) NODISCARD;
enum rc pg_size(struct db *db, int64_t *bytes, int64_t *n_free, struct err *err) NODISCARD;
enum rc pg_free_inside(struct db *db, int64_t *bytes, struct err *err) NODISCARD;
enum rc pg_notices(struct db *db, int64_t after, size_t max, struct arena *a,
                   struct log_place *place, struct log_notice **out, size_t *n_out,
                   struct err *err) NODISCARD;
enum rc pg_revisions_by_seq(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                            struct arena *a, struct revision **out, size_t *n_out,
                            struct err *err) NODISCARD;
enum rc pg_revisions_times(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                           struct err *err) NODISCARD;
enum rc pg_revisions_at(struct db *db, int64_t at_us, int64_t last, int64_t *seq,
                        struct err *err) NODISCARD;
enum rc pg_newest_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                       int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                     int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_mirrors_of(struct db *db, const struct str *keys, size_t n, struct arena *a,
                      struct mirrored **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_mirrors_first(struct db *db, enum mirror_list list, int64_t until,
                         size_t skip, size_t max, struct arena *a,
                         struct mirrored **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_mirrors_file(struct db *db, struct str sha256, struct arena *a, struct mirrored *out,
                        struct err *err) NODISCARD;
enum rc pg_mirrors_place(struct db *db, int64_t *seq, int64_t *bytes, struct err *err) NODISCARD;
enum rc pg_mirrors_entries(struct db *db, int64_t after, int64_t to, struct arena *a,
                           struct mirror_entry **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_mirrors_wish(struct db *db, struct str key, struct arena *a, struct mirror_wish *out,
                     struct err *err) NODISCARD;
enum rc pg_mirrors_looks(struct db *db, struct str after, size_t max, struct arena *a,
                      struct mirror_look **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_index_place(struct db *db, struct index_place *out, struct err *err) NODISCARD;
enum rc pg_terms_find(struct db *db, const struct term_query *q, int64_t after, int64_t before,
                      size_t max, struct arena *scratch, int64_t *seqs, size_t *n_out,
                      struct err *err) NODISCARD;
enum rc pg_terms_among(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                       struct arena *scratch, bool *out, struct err *err) NODISCARD;
enum rc pg_revision_keys(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                         struct err *err) NODISCARD;
enum rc pg_entries_of_uids(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                           const struct str *uids, size_t n_uids, struct arena *a,
                           struct uid_match **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_entries_known(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                         const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                         struct entry_row **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_entries_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                         int64_t *n, int64_t *n_deleted, struct err *err) NODISCARD;
enum rc pg_deletions_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                           bool *out, struct err *err) NODISCARD;
enum rc pg_entries_between(struct db *db, const int64_t *feed_ids, size_t n_feeds, bool by_creation,
                           int64_t from, int64_t to, int64_t max, int64_t *out,
                           struct err *err) NODISCARD;
enum rc pg_entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;
enum rc pg_content_pending(struct db *db, int64_t feed_id, int64_t now, struct arena *a,
                           struct pending_content *out, struct err *err) NODISCARD;
enum rc pg_content_feeds(struct db *db, reader_content_fn *fn, void *ctx,
                         struct err *err) NODISCARD;
enum rc pg_feeds_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                       struct feed **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_head_log_at(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                       struct arena *a, struct err *err) NODISCARD;
enum rc pg_feeds_listed(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                        struct feed_summary **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_feeds_count(struct db *db, const int64_t *ids, size_t n, bool with_deleted, int64_t *out,
                       struct err *err) NODISCARD;
enum rc pg_feeds_horizon(struct db *db, const int64_t *ids, size_t n, bool all,
                         struct log_horizon *out, struct err *err) NODISCARD;
enum rc pg_gone_feeds(struct db *db, int64_t after, int64_t before, size_t max, int64_t *ids,
                      size_t *n, struct err *err) NODISCARD;
enum rc pg_keep_wishes(struct db *db, int64_t after, size_t max, bool all, struct keep_wishes *out,
                       size_t *n, struct err *err) NODISCARD;
enum rc pg_feeds_name(struct db *db, int64_t id, struct arena *a, struct str *url,
                      struct str *title, struct err *err) NODISCARD;
enum rc pg_feeds_each_due(struct db *db, int64_t now, reader_due_fn *fn, void *ctx,
                          struct err *err) NODISCARD;
enum rc pg_briefs_load(struct db *db, const int64_t *ids, const struct feed_row *const *rows,
                       size_t n, struct arena *a, struct directory_feed *out,
                       struct err *err) NODISCARD;
enum rc pg_briefs_after(struct db *db, int64_t after, size_t max, struct arena *a,
                        struct directory_feed *out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_briefs_keys(struct db *db, const int64_t *ids, size_t n, size_t max,
                       struct key_run *out, struct err *err) NODISCARD;
enum rc pg_subs_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                      struct subscription **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_subs_after(struct db *db, int64_t after_id, size_t max, struct arena *a,
                      struct subscription **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_subs_listed(struct db *db, int64_t after_id, size_t max, struct arena *a,
                       struct sub_summary **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_subs_of_list(struct db *db, int64_t feed_id, struct arena *a, struct list_followers *out,
                        struct err *err) NODISCARD;
enum rc pg_subs_pushed(struct db *db, struct push_sub *subs, size_t n, struct err *err) NODISCARD;
enum rc pg_subs_asking(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                       struct err *err);
enum rc pg_subs_find(struct db *db, struct str sink, struct str endpoint, struct str settings,
                     struct str owner, int64_t *id, int64_t *n_owned, struct err *err) NODISCARD;
enum rc pg_subs_settings(struct db *db, int64_t id, struct arena *a, struct str *out,
                         struct err *err) NODISCARD;
enum rc pg_push_leads(struct db *db, const int64_t *feed_ids, size_t n,
                      const struct subscription *sub, struct arena *a, struct push_lead *out,
                      struct err *err) NODISCARD;
enum rc pg_push_batch(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t first,
                      size_t max, int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_push_run(struct db *db, const int64_t *feed_ids, size_t n,
                    const struct subscription *sub, size_t max, struct arena *a, int64_t *seqs,
                    size_t *n_seqs, struct feed_event **events, size_t *n_events,
                    struct err *err) NODISCARD;
enum rc pg_push_count(struct db *db, const int64_t *feed_ids, size_t n,
                      const struct subscription *sub, int64_t max, int64_t *out,
                      struct err *err) NODISCARD;
enum rc pg_feed_event(struct db *db, int64_t seq, struct arena *a, struct feed_event *out,
                      struct err *err) NODISCARD;
enum rc pg_deliveries_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                         struct delivery_note **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_dead_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                   struct dead_letter **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_dead_wanted(struct db *db, int64_t sub_id, struct arena *a, struct dead_letter **out,
                       size_t *n_out, struct err *err) NODISCARD;
enum rc pg_dead_counts(struct db *db, int64_t first, int64_t last, struct arena *a,
                       struct dead_count **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_hub_intents_after(struct db *db, int64_t id, size_t max, struct arena *a,
                             struct hub_intent **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_hub_lease(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *out,
                     struct err *err) NODISCARD;
enum rc pg_host_rests(struct db *db, struct arena *a, struct host_rest **out, size_t *n_out,
                      struct err *err) NODISCARD;
enum rc pg_upstreams_of(struct db *db, const struct str *tokens, size_t n_tokens, struct arena *a,
                        struct upstream **out, size_t *n_out, struct err *err) NODISCARD;
enum rc pg_upstreams(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                     struct err *err) NODISCARD;
enum rc pg_tokens(struct db *db, struct arena *a, struct token **out, size_t *n_out,
                  struct err *err) NODISCARD;
enum rc pg_views(struct db *db, struct arena *a, struct named_view **out, size_t *n_out,
                 struct err *err) NODISCARD;
