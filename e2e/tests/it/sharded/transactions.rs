//! Transactions run whole where their slot is, whichever owner the client is with.

use anyhow::Result;
use ruvio_e2e::resp::Value;

use super::{bulk, clients, error, ok, server};

fn queued() -> Value {
    Value::Simple(b"QUEUED".to_vec())
}

#[test]
fn a_transaction_runs_in_its_slot_from_any_connection() -> Result<()> {
    let server = server()?;
    for (number, mut client) in clients(&server)?.into_iter().enumerate() {
        for tag in 0..12 {
            let key = format!("{{{tag}}}n");
            assert_eq!(client.say("MULTI")?, ok());
            assert_eq!(client.say(&format!("INCR {key}"))?, queued());
            assert_eq!(client.say("PING")?, queued());
            assert_eq!(client.say(&format!("LPUSH {key} x"))?, queued());
            assert_eq!(client.say("SELECT 3")?, queued());
            assert_eq!(client.say(&format!("SET {key} {number}"))?, queued());
            let wrong = b"WRONGTYPE Operation against a key holding the wrong kind of value";
            let replies = [
                Value::Integer(number as i64 + 1),
                Value::Simple(b"PONG".to_vec()),
                Value::Error(wrong.to_vec()),
                ok(),
                ok(),
            ];
            assert_eq!(client.say("EXEC")?, Value::Array(replies.to_vec()));
            // The database that it ended in is the client's from then on.
            assert_eq!(client.say(&format!("GET {key}"))?, bulk(number.to_string()));
            assert_eq!(client.say("SELECT 0")?, ok());
        }
    }
    Ok(())
}

#[test]
fn a_watched_key_that_changes_elsewhere_is_noticed() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    for tag in 0..12 {
        let key = format!("{{{tag}}}w");
        for client in &mut people {
            assert_eq!(client.say(&format!("WATCH {key}"))?, ok());
        }
        let mut last = people.pop().expect("there are several");
        assert_eq!(last.say(&format!("SET {key} by-another"))?, ok());
        people.insert(0, last);
        for client in &mut people {
            assert_eq!(client.say("MULTI")?, ok());
            assert_eq!(client.say(&format!("SET {key} lost"))?, queued());
            assert_eq!(client.say("EXEC")?, Value::NullArray);
        }
        // Without a change, or with the watch taken back, it runs.
        for client in &mut people {
            assert_eq!(client.say(&format!("WATCH {key}"))?, ok());
            assert_eq!(client.say(&format!("GET {key}"))?, bulk("by-another"));
            assert_eq!(client.say("MULTI")?, ok());
            assert_eq!(client.say(&format!("SET {key} by-another"))?, queued());
            assert_eq!(client.say("EXEC")?, Value::Array(vec![ok()]));
            assert_eq!(client.say(&format!("WATCH {key}"))?, ok());
            assert_eq!(client.say(&format!("SET {key} by-another"))?, ok());
            assert_eq!(client.say("UNWATCH")?, ok());
            assert_eq!(client.say("MULTI")?, ok());
            assert_eq!(client.say("PING")?, queued());
            assert_eq!(
                client.say("EXEC")?,
                Value::Array(vec![Value::Simple(b"PONG".to_vec())])
            );
        }
    }
    Ok(())
}

#[test]
fn keys_of_two_slots_spoil_a_transaction() -> Result<()> {
    let server = server()?;
    for mut client in clients(&server)? {
        assert_eq!(client.say("MULTI")?, ok());
        assert_eq!(client.say("SET a 1")?, queued());
        assert!(error(&client.say("SET b 1")?).starts_with("CROSSSLOT "));
        let told = "EXECABORT Transaction discarded because of previous errors.";
        assert_eq!(error(&client.say("EXEC")?), told);
        assert_eq!(client.say("EXISTS a b")?, Value::Integer(0));
        // A watched key counts as one of the transaction's.
        assert_eq!(client.say("WATCH a")?, ok());
        assert!(error(&client.say("WATCH b")?).starts_with("CROSSSLOT "));
        assert_eq!(client.say("MULTI")?, ok());
        assert!(error(&client.say("SET b 1")?).starts_with("CROSSSLOT "));
        assert_eq!(client.say("DISCARD")?, ok());
        assert_eq!(client.say("MULTI")?, ok());
        assert_eq!(client.say("SET b 1")?, queued());
        assert!(error(&client.say("FLUSHALL")?).contains("not allowed inside a transaction"));
        assert_eq!(client.say("DISCARD")?, ok());
        assert_eq!(error(&client.say("EXEC")?), "ERR EXEC without MULTI");
    }
    Ok(())
}
