//! Conditions, and the reasons that they may have: the one list, from which the documentation is made as well.

use std::fmt;

macro_rules! words {
    ($(#[$about:meta])* $kind:ident: $($name:ident $text:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $kind { $(#[doc = $text] $name),* }

        impl $kind {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// As it stands in a status.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// What it means, in a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// What is told of a cluster, each True, False or Unknown.
    ConditionType:
    Ready "Every node is ready, and every shard has a leader.";
    Progressing "The operator is changing something, or waits to.";
    Degraded "Something is missing or sick; clients may be served all the same.";
    QuorumAvailable "Every shard has a majority of its voters.";
    StorageReady "Every volume is there and as large as it is to be.";
    ConfigApplied "Every node has the options of the spec.";
    TlsReady "Certificates are there and in use.";
    Paused "The operator changes nothing, as it was told.";
}

words! {
    /// Why a condition is as it is.
    Reason:
    // It is as it should be.
    AllReady "Every node is ready and every shard is led.";
    Settled "There is nothing to do.";
    Whole "Nothing is missing.";
    MajorityHeld "Every shard has a majority of its voters.";
    VolumesReady "Every volume is as large as it is to be.";
    Applied "Every node runs with the options of the spec.";
    CertificatesReady "Certificates are there and in use.";
    NotAsked "The spec does not ask for it.";
    // Something is on its way.
    CreatingObjects "The objects of the cluster are being made.";
    WaitingForNodes "Pods are starting, or cannot start.";
    Founding "New nodes are being made a cluster.";
    Joining "New nodes are being made members.";
    MovingReplicas "Replicas move to other nodes.";
    MovingLeaders "A leadership moves to another node.";
    ScalingIn "Nodes are emptied and then removed.";
    Restarting "Pods are restarted, one at a time.";
    GrowingVolumes "Volumes are growing.";
    ApplyingConfig "Nodes are being told their new options.";
    Hibernating "The pods are being stopped.";
    Hibernated "No pod runs; the volumes are there.";
    Waking "The pods are being started again.";
    Paused "The operator changes nothing, as it was told.";
    // Somebody has to look.
    NodesNotReady "A node does not serve.";
    ShardsWithoutLeader "A shard has no leader at the moment.";
    MajorityLost "A shard has lost the majority of its voters.";
    MajorityUnknown "Too few nodes answer to tell.";
    MemberLost "A voter is gone with its volume, and nobody can take its place.";
    HeldBack "What is asked for would cost a shard its majority now, so it waits.";
    FoundingInterrupted "A first node lost its volume before the cluster had begun.";
    ForeignNode "A node belongs to another cluster.";
    ClassCannotExpand "The storage class does not let volumes grow.";
    PodUnschedulable "Kubernetes has no place for a pod.";
    OptionRefused "A node refuses an option.";
    StepFailed "Kubernetes or a node refused what the operator asked for.";
    // The spec cannot be done.
    InvalidName "The cluster's name cannot be part of host names.";
    InvalidSize "Numbers of nodes, shards and replicas do not fit together.";
    InvalidAmount "An amount of memory or storage cannot be read, or does not fit.";
    InvalidChange "A field was changed that is fixed.";
    UnknownOption "The server has no option of this name.";
    InvalidOption "An option's value is none that the server takes.";
    ReservedOption "An option is said by another field, or by the operator.";
    InvalidUser "A user's name, rules or passwords cannot be taken.";
    SecretMissing "A Secret that the spec names is not there, or lacks a key.";
    InvalidPod "What is passed on to pods cannot be read.";
    TlsNotServed "This version of the server serves no TLS.";
    TlsSourceUnknown "This version of the operator takes certificates from a Secret alone.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_name_of_its_own_and_a_sentence() {
        let mut names: Vec<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
        for reason in Reason::ALL {
            assert!(reason.about().ends_with('.'), "{reason}");
            assert!(reason.name().chars().all(char::is_alphanumeric), "{reason}");
        }
    }
}
