//! From the option table to those who use the values: the shard, the users, and what watches commands.

use super::Engine;
use super::world::World;
use crate::error::Error;
use crate::exec::Now;
use crate::keyspace::{Classes, Limits, Shard};
use crate::options::{Id, Options, ROWS, change};

impl Engine {
    /// All that is taken before the first client comes has been taken: what `INFO` calls memory at startup.
    pub fn mark_startup(&mut self, now: Now) {
        self.world.saves.last_seconds = now.ms() / 1000;
        self.world.mark_startup(&self.shard);
    }

    /// Takes the options of the start, before the first connection. An error says which of them cannot be
    /// followed.
    pub fn configure(&mut self, options: Options) -> Result<(), String> {
        let password = options.text(Id::RequirePass).to_vec();
        let acl_file = String::from_utf8_lossy(options.text(Id::AclFile)).into_owned();
        let users = options.users.clone();
        self.world.options = options;
        self.spread_options();
        if !password.is_empty() {
            self.world.set_default_password(&password);
        }
        for words in &users {
            let (name, rules) = words.split_first().ok_or("a user line names no user")?;
            // The default user begins with all rights, which no line must silently keep.
            let first = (name == b"default").then_some(&b"reset"[..]);
            self.world
                .users
                .change(name, first.into_iter().chain(rules.iter().map(Vec::as_slice)))
                .map_err(|error| error.text().to_string())?;
        }
        if !acl_file.is_empty() {
            if !users.is_empty() {
                return Err("users stand in the configuration and in the aclfile: use one of them".into());
            }
            self.world.load_users(&acl_file)?;
            self.world.acl_file = Some(acl_file);
        }
        Ok(())
    }

    /// Has every shard follow the options.
    pub(super) fn spread_options(&mut self) {
        for place in 0..self.shard_count() {
            self.select_place(place);
            self.follow_options();
        }
    }

    /// Has the shard at hand follow them.
    pub(super) fn follow_options(&mut self) {
        self.world.spread_options(&mut self.shard);
    }
}

impl World {
    /// Other machines are kept out: `protected-mode` is on and nobody needs a password.
    pub fn is_protected(&self) -> bool {
        self.options.flag(Id::ProtectedMode) && self.users.default_user().is_nopass()
    }

    /// `CONFIG SET`: all of the pairs, or none.
    pub fn change_options(&mut self, shard: &mut Shard, pairs: &[&[u8]]) -> Result<(), Error> {
        let changed = self.options.change(pairs)?;
        if changed.ids.contains(&Id::MaxClients) {
            let wanted = self.options.max_clients();
            if let Err(possible) = self.host.reserve_clients(wanted) {
                self.options = *changed.before;
                return Err(change::failed(
                    "maxclients",
                    &format!(
                        "The operating system is not able to handle the specified number of clients, try with \
                         {possible}"
                    ),
                ));
            }
        }
        if let Some(id) = changed.ids.iter().find(|id| id.is_of_tls())
            && let Err(why) = self.host.set_tls(&self.options)
        {
            self.options = *changed.before;
            let why = format!("Unable to update TLS configuration. {why}");
            return Err(change::failed(ROWS[*id as usize].name, &why));
        }
        if changed.ids.contains(&Id::RequirePass) {
            let password = self.options.text(Id::RequirePass).to_vec();
            self.set_default_password(&password);
        }
        if changed.ids.contains(&Id::LogLevel) {
            self.host.set_log_level(&self.options.shown_by(Id::LogLevel));
        }
        if changed.ids.contains(&Id::SnapshotRate) {
            self.host
                .limit_snapshots(self.options.count(Id::SnapshotRate) as u64);
        }
        if changed.before.durability() != self.options.durability() {
            self.host.keep(self.options.durability());
        }
        self.spread_options(shard);
        Ok(())
    }

    /// Copies what others keep for themselves, since they ask at every command.
    fn spread_options(&mut self, shard: &mut Shard) {
        let options = &self.options;
        shard.limits = Limits {
            hash_max_listpack_entries: options.count(Id::HashMaxListpackEntries),
            hash_max_listpack_value: options.count(Id::HashMaxListpackValue),
            set_max_intset_entries: options.count(Id::SetMaxIntsetEntries),
            set_max_listpack_entries: options.count(Id::SetMaxListpackEntries),
            set_max_listpack_value: options.count(Id::SetMaxListpackValue),
            zset_max_listpack_entries: options.count(Id::ZsetMaxListpackEntries),
            zset_max_listpack_value: options.count(Id::ZsetMaxListpackValue),
            list_max_listpack_size: options.number(Id::ListMaxListpackSize),
            hll_sparse_max_bytes: options.count(Id::HllSparseMaxBytes),
            idem_max_result: options.count(Id::IdemMaxResult),
            proto_max_bulk_len: options.count(Id::ProtoMaxBulkLen),
        };
        shard.notify = Classes(options.number(Id::NotifyKeyspaceEvents) as u16).published();
        if shard.eviction.policy() != options.max_memory_policy() {
            shard.set_eviction_policy(options.max_memory_policy());
        }
        shard.eviction.limit_bytes = options.max_memory();
        shard.eviction.samples = options.count(Id::MaxMemorySamples);
        shard.expiry_cycle.further_effort = options.count(Id::ActiveExpireEffort).saturating_sub(1);
        shard.access.lfu_log_factor = options.number(Id::LfuLogFactor) as u32;
        shard.access.lfu_decay_minutes = options.number(Id::LfuDecayTime) as u32;
        self.observer.configure(&self.options);
        self.acl_log.len_max = options.count(Id::AclLogMaxLen);
        self.users.open_channels = options.number(Id::AclPubSubDefault) == 0;
    }
}
