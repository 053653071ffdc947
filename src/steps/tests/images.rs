//! kustomize-set-image, by bytes.

use serde_json::json;

use super::bench::Bench;
use crate::{
    kargo::artifact::{FreightCollection, FreightReference, Image as FreightImage, Origin},
    steps::kustomize_set_image::{Image, Images, set_images},
};

fn tag(name: &str, tag: &str) -> Images {
    Images::from([(
        name.to_owned(),
        Image {
            new_tag: Some(tag.into()),
            ..Image::default()
        },
    )])
}

fn digest(name: &str, digest: &str) -> Images {
    Images::from([(
        name.to_owned(),
        Image {
            digest: Some(digest.into()),
            ..Image::default()
        },
    )])
}

fn renamed(name: &str, to: &str, tag: &str) -> Images {
    Images::from([(
        name.to_owned(),
        Image {
            new_name: Some(to.into()),
            new_tag: Some(tag.into()),
            digest: None,
        },
    )])
}

#[test]
fn only_the_entry_changes() {
    let two = Images::from_iter(tag("a", "v1").into_iter().chain(digest("b", "sha256:1")));
    let cases: Vec<(&str, &str, Images, &str)> = vec![
        (
            "C29",
            "# overlay\nresources:\n- ../base\n",
            tag("org/app", "2.0"),
            "# overlay\nresources:\n- ../base\nimages:\n- name: org/app\n  newTag: \"2.0\"\n",
        ),
        (
            "C31",
            "resources: []\n",
            tag("registry.example:5000/app", "7"),
            "resources: []\nimages:\n- name: registry.example:5000/app\n  newTag: \"7\"\n",
        ),
        (
            "indented lists",
            "resources:\n  - ../base # c\n# end\n",
            tag("a", "v1"),
            "resources:\n  - ../base # c\nimages:\n  - name: a\n    newTag: v1\n# end\n",
        ),
        (
            "no final newline",
            "resources:\n- ../base",
            tag("a", "v1"),
            "resources:\n- ../base\nimages:\n- name: a\n  newTag: v1",
        ),
        (
            "CRLF",
            "resources:\r\n- ../base\r\n",
            tag("a", "v1"),
            "resources:\r\n- ../base\r\nimages:\r\n- name: a\r\n  newTag: v1\r\n",
        ),
        (
            "mark",
            "\u{feff}kind: K\n",
            tag("a", "v1"),
            "\u{feff}kind: K\nimages:\n- name: a\n  newTag: v1\n",
        ),
        (
            "empty file",
            "",
            tag("a", "v1"),
            "images:\n- name: a\n  newTag: v1\n",
        ),
        (
            "comments only",
            "# c",
            tag("a", "v1"),
            "# c\nimages:\n- name: a\n  newTag: v1\n",
        ),
        (
            "marker only",
            "---\n",
            tag("a", "v1"),
            "---\nimages:\n- name: a\n  newTag: v1\n",
        ),
        (
            "block text last",
            "patch: |+\n  x\n\n",
            tag("a", "v1"),
            "patch: |+\n  x\n\nimages:\n- name: a\n  newTag: v1\n",
        ),
        (
            "block text last, clipped",
            "patch: |\n  x\n\n# c\n",
            tag("a", "v1"),
            "patch: |\n  x\nimages:\n- name: a\n  newTag: v1\n\n# c\n",
        ),
        (
            "document end",
            "kind: K\n...\n",
            tag("a", "v1"),
            "kind: K\nimages:\n- name: a\n  newTag: v1\n...\n",
        ),
        (
            "two new",
            "kind: K\n",
            two,
            "kind: K\nimages:\n- name: a\n  newTag: v1\n- name: b\n  digest: sha256:1\n",
        ),
        (
            "null list",
            "images: # here\nkind: K\n",
            tag("a", "v1"),
            "images: # here\n- name: a\n  newTag: v1\nkind: K\n",
        ),
        (
            "empty list",
            "images: [] # here\nkind: K\n",
            tag("a", "v1"),
            "images: # here\n- name: a\n  newTag: v1\nkind: K\n",
        ),
        (
            "null word",
            "kind: K\nimages: null",
            tag("a", "v1"),
            "kind: K\nimages:\n- name: a\n  newTag: v1",
        ),
        (
            "update, comments and order kept",
            "images:\n# first\n- name: b # b\n  newTag: '1' # t\n\n- newTag: 2.0\n  name: a\nx: 1\n",
            tag("b", "3"),
            "images:\n# first\n- name: b # b\n  newTag: '3' # t\n\n- newTag: 2.0\n  name: a\nx: 1\n",
        ),
        (
            "update, tag first",
            "images:\n- newTag: v2\n  name: a\n",
            tag("a", "v3"),
            "images:\n- newTag: v3\n  name: a\n",
        ),
        (
            "update the same",
            "images:\n- name: a\n  newTag: v1 # c\n",
            tag("a", "v1"),
            "images:\n- name: a\n  newTag: v1 # c\n",
        ),
        (
            "append in their style",
            "images:\n  -   name: b\n      newTag: v1\n# end\nx: 1\n",
            tag("a", "v1"),
            "images:\n  -   name: b\n      newTag: v1\n  -   name: a\n      newTag: v1\n# end\nx: 1\n",
        ),
        (
            "tag to digest",
            "images:\n- name: a\n  newTag: \"1\" # c\n  newName: b\n",
            digest("a", "sha256:1"),
            "images:\n- name: a\n  digest: \"sha256:1\" # c\n",
        ),
        (
            "digest to tag",
            "images:\n- digest: sha256:1\n  name: a\n",
            tag("a", "v1"),
            "images:\n- newTag: v1\n  name: a\n",
        ),
        (
            "both to tag",
            "images:\n- digest: sha256:1\n  name: a\n  newTag: v0\n",
            tag("a", "v1"),
            "images:\n- name: a\n  newTag: v1\n",
        ),
        (
            "name only",
            "images:\n- name: a\nx: 1\n",
            tag("a", "v1"),
            "images:\n- name: a\n  newTag: v1\nx: 1\n",
        ),
        (
            "new name kept",
            "images:\n- name: a\n  newName: b\n  newTag: v0\n",
            renamed("a", "*", "v1"),
            "images:\n- name: a\n  newName: b\n  newTag: v1\n",
        ),
        (
            "new name added",
            "images:\n- name: a\n  newTag: v0",
            renamed("a", "r/b", "v1"),
            "images:\n- name: a\n  newTag: v1\n  newName: r/b",
        ),
        (
            "new name dropped at the end",
            "images:\n- name: a\n  newTag: v0\n  newName: b",
            tag("a", "v1"),
            "images:\n- name: a\n  newTag: v1",
        ),
        (
            "flow",
            "images: [{name: a, newTag: v0}, {name: b, digest: 'x'}]\n",
            tag("b", "v1"),
            "images: [{name: a, newTag: v0}, {name: b, newTag: 'v1'}]\n",
        ),
        (
            "flow, append",
            "images: [{name: a, newTag: v0}]\n",
            tag("b", "1"),
            "images: [{name: a, newTag: v0}, {name: b, newTag: \"1\"}]\n",
        ),
        (
            "flow, add and drop",
            "images:\n- {name: a, newName: x}\n",
            tag("a", "v1"),
            "images:\n- {name: a, newTag: v1}\n",
        ),
        (
            "flow file",
            "{kind: K}\n",
            tag("b", "v1"),
            "{kind: K, images: [{name: b, newTag: v1}]}\n",
        ),
        (
            "empty flow file",
            "{}\n",
            tag("b", "v1"),
            "{images: [{name: b, newTag: v1}]}\n",
        ),
        (
            "JSON",
            "{\"images\":[{\"name\":\"a\",\"newTag\":\"1\"}]}\n",
            tag("a", "2"),
            "{\"images\":[{\"name\":\"a\",\"newTag\":\"2\"}]}\n",
        ),
        (
            "other keys stay",
            "images:\n- name: a\n  tagSuffix: -x\n  newTag: v0\n",
            tag("a", "v1"),
            "images:\n- name: a\n  tagSuffix: -x\n  newTag: v1\n",
        ),
    ];
    for (case, before, images, after) in cases {
        assert_eq!(
            set_images(before, &images)
                .map_err(|error| error.to_string())
                .as_deref(),
            Ok(after),
            "{case}"
        );
        assert_eq!(
            set_images(after, &images).as_deref(),
            Ok(after),
            "{case}, again"
        );
    }
}

