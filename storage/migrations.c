/* storage/migrations.c - the steps from each older schema to the newest.
 *
 * To add a column or table, change schema.sql, raise SCHEMA_VERSION (storage/schema_version.h), and
 * add a row here. Its second text is for PostgreSQL, with the types that make_schema.py gives
 * (storage/pg/). It runs while nodes of the older program work, which know the columns of their
 * time only: a new column needs a default. If it must follow what they write, the step adds a
 * trigger for them: the sessions of a program say which schema it knows (storage/pg/settings.def). */
#include "storage/migrations.h"

#include "base/compiler.h"
#include "storage/schema_version.h"

static const char schema_sql[] = {
#include "storage/schema.inc"
    0};

/* Only rows that have one before them are written. In PostgreSQL they stay as they are: this would
 * hold up all nodes until it is done, and nodes of the older program add more of them. There the
 * row before is looked for when one is read (storage/pg/statements.def). */
#define LINK_REVISIONS                                                                             \
    "UPDATE revisions SET prev_seq = p.prev FROM (SELECT seq AS at, lag(seq, 1)"                   \
    " OVER (PARTITION BY entry_id ORDER BY seq) AS prev FROM revisions) AS p"                      \
    " WHERE p.at = revisions.seq AND p.prev IS NOT NULL;"

/* OWNER_LOCAL (model/access.h). */
#define LOCAL_OWNERS                                                                               \
    "UPDATE subscriptions SET owner = -2 WHERE id NOT IN (SELECT sub_id FROM hub_leases);"

/* FEED_GONE (model/feed.h). Before, these were never asked again. */
#define ASK_GONE                                                                                   \
    "UPDATE feeds SET next_fetch_at = last_check_at + 604800"                                      \
    " WHERE state = 3 AND is_paused = 0 AND n_subscriptions > 0;"

/* What retention took was given a number, too. */
#define BOUND_ENTRIES(higher)                                                                      \
    "UPDATE feeds SET last_seq = " higher "(horizon, coalesce((SELECT max(r.seq)"                  \
    " FROM revisions r WHERE r.feed_id = feeds.id), 0)), newest_at = (SELECT max(e.sort_at)"       \
    " FROM entries e WHERE e.feed_id = feeds.id AND e.deleted = 0);"

/* A program before 37 makes revisions, and moves them to another feed, without these bounds. At the
 * commit, when the row of the feed is there. The first row of a feed does it for all that follow.
 * WHEN is judged in the writer's session without a call, so other rows cost next to nothing; a
 * database that is new needs no trigger, because no older program may start on it. */
#define BOUND_OLDER_WRITES                                                                         \
    "CREATE FUNCTION bound_older_writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"            \
    " IF EXISTS (SELECT FROM feeds WHERE id = NEW.feed_id AND (last_seq < NEW.seq"                 \
    " OR newest_at IS NULL OR newest_at < NEW.sort_at)) THEN"                                      \
    " UPDATE feeds f SET last_seq = greatest(f.last_seq, n.seq),"                                  \
    " newest_at = greatest(f.newest_at, n.at) FROM (SELECT max(seq) AS seq, max(sort_at) AS at"    \
    " FROM revisions WHERE feed_id = NEW.feed_id AND seq >= NEW.seq) n WHERE f.id = NEW.feed_id;"  \
    " END IF; RETURN NULL; END $$;"                                                                \
    "CREATE CONSTRAINT TRIGGER bound_older_writes AFTER INSERT OR UPDATE OF feed_id ON revisions"  \
    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN"                                             \
    " (coalesce(nullif(current_setting('feedmill.schema', true), ''), '0')::integer < 37)"         \
    " EXECUTE FUNCTION bound_older_writes();"

#define MIRROR_INDEXES                                                                             \
    "CREATE INDEX mirrors_due ON mirrors (next_at) WHERE next_at IS NOT NULL;"                     \
    "CREATE INDEX mirrors_file ON mirrors (sha256) WHERE sha256 IS NOT NULL;"                      \
    "CREATE INDEX mirrors_used ON mirrors (used_us) WHERE state = 1;"

#define NAMES_INDEX "CREATE INDEX mirror_names_key ON mirror_names (key);"

#define HIGHEST_INDEX "CREATE INDEX feeds_highest ON feeds (horizon) WHERE horizon > 0;"

