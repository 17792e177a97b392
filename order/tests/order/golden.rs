//! Frozen values. A change of one changes the order of every data set and requires a higher `ORDER_VERSION`.

use std::sync::Arc;

use tarflume_order::{Contents, Fingerprint, ORDER_VERSION, Order, Selection, Shuffle};

use crate::oracle;

/// What an order gives and is called.
fn said(order: &Order) -> Vec<String> {
    let draws = |epoch| {
        let draws = order.cursor(epoch, 3).unwrap().take(6);
        format!("{epoch}: {:?}", draws.map(|draw| draw.ordinal).collect::<Vec<_>>())
    };
    vec![
        draws(0),
        draws(1),
        format!("seed {}", order.seed()),
        format!("data {}", order.data()),
        format!("selection {}", order.selection()),
        format!("order {}", order.fingerprint()),
        format!("ledger {}", order.ledger(0, 0..99).unwrap()),
    ]
}

#[test]
fn the_order_of_version_1_stays() {
    assert_eq!(ORDER_VERSION, 1);
    let print = Fingerprint::of("golden", [b"data"]);
    let contents = Arc::new(Contents::new(print, [100, 7, 0, 93]).unwrap());
    let some = Selection::leave_out(200, (0..200).step_by(9)).unwrap();
    let order = Order::new(contents, some, Shuffle::Full { seed: 42 }).unwrap();
    assert_eq!(
        said(&order),
        [
            "0: [70, 190, 93, 92, 181, 179]",
            "1: [6, 125, 147, 181, 44, 128]",
            "seed 42",
            "data 27125212fbb0ddfb225b4af06bb389c7f7be25222f9af0c254de7319430fede1",
            "selection 20c9b2df4b8fdbf90e35e56cf063697a59c967e3c45f81a699741b5e5dd47b14",
            "order 2ec537e15ecc3c0e8479e99daded6b713fd4d7761bab159fe1ed6c09ea694456",
            "ledger ac958037ec78aae18cb7b40498591510 seen \
             99:2d1efec809ad692ed3dd42ddf75e0ed8 bad 0:00000000000000000000000000000000",
        ]
    );
    let other = oracle::order(&[50], Shuffle::Blocks { block: 4, window: 3, seed: 7 });
    let mixture = Order::mixture([(order, 2), (other, 3)]).unwrap();
    assert_eq!(
        said(&mixture),
        [
            "0: [10, 214, 230, 156, 212, 70]",
            "1: [216, 130, 217, 82, 246, 241]",
            "seed 3111180510392142630",
            "data 24886376cfdc72d90a54fd17efe6d1567fdb6b3b07c6571e11e61d9778c68c84",
            "selection 5e784d572aa24a8c0ff6d569985462bdc7f167763014ce3e43ef2acd5ac0eedb",
            "order b3bea0236522d40a014cb5a7d82042036243a896ea99aa212280680b295d9cf1",
            "ledger 01c6a64ceedc3009d665422f724557c3 seen \
             99:a46e2764a6b1fd8a79f22bcabd0aa6dd bad 0:00000000000000000000000000000000",
        ]
    );
}
