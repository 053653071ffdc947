use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    name: String,
    rank: u32,
}

impl Row for Item {
    fn key(&self) -> Key {
        Key {
            project: "p".into(),
            name: self.name.clone(),
            uid: self.name.as_str().into(),
        }
    }
}

struct ByRank {
    below: u32,
    descending: bool,
}

impl Shape<Item> for ByRank {
    fn keeps(&self, row: &Item) -> bool {
        row.rank < self.below
    }
    fn compare(&self, a: &Item, b: &Item) -> Ordering {
        let by_rank = a.rank.cmp(&b.rank);
        if self.descending {
            by_rank.reverse()
        } else {
            by_rank
        }
        .then_with(|| a.name.cmp(&b.name))
    }
}

const ALL: ByRank = ByRank {
    below: u32::MAX,
    descending: false,
};

fn item(rank: u32) -> Item {
    Item {
        name: format!("p{rank}"),
        rank,
    }
}

fn items(ranks: impl IntoIterator<Item = u32>) -> Vec<Item> {
    ranks.into_iter().map(item).collect()
}

fn key(rank: u32) -> Key {
    item(rank).key()
}

fn shown(table: &Table<Item>) -> Vec<u32> {
    (0..table.len())
        .map(|place| table.nth(place).unwrap().rank)
        .collect()
}

fn full(ranks: impl IntoIterator<Item = u32>) -> Table<Item> {
    let mut table = Table::default();
    table.apply(Change::Page(items(ranks)), &ALL);
    table.apply(Change::ListDone, &ALL);
    table
}

#[test]
fn the_cursor_follows_its_object_c74() {
    let mut table = full(1..=5);
    table.go(2);
    assert_eq!(table.current().unwrap().name, "p3");
    table.apply(Change::Upsert(items([0])), &ALL);
    assert_eq!(
        (table.current().unwrap().name.as_str(), table.at()),
        ("p3", 3)
    );
    table.apply(Change::Delete(key(1)), &ALL);
    assert_eq!(
        (table.current().unwrap().name.as_str(), table.at()),
        ("p3", 2)
    );
    table.reshape(&ByRank {
        descending: true,
        ..ALL
    });
    assert_eq!(
        (table.current().unwrap().name.as_str(), table.at()),
        ("p3", 2)
    );
    assert_eq!(shown(&table), [5, 4, 3, 2, 0]);
}

#[test]
fn a_shorter_list_takes_the_cursor_along_c83() {
    let mut table = full(0..30);
    table.go(16);
    table.fit(10);
    table.apply(Change::Page(items([40])), &ALL);
    assert_eq!(
        table.len(),
        31,
        "a new list blanks nothing while it goes on"
    );
    table.apply(Change::ListDone, &ALL);
    table.fit(10);
    assert_eq!(
        (table.at(), table.offset(), table.current().unwrap().rank),
        (0, 0, 40)
    );
    table.apply(Change::ListDone, &ALL);
    assert!(table.len() == 0 && table.current().is_none());
}

#[test]
fn a_row_that_changed_between_two_lists_stays() {
    let mut table = full(0..3);
    table.apply(Change::Page(items([0])), &ALL);
    table.apply(Change::Upsert(items([7])), &ALL);
    table.apply(Change::ListDone, &ALL);
    assert_eq!(shown(&table), [0, 7]);
}

#[test]
fn offsets_are_clamped_when_the_list_shrinks_c79() {
    let mut table = full(0..127);
    table.go(126);
    table.fit(20);
    assert_eq!(table.offset(), 107);
    for rank in 72..127 {
        table.apply(Change::Delete(key(rank)), &ALL);
    }
    table.fit(20);
    assert_eq!((table.len(), table.at(), table.offset()), (72, 71, 52));
    table.fit(0);
    table.fit(200);
    assert_eq!(table.offset(), 0);
}

#[test]
fn small_and_large_changes_lead_to_the_same_order() {
    let ranks: Vec<u32> = (0..500).map(|n| n * 7919 % 500).collect();
    let shape = ByRank {
        below: 400,
        descending: true,
    };
    let (mut one, mut many) = (Table::default(), Table::default());
    for rank in &ranks {
        one.apply(Change::Upsert(vec![item(*rank)]), &shape);
    }
    many.apply(Change::Upsert(items(ranks.iter().copied())), &shape);
    many.apply(
        Change::Upsert(items(ranks.iter().copied().take(100))),
        &shape,
    );
    assert_eq!(shown(&one), (0..400).rev().collect::<Vec<_>>());
    assert_eq!(shown(&many), shown(&one));
    // A row may leave the filter and come back.
    let mut changed = item(3);
    changed.rank = 450;
    one.apply(Change::Upsert(vec![changed]), &shape);
    assert!(!shown(&one).contains(&3));
    one.apply(Change::Upsert(vec![item(3)]), &shape);
    assert_eq!(shown(&one), shown(&many));
    assert_eq!((one.total(), one.all().count()), (500, 500));
}

#[test]
fn while_the_first_list_goes_on_the_cursor_stays_on_top() {
    let mut table = Table::default();
    table.apply(Change::Page(items([5])), &ALL);
    table.apply(Change::Page(items([1])), &ALL);
    assert_eq!(table.current().unwrap().rank, 1);
    table.go(1);
    table.apply(Change::Page(items([0])), &ALL);
    assert_eq!(table.current().unwrap().rank, 5);
}
