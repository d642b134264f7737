//! Every course of events within bounds, and what goes wrong without each of the rules.

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::{Bounds, Left, Replication, Rules, TIMELESS};

const WITHIN: Bounds = Bounds {
    terms: 2,
    left: Left {
        writes: 1,
        reads: 1,
        restarts: 0,
        transfers: 0,
        sleeps: 0,
        drifts: 0,
        ticks: 3,
    },
};

fn within(change: impl FnOnce(&mut Bounds)) -> Bounds {
    let mut bounds = WITHIN;
    change(&mut bounds);
    bounds
}

/// Writes one behind the other, and stints one after the other, of one leader; time has no end.
fn one_leader() -> Bounds {
    within(|bounds| {
        bounds.terms = 1;
        bounds.left.writes = 2;
        bounds.left.ticks = TIMELESS;
    })
}

fn a_move() -> Bounds {
    within(|bounds| {
        bounds.left.transfers = 1;
        bounds.left.ticks = 0;
    })
}

fn a_restart() -> Bounds {
    within(|bounds| {
        bounds.left.restarts = 1;
        bounds.left.ticks = 2;
    })
}

fn a_sleep() -> Bounds {
    within(|bounds| {
        bounds.left.sleeps = 1;
        bounds.left.ticks = 1;
    })
}

fn a_drift() -> Bounds {
    within(|bounds| {
        bounds.left.drifts = 1;
        bounds.left.ticks = 2;
    })
}

/// What was found, each promise with the steps that break it.
fn look_at_all(what: &str, rules: Rules, bounds: Bounds) -> Vec<String> {
    let start = Instant::now();
    let model = Replication::new(rules, bounds);
    let checker = model
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_bfs().join();
    println!(
        "{what}: {} states, {} different, at most {} steps, {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f64()
    );
    let told = |(promise, path): (&str, stateright::Path<_, _>)| {
        let steps = path.into_actions();
        let steps = steps.iter().map(|step| format!("\n  {step:?}"));
        format!("{promise}: broken by{}", steps.collect::<String>())
    };
    checker.discoveries().into_iter().map(told).collect()
}

fn holds(what: &str, bounds: Bounds) {
    let found = look_at_all(what, Rules::default(), bounds);
    assert!(found.is_empty(), "{what}: {}", found.join("\n"));
}

#[test]
fn whatever_happens_the_promises_hold() {
    holds("another leader", WITHIN);
    holds("one leader", one_leader());
    holds("a move", a_move());
    holds("a restart", a_restart());
    holds("a sleep", a_sleep());
    holds("a drift", a_drift());
    if std::env::var_os("RUVIO_MODEL_LARGE").is_none() {
        return;
    }
    let endless = |change: fn(&mut Left)| {
        within(|bounds| {
            bounds.left.ticks = TIMELESS;
            change(&mut bounds.left);
        })
    };
    holds("another leader, endless", endless(|_| {}));
    holds("a move, endless", endless(|left| left.transfers = 1));
    holds("a restart, endless", endless(|left| left.restarts = 1));
    holds("a sleep, endless", endless(|left| left.sleeps = 1));
    holds("a drift, endless", endless(|left| left.drifts = 1));
    let third = within(|bounds| bounds.terms = 3);
    holds("a third leader", third);
    let two = within(|bounds| {
        bounds.left.writes = 2;
        bounds.left.ticks = 2;
    });
    holds("two writes", two);
}

/// Takes a rule away.
type Breakage = fn(&mut Rules);

/// One rule is taken away: a promise has to break.
#[test]
fn without_any_one_of_the_rules_something_goes_wrong() {
    let cases: [(&str, Breakage, Bounds); 16] = [
        (
            "the lease is not looked at",
            |rules| rules.the_lease_is_looked_at = false,
            WITHIN,
        ),
        (
            "it is looked at before commands are received",
            |rules| rules.the_lease_is_looked_at_after_receiving = false,
            WITHIN,
        ),
        (
            "a lease is as long as an election",
            |rules| rules.a_lease_is_shorter_by_the_drift = false,
            a_drift(),
        ),
        (
            "a lease stands still while the machine sleeps",
            |rules| rules.a_lease_counts_sleep = false,
            a_sleep(),
        ),
        ("replies do not wait", |rules| rules.replies_wait = false, WITHIN),
        ("reads do not wait", |rules| rules.reads_wait = false, WITHIN),
        (
            "a node votes right after it restarted",
            |rules| rules.who_restarted_does_not_vote = false,
            a_restart(),
        ),
        (
            "a stint begins without an entry of its own",
            |rules| rules.a_stint_begins_with_an_empty_entry = false,
            WITHIN,
        ),
        (
            "proposals outlive their stint",
            |rules| rules.proposals_of_an_ended_stint_are_dropped = false,
            one_leader(),
        ),
        (
            "what is committed behind what was lost counts",
            |rules| rules.a_lost_proposal_ends_its_stint_for_good = false,
            one_leader(),
        ),
        (
            "an entry of another leader is applied within a stint",
            |rules| rules.an_entry_of_another_ends_the_stint = false,
            WITHIN,
        ),
        (
            "a keyspace that is ahead of the log stays",
            |rules| rules.a_keyspace_ahead_of_the_log_is_made_anew = false,
            one_leader(),
        ),
        (
            "what is lost is called not applied",
            |rules| rules.what_is_lost_is_uncertain = false,
            one_leader(),
        ),
        (
            "a move holds nothing back",
            |rules| rules.a_move_holds_the_lease_back = false,
            a_move(),
        ),
        (
            "a lease outlives its stint",
            |rules| rules.a_lease_ends_with_its_stint = false,
            a_move(),
        ),
        (
            "who handed over goes on where nobody took over",
            |rules| rules.who_handed_over_executes_no_more = false,
            a_move(),
        ),
    ];
    for (what, take_away, bounds) in cases {
        let mut rules = Rules::default();
        take_away(&mut rules);
        let found = look_at_all(what, rules, bounds);
        assert!(!found.is_empty(), "{what}, and nothing goes wrong");
        println!("{}\n", found.join("\n"));
    }
}
