-- schema.sql - the whole current schema of Feedmill's database (SQLite, WAL).
--
-- This file is compiled in and makes new databases; changes to it need a row in the table of
-- migrations in storage/sqlite/migrations.c. Times `..._at` are Unix seconds UTC, NULL when unknown;
-- `at_us` is in microseconds. Text is UTF-8. Enumerations have the numbers of model/feed.h.

-- Facts of the whole database, read at start and written once per transaction.
--   log_id      UUID of this log; part of every cursor
--   secret      64 hex digits that sign what we hand out for our own use; SECRET
--   version     last feeds.version that was given out, microseconds of the clock; never goes back
--   last_seq    last revisions.seq that was given out; never goes back
--   last_at_us  at_us of the newest revision
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Feeds: one row per URL and credential.
CREATE TABLE feeds (
    id              INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: clients hold it
    url             TEXT NOT NULL,              -- canonical, without credential
    credential      TEXT NOT NULL DEFAULT '',   -- "user:password", sent upstream, sealed if there is a key
                                                -- (base/seal.h); SECRET; '' = none
    access_key      TEXT,                       -- "fm-..." stands for the credential in our links
    page_url        TEXT,                       -- HTML page it was discovered from
    site_url        TEXT,                       -- the document's own link
    title           TEXT,                       -- normalized title of the document
    etag            TEXT,                       -- validators as the publisher sent them
    last_modified   TEXT,
    body_hash       BLOB,                       -- 16 bytes: hash of the last body that was read
    fetched         INTEGER NOT NULL DEFAULT 0, -- 1: a document of it was stored
    state           INTEGER NOT NULL DEFAULT 0, -- enum feed_state
    level           INTEGER NOT NULL DEFAULT 1, -- 0, 1, 2; -1: period_s decides
    period_s        INTEGER NOT NULL DEFAULT 0, -- seconds between fetches when level is -1; of level 1
                                                -- what follows from its pace; 0: the level decides
    last_check_at   INTEGER,                    -- last fetch that ended
    last_success_at INTEGER,                    -- last 200 or 304
    last_change_at  INTEGER,                    -- last fetch that appended a revision, or the first
    next_fetch_at   INTEGER,                    -- NULL: not scheduled
    next_reason     INTEGER NOT NULL DEFAULT 0, -- enum fetch_reason of next_fetch_at
    wanted_at       INTEGER,                    -- last time a reader asked, to the hour
    last_status     INTEGER NOT NULL DEFAULT 0, -- HTTP status of the last fetch; 0: no answer
    n_errors        INTEGER NOT NULL DEFAULT 0, -- failures in a row
    last_error      TEXT,                       -- NULL when the last fetch succeeded
    version         INTEGER NOT NULL,           -- grows with every visible change; from meta.version
    n_entries       INTEGER NOT NULL DEFAULT 0, -- entries that are not deleted
    n_items         INTEGER NOT NULL DEFAULT 0, -- entries, deleted ones included
    hint_max_age_s  INTEGER NOT NULL DEFAULT 0, -- what the document or answer asks of pollers
    hint_ttl_s      INTEGER NOT NULL DEFAULT 0,
    hint_sy_s       INTEGER NOT NULL DEFAULT 0,
    hint_skip_hours INTEGER NOT NULL DEFAULT 0, -- bit h: UTC hour h
    hint_skip_days  INTEGER NOT NULL DEFAULT 0, -- bit d: weekday d, 0 = Monday
    raw_html        INTEGER NOT NULL DEFAULT 0, -- 1: HTML is taken in as it was written, not sanitized
    n_pings         INTEGER NOT NULL DEFAULT 0, -- taken, ever; a fetch serves those before its start
    id_url          TEXT,                       -- its first URL: derived ids are made of it for ever
    id_rule         INTEGER NOT NULL DEFAULT 0, -- enum identity_rule: how its entries are told apart
    id_since_at     INTEGER,                    -- since when
    id_why          TEXT,                       -- and why, in a sentence
    id_against      INTEGER NOT NULL DEFAULT 0, -- documents in a row in which that failed
    id_better       INTEGER NOT NULL DEFAULT 0, -- documents in a row that proved a better rule
    complete        INTEGER NOT NULL DEFAULT 0, -- 1: its document says that it shows all there is
    partial         INTEGER NOT NULL DEFAULT 0, -- 1: rows of `archives` wait to be read
    harvest_at      INTEGER,                    -- Atom-PMH: all entries up to this time were seen
    harvest_to      INTEGER,                    -- and up to this one when `archives` has been read
    content_failures INTEGER NOT NULL DEFAULT 0, -- answers in a row that left a content open
    content_wait_at INTEGER,                    -- no content is asked for before
    cursor          TEXT,                       -- Smart Feeds: all items up to it are here; '': none are;
                                                -- NULL: it is not followed by cursor
    cursor_state    INTEGER NOT NULL DEFAULT 0, -- bits of enum cursor_state
    is_broken       INTEGER NOT NULL DEFAULT 0, -- 1: the event "broken" was told, "recovered" not yet
    n_subscriptions INTEGER NOT NULL DEFAULT 0, -- rows of sub_feeds: they are many, and this row is read often
    is_list         INTEGER NOT NULL DEFAULT 0, -- 1: subscriptions follow it as a list of feeds (OPML)
    is_paused       INTEGER NOT NULL DEFAULT 0, -- 1: fetched by hand only
    history         TEXT,                       -- its last fetches (model/fetch_note.h); NULL: none are noted
    n_gone          INTEGER NOT NULL DEFAULT 0, -- answers 410 since it was last there
    gone_since      INTEGER,                    -- the first of them
    gap_since       INTEGER,                    -- entries may be missing since then; NULL: no gap is known
    move_to         TEXT,                       -- where a permanent redirect leads that is not believed yet
    move_since      INTEGER,                    -- when it was first seen
    n_moves         INTEGER NOT NULL DEFAULT 0, -- fetches since then that found the feed there
    mirror_from     INTEGER NOT NULL DEFAULT 0, -- files of entries whose first revision is at or after this seq are
                                                -- mirrored; 0: of none
    pace            TEXT,                       -- how it posts, and the period that follows (model/pace.h)
    need_class      INTEGER NOT NULL DEFAULT 0, -- how many fetches it needs (fetcher/budget.h); 0: not known
    secrets         TEXT,                       -- what is sent with its fetches (model/fetch_secrets.h), sealed if
                                                -- there is a key; SECRET; NULL: nothing
    horizon         INTEGER NOT NULL DEFAULT 0, -- seq: retention has taken some revisions up to it, and none after it
    horizon_us      INTEGER NOT NULL DEFAULT 0, -- event time of that revision
    n_taken         INTEGER NOT NULL DEFAULT 0, -- revisions that retention has taken, ever
    shown           TEXT,                       -- what its document shows (model/shown.h); NULL: not known
    keep_s          INTEGER NOT NULL DEFAULT 0, -- how long its revisions are kept (model/keep.h); 0: no wish
    keep_entries    INTEGER NOT NULL DEFAULT 0, -- how many of its entries are kept; 0: no wish
    validators_url  TEXT,                       -- without query: which URL gave etag and last_modified; NULL: url did
    last_seq        INTEGER NOT NULL DEFAULT 0, -- seq of its newest revision, also after retention took it; 0: none yet
    newest_at       INTEGER,                    -- no entry has a later entries.sort_at; it never falls. NULL: it has
                                                -- had no entry
    UNIQUE (url, credential)
) STRICT;
CREATE INDEX feeds_page ON feeds (page_url, credential) WHERE page_url IS NOT NULL;
CREATE INDEX feeds_horizon ON feeds (id, horizon) WHERE horizon > 0;
CREATE INDEX feeds_highest ON feeds (horizon) WHERE horizon > 0;
CREATE INDEX feeds_keep ON feeds (id) WHERE keep_s > 0 OR keep_entries > 0;

