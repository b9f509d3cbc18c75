/* storage/tables.h - the columns of tables, each named once: for what an engine reads and writes.
 *
 * A table is one or more lists of rows X(KIND, column, member). `member` is where the column stands
 * in the struct of a row. storage/sqlite/fields.h makes statements of the lists. What is not in a
 * list has statements of its own. The kinds are:
 *
 *   INT         any integer, enum or bool
 *   TIME        int64_t; TIME_UNKNOWN is NULL
 *   TEXT        struct str; null is NULL
 *   EMPTY       struct str; null is ''
 *   OCTETS      struct str of any bytes, as another program sent them; null is NULL
 *   DIGEST      unsigned char[16]
 *   HASH        the same in struct feed_row; NULL when feed.has_body_hash is false
 *   SEQ         int64_t: a number of the log
 *   EVENT_TIME  int64_t: the time of a row of the log, microseconds
 *   VERSION     int64_t: a version of a feed
 *
 * The last three are numbers that are drawn when a transaction commits. An engine on which several
 * writers work at once knows them only then. Until then they are counted from NUMBERS_HERE, which
 * is larger than all numbers that are known. The first that a transaction draws comes after it.
 */
#pragma once

#include <stdint.h>

#define NUMBERS_HERE (INT64_C(1) << 62)

/* Table entries, struct entry_row. The key, what never changes, and what a new revision or document
 * changes. Beside them: id, marks, id_url. */
#define ENTRY_KEY(X)                                                                               \
    X(INT, feed_id, feed_id)                                                                       \
    X(TEXT, uid, uid)
#define ENTRY_FIXED(X) X(INT, iri_hash, iri_hash)
#define ENTRY_SAVED(X)                                                                             \
    X(SEQ, first_seq, first_seq)                                                                   \
    X(SEQ, seq, seq)                                                                               \
    X(INT, sort_at, sort_at)                                                                       \
    X(INT, dated, dated)                                                                           \
    X(INT, deleted, deleted)                                                                       \
    X(DIGEST, essence, essence)                                                                    \
    X(DIGEST, doc_hash, doc_hash)                                                                  \
    X(TIME, updated_us, updated_us)                                                                \
    X(TIME, dead_at, dead_at)                                                                      \
    X(TIME, gone_at, gone_at)

/* Table revisions, struct revision. Rows are only added. Beside them: entry_id. In PostgreSQL the
 * texts stand in the table bodies. */
#define REVISION_FACTS(X)                                                                          \
    X(SEQ, seq, seq)                                                                               \
    X(INT, feed_id, feed_id)                                                                       \
    X(SEQ, batch, batch)                                                                           \
    X(INT, kind, kind)                                                                             \
    X(INT, initial, initial)                                                                       \
    X(EVENT_TIME, at_us, at_us)                                                                    \
    X(INT, sort_at, sort_at)                                                                       \
    X(TIME, published_at, published_at)                                                            \
    X(TIME, updated_at, updated_at)                                                                \
    X(SEQ, prev_seq, prev_seq)
#define REVISION_TEXTS(X)                                                                          \
    X(TEXT, title, title)                                                                          \
    X(TEXT, link, link)                                                                            \
    X(TEXT, summary, summary)                                                                      \
    X(TEXT, author, author)                                                                        \
    X(EMPTY, doc, doc)                                                                             \
    X(EMPTY, ext, ext)
#define REVISION(X)                                                                                \
    REVISION_FACTS(X)                                                                              \
    REVISION_TEXTS(X)

/* Table archives, struct archive_row. Beside them: feed_id. */
#define ARCHIVE(X)                                                                                 \
    X(TEXT, url, url)                                                                              \
    X(INT, state, state)                                                                           \
    X(INT, place, order)                                                                           \
    X(INT, walk, walk)                                                                             \
    X(INT, try_at, try_at)                                                                         \
    X(INT, failures, failures)

/* Table feeds, struct feed_row. What feeds_save() writes, and what it does not, because it never
 * changes or has statements of its own; `version` it writes as the last column. Beside them:
 * n_subscriptions. */
