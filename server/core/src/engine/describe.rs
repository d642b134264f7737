//! A connection in one line, as `CLIENT LIST`, `CLIENT INFO` and the ACL log show it.

use std::io::Write;

use super::session::Session;
use crate::command::COMMANDS;
use crate::resp::Protocol;

/// Without a line end. Times are shown in whole seconds.
pub fn line(session: &Session, now_ms: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(400);
    let identity = &session.identity;
    let traffic = &session.traffic;
    let total = traffic.query_buffer
        + traffic.query_buffer_free
        + traffic.output_pending
        + identity.size()
        + size_of::<Session>();
    let command = session
        .last_command
        .map_or("NULL", |id| COMMANDS.get(id).full_name.as_str());
    let resp = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
    let [sub, psub, ssub] = session.subscriptions();
    // Writing to a Vec cannot fail.
    let _ = write!(
        out,
        "id={} addr={} laddr={} fd={} name=",
        session.id.serial(),
        session.addr,
        session.laddr,
        session.fd
    );
    out.extend_from_slice(&identity.name);
    let _ = write!(
        out,
        " age={} idle={} flags={} capa={} db={} sub={sub} psub={psub} ssub={ssub} multi={} watch={} qbuf={} \
         qbuf-free={} argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll=0 omem={} tot-mem={total} events=r cmd={command} \
         user=",
        now_ms.saturating_sub(session.created_ms) / 1000,
        now_ms.saturating_sub(session.active_ms) / 1000,
        String::from_utf8_lossy(&flags(session)),
        capabilities(session),
        session.db,
        session.queued_commands(),
        session.watched_keys(),
        traffic.query_buffer,
        traffic.query_buffer_free,
        session.queued_bytes(),
        traffic.output_pending,
    );
    out.extend_from_slice(identity.user().name());
    let _ = write!(out, " redir=-1 resp={resp} lib-name=");
    out.extend_from_slice(&identity.library_name);
    out.extend_from_slice(b" lib-ver=");
    out.extend_from_slice(&identity.library_version);
    let _ = write!(
        out,
        " tot-net-in={} tot-net-out={} tot-cmds={}",
        traffic.moved.bytes_in, traffic.moved.bytes_out, session.commands
    );
    out
}

/// Every flag that Valkey knows, for filters.
pub const FLAGS: &[u8] = b"NOSMPxbtRBdcuAUreTiIE";

/// One letter for each thing that is special about the connection; `N` for none.
pub fn flags(session: &Session) -> Vec<u8> {
    let pairs = [
        (b'O', session.monitors),
        (b'P', session.is_subscribed()),
        (b'x', session.in_multi()),
        (b'b', session.blocked.is_some() || session.paused.is_some()),
        (b'd', session.watch_broken()),
        (b'c', session.closing),
        (b'U', session.is_unix()),
        (b'r', session.entrance.reads_followers),
        (b'e', session.identity.no_evict),
        (b'T', session.no_touch),
    ];
    let flags: Vec<u8> = pairs
        .iter()
        .filter(|(_, holds)| *holds)
        .map(|(flag, _)| *flag)
        .collect();
    if flags.is_empty() { b"N".to_vec() } else { flags }
}

pub fn capabilities(session: &Session) -> &'static str {
    if session.identity.follows_redirects {
        "r"
    } else {
        ""
    }
}
