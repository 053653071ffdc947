//! A small HTTP server on 127.0.0.1 that notes what it is asked. Shared with `tests/peer` and `tests/http.rs`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub method: String,
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// What it is told.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status, headers, body. The length is added where the headers have none.
    Whole(u16, Vec<(String, String)>, Vec<u8>),
    /// Nothing, and the connection stays open.
    Silence,
    /// Nothing, and the connection is closed.
    Hangup,
}

pub fn reply(status: u16, body: &str) -> Reply {
    Reply::Whole(status, Vec::new(), body.as_bytes().to_vec())
}

pub fn json(body: &str) -> Reply {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    Reply::Whole(200, headers, body.as_bytes().to_vec())
}

pub fn redirect(status: u16, to: &str) -> Reply {
    Reply::Whole(status, vec![("Location".into(), to.into())], Vec::new())
}

/// Answers until the process ends.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    closed: Arc<Mutex<usize>>,
}

impl Server {
    /// `answer` gets each request and how many came before it.
    pub fn new(answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let closed: Arc<Mutex<usize>> = Arc::default();
        let (notes, hung_up, answer) = (asked.clone(), closed.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (notes, hung_up, answer) = (notes.clone(), hung_up.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &notes, &hung_up, &*answer));
            }
        });
        Self { url, asked, closed }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many clients went away while they were kept waiting.
    pub fn given_up(&self) -> usize {
        *self.closed.lock().unwrap()
    }

    /// Waits until so many requests have come.
    pub fn until_asked(&self, times: usize) {
        until(|| self.asked.lock().unwrap().len() >= times);
    }
}

pub fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "it did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn serve(
    stream: TcpStream,
    notes: &Mutex<Vec<Asked>>,
    hung_up: &Mutex<usize>,
    answer: &dyn Fn(&Asked, usize) -> Reply,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let asked = read(&mut reader)?;
        let before = {
            let mut notes = notes.lock().unwrap();
            notes.push(asked.clone());
            notes.len() - 1
        };
        match answer(&asked, before) {
            Reply::Hangup => return None,
            Reply::Silence => {
                // Ends when the client goes away.
                let mut rest = [0];
                let _ = reader.read(&mut rest);
                *hung_up.lock().unwrap() += 1;
                return None;
            }
            Reply::Whole(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} Said\r\n");
                for (name, value) in &headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                if !headers.iter().any(|(name, _)| name == "Content-Length") {
                    head.push_str(&format!("Content-Length: {}\r\n", body.len()));
                }
                head.push_str("\r\n");
                stream.write_all(head.as_bytes()).ok()?;
                if asked.method != "HEAD" {
                    stream.write_all(&body).ok()?;
                }
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let length = asked.header("content-length").unwrap_or("0");
    asked.body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}