#define FEED_SAVED(X)                                                                              \
    X(TEXT, site_url, feed.site_url)                                                               \
    X(TEXT, title, feed.title)                                                                     \
    X(OCTETS, etag, feed.etag)                                                                     \
    X(OCTETS, last_modified, feed.last_modified)                                                   \
    X(HASH, body_hash, feed.body_hash)                                                             \
    X(INT, fetched, fetched)                                                                       \
    X(INT, state, feed.state)                                                                      \
    X(INT, level, feed.level)                                                                      \
    X(INT, period_s, feed.period_s)                                                                \
    X(TIME, last_check_at, feed.last_check_at)                                                     \
    X(TIME, last_success_at, feed.last_success_at)                                                 \
    X(TIME, last_change_at, feed.last_change_at)                                                   \
    X(TIME, next_fetch_at, feed.next_fetch_at)                                                     \
    X(INT, next_reason, feed.next_reason)                                                          \
    X(TIME, wanted_at, feed.wanted_at)                                                             \
    X(INT, last_status, feed.last_status)                                                          \
    X(INT, n_errors, feed.n_errors)                                                                \
    X(TEXT, last_error, feed.last_error)                                                           \
    X(INT, n_entries, feed.n_entries)                                                              \
    X(INT, n_items, feed.n_items)                                                                  \
    X(INT, n_pings, feed.n_pings)                                                                  \
    X(INT, hint_max_age_s, feed.hints.max_age_s)                                                   \
    X(INT, hint_ttl_s, feed.hints.ttl_s)                                                           \
    X(INT, hint_sy_s, feed.hints.sy_period_s)                                                      \
    X(INT, hint_skip_hours, feed.hints.skip_hours)                                                 \
    X(INT, hint_skip_days, feed.hints.skip_days)                                                   \
    X(INT, raw_html, feed.raw_html)                                                                \
    X(INT, complete, feed.complete)                                                                \
    X(INT, partial, feed.partial)                                                                  \
    X(TIME, harvest_at, feed.harvest_at)                                                           \
    X(TIME, harvest_to, feed.harvest_to)                                                           \
    X(INT, content_failures, feed.content_failures)                                                \
    X(TIME, content_wait_at, feed.content_wait_at)                                                 \
    X(TEXT, cursor, feed.cursor)                                                                   \
    X(INT, cursor_state, feed.cursor_state)                                                        \
    X(INT, is_broken, feed.is_broken)                                                              \
    X(INT, is_list, feed.is_list)                                                                  \
    X(INT, is_paused, feed.is_paused)                                                              \
    X(TEXT, history, feed.history)                                                                 \
    X(INT, n_gone, feed.n_gone)                                                                    \
    X(TIME, gone_since, feed.gone_since)                                                           \
    X(TIME, gap_since, feed.gap_since)                                                             \
    X(TEXT, move_to, feed.move.to)                                                                 \
    X(TIME, move_since, feed.move.since)                                                           \
    X(INT, n_moves, feed.move.n)                                                                   \
    X(INT, mirror_from, feed.mirror_from)                                                          \
    X(TEXT, pace, feed.pace)                                                                       \
    X(INT, need_class, feed.need_class)                                                            \
    X(TEXT, secrets, feed.secrets)                                                                 \
    X(INT, horizon, feed.horizon)                                                                  \
    X(INT, horizon_us, feed.horizon_us)                                                            \
    X(INT, n_taken, feed.n_taken)                                                                  \
    X(TEXT, shown, feed.shown)                                                                     \
    X(INT, keep_s, feed.keep.age_s)                                                                \
    X(INT, keep_entries, feed.keep.entries)                                                        \
    X(TEXT, validators_url, feed.validators_url)                                                   \
    X(SEQ, last_seq, feed.last_seq)                                                                \
    X(TIME, newest_at, feed.newest_at)
#define FEED_IDENTITY(X)                                                                           \
    X(INT, id_rule, feed.identity.rule)                                                            \
    X(TIME, id_since_at, feed.identity.since_at)                                                   \
    X(TEXT, id_why, feed.identity.why)                                                             \
    X(INT, id_against, feed.identity.n_against)                                                    \
    X(INT, id_better, feed.identity.n_better)
#define FEED_FIXED(X)                                                                              \
    X(INT, id, feed.id)                                                                            \
    X(TEXT, url, feed.url)                                                                         \
    X(EMPTY, credential, feed.credential)                                                          \
    X(TEXT, access_key, feed.access_key)                                                           \
    X(TEXT, page_url, feed.page_url)                                                               \
    X(TEXT, id_url, feed.id_url)                                                                   \
    FEED_IDENTITY(X)                                                                               \
    X(VERSION, version, feed.version)

