//! What a dry run said, as bytes: they stand for exactly that, for nothing that was said otherwise or by another.

use prost::Message;
use ruvio_proto::admin::v1::{RecoverQuorumResponse, Survivor};

/// Of a node of that incarnation, whose survivors these are without the lost ones.
pub fn confirmation(
    survivors: &[Survivor],
    incarnation: u64,
    lost: impl IntoIterator<Item = u64>,
) -> Vec<u8> {
    let said = RecoverQuorumResponse {
        survivors: survivors.to_vec(),
        ..RecoverQuorumResponse::default()
    };
    let mut bytes = incarnation.to_le_bytes().to_vec();
    for node in lost {
        bytes.extend_from_slice(&node.to_le_bytes());
    }
    // Behind all that has its length: no two of them can be taken for each other.
    bytes.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    bytes.extend(said.encode_to_vec());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_has_another_confirmation() {
        let survivor = |keys| Survivor {
            shard: 1,
            node: 2,
            keys,
            ..Survivor::default()
        };
        let first = confirmation(&[survivor(7)], 40, [1, 3]);
        assert_eq!(first, confirmation(&[survivor(7)], 40, [1, 3]));
        for other in [
            confirmation(&[survivor(8)], 40, [1, 3]),
            confirmation(&[survivor(7), survivor(7)], 40, [1, 3]),
            confirmation(&[survivor(7)], 41, [1, 3]),
            confirmation(&[survivor(7)], 40, [1, 4]),
            confirmation(&[survivor(7)], 40, [1]),
        ] {
            assert_ne!(first, other);
        }
    }
}
