//! Connections to the admin port: so many at once. Who has no token gets no further than this.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tonic::transport::server::{Connected, TcpConnectInfo};

use crate::tls::Accepted;

const CONNECTIONS_MAX: usize = 256;

/// The places of all listeners of a node.
pub fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(CONNECTIONS_MAX))
}

impl Connected for Accepted {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.tcp().connect_info()
    }
}