/* Of these, what the directory is made of: it is read of all feeds at the start. */
#define FEED_BRIEF(X)                                                                              \
    X(INT, id, feed.id)                                                                            \
    X(VERSION, version, feed.version)                                                              \
    X(TEXT, url, feed.url)                                                                         \
    X(EMPTY, credential, feed.credential)                                                          \
    X(TEXT, access_key, feed.access_key)                                                           \
    X(TEXT, secrets, feed.secrets)                                                                 \
    X(TEXT, page_url, feed.page_url)                                                               \
    X(TEXT, site_url, feed.site_url)                                                               \
    X(INT, state, feed.state)                                                                      \
    X(INT, fetched, fetched)                                                                       \
    X(INT, partial, feed.partial)                                                                  \
    X(INT, level, feed.level)                                                                      \
    X(INT, last_status, feed.last_status)                                                          \
    X(INT, period_s, feed.period_s)                                                                \
    X(TIME, last_check_at, feed.last_check_at)                                                     \
    X(TIME, last_change_at, feed.last_change_at)                                                   \
    X(TIME, next_fetch_at, feed.next_fetch_at)                                                     \
    X(TIME, wanted_at, feed.wanted_at)                                                             \
    X(TIME, harvest_to, feed.harvest_to)                                                           \
    X(TIME, content_wait_at, feed.content_wait_at)                                                 \
    X(INT, is_paused, feed.is_paused)                                                              \
    X(INT, need_class, feed.need_class)                                                            \
    X(INT, horizon, feed.horizon)                                                                  \
    X(INT, n_subscriptions, feed.n_subscriptions)                                                  \
    X(SEQ, last_seq, feed.last_seq)                                                                \
    X(TIME, newest_at, feed.newest_at)

/* The same: what documents show of a feed, beside its head. */
#define FEED_SHOWN(X)                                                                              \
    X(INT, id, feed.id)                                                                            \
    X(TEXT, url, feed.url)                                                                         \
    X(TEXT, access_key, feed.access_key)                                                           \
    X(TEXT, id_url, feed.id_url)                                                                   \
    X(TIME, last_change_at, feed.last_change_at)                                                   \
    X(INT, n_entries, feed.n_entries)                                                              \
    X(INT, complete, feed.complete)

/* The same, struct feed_summary: what a list of all feeds shows. */
#define FEED_LISTED(X)                                                                             \
    X(INT, id, id)                                                                                 \
    X(TEXT, url, url)                                                                              \
    X(TEXT, title, title)                                                                          \
    X(TEXT, last_error, last_error)                                                                \
    X(INT, state, state)                                                                           \
    X(INT, is_paused, is_paused)                                                                   \
    X(INT, is_list, is_list)                                                                       \
    X(INT, level, level)                                                                           \
    X(INT, period_s, period_s)                                                                     \
    X(TIME, last_check_at, last_check_at)                                                          \
    X(TIME, last_change_at, last_change_at)                                                        \
    X(TIME, next_fetch_at, next_fetch_at)                                                          \
    X(INT, next_reason, next_reason)                                                               \
    X(INT, last_status, last_status)                                                               \
    X(INT, n_errors, n_errors)                                                                     \
    X(INT, n_entries, n_entries)                                                                   \
    X(INT, n_subscriptions, n_subscriptions)

/* Tables heads and head_log, struct feed. Beside them: feed_id, since_seq. */
#define HEAD(X)                                                                                    \
    X(EMPTY, head, head)                                                                           \
    X(EMPTY, ext, ext)
#define HEAD_LOG(X)                                                                                \
    X(TEXT, url, url)                                                                              \
    X(TEXT, title, title)                                                                          \
    X(TEXT, site_url, site_url)                                                                    \
    HEAD(X)

/* Table feed_events, struct feed_event. */
#define FEED_EVENT(X)                                                                              \
    X(SEQ, seq, seq)                                                                               \
    X(INT, feed_id, feed_id)                                                                       \
    X(EVENT_TIME, at_us, at_us)                                                                    \
    X(INT, kind, kind)                                                                             \
    X(TEXT, detail, detail)

/* Table contents, struct content_row. Beside them: entry_id. */
#define CONTENT(X)                                                                                 \
    X(INT, feed_id, feed_id)                                                                       \
    X(INT, state, state)                                                                           \
    X(INT, form, form)                                                                             \
    X(INT, n_gone, n_gone)                                                                         \
    X(TIME, gone_at, gone_at)                                                                      \
    X(INT, try_at, try_at)                                                                         \
    X(INT, failures, failures)

/* The feed's current row of table upstreams, within struct feed_row. */
#define FEED_UPSTREAM(X)                                                                           \
    X(TEXT, hub, feed.upstream.hub)                                                                \
    X(INT, protocol, feed.upstream.protocol)                                                       \
    X(TEXT, topic, feed.upstream.topic)                                                            \
    X(INT, state, feed.upstream.state)                                                             \
    X(TIME, lease_end_at, feed.upstream.lease_end_at)                                              \
    X(INT, n_errors, feed.upstream.n_errors)                                                       \
    X(TEXT, error, feed.upstream.error)                                                            \
    X(INT, trust, feed.upstream.trust)                                                             \
    X(TIME, delivered_at, feed.upstream.delivered_at)

