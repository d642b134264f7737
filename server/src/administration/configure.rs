//! Options and files, changed and read again while the node runs: as a client with all rights would by the node's cluster
//! port, which is the one way on which every owner thread hears of it.

use std::net::SocketAddr;
use std::time::Duration;

use ruvio_core::cluster::NodeId;
use ruvio_core::engine::link::{WORD, prove};
use ruvio_core::options::{Options, Row};
use ruvio_server::admin::Refused;
use ruvio_server::admin::answers::{
    ApplyConfigRequest, ApplyConfigResponse, ConfigOption, RefusedOption, ReloadResponse,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::Administration;

/// A command that changes options waits for no disk but for users' file.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Of an answer's line.
const LINE_BYTES_MAX: u64 = 64 << 10;

impl Administration {
    pub(super) async fn apply(&self, request: ApplyConfigRequest) -> Result<ApplyConfigResponse, Refused> {
        let sorted = sort(&self.membership.options, &request.options);
        let response = ApplyConfigResponse {
            applied: sorted.live.iter().map(|option| option.name.clone()).collect(),
            needs_restart: sorted.fixed,
            refused: sorted.refused,
        };
        if !response.refused.is_empty() {
            return Ok(ApplyConfigResponse {
                applied: Vec::new(),
                needs_restart: Vec::new(),
                ..response
            });
        }
        if request.dry_run {
            return Ok(response);
        }
        if !sorted.live.is_empty() {
            let pairs = sorted
                .live
                .iter()
                .flat_map(|option| [&*option.name, &*option.value]);
            let words: Vec<&[u8]> = ["CONFIG", "SET"]
                .into_iter()
                .chain(pairs)
                .map(str::as_bytes)
                .collect();
            self.say(&words).await?.map_err(Refused::Precondition)?;
        }
        self.revision.set(request.revision);
        Ok(response)
    }

    pub(super) async fn read_again(&self, acl: bool, tls: bool) -> Result<ReloadResponse, Refused> {
        let mut errors = Vec::new();
        if acl {
            errors.extend(self.say(&[b"ACL", b"LOAD"]).await?.err());
        }
        if tls {
            errors.extend(self.read_certificates().await?);
        }
        Ok(ReloadResponse { errors })
    }

    /// What goes wrong with it. Files are read where something may wait.
    async fn read_certificates(&self) -> Result<Option<String>, Refused> {
        let Some(tls) = self.membership.certificates.clone() else {
            let why = "this node speaks no TLS, so there are no certificates to read";
            return Ok(Some(why.to_owned()));
        };
        let read = tokio::task::spawn_blocking(move || tls.read_again()).await;
        let read = read.map_err(|panic| Refused::Internal(panic.to_string()))?;
        Ok(read.err().map(|fault| fault.to_string()))
    }

    /// One command; what the node answers to it, if that is an error.
    async fn say(&self, words: &[&[u8]]) -> Result<Result<(), String>, Refused> {
        let Some(token) = self.membership.token() else {
            let why = "this node has no cluster-token-file, so it cannot prove to itself who it is: give it one, or use \
                       CONFIG SET and ACL LOAD on its port";
            return Err(Refused::Precondition(why.to_owned()));
        };
        let me = self.identity().map(|identity| NodeId(identity.node.0));
        let me = me.ok_or_else(|| Refused::Precondition("the node is in no cluster yet".to_owned()))?;
        let address = self.membership.cluster_port();
        if address.port() == 0 {
            let why = "this node listens with TLS alone, where it does not ask itself: use CONFIG SET and ACL LOAD there";
            return Err(Refused::Precondition(why.to_owned()));
        }
        let said = tokio::time::timeout(ANSWER_MAX, converse(address, (token.as_bytes(), me), words)).await;
        said.map_err(|_| {
            Refused::TimedOut("the node has not answered itself in time: look, and try again".to_owned())
        })?
        .map_err(|why| Refused::Unavailable(format!("the node's own port {address} does not answer: {why}")))
    }
}

/// Options by what can be done with them.
#[derive(Default)]
struct Sorted {
    live: Vec<ConfigOption>,
    fixed: Vec<String>,
    refused: Vec<RefusedOption>,
}

fn sort(options: &Options, asked: &[ConfigOption]) -> Sorted {
    let (mut sorted, mut changed) = (Sorted::default(), options.clone());
    let mut seen = Vec::new();
    for option in asked {
        let mut refuse = |reason: &str| {
            sorted.refused.push(RefusedOption {
                name: option.name.clone(),
                reason: reason.to_owned(),
            });
        };
        let Some(row) = Row::find(option.name.as_bytes()) else {
            refuse("there is no such option");
            continue;
        };
        if seen.contains(&row.name) {
            refuse("it is named twice");
            continue;
        }
        seen.push(row.name);
        if !row.facts.live {
            match row.kind.parse(&[option.value.as_bytes()], None) {
                Ok(value) if value == *options.value(row.id) => {}
                Ok(_) => sorted.fixed.push(option.name.clone()),
                Err(why) => refuse(&why),
            }
            continue;
        }
        match changed.change(&[option.name.as_bytes(), option.value.as_bytes()]) {
            Ok(_) => sorted.live.push(option.clone()),
            Err(error) => refuse(error.text()),
        }
    }
    sorted
}

async fn converse(
    address: SocketAddr,
    (token, me): (&[u8], NodeId),
    words: &[&[u8]],
) -> std::io::Result<Result<(), String>> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    let Ok(nonce) = ask(&mut stream, &[WORD, b"HELLO"]).await? else {
        return Err(std::io::Error::other("it is no port of a cluster"));
    };
    if let Err(refused) = ask(&mut stream, &[WORD, b"PROVE", &prove(token, &nonce, me)]).await? {
        return Err(std::io::Error::other(refused));
    }
    Ok(ask(&mut stream, words).await?.map(drop))
}

