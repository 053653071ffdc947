//! helm-template and helm-update-chart: with a small program in the place of Helm, and with Helm where it is installed.

use serde_json::json;

use super::{
    bench::Bench,
    programs::{Fakes, nothing_left, real, with},
};
use crate::steps::program::Programs;

const RENDERED: &str = "---\n# Source: c/templates/a.yaml\napiVersion: apps.example/v1\nkind: App\nmetadata:\n  name: A\n  namespace: n\n---\n# Source: c/templates/b.yaml\n# nothing but words\n---\n# Source: c/templates/h.yaml\nkind: Pod\nmetadata:\n  name: h\n  annotations:\n    helm.sh/hook: test\n";

fn chart(bench: &mut Bench) {
    bench.put(
        "src/c/Chart.yaml",
        "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    );
    bench.put("src/c/templates/a.yaml", "kind: A\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\nv: {{ .Values.x }}/{{ .Values.y }}\n");
    bench.put("src/v,1.yaml", "x: 1\n");
}

#[test]
fn helm_is_told_what_the_configuration_says() {
    let script = format!("printf '%s\\n' \"$@\" >> \"$LOG\"; printf '%s' '{RENDERED}'");
    let fakes = Fakes::new(&[("helm", &script)]);
    let mut bench = fakes.bench();
    chart(&mut bench);
    let config = json!({
        "path": "src/c", "outPath": "out/all.yaml", "releaseName": "-r", "useReleaseName": true, "namespace": "ns",
        "valuesFiles": ["src/v,1.yaml", "none.yaml"], "ignoreMissingValueFiles": true,
        "setValues": [{"key": "a", "value": "b,c"}, {"key": "d", "value": "e,f", "literal": true}],
        "includeCRDs": true, "disableHooks": true, "skipTests": true, "kubeVersion": "1.30.0",
        "apiVersions": ["x/v1", "y"],
    });
    bench.run("helm-template", &config).unwrap();
    assert_eq!(bench.get("out/all.yaml"), RENDERED);
    let said = fakes.said();
    let args: Vec<&str> = said.lines().collect();
    let wanted = [
        "template",
        "--namespace=ns",
        "--include-crds",
        "--no-hooks",
        "--skip-tests",
        "--values=\"",
        "--set=a=b,c",
        "--set-literal=d=e,f",
        "--kube-version=1.30.0",
        "--api-versions=x/v1",
        "--api-versions=y",
        "--",
        "-r",
    ];
    assert_eq!(args.len(), wanted.len() + 1, "{said}");
    for (arg, wanted) in args.iter().zip(wanted) {
        assert!(arg.starts_with(wanted), "{arg} is not {wanted}");
    }
    assert!(
        args[5].ends_with("/files/src/v,1.yaml\"") && args[13].ends_with("/files/src/c"),
        "{said}"
    );

    let said = bench.refused("helm-template", &json!({"path": "src/c", "outPath": "o", "releaseName": "r", "valuesFiles": ["src/v1.yaml"]}));
    assert!(
        said.contains("failed to compose values") && said.contains("v,1.yaml"),
        "{said}"
    );
    let said = bench.refused(
        "helm-template",
        &json!({"path": "src/d", "outPath": "o", "releaseName": "r"}),
    );
    assert!(said.contains("no chart src/d"), "{said}");
}

#[test]
fn helms_layouts() {
    let script = format!(
        "for a; do case \"$a\" in --output-dir=*) out=\"${{a#--output-dir=}}\";; esac; done\n\
         if [ -n \"$out\" ]; then mkdir -p \"$out/c/templates\"; echo x > \"$out/c/templates/a.yaml\"; echo wrote; \
         else printf '%s' '{RENDERED}'; fi"
    );
    let fakes = Fakes::new(&[("helm", &script)]);
    let mut bench = fakes.bench();
    chart(&mut bench);
    let config = |layout: &str| json!({"path": "src/c", "outPath": layout, "releaseName": "r", "outLayout": layout});
    bench.run("helm-template", &config("helm")).unwrap();
    assert_eq!(bench.get("helm/c/templates/a.yaml"), "x\n");
    bench.run("helm-template", &config("flat")).unwrap();
    let flat: Vec<String> = bench
        .all()
        .into_iter()
        .filter(|path| path.starts_with("flat/"))
        .collect();
    assert_eq!(
        flat,
        [
            "flat/apps_example-app-n-a.yaml",
            "flat/pod-h.yaml",
            "flat/resource-0.yaml"
        ]
    );
    assert!(
        bench
            .get("flat/apps_example-app-n-a.yaml")
            .starts_with("# Source: c/templates/a.yaml\n")
    );
    assert!(
        bench.get("flat/pod-h.yaml").starts_with("kind: Pod\n"),
        "as Kargo writes a hook"
    );
    assert!(
        bench
            .get("flat/resource-0.yaml")
            .ends_with("# nothing but words")
    );
}

#[test]
fn the_real_helm_agrees() {
    let Some(programs) = real("helm") else { return };
    let mut bench = with(programs);
    chart(&mut bench);
    let config = |out: &str| {
        json!({"path": "src/c", "outPath": out, "releaseName": "r", "valuesFiles": ["src/v,1.yaml"],
        "setValues": [{"key": "y", "value": "a,b", "literal": true}]})
    };
    bench.run("helm-template", &config("o.yaml")).unwrap();
    assert_eq!(
        bench.get("o.yaml"),
        "---\n# Source: c/templates/a.yaml\nkind: A\nmetadata: {name: r, namespace: shop}\nv: 1/a,b\n"
    );
    bench.run("helm-template", &config("o")).unwrap();
    assert_eq!(bench.get("o/c/templates/a.yaml"), bench.get("o.yaml"));
    bench.put("src/c/templates/bad.yaml", "{{ .Values.a.b.c }}");
    let said = bench.refused("helm-template", &config("o.yaml"));
    assert!(
        said.contains("helm failed") && said.contains("c/templates/bad.yaml"),
        "{said}"
    );

    // A local chart needs no network, and gives the same bytes whenever it is packed.
    let mut states = Vec::new();
    for _ in 0..2 {
        let Some(programs) = real("helm") else { return };
        let mut bench = with(programs);
        chart(&mut bench);
        bench.put("src/main/Chart.yaml", "apiVersion: v2\nname: main\nversion: 1.0.0\ndependencies:\n- name: c\n  version: 0.1.0\n  repository: file://../c\n");
        let outcome = bench
            .run("helm-update-chart", &json!({"path": "src/main"}))
            .unwrap();
        assert_eq!(
            outcome.output["commitMessage"],
            "Updated chart dependencies for src/main\n\n- c: 0.1.0"
        );
        assert!(
            bench
                .get("src/main/Chart.lock")
                .contains("generated: \"2026-01-02T03:04:05Z\"")
        );
        let build = json!({"path": "src/main", "outPath": "o.yaml", "releaseName": "r", "buildDependencies": true});
        bench.run("helm-template", &build).unwrap();
        assert!(
            bench
                .get("o.yaml")
                .contains("# Source: main/charts/c/templates/a.yaml")
        );
        states.push(bench.files.state.clone());
    }
    assert_eq!(states[0], states[1]);
}

/// In the place of `helm dependency update`: a lock with versions, and an archive for each.
fn updating(versions: &str) -> String {
    format!(
        "echo \"$1 $2\" >> \"$LOG\"; cat \"$HELM_REPOSITORY_CONFIG\" >> \"$LOG\"; cd \"$4\" || exit 1; rm -rf charts; mkdir charts\n\
         {{ echo 'dependencies:'; for v in {versions}; do echo \"- name: ${{v%%:*}}\"; echo '  repository: https://charts.example'; \
         echo \"  version: ${{v#*:}}\"; echo x > \"charts/${{v%%:*}}-${{v#*:}}.tgz\"; done; echo 'digest: sha256:1'; \
         echo \"generated: \\\"$(date +%N)\\\"\"; }} > Chart.lock"
    )
}

const MAIN: &str = "apiVersion: v2 # keep\nname: main\ndependencies:\n  - name: a   # the first\n    version: '1.0.0'\n    repository: https://charts.example\n";

#[test]
fn the_versions_of_a_chart_are_set_and_brought() {
    let fakes = Fakes::new(&[("helm", &updating("a:2.0.0 b:0.1.0"))]);
    let mut bench = fakes.bench();
    bench.put("c/Chart.yaml", MAIN);
    bench.put("c/Chart.lock", "dependencies:\n- name: a\n  version: 1.0.0\n- name: z\n  version: 9.0.0\ngenerated: \"x\"\n");
    bench.put("c/charts/a-1.0.0.tgz", "old");
    let config = json!({"path": "./c", "charts": [{"repository": "https://charts.example", "name": "a", "version": "2.0.0"}]});
    let outcome = bench.run("helm-update-chart", &config).unwrap();
    assert_eq!(
        outcome.output["commitMessage"],
        "Updated chart dependencies for ./c\n\n- a: 1.0.0 -> 2.0.0\n- b: 0.1.0\n- z: removed"
    );
    assert_eq!(
        bench.get("c/Chart.yaml"),
        MAIN.replace("'1.0.0'", "'2.0.0'")
    );
    assert_eq!(
        bench.all(),
        [
            "c/Chart.lock",
            "c/Chart.yaml",
            "c/charts/a-2.0.0.tgz",
            "c/charts/b-0.1.0.tgz"
        ]
    );
    assert!(
        bench
            .get("c/Chart.lock")
            .contains("generated: \"2026-01-02T03:04:05Z\"\n")
    );
    let said = fakes.said();
    assert!(
        said.starts_with("dependency update\n") && said.contains("https://charts.example"),
        "{said}"
    );
    nothing_left(&bench);

    // Nothing new: the lock stays as it is, its time too, and there is a message all the same (C41).
    let state = bench.files.state.clone();
    let outcome = bench.run("helm-update-chart", &config).unwrap();
    assert_eq!(bench.files.state, state);
    assert_eq!(
        outcome.output["commitMessage"],
        "Updated chart dependencies for ./c\n\n- a: 2.0.0"
    );
}

#[test]
fn what_was_brought_is_not_brought_again() {
    let fakes = Fakes::new(&[("helm", &updating("a:1.0.0"))]);
    let mut bench = fakes.bench();
    bench.put("c/Chart.yaml", MAIN);
    let start = bench.files.state.clone();
    bench
        .run("helm-update-chart", &json!({"path": "c"}))
        .unwrap();
    let first = std::mem::replace(&mut bench.files.state, start);
    bench
        .run("helm-update-chart", &json!({"path": "c"}))
        .unwrap();
    assert_eq!(bench.files.state, first);
    assert_eq!(fakes.said().matches("dependency update").count(), 1);
}

#[test]
fn helm_update_chart_says_what_is_wrong_and_changes_nothing() {
    let mut bench = with(Programs::on("/nonexistent"));
    bench.put("c/Chart.yaml", MAIN);
    let update = |name: &str| json!({"path": "c", "charts": [{"repository": "https://charts.example", "name": name, "version": "2.0.0"}]});
    let said = bench.refused("helm-update-chart", &update("a"));
    assert!(
        said.contains("helm") && said.contains("PATH") && said.contains("https://helm.sh"),
        "{said}"
    );
    let said = bench.refused("helm-update-chart", &update("b"));
    assert!(
        said.contains("no dependency in Chart.yaml matches")
            && said.contains("a of https://charts.example"),
        "{said}"
    );
    bench.put("none/Chart.yaml", "name: c\n");
    bench
        .run("helm-update-chart", &json!({"path": "none"}))
        .unwrap();
    for bad in ["/etc", "../../x"] {
        bench.put(
            "l/Chart.yaml",
            &format!("dependencies:\n- name: a\n  version: 1\n  repository: file://{bad}\n"),
        );
        let said = bench.refused("helm-update-chart", &json!({"path": "l"}));
        assert!(said.contains(bad), "{said}");
    }
    bench.put("y/Chart.yaml", "dependencies: [\n");
    let said = bench.refused("helm-update-chart", &json!({"path": "y"}));
    assert!(said.contains("y/Chart.yaml"), "{said}");
    let said = bench.refused("helm-update-chart", &json!({"path": "x"}));
    assert!(said.contains("no file x/Chart.yaml"), "{said}");
}
