//! Which of the 16384 slots a key belongs to.

/// How many slots there are.
pub const SLOTS: u16 = 16384;

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 {
                (crc << 1) ^ 0x1021
            } else {
                crc << 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC-16/XMODEM: polynomial 0x1021, initial value 0, no reflection.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    })
}

/// The part of a key that its slot is made of: between the first `{` and the next `}` if anything is there,
/// otherwise all of it.
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else {
        return key;
    };
    let inner = &key[open + 1..];
    match inner.iter().position(|byte| *byte == b'}') {
        None | Some(0) => key,
        Some(len) => &inner[..len],
    }
}

/// The key's slot.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::{crc16, hash_tag, slot_of};

    #[test]
    fn check_value_of_the_catalogue() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(crc16(b""), 0);
    }

    /// Case 90: seen on Valkey.
    #[test]
    fn slots_of_tagged_keys() {
        assert_eq!(slot_of(b"{user}.x"), 5474);
        assert_eq!(slot_of(b"{}a"), 10875);
        assert_eq!(slot_of(b"foo{{bar}}zap"), 4015);
        assert_eq!(slot_of(b"foo{bar}{zap}"), 5061);
        assert_eq!(slot_of(b"foo"), 12182);
        assert_eq!(slot_of(b""), 0);
    }

    #[test]
    fn a_tag_needs_both_braces_in_order() {
        assert_eq!(hash_tag(b"a}b{c"), b"a}b{c");
        assert_eq!(hash_tag(b"a}{c}"), b"c");
        assert_eq!(hash_tag(b"a{}{c}"), b"a{}{c}");
        assert_eq!(hash_tag(b"{"), b"{");
    }
}