/* Table subscriptions, struct subscription. What an outcome of a delivery changes; what somebody
 * changes; both together; and what never changes. Beside them: last_error, which an outcome changes
 * as well. */
#define SUB_PROGRESS(X)                                                                            \
    X(INT, state, state)                                                                           \
    X(SEQ, position, position)                                                                     \
    X(SEQ, chain_seq, chain.seq)                                                                   \
    X(EVENT_TIME, chain_at_us, chain.at_us)                                                        \
    X(TIME, next_try_at, next_try_at)                                                              \
    X(TIME, failing_since, failing_since)                                                          \
    X(INT, n_failures, n_failures)                                                                 \
    X(INT, n_delivered, n_delivered)                                                               \
    X(INT, n_faults, n_faults)                                                                     \
    X(INT, n_calls, n_calls)                                                                       \
    X(INT, refused_seq, refused_seq)                                                               \
    X(INT, n_refusals, n_refusals)                                                                 \
    X(INT, part_max, part_max)                                                                     \
    X(INT, part_until, part_until)
#define SUB_TERMS(X)                                                                               \
    X(TEXT, endpoint, endpoint)                                                                    \
    X(EMPTY, sink, sink)                                                                           \
    X(INT, events, events)                                                                         \
    X(INT, batch, batch)                                                                           \
    X(INT, generation, generation)                                                                 \
    X(INT, with_initial, with_initial)                                                             \
    X(TEXT, filter, filter)                                                                        \
    X(TEXT, asks, asks)                                                                            \
    X(INT, keep_s, keep.age_s)                                                                     \
    X(INT, keep_entries, keep.entries)
#define SUB_SAVED(X) SUB_TERMS(X) SUB_PROGRESS(X)
#define SUB_FIXED(X)                                                                               \
    X(INT, id, id)                                                                                 \
    X(INT, created_at, created_at)                                                                 \
    X(INT, owner, owner)

/* The same, struct sub_summary: what a list of all subscriptions is searched and sorted by. Beside them: n_feeds. */
#define SUB_LISTED(X)                                                                              \
    X(INT, id, id)                                                                                 \
    X(INT, owner, owner)                                                                           \
    X(INT, created_at, created_at)                                                                 \
    X(TIME, failing_since, failing_since)                                                          \
    X(INT, state, state)                                                                           \
    X(TEXT, endpoint, endpoint)                                                                    \
    X(EMPTY, sink, sink)

/* What of a subscription only the storer and the notifier may know: struct held_sub, struct
 * push_sub. */
#define SUB_SECRETS(X)                                                                             \
    X(TEXT, endpoint_credential, credential)                                                       \
    X(TEXT, sink_settings, settings)

/* Table sub_feeds, struct sub_feed. Beside them: the key's other half, sub_id, and place. */
#define SUB_FEED(X)                                                                                \
    X(INT, feed_id, feed_id)                                                                       \
    X(EMPTY, url, url)                                                                             \
    X(TEXT, name, name)                                                                            \
    X(TEXT, folder, folder)                                                                        \
    X(TEXT, category, category)                                                                    \
    X(INT, listed, listed)

/* Table deliveries, struct delivery_note. Beside them: error, and the key. */
#define DELIVERY_NOTE(X)                                                                           \
    X(INT, at_us, at_us)                                                                           \
    X(INT, n_try, n_try)                                                                           \
    X(INT, n_entries, n_entries)                                                                   \
    X(INT, first_seq, first.seq)                                                                   \
    X(INT, first_at_us, first.at_us)                                                               \
    X(INT, last_seq, last.seq)                                                                     \
    X(INT, last_at_us, last.at_us)                                                                 \
    X(INT, status, status)                                                                         \
    X(INT, ms, ms)                                                                                 \
    X(INT, verdict, verdict)

/* Table dead_letters, struct dead_letter. What never changes; what a refusal changes; and both
 * together. Beside them: id. */
#define DEAD_FIXED(X)                                                                              \
    X(INT, sub_id, sub_id)                                                                         \
    X(INT, seq, at.seq)                                                                            \
    X(INT, at_us, at.at_us)                                                                        \
    X(EMPTY, uid, uid)
#define DEAD_REFUSAL(X)                                                                            \
    X(INT, at, refused_at)                                                                         \
    X(INT, status, status)                                                                         \
    X(EMPTY, answer, answer)                                                                       \
    X(INT, wanted, wanted)
