use super::{fixture::Repo, *};

#[test]
fn a_blob_comes_back_byte_for_byte() {
    let repo = Repo::new();
    let bytes = b"a\r\nb\0\xff";
    let id = repo.objects.write_blob(bytes).unwrap();
    assert_eq!(repo.objects.read_blob(&id).unwrap(), bytes);
    assert!(repo.objects.contains(id.as_str()));
    assert_eq!(repo.git(&["cat-file", "-t", id.as_str()]).trim(), "blob");
}

#[test]
fn what_cannot_be_read_is_absent_and_nothing_else_suffers() {
    let repo = Repo::new();
    let good = repo.objects.write_blob(b"good").unwrap();
    let missing: BlobId = "00000000000000000000000000000000000000aa".parse().unwrap();
    assert!(repo.objects.read_blob(&missing).unwrap_err().is_absent());

    let damaged = repo.objects.write_blob(b"damaged").unwrap();
    let (dir, file) = damaged.as_str().split_at(2);
    let path = repo.path().join("objects").join(dir).join(file);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"not zlib").unwrap();
    assert!(repo.objects.read_blob(&damaged).unwrap_err().is_absent());

    // Another object's bytes under this name: only the check of the hash notices.
    let (dir, file) = good.as_str().split_at(2);
    std::fs::remove_file(&path).unwrap();
    std::fs::copy(repo.path().join("objects").join(dir).join(file), &path).unwrap();
    assert!(
        Objects::open(&repo.path())
            .unwrap()
            .read_blob(&damaged)
            .unwrap_err()
            .is_absent()
    );

    let tree = repo.tree(&[("a", "1")]);
    assert!(
        repo.objects
            .read_blob(&tree.as_str().parse().unwrap())
            .unwrap_err()
            .is_absent(),
        "another kind"
    );
    assert_eq!(repo.objects.read_blob(&good).unwrap(), b"good");
}

#[test]
fn only_a_repository_itself_is_opened() {
    let repo = Repo::new();
    let inside = repo.path().join("objects");
    assert!(matches!(
        Objects::open(&inside),
        Err(ObjectsError::Open { .. })
    ));
    assert!(Objects::open(&repo.dir.path().join("none")).is_err());
}

#[test]
fn jobs_that_meet_share_one_new_repository() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/scratch.git");
    let ids: Vec<BlobId> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..8u8)
            .map(|n| {
                let path = &path;
                scope.spawn(move || {
                    Objects::open_or_create(path)
                        .unwrap()
                        .write_blob(&[n])
                        .unwrap()
                })
            })
            .collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });
    let objects = Objects::open(&path).unwrap();
    assert!(ids.iter().all(|id| objects.contains(id.as_str())));
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside it: {left:?}");
}
