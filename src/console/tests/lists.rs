use super::super::fixtures::{Play, promotion};

#[test]
fn the_first_picture() {
    let mut play = Play::new(80, 24);
    play.promotions(vec![promotion("shop", "prod", "p1")]);
    println!("{}", play.lines().join("\n"));
    assert!(play.shows("shop/prod"));
}
