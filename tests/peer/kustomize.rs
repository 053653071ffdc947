//! Finding and editing kustomizations.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidewaiter::steps::kustomize_set_image::{self, Image, Images};

use crate::{bench::Bench, *};

pub fn images(target: &Value) -> Images {
    let image = |image: &Value| {
        let field = |name: &str| image[name].as_str().map(str::to_owned);
        let fields = Image {
            new_name: field("newName"),
            new_tag: field("newTag"),
            digest: field("digest"),
        };
        (text(image, "name").to_owned(), fields)
    };
    target
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, value)| image(value))
        .collect()
}

fn images_of(text: &str) -> Value {
    serde_saphyr::from_str::<Value>(text).unwrap()["images"].clone()
}

fn with_images(before: &str, images: &Images) -> Result<Value, String> {
    kustomize_set_image::set_images(before, images)
        .map(|after| images_of(&after))
        .map_err(|error| error.to_string())
}

/// Kargo's map of images by name, from our list.
fn by_name(images: &Value, wanted: &Value) -> Result<(), String> {
    let map: BTreeMap<&str, &Value> = images
        .as_array()
        .unwrap()
        .iter()
        .map(|image| (text(image, "name"), image))
        .collect();
    checks(&json!(map), wanted)
}

fn find_kustomization(row: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    set_up(&mut bench, row)?;
    let path = Some(text(row, "path"))
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    match bench.run(
        "kustomize-set-image",
        &json!({"path": path, "images": [{"image": "nginx", "tag": "1"}]}),
    ) {
        Err(error) => said(text(row, "id"), &error.sentence(), &row["want"]["error"]),
        Ok(_) => {
            let all = bench.all();
            let changed: Vec<String> = all
                .into_iter()
                .filter(|path| bench.get(path).contains("nginx"))
                .collect();
            checks(&json!(changed.join(" ")), &row["want"]["outChecks"])
        }
    }
}

#[test]
fn kustomizations_are_found_and_edited_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| text(row, "kind").starts_with("kustomize-");
    let compared = compare(&rows, mine, |row| {
        let want = &row["want"];
        match text(row, "kind") {
            "kustomize-find" => find_kustomization(row),
            "kustomize-merge-images" => {
                let before = json!({"images": row["current"]}).to_string();
                checks(
                    &with_images(&before, &images(&row["target"]))?,
                    &want["outChecks"],
                )
            }
            "kustomize-update-file" => same(
                "images",
                &with_images(text(row, "in"), &images(&row["target"]))?,
                &want["images"],
            ),
            "kustomize-target-images" => {
                let mut bench = Bench::new();
                bench.put("kustomization.yaml", "");
                bench
                    .run(
                        "kustomize-set-image",
                        &json!({"path": ".", "images": row["images"]}),
                    )
                    .unwrap();
                by_name(
                    &images_of(&bench.get("kustomization.yaml")),
                    &want["outChecks"],
                )
            }
            "kustomize-auto-images" => {
                let freight = serde_json::from_value(json!({"items": row["freight"]})).unwrap();
                match kustomize_set_image::from_freight(&freight) {
                    Err(error) => said(text(row, "id"), &error.sentence(), &want["error"]),
                    Ok(images) => by_name(&with_images("", &images)?, &want["outChecks"]),
                }
            }
            other => Err(format!("{other} is not known")),
        }
    });
    assert_eq!(compared, 14);
}