-- The serialized head of a feed's document; apart, because a poll without news rewrites `feeds`.
CREATE TABLE heads (
    feed_id INTEGER PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
    head    TEXT NOT NULL, -- JSON: the feed's dict and the facts beside it
    ext     TEXT NOT NULL  -- foreign elements of the head, XML
) STRICT;

-- The heads that a feed had, as far as a reader of its archives would notice: a document of entries up
-- to a seq has the head with the highest since_seq not above it, and so stays the same for ever.
CREATE TABLE head_log (
    feed_id   INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    since_seq INTEGER NOT NULL, -- revisions from here on appear under this head
    url       TEXT NOT NULL,    -- like the columns of the same names in feeds and heads
    title     TEXT,
    site_url  TEXT,
    head      TEXT NOT NULL,
    ext       TEXT NOT NULL,
    PRIMARY KEY (feed_id, since_seq)
) STRICT, WITHOUT ROWID;

-- Other URLs by which a feed is found: it moved from there, or another feed was merged into it.
CREATE TABLE aliases (
    url        TEXT NOT NULL,
    credential TEXT NOT NULL,
    feed_id    INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    PRIMARY KEY (url, credential)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_feed ON aliases (feed_id);

-- Our subscriptions at upstream hubs (WebSub) and upstream clouds (rssCloud), and those hubs and
-- clouds that are only known.
CREATE TABLE upstreams (
    token        TEXT PRIMARY KEY,           -- last part of the callback's URL; SECRET
    base_url     TEXT NOT NULL,              -- what stands before it; '' while nothing is asked for
    secret       TEXT NOT NULL,              -- signs deliveries; SECRET
    hub          TEXT NOT NULL,
    topic        TEXT NOT NULL,              -- as the publisher wrote it
    feed_id      INTEGER NOT NULL,           -- no reference: it outlives the feed until it is ended
    is_current   INTEGER NOT NULL,           -- 0: of a hub that the feed had before
    from_page    INTEGER NOT NULL,           -- 1: only a page names the hub
    for_subs     INTEGER NOT NULL,           -- 1: wanted by subscriptions; 0: by readers
    state        INTEGER NOT NULL,           -- enum upstream_state
    lease_end_at INTEGER,
    next_at      INTEGER,                    -- something is to be done then
    ended_at     INTEGER,                    -- the last subscription ended; readers before do not count
    n_errors     INTEGER NOT NULL,
    error        TEXT,
    trust        INTEGER NOT NULL DEFAULT 0, -- polls in a row that found nothing missed; -1: missed
    delivered_at INTEGER,                    -- last delivery or notification that was taken
    protocol     INTEGER NOT NULL DEFAULT 0, -- enum hub_protocol
    procedure    TEXT                        -- registers us at a cloud by XML-RPC; else NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX upstreams_feed ON upstreams (feed_id) WHERE is_current = 1;

-- Hosts that asked for a rest (429, 503), for who fetches from them after a restart, or at another node. Times are Unix
-- microseconds, in PostgreSQL by the clock of the database.
CREATE TABLE hosts (
    host      TEXT PRIMARY KEY,  -- authority, at most 300 bytes
    cool_us   INTEGER NOT NULL,  -- nothing that can wait is asked before
    gentle_us INTEGER NOT NULL   -- requests have a gap before; one day later the row is of no use
) STRICT;
CREATE INDEX hosts_gentle ON hosts (gentle_us);

-- An entry is (feed, uid). The row says which revision is the current one.
CREATE TABLE entries (
    id        INTEGER PRIMARY KEY,
    feed_id   INTEGER NOT NULL REFERENCES feeds (id),
    uid       TEXT NOT NULL,
    first_seq INTEGER NOT NULL,           -- its first revision
    seq       INTEGER NOT NULL,           -- its newest revision
    sort_at   INTEGER NOT NULL,           -- orders merges: of its dates the later, else arrival
    dated     INTEGER NOT NULL,           -- 1: sort_at comes from the entry's own dates
    deleted   INTEGER NOT NULL DEFAULT 0, -- 1: its newest revision is a deletion; 2: retention has taken all of it
    iri_hash  INTEGER NOT NULL,           -- 63 bits, for uids that are absolute IRIs; else 0
    essence   BLOB NOT NULL,              -- 16 bytes: what counts as a change
    doc_hash  BLOB NOT NULL,              -- 16 bytes: of the document shown, overlay included
    marks     BLOB,                       -- 64 bytes (model/marks.h): what it looked like when last
                                          -- seen; NULL: not since there are marks
    id_url    TEXT,                       -- of the feed it came from, if that was merged into this
                                          -- one; NULL: feeds.id_url
    updated_us INTEGER,                   -- the publisher's own date, of a deletion too, microseconds:
                                          -- what comes from an archive counts when it is later
    dead_at    INTEGER,                   -- time of its last tombstone: a revision after it is later
    gone_at    INTEGER,                   -- retention took its last revision then, or the publisher's
                                          -- document has shown it since; NULL: it has a revision
    UNIQUE (feed_id, uid)
) STRICT;
CREATE INDEX entries_newest ON entries (feed_id, sort_at DESC, seq DESC, iri_hash)
    WHERE deleted = 0;
CREATE INDEX entries_gone ON entries (feed_id, gone_at) WHERE gone_at IS NOT NULL;

-- Under what an entry is found when its publisher gives it another id: the keys of entries.marks.
CREATE TABLE entry_keys (
    feed_id  INTEGER NOT NULL,
    key      INTEGER NOT NULL, -- hash; its low two bits say of what
    entry_id INTEGER NOT NULL,
    PRIMARY KEY (feed_id, key, entry_id)
) STRICT, WITHOUT ROWID;

-- The documents in which a publisher keeps what its feed does not show any more (RFC 5005 section 4,
-- Feed History, Atom-PMH): they lead from one to the next older one.
CREATE TABLE archives (
    feed_id  INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    url      TEXT NOT NULL,              -- canonical
    state    INTEGER NOT NULL DEFAULT 0, -- 0: to be read; 1: was read; 2: one too many, not read;
                                         -- 3: was read, but had lost its end: once more
    place    INTEGER NOT NULL,           -- order in which the feed led to them
    walk     INTEGER NOT NULL DEFAULT 0, -- Atom-PMH: the harvest that asked for it; below 0: wanted since the gap that began then; else 0
    try_at   INTEGER NOT NULL DEFAULT 0, -- not to be asked for before
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    PRIMARY KEY (feed_id, url)
) STRICT, WITHOUT ROWID;
CREATE INDEX archives_place ON archives (feed_id, state, place);

-- Deletions of entries that were not known when they were read: older documents may still hold the
-- entries. Kept until the feed's past has been read.
CREATE TABLE graves (
    feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    uid     TEXT NOT NULL,
    when_us INTEGER NOT NULL, -- microseconds
    PRIMARY KEY (feed_id, uid)
) STRICT, WITHOUT ROWID;

-- Metadata records (entries of Atom-PMH) that lead to their content: whether it was fetched. The
-- content itself is part of a revision like any other. A new version of the entry begins anew.
CREATE TABLE contents (
    entry_id INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    feed_id  INTEGER NOT NULL,           -- of the entry
    state    INTEGER NOT NULL DEFAULT 0, -- enum content_state
    form     INTEGER NOT NULL DEFAULT 0, -- which of its alternates is asked next, the best is 0
    n_gone   INTEGER NOT NULL DEFAULT 0, -- of those that were asked, answered 403, 404 or 410
    gone_at  INTEGER,                    -- all were, the first time; they are asked once more
    try_at   INTEGER NOT NULL DEFAULT 0, -- not to be asked before
    failures INTEGER NOT NULL DEFAULT 0  -- answers in a row that left it open (401, 5xx, none)
) STRICT;
CREATE INDEX contents_open ON contents (feed_id, try_at, entry_id DESC) WHERE state = 0;

-- The log. Rows are only added, and never change: archive pages are made of them and must stay the
-- same byte for byte. (A feed that turns out to be another one takes its rows there.) There is no
-- reference from entry_id to entries: to check it would need an index that nothing else uses.
CREATE TABLE revisions (
    seq          INTEGER PRIMARY KEY,     -- in commit order, from meta.last_seq
    entry_id     INTEGER NOT NULL,
    feed_id      INTEGER NOT NULL REFERENCES feeds (id),
    batch        INTEGER NOT NULL,        -- seq of the first revision of the same fetch
    kind         INTEGER NOT NULL,        -- enum revision_kind
    initial      INTEGER NOT NULL,        -- 1: there when the feed was first fetched
    at_us        INTEGER NOT NULL,        -- rises strictly with seq
    sort_at      INTEGER NOT NULL,
    published_at INTEGER,
    updated_at   INTEGER,
    prev_seq     INTEGER NOT NULL DEFAULT 0, -- the entry's revision before this one; 0: none, or it is not noted
                                             -- (seq is not entries.first_seq)
    title        TEXT,                    -- normalized; NULL when absent
    link         TEXT,
    summary      TEXT,
    author       TEXT,
    doc          TEXT NOT NULL,           -- JSON object of the entry; '' when deleted
    ext          TEXT NOT NULL            -- foreign elements, XML
) STRICT;
CREATE INDEX revisions_feed ON revisions (feed_id, seq, kind, initial, batch, entry_id);

-- A newer document for a current revision whose essence is the same (comment counts, scores).
CREATE TABLE overlays (
    seq INTEGER PRIMARY KEY REFERENCES revisions (seq) ON DELETE CASCADE,
    doc TEXT NOT NULL,
    ext TEXT NOT NULL
) STRICT;

-- The words of revisions, for filters. The row of a revision has its own terms and those of all earlier revisions of
-- its entry; its rowid is the seq. It only finds candidates: what matches is judged by the revision itself. A row
-- cannot be deleted, so one may be left of a revision that is gone.
CREATE VIRTUAL TABLE terms USING fts5(
    words, content='', detail=none, columnsize=0, tokenize='ascii'
);

-- How far `terms` is filled. No row: it is empty.
CREATE TABLE indexed (
    one INTEGER PRIMARY KEY, -- 1
    seq INTEGER NOT NULL,    -- it has all revisions up to this one
    n   INTEGER NOT NULL,    -- so many rows were added
    cut INTEGER NOT NULL DEFAULT 0 -- how its terms were cut (SEARCH_CUT); of another cut it is made anew
) STRICT;

-- Who is told, and how far. A push is the range between `position` and the end of the log.
CREATE TABLE subscriptions (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: endpoints hold it
    endpoint            TEXT,                       -- without credential; NULL: nothing is pushed
    endpoint_credential TEXT,                       -- "user:password"; SECRET
    sink                TEXT NOT NULL,              -- protocol: "xmlrpc", ...
    sink_settings       TEXT,                       -- what this sink alone knows, JSON; SECRET
    state               INTEGER NOT NULL DEFAULT 0, -- enum sub_state
    events              INTEGER NOT NULL DEFAULT 3, -- enum sub_event, bits: what is delivered
    batch               INTEGER NOT NULL DEFAULT 0, -- entries in one delivery; 0: as configured
    position            INTEGER NOT NULL,           -- up to this seq all is delivered or unwanted
    generation          INTEGER NOT NULL DEFAULT 0, -- grows when somebody sets the position
    chain_seq           INTEGER NOT NULL DEFAULT 0, -- last cursor of the last delivery: its seq
    chain_at_us         INTEGER NOT NULL DEFAULT 0, --   and the time of that revision
    with_initial        INTEGER NOT NULL DEFAULT 0, -- 1: also what was there before
    created_at          INTEGER NOT NULL,
    next_try_at         INTEGER,                    -- NULL: no failure pending
    failing_since       INTEGER,                    -- NULL: not failing
    n_failures          INTEGER NOT NULL DEFAULT 0, -- in a row
    n_delivered         INTEGER NOT NULL DEFAULT 0, -- entries, ever
    n_faults            INTEGER NOT NULL DEFAULT 0, -- calls answered by a fault, ever
    n_calls             INTEGER NOT NULL DEFAULT 0, -- rows of deliveries that were written, ever
    refused_seq         INTEGER NOT NULL DEFAULT 0, -- entry that was refused alone; 0: none
    n_refusals          INTEGER NOT NULL DEFAULT 0, -- so many times
    part_max            INTEGER NOT NULL DEFAULT 0, -- after a refusal: most entries in a delivery; 0: as usual
    part_until          INTEGER NOT NULL DEFAULT 0, -- seq: until the position is here
    owner               INTEGER NOT NULL DEFAULT 0, -- who made it: tokens.id; 0: an anonymous caller;
                                                    -- -1: the token of --token
    last_error          TEXT,
    filter              TEXT,                       -- canonical (feed/filter/filter.h); NULL: all that its feeds have
    asks                TEXT,                       -- what its feeds and its filter follow (api/views/asks.h); NULL: nothing
    keep_s              INTEGER NOT NULL DEFAULT 0, -- how much of its feeds is kept, as in the table feeds
    keep_entries        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX subscriptions_asks ON subscriptions (id) WHERE asks IS NOT NULL;
CREATE INDEX subscriptions_keep ON subscriptions (id) WHERE keep_s > 0 OR keep_entries > 0;

CREATE TABLE sub_feeds (
    sub_id   INTEGER NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
    feed_id  INTEGER NOT NULL REFERENCES feeds (id),
    place    INTEGER NOT NULL, -- order in which they were named
    url      TEXT NOT NULL,    -- as it was subscribed, without credential
    name     TEXT,             -- the subscriber's own name for the feed; NULL: its title
    folder   TEXT,             -- JSON list of the names of its folders, outermost first; NULL: none
    category TEXT,             -- of OPML: "a,/b/c"; NULL: none
    listed   INTEGER NOT NULL DEFAULT 0, -- enum listed: by whom it was named; or it is the list that names the others
    PRIMARY KEY (sub_id, feed_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sub_feeds_feed ON sub_feeds (feed_id);
CREATE INDEX sub_feeds_url ON sub_feeds (sub_id, url);

-- The last deliveries of a subscription: a ring of 100 rows. An entry of a feed with many
-- subscriptions adds a line to each ring, mostly at the same slot; so lines are kept by slot, and
-- fill a few pages one after the other.
CREATE TABLE deliveries (
    sub_id      INTEGER NOT NULL,  -- no reference: apply_sub_end() drops the lines
    slot        INTEGER NOT NULL,  -- subscriptions.n_calls modulo 100
    at_us       INTEGER NOT NULL,  -- when the answer came
    n_try       INTEGER NOT NULL,  -- from 1
    n_entries   INTEGER NOT NULL,
    first_seq   INTEGER NOT NULL,  -- cursors of the first and the last entry; 0: none
    first_at_us INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    last_at_us  INTEGER NOT NULL,
    status      INTEGER NOT NULL,  -- of the answer; 0: there was none
    ms          INTEGER NOT NULL,  -- how long the call took
    verdict     INTEGER NOT NULL,  -- enum delivery_verdict
    error       TEXT,
    PRIMARY KEY (slot, sub_id)
) STRICT, WITHOUT ROWID;

-- Dead letters: entries that an endpoint has refused for good. They wait until somebody has them
-- delivered again, or drops them.
CREATE TABLE dead_letters (
    id     INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: callers name it
    sub_id INTEGER NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,                  -- the revision
    at_us  INTEGER NOT NULL,                  -- its time, for the cursor
    uid    TEXT NOT NULL,
    at     INTEGER NOT NULL,                  -- when it was refused last
    status INTEGER NOT NULL,                  -- of the answer; 0: there was none
    answer TEXT NOT NULL,                     -- its first 1024 bytes
    wanted INTEGER NOT NULL DEFAULT 0         -- 1: to be delivered again
) STRICT;
CREATE INDEX dead_letters_sub ON dead_letters (sub_id, wanted, id);

-- What happened to a feed itself. The numbers are from the same counter as revisions.seq, so that
-- both are told in one order.
CREATE TABLE feed_events (
    seq     INTEGER PRIMARY KEY,
    feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
    at_us   INTEGER NOT NULL,
    kind    INTEGER NOT NULL, -- enum feed_event_kind
    detail  TEXT              -- the error, or the new URL
) STRICT;
CREATE INDEX feed_events_feed ON feed_events (feed_id, seq);

-- What was agreed with a subscriber by WebSub or rssCloud; the rest of it is its subscription, whose endpoint is the
-- callback. It ends at ends_at, whatever happens.
CREATE TABLE hub_leases (
    sub_id       INTEGER PRIMARY KEY REFERENCES subscriptions (id) ON DELETE CASCADE,
    topic        TEXT NOT NULL,    -- as the subscriber named it
    callback     TEXT NOT NULL,    -- subscriptions.endpoint
    secret       TEXT,             -- signs deliveries; NULL: they are not signed; SECRET
    verify_token TEXT,             -- of PubSubHubbub 0.3, given back
    legacy       INTEGER NOT NULL, -- 1: PubSubHubbub 0.3, signatures are SHA-1
    renews       INTEGER NOT NULL, -- 1: no lease was asked for, it is verified again before it ends
    lease_s      INTEGER NOT NULL,
    ends_at      INTEGER NOT NULL,
    renew_at     INTEGER,          -- NULL: not to be, or it has been asked for
    protocol     INTEGER NOT NULL DEFAULT 0, -- enum hub_protocol
    procedure    TEXT,             -- rssCloud by XML-RPC: what is called
    UNIQUE (callback, topic, protocol)
) STRICT;
CREATE INDEX hub_leases_end ON hub_leases (ends_at);
CREATE INDEX hub_leases_renew ON hub_leases (renew_at) WHERE renew_at IS NOT NULL;

-- What a subscriber has asked for by WebSub or rssCloud and has not confirmed yet, and denials it is to be told of.
CREATE TABLE hub_intents (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    mode         INTEGER NOT NULL, -- enum hub_mode
    topic        TEXT NOT NULL,    -- the next ones as in hub_leases
    callback     TEXT NOT NULL,
    credential   TEXT,             -- of the callback, "user:password"; SECRET
    secret       TEXT,
    verify_token TEXT,
    reason       TEXT,             -- of a denial
    legacy       INTEGER NOT NULL,
    renews       INTEGER NOT NULL,
    waits        INTEGER NOT NULL, -- 1: a request waits for what comes of it, no second try
    lease_s      INTEGER NOT NULL,
    feeds        TEXT NOT NULL,    -- of the topic, or of all topics (rssCloud): "feed_id url", a line each
    protocol     INTEGER NOT NULL DEFAULT 0,
    procedure    TEXT,
    at_caller    INTEGER NOT NULL DEFAULT 0, -- rssCloud: 1: no domain was named
    filter       TEXT,             -- of the topic, as in subscriptions, like the next one
    asks         TEXT,
    owner        INTEGER NOT NULL DEFAULT 0, -- who asks, as in subscriptions
    by_admin     INTEGER NOT NULL DEFAULT 0  -- 1: the caller may change the subscriptions of others, too
) STRICT;

-- Who may ask for what. The token itself is told once and stored nowhere.
CREATE TABLE tokens (
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: subscriptions name it
    name       TEXT NOT NULL,
    role       INTEGER NOT NULL,           -- enum access_role
    rate       INTEGER NOT NULL DEFAULT 0, -- requests a minute; 0: no bound
    expires_at INTEGER,                    -- NULL: never
    created_at INTEGER NOT NULL,
    used_at    INTEGER,                    -- last use, to a minute or so; NULL: never
    digest     TEXT NOT NULL,              -- 64 hex digits: SHA-256 of the token
    session_of INTEGER NOT NULL DEFAULT 0  -- a browser signed in with this token; -1: with that of --token; 0: no session
) STRICT;

-- Views with names, for all to read.
CREATE TABLE views (
    name       TEXT PRIMARY KEY,
    owner      INTEGER NOT NULL, -- who made it, as in subscriptions
    role       INTEGER NOT NULL, -- of the maker then: enum access_role
    uses       TEXT NOT NULL,    -- the views that it names, with spaces between them
    created_at INTEGER NOT NULL,
    title      TEXT,             -- NULL: none
    query      TEXT NOT NULL,    -- its parameters, as a query
    changed_at INTEGER NOT NULL
) STRICT;

-- Files that entries name (enclosures, media), each once however many entries name it: what became of its copy in
-- the folder of --mirror. Rows with the same sha256 share one file there.
CREATE TABLE mirrors (
    key     TEXT PRIMARY KEY,           -- SHA-256 of the URL, hexadecimal
    url     TEXT NOT NULL,              -- as the entry has it
    state   INTEGER NOT NULL DEFAULT 0, -- enum mirror_state
    sha256  TEXT,                       -- of the file, hexadecimal; NULL: it was never stored
    size    INTEGER NOT NULL DEFAULT 0, -- bytes of the file
    type    TEXT NOT NULL DEFAULT '',   -- media type: of the file, and before that what the entry says
    error   TEXT,                       -- of the last try; NULL: there is none
    n_tries INTEGER NOT NULL DEFAULT 0, -- failures in a row
    since_at INTEGER NOT NULL,          -- when it was first wanted
    next_at INTEGER,                    -- when it is tried next; NULL: it is not
    used_us INTEGER NOT NULL DEFAULT 0, -- when the file was stored or last served, microseconds; all rows of a file
                                        -- have the same
    is_named INTEGER NOT NULL DEFAULT 0 -- 1: mirror_names says which entries name it; 0: it is older than that table,
                                        -- and stays until its space is needed
) STRICT, WITHOUT ROWID;
CREATE INDEX mirrors_due ON mirrors (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX mirrors_file ON mirrors (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX mirrors_used ON mirrors (used_us) WHERE state = 1;

-- Which entries name which of these files. A row whose file no entry names is deleted.
CREATE TABLE mirror_names (
    entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    key      TEXT NOT NULL, -- mirrors.key
    PRIMARY KEY (entry_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX mirror_names_key ON mirror_names (key);

-- Up to where the log was looked through for such files. At most one row.
CREATE TABLE mirrored (
    one INTEGER PRIMARY KEY, -- 1
    seq INTEGER NOT NULL
) STRICT;

-- With which key secrets of feeds are sealed (--key-file), from the first start with it on. At most one row.
CREATE TABLE sealing (
    one    INTEGER PRIMARY KEY, -- 1
    key_id TEXT NOT NULL        -- that follows from the key and tells nothing of it (base/seal.h)
) STRICT;
