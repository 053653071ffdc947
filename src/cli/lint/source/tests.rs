use super::*;

/// Places of every `@` in the values of the file's first document.
fn marks(text: &str) -> Vec<(usize, usize)> {
    fn walk(source: &Source, node: &Node, found: &mut Vec<(usize, usize)>) {
        if let Some(text) = node.text() {
            for (offset, _) in text.match_indices('@') {
                let place = source.place_in(node, offset);
                found.push((place.line, place.column));
            }
        }
        node.items()
            .iter()
            .for_each(|item| walk(source, item, found));
        node.fields()
            .iter()
            .for_each(|entry| walk(source, &entry.value, found));
    }
    let source = Source::new("f", text);
    let (nodes, _) = source.read().unwrap();
    let mut found = Vec::new();
    nodes
        .iter()
        .for_each(|node| walk(&source, node, &mut found));
    found
}

#[test]
fn every_character_of_a_text_has_its_place() {
    for (text, expected) in [
        ("a: x@y\n", vec![(1, 5)]),
        ("a: 'it''s @ @'\n", vec![(1, 11), (1, 13)]),
        ("a: \"\\u00e9\\n\\\"@\"\n", vec![(1, 15)]),
        ("ä: ü@\n", vec![(1, 5)]),
        ("\u{feff}a: .@\n", vec![(1, 5)]),
        (
            "a: |\n  one\n    two @\n  @\nb: .@\n",
            vec![(3, 9), (4, 3), (5, 5)],
        ),
        ("a: |-\r\n  one\r\n\r\n  @ x@\r\n", vec![(4, 3), (4, 6)]),
        ("a: >\n  one\n  two @\n\n  three@\n", vec![(3, 7), (5, 8)]),
        ("a: one\n  two @\n", vec![(2, 7)]),
        ("a: \"one\n  two @ \\\n  x@\"\n", vec![(2, 7), (3, 4)]),
        ("a: !!str .@b\n", vec![(1, 11)]),
        ("a: &x 'q@'\nb: *x\n", vec![(1, 9), (1, 9)]),
        ("{\"a\": [\"@\", {\"b\": \"c@\"}]}", vec![(1, 9), (1, 21)]),
        ("a: 1\n---\n# c\n- .@x\n- b@\n", vec![(4, 4), (5, 4)]),
    ] {
        assert_eq!(marks(text), expected, "{text}");
    }
}

#[test]
fn types_merges_and_twice() {
    let source = Source::new(
        "f",
        "a: &a {x: 1, y: yes, z: \"2\"}\nb: {<<: *a, x: true}\nc: ~\nc: 2\nd:\n",
    );
    let (nodes, twice) = source.read().unwrap();
    assert_eq!(
        nodes[0].json(),
        serde_json::json!({
            "a": {"x": 1, "y": true, "z": "2"}, "b": {"x": true, "y": true, "z": "2"}, "c": null, "d": null
        })
    );
    assert!(matches!(&twice[..], [Unreadable::Duplicate(_, name)] if name == "c"));
    let bomb: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        format!("{text}a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)
    });
    assert!(matches!(
        Source::new("f", &bomb).read(),
        Err(Unreadable::Form(..))
    ));
    assert!(matches!(
        Source::new("f", "a: [1\nb: 2\n").read(),
        Err(Unreadable::Syntax(..))
    ));
}