#define DEAD_LETTER(X) DEAD_FIXED(X) DEAD_REFUSAL(X)

/* Table hub_intents, struct hub_intent. Beside them: feeds, which are text. */
#define HUB_INTENT(X)                                                                              \
    X(INT, id, id)                                                                                 \
    X(INT, mode, mode)                                                                             \
    X(TEXT, topic, topic)                                                                          \
    X(TEXT, callback, callback)                                                                    \
    X(TEXT, credential, credential)                                                                \
    X(TEXT, secret, secret)                                                                        \
    X(TEXT, verify_token, verify_token)                                                            \
    X(TEXT, reason, reason)                                                                        \
    X(INT, legacy, legacy)                                                                         \
    X(INT, renews, renews)                                                                         \
    X(INT, waits, waits)                                                                           \
    X(INT, lease_s, lease_s)                                                                       \
    X(INT, protocol, protocol)                                                                     \
    X(TEXT, procedure, procedure)                                                                  \
    X(INT, at_caller, at_caller)                                                                   \
    X(INT, owner, owner)                                                                           \
    X(INT, by_admin, by_admin)                                                                     \
    X(TEXT, filter, filter)                                                                        \
    X(TEXT, asks, asks)

/* Table hub_leases, struct hub_lease. Beside them: callback. */
#define HUB_LEASE(X)                                                                               \
    X(INT, sub_id, sub_id)                                                                         \
    X(TEXT, topic, topic)                                                                          \
    X(TEXT, secret, secret)                                                                        \
    X(TEXT, verify_token, verify_token)                                                            \
    X(INT, legacy, legacy)                                                                         \
    X(INT, renews, renews)                                                                         \
    X(INT, lease_s, lease_s)                                                                       \
    X(TIME, ends_at, ends_at)                                                                      \
    X(TIME, renew_at, renew_at)                                                                    \
    X(INT, protocol, protocol)                                                                     \
    X(TEXT, procedure, procedure)

/* Table upstreams, struct upstream: what those who subscribe keep, and what deliveries and polls
 * show. */
#define UPSTREAM(X) UPSTREAM_KEPT(X) UPSTREAM_TRUST(X)
#define UPSTREAM_TRUST(X)                                                                          \
    X(INT, trust, trust)                                                                           \
    X(TIME, delivered_at, delivered_at)
#define UPSTREAM_KEPT(X)                                                                           \
    X(TEXT, token, token)                                                                          \
    X(TEXT, base_url, base_url)                                                                    \
    X(TEXT, secret, secret)                                                                        \
    X(TEXT, hub, hub)                                                                              \
    X(TEXT, topic, topic)                                                                          \
    X(INT, feed_id, feed_id)                                                                       \
    X(INT, is_current, is_current)                                                                 \
    X(INT, from_page, from_page)                                                                   \
    X(INT, for_subs, for_subs)                                                                     \
    X(INT, state, state)                                                                           \
    X(TIME, lease_end_at, lease_end_at)                                                            \
    X(TIME, next_at, next_at)                                                                      \
    X(TIME, ended_at, ended_at)                                                                    \
    X(INT, n_errors, n_errors)                                                                     \
    X(TEXT, error, error)                                                                          \
    X(INT, protocol, protocol)                                                                     \
    X(TEXT, procedure, procedure)

/* Table tokens, struct token. */
#define TOKEN(X)                                                                                   \
    X(INT, id, id)                                                                                 \
    X(EMPTY, name, name)                                                                           \
    X(INT, role, role)                                                                             \
    X(INT, rate, rate)                                                                             \
    X(TIME, expires_at, expires_at)                                                                \
    X(INT, created_at, created_at)                                                                 \
    X(TIME, used_at, used_at)                                                                      \
    X(EMPTY, digest, digest)                                                                       \
    X(INT, session_of, session_of)

/* Table views, struct named_view: what a transaction looks at, and the rest. */
#define NAMED_VIEW(X) NAMED_VIEW_KEPT(X) NAMED_VIEW_TEXTS(X)
#define NAMED_VIEW_TEXTS(X)                                                                        \
    X(TEXT, title, title)                                                                          \
    X(EMPTY, query, query)                                                                         \
    X(INT, changed_at, changed_at)
#define NAMED_VIEW_KEPT(X)                                                                         \
    X(EMPTY, name, name)                                                                           \
    X(INT, owner, owner)                                                                           \
    X(INT, role, role)                                                                             \
    X(EMPTY, uses, uses)                                                                           \
    X(INT, created_at, created_at)
