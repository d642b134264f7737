//! TLS with certificates that these tests make.
