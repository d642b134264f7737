//! Compiles the .proto files with a compiler that is a library: no protoc has to be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=common.proto");
    println!("cargo::rerun-if-changed=peer.proto");
    println!("cargo::rerun-if-changed=admin.proto");
    let files = protox::compile(["common.proto", "peer.proto", "admin.proto"], ["."])?;
    tonic_prost_build::configure().bytes(".").compile_fds(files)?;
    Ok(())
}
