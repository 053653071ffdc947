//! An API server for a kubeconfig: HTTP on 127.0.0.1 before a local cluster's socket, which misbehaves when told.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What is done with one request.
pub enum Act {
    /// The local cluster answers it.
    Forward,
    /// This is the answer.
    Answer(u16, String),
    /// The local cluster answers, but only so many bytes arrive.
    Cut(usize),
    /// The answer comes late.
    Delay(Duration),
}

type Rule = Box<dyn FnMut(&str, &str) -> Act + Send>;

/// The server; requests are seen as their first line and their whole head.
pub struct Proxy {
    pub url: String,
    rule: Arc<Mutex<Rule>>,
    seen: Arc<Mutex<Vec<String>>>,
}

/// A Kubernetes error object.
pub fn status(code: u16, reason: &str, message: &str) -> Act {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","code":{code},"reason":"{reason}","message":"{message}"}}"#
    );
    Act::Answer(code, body)
}

impl Proxy {
    pub fn start(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let rule: Arc<Mutex<Rule>> = Arc::new(Mutex::new(Box::new(|_, _| Act::Forward)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (rules, log, socket) = (Arc::clone(&rule), Arc::clone(&seen), socket.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (rules, log, socket) = (Arc::clone(&rules), Arc::clone(&log), socket.clone());
                thread::spawn(move || {
                    let _ = serve(client, &rules, &log, &socket);
                });
            }
        });
        Self { url, rule, seen }
    }

    /// From now on.
    pub fn rule(&self, rule: impl FnMut(&str, &str) -> Act + Send + 'static) {
        *self.rule.lock().unwrap() = Box::new(rule);
    }

    /// First lines of the requests so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut client: TcpStream,
    rule: &Mutex<Rule>,
    seen: &Mutex<Vec<String>>,
    socket: &PathBuf,
) -> std::io::Result<()> {
    let (head, body) = request(&mut client)?;
    let first = head.lines().next().unwrap_or_default().to_owned();
    seen.lock().unwrap().push(first.clone());
    let act = (rule.lock().unwrap())(&first, &head);
    let mut most = u64::MAX;
    match act {
        Act::Answer(code, body) => {
            let length = body.len();
            return write!(
                client,
                "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
        Act::Cut(bytes) => most = bytes as u64,
        Act::Delay(pause) => thread::sleep(pause),
        Act::Forward => {}
    }
    let mut server = UnixStream::connect(socket)?;
    for line in head.lines() {
        let name = line
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !matches!(
            name.as_str(),
            "authorization" | "connection" | "accept-encoding"
        ) {
            write!(server, "{line}\r\n")?;
        }
    }
    write!(server, "Connection: close\r\n\r\n")?;
    server.write_all(&body)?;
    let mut chunk = [0; 4096];
    loop {
        let read = server.read(&mut chunk)?;
        let pass = most.min(read as u64) as usize;
        client.write_all(&chunk[..pass])?;
        most -= pass as u64;
        if read == 0 || most == 0 {
            return client.shutdown(Shutdown::Both);
        }
    }
}

/// The head without its empty line, and the body.
fn request(client: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let read = client.read(&mut chunk)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&chunk[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut body = bytes.split_off(end + 4);
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    while body.len() < length {
        let read = client.read(&mut chunk)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(&chunk[..read]);
    }
    Ok((head, body))
}