/* A new file has version 0. The row from 0 makes the newest schema in one step, by schema.sql; in
 * PostgreSQL storage/pg/schema.c does that. The other rows lead from one version to the next. */
const struct migration migrations[] = {
    {0, SCHEMA_VERSION, schema_sql, NULL},
    {1, 2,
     "ALTER TABLE feeds ADD COLUMN n_items INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET n_items = (SELECT count(*) FROM entries e WHERE e.feed_id = feeds.id);"
     "CREATE TABLE head_log ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,"
     " since_seq INTEGER NOT NULL, url TEXT NOT NULL, title TEXT, site_url TEXT,"
     " head TEXT NOT NULL, ext TEXT NOT NULL,"
     " PRIMARY KEY (feed_id, since_seq)) STRICT, WITHOUT ROWID;"
     "INSERT INTO head_log (feed_id, since_seq, url, title, site_url, head, ext)"
     " SELECT f.id, 0, f.url, f.title, f.site_url, h.head, h.ext"
     " FROM feeds f JOIN heads h ON h.feed_id = f.id;",
     NULL},
    {2, 3,
     "ALTER TABLE feeds ADD COLUMN raw_html INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE sub_feeds ADD COLUMN name TEXT;"
     "ALTER TABLE sub_feeds ADD COLUMN folder TEXT;"
     "ALTER TABLE sub_feeds ADD COLUMN category TEXT;",
     NULL},
    {3, 4, "ALTER TABLE feeds ADD COLUMN n_pings INTEGER NOT NULL DEFAULT 0", NULL},
    {4, 5, /* all feeds are read whole the next time, so that their entries get marks */
     "ALTER TABLE feeds ADD COLUMN id_url TEXT;"
     "ALTER TABLE feeds ADD COLUMN id_rule INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN id_since_at INTEGER;"
     "ALTER TABLE feeds ADD COLUMN id_why TEXT;"
     "ALTER TABLE feeds ADD COLUMN id_against INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN id_better INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET id_url = url, body_hash = NULL, etag = NULL, last_modified = NULL;"
     "ALTER TABLE entries ADD COLUMN marks BLOB;"
     "ALTER TABLE entries ADD COLUMN id_url TEXT;"
     "CREATE TABLE entry_keys ("
     " feed_id INTEGER NOT NULL, key INTEGER NOT NULL, entry_id INTEGER NOT NULL,"
     " PRIMARY KEY (feed_id, key, entry_id)) STRICT, WITHOUT ROWID;",
     NULL},
    {5, 6, /* feeds that name a hub are read whole the next time, so that the hub is found */
     "CREATE TABLE upstreams ("
     " token TEXT PRIMARY KEY, base_url TEXT NOT NULL, secret TEXT NOT NULL, hub TEXT NOT NULL,"
     " topic TEXT NOT NULL, feed_id INTEGER NOT NULL, is_current INTEGER NOT NULL,"
     " from_page INTEGER NOT NULL, for_subs INTEGER NOT NULL, state INTEGER NOT NULL,"
     " lease_end_at INTEGER, next_at INTEGER, ended_at INTEGER, n_errors INTEGER NOT NULL,"
     " error TEXT, trust INTEGER NOT NULL DEFAULT 0, delivered_at INTEGER) STRICT, WITHOUT ROWID;"
     "CREATE UNIQUE INDEX upstreams_feed ON upstreams (feed_id) WHERE is_current = 1;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL"
     " WHERE id IN (SELECT feed_id FROM heads WHERE head LIKE '%\"hub\"%');",
     NULL},
    {6, 7,
     "CREATE TABLE hub_leases ( sub_id INTEGER PRIMARY KEY REFERENCES subscriptions (id) "
     "ON DELETE CASCADE, topic TEXT NOT NULL, callback TEXT NOT NULL, secret TEXT, "
     "verify_token TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL, lease_s INTEGER "
     "NOT NULL, ends_at INTEGER NOT NULL, renew_at INTEGER, UNIQUE (callback, topic) ) "
     "STRICT;"
     "CREATE INDEX hub_leases_end ON hub_leases (ends_at);"
     "CREATE INDEX hub_leases_renew ON hub_leases (renew_at) WHERE renew_at IS NOT NULL;"
     "CREATE TABLE hub_intents ( id INTEGER PRIMARY KEY AUTOINCREMENT, mode INTEGER NOT "
     "NULL, topic TEXT NOT NULL, callback TEXT NOT NULL, credential TEXT, secret TEXT, "
     "verify_token TEXT, reason TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL, "
     "waits INTEGER NOT NULL, "
     "lease_s INTEGER NOT NULL, feeds TEXT NOT NULL ) STRICT;",
     NULL},
    {7, 8, /* all feeds are read whole the next time, so that their past is found */
     "ALTER TABLE feeds ADD COLUMN complete INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN harvest_at INTEGER;"
     "ALTER TABLE feeds ADD COLUMN harvest_to INTEGER;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL;"
     "ALTER TABLE entries ADD COLUMN updated_us INTEGER;"
     "ALTER TABLE entries ADD COLUMN dead_at INTEGER;"
     "UPDATE entries SET updated_us = (SELECT 1000000 * coalesce(r.updated_at, r.published_at)"
     " FROM revisions r"
     " WHERE r.seq = entries.seq);"
     "UPDATE entries SET dead_at = d.at FROM (SELECT entry_id,"
     " max(max(coalesce(updated_at, 0), at_us / 1000000)) AS at FROM revisions WHERE kind = 2"
     " GROUP BY entry_id) AS d WHERE d.entry_id = entries.id;"
     "CREATE TABLE archives ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE, url TEXT NOT NULL,"
     " state INTEGER NOT NULL DEFAULT 0, place INTEGER NOT NULL,"
     " walk INTEGER NOT NULL DEFAULT 0, try_at INTEGER NOT NULL DEFAULT 0,"
     " failures INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (feed_id, url)) STRICT, WITHOUT ROWID;"
     "CREATE INDEX archives_place ON archives (feed_id, state, place);"
     "CREATE TABLE graves ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE, uid TEXT NOT NULL,"
     " when_us INTEGER NOT NULL, PRIMARY KEY (feed_id, uid)) STRICT, WITHOUT ROWID;",
     NULL},
    {8, 9, /* stored metadata records get their content with their next version */
     "ALTER TABLE feeds ADD COLUMN content_failures INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN content_wait_at INTEGER;"
     "CREATE TABLE contents ("
     " entry_id INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,"
     " feed_id INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
     " form INTEGER NOT NULL DEFAULT 0, n_gone INTEGER NOT NULL DEFAULT 0, gone_at INTEGER,"
     " try_at INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0) STRICT;"
     "CREATE INDEX contents_open ON contents (feed_id, try_at, entry_id DESC) WHERE state = 0;",
     NULL},
    {9, 10, /* Smart Feeds are read whole the next time, so that their cursor is found */
     "ALTER TABLE feeds ADD COLUMN cursor TEXT;"
     "ALTER TABLE feeds ADD COLUMN cursor_state INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL WHERE id IN"
     " (SELECT feed_id FROM heads WHERE head LIKE '%//fanout.org/protocol/atom%');",
     NULL},
    {10,
     11, /* a delivery names the one before it: those before the migration ended at `position` */
     "ALTER TABLE feeds ADD COLUMN is_broken INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN sink_settings TEXT;"
     "ALTER TABLE subscriptions ADD COLUMN events INTEGER NOT NULL DEFAULT 3;"
     "ALTER TABLE subscriptions ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN chain_seq INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN chain_at_us INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN n_calls INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN refused_seq INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN n_refusals INTEGER NOT NULL DEFAULT 0;"
     "UPDATE subscriptions SET chain_seq = position, chain_at_us = coalesce((SELECT at_us FROM"
     " revisions WHERE seq <= position ORDER BY seq DESC LIMIT 1), 0);"
     "CREATE TABLE deliveries ( sub_id INTEGER NOT NULL REFERENCES subscriptions (id) ON "
     "DELETE CASCADE, slot INTEGER NOT NULL, at_us INTEGER NOT NULL, n_try INTEGER NOT "
     "NULL, n_entries INTEGER NOT NULL, first_seq INTEGER NOT NULL, first_at_us INTEGER "
     "NOT NULL, last_seq INTEGER NOT NULL, last_at_us INTEGER NOT NULL, status INTEGER NOT NULL, "
     "ms "
     "INTEGER NOT NULL, verdict INTEGER NOT NULL, error TEXT, PRIMARY KEY (sub_id, slot) ) "
     "STRICT, WITHOUT ROWID;"
     "CREATE TABLE dead_letters ( id INTEGER PRIMARY KEY AUTOINCREMENT, sub_id INTEGER NOT "
     "NULL REFERENCES subscriptions (id) ON DELETE CASCADE, seq INTEGER NOT NULL, at_us "
     "INTEGER NOT NULL, uid TEXT NOT NULL, at INTEGER NOT NULL, status INTEGER NOT NULL, answer "
     "TEXT NOT NULL, wanted INTEGER NOT NULL DEFAULT 0 ) STRICT;"
     "CREATE INDEX dead_letters_sub ON dead_letters (sub_id, wanted, id);"
     "CREATE TABLE feed_events ( seq INTEGER PRIMARY KEY, feed_id INTEGER NOT NULL "
     "REFERENCES feeds (id) ON DELETE CASCADE, at_us INTEGER NOT NULL, kind INTEGER NOT "
     "NULL, detail TEXT ) STRICT;"
     "CREATE INDEX feed_events_feed ON feed_events (feed_id, seq);",
     NULL},
    {11,
     12, /* leases and intents by rssCloud; the table of leases is made again for its new UNIQUE */
     "ALTER TABLE hub_intents ADD COLUMN protocol INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE hub_intents ADD COLUMN procedure TEXT;"
     "ALTER TABLE hub_intents ADD COLUMN at_caller INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE hub_leases RENAME TO old_leases;"
     "CREATE TABLE hub_leases ("
     " sub_id INTEGER PRIMARY KEY REFERENCES subscriptions (id) ON DELETE CASCADE,"
     " topic TEXT NOT NULL, callback TEXT NOT NULL, secret TEXT, verify_token TEXT,"
     " legacy INTEGER NOT NULL, renews INTEGER NOT NULL, lease_s INTEGER NOT NULL,"
     " ends_at INTEGER NOT NULL, renew_at INTEGER, protocol INTEGER NOT NULL DEFAULT 0,"
     " procedure TEXT, UNIQUE (callback, topic, protocol)) STRICT;"
     "INSERT INTO hub_leases (sub_id, topic, callback, secret, verify_token, legacy, renews,"
     " lease_s, ends_at, renew_at) SELECT sub_id, topic, callback, secret, verify_token, legacy,"
     " renews, lease_s, ends_at, renew_at FROM old_leases;"
     "DROP TABLE old_leases;"
     "CREATE INDEX hub_leases_end ON hub_leases (ends_at);"
     "CREATE INDEX hub_leases_renew ON hub_leases (renew_at) WHERE renew_at IS NOT NULL;",
     NULL},
    {12, 13, /* lines of the delivery log are kept by slot */
     "ALTER TABLE deliveries RENAME TO old_deliveries;"
     "CREATE TABLE deliveries (sub_id INTEGER NOT NULL, slot INTEGER NOT NULL,"
     " at_us INTEGER NOT NULL, n_try INTEGER NOT NULL, n_entries INTEGER NOT NULL,"
     " first_seq INTEGER NOT NULL, first_at_us INTEGER NOT NULL, last_seq INTEGER NOT NULL,"
     " last_at_us INTEGER NOT NULL, status INTEGER NOT NULL, ms INTEGER NOT NULL,"
     " verdict INTEGER NOT NULL, error TEXT, PRIMARY KEY (slot, sub_id)) STRICT, WITHOUT ROWID;"
     "INSERT INTO deliveries (sub_id, slot, at_us, n_try, n_entries, first_seq, first_at_us,"
     " last_seq, last_at_us, status, ms, verdict, error) SELECT sub_id, slot, at_us, n_try,"
     " n_entries, first_seq, first_at_us, last_seq, last_at_us, status, ms, verdict, error"
     " FROM old_deliveries ORDER BY slot, sub_id;"
     "DROP TABLE old_deliveries;",
     NULL},
    {13, 14, /* feeds that name a cloud are read whole the next time, so that the cloud is found */
     "ALTER TABLE upstreams ADD COLUMN protocol INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE upstreams ADD COLUMN procedure TEXT;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL"
     " WHERE id IN (SELECT feed_id FROM heads WHERE head LIKE '%\"cloud\":%');",
     NULL},
    {14, 15, /* parts of what was refused are the same after a restart */
     "ALTER TABLE subscriptions ADD COLUMN part_max INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN part_until INTEGER NOT NULL DEFAULT 0;",
     NULL},
    {15, 16, /* the number of subscriptions is kept with the feed */
     "ALTER TABLE feeds ADD COLUMN n_subscriptions INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET n_subscriptions ="
     " (SELECT count(*) FROM sub_feeds s WHERE s.feed_id = feeds.id);",
     NULL},
    {16, 17, /* revisions know the one before them */
     "ALTER TABLE revisions ADD COLUMN prev_seq INTEGER NOT NULL DEFAULT 0;" LINK_REVISIONS,
     "ALTER TABLE revisions ADD COLUMN prev_seq bigint NOT NULL DEFAULT 0;"},
    {17, 18, /* what was made before there were tokens is not a stranger's; leases are renewed by
                whoever has the callback */
     "ALTER TABLE subscriptions ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;" LOCAL_OWNERS
     "ALTER TABLE hub_intents ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE hub_intents ADD COLUMN by_admin INTEGER NOT NULL DEFAULT 0;"
     "CREATE TABLE tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
     " role INTEGER NOT NULL, rate INTEGER NOT NULL DEFAULT 0, expires_at INTEGER,"
     " created_at INTEGER NOT NULL, used_at INTEGER, digest TEXT NOT NULL) STRICT;",
     "ALTER TABLE subscriptions ADD COLUMN owner bigint NOT NULL DEFAULT 0;" LOCAL_OWNERS
     "ALTER TABLE hub_intents ADD COLUMN owner bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE hub_intents ADD COLUMN by_admin bigint NOT NULL DEFAULT 0;"
     "CREATE TABLE tokens (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
     " name text COLLATE \"C\" NOT NULL, role bigint NOT NULL, rate bigint NOT NULL DEFAULT 0,"
     " expires_at bigint, created_at bigint NOT NULL, used_at bigint,"
     " digest text COLLATE \"C\" NOT NULL);"},
    {18, 19, /* hosts that asked for a rest; in PostgreSQL the table was there, and empty */
     "CREATE TABLE hosts ( host TEXT PRIMARY KEY, cool_us INTEGER NOT NULL,"
     " gentle_us INTEGER NOT NULL ) STRICT;"
     "CREATE INDEX hosts_gentle ON hosts (gentle_us);",
     "CREATE INDEX hosts_gentle ON hosts (gentle_us);"},
    {19, 20, /* search/ fills the index afterwards */
     "CREATE VIRTUAL TABLE terms USING fts5(words, content='', detail=none, columnsize=0,"
     " tokenize='ascii');"
     "CREATE TABLE indexed (one INTEGER PRIMARY KEY, seq INTEGER NOT NULL, n INTEGER NOT NULL)"
     " STRICT;",
     "CREATE TABLE indexed (one bigint PRIMARY KEY, seq bigint NOT NULL, n bigint NOT NULL);"
     "CREATE TABLE terms (seq bigint PRIMARY KEY, terms tsvector NOT NULL);"
     "CREATE INDEX terms_words ON terms USING gin (terms);"},
    {20, 21, /* what a subscription is told of its feeds */
     "ALTER TABLE subscriptions ADD COLUMN filter TEXT;"
     "ALTER TABLE hub_intents ADD COLUMN filter TEXT;",
     "ALTER TABLE subscriptions ADD COLUMN filter text COLLATE \"C\";"
     "ALTER TABLE hub_intents ADD COLUMN filter text COLLATE \"C\";"},
    {21, 22, /* named views */
     "CREATE TABLE views (name TEXT PRIMARY KEY, owner INTEGER NOT NULL, role INTEGER NOT NULL,"
     " uses TEXT NOT NULL, created_at INTEGER NOT NULL, title TEXT, query TEXT NOT NULL,"
     " changed_at INTEGER NOT NULL) STRICT;",
     "CREATE TABLE views (name text COLLATE \"C\" PRIMARY KEY, owner bigint NOT NULL,"
     " role bigint NOT NULL, uses text COLLATE \"C\" NOT NULL, created_at bigint NOT NULL,"
     " title text COLLATE \"C\", query text COLLATE \"C\" NOT NULL, changed_at bigint NOT NULL);"
     "ALTER TABLE notices ADD COLUMN has_view_news boolean NOT NULL DEFAULT false;"},
    {22, 23, /* by which rules the terms of the index were cut */
     "ALTER TABLE indexed ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;",
     "ALTER TABLE indexed ADD COLUMN cut bigint NOT NULL DEFAULT 0;"},
    {23, 24, /* lists of feeds that are followed */
     "ALTER TABLE feeds ADD COLUMN is_list INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE sub_feeds ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;",
     "ALTER TABLE feeds ADD COLUMN is_list bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE sub_feeds ADD COLUMN listed bigint NOT NULL DEFAULT 0;"},
    {24, 25, /* subscriptions that follow a folder or a view */
     "ALTER TABLE subscriptions ADD COLUMN asks TEXT;"
     "ALTER TABLE hub_intents ADD COLUMN asks TEXT;"
     "CREATE INDEX subscriptions_asks ON subscriptions (id) WHERE asks IS NOT NULL;",
     "ALTER TABLE subscriptions ADD COLUMN asks text COLLATE \"C\";"
     "ALTER TABLE hub_intents ADD COLUMN asks text COLLATE \"C\";"
     "CREATE INDEX subscriptions_asks ON subscriptions (id) WHERE asks IS NOT NULL;"},
    {25, 26, /* feeds that are paused, and their last fetches; sessions of browsers */
     "ALTER TABLE feeds ADD COLUMN is_paused INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN history TEXT;"
     "ALTER TABLE tokens ADD COLUMN session_of INTEGER NOT NULL DEFAULT 0;",
     "ALTER TABLE feeds ADD COLUMN is_paused bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN history text COLLATE \"C\";"
     "ALTER TABLE tokens ADD COLUMN session_of bigint NOT NULL DEFAULT 0;"},
    {26, 27, /* feeds that are gone are asked once a week; gaps */
     "ALTER TABLE feeds ADD COLUMN n_gone INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN gone_since INTEGER;"
     "ALTER TABLE feeds ADD COLUMN gap_since INTEGER;" ASK_GONE,
     "ALTER TABLE feeds ADD COLUMN n_gone bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN gone_since bigint;"
     "ALTER TABLE feeds ADD COLUMN gap_since bigint;" ASK_GONE},
    {27, 28, /* a permanent redirect is believed after a week */
     "ALTER TABLE feeds ADD COLUMN move_to TEXT;"
     "ALTER TABLE feeds ADD COLUMN move_since INTEGER;"
     "ALTER TABLE feeds ADD COLUMN n_moves INTEGER NOT NULL DEFAULT 0;",
     "ALTER TABLE feeds ADD COLUMN move_to text COLLATE \"C\";"
     "ALTER TABLE feeds ADD COLUMN move_since bigint;"
     "ALTER TABLE feeds ADD COLUMN n_moves bigint NOT NULL DEFAULT 0;"},
    {28, 29, /* mirrored files */
     "ALTER TABLE feeds ADD COLUMN mirror_from INTEGER NOT NULL DEFAULT 0;"
     "CREATE TABLE mirrors (key TEXT PRIMARY KEY, url TEXT NOT NULL,"
     " state INTEGER NOT NULL DEFAULT 0, sha256 TEXT, size INTEGER NOT NULL DEFAULT 0,"
     " type TEXT NOT NULL DEFAULT '', error TEXT, n_tries INTEGER NOT NULL DEFAULT 0,"
     " since_at INTEGER NOT NULL, next_at INTEGER, used_us INTEGER NOT NULL DEFAULT 0)"
     " STRICT, WITHOUT ROWID;" MIRROR_INDEXES
     "CREATE TABLE mirrored (one INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;",
     "ALTER TABLE feeds ADD COLUMN mirror_from bigint NOT NULL DEFAULT 0;"
     "CREATE TABLE mirrors (key text COLLATE \"C\", url text COLLATE \"C\" NOT NULL,"
     " state bigint NOT NULL DEFAULT 0, sha256 text COLLATE \"C\","
     " size bigint NOT NULL DEFAULT 0, type text COLLATE \"C\" NOT NULL DEFAULT '',"
     " error text COLLATE \"C\", n_tries bigint NOT NULL DEFAULT 0, since_at bigint NOT NULL,"
     " next_at bigint, used_us bigint NOT NULL DEFAULT 0, PRIMARY KEY (key));" MIRROR_INDEXES
     "CREATE TABLE mirrored (one bigint PRIMARY KEY, seq bigint NOT NULL);"},
    {29, 30, /* how feeds post, and how many fetches they need */
     "ALTER TABLE feeds ADD COLUMN pace TEXT;"
     "ALTER TABLE feeds ADD COLUMN need_class INTEGER NOT NULL DEFAULT 0;",
     "ALTER TABLE feeds ADD COLUMN pace text COLLATE \"C\";"
     "ALTER TABLE feeds ADD COLUMN need_class bigint NOT NULL DEFAULT 0;"},
    {30, 31, /* what is sent with the fetches of a feed */
     "ALTER TABLE feeds ADD COLUMN secrets TEXT;",
     "ALTER TABLE feeds ADD COLUMN secrets text COLLATE \"C\";"},
    {31, 32, /* what retention has taken */
     "ALTER TABLE feeds ADD COLUMN horizon INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN horizon_us INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN n_taken INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN shown TEXT;"
     "ALTER TABLE feeds ADD COLUMN keep_s INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN keep_entries INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN keep_s INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN keep_entries INTEGER NOT NULL DEFAULT 0;"
     "CREATE INDEX feeds_keep ON feeds (id) WHERE keep_s > 0 OR keep_entries > 0;"
     "CREATE INDEX subscriptions_keep ON subscriptions (id) WHERE keep_s > 0 OR keep_entries > 0;"
     "CREATE INDEX feeds_horizon ON feeds (id, horizon) WHERE horizon > 0;"
     "ALTER TABLE entries ADD COLUMN gone_at INTEGER;"
     "CREATE INDEX entries_gone ON entries (feed_id, gone_at) WHERE gone_at IS NOT NULL;",
     "ALTER TABLE feeds ADD COLUMN horizon bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN horizon_us bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN n_taken bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN shown text COLLATE \"C\";"
     "ALTER TABLE feeds ADD COLUMN keep_s bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN keep_entries bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN keep_s bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE subscriptions ADD COLUMN keep_entries bigint NOT NULL DEFAULT 0;"
     "CREATE INDEX feeds_keep ON feeds (id) WHERE keep_s > 0 OR keep_entries > 0;"
     "CREATE INDEX subscriptions_keep ON subscriptions (id) WHERE keep_s > 0 OR keep_entries > 0;"
     "CREATE INDEX feeds_horizon ON feeds (id, horizon) WHERE horizon > 0;"
     "ALTER TABLE entries ADD COLUMN gone_at bigint;"
     "CREATE INDEX entries_gone ON entries (feed_id, gone_at) WHERE gone_at IS NOT NULL;"},
    {32, 33, /* with which key secrets of feeds are sealed */
     "CREATE TABLE sealing (one INTEGER PRIMARY KEY, key_id TEXT NOT NULL) STRICT;",
     "CREATE TABLE sealing (one bigint PRIMARY KEY, key_id text COLLATE \"C\" NOT NULL);"},
    {33, 34, HIGHEST_INDEX, HIGHEST_INDEX}, /* the highest horizon is found without a scan */
    {34, 35, /* which entries name a mirrored file */
     "ALTER TABLE mirrors ADD COLUMN is_named INTEGER NOT NULL DEFAULT 0;"
     "CREATE TABLE mirror_names (entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,"
     " key TEXT NOT NULL, PRIMARY KEY (entry_id, key)) STRICT, WITHOUT ROWID;" NAMES_INDEX,
     "ALTER TABLE mirrors ADD COLUMN is_named bigint NOT NULL DEFAULT 0;"
     "CREATE TABLE mirror_names (entry_id bigint NOT NULL REFERENCES entries (id) ON DELETE CASCADE,"
     " key text COLLATE \"C\" NOT NULL, PRIMARY KEY (entry_id, key));" NAMES_INDEX},
    {35, 36, /* which URL gave the validators of a feed */
     "ALTER TABLE feeds ADD COLUMN validators_url TEXT;",
     "ALTER TABLE feeds ADD COLUMN validators_url text COLLATE \"C\";"},
    {36, 37, /* up to where the entries of a feed go: the start need not look at them */
     "ALTER TABLE feeds ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN newest_at INTEGER;" BOUND_ENTRIES("max"),
     "ALTER TABLE feeds ADD COLUMN last_seq bigint NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN newest_at bigint;" BOUND_ENTRIES("greatest")
         BOUND_OLDER_WRITES},
};

const size_t n_migrations = ARRAY_LEN(migrations);