#[test]
fn what_is_not_a_list_of_images_is_refused() {
    for (text, said) in [
        ("images: x\n", "not a plain list"),
        ("images: {a: b}\n", "not a plain list"),
        ("a: &x []\nimages: *x\n", "not a plain list"),
        ("images: [x]\n", "not a mapping"),
        ("images:\n- name: a\n- name: a\n", "twice"),
        ("images: []\nimages: []\n", "twice"),
        ("- a\n", "not a mapping"),
        ("a: [\n", "not YAML"),
    ] {
        let error = set_images(text, &tag("a", "v1")).unwrap_err().to_string();
        assert!(error.contains(said), "{text:?}: {error}");
    }
}

/// C34.
#[test]
fn the_three_names_of_the_file() {
    let config = json!({"path": "k", "images": [{"image": "a", "tag": "v1"}]});
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        let mut bench = Bench::new();
        bench.put(&format!("k/{name}"), "kind: K\n");
        let outcome = bench.run("kustomize-set-image", &config).unwrap();
        assert_eq!(
            outcome.output["commitMessage"],
            "Updated k to use new image\n\n- a:v1"
        );
        assert!(bench.get(&format!("k/{name}")).contains("newTag: v1"));
    }
    let mut bench = Bench::new();
    bench.put("k/other", "");
    let said = bench.refused("kustomize-set-image", &config);
    assert!(
        said.contains("kustomization.yaml, kustomization.yml, Kustomization"),
        "{said}"
    );
    bench.put("k/kustomization.yml", "a: 1\n");
    bench.put("k/Kustomization", "a: 1\n");
    assert!(
        bench
            .refused("kustomize-set-image", &config)
            .contains("ambiguous")
    );
}

