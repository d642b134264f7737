//! The options that decide how values stand in memory, with Valkey's defaults. `CONFIG SET` writes them.

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub hash_max_listpack_entries: usize,
    /// Longest field or value, bytes.
    pub hash_max_listpack_value: usize,
    pub set_max_intset_entries: usize,
    pub set_max_listpack_entries: usize,
    /// Longest member, bytes.
    pub set_max_listpack_value: usize,
    pub zset_max_listpack_entries: usize,
    /// Longest member, bytes.
    pub zset_max_listpack_value: usize,
    /// Elements of a node if positive; negative names a size class, -1 (4 KiB) to -5 (64 KiB).
    pub list_max_listpack_size: i64,
    /// Bytes of a HyperLogLog at which its sparse form ends.
    pub hll_sparse_max_bytes: usize,
    /// Longest string that a command may make, bytes.
    pub proto_max_bulk_len: usize,
    /// Longest result that `IDEM COMPLETE` keeps, bytes.
    pub idem_max_result: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            list_max_listpack_size: -2,
            hll_sparse_max_bytes: 3000,
            proto_max_bulk_len: 512 << 20,
            idem_max_result: 64 * 1024,
        }
    }
}
