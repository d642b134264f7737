//! Connections of nodes to each other, and of those who administer them: plain, or TLS with a certificate on both
//! sides. A certificate is looked at before anything that the other side says.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use super::current::{Tls, name_of};
use super::fault;
use super::told::Told;

/// Whoever takes longer to show who they are is let go.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// For connections that come.
#[derive(Clone, Default)]
pub struct Acceptor(Option<Arc<Tls>>);

/// For connections that are made.
#[derive(Clone, Default)]
pub struct Connector {
    tls: Option<Arc<Tls>>,
    told: Arc<Told>,
}

impl Acceptor {
    /// Without TLS connections are taken as they are.
    pub fn new(tls: Option<Arc<Tls>>) -> Self {
        Self(tls)
    }

    /// Everybody who comes by it has shown a certificate that is good here.
    pub fn is_tls(&self) -> bool {
        self.0.is_some()
    }

    pub async fn accept(&self, socket: TcpStream) -> io::Result<Stream> {
        let Some(tls) = &self.0 else {
            return Ok(Stream::Plain(socket));
        };
        let accepted = TlsAcceptor::from(tls.served()?).accept(socket);
        let stream = in_time(accepted).await.map_err(|error| {
            let text = explain(&error);
            io::Error::new(error.kind(), text)
        })?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

impl Connector {
    pub fn new(tls: Option<Arc<Tls>>) -> Self {
        let told = Arc::default();
        Self { tls, told }
    }

    /// `address`: `host:port`. A certificate has to be for the host.
    pub async fn connect(&self, address: &str) -> io::Result<Stream> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Stream::Plain(socket));
        };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let connected = TlsConnector::from(tls.dialled()?).connect(name_of(host)?, socket);
        let stream = in_time(connected).await.map_err(|error| {
            let why = explain(&error);
            if let Some(others) = self.told.may_tell() {
                tracing::warn!(address, why, others, "another node is not reached by TLS");
            }
            let text = format!("{address}: {why}");
            io::Error::new(error.kind(), text)
        })?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

async fn in_time<T>(handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "the handshake of TLS takes too long");
    tokio::time::timeout(HANDSHAKE_MAX, handshake)
        .await
        .unwrap_or_else(|_| Err(late()))
}

/// What a handshake failed of.
fn explain(error: &io::Error) -> String {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    inner.map_or_else(|| error.to_string(), fault::sentence)
}

impl Stream {
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