/// C32.
#[test]
fn an_image_without_tag_and_digest_is_refused() {
    let problems = Bench::new().check(
        "kustomize-set-image",
        &json!({"path": "k", "images": [{"image": "org/app"}]}),
    );
    assert!(
        problems[0].starts_with("images.0:") && problems[0].contains("digest, tag"),
        "{problems:?}"
    );
}

#[test]
fn images_of_the_freight_where_none_are_listed() {
    let mut bench = Bench::new();
    bench.put("kustomization.yaml", "kind: K\n");
    let item = |origin: &str, repo_url: &str| FreightReference {
        origin: Some(Origin::warehouse(origin)),
        images: vec![FreightImage {
            repo_url: repo_url.into(),
            tag: "1.2".into(),
            ..FreightImage::default()
        }],
        ..FreightReference::default()
    };
    bench.around.freight = FreightCollection::new([item("w1", "a"), item("w2", "b")]);
    bench
        .run("kustomize-set-image", &json!({"path": "."}))
        .unwrap();
    assert_eq!(
        bench.get("kustomization.yaml"),
        "kind: K\nimages:\n- name: a\n  newTag: \"1.2\"\n- name: b\n  newTag: \"1.2\"\n"
    );
    bench.around.freight = FreightCollection::new([item("w1", "a"), item("w2", "a")]);
    assert!(
        bench
            .refused("kustomize-set-image", &json!({"path": ".", "images": []}))
            .contains("ambiguous")
    );
}
