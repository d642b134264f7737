//! Calls to one node. What goes wrong comes back as one sentence that names the node and says what to do.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ruvio_proto::admin::v1::admin_client::AdminClient;
use ruvio_proto::metadata;
use tokio_rustls::TlsConnector;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

use super::address::Address;
use super::secure::{self, Connector, Files};

pub type Client = AdminClient<Channel>;

/// Of an answer: the status of a node with many shards.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What goes with every call.
pub struct Caller {
    token: Option<MetadataValue<Ascii>>,
    tls: Option<TlsConnector>,
    pub timeout: Duration,
}

impl Caller {
    pub fn new(token_file: Option<&Path>, files: &Files, timeout: Duration) -> anyhow::Result<Self> {
        let token = token_file.map(read_token).transpose()?;
        let tls = files.read()?;
        Ok(Self { token, tls, timeout })
    }

    /// Connects, and makes one call. `more`: the node itself may take so much longer to answer.
    pub async fn call<M, T, F>(
        &self,
        node: &Address,
        message: M,
        more: Duration,
        method: impl FnOnce(Client, Request<M>) -> F,
    ) -> anyhow::Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert(metadata::TOKEN, token.clone());
        }
        let whole = async {
            let endpoint = Endpoint::from_shared(format!("http://{node}"))
                .with_context(|| format!("{node} is no address"))?
                .connect_timeout(self.timeout);
            let channel = match &self.tls {
                None => endpoint.connect().await,
                Some(tls) => {
                    let connector = Connector::new(tls, &node.to_string())?;
                    endpoint.connect_with_connector(connector).await
                }
            };
            let channel = channel.map_err(|error| anyhow!(unreached(node, &error)))?;
            let client = Client::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX);
            method(client, request)
                .await
                .map(Response::into_inner)
                .map_err(|status| anyhow!(refused(node, &status)))
        };
        tokio::time::timeout(self.timeout + more, whole)
            .await
            .unwrap_or_else(|_| Err(anyhow!(silent(node, self.timeout + more))))
    }
}

fn read_token(path: &Path) -> anyhow::Result<MetadataValue<Ascii>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the cluster's token from {}", path.display()))?;
    let token = text.trim();
    if token.is_empty() {
        bail!(
            "the token file {} is empty: use the one of the nodes",
            path.display()
        );
    }
    let mut token: MetadataValue<Ascii> = token.parse().with_context(|| {
        format!(
            "the token in {} has to be one line of printable ASCII",
            path.display()
        )
    })?;
    token.set_sensitive(true);
    Ok(token)
}

fn untrusted(node: &Address, alert: &str) -> String {
    format!(
        "{node} does not take the certificate of --tls-cert-file ({alert}): is it signed by one of the node's \
         tls-ca-cert-file, and is it valid now?"
    )
}

fn unreached(node: &Address, error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(alert) = secure::alert(error) {
        return untrusted(node, &alert);
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let cause = cause.to_string();
    let cause = cause.split(" (os error").next().unwrap_or_default();
    format!("cannot reach {node}: {cause}. Is the node running, and is that its admin-port?")
}

fn silent(node: &Address, waited: Duration) -> String {
    format!(
        "{node} has not answered in {} s. It may still do what it was asked: look with ruvioctl status, or wait longer \
         with --timeout",
        waited.as_secs_f32()
    )
}

fn refused(node: &Address, status: &Status) -> String {
    if let Some(alert) = secure::alert(status) {
        return untrusted(node, &alert);
    }
    let said = status.message();
    match status.code() {
        Code::Unauthenticated => format!("{node} refuses the call: {said} (--token-file, RUVIO_TOKEN_FILE)"),
        Code::Unimplemented if said.is_empty() => {
            format!("{node} does not know that call: it is of another version, or that is not its admin-port")
        }
        // Whatever is there does not speak as we do.
        Code::Unknown | Code::Internal if std::error::Error::source(status).is_some() => {
            format!(
                "{node} does not answer as a node's admin-port does ({said}): is that the right port, and does it want --tls?"
            )
        }
        Code::Cancelled | Code::Unavailable if std::error::Error::source(status).is_some() => {
            format!(
                "{node} ended the connection. It may still do what it was asked: look with ruvioctl status. A node with \
                 tls-cluster yes hears nobody without --tls, nor with a certificate that is no good there"
            )
        }
        _ => format!("{node}: {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Address {
        "cache-1:7380".parse().expect("an address")
    }

    #[test]
    fn a_refusal_names_the_node_and_repeats_what_it_said() {
        let status = Status::failed_precondition("node 2 leads shard 3: ask it");
        assert_eq!(
            refused(&node(), &status),
            "cache-1:7380: node 2 leads shard 3: ask it"
        );
        let status = Status::unauthenticated("the cluster's token is wanted");
        assert_eq!(
            refused(&node(), &status),
            "cache-1:7380 refuses the call: the cluster's token is wanted (--token-file, RUVIO_TOKEN_FILE)"
        );
    }

    #[test]
    fn silence_is_not_taken_for_a_failure() {
        assert_eq!(
            silent(&node(), Duration::from_millis(1500)),
            "cache-1:7380 has not answered in 1.5 s. It may still do what it was asked: look with ruvioctl status, \
             or wait longer with --timeout"
        );
    }

    #[test]
    fn a_closed_port_is_told_with_what_may_be_wrong() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let caller = Caller::new(None, &Files::default(), Duration::from_secs(5)).expect("no file is read");
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let node: Address = free.expect("a port").to_string().parse().expect("an address");
        let call = caller.call(
            &node,
            Default::default(),
            Duration::ZERO,
            |mut client, request| async move { client.status(request).await },
        );
        let error = runtime
            .expect("a runtime")
            .block_on(call)
            .expect_err("nobody is there");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot reach {node}: Connection refused. Is the node running, and is that its admin-port?"
            )
        );
    }

    #[test]
    fn a_token_file_holds_one_line() {
        let path = std::env::temp_dir().join(format!("ruvioctl-token-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            read_token(&path).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read("secret\n").expect("a token"), "secret");
        assert!(read(" \n").is_err_and(|said| said.contains("is empty")));
        assert!(read("two\nlines").is_err_and(|said| said.contains("one line")));
        std::fs::remove_file(&path).expect("it was there");
        let gone = read_token(&path).map_err(|error| format!("{error:#}"));
        assert!(gone.is_err_and(|said| said.contains("No such file")));
    }
}
