//! Steps that run programs: names of rendered files, and Helm's dependencies from a repository of charts.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpListener,
};

use tidewaiter::steps::{
    archive::{self, Content},
    helm_update_chart::HelmUpdateChart,
    manifests,
    program::{HELM, Programs},
};

use crate::*;

#[test]
fn names_of_rendered_files_are_taken_and_refused_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| text(row, "kind") == "resource-filename";
    let compared = compare(&rows, mine, |row| {
        let wanted = &row["want"]["error"];
        match manifests::check_file_name(text(row, "fileName")) {
            Ok(()) => same("error", &Value::Null, wanted),
            Err(error) => said(text(row, "id"), &error.sentence(), wanted),
        }
    });
    println!("resource-filename: {compared} of {compared} agree");
    assert_eq!(compared, 9);
}

/// A repository with one chart, served until the test ends.
fn repository() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let chart = b"apiVersion: v2\nname: examplechart\nversion: 0.1.0\n";
    let file = Content::File {
        bytes: chart.to_vec(),
        executable: false,
    };
    let entries = BTreeMap::from([("examplechart/Chart.yaml".parse().unwrap(), file)]);
    let packed = archive::write(&entries, true).unwrap();
    let index = "apiVersion: v1\nentries:\n  examplechart:\n  - apiVersion: v2\n    name: examplechart\n    version: 0.1.0\n    urls: [examplechart-0.1.0.tgz]\n";
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut chunk) {
                    Ok(count @ 1..) => request.extend_from_slice(&chunk[..count]),
                    _ => break,
                }
            }
            let body = match request.starts_with(b"GET /index.yaml") {
                true => index.as_bytes(),
                false => &packed,
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            // Whoever went away does not want it.
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body));
        }
    });
    url
}

#[test]
fn charts_are_updated_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    if Programs::default().find(&HELM).is_err() {
        eprintln!("not compared with Kargo: helm is not in PATH");
        return;
    }
    let server = repository();
    let mine = |row: &Value| text(row, "kind") == "run" && text(row, "step") == "helm-update-chart";
    let compared = compare(&rows, mine, |row| {
        let row: Value =
            serde_json::from_str(&row.to_string().replace("$SERVER", &server)).unwrap();
        let mut bench = Bench::new();
        bench.steps = tidewaiter::steps::registry().with(HelmUpdateChart::default());
        let chart = &row["chartYaml"];
        bench.put(text(chart, "path"), &chart["data"].to_string());
        let result = bench.run("helm-update-chart", &row["config"]);
        let outcome = result.map_err(|error| error.sentence())?;
        same(
            "output",
            json!(outcome.output),
            row["want"]["output"].clone(),
        )?;
        let wanted = row["want"]["files"].as_object().unwrap().clone();
        // The row's Chart.yaml is JSON here, where a value has quotes.
        let (charts, others): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|(path, _)| path.ends_with("Chart.yaml"));
        for (path, _) in charts {
            let chart: Value = serde_saphyr::from_str(&bench.get(&path)).unwrap();
            same("version", chart["version"].clone(), json!("0.1.0"))?;
        }
        left_behind(&mut bench, &Value::Object(others.into_iter().collect()))
    });
    println!("helm-update-chart: {compared} of {compared} agree");
    assert_eq!(compared, 2);
}
