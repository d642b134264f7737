//! The rows: every option that is known, with Valkey's name and default wherever Valkey has it.
//!
//! An option may be honoured, or accepted without effect where that changes nothing that its owner relies
//! on, or know one value only, and say why it knows no other.

use super::Kind;
use super::row::{FIXED, LIVE, Row};
use crate::keyspace::DATABASES_MAX;

const fn int(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}

const fn memory(min: i64, max: i64) -> Kind {
    Kind::Memory { min, max }
}

const LOCKED_KEY: &str =
    "keys with a password are not read: store the key without one, and let file permissions guard it";

macro_rules! options {
    ($($id:ident $name:literal $kind:expr, $default:literal, $facts:expr, $summary:literal;)*) => {
        /// An option's place in the table.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Id { $($id),* }
        pub const ROWS: &[Row] = &[$(Row {
            id: Id::$id, name: $name, kind: $kind, default: $default, facts: $facts, summary: $summary,
        }),*];
    };
}

options! {
    // The node.
    Durability "durability" Kind::Choice(&["memory", "everysec", "always"]), "everysec", LIVE.ours(),
        "When a write is acknowledged: memory, once it is executed; everysec, once it survives the process; always, once it survives the machine. Between the last two it changes while the node runs.";
    Shards "shards" int(1, 1024), "1", FIXED.ours(),
        "Into how many shards the hash slots are divided.";
    OwnerThreads "owner-threads" int(0, 1024), "0", FIXED.ours(),
        "Threads that own shards; 0 for as many as there are cores. Never more than shards.";
    Dir "dir" Kind::Text, "./data", FIXED.restated(),
        "The folder of everything that the node keeps on disk.";
    LogLevel "loglevel" Kind::Choice(&["debug", "verbose", "notice", "warning", "nothing"]), "notice", LIVE,
        "How much is logged.";
    LogFile "logfile" Kind::Only(&[""], "logs go to the standard error"), "", FIXED,
        "Where logs go: always the standard error.";
    PidFile "pidfile" Kind::Text, "", FIXED,
        "A file that holds the process id while the node runs; none by default.";
    Daemonize "daemonize" Kind::Only(&["no"], "the server stays in the foreground: a supervisor starts and ends it"), "no", FIXED,
        "Whether the server detaches itself: it does not.";
    Supervised "supervised" Kind::Only(&["no", "auto"], "the server tells no supervisor about itself"), "no", FIXED,
        "Whether a supervisor is told of the start.";
    Databases "databases" int(1, DATABASES_MAX as i64), "16", FIXED,
        "How many databases SELECT knows.";
    EnableDebugCommand "enable-debug-command" Kind::Choice(&["no", "yes", "local"]), "no", FIXED,
        "Who may use DEBUG.";
    ShutdownTimeout "shutdown-timeout" int(0, i32::MAX as i64), "10", LIVE.kept(),
        "Seconds to wait for replicas at a shutdown.";
    // Network.
    Bind "bind" Kind::Words, "127.0.0.1 -::1", FIXED.restated(),
        "Addresses to listen on; one that begins with - may be missing on the machine.";
    Port "port" int(0, 65535), "6379", FIXED.restated(),
        "The port to listen on. 0 takes a free one, and the log tells which; beside a tls-port it is none.";
    UnixSocket "unixsocket" Kind::Text, "", FIXED,
        "A Unix socket to listen on as well; a file of that name is replaced.";
    UnixSocketPerm "unixsocketperm" Kind::Octal { min: 0, max: 0o777 }, "0", FIXED,
        "Permissions of the Unix socket; 0 for those of the process.";
    TlsPort "tls-port" int(0, 65535), "0", FIXED.restated(),
        "The port that speaks TLS; 0 for none. In a cluster, a cluster port as port is.";
    ProtectedMode "protected-mode" Kind::Flag, "yes", LIVE,
        "Refuse other machines while nobody needs a password.";
    TcpBacklog "tcp-backlog" int(0, i32::MAX as i64), "511", FIXED,
        "Connections that may wait to be accepted.";
    TcpKeepalive "tcp-keepalive" int(0, i32::MAX as i64), "300", LIVE,
        "Seconds after which a silent connection is probed; 0 for never.";
    Timeout "timeout" int(0, i32::MAX as i64), "0", LIVE,
        "Seconds without a command after which a client is closed; 0 for never.";
    MaxClients "maxclients" int(1, u32::MAX as i64), "10000", LIVE,
        "Connections served at once.";
    MaxMemoryClients "maxmemory-clients" Kind::Only(&["0"], "clients are bounded one by one, by client-output-buffer-limit and client-query-buffer-limit"), "0", LIVE,
        "Memory of all clients together.";
    ClientOutputBufferLimit "client-output-buffer-limit" Kind::OutputLimits, "normal 1gb 256mb 60 slave 256mb 64mb 60 pubsub 32mb 8mb 60", LIVE,
        "Bytes of replies that may wait for a client, by class: hard, soft, and seconds above soft. Unlike in Valkey normal clients are bounded too.";
    ClientQueryBufferLimit "client-query-buffer-limit" memory(1 << 20, i64::MAX), "1gb", LIVE,
        "Bytes of one client's unfinished request.";
    ProtoMaxBulkLen "proto-max-bulk-len" memory(1 << 20, 512 << 20), "512mb", LIVE,
        "Longest word of a request, and longest string.";
    IoThreads "io-threads" int(1, 256), "1", FIXED.kept(),
        "Threads that serve sockets: owner-threads do.";
    // Users.
    RequirePass "requirepass" Kind::Text, "", LIVE.secret(),
        "The default user's password; empty for none.";
    AclFile "aclfile" Kind::Text, "", FIXED,
        "The file of users, for ACL LOAD and ACL SAVE.";
    AclPubSubDefault "acl-pubsub-default" Kind::Choice(&["allchannels", "resetchannels"]), "resetchannels", LIVE,
        "The channels of a new user.";
    AclLogMaxLen "acllog-max-len" int(0, i64::MAX), "128", LIVE,
        "Entries of ACL LOG.";
    // Values in memory.
    HashMaxListpackEntries "hash-max-listpack-entries" int(0, i64::MAX), "512", LIVE.alias("hash-max-ziplist-entries"),
        "Most fields of a packed hash.";
    HashMaxListpackValue "hash-max-listpack-value" memory(0, i64::MAX), "64", LIVE.alias("hash-max-ziplist-value"),
        "Longest field or value of a packed hash.";
    ListMaxListpackSize "list-max-listpack-size" int(i32::MIN as i64, i32::MAX as i64), "-2", LIVE.alias("list-max-ziplist-size"),
        "Elements of a packed list, or its size class if negative.";
    ListCompressDepth "list-compress-depth" int(0, i32::MAX as i64), "0", LIVE.kept(),
        "Nodes at a list's ends that are not compressed: none is.";
    SetMaxIntsetEntries "set-max-intset-entries" int(0, i64::MAX), "512", LIVE,
        "Most members of a set of integers that is packed.";
    SetMaxListpackEntries "set-max-listpack-entries" int(0, i64::MAX), "128", LIVE,
        "Most members of a packed set.";
    SetMaxListpackValue "set-max-listpack-value" int(0, i64::MAX), "64", LIVE,
        "Longest member of a packed set.";
    ZsetMaxListpackEntries "zset-max-listpack-entries" int(0, i64::MAX), "128", LIVE.alias("zset-max-ziplist-entries"),
        "Most members of a packed sorted set.";
    ZsetMaxListpackValue "zset-max-listpack-value" memory(0, i64::MAX), "64", LIVE.alias("zset-max-ziplist-value"),
        "Longest member of a packed sorted set.";
    HllSparseMaxBytes "hll-sparse-max-bytes" memory(0, i64::MAX), "3000", LIVE,
        "Bytes at which a HyperLogLog's sparse form ends.";
    StreamNodeMaxBytes "stream-node-max-bytes" memory(0, i64::MAX), "4096", LIVE.kept(),
        "Bytes of a stream's node.";
    StreamNodeMaxEntries "stream-node-max-entries" int(0, i64::MAX), "100", LIVE.kept(),
        "Entries of a stream's node.";
    IdemMaxResult "idem-max-result" memory(0, 64 << 10), "64kb", LIVE.ours(),
        "Longest result that IDEM COMPLETE keeps.";
    ActiveRehashing "activerehashing" Kind::Flag, "yes", LIVE.kept(),
        "Spend idle time on growing tables: they grow with each write.";
    ActiveDefrag "activedefrag" Kind::Flag, "no", LIVE.kept(),
        "Move values together: sparse pages are emptied anyway.";
    ActiveDefragCycleMin "active-defrag-cycle-min" int(1, 99), "1", LIVE.kept(),
        "Least share of a processor for moving values together.";
    ActiveDefragCycleMax "active-defrag-cycle-max" int(1, 99), "25", LIVE.kept(),
        "Largest share of a processor for it.";
    ActiveDefragCycleUs "active-defrag-cycle-us" int(0, 100000), "500", LIVE.kept(),
        "Microseconds of one slice of it.";
    ActiveDefragIgnoreBytes "active-defrag-ignore-bytes" memory(1, i64::MAX), "100mb", LIVE.kept(),
        "Waste that is left alone.";
    ActiveDefragMaxScanFields "active-defrag-max-scan-fields" int(1, i64::MAX), "1000", LIVE.kept(),
        "Fields from which on a value is walked by itself.";
    ActiveDefragThresholdLower "active-defrag-threshold-lower" int(0, 1000), "10", LIVE.kept(),
        "Percent of waste at which it begins.";
    ActiveDefragThresholdUpper "active-defrag-threshold-upper" int(0, 1000), "100", LIVE.kept(),
        "Percent of waste at which it works its hardest.";
    // Memory, expiry, eviction.
    MaxMemory "maxmemory" memory(0, i64::MAX), "0", LIVE,
        "Bytes of memory above which keys are evicted or writes refused; 0 for no limit.";
    MaxMemoryPolicy "maxmemory-policy" Kind::Choice(&["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"]), "noeviction", LIVE,
        "Which keys are evicted.";
    MaxMemorySamples "maxmemory-samples" int(1, 64), "5", LIVE,
        "Keys that are compared to find one to evict.";
    MaxMemoryEvictionTenacity "maxmemory-eviction-tenacity" int(0, 100), "10", LIVE,
        "How much time eviction may take at once.";
    LfuLogFactor "lfu-log-factor" int(0, i32::MAX as i64), "10", LIVE,
        "How much more use it takes to count further, for LFU.";
    LfuDecayTime "lfu-decay-time" int(0, i32::MAX as i64), "1", LIVE,
        "Minutes after which an LFU counter falls by one; 0 for never.";
    ActiveExpireEffort "active-expire-effort" int(1, 10), "1", LIVE,
        "How hard expired keys are looked for.";
    LazyfreeLazyEviction "lazyfree-lazy-eviction" Kind::Flag, "yes", LIVE.kept(),
        "Free large values in the background: they always are.";
    LazyfreeLazyExpire "lazyfree-lazy-expire" Kind::Flag, "yes", LIVE.kept(),
        "Free large values in the background: they always are.";
    LazyfreeLazyServerDel "lazyfree-lazy-server-del" Kind::Flag, "yes", LIVE.kept(),
        "Free large values in the background: they always are.";
    LazyfreeLazyUserDel "lazyfree-lazy-user-del" Kind::Flag, "yes", LIVE.kept(),
        "Free large values in the background: they always are.";
    LazyfreeLazyUserFlush "lazyfree-lazy-user-flush" Kind::Flag, "yes", LIVE.kept(),
        "Free large values in the background: they always are.";
    // Watching.
    NotifyKeyspaceEvents "notify-keyspace-events" Kind::Events, "", LIVE,
        "Which keyspace events are published.";
    SlowlogLogSlowerThan "slowlog-log-slower-than" int(-1, i64::MAX), "10000", LIVE.alias("commandlog-execution-slower-than"),
        "Microseconds from which on a command stands in the slow log; -1 for none.";
    SlowlogMaxLen "slowlog-max-len" int(0, i64::MAX), "128", LIVE.alias("commandlog-slow-execution-max-len"),
        "Entries of the slow log.";
    LatencyMonitorThreshold "latency-monitor-threshold" int(0, i64::MAX), "0", LIVE,
        "Milliseconds from which on an event is noted for LATENCY; 0 for none.";
    LatencyTracking "latency-tracking" Kind::Flag, "yes", LIVE,
        "Keep a histogram of times for each command.";
    LatencyTrackingInfoPercentiles "latency-tracking-info-percentiles" Kind::Percentiles, "50 99 99.9", LIVE,
        "Percentiles that INFO latencystats shows.";
    TrackingTableMaxKeys "tracking-table-max-keys" int(0, i64::MAX), "1000000", LIVE.kept(),
        "Keys remembered for client tracking.";
    BusyReplyThreshold "busy-reply-threshold" int(0, i64::MAX), "5000", LIVE.alias("lua-time-limit").kept(),
        "Milliseconds after which a script counts as busy.";
    CommandlogRequestLargerThan "commandlog-request-larger-than" int(-1, i64::MAX), "1048576", LIVE,
        "Bytes from which on a request stands in a log; -1 for none.";
    CommandlogLargeRequestMaxLen "commandlog-large-request-max-len" int(0, i64::MAX), "128", LIVE,
        "Entries of the log of large requests.";
    CommandlogReplyLargerThan "commandlog-reply-larger-than" int(-1, i64::MAX), "1048576", LIVE,
        "Bytes from which on a reply stands in a log; -1 for none.";
    CommandlogLargeReplyMaxLen "commandlog-large-reply-max-len" int(0, i64::MAX), "128", LIVE,
        "Entries of the log of large replies.";
    // Files and replicas of other servers: accepted, since configurations have them.
    Save "save" Kind::SavePoints, "", LIVE.kept(),
        "Seconds and changes after which a snapshot is made: the log has every write, and the image follows by a rule of its own.";
    AppendOnly "appendonly" Kind::Flag, "yes", LIVE,
        "Another way to say durability: no is memory, yes is what appendfsync says. Where durability is given it counts.";
    AppendFsync "appendfsync" Kind::Choice(&["everysec", "always", "no"]), "everysec", LIVE,
        "With appendonly yes: always is durability always; everysec and no are durability everysec.";
    AppendFilename "appendfilename" Kind::Text, "appendonly.aof", FIXED.kept(),
        "Name of the append-only file.";
    AppendDirname "appenddirname" Kind::Text, "appendonlydir", FIXED.kept(),
        "Folder of the append-only file.";
    NoAppendFsyncOnRewrite "no-appendfsync-on-rewrite" Kind::Flag, "no", LIVE.kept(),
        "Whether a rewrite stops syncs.";
    AutoAofRewritePercentage "auto-aof-rewrite-percentage" int(0, i32::MAX as i64), "100", LIVE.kept(),
        "Growth at which the append-only file is rewritten.";
    AutoAofRewriteMinSize "auto-aof-rewrite-min-size" memory(0, i64::MAX), "64mb", LIVE.kept(),
        "Size from which on it is rewritten.";
    AofLoadTruncated "aof-load-truncated" Kind::Flag, "yes", LIVE.kept(),
        "Whether a torn append-only file is loaded.";
    AofUseRdbPreamble "aof-use-rdb-preamble" Kind::Flag, "yes", LIVE.kept(),
        "Whether the append-only file begins with a snapshot.";
    AofTimestampEnabled "aof-timestamp-enabled" Kind::Flag, "no", LIVE.kept(),
        "Whether the append-only file has times.";
    AofRewriteIncrementalFsync "aof-rewrite-incremental-fsync" Kind::Flag, "yes", LIVE.kept(),
        "Whether rewrites sync on the way.";
    DbFilename "dbfilename" Kind::Text, "dump.rdb", FIXED.restated().kept(),
        "Name of the snapshot.";
    RdbCompression "rdbcompression" Kind::Flag, "yes", LIVE.kept(),
        "Whether snapshots are compressed.";
    RdbChecksum "rdbchecksum" Kind::Flag, "yes", FIXED.kept(),
        "Whether snapshots have a checksum.";
    RdbDelSyncFiles "rdb-del-sync-files" Kind::Flag, "no", LIVE.kept(),
        "Whether snapshots for replicas are removed.";
    RdbSaveIncrementalFsync "rdb-save-incremental-fsync" Kind::Flag, "yes", LIVE.kept(),
        "Whether snapshots sync on the way.";
    RdbKeySaveDelay "rdb-key-save-delay" int(i32::MIN as i64, i32::MAX as i64), "0", LIVE.kept().hidden(),
        "Delay of snapshots, for tests.";
    KeyLoadDelay "key-load-delay" int(i32::MIN as i64, i32::MAX as i64), "0", LIVE.kept().hidden(),
        "Delay of loading, for tests.";
    StopWritesOnBgsaveError "stop-writes-on-bgsave-error" Kind::Flag, "yes", LIVE.kept(),
        "Whether a failed snapshot stops writes.";
    SanitizeDumpPayload "sanitize-dump-payload" Kind::Choice(&["no", "yes", "clients"]), "no", LIVE.kept(),
        "How far a dumped value is checked.";
    ReplicaOf "replicaof" Kind::Only(&[""], "replicas are placed by the cluster, not by this option"), "", FIXED.alias("slaveof"),
        "The server to follow.";
    MinReplicasToWrite "min-replicas-to-write" Kind::Only(&["0"], "durability says how writes are kept"), "0", LIVE.alias("min-slaves-to-write"),
        "Replicas without which writes are refused.";
    MinReplicasMaxLag "min-replicas-max-lag" int(0, i32::MAX as i64), "10", LIVE.alias("min-slaves-max-lag").kept(),
        "Lag up to which a replica counts.";
    PrimaryAuth "primaryauth" Kind::Text, "", LIVE.alias("masterauth").secret().kept(),
        "The password of the server to follow.";
    PrimaryUser "primaryuser" Kind::Text, "", LIVE.alias("masteruser").secret().kept(),
        "The user at the server to follow.";
    ReplicaReadOnly "replica-read-only" Kind::Flag, "yes", LIVE.alias("slave-read-only").kept(),
        "Whether a replica refuses writes.";
    ReplicaServeStaleData "replica-serve-stale-data" Kind::Flag, "yes", LIVE.alias("slave-serve-stale-data").kept(),
        "Whether a cut-off replica answers.";
    ReplicaLazyFlush "replica-lazy-flush" Kind::Flag, "yes", LIVE.alias("slave-lazy-flush").kept(),
        "Whether a replica flushes in the background.";
    ReplicaIgnoreMaxmemory "replica-ignore-maxmemory" Kind::Flag, "yes", LIVE.alias("slave-ignore-maxmemory").kept(),
        "Whether a replica evicts nothing by itself.";
    ReplicaPriority "replica-priority" int(0, i32::MAX as i64), "100", LIVE.alias("slave-priority").kept(),
        "A replica's rank at a failover.";
    ReplicaAnnounced "replica-announced" Kind::Flag, "yes", LIVE.kept(),
        "Whether a replica is listed.";
    ReplDisklessSync "repl-diskless-sync" Kind::Flag, "yes", LIVE.kept(),
        "Whether a full sync goes without a file.";
    ReplDisklessSyncDelay "repl-diskless-sync-delay" int(0, i32::MAX as i64), "5", LIVE.kept(),
        "Seconds to wait for further replicas.";
    ReplDisklessLoad "repl-diskless-load" Kind::Choice(&["disabled", "on-empty-db", "swapdb", "flush-before-load"]), "disabled", LIVE.kept(),
        "How a replica loads.";
    ReplDisableTcpNodelay "repl-disable-tcp-nodelay" Kind::Flag, "no", LIVE.kept(),
        "Whether packets to replicas are gathered.";
    ReplBacklogSize "repl-backlog-size" memory(1, i64::MAX), "10mb", LIVE.kept(),
        "Bytes kept for replicas that come back.";
    ReplBacklogTtl "repl-backlog-ttl" int(0, i64::MAX), "3600", LIVE.kept(),
        "Seconds for which they are kept.";
    ReplTimeout "repl-timeout" int(1, i32::MAX as i64), "60", LIVE.kept(),
        "Seconds after which a replica is given up.";
    ReplPingReplicaPeriod "repl-ping-replica-period" int(1, i32::MAX as i64), "10", LIVE.alias("repl-ping-slave-period").kept(),
        "Seconds between signs of life.";
    ReplDisklessSyncMaxReplicas "repl-diskless-sync-max-replicas" int(0, i32::MAX as i64), "0", LIVE.kept(),
        "Replicas that end the wait for more.";
    DualChannelReplicationEnabled "dual-channel-replication-enabled" Kind::Flag, "no", LIVE.kept(),
        "Whether a full sync has a connection of its own.";
    ReplicaAnnounceIp "replica-announce-ip" Kind::Text, "", LIVE.alias("slave-announce-ip").kept(),
        "The address that a replica tells.";
    ReplicaAnnouncePort "replica-announce-port" int(0, 65535), "0", LIVE.alias("slave-announce-port").kept(),
        "The port that a replica tells.";
    ReplicaIgnoreDiskWriteErrors "replica-ignore-disk-write-errors" Kind::Flag, "no", LIVE.kept(),
        "Whether a replica goes on after a failed write.";
    ClusterEnabled "cluster-enabled" Kind::Flag, "no", FIXED,
        "Whether the node is part of a cluster: its shards are replicated, and a new one waits until ruvioctl or the operator makes it a member.";
    RoutedPort "routed-port" int(0, 65535), "6380", FIXED.ours(),
        "In a cluster, the port that serves all shards to plain clients; 0 for none.";
    RoutedTlsPort "routed-tls-port" int(0, 65535), "0", FIXED.ours(),
        "In a cluster, the same by TLS; 0 for none.";
    RoutedTimeout "routed-timeout" int(0, i32::MAX as i64), "5000", LIVE.ours(),
        "In a cluster, how long a command of the routed port waits for somebody to lead its shard, milliseconds.";
    PeerPort "peer-port" int(1, 65535), "7379", FIXED.ours(),
        "In a cluster, the port for the other nodes.";
    AdminPort "admin-port" int(1, 65535), "7380", FIXED.ours(),
        "In a cluster, the port for ruvioctl and the operator.";
    SnapshotRate "snapshot-rate" memory(0, i64::MAX), "0", LIVE.ours(),
        "In a cluster, the bytes a second that a snapshot on its way to another node may take; 0 for as many as go.";
    ClusterTokenFile "cluster-token-file" Kind::Text, "", FIXED.ours(),
        "A file with the secret that nodes of a cluster, ruvioctl and the operator prove themselves with.";
    ClusterConfigFile "cluster-config-file" Kind::Text, "nodes.conf", FIXED.kept(),
        "The cluster's file.";
    ClusterNodeTimeout "cluster-node-timeout" int(0, i64::MAX), "15000", LIVE.kept(),
        "Milliseconds after which a node counts as failed.";
    ClusterRequireFullCoverage "cluster-require-full-coverage" Kind::Flag, "yes", LIVE.kept(),
        "Whether a missing slot stops all.";
    ClusterAllowReadsWhenDown "cluster-allow-reads-when-down" Kind::Flag, "no", LIVE.kept(),
        "Whether a stopped cluster answers reads.";
    ClusterAllowPubsubshardWhenDown "cluster-allow-pubsubshard-when-down" Kind::Flag, "yes", LIVE.kept(),
        "Whether a stopped cluster publishes to shards.";
    ClusterReplicaNoFailover "cluster-replica-no-failover" Kind::Flag, "no", LIVE.alias("cluster-slave-no-failover").kept(),
        "Whether replicas stay replicas.";
    ClusterReplicaValidityFactor "cluster-replica-validity-factor" int(0, i32::MAX as i64), "10", LIVE.alias("cluster-slave-validity-factor").kept(),
        "How old a replica's data may be at a failover.";
    ClusterMigrationBarrier "cluster-migration-barrier" int(0, i32::MAX as i64), "1", LIVE.kept(),
        "Replicas that must stay.";
    ClusterAllowReplicaMigration "cluster-allow-replica-migration" Kind::Flag, "yes", LIVE.kept(),
        "Whether replicas move.";
    ClusterLinkSendbufLimit "cluster-link-sendbuf-limit" memory(0, i64::MAX), "0", LIVE.kept(),
        "Bytes that may wait for another node.";
    ClusterBlacklistTtl "cluster-blacklist-ttl" int(0, i64::MAX), "60", LIVE.kept(),
        "Seconds for which a node is kept out.";
    ClusterAnnounceHostname "cluster-announce-hostname" Kind::Text, "", LIVE.kept(),
        "The name that a node tells.";
    ClusterAnnounceHumanNodename "cluster-announce-human-nodename" Kind::Text, "", LIVE.kept(),
        "The name that a node has in logs.";
    ClusterAnnounceIp "cluster-announce-ip" Kind::Text, "", LIVE.kept(),
        "The address that a node tells.";
    ClusterAnnouncePort "cluster-announce-port" int(0, 65535), "0", LIVE.kept(),
        "The port that a node tells.";
    ClusterAnnounceTlsPort "cluster-announce-tls-port" int(0, 65535), "0", LIVE.kept(),
        "The port for TLS that a node tells.";
    ClusterAnnounceBusPort "cluster-announce-bus-port" int(0, 65535), "0", LIVE.kept(),
        "The port of the bus that a node tells.";
    ClusterPort "cluster-port" int(0, 65535), "0", FIXED.kept(),
        "The port of the bus.";
    ClusterPreferredEndpointType "cluster-preferred-endpoint-type" Kind::Choice(&["ip", "hostname", "unknown-endpoint"]), "ip", LIVE.kept(),
        "How nodes name each other to clients.";
    ClusterSlotStatsEnabled "cluster-slot-stats-enabled" Kind::Flag, "no", LIVE.kept(),
        "Whether figures are kept by slot.";
    ClusterAnnounceClientIpv4 "cluster-announce-client-ipv4" Kind::Text, "", LIVE.kept(),
        "The address that clients are told.";
    ClusterAnnounceClientIpv6 "cluster-announce-client-ipv6" Kind::Text, "", LIVE.kept(),
        "The same of IPv6.";
    ClusterAnnounceClientPort "cluster-announce-client-port" int(0, 65535), "0", LIVE.kept(),
        "The port that clients are told.";
    ClusterAnnounceClientTlsPort "cluster-announce-client-tls-port" int(0, 65535), "0", LIVE.kept(),
        "The same for TLS.";
    ClusterConfigSaveBehavior "cluster-config-save-behavior" Kind::Choice(&["sync", "best-effort"]), "sync", LIVE.kept(),
        "How the cluster's file is written.";
    ClusterDatabases "cluster-databases" int(1, i32::MAX as i64), "1", FIXED.kept(),
        "Databases of a cluster.";
    ClusterManualFailoverTimeout "cluster-manual-failover-timeout" int(1, i32::MAX as i64), "5000", LIVE.kept(),
        "Milliseconds for a failover by hand.";
    ClusterSlotMigrationLogMaxLen "cluster-slot-migration-log-max-len" int(0, i64::MAX), "1000", LIVE.kept(),
        "Finished migrations that are remembered.";
    SlotMigrationMaxFailoverReplBytes "slot-migration-max-failover-repl-bytes" memory(-1, i64::MAX), "0", LIVE.kept(),
        "Bytes that may be under way when a migrated slot changes hands.";
    // The process, as other servers run it: accepted without effect.
    Hz "hz" int(0, i32::MAX as i64), "10", LIVE.kept(),
        "Slices of background work a second: as many as are needed.";
    DynamicHz "dynamic-hz" Kind::Flag, "yes", LIVE.kept(),
        "Whether that number follows the clients'.";
    AlwaysShowLogo "always-show-logo" Kind::Flag, "no", FIXED.kept(),
        "A logo at the start.";
    SetProcTitle "set-proc-title" Kind::Flag, "yes", FIXED.kept(),
        "Whether the process renames itself.";
    ProcTitleTemplate "proc-title-template" Kind::Text, "{title} {listen-addr} {server-mode}", LIVE.kept(),
        "How it renames itself.";
    CrashLogEnabled "crash-log-enabled" Kind::Flag, "yes", LIVE.kept(),
        "Whether a crash is logged.";
    CrashMemcheckEnabled "crash-memcheck-enabled" Kind::Flag, "yes", LIVE.kept(),
        "Whether memory is checked after a crash.";
    DisableThp "disable-thp" Kind::Flag, "yes", FIXED.kept(),
        "Whether huge pages are refused.";
    JemallocBgThread "jemalloc-bg-thread" Kind::Flag, "yes", LIVE.kept(),
        "Whether the allocator has a thread.";
    EnableModuleCommand "enable-module-command" Kind::Choice(&["no", "yes", "local"]), "no", FIXED.kept(),
        "Who may load modules: there are none.";
    EnableProtectedConfigs "enable-protected-configs" Kind::Choice(&["no", "yes", "local"]), "no", FIXED.kept(),
        "Who may change protected options: none is protected.";
    EnableDebugAssert "enable-debug-assert" Kind::Flag, "no", FIXED.kept().hidden(),
        "Whether assertions for tests are on.";
    IgnoreWarnings "ignore-warnings" Kind::Text, "", LIVE.kept(),
        "Warnings not to give.";
    HideUserDataFromLog "hide-user-data-from-log" Kind::Flag, "yes", LIVE.kept(),
        "Whether logs leave out what clients sent: they do.";
    PropagationErrorBehavior "propagation-error-behavior" Kind::Choice(&["ignore", "panic", "panic-on-replicas"]), "ignore", LIVE.kept(),
        "What a failed replication does.";
    ShutdownOnSigint "shutdown-on-sigint" Kind::Choices(&["default", "save", "nosave", "now", "force"]), "default", LIVE.kept(),
        "How a SIGINT ends the server.";
    ShutdownOnSigterm "shutdown-on-sigterm" Kind::Choices(&["default", "save", "nosave", "now", "force"]), "default", LIVE.kept(),
        "How a SIGTERM ends the server.";
    OomScoreAdj "oom-score-adj" Kind::Only(&["no"], "the kernel's choice of victims is left to the kubelet"), "no", LIVE,
        "Whether the server changes its rank among victims of a full memory.";
    ExtendedRedisCompatibility "extended-redis-compatibility" Kind::Flag, "no", LIVE.kept(),
        "Whether the server calls itself Redis: it always does.";
    LocaleCollate "locale-collate" Kind::Only(&[""], "SORT compares bytes"), "", LIVE,
        "The language by which SORT compares.";
    BindSourceAddr "bind-source-addr" Kind::Text, "", LIVE.kept(),
        "The address of connections to others.";
    PrefetchBatchMaxSize "prefetch-batch-max-size" int(0, 128), "16", LIVE.kept(),
        "Keys fetched ahead.";
    SyslogEnabled "syslog-enabled" Kind::Only(&["no"], "logs go to the standard error"), "no", FIXED,
        "Whether logs go to syslog.";
    OomScoreAdjValues "oom-score-adj-values" Kind::Words, "0 200 800", LIVE.kept(),
        "By how much the server would change that rank.";
    ServerCpulist "server-cpulist" Kind::Text, "", FIXED.alias("server_cpulist").kept(),
        "Processors for the server: the scheduler chooses.";
    BioCpulist "bio-cpulist" Kind::Text, "", FIXED.alias("bio_cpulist").kept(),
        "Processors for background work.";
    AofRewriteCpulist "aof-rewrite-cpulist" Kind::Text, "", FIXED.alias("aof_rewrite_cpulist").kept(),
        "Processors for rewrites.";
    BgsaveCpulist "bgsave-cpulist" Kind::Text, "", FIXED.alias("bgsave_cpulist").kept(),
        "Processors for snapshots.";
    SyslogIdent "syslog-ident" Kind::Text, "valkey", FIXED.kept(),
        "The name in syslog.";
    SyslogFacility "syslog-facility" Kind::Choice(&["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"]), "local0", FIXED.kept(),
        "The facility of syslog.";
    LogFormat "log-format" Kind::Choice(&["legacy", "logfmt"]), "legacy", LIVE.kept(),
        "How lines of the log look.";
    LogTimestampFormat "log-timestamp-format" Kind::Choice(&["legacy", "iso8601", "milliseconds"]), "legacy", LIVE.kept(),
        "How times in the log look.";
    MaxNewConnectionsPerCycle "max-new-connections-per-cycle" int(1, 1000), "10", LIVE.kept(),
        "Connections accepted in one go.";
    MaxNewTlsConnectionsPerCycle "max-new-tls-connections-per-cycle" int(1, 1000), "1", LIVE.kept(),
        "The same for TLS.";
    // TLS: certificates are taken in anew when the files change.
    TlsCertFile "tls-cert-file" Kind::Text, "", LIVE,
        "The node's certificate, and those that signed it, in PEM.";
    TlsKeyFile "tls-key-file" Kind::Text, "", LIVE,
        "Its key in PEM: PKCS#8, SEC1 or RSA.";
    TlsKeyFilePass "tls-key-file-pass" Kind::Only(&[""], LOCKED_KEY), "", LIVE.secret(),
        "The key's password: keys are kept without one.";
    TlsClientCertFile "tls-client-cert-file" Kind::Text, "", LIVE,
        "The certificate that the node shows to other nodes; empty for the same one.";
    TlsClientKeyFile "tls-client-key-file" Kind::Text, "", LIVE,
        "Its key.";
    TlsClientKeyFilePass "tls-client-key-file-pass" Kind::Only(&[""], LOCKED_KEY), "", LIVE.secret(),
        "That key's password: keys are kept without one.";
    TlsDhParamsFile "tls-dh-params-file" Kind::Text, "", LIVE.kept(),
        "Parameters of a key exchange that is not used.";
    TlsCaCertFile "tls-ca-cert-file" Kind::Text, "", LIVE,
        "The certificates in PEM that those of clients and of other nodes have to be signed by.";
    TlsCaCertDir "tls-ca-cert-dir" Kind::Text, "", LIVE,
        "A folder of more of them: all its files are read, whatever their names.";
    TlsProtocols "tls-protocols" Kind::Text, "", LIVE,
        "Versions of TLS that are spoken, of TLSv1.2 and TLSv1.3; empty for both.";
    TlsCiphers "tls-ciphers" Kind::Text, "", LIVE.kept(),
        "Ciphers of TLS 1.2: always those with forward secrecy and authentication.";
    TlsCiphersuites "tls-ciphersuites" Kind::Text, "", LIVE.kept(),
        "Ciphers of TLS 1.3: always all three.";
    TlsAuthClients "tls-auth-clients" Kind::Choice(&["no", "yes", "optional"]), "yes", LIVE,
        "Whether clients have to show a certificate; optional: one that is shown has to be good.";
    TlsPreferServerCiphers "tls-prefer-server-ciphers" Kind::Flag, "no", LIVE,
        "Whether the server chooses the cipher.";
    TlsSessionCaching "tls-session-caching" Kind::Flag, "yes", LIVE,
        "Whether clients that come back have a shorter handshake.";
    TlsSessionCacheSize "tls-session-cache-size" int(0, i32::MAX as i64), "20480", LIVE,
        "For how many of them.";
    TlsSessionCacheTimeout "tls-session-cache-timeout" int(0, i32::MAX as i64), "300", LIVE.kept(),
        "For how many seconds.";
    TlsAuthClientsUser "tls-auth-clients-user" Kind::Only(&["off"], "users log in by AUTH or HELLO, also with a certificate"), "off", LIVE,
        "The part of a certificate that names the user.";
    TlsAutoReloadInterval "tls-auto-reload-interval" int(0, i32::MAX as i64), "0", LIVE.kept(),
        "Seconds between two looks at the files: always one.";
    TlsCluster "tls-cluster" Kind::Flag, "no", FIXED.restated(),
        "Whether nodes speak TLS to each other, and with ruvioctl and the operator: both sides show certificates.";
    TlsReplication "tls-replication" Kind::Flag, "no", FIXED.restated(),
        "The same, as other servers call a part of it: yes wants tls-cluster yes.";
    HashSeed "hash-seed" Kind::Text, "", FIXED.kept(),
        "What the order of keys depends on: chosen at random.";
    ImportMode "import-mode" Kind::Only(&["no"], "data comes in by commands like all other"), "no", LIVE,
        "Whether keys past their time are kept while data is brought in.";
    Mptcp "mptcp" Kind::Only(&["no"], "clients are served by TCP and Unix sockets"), "no", FIXED,
        "Whether clients are served by several paths.";
    ReplMptcp "repl-mptcp" Kind::Flag, "no", FIXED.kept(),
        "The same between nodes.";
    RdmaPort "rdma-port" Kind::Only(&["0"], "clients are served by TCP and Unix sockets"), "0", FIXED,
        "The port for RDMA.";
    RdmaBind "rdma-bind" Kind::Words, "", FIXED.kept(),
        "Addresses for RDMA.";
    RdmaRxSize "rdma-rx-size" int(1, i64::MAX), "1048576", FIXED.kept(),
        "Bytes of a buffer for RDMA.";
    RdmaCompletionVector "rdma-completion-vector" int(-1, 1024), "-1", FIXED.kept(),
        "A queue of RDMA.";
    RdbVersionCheck "rdb-version-check" Kind::Choice(&["strict", "relaxed"]), "strict", LIVE.kept(),
        "Whether snapshots of other versions are read.";
    SocketMarkId "socket-mark-id" Kind::Only(&["0"], "the server marks no packets"), "0", FIXED,
        "The mark of the server's packets.";
    UnixSocketGroup "unixsocketgroup" Kind::Only(&[""], "the Unix socket belongs to the group of the process"), "", FIXED,
        "The group of the Unix socket.";
    AvailabilityZone "availability-zone" Kind::Text, "", LIVE,
        "The zone of the machine, shown by INFO.";
}
