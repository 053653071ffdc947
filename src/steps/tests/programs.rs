//! kustomize-build, and programs at large: with a small program in the place of kustomize, and with the real one where
//! it is installed.

use std::{path::PathBuf, process::Command, time::Duration};

use serde_json::json;

use super::bench::Bench;
use crate::{
    engine::workspace::MirrorPaths,
    git::tree::Mode,
    steps::{
        helm_template::HelmTemplate,
        helm_update_chart::HelmUpdateChart,
        kustomize_build::KustomizeBuild,
        program::{HELM, KUSTOMIZE, Programs},
        registry,
    },
};

const URL: &str = "https://example.com/a.git";

/// A folder with programs, and what they said of how they were called.
pub struct Fakes(tempfile::TempDir);

impl Fakes {
    pub fn new(programs: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fakes = Self(dir);
        for (name, script) in programs {
            fakes.add(name, script);
        }
        fakes
    }

    /// Written by another process: a file that this one has open for writing, be it in a child of another test, cannot
    /// be run.
    fn add(&self, name: &str, script: &str) {
        let text = format!("#!/bin/sh\nLOG={}\n{script}\n", self.log().display());
        let made = Command::new("sh")
            .args([
                "-c",
                "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"",
                "sh",
                &text,
            ])
            .arg(self.0.path().join(name))
            .status();
        assert!(made.unwrap().success());
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("log")
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    pub fn programs(&self) -> Programs {
        Programs::on(format!("{}:/usr/bin:/bin", self.0.path().display()))
    }

    pub fn bench(&self) -> Bench {
        with(self.programs())
    }
}

pub fn with(programs: Programs) -> Bench {
    let mut bench = Bench::new();
    bench.steps = registry()
        .with(KustomizeBuild {
            programs: programs.clone(),
        })
        .with(HelmTemplate {
            programs: programs.clone(),
        })
        .with(HelmUpdateChart { programs });
    bench
}

/// The real programs, where they are.
pub fn real(name: &str) -> Option<Programs> {
    let programs = Programs::default();
    let found = [HELM, KUSTOMIZE]
        .iter()
        .find(|known| known.name == name)
        .map(|known| programs.find(known));
    if !matches!(found, Some(Ok(_))) {
        eprintln!("not tried with the real {name}: it is not in PATH");
        return None;
    }
    Some(programs)
}

pub fn nothing_left(bench: &Bench) {
    let left = std::fs::read_dir(bench.paths.folders()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "folders are removed");
}

const OUT: &str =
    r#"for a; do case "$a" in --output=*) out="${a#--output=}";; esac; last="$a"; done"#;

const TWO: &str = "apiVersion: serving.example/v1\nkind: Service\nmetadata:\n  name: A\n  namespace: ns\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns\n";

fn overlay(bench: &mut Bench) {
    bench.put("src/apps/prod/kustomization.yaml", "resources:\n- ../../base\n- ../common.yaml\nconfigMapGenerator:\n- name: c\n  files:\n  - x.txt=../../files/x.txt\n");
    bench.put("src/base/kustomization.yaml", "resources: [a.yaml]\n");
    bench.put(
        "src/base/a.yaml",
        "kind: A\napiVersion: v1\nmetadata: {name: a}\n",
    );
    bench.put(
        "src/apps/common.yaml",
        "kind: B\napiVersion: v1\nmetadata: {name: b, namespace: n}\n",
    );
    bench.put("src/files/x.txt", "content\n");
    bench.put("src/other/secret", "not exported\n");
}

#[test]
fn kustomize_finds_what_the_kustomization_speaks_of_and_nothing_of_the_user() {
    let script = format!(
        r#"{OUT}
        echo "args: $*" >> "$LOG"; pwd >> "$LOG"; find . -type f | sort >> "$LOG"
        cat "$last/kustomization.yaml" >> "$LOG"; env | sort >> "$LOG"; cat >> "$LOG"
        printf 'kind: K\nmetadata: {{name: k}}\n' > "$out""#
    );
    let fakes = Fakes::new(&[("kustomize", &script), ("helm", "")]);
    let mut bench = fakes.bench();
    overlay(&mut bench);
    let config = json!({"path": "src/apps/prod", "outPath": "out/all.yaml",
        "plugin": {"helm": {"kubeVersion": "1.30.0", "apiVersions": ["a/v1", "b"]}}});
    bench.run("kustomize-build", &config).unwrap();
    assert_eq!(bench.get("out/all.yaml"), "kind: K\nmetadata: {name: k}\n");
    let said = fakes.said();
    let helm = fakes.0.path().join("helm");
    for wanted in [
        "args: build --enable-helm",
        &format!("--helm-command={}", helm.display()),
        "--helm-kube-version=1.30.0",
        "--helm-api-versions=a/v1",
        "-- ./src/apps/prod\n",
        "./src/base/a.yaml\n",
        "./src/apps/prod/.brought/1/common.yaml\n",
        "- x.txt=.brought/0/x.txt\n",
        "GIT_ALLOW_PROTOCOL=none\n",
        "HTTPS_PROXY=http://127.0.0.1:1\n",
        "KUBECONFIG=/dev/null\n",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!said.contains("secret"), "{said}");
    let folders = bench.paths.folders();
    let outside = [
        "LC_ALL",
        "LANG",
        "TZ",
        "PATH",
        "KUBECONFIG",
        "_PROXY",
        "_proxy",
        "GIT_",
        "SSH_ASKPASS",
        "_=",
        "SHLVL",
        "PWD",
        "OLDPWD",
    ];
    for line in said
        .lines()
        .filter(|line| line.contains('=') && !line.contains(' '))
    {
        let known = outside.iter().any(|name| line.contains(name));
        assert!(
            known || line.contains(&*folders.to_string_lossy()) || line.contains("x.txt="),
            "{line}"
        );
    }
    nothing_left(&bench);
}

#[test]
fn resources_are_named_as_kargo_names_them_and_none_is_lost() {
    let script = format!("{OUT}\nprintf '%s' '{TWO}' > \"$out\"");
    let fakes = Fakes::new(&[("kustomize", &script)]);
    let mut bench = fakes.bench();
    bench.put("k/kustomization.yaml", "resources: []\n");
    bench.put("out/stays", "1");
    bench
        .run("kustomize-build", &json!({"path": "k", "outPath": "out"}))
        .unwrap();
    assert_eq!(
        bench.all(),
        [
            "k/kustomization.yaml",
            "out/namespace-ns.yaml",
            "out/ns-service-a.yaml",
            "out/stays"
        ]
    );
    assert_eq!(
        bench.get("out/namespace-ns.yaml"),
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns\n"
    );
    let state = bench.files.state.clone();
    bench
        .run("kustomize-build", &json!({"path": "k", "outPath": "out"}))
        .unwrap();
    assert_eq!(bench.files.state, state, "the same again");

    let same = format!(
        "{OUT}\nprintf '{}' > \"$out\"",
        "kind: S\\nmetadata: {name: a}\\n---\\nkind: s\\nmetadata: {name: a}\\n"
    );
    let mut bench = Fakes::new(&[("kustomize", &same)]).bench();
    bench.put("k/kustomization.yaml", "resources: []\n");
    // The programs' folder is gone with the fakes.
    assert!(
        bench
            .refused("kustomize-build", &json!({"path": "k", "outPath": "o"}))
            .contains("kustomize")
    );
    let fakes = Fakes::new(&[("kustomize", &same)]);
    let mut bench = fakes.bench();
    bench.put("k/kustomization.yaml", "resources: []\n");
    let said = bench.refused("kustomize-build", &json!({"path": "k", "outPath": "o"}));
    assert!(
        said.contains("s-a.yaml") && said.contains("lost") && said.contains("outPath"),
        "{said}"
    );

    let evil = format!("{OUT}\nprintf 'kind: S\\nmetadata: {{name: ../../x}}\\n' > \"$out\"");
    let fakes = Fakes::new(&[("kustomize", &evil)]);
    let mut bench = fakes.bench();
    bench.put("k/kustomization.yaml", "resources: []\n");
    let said = bench.refused("kustomize-build", &json!({"path": "k", "outPath": "o"}));
    assert!(
        said.contains("unsafe generated resource filename"),
        "{said}"
    );
}

#[test]
fn a_program_that_is_not_there_fails_or_hangs_is_an_error_that_says_so() {
    let mut bench = with(Programs::on("/nonexistent"));
    bench.put("k/kustomization.yaml", "");
    bench.put("c/Chart.yaml", "name: c\n");
    let build = json!({"path": "k", "outPath": "o.yaml"});
    for (uses, config) in [
        ("kustomize-build", build.clone()),
        (
            "helm-template",
            json!({"path": "c", "outPath": "o", "releaseName": "r"}),
        ),
    ] {
        let said = bench.refused(uses, &config);
        assert!(
            said.contains("is not in PATH")
                && said.contains("https://")
                && said.contains("tried with"),
            "{said}"
        );
    }

    let fakes = Fakes::new(&[(
        "kustomize",
        "echo \"Error: no such file: $PWD/k/x.yaml\" >&2; exit 1",
    )]);
    let mut bench = fakes.bench();
    bench.branch(
        URL,
        "main",
        &[
            ("k/kustomization.yaml", "", Mode::File),
            ("k/out", "/etc", Mode::Link),
        ],
    );
    bench
        .run(
            "git-clone",
            &json!({"repoURL": URL, "checkout": [{"path": "."}]}),
        )
        .unwrap();
    let said = bench.refused("kustomize-build", &build);
    assert!(
        said.contains("kustomize failed: Error: no such file: k/x.yaml"),
        "{said}"
    );
    assert!(said.contains("left out: k/out"), "{said}");
    nothing_left(&bench);

    let hang = "sleep 600 & echo started >&2; wait";
    let fakes = Fakes::new(&[("kustomize", hang)]);
    let mut bench = with(fakes.programs().within(Duration::from_millis(300)));
    bench.put("k/kustomization.yaml", "");
    let said = bench.refused("kustomize-build", &build);
    assert!(
        said.contains("ended after") && said.contains("started"),
        "{said}"
    );
    nothing_left(&bench);

    let odd = format!("{OUT}\nmkfifo \"$(dirname \"$out\")/pipe\"; : > \"$out\"");
    let fakes = Fakes::new(&[("kustomize", &odd)]);
    let mut bench = fakes.bench();
    bench.put("k/kustomization.yaml", "");
    let said = bench.refused("kustomize-build", &build);
    assert!(said.contains("cannot be taken over"), "{said}");
}

#[test]
fn remote_parts_are_fetched_once() {
    let script =
        format!("{OUT}\necho \"run $GIT_ALLOW_PROTOCOL\" >> \"$LOG\"; date +%N > \"$out\"");
    let fakes = Fakes::new(&[("kustomize", &script)]);
    let mut bench = fakes.bench();
    for (name, part) in [
        ("a", "https://example.com/x?ref=v1"),
        ("b", "git@example.com:x.git"),
    ] {
        bench.put(
            &format!("{name}/kustomization.yaml"),
            &format!("resources: [{part}]\n"),
        );
        let config = json!({"path": name, "outPath": format!("{name}.yaml")});
        bench.run("kustomize-build", &config).unwrap();
        let first = bench.get(&format!("{name}.yaml"));
        bench.run("kustomize-build", &config).unwrap();
        assert_eq!(bench.get(&format!("{name}.yaml")), first);
    }
    assert_eq!(fakes.said(), "run http:https:ssh\nrun http:https:ssh\n");
    bench.put("a/more.yaml", "");
    bench
        .run(
            "kustomize-build",
            &json!({"path": "a", "outPath": "a.yaml"}),
        )
        .unwrap();
    assert_eq!(
        fakes.said().lines().count(),
        3,
        "other input is another fetch"
    );
}

#[test]
fn the_whole_directory_counts_as_read() {
    let fakes = Fakes::new(&[("kustomize", &format!("{OUT}\n: > \"$out\""))]);
    let mut bench = fakes.bench();
    let file = ("kustomization.yaml", "resources: []", Mode::File);
    bench.branch(
        URL,
        "main",
        &[
            ("a/kustomization.yaml", "resources: [../b]", Mode::File),
            ("a/x/y", "", Mode::File),
            ("b/kustomization.yaml", file.1, Mode::File),
            ("c/z", "", Mode::File),
        ],
    );
    bench
        .run(
            "git-clone",
            &json!({"repoURL": URL, "checkout": [{"path": "src"}]}),
        )
        .unwrap();
    bench
        .run(
            "kustomize-build",
            &json!({"path": "src/a", "outPath": "o.yaml"}),
        )
        .unwrap();
    let reads: Vec<String> = bench.files.state.mounts[0]
        .access
        .reads()
        .map(ToString::to_string)
        .collect();
    assert_eq!(reads, ["a", "b"]);
}

#[test]
fn the_real_kustomize_agrees() {
    let Some(programs) = real("kustomize") else {
        return;
    };
    let mut bench = with(programs);
    overlay(&mut bench);
    bench
        .run(
            "kustomize-build",
            &json!({"path": "src/apps/prod", "outPath": "out"}),
        )
        .unwrap();
    let out: Vec<String> = bench
        .all()
        .into_iter()
        .filter(|path| path.starts_with("out/"))
        .collect();
    assert_eq!(out.len(), 3, "{out:?}");
    assert!(out.contains(&"out/a-a.yaml".into()) && out.contains(&"out/n-b-b.yaml".into()));
    let map = out
        .iter()
        .find(|path| path.starts_with("out/configmap-c-"))
        .unwrap()
        .clone();
    assert!(
        bench.get(&map).contains("x.txt: |\n    content"),
        "{}",
        bench.get(&map)
    );
    bench
        .run(
            "kustomize-build",
            &json!({"path": "src/apps/prod", "outPath": "k", "outputFormat": "kustomize"}),
        )
        .unwrap();
    assert!(
        bench.exists("k/v1_a_a.yaml") && bench.exists("k/n_v1_b_b.yaml"),
        "{:?}",
        bench.all()
    );
    assert_eq!(bench.get("k/v1_a_a.yaml"), bench.get("out/a-a.yaml"));

    for bad in ["/etc/passwd", "../../../../../../../etc/passwd"] {
        bench.put(
            "bad/kustomization.yaml",
            &format!("configMapGenerator:\n- name: c\n  files: [\"{bad}\"]\n"),
        );
        let said = bench.refused(
            "kustomize-build",
            &json!({"path": "bad", "outPath": "o.yaml"}),
        );
        assert!(
            said.contains("security") || said.contains("not in or below"),
            "{said}"
        );
    }
}