/// One command, and its answer: a string, or an error.
async fn ask(stream: &mut BufReader<TcpStream>, words: &[&[u8]]) -> std::io::Result<Result<Vec<u8>, String>> {
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        command.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        command.extend_from_slice(word);
        command.extend_from_slice(b"\r\n");
    }
    stream.write_all(&command).await?;
    let mut line = Vec::new();
    let read = (&mut *stream)
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .await?;
    let unfit = || std::io::Error::other("it answers as no node does");
    let line = line
        .strip_suffix(b"\r\n")
        .filter(|_| read > 0)
        .ok_or_else(unfit)?;
    let text = String::from_utf8_lossy(line.get(1..).unwrap_or_default()).into_owned();
    match line.first() {
        Some(b'+') => Ok(Ok(text.into_bytes())),
        Some(b'-') => Ok(Err(text)),
        Some(b'$') => {
            let len = text
                .parse::<usize>()
                .ok()
                .filter(|len| *len as u64 <= LINE_BYTES_MAX);
            let mut bytes = vec![0; len.ok_or_else(unfit)? + 2];
            stream.read_exact(&mut bytes).await?;
            bytes.truncate(bytes.len() - 2);
            Ok(Ok(bytes))
        }
        _ => Err(unfit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(asked: &[(&str, &str)]) -> (Vec<String>, Vec<String>, Vec<String>) {
        let option = |(name, value): &(&str, &str)| ConfigOption {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        let asked: Vec<_> = asked.iter().map(option).collect();
        let Sorted { live, fixed, refused } = sort(&Options::default(), &asked);
        (
            live.into_iter().map(|option| option.name).collect(),
            fixed,
            refused
                .into_iter()
                .map(|refused| format!("{}: {}", refused.name, refused.reason))
                .collect(),
        )
    }

    #[test]
    fn each_option_is_live_or_waits_for_a_start_or_is_refused_with_a_reason() {
        let (live, fixed, refused) = sorted(&[
            ("snapshot-rate", "10mb"),
            ("maxmemory", "1gb"),
            ("shards", "7"),
            ("peer-port", "7379"),
        ]);
        assert_eq!(live, ["snapshot-rate", "maxmemory"]);
        assert_eq!(fixed, ["shards"], "what is as it was needs no start");
        assert_eq!(refused, [""; 0]);
        let (_, _, refused) = sorted(&[
            ("no-such", "1"),
            ("maxmemory", "much"),
            ("shards", "0"),
            ("maxmemory-samples", "5"),
            ("maxmemory-samples", "6"),
        ]);
        let named: Vec<&str> = refused.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(named, ["no-such", "maxmemory", "shards", "maxmemory-samples"]);
    }
}
